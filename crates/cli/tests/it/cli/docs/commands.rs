//! Runs a command of a page and checks the result. A command that ends must succeed and print its expected output. A
//! long-running command is started, observed until its expected output, and stopped.

use jackfield_testkit::SOON;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    environment::PageEnvironment,
    excluded,
    page::{PageCommand, words},
};
use crate::run::Run;

/// Default message where the page has none.
const HELLO: &str = "hello from the docs";

/// The name under which a page's sidecar is kept running.
const SIDECAR: &str = "the sidecar";

/// Runs a command line.
pub(super) async fn run_command(environment: &mut PageEnvironment, page_command: &PageCommand) {
    let words = words(&page_command.command).expect("a whole command");
    let begin = words.iter().position(|word| !is_setting(word));
    let words = &words[begin.expect("a program")..];
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    match plain[..] {
        ["jackfield", ref rest @ ..] => {
            jackfield(
                environment,
                page_command,
                &environment.adapt(&page_command.command),
                rest,
            )
            .await
        }
        // The program itself, built from source.
        ["cargo", "run", "--", ref rest @ ..]
        | ["cargo", "run", "--release", "--", ref rest @ ..] => {
            let (_, args) = page_command
                .command
                .split_once(" -- ")
                .expect("it was there");
            jackfield(
                environment,
                page_command,
                &environment.adapt(&format!("jackfield {args}")),
                rest,
            )
            .await;
        }
        ["curl", ref rest @ ..] => curl(environment, page_command, rest).await,
        ["claude", "mcp", "add", ..] => {
            excluded::check(&page_command.location, words);
            mcp_server(environment, page_command, &plain).await;
        }
        ["python3" | "node", ..] => snippet(environment, page_command).await,
        _ => excluded::check(&page_command.location, words),
    }
}

