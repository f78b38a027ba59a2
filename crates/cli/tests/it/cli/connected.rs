//! Connected agents end to end: a real hub, the real `connect`, stand-ins for the agent programs, and callers in raw
//! JSON.

mod approvals;
mod calling;
mod conversations;
mod invited;
mod kinds;
pub(crate) mod model;

use jackfield_testkit::{Events, Raw, TestHub, answer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::connect::{connect, stand_ins};
use crate::run::{Cli, Running};

/// Starts `connect` for an agent with this id.
fn start(cli: &Cli, id: &str, kind: &[&str]) -> Running {
    cli.start_command(connect(cli, &[&["--as", id][..], kind].concat()))
}

/// Waits until the agent is connected.
async fn until_connected(running: &mut Running, id: &str) {
    assert_eq!(running.line().await, Some(format!("connected as {id}")));
}

/// Connects an agent with this id.
async fn bring(cli: &Cli, id: &str, kind: &[&str]) -> Running {
    let mut running = start(cli, id, kind);
    until_connected(&mut running, id).await;
    running
}

/// Arguments for the stand-in of an ACP agent, which logs its input to a file of this name.
fn acp(log: &str) -> Vec<String> {
    let script = stand_ins().join("acp_agent.py").display().to_string();
    ["acp", "python3", &script, log].map(str::to_owned).to_vec()
}

/// Sends a message to an agent by A2A 1.0, answered by a stream.
async fn a2a_stream(hub: &TestHub, agent: &str, words: &str) -> Events {
    let message =
        json!({"messageId": format!("m-{agent}"), "role": "ROLE_USER", "parts": [{"text": words}]});
    let request = json!({"jsonrpc": "2.0", "id": "1", "method": "SendStreamingMessage", "params": {"message": message}});
    let asked = hub.web().ask(Method::POST, &format!("/a2a/agents/{agent}"));
    Events::of(asked.header("a2a-version", "1.0").json(&request)).await
}

/// The text of a value; empty if it isn't a string.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The joined text of A2A parts.
fn words_of(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// Creates the team `crew`, with the agents' ids as names and the first as coordinator, and watches
/// the team.
async fn watched_crew(hub: &TestHub, agents: &[&str]) -> Raw {
    let members = agents.iter().map(|id| json!({"name": id, "agent": id}));
    let members: Vec<_> = members.collect();
    let team = json!({"id": "crew", "coordinator": agents[0], "members": members});
    let (status, made) = hub.web().post("/v1/teams", team).await;
    assert_eq!(status, 201, "{made}");
    Raw::connect(hub.addr(), "/ws/agent-team/crew").await
}

/// Sends a message to a member of the watched team.
async fn say(viewer: &mut Raw, member: &str, words: &str) {
    let payload = json!({"content": words, "target_member_name": member});
    viewer
        .send(json!({"type": "SEND_MESSAGE", "payload": payload}))
        .await;
}

/// Returns the viewer's events up to the idle team, by type and payload.
async fn until_rest(viewer: &mut Raw) -> Vec<(String, Value)> {
    let mut shown = Vec::new();
    loop {
        let mut frame = viewer.frame().await;
        let payload = frame["payload"].take();
        let kind = frame["type"].as_str().expect("a type").to_owned();
        // Events of the snapshot have no sequence number.
        let is_new = payload["team_stream_event_envelope"]["sequence"].is_u64();
        if is_new && kind == "TEAM_STATUS" && payload["new_status"] == "idle" {
            return shown;
        }
        if is_new {
            shown.push((kind, payload));
        }
    }
}

/// Reads a call or a task from the hub.
async fn call_of(hub: &TestHub, id: &str) -> Value {
    let asked = hub.web().ask(Method::GET, &format!("/v1/calls/{id}"));
    let (status, call) = answer(asked).await;
    assert_eq!(status, 200, "{call}");
    call
}

/// Returns the tasks that agents started through the MCP server, newest first.
async fn begun_by_agents(hub: &TestHub) -> Vec<Value> {
    let (status, mut listed) = hub.web().get("/v1/calls").await;
    assert_eq!(status, 200, "{listed}");
    let Value::Array(mut tasks) = listed["tasks"].take() else {
        panic!("{listed}")
    };
    tasks.retain(|task| task["door"] == "mcp");
    tasks
}

/// Sends text and the end, as a bridge agent.
async fn says(agent: &mut Raw, request: &str, words: &str) {
    agent
        .send(json!({"type": "chunk", "request_id": request, "delta": words}))
        .await;
    agent
        .send(json!({"type": "done", "request_id": request}))
        .await;
}
