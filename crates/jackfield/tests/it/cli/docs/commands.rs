//! Runs a command of a page and checks the result. A command that ends must succeed and print its expected output. A
//! long-running command is started, observed until its expected output, and stopped.

use jackfield_testkit::SOON;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    elsewhere,
    page::{Shown, words},
    scene::Scene,
};
use crate::run::Run;

/// Default message where the page has none.
const HELLO: &str = "hello from the docs";

/// The name under which a page's sidecar is kept running.
const SIDECAR: &str = "the sidecar";

/// Runs a command line.
pub(super) async fn play(scene: &mut Scene, shown: &Shown) {
    let words = words(&shown.command).expect("a whole command");
    let begin = words.iter().position(|word| !is_setting(word));
    let words = &words[begin.expect("a program")..];
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    match plain[..] {
        ["jackfield", ref rest @ ..] => {
            jackfield(scene, shown, &scene.here(&shown.command), rest).await
        }
        // The program itself, built from source.
        ["cargo", "run", "--", ref rest @ ..]
        | ["cargo", "run", "--release", "--", ref rest @ ..] => {
            let (_, args) = shown.command.split_once(" -- ").expect("it was there");
            jackfield(
                scene,
                shown,
                &scene.here(&format!("jackfield {args}")),
                rest,
            )
            .await;
        }
        ["curl", ref rest @ ..] => curl(scene, shown, rest).await,
        ["claude", "mcp", "add", ..] => {
            elsewhere::check(&shown.place, words);
            mcp_server(scene, shown, &plain).await;
        }
        ["python3" | "node", ..] => snippet(scene, shown).await,
        _ => elsewhere::check(&shown.place, words),
    }
}

/// Whether a word before the program sets an environment variable.
fn is_setting(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

async fn jackfield(scene: &mut Scene, shown: &Shown, line: &str, args: &[&str]) {
    match args {
        ["serve", ..] => serve(scene, shown, line).await,
        ["demo", ..] => demo(scene, shown, line).await,
        ["watch", rest @ ..] => watch(scene, shown, line, rest).await,
        ["connect", ..] => connect(scene, shown, line).await,
        ["p2p", "sidecar", ..] => sidecar(scene, shown, line).await,
        ["mcp", ..] => speaks_mcp(scene, &shown.place, line).await,
        _ => {
            let run = scene.run(line).await;
            assert_eq!(run.code, 0, "{}: `{line}`: {run:?}", shown.place);
            says(scene, shown, args, &run);
        }
    }
}

/// Checks the output of a command that has ended.
fn says(scene: &mut Scene, shown: &Shown, args: &[&str], run: &Run) {
    let all = format!("{}{}", run.out, run.err);
    for text in said_by(scene, shown, args) {
        assert!(
            all.contains(&text),
            "{}: no {text:?} in {run:?}",
            shown.place
        );
    }
    let mut lines = run.out.lines();
    for expected in &shown.prints {
        let is_there = lines.any(|line| scene.is_shown(expected, line));
        assert!(is_there, "{}: no {expected:?} in {run:?}", shown.place);
    }
    assert!(!all.trim().is_empty(), "{}: it says nothing", shown.place);
}

/// Expected output of a command, adapted to the environment; any output at all is checked separately.
fn said_by(scene: &Scene, shown: &Shown, args: &[&str]) -> Vec<String> {
    let here = |texts: &[&str]| texts.iter().map(|text| scene.here(text)).collect();
    let names: Vec<&str> = args[1..]
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-'))
        .collect();
    match (args[0], &names[..]) {
        ("ls", _) if scene.is_own() => here(scene.agents),
        // Echo agents repeat the message; the demo's agents answer freely. An answer shown on the
        // page is expected as shown.
        ("call", [_, text, ..])
            if scene.is_own() && shown.prints.is_empty() && !args.contains(&"--detach") =>
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
            shown.place,
            args.join(" ")
        ),
    }
}

async fn serve(scene: &mut Scene, shown: &Shown, line: &str) {
    let mut hub = scene.start_hub(line);
    hub.until_line("jackfield listens on http").await;
    scene.until_shown(&mut hub, shown).await;
    hub.signal(Signal::TERM);
    hub.end().await.ok();
    // A page with its own hub no longer needs the demo.
    scene.go_to(None);
}

/// Starts the demo, and sends the following commands to the demo's hub, which can't use the default
/// port in tests.
async fn demo(scene: &mut Scene, shown: &Shown, line: &str) {
    let mut demo = scene.start(&format!("{line} --port 0"));
    let mut said: Vec<String> = Vec::new();
    while !said.last().is_some_and(|line| line.starts_with("ready")) {
        let line = demo.line().await;
        said.push(line.unwrap_or_else(|| panic!("{}: it ended: {said:?}", shown.place)));
    }
    let url = said[0]
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    let url = url
        .unwrap_or_else(|| panic!("{}: {said:?}", shown.place))
        .to_owned();
    scene.go_to(Some(&url));
    // Only a hub at a non-default address must be named.
    let mut said = said
        .iter()
        .map(|line| line.replace(&format!(" --hub {url}"), ""));
    for expected in &shown.prints {
        let is_there = said.any(|line| scene.is_shown(expected, &line));
        assert!(is_there, "{}: it does not print {expected:?}", shown.place);
    }
    scene.stay(&shown.place, demo);
}

