//! `demo` as a new user runs it: the printed commands work, every agent answers, and no files are left behind.

use std::{env, fs, io, net::TcpListener, path::Path, process::Stdio};

use futures_util::future::join_all;
use jackfield_testkit::SOON;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    process::Command,
    time::{Duration, Instant, sleep, timeout},
};

use crate::cli::terminal::Terminal;
use crate::run::{Cli, Run, Running};

/// The agents of the demo, with their protocols.
const AGENTS: &[(&str, &str)] = &[
    ("editor", "bridge"),
    ("factchecker", "a2a"),
    ("newsroom", "team"),
    ("researcher", "agora"),
    #[cfg(feature = "p2p")]
    ("translator@pXoumuwMhaza", "p2p"),
];

/// The default address of a hub.
const USUAL: &str = "127.0.0.1:7411";

/// A running demo, with its data directory.
struct Demo {
    process: Running,
    cli: Cli,
    temp: TempDir,
    /// The output until the demo was ready.
    output_lines: Vec<String>,
    url: String,
}

fn temp() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn command(cli: &Cli, temp: &TempDir, args: &[&str]) -> Command {
    let mut command = cli.command(&[&["demo"], args].concat());
    command.env("TMPDIR", temp.path());
    command
}

fn is_empty(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).expect("a folder");
    entries.next().is_none()
}

impl Demo {
    /// Starts a demo on any port, without its background calls.
    async fn start() -> Self {
        Self::start_with(&["--port", "0", "--quiet"]).await
    }

    async fn start_with(args: &[&str]) -> Self {
        let (cli, temp) = (Cli::at(""), temp());
        let mut process = cli.start_command(command(&cli, &temp, args));
        let mut output_lines = Vec::new();
        while !output_lines
            .last()
            .is_some_and(|line: &String| line.starts_with("ready"))
        {
            output_lines.push(process.line().await.expect("it gets ready"));
        }
        let url = output_lines[0]
            .rsplit(' ')
            .next()
            .expect("a word")
            .to_owned();
        Self {
            process,
            cli: cli.at_hub(&url),
            temp,
            output_lines,
            url,
        }
    }

    /// The commands that the demo suggests.
    fn commands(&self) -> impl Iterator<Item = &str> {
        self.output_lines
            .iter()
            .filter_map(|line| line.strip_prefix("    "))
    }

