//! ACP agents, which get the MCP server once per session: their later turns can call other agents
//! too.

use jackfield_testkit::{Events, TestHub};
use serde_json::{Value, json};

use super::{acp, begun_by_agents, bring, call_of, says};
use crate::run::{Cli, Running};

/// Connects the stand-in, which logs its input to a file named after the agent.
async fn bring_acp(cli: &Cli, id: &str) -> Running {
    let kind = acp(id);
    let kind: Vec<_> = kind.iter().map(String::as_str).collect();
    bring(cli, id, &kind).await
}

/// Counts the agent's requests with this method.
fn count_requests(cli: &Cli, id: &str, method: &str) -> usize {
    let log = std::fs::read_to_string(cli.home().join(id)).expect("it was told something");
    let lines = log.lines().map(serde_json::from_str::<Value>);
    let count_requests =
        lines.filter(|line| line.as_ref().is_ok_and(|line| line["method"] == method));
    count_requests.count()
}

/// Sends a message to `amy` in a session; returns the call and its events.
async fn turn(hub: &TestHub, session: &str, words: &str) -> (Value, Events) {
    let path = "/v1/agents/amy/calls";
    let body = json!({"session": session, "text": words});
    let mut events = hub.web().stream(path, body).await;
    let call = events.next().await["id"].take();
    (call, events)
}

/// Returns the text up to the end.
async fn words(mut events: Events) -> String {
    let events = events.rest().await;
    let text = events.iter().filter(|event| event["kind"] == "text");
    text.filter_map(|event| event["text"].as_str()).collect()
}

#[tokio::test]
async fn every_turn_of_a_conversation_is_the_parent_of_its_own_calls() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut cas = hub.bridge("cas").await;
    let _amy = bring_acp(&cli, "amy").await;
    for number in ["one", "two"] {
        let (call, events) = turn(&hub, "s-1", &format!("call cas {number}")).await;
        let request = cas.expect_message(number).await;
        let begun = call_of(&hub, &request).await;
        assert_eq!(begun["parent"], call, "{begun}");
        assert_eq!(begun["caller"], "amy", "{begun}");
        says(&mut cas, &request, "yes").await;
        assert_eq!(words(events).await, "cas says yes");
    }
    assert_eq!(count_requests(&cli, "amy", "session/new"), 1);
    assert_eq!(count_requests(&cli, "amy", "session/prompt"), 2);
}

#[tokio::test]
async fn later_turns_of_two_conversations_at_once_are_not_confused_and_pass_their_cancel_on() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut cas = hub.bridge("cas").await;
    let _amy = bring_acp(&cli, "amy").await;
    let sessions = ["s-1", "s-2"];
    for session in sessions {
        words(turn(&hub, session, "hello").await.1).await;
    }
    let mut turns = Vec::new();
    for session in sessions {
        turns.push(turn(&hub, session, &format!("call cas {session}")).await);
    }
    for _ in sessions {
        let message = cas.frame().await;
        let number = usize::from(message["content"] == sessions[1]);
        let request = message["request_id"].as_str().expect("it has an id");
        let begun = call_of(&hub, request).await;
        assert_eq!(begun["parent"], turns[number].0, "{begun}");
    }
    let (_, first) = turns.swap_remove(0);
    drop(first);
    assert_eq!(cas.frame().await["type"], "cancel");
}

#[tokio::test]
async fn a_circle_that_begins_in_a_later_turn_is_cut_too() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut cas = hub.bridge("cas").await;
    let _amy = bring_acp(&cli, "amy").await;
    let _bob = bring_acp(&cli, "bob").await;
    for session in ["s-1", "s-2"] {
        words(turn(&hub, session, "hello").await.1).await;
    }
    let begin = "bob says amy says bob says refused: loop: agent amy occurs 2 times";
    let answer = words(turn(&hub, "s-1", "circle bob amy").await.1).await;
    assert!(answer.starts_with(begin), "{answer}");
    assert_eq!(begun_by_agents(&hub).await.len(), 3);
    // Also while the agent works for another session.
    let (_, other) = turn(&hub, "s-2", "call cas hello").await;
    let request = cas.expect_message("hello").await;
    let answer = words(turn(&hub, "s-1", "circle bob amy").await.1).await;
    assert!(answer.starts_with(begin), "{answer}");
    assert_eq!(begun_by_agents(&hub).await.len(), 3 + 1 + 3);
    says(&mut cas, &request, "yes").await;
    assert_eq!(words(other).await, "cas says yes");
}
