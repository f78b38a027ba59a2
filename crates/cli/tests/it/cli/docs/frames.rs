//! JSON and TOML of the pages: every block parses, the protocols' own readers accept the frames, and requests are sent.

use std::fs;

use jackfield_agora::wire as agora;
use jackfield_team::wire as team;
use jackfield_testkit::Raw;
use jackfield_wire::{bridge, json::MAX_DEPTH};
use serde_json::{Value, json};

use super::{
    commands::{speaks_acp, speaks_mcp},
    environment::PageEnvironment,
    page::{Fence, Page},
};

/// The objects of a block: a single object over several lines, or an object per line.
pub(super) fn objects(page: &Page, fence: &Fence) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_str(&fence.text) {
        return vec![whole];
    }
    let parsed = (fence.line..)
        .zip(fence.text.lines())
        .map(|(number, line)| {
            let parsed = serde_json::from_str(line);
            parsed.unwrap_or_else(|error| panic!("{}:{number}: no JSON: {error}", page.path))
        });
    parsed.collect()
}

/// Tests a block of JSON.
pub(super) async fn check_json(environment: &PageEnvironment, page: &Page, fence: &Fence) {
    let location = format!("{}:{}", page.path, fence.line);
    let objects = objects(page, fence);
    let first = &objects[0];
    if first["type"] == "register" {
        register(environment, &location, &objects).await;
    } else if let Some(servers) = first["mcpServers"].as_object() {
        for server in servers.values() {
            speaks_mcp(
                environment,
                &location,
                &environment.adapt(&command_of(server)),
            )
            .await;
        }
    } else if let Some(servers) = first["agent_servers"].as_object() {
        for server in servers.values() {
            let command = environment.adapt(&command_of(server));
            speaks_acp(environment, &location, &command).await;
        }
    } else if first.get("wait_online").is_some() || first.get("keep").is_some() {
        let url = environment.url(&format!("/v1/agents/{}/calls", environment.agents[0]));
        let sent = reqwest::Client::new().post(url).json(first).send().await;
        let sent = sent.expect("an answer");
        assert_eq!(sent.status(), 200, "{location}");
        let response_text = sent.text().await.expect("text");
        assert!(
            response_text.contains("event: done"),
            "{location}: {response_text}"
        );
    } else if first.get("type").is_some() {
        for frame in &objects {
            is_frame(&location, frame);
        }
    } else {
        // Messages of the hub or an agent; the tests of the protocol cover their content.
        let known = ["kind", "jsonrpc"]
            .iter()
            .any(|key| first.get(*key).is_some());
        assert!(known, "{location}: no test knows what this JSON is");
    }
}

/// Checks that the registration succeeds, and that no later frame is answered with an error.
async fn register(environment: &PageEnvironment, location: &str, frames: &[Value]) {
    let addr = environment
        .url("")
        .replace("http://", "")
        .parse()
        .expect("an address");
    let path = match frames[0]["agent_id"].as_str() {
        Some(id) => format!("/ws?agent_id={id}"),
        None => "/ws".to_owned(),
    };
    let mut agent = Raw::connect(addr, &path).await;
    for frame in frames {
        is_frame(location, frame);
        agent.send(frame.clone()).await;
        let answer = agent.frame().await;
        assert_ne!(
            answer["type"], "error",
            "{location}: {frame} is answered {answer}"
        );
    }
}

/// Checks that a reader of the wire types accepts the frame.
fn is_frame(location: &str, frame: &Value) {
    let text = frame.to_string();
    let is_read = agora::parse(&text).is_ok()
        || agora::parse_downlink(&text).is_ok()
        || bridge::parse(&text, MAX_DEPTH).is_ok()
        || bridge::parse_downlink(&text).is_ok()
        || team::read_client_message(&text, &team::EnvelopeLimits::default()).is_ok();
    assert!(is_read, "{location}: no protocol reads {text}");
}

/// The command line in the configuration of an MCP client.
fn command_of(server: &Value) -> String {
    let text_of = |value: &Value| value.as_str().expect("a text").to_owned();
    let env = server["env"].as_object().into_iter().flatten();
    let env = env.map(|(name, value)| format!("{name}={}", text_of(value)));
    let args = server["args"].as_array().into_iter().flatten().map(text_of);
    let all: Vec<_> = env
        .chain([text_of(&server["command"])])
        .chain(args)
        .collect();
    all.join(" ")
}

