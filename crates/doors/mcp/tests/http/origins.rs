//! For which call a tool calls an agent, and as whom.

use jackfield_core::{
    call::AgentHandle,
    hub::Request,
    principal::{Principal, Who},
};
use jackfield_model::{AgentId, Message};
use serde_json::{Value, json};

use crate::harness::{McpHub, Scripted, last, words};

/// Calls `amy` from outside.
async fn first(hub: &McpHub, amy: &mut Scripted) -> AgentHandle {
    let id = AgentId::parse("amy").unwrap();
    let request = Request::new(Principal::local(), "own", id, Message::text("go"));
    hub.hub.tasks().start(request).await.unwrap();
    amy.next_call().await
}

/// What an agent calls another one with, through the door, while it serves a call.
async fn onward(hub: &McpHub, serving: &AgentHandle, to: &str) -> Value {
    let message = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "call_agent", "arguments": {"agent": to, "message": "go on", "wait_seconds": 0}},
    });
    let request = hub
        .post(&message)
        .header("jackfield-call", serving.call().id.to_string())
        .header("jackfield-agent", serving.call().target.as_str());
    last(request.send().await.unwrap()).await["result"].clone()
}

#[tokio::test]
async fn a_call_is_made_for_the_one_that_the_header_names_and_ends_with_it() {
    let hub = McpHub::start().await;
    let (mut amy, mut ben) = (hub.attach("amy"), hub.attach("ben"));
    let outer = first(&hub, &mut amy).await;
    let begun = onward(&hub, &outer, "ben").await;
    let inner = ben.next_call().await;
    assert_eq!(inner.call().parent().unwrap().id, outer.call().id);
    let as_amy = Who::Agent(AgentId::parse("amy").unwrap());
    assert_eq!(inner.call().principal.who, as_amy);
    let task = begun["structuredContent"]["task"].as_str().unwrap();
    let path = format!("/v1/calls/{task}");
    let shown: Value = hub
        .ask(reqwest::Method::GET, &path)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(shown["parent"], outer.call().id.to_string(), "{shown}");
    let cancelled = hub.hub.calls().cancel(&Principal::local(), outer.call().id);
    cancelled.unwrap();
    assert_eq!(ben.next_cancel().await, inner.call().id);
}

#[tokio::test]
async fn two_agents_that_call_each_other_are_stopped() {
    let hub = McpHub::start().await;
    let (mut amy, mut ben) = (hub.attach("amy"), hub.attach("ben"));
    let mut chain = vec![first(&hub, &mut amy).await];
    let mut refused = Value::Null;
    for hop in 0..8 {
        let to = ["ben", "amy"][hop % 2];
        let result = onward(&hub, chain.last().unwrap(), to).await;
        if result["isError"] == true {
            refused = result;
            break;
        }
        let next = if to == "amy" { &mut amy } else { &mut ben };
        chain.push(next.next_call().await);
    }
    assert_eq!(chain.len(), 4, "each of them twice");
    let words = words(&refused);
    assert!(words.starts_with("loop: "), "{words}");
    assert!(words.contains("answer with what you have"), "{words}");
}

#[tokio::test]
async fn nobody_acts_as_an_agent_that_is_not_theirs() {
    let hub = McpHub::start().await;
    let _amy = hub.attach("amy");
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
    let response = hub.post(&message).header("jackfield-agent", "ben").send();
    assert_eq!(response.await.unwrap().status(), 401);
    let message = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "call_agent", "arguments": {"agent": "amy", "message": "hi"}},
    });
    let response = hub.post(&message).header("jackfield-call", "no id").send();
    let result = last(response.await.unwrap()).await["result"].clone();
    assert!(words(&result).contains("Jackfield-Call"), "{result}");
}
