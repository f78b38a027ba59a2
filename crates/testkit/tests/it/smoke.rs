//! The testkit itself works: two agents communicate through a real hub.

use jackfield_model::{End, Event};
use jackfield_testkit::{TestHub, attach_agent, fake_request};
use serde_json::json;

#[tokio::test]
async fn two_agora_agents_meet() {
    let hub = TestHub::start().await;
    let mut one = hub.agora("agent-1").await;
    let mut two = hub.agora("agent-2").await;
    one.send(json!({"type": "send", "to": "agent-2", "payload": {"action": "query", "body": {"question": "hi"}}})).await;
    assert_eq!(
        two.frame().await,
        json!({"type": "message", "from": "agent-1", "payload": {"action": "query", "body": {"question": "hi"}}})
    );
}

#[tokio::test]
async fn a_call_from_another_door_reaches_an_agora_agent_and_streams_back() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent-1").await;
    let mut replies = hub
        .hub()
        .calls()
        .open(fake_request("agent-1", "what is it?"))
        .unwrap()
        .replies();
    let message = agent.frame().await;
    assert_eq!(message["payload"]["body"]["question"], "what is it?");
    let from = message["from"].as_str().unwrap();
    for frame in [
        json!({"type": "reply", "to": from, "stream": true, "stream_id": "s"}),
        json!({"type": "reply_chunk", "to": from, "stream_id": "s", "chunk": "it "}),
        json!({"type": "reply_chunk", "to": from, "stream_id": "s", "chunk": "is"}),
        json!({"type": "reply_end", "to": from, "stream_id": "s"}),
    ] {
        agent.send(frame).await;
    }
    let mut text = String::new();
    loop {
        match replies.next().await.unwrap() {
            jackfield_core::call::Reply::Event(Event::Chunk(chunk)) => text += &chunk.text,
            jackfield_core::call::Reply::End(end) => {
                assert_eq!(end, End::done());
                break;
            }
            jackfield_core::call::Reply::Event(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(text, "it is");
}

#[tokio::test]
async fn an_agora_agent_calls_another_door() {
    let hub = TestHub::start().await;
    let mut fake = attach_agent(hub.hub(), "fake");
    let mut agent = hub.agora("agent-1").await;
    agent.send(json!({"type": "send", "to": "fake", "payload": {"request_id": "r", "body": {"question": "hi"}}})).await;
    let serving = fake.next_call().await;
    assert_eq!(serving.call().message.joined_text(), "hi");
    serving.push(Event::text("yes"));
    serving.finish(End::done());
    assert_eq!(agent.frame().await["type"], "reply");
    assert_eq!(
        agent.frame().await,
        json!({"type": "reply_chunk", "from": "fake", "stream_id": "r", "chunk": "yes"})
    );
    assert_eq!(agent.frame().await["type"], "reply_end");
}
