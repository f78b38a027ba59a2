//! The documented curl command of Agno's dialect, unchanged, against an Agora agent, a bridge agent and an agent of
//! the SDK.

use jackfield_sdk::{Agent, HubAddress};
use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};
use tokio::{process::Command, sync::oneshot, task::JoinSet};

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

/// Runs the command against a hub in a shell. Without curl, sends the same request directly.
async fn run(hub: &TestHub) -> Value {
    let command = COMMAND.replace("localhost:7777", &hub.addr().to_string());
    let ran = Command::new("sh").arg("-c").arg(&command).output().await;
    let output = ran.unwrap();
    // The exit code of a shell for a missing command.
    if output.status.code() == Some(127) {
        let (_, body) = COMMAND.split_once("-d '").unwrap();
        let body = serde_json::from_str(body.trim_end_matches('\'')).unwrap();
        return hub.web().post("/a2a/message/send", body).await.1;
    }
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks that the response has the documented shape, and this text.
fn check(answer: &Value, words: &str) {
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_eq!(answer["id"], "req-1");
    let task = &answer["result"]["task"];
    assert!(task["id"].as_str().unwrap().starts_with("task-"), "{task}");
    assert_eq!(task["context_id"], "session-123");
    assert_eq!(task["status"], "completed");
    assert_eq!(task["history"][0]["messageId"], "msg-1");
    assert_eq!(
        task["history"][1]["parts"],
        json!([{"kind": "text", "text": words}])
    );
}

async fn answered_by<F>(hub: &TestHub, agent: F) -> Value
where
    F: Future<Output = ()>,
{
    let (answer, ()) = tokio::join!(run(hub), agent);
    answer
}

async fn as_agora(mut agent: Raw) {
    let message = agent.frame().await;
    assert_eq!(message["payload"]["body"]["question"], "Hello!");
    let reply = json!({"type": "reply", "to": message["from"], "payload": {"body": {"answer": "Hello from Agora!"}}});
    agent.send(reply).await;
    agent.close().await;
}

async fn as_bridge(mut agent: Raw) {
    let message = agent.frame().await;
    assert_eq!(message["content"], "Hello!");
    assert_eq!(message["session_id"], "session-123");
    for delta in ["Hello ", "from the bridge!"] {
        let chunk = json!({"type": "chunk", "request_id": message["request_id"], "delta": delta});
        agent.send(chunk).await;
    }
    let done = json!({"type": "done", "request_id": message["request_id"], "result": "Hello from the bridge!"});
    agent.send(done).await;
    agent.close().await;
}

#[tokio::test]
async fn the_command_of_the_seed_reaches_an_agora_agent() {
    let hub = TestHub::start().await;
    let agent = hub.agora("my-agent").await;
    check(
        &answered_by(&hub, as_agora(agent)).await,
        "Hello from Agora!",
    );
}

#[tokio::test]
async fn the_command_of_the_seed_reaches_a_bridge_agent() {
    let hub = TestHub::start().await;
    let agent = hub.bridge("my-agent").await;
    check(
        &answered_by(&hub, as_bridge(agent)).await,
        "Hello from the bridge!",
    );
}

#[tokio::test]
async fn the_command_of_the_seed_reaches_an_agent_of_the_sdk() {
    let hub = TestHub::start().await;
    let agent = Agent::new("my-agent")
        .hub(HubAddress::new(&hub.url("")).unwrap())
        .on_message(|message, reply| async move {
            reply.text(format!("You said: {}", message.text)).await?;
            Ok(())
        });
    let (attached, is_attached) = oneshot::channel();
    let mut attached = Some(attached);
    let mut tasks = JoinSet::new();
    tasks.spawn(agent.run_with(move || {
        if let Some(attached) = attached.take() {
            attached.send(()).unwrap();
        }
    }));
    is_attached.await.unwrap();
    check(&run(&hub).await, "You said: Hello!");
}