    /// A command as typed into a shell, without any setting that names the hub.
    fn typed(&self, line: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_jackfield"));
        let folder = program.parent().expect("it is in a folder");
        let path = env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .env_clear()
            .env("HOME", self.cli.home())
            .env("PATH", format!("{}:{path}", folder.display()))
            .current_dir(self.cli.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Returns the output of a typed command.
    async fn prints(&self, line: &str) -> String {
        let output = timeout(SOON, self.typed(line).output()).await;
        let output = output.expect("it ends").expect("it runs");
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Returns the events of a call, with its end.
    async fn call(&self, agent: &str, text: &str) -> Vec<Value> {
        let run = self.cli.run(&["call", agent, text, "--json"]).await.ok();
        let events = run.out.lines().map(serde_json::from_str);
        events.collect::<Result<_, _>>().expect("JSON")
    }

    /// Stops the demo, and checks that no files are left.
    async fn stop(self, signal: Signal) -> Run {
        self.process.signal(signal);
        let run = self.process.end().await.ok();
        assert!(is_empty(self.temp.path()), "its folder is gone");
        run
    }
}

/// The joined text in the events of a call.
fn text(events: &[Value]) -> String {
    let chunks = events.iter().filter(|event| event["kind"] == "text");
    chunks.filter_map(|chunk| chunk["text"].as_str()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let kinds = events.iter().filter_map(|event| event["kind"].as_str());
    let mut kinds: Vec<_> = kinds.collect();
    kinds.dedup();
    kinds
}

fn has_file(events: &[Value], name: &str) -> bool {
    let is_match = |event: &Value| event["type"] == "artifact" && event["name"] == name;
    events.iter().any(is_match)
}

#[tokio::test]
async fn every_command_that_it_prints_works_as_it_stands() {
    let demo = Demo::start().await;
    let mut tried = 0;
    for line in demo.commands() {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["jackfield", "ls", ..] => {
                let printed = demo.prints(line).await;
                assert_eq!(
                    printed.matches("\tonline\t").count(),
                    AGENTS.len(),
                    "{printed}"
                );
            }
            ["jackfield", "call", "newsroom", ..] => {
                let printed = demo.prints(line).await;
                assert!(
                    printed.contains("Researcher: Boston, 1878: Emma"),
                    "{printed}"
                );
                assert!(printed.contains("Fact-checker: confirmed"), "{printed}");
                assert!(
                    !cfg!(feature = "p2p") || printed.contains("By wire: -... ---"),
                    "{printed}"
                );
            }
            ["jackfield", "watch", "newsroom", ..] => {
                let mut screen = Terminal::start(demo.typed(line));
                screen.until("factchecker").await;
                screen.type_in("q");
                assert_eq!(screen.end().await.0, Some(0));
            }
            ["jackfield", "call", "editor", ..] => {
                let mut screen = Terminal::start(demo.typed(line));
                screen.until("approve?").await;
                screen.type_in("y\n");
                let (code, screen) = screen.end().await;
                assert_eq!(code, Some(0));
                assert!(screen.contains("made front-page.txt"), "{screen}");
                assert!(screen.contains("Printed: 500 copies"), "{screen}");
            }
            ["jackfield", "show", "--calls", ..] => {
                let printed = demo.prints(line).await;
                assert!(printed.contains("streamed answer\tfull"), "{printed}");
            }
            ["curl", ..] => {
                let printed = demo.prints(line).await;
                assert!(printed.contains("Scribner"), "{printed}");
                assert!(printed.contains("TASK_STATE_COMPLETED"), "{printed}");
            }
            _ => panic!("no test knows {line:?}"),
        }
        tried += 1;
    }
    assert_eq!(tried, 6, "{:?}", demo.output_lines);
    demo.stop(Signal::TERM).await;
}

#[tokio::test]
async fn agents_of_every_protocol_are_there_when_it_is_ready_and_answer_anything() {
    let demo = Demo::start().await;
    let listed = demo.cli.run(&["ls", "--json"]).await.ok().json();
    let listed = listed["agents"].as_array().expect("a list");
    let listed: Vec<_> = listed
        .iter()
        .map(|agent| (&agent["id"], &agent["door"], &agent["state"]))
        .collect();
    let online = json!("online");
    let expected: Vec<_> = AGENTS
        .iter()
        .map(|(id, door)| (json!(id), json!(door)))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(id, door)| (id, door, &online))
        .collect();
    assert_eq!(listed, expected);
    let questions = ["hello", "\u{1f980}", "{\"a\": 1}"];
    let calls = AGENTS
        .iter()
        .flat_map(|(id, _)| questions.map(|question| (*id, question)));
    let calls = calls.map(async |(id, question)| (id, text(&demo.call(id, question).await)));
    for (id, answer) in join_all(calls).await {
        assert!(!answer.trim().is_empty(), "{id} says nothing");
    }
}

#[tokio::test]
async fn one_thinks_and_uses_a_tool_one_hands_over_a_file_and_one_keys_morse() {
    let demo = Demo::start().await;
    let found = demo.call("researcher", "Who were the operators?").await;
    let expected = [
        "thinking",
        "tool_start",
        "tool_input",
        "tool_result",
        "text",
    ];
    assert_eq!(kinds(&found), expected);
    let checked = demo.call("factchecker", &text(&found)).await;
    assert!(text(&checked).starts_with("confirmed"), "{checked:?}");
    assert!(has_file(&checked, "facts.txt"), "{checked:?}");
    let doubted = demo.call("factchecker", "The moon is a balloon").await;
    assert!(text(&doubted).starts_with("not on the list"), "{doubted:?}");
    #[cfg(feature = "p2p")]
    {
        let keyed = demo.call("translator@pXoumuwMhaza", "SOS").await;
        assert_eq!(text(&keyed), "... --- ...");
    }
}

#[tokio::test]
async fn the_team_is_seen_at_work_member_by_member() {
    let demo = Demo::start().await;
    let mut watch = demo.cli.start(&["watch", "newsroom"]);
    watch.until_it_says("watching").await;
    let called = demo.call("newsroom", "Why a jack?").await;
    assert!(text(&called).contains("Chicago, 1878: Charles Scribner"));
    let is_said_by = |line: &str, member: &str, words: &str| {
        let (name, text_part) = line.split_once('│').unwrap_or_default();
        name.trim() == member && text_part.contains(words)
    };
    let mut wanted = vec![
        ("researcher", "(Somebody wants to know"),
        ("researcher", "archive"),
        ("researcher", "Chicago, 1878: Charles"),
        ("factchecker", "confirmed by the list"),
        ("factchecker", "made facts.txt"),
        #[cfg(feature = "p2p")]
        ("translator", "-.-. .... .. -.-."),
        ("editor", "Fact-checker: confirmed"),
    ];
    while !wanted.is_empty() {
        let line = watch.line().await.expect("it goes on");
        wanted.retain(|(member, words)| !is_said_by(&line, member, words));
    }
}

#[tokio::test]
async fn what_the_editor_asks_for_can_be_allowed_and_refused_from_elsewhere() {
    let demo = Demo::start().await;
    for (flags, expected) in [
        (&["--approve"][..], "Printed: 500 copies"),
        (&["--deny", "--reason", "too dear"], "Not printed: too dear"),
    ] {
        let call = ["call", "newsroom", "Publish it, please", "--detach"];
        let task = demo.cli.run(&call).await.ok().out;
        let task = task.trim();
        let waited = demo.cli.run(&["task", "wait", task]).await.code(1);
        waited.stderr_has(&format!("jackfield task answer {task} ask-1"));
        let answer = ["task", "answer", task, "ask-1"];
        demo.cli.run(&[&answer[..], flags].concat()).await.ok();
        let ended = demo.cli.run(&["task", "wait", task]).await.ok();
        assert!(ended.out.contains(expected), "{ended:?}");
    }
}

#[tokio::test]
async fn the_team_is_asked_something_by_itself() {
    let mut demo = Demo::start_with(&["--port", "0"]).await;
    let line = demo.process.line().await.expect("somebody calls");
    let (time, call) = line.split_once(' ').expect("a time");
    assert_eq!(time.len(), "12:34:56".len(), "{line}");
    assert_eq!(
        call,
        "local calls editor: Which telephone exchange was the first?"
    );
    // In the middle of the call.
    demo.stop(Signal::TERM).await;
}

#[tokio::test]
async fn nothing_is_left_of_it_however_it_is_told_to_stop() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let demo = Demo::start().await;
        assert!(!is_empty(demo.temp.path()), "it has a folder");
        // A caller waits for an answer, and a viewer watches.
        let mut watch = demo.cli.start(&["watch", "--json"]);
        watch.until_it_says("watching").await;
        let _call = demo.cli.start(&["call", "editor", "print", "--json"]);
        while watch.json().await["type"] != "ask" {}
        demo.stop(signal).await;
    }
}

