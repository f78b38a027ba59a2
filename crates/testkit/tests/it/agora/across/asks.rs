//! Questions in both directions; parent calls and loops.

use jackfield_core::{
    call::Reply,
    hub::{Parent, Request},
    principal::Principal,
};
use jackfield_model::{AgentId, Answer, Ask, AskKind, End, Event, Input, Json, Message};
use jackfield_testkit::{TestHub, attach_agent, fake_request};
use serde_json::json;

fn question() -> Ask {
    Ask {
        id: "q-1".to_owned(),
        kind: AskKind::Input,
        text: "which city?".to_owned(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: Some(Json::parse(r#"{"type":"string"}"#).unwrap()),
    }
}

#[tokio::test]
async fn an_agora_caller_is_asked_and_answers_by_ask_id() {
    let hub = TestHub::start().await;
    let mut fake = attach_agent(hub.hub(), "fake");
    let mut caller = hub.agora("caller").await;
    for (send, answer) in [
        (
            json!({"type": "send", "to": "fake", "payload": {"request_id": "r"}}),
            json!({"type": "send", "to": "fake", "payload": {"request_id": "r", "ask_id": "q-1", "body": {"content": "Rome"}}}),
        ),
        (
            json!({"type": "send", "to": "fake", "stream_id": "s"}),
            json!({"type": "send", "to": "fake", "stream_id": "s", "payload": {"ask_id": "q-1", "answer": "Rome"}}),
        ),
    ] {
        caller.send(send.clone()).await;
        let serving = fake.next_call().await;
        serving.ask(question());
        let ask_frame = caller.frame().await;
        assert_eq!(ask_frame["type"], "reply");
        assert_eq!(
            ask_frame["payload"]["input_required"],
            json!({"id": "q-1", "kind": "input", "text": "which city?", "schema": {"type": "string"}})
        );
        // Callers can match the question by request or by stream.
        assert_eq!(
            ask_frame["payload"]["request_id"],
            send["payload"]["request_id"]
        );
        assert_eq!(ask_frame["stream_id"], send["stream_id"]);
        caller.send(answer.clone()).await;
        caller.expect_nothing().await;
        let mut inputs = Vec::new();
        serving.input().take(&mut inputs, usize::MAX);
        let first_answer = Answer {
            content: Some("Rome".to_owned()),
            ..Answer::default()
        };
        assert_eq!(inputs, [Input::Answer("q-1".to_owned(), first_answer)]);
        // The first answer wins.
        caller.send(answer).await;
        assert_eq!(caller.frame().await["code"], "conflict");
        serving.finish(End::done());
        assert_eq!(caller.frame().await["type"], "reply");
    }
    caller
        .send(
            json!({"type": "send", "to": "fake", "payload": {"request_id": "r", "ask_id": "q-1"}}),
        )
        .await;
    assert_eq!(caller.frame().await["code"], "invalid");
}

#[tokio::test]
async fn an_agora_agent_asks_in_several_ways_and_is_answered() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    for (frame, before) in [
        (
            json!({"type": "reply", "payload": {"input_required": {"id": "q", "text": "which city?"}}}),
            None,
        ),
        (
            json!({"type": "reply", "payload": {"input_required": "which city?"}}),
            None,
        ),
        (
            json!({"type": "reply", "payload": {"input_required": true, "text": "which city?"}}),
            None,
        ),
        (
            json!({"type": "reply", "payload": {"input_required": {"text": "which city?"}, "answer": "There are two."}}),
            Some("There are two."),
        ),
        (
            json!({"type": "reply", "stream": true, "stream_id": "x", "payload": {"input_required": {"text": "which city?"}}}),
            None,
        ),
        (
            json!({"type": "reply_end", "stream_id": "x", "payload": {"input_required": {"text": "which city?"}}}),
            None,
        ),
    ] {
        let call = hub
            .hub()
            .calls()
            .open(fake_request("agent", "weather?"))
            .unwrap();
        let mut replies = call.replies();
        let message = agent.frame().await;
        let mut asks = frame.clone();
        asks["to"] = message["from"].clone();
        agent.send(asks).await;
        if let Some(before) = before {
            assert_eq!(
                replies.next().await,
                Some(Reply::Event(Event::text(before)))
            );
        }
        let Some(Reply::Event(Event::Ask(ask))) = replies.next().await else {
            panic!("no question came of {frame}");
        };
        assert_eq!(
            (ask.kind, ask.text.as_str()),
            (AskKind::Input, "which city?"),
            "{frame}"
        );
        let answer = Answer {
            content: Some("Rome".to_owned()),
            ..Answer::default()
        };
        let id = replies.asking().call().id;
        hub.hub()
            .calls()
            .answer(&Principal::local(), id, &ask.id, answer)
            .unwrap();
        agent
            .expect(json!({
                "type": "message",
                "from": message["from"],
                "payload": {
                    "action": "answer",
                    "ask_id": ask.id,
                    "request_id": message["payload"]["request_id"],
                    "session_id": message["payload"]["session_id"],
                    "body": {"content": "Rome"},
                },
                "caller": "local",
            }))
            .await;
        agent
            .send(json!({"type": "reply", "to": message["from"], "payload": "sunny"}))
            .await;
        assert_eq!(
            replies.next().await,
            Some(Reply::Event(Event::text("sunny")))
        );
        assert_eq!(replies.next().await, Some(Reply::End(End::done())));
    }
}

#[tokio::test]
async fn a_named_parent_passes_its_cancel_on() {
    let hub = TestHub::start().await;
    let mut fake = attach_agent(hub.hub(), "fake");
    let mut agent = hub.agora("agent").await;
    // With two open calls the parent must be named.
    let first = hub
        .hub()
        .calls()
        .open(fake_request("agent", "first"))
        .unwrap();
    let _second = hub
        .hub()
        .calls()
        .open(fake_request("agent", "second"))
        .unwrap();
    let named = agent.frame().await["payload"]["request_id"].clone();
    agent.frame().await;
    agent
        .send(json!({"type": "send", "to": "fake", "payload": {"request_id": "child", "parent_request_id": named}}))
        .await;
    let child = fake.next_call().await;
    assert_eq!(child.call().parent().unwrap().id, first.call().id);
    drop(first);
    assert_eq!(fake.next_cancel().await, child.call().id);
    let mut codes = [agent.frame().await, agent.frame().await]
        .map(|frame| frame["code"].as_str().unwrap_or("cancel frame").to_owned());
    codes.sort();
    assert_eq!(codes, ["cancel frame", "cancelled"]);
}

#[tokio::test]
async fn loops_are_cut() {
    let hub = TestHub::start().await;
    let mut fake = attach_agent(hub.hub(), "fake");
    let mut agent = hub.agora("agent").await;
    let principal = Principal::local().as_agent(AgentId::parse("fake").unwrap());
    let call_agent = |parent| {
        let target = AgentId::parse("agent").unwrap();
        let message = Message::text("round and round");
        let mut request = Request::new(principal.clone(), "local", target, message);
        request.parent = parent;
        hub.hub().calls().open(request).unwrap()
    };
    // fake, agent, fake, agent: each may occur twice in a chain, not three times.
    let _first = call_agent(Parent::Unsaid);
    let parent = agent.frame().await["payload"]["request_id"].clone();
    agent
        .send(json!({"type": "send", "to": "fake", "payload": {"request_id": "r-1", "parent_request_id": parent}}))
        .await;
    let serving = fake.next_call().await;
    let _second = call_agent(Parent::Call(serving.call().id));
    let parent = agent.frame().await["payload"]["request_id"].clone();
    agent
        .send(json!({"type": "send", "to": "fake", "payload": {"request_id": "r-2", "parent_request_id": parent}}))
        .await;
    agent
        .expect_error(
            json!({"code": "loop", "to": "fake", "request_id": "r-2", "frame_type": "send"}),
        )
        .await;
}