/// Whether a word before the program sets an environment variable.
fn is_setting(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

async fn jackfield(
    environment: &mut PageEnvironment,
    page_command: &PageCommand,
    line: &str,
    args: &[&str],
) {
    match args {
        ["serve", ..] => serve(environment, page_command, line).await,
        ["demo", ..] => demo(environment, page_command, line).await,
        ["watch", rest @ ..] => watch(environment, page_command, line, rest).await,
        ["connect", ..] => connect(environment, page_command, line).await,
        ["p2p", "sidecar", ..] => sidecar(environment, page_command, line).await,
        ["mcp", ..] => speaks_mcp(environment, &page_command.location, line).await,
        ["acp", ..] => speaks_acp(environment, &page_command.location, line).await,
        _ => {
            let run = environment.run(line).await;
            assert_eq!(run.code, 0, "{}: `{line}`: {run:?}", page_command.location);
            check_output(environment, page_command, args, &run);
        }
    }
}

/// Checks the output of a command that has ended.
fn check_output(
    environment: &mut PageEnvironment,
    page_command: &PageCommand,
    args: &[&str],
    run: &Run,
) {
    let all = format!("{}{}", run.out, run.err);
    for text in expected_output(environment, page_command, args) {
        assert!(
            all.contains(&text),
            "{}: no {text:?} in {run:?}",
            page_command.location
        );
    }
    let mut lines = run.out.lines();
    for expected in &page_command.prints {
        let is_there = lines.any(|line| environment.is_shown(expected, line));
        assert!(
            is_there,
            "{}: no {expected:?} in {run:?}",
            page_command.location
        );
    }
    assert!(
        !all.trim().is_empty(),
        "{}: it says nothing",
        page_command.location
    );
}

/// Expected output of a command, adapted to the environment; any output at all is checked separately.
fn expected_output(
    environment: &PageEnvironment,
    page_command: &PageCommand,
    args: &[&str],
) -> Vec<String> {
    let here = |texts: &[&str]| texts.iter().map(|text| environment.adapt(text)).collect();
    let names: Vec<&str> = args[1..]
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-'))
        .collect();
    match (args[0], &names[..]) {
        ("ls", _) if environment.is_own() => here(environment.agents),
        // Echo agents repeat the message; the demo's agents answer freely. An answer shown on the
        // page is expected as shown.
        ("call", [_, text, ..])
            if environment.is_own()
                && page_command.prints.is_empty()
                && !args.contains(&"--detach") =>
        {
            here(&[text])
        }
        ("show", [name, ..]) if !args.contains(&"--calls") => here(&[name]),
        ("add", _) if args.contains(&"--as") => vec!["online".to_owned()],
        ("add", [address]) => here(&[address.rsplit('/').next().unwrap_or_default(), "online"]),
        ("rm", _) => here(&["is removed"]),
        ("invite", _) => here(&["jackfield connect --setup "]),
        ("share", [name, ..]) => here(&[name]),
        ("token", ["create", ..]) => here(&["jf_"]),
        ("team", ["create" | "show" | "change" | "task" | "say", team, ..]) => here(&[team]),
        ("p2p", ["peers", what] | ["card", what]) => here(&[what]),
        ("p2p", ["handoff" | "delegate", ..]) => here(&["sunny in Paris"]),
        (
            "backup" | "call" | "completions" | "config" | "doctor" | "ls" | "show" | "task"
            | "team" | "token",
            _,
        ) => Vec::new(),
        ("--version", _) => here(&[env!("CARGO_PKG_VERSION")]),
        _ => panic!(
            "{}: no test knows what `jackfield {}` must say",
            page_command.location,
            args.join(" ")
        ),
    }
}

async fn serve(environment: &mut PageEnvironment, page_command: &PageCommand, line: &str) {
    let mut hub = environment.start_hub(line);
    hub.until_line("jackfield listens on http").await;
    environment.until_shown(&mut hub, page_command).await;
    hub.signal(Signal::TERM);
    hub.end().await.ok();
    // A page with its own hub no longer needs the demo.
    environment.switch_hub(None);
}

/// Starts the demo, and sends the following commands to the demo's hub, which can't use the default
/// port in tests.
async fn demo(environment: &mut PageEnvironment, page_command: &PageCommand, line: &str) {
    let mut demo = environment.start(&format!("{line} --port 0"));
    let mut output: Vec<String> = Vec::new();
    while !output.last().is_some_and(|line| line.starts_with("ready")) {
        let line = demo.line().await;
        output.push(
            line.unwrap_or_else(|| panic!("{}: it ended: {output:?}", page_command.location)),
        );
    }
    let url = output[0]
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    let url = url
        .unwrap_or_else(|| panic!("{}: {output:?}", page_command.location))
        .to_owned();
    environment.switch_hub(Some(&url));
    // Only a hub at a non-default address must be named.
    let mut output = output
        .iter()
        .map(|line| line.replace(&format!(" --hub {url}"), ""));
    for expected in &page_command.prints {
        let is_there = output.any(|line| environment.is_shown(expected, &line));
        assert!(
            is_there,
            "{}: it does not print {expected:?}",
            page_command.location
        );
    }
    environment.keep(&page_command.location, demo);
}

async fn watch(
    environment: &mut PageEnvironment,
    page_command: &PageCommand,
    line: &str,
    args: &[&str],
) {
    let mut watch = environment.start(line);
    watch.until_it_says("watching").await;
    let watched = match args {
        [name, ..] if !name.starts_with('-') => (*name).to_owned(),
        _ => online_agent(environment).await,
    };
    let call = environment
        .run(&format!("jackfield call {watched} '{HELLO}'"))
        .await;
    assert_eq!(call.code, 0, "{}: {call:?}", page_command.location);
    loop {
        let line = watch.line().await;
        let line = line.unwrap_or_else(|| panic!("{}: it does not go on", page_command.location));
        if line.contains(HELLO) || !environment.is_own() {
            break;
        }
    }
    watch.signal(Signal::INT);
    watch.end().await.code(130);
}

/// The id of an agent that is online.
async fn online_agent(environment: &PageEnvironment) -> String {
    let listed = environment.run("jackfield ls --json").await.ok().json();
    let agents = listed["agents"].as_array().into_iter().flatten();
    let mut there = agents.filter(|agent| agent["state"] == "online");
    let id = there.next().and_then(|agent| agent["id"].as_str());
    id.unwrap_or_else(|| panic!("{listed}")).to_owned()
}

/// Connects an agent, and keeps it for the following commands.
async fn connect(environment: &mut PageEnvironment, page_command: &PageCommand, line: &str) {
    let mut agent = environment.start(line);
    let connected = agent.line().await;
    let connected = connected.unwrap_or_else(|| panic!("{}: it ended", page_command.location));
    let id = connected.strip_prefix("connected as ");
    let id = id.unwrap_or_else(|| panic!("{}: {connected}", page_command.location));
    if let [expected] = &page_command.prints[..] {
        assert!(
            environment.is_shown(expected, &connected),
            "{}: {connected}",
            page_command.location
        );
    }
    let call = environment
        .run(&format!("jackfield call {id} '{HELLO}'"))
        .await;
    assert_eq!(call.code, 0, "{}: {call:?}", page_command.location);
    assert!(
        !call.out.trim().is_empty(),
        "{}: {call:?}",
        page_command.location
    );
    // A page may show two ways to connect the same agent; the later way replaces the earlier.
    if let Some(older) = environment.take(&connected) {
        older.end().await.code(1).stderr_has("has taken over");
    }
    environment.keep(&connected, agent);
}

async fn sidecar(environment: &mut PageEnvironment, page_command: &PageCommand, line: &str) {
    // A page may show two ways to start the sidecar; both are the same peer.
    if let Some(older) = environment.take(SIDECAR) {
        older.signal(Signal::TERM);
        older.end().await.ok();
    }
    let mut sidecar = environment.start(line);
    environment.until_shown(&mut sidecar, page_command).await;
    // Both lines come in any order.
    let mut missing_lines = vec!["the agent weather is ready", "callable as weather@"];
    while !missing_lines.is_empty() {
        let line = sidecar.err_line().await;
        let line = line.unwrap_or_else(|| panic!("{}: it ended", page_command.location));
        missing_lines.retain(|text| !line.contains(text));
    }
    environment.keep(SIDECAR, sidecar);
}

/// Runs a program from a page. The program is ready when it prints a line, its agent is online, or it has exited
/// successfully.
async fn snippet(environment: &mut PageEnvironment, page_command: &PageCommand) {
    let mut watch = environment.start("jackfield watch");
    watch.until_it_says("watching").await;
    let mut program = environment.start(&environment.adapt(&page_command.command));
    let is_there = async {
        while watch
            .line()
            .await
            .is_some_and(|line| !line.split_whitespace().any(|word| word == "online"))
        {}
    };
    let has_ended = tokio::select! {
        () = is_there => false,
        line = program.line() => line.is_none(),
    };
    if has_ended {
        let run = program.end().await;
        assert_eq!(run.code, 0, "{}: {run:?}", page_command.location);
    } else {
        environment.leave(program);
    }
}

/// Runs curl: the response must be a success, and an echo agent's response must repeat the message.
async fn curl(environment: &mut PageEnvironment, page_command: &PageCommand, args: &[&str]) {
    let quiet =
        page_command
            .command
            .replacen("curl ", "curl --silent --show-error --fail-with-body ", 1);
    let line = environment.adapt(&quiet);
    let run = environment.run(&line).await;
    assert_eq!(run.code, 0, "{}: `{line}`: {run:?}", page_command.location);
    assert!(
        !run.out.trim().is_empty(),
        "{}: no answer",
        page_command.location
    );
    let data = args
        .iter()
        .position(|word| *word == "-d")
        .and_then(|at| args.get(at + 1));
    if let Some(data) = data {
        let data: Value = serde_json::from_str(data)
            .unwrap_or_else(|error| panic!("{}: {error}", page_command.location));
        for words in texts(&data) {
            assert!(
                run.out.contains(&words),
                "{}: no {words:?} in {run:?}",
                page_command.location
            );
        }
        for end in [
            "\"failed\"",
            "TASK_STATE_FAILED",
            "event: failed",
            "event: error",
        ] {
            assert!(!run.out.contains(end), "{}: {run:?}", page_command.location);
        }
    }
    let mut lines = run.out.lines();
    for expected in &page_command.prints {
        let is_there = lines.any(|line| environment.is_shown(expected, line));
        assert!(
            is_there,
            "{}: no {expected:?} in {run:?}",
            page_command.location
        );
    }
}

/// All message texts in a request, at any depth.
fn texts(data: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut unseen = vec![data];
    while let Some(value) = unseen.pop() {
        if let Some(object) = value.as_object() {
            let fields = ["text", "content"]
                .iter()
                .filter_map(|key| object.get(*key)?.as_str());
            found.extend(fields.map(str::to_owned));
        }
        unseen.extend(
            value
                .as_object()
                .into_iter()
                .flat_map(|object| object.values()),
        );
        unseen.extend(value.as_array().into_iter().flatten());
    }
    found
}

/// Tests the arguments of `claude mcp add`: a URL, or a command after `--`.
async fn mcp_server(environment: &mut PageEnvironment, page_command: &PageCommand, words: &[&str]) {
    if let Some(at) = words.iter().position(|word| *word == "--") {
        speaks_mcp(
            environment,
            &page_command.location,
            &words[at + 1..].join(" "),
        )
        .await;
        return;
    }
    let url = environment.adapt(words.last().expect("a URL"));
    let answer = async {
        let asked = reqwest::Client::new().post(url).json(&initialize());
        let asked = asked.header("accept", "application/json, text/event-stream");
        asked.send().await.expect("an answer").text().await
    };
    let answer = timeout(SOON, answer)
        .await
        .expect("it answers")
        .expect("text");
    assert!(
        answer.contains("\"serverInfo\""),
        "{}: {answer}",
        page_command.location
    );
}

/// Starts an ACP agent by a command line, as an editor does, and requests its name.
pub(super) async fn speaks_acp(environment: &PageEnvironment, location: &str, line: &str) {
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
    let run = environment.run_on(&format!("{initialize}\n"), line).await;
    let is_agent = run.code == 0 && run.out.contains("\"agentInfo\"");
    assert!(is_agent, "{location}: `{line}`: {run:?}");
}

/// Starts an MCP server by a command line, and requests its name.
pub(super) async fn speaks_mcp(environment: &PageEnvironment, location: &str, line: &str) {
    let run = environment
        .run_on(&format!("{}\n", initialize()), line)
        .await;
    let is_server = run.code == 0 && run.out.contains("\"serverInfo\"");
    assert!(is_server, "{location}: `{line}`: {run:?}");
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "docs", "version": "1"}}})
}