#[tokio::test]
async fn told_twice_it_leaves_nothing_either() {
    let (cli, temp) = (Cli::at(""), temp());
    let command = command(&cli, &temp, &["--port", "0"]);
    let mut terminal = Terminal::start(command);
    terminal.until("ready").await;
    let pid = terminal.pid();
    kill_process(pid, Signal::INT).expect("it runs");
    terminal.until("stopping; press ctrl-c again").await;
    // The process may have ended meanwhile.
    kill_process(pid, Signal::INT).ok();
    let (code, screen) = terminal.end().await;
    assert!(matches!(code, Some(0 | 130)), "{code:?} {screen}");
    assert!(screen.contains("\u{1b}[1mhttp://"), "{screen:?}");
    assert!(is_empty(temp.path()), "its folder is gone");
}

#[tokio::test]
async fn what_is_yours_is_neither_read_nor_written() {
    let (cli, temp) = (Cli::at(""), temp());
    let home = cli.home();
    fs::write(home.join("jackfield.toml"), "no = [ sense").expect("a file");
    let mut command = command(&cli, &temp, &["--port", "0", "--quiet", "--json"]);
    command
        .env("JACKFIELD_CONFIG", home.join("jackfield.toml"))
        .env("JACKFIELD_LISTEN", "nowhere")
        .env("JACKFIELD_DATA_DIR", home.join("data"))
        .env("JACKFIELD_HUB", "http://hub.invalid:7411")
        .env("JACKFIELD_TOKEN", "not one");
    let mut process = cli.start_command(command);
    let ready = process.json().await;
    let url = ready["url"].as_str().expect("a URL");
    // Other terminals have the same environment, so each command names its hub.
    let commands = ready["commands"].as_array().expect("a list");
    let names_it = |command: &Value| {
        command["command"]
            .as_str()
            .is_some_and(|it| it.contains(url))
    };
    assert!(commands.iter().all(names_it), "{ready}");
    process.signal(Signal::TERM);
    process.end().await.ok();
    let entries = fs::read_dir(home).expect("a folder");
    let names: Vec<_> = entries
        .map(|entry| entry.expect("a file").file_name())
        .collect();
    assert_eq!(names, ["jackfield.toml"]);
}

