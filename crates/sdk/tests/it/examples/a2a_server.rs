//! The documented commands of Agno's dialect, run unchanged against the example server, without a hub.

use jackfield_testkit::SOON;
use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

use crate::examples::program::{listening, terminate};

/// Copied from Agno's documentation.
const COMMAND: &str = r#"curl -X POST http://localhost:7777/a2a/message/send \
  -H 'Content-Type: application/json' \
  -d '{
    "jsonrpc": "2.0",
    "method": "message/send",
    "id": "req-1",
    "params": {
      "message": {
        "messageId": "msg-1",
        "role": "user",
        "agentId": "my-agent",
        "contextId": "session-123",
        "parts": [{"kind": "text", "text": "Hello!"}]
      }
    }
  }'"#;

/// Runs a documented command in a shell against a server. Without curl, sends the same
/// request directly.
async fn run(command: &str, address: &str) -> String {
    let command = command.replace("localhost:7777", address);
    let mut shell = Command::new("sh");
    let ran = shell.arg("-c").arg(&command).kill_on_drop(true).output();
    let output = timeout(SOON, ran).await.unwrap().unwrap();
    // The exit code of a shell for a missing command.
    if output.status.code() == Some(127) {
        let (url, body) = command.split_once(" \\\n").unwrap();
        let (_, url) = url.rsplit_once(' ').unwrap();
        let (_, body) = body.split_once("-d '").unwrap();
        let request = reqwest::Client::new().post(url);
        let request = request.header("Content-Type", "application/json");
        let body = body.trim_end_matches('\'').to_owned();
        let response = timeout(SOON, request.body(body).send()).await.unwrap();
        return response.unwrap().text().await.unwrap();
    }
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

async fn run_for_json(command: &str, address: &str) -> Value {
    serde_json::from_str(&run(command, address).await).unwrap()
}

/// Responses of the agent, the team and the workflow to the documented message.
const ANSWERS: [(&str, &str); 3] = [
    ("my-agent", "Hello from agent!"),
    ("my-team", "echo:\nHello!\n\ncounter:\n1 words"),
    ("my-workflow", "HELLO!"),
];

#[tokio::test]
async fn the_command_of_the_seed_is_answered_by_an_agent_a_team_and_a_workflow() {
    let (_program, address) = listening("a2a_server").await;
    for (id, words) in ANSWERS {
        let answer = run_for_json(&COMMAND.replace("my-agent", id), &address).await;
        assert_eq!(answer["jsonrpc"], "2.0");
        assert_eq!(answer["id"], "req-1");
        let task = &answer["result"]["task"];
        assert!(task["id"].as_str().unwrap().starts_with("task-"), "{task}");
        assert_eq!(task["context_id"], "session-123");
        assert_eq!(task["status"], "completed");
        assert_eq!(task["history"][0]["messageId"], "msg-1");
        let parts = json!([{"kind": "text", "text": words}]);
        assert_eq!(task["history"][1]["parts"], parts, "{id}");
    }
}

#[tokio::test]
async fn the_same_at_the_other_route_is_a_stream() {
    let (_program, address) = listening("a2a_server").await;
    for (id, words) in ANSWERS {
        let command = COMMAND
            .replace("/message/send", "/message/stream")
            .replace("my-agent", id);
        let events = run(&command, &address).await;
        let data = |event: &str| -> Vec<Value> {
            let start = format!("event: {event}\ndata: ");
            let found = events.split("\n\n").filter_map(|e| e.strip_prefix(&start));
            found
                .map(|data| serde_json::from_str(data).unwrap())
                .collect()
        };
        let is_text = |update: &&Value| update["kind"] == "text";
        let updates = data("task_update");
        let texts = updates.iter().filter(is_text);
        let text: String = texts
            .map(|update| update["delta"].as_str().unwrap())
            .collect();
        assert_eq!(text, words, "{events}");
        let [completed] = &data("task_completed")[..] else {
            panic!("{events}")
        };
        assert_eq!(completed["status"], "completed");
        assert_eq!(completed["message"]["parts"][0]["text"], words);
    }
}

#[tokio::test]
async fn the_error_of_the_seed_is_the_seeds_error() {
    let (_program, address) = listening("a2a_server").await;
    let answer = run_for_json(&COMMAND.replace(r#""agentId": "my-agent","#, ""), &address).await;
    let seed = r#"{
  "jsonrpc": "2.0",
  "id": "req-1",
  "error": {
    "code": -32600,
    "message": "Invalid request: agentId is required"
  }
}"#;
    assert_eq!(answer, serde_json::from_str::<Value>(seed).unwrap());
    let unknown = run_for_json(&COMMAND.replace("my-agent", "nobody"), &address).await;
    assert_eq!(
        unknown["error"],
        json!({"code": -32000, "message": "entity 'nobody' not found"})
    );
}

#[tokio::test]
async fn the_server_stops_when_it_is_terminated() {
    let (mut program, _) = listening("a2a_server").await;
    terminate(&mut program).await;
}

#[tokio::test]
async fn the_server_says_who_is_there() {
    let (_program, address) = listening("a2a_server").await;
    let asked = reqwest::get(format!("http://{address}/health"));
    let answer = timeout(SOON, asked).await.unwrap().unwrap();
    let health: Value = answer.json().await.unwrap();
    let agents = ANSWERS.map(|(id, _)| id);
    assert_eq!(health, json!({"status": "ok", "agents": agents}));
}