async fn watch(scene: &mut Scene, shown: &Shown, line: &str, args: &[&str]) {
    let mut watch = scene.start(line);
    watch.until_it_says("watching").await;
    let who = match args {
        [name, ..] if !name.starts_with('-') => (*name).to_owned(),
        _ => somebody(scene).await,
    };
    let call = scene.run(&format!("jackfield call {who} '{HELLO}'")).await;
    assert_eq!(call.code, 0, "{}: {call:?}", shown.place);
    loop {
        let line = watch.line().await;
        let line = line.unwrap_or_else(|| panic!("{}: it does not go on", shown.place));
        if line.contains(HELLO) || !scene.is_own() {
            break;
        }
    }
    watch.signal(Signal::INT);
    watch.end().await.code(130);
}

/// The id of an agent that is online.
async fn somebody(scene: &Scene) -> String {
    let listed = scene.run("jackfield ls --json").await.ok().json();
    let agents = listed["agents"].as_array().into_iter().flatten();
    let mut there = agents.filter(|agent| agent["state"] == "online");
    let id = there.next().and_then(|agent| agent["id"].as_str());
    id.unwrap_or_else(|| panic!("{listed}")).to_owned()
}

/// Connects an agent, and keeps it for the following commands.
async fn connect(scene: &mut Scene, shown: &Shown, line: &str) {
    let mut agent = scene.start(line);
    let connected = agent.line().await;
    let connected = connected.unwrap_or_else(|| panic!("{}: it ended", shown.place));
    let id = connected.strip_prefix("connected as ");
    let id = id.unwrap_or_else(|| panic!("{}: {connected}", shown.place));
    if let [expected] = &shown.prints[..] {
        assert!(
            scene.is_shown(expected, &connected),
            "{}: {connected}",
            shown.place
        );
    }
    let call = scene.run(&format!("jackfield call {id} '{HELLO}'")).await;
    assert_eq!(call.code, 0, "{}: {call:?}", shown.place);
    assert!(!call.out.trim().is_empty(), "{}: {call:?}", shown.place);
    // A page may show two ways to connect the same agent; the later way replaces the earlier.
    if let Some(older) = scene.take(&connected) {
        older.end().await.code(1).says("has taken over");
    }
    scene.stay(&connected, agent);
}

async fn sidecar(scene: &mut Scene, shown: &Shown, line: &str) {
    // A page may show two ways to start the sidecar; both are the same peer.
    if let Some(older) = scene.take(SIDECAR) {
        older.signal(Signal::TERM);
        older.end().await.ok();
    }
    let mut sidecar = scene.start(line);
    scene.until_shown(&mut sidecar, shown).await;
    // Both lines come in any order.
    let mut told = vec!["the agent weather is ready", "callable as weather@"];
    while !told.is_empty() {
        let line = sidecar.err_line().await;
        let line = line.unwrap_or_else(|| panic!("{}: it ended", shown.place));
        told.retain(|text| !line.contains(text));
    }
    scene.stay(SIDECAR, sidecar);
}

/// Runs a program from a page. The program is ready when it prints a line, its agent is online, or it has exited
/// successfully.
async fn snippet(scene: &mut Scene, shown: &Shown) {
    let mut watch = scene.start("jackfield watch");
    watch.until_it_says("watching").await;
    let mut program = scene.start(&scene.here(&shown.command));
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
        assert_eq!(run.code, 0, "{}: {run:?}", shown.place);
    } else {
        scene.leave(program);
    }
}

/// Runs curl: the response must be a success, and an echo agent's response must repeat the message.
async fn curl(scene: &mut Scene, shown: &Shown, args: &[&str]) {
    let quiet = shown
        .command
        .replacen("curl ", "curl --silent --show-error --fail-with-body ", 1);
    let line = scene.here(&quiet);
    let run = scene.run(&line).await;
    assert_eq!(run.code, 0, "{}: `{line}`: {run:?}", shown.place);
    assert!(!run.out.trim().is_empty(), "{}: no answer", shown.place);
    let data = args
        .iter()
        .position(|word| *word == "-d")
        .and_then(|at| args.get(at + 1));
    if let Some(data) = data {
        let data: Value =
            serde_json::from_str(data).unwrap_or_else(|error| panic!("{}: {error}", shown.place));
        for words in texts(&data) {
            assert!(
                run.out.contains(&words),
                "{}: no {words:?} in {run:?}",
                shown.place
            );
        }
        for end in [
            "\"failed\"",
            "TASK_STATE_FAILED",
            "event: failed",
            "event: error",
        ] {
            assert!(!run.out.contains(end), "{}: {run:?}", shown.place);
        }
    }
    let mut lines = run.out.lines();
    for expected in &shown.prints {
        let is_there = lines.any(|line| scene.is_shown(expected, line));
        assert!(is_there, "{}: no {expected:?} in {run:?}", shown.place);
    }
}

/// All message texts in a request, at any depth.
fn texts(data: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut unseen = vec![data];
    while let Some(value) = unseen.pop() {
        if let Some(object) = value.as_object() {
            let said = ["text", "content"]
                .iter()
                .filter_map(|key| object.get(*key)?.as_str());
            found.extend(said.map(str::to_owned));
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
async fn mcp_server(scene: &mut Scene, shown: &Shown, words: &[&str]) {
    if let Some(at) = words.iter().position(|word| *word == "--") {
        speaks_mcp(scene, &shown.place, &words[at + 1..].join(" ")).await;
        return;
    }
    let url = scene.here(words.last().expect("a URL"));
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
        shown.place
    );
}

/// Starts an MCP server by a command line, and requests its name.
pub(super) async fn speaks_mcp(scene: &Scene, place: &str, line: &str) {
    let run = scene.run_on(&format!("{}\n", initialize()), line).await;
    let is_server = run.code == 0 && run.out.contains("\"serverInfo\"");
    assert!(is_server, "{place}: `{line}`: {run:?}");
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "docs", "version": "1"}}})
}