#[tokio::test]
async fn json_is_one_object_and_nothing_else() {
    let (cli, temp) = (Cli::at(""), temp());
    let command = command(&cli, &temp, &["--port", "0", "--quiet", "--json"]);
    let mut process = cli.start_command(command);
    let ready = process.json().await;
    let url = ready["url"].as_str().expect("a URL");
    let agents = ready["agents"].as_array().expect("a list");
    let of = |agent: &Value| (agent["id"].clone(), agent["protocol"].clone());
    for (id, protocol) in AGENTS {
        let is_match = |agent| of(agent) == (json!(id), json!(protocol));
        assert!(agents.iter().any(is_match), "{id}: {ready}");
    }
    assert_eq!(ready["team"]["coordinator"], "editor");
    assert_eq!(
        ready["team"]["members"].as_array().map(Vec::len),
        Some(AGENTS.len() - 1)
    );
    assert_eq!(ready["commands"].as_array().map(Vec::len), Some(6));
    let cli = cli.at_hub(url);
    cli.run(&["call", "researcher", "hello"]).await.ok();
    process.signal(Signal::INT);
    assert_eq!(process.end().await.ok().out, "");
}

/// Binds the default port, unless it's taken.
async fn usual_port() -> Option<TcpListener> {
    let until = Instant::now() + SOON;
    loop {
        match TcpListener::bind(USUAL) {
            Ok(listener) => return Some(listener),
            // Another demo may be about to end; a hub of this machine stays.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                sleep(Duration::from_millis(50)).await;
            }
            Err(_) => return None,
        }
    }
}

#[tokio::test]
async fn where_the_usual_port_is_taken_it_takes_another_and_says_so() {
    let _held = usual_port().await;
    let demo = Demo::start_with(&["--quiet"]).await;
    assert!(!demo.url.ends_with(":7411"), "{}", demo.url);
    let expected = format!("({USUAL} is in use, so the demo uses another port)");
    assert_eq!(demo.output_lines[1], expected);
    assert!(
        demo.commands().all(|line| line.contains(&demo.url)),
        "{:?}",
        demo.output_lines
    );
    demo.stop(Signal::TERM).await;
}

#[tokio::test]
async fn a_port_that_was_asked_for_is_taken_or_refused() {
    let held = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = held.local_addr().expect("an address").port();
    let (cli, temp) = (Cli::at(""), temp());
    let port = port.to_string();
    let process = cli.start_command(command(&cli, &temp, &["--port", &port]));
    let run = process.end().await.code(1);
    run.stderr_has(&port).stderr_has("--port 0");
    assert!(is_empty(temp.path()), "its folder is gone");
}