/// Loads a block of TOML as the configuration.
pub(super) async fn load(environment: &PageEnvironment, page: &Page, fence: &Fence) {
    fs::write(environment.home().join("shown.toml"), &fence.text).expect("a file");
    let run = environment.run("jackfield config check shown.toml").await;
    assert_eq!(run.code, 0, "{}:{}: {run:?}", page.path, fence.line);
}

/// A command that prints the lines of a file, waits for answers to its questions, and records its input.
const SCRIPT: &str = r#"
note() { read -r line && printf '%s\n' "$line" >>reads; }
note
while read -r line <&3; do
    printf '%s\n' "$line"
    case "$line" in *'"ask"'* | *'"approval"'*) note ;; esac
done 3<prints
"#;

/// Checks that `connect` accepts the command's lines with `--format jsonl`, and that the command's
/// input matches the page.
pub(super) async fn lines_of_a_command(
    environment: &mut PageEnvironment,
    prints: &[Value],
    reads: &[Value],
) {
    write_lines(environment, prints.iter());
    fs::write(environment.home().join("script"), SCRIPT).expect("a file");
    let mut agent =
        environment.start("jackfield connect --as script exec --format jsonl sh script");
    assert_eq!(agent.line().await.as_deref(), Some("connected as script"));
    let mut call = environment.start("jackfield call script hello --json");
    let mut events = vec![call.json().await];
    let id = events[0]["id"].as_str().expect("an id").to_owned();
    while events.last().is_none_or(|event| event["type"] != "ask") {
        events.push(call.json().await);
    }
    let ask = events
        .last()
        .and_then(|ask| ask["id"].as_str())
        .expect("an id");
    let answer = reads[1]["text"].as_str().expect("a text");
    environment
        .run(&format!("jackfield task answer {id} {ask} '{answer}'"))
        .await
        .ok();
    // The owner decides about tool approvals, and sees how to answer.
    let hint = agent.until_it_says("jackfield task answer").await;
    let (_, hint) = hint
        .split_once("jackfield task answer")
        .expect("it says so");
    let ask = hint.split_whitespace().nth(1).expect("an id");
    let reason = reads[2]["reason"].as_str().expect("a text");
    environment
        .run(&format!(
            "jackfield task answer {id} {ask} --deny --reason '{reason}'"
        ))
        .await
        .ok();
    while let Some(line) = call.line().await {
        events.push(serde_json::from_str(&line).expect("JSON"));
    }
    call.end().await.code(6);
    let events = json!(events).to_string();
    let at_its_end = ["session", "usage", "stop_reason"];
    for line in prints
        .iter()
        .filter(|line| !at_its_end.iter().any(|kind| line["kind"] == *kind))
    {
        let text = line["text"].as_str().or(line["tool_name"].as_str());
        let text = text.map(|text| json!(text).to_string());
        let is_heard = text
            .as_deref()
            .is_none_or(|text| events.contains(text.trim_matches('"')));
        assert!(is_heard, "{line} is not in {events}");
    }
    let read = fs::read_to_string(environment.home().join("reads")).expect("it wrote it down");
    let read: Vec<Value> = read
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(keys(&read), keys(reads), "{read:?}");
    assert_eq!(read[1..], reads[1..]);
    // Usage and stop reason are reported with a successful end only.
    let calm = |line: &&Value| {
        !["ask", "approval", "error"]
            .iter()
            .any(|kind| line["kind"] == *kind)
    };
    write_lines(environment, prints.iter().filter(calm));
    let done = environment
        .run("jackfield call script hello --json")
        .await
        .ok();
    let done: Value = serde_json::from_str(done.out.lines().last().expect("a line")).expect("JSON");
    for line in prints.iter().filter(|line| line["kind"] == "usage") {
        assert_eq!(done["usage"], line["usage"], "{done}");
    }
    for line in prints.iter().filter(|line| line["kind"] == "stop_reason") {
        assert_eq!(done["stop_reason"], line["text"], "{done}");
    }
    environment.keep("script", agent);
}

fn write_lines<'v>(environment: &PageEnvironment, lines: impl Iterator<Item = &'v Value>) {
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(environment.home().join("prints"), lines).expect("a file");
}

fn keys(objects: &[Value]) -> Vec<Vec<&String>> {
    let keys = objects.iter().map(|object| {
        let mut keys: Vec<_> = object.as_object().expect("an object").keys().collect();
        keys.sort();
        keys
    });
    keys.collect()
}
