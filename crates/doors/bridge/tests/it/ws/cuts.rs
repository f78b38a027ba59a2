//! Connections that are cut in the middle of an answer: the caller never notices.

use jackfield_core::principal::Principal;
use jackfield_model::{Answer, End, Event, Reason};
use serde_json::{Value, json};

use crate::ws::harness::*;

/// An answer in which no two frames are merged on their way, so that it is the same however it was read.
fn script() -> Vec<Value> {
    let tool = |kind: &str| json!({"type": "chunk", "delta": kind, "kind": kind, "tool_name": "Bash", "tool_call_id": "t"});
    let artifact = |append: bool, text: &str| json!({"type": "artifact", "artifact_id": "f", "name": "n", "parts": [{"text": text}], "append": append, "last": append});
    let mut frames = vec![
        json!({"type": "chunk", "delta": "let me see", "kind": "thinking"}),
        json!({"type": "chunk", "delta": "The answer "}),
        tool("tool_start"),
        tool("tool_input"),
        tool("tool_result"),
        json!({"type": "chunk", "delta": "is \u{1F600} "}),
        artifact(false, "one"),
        artifact(true, "two"),
        json!({"type": "chunk", "delta": "busy", "kind": "status"}),
        json!({"type": "chunk", "delta": "42."}),
        json!({
            "type": "done", "result": "all of it", "usage": {"tokens": 7}, "stop_reason": "end_turn",
            "file_transfer_offer": {"transfer_id": "t", "zip_size": 74900},
            "attachments": [{"name": "o.png", "url": "https://files.example/o", "type": "image/png"}],
        }),
    ];
    for (seq, frame) in (1..).zip(&mut frames) {
        frame["request_id"] = json!("r-1");
        frame["seq"] = json!(seq);
    }
    frames
}

/// What the caller gets if nothing is cut.
async fn uncut() -> (Vec<Event>, End) {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    agent.send_all(script()).await;
    let answer = all_of(replies).await;
    assert_eq!(answer.0.len(), script().len() - 1);
    let End::Done(done) = &answer.1 else {
        panic!("{answer:?}")
    };
    let offer = done.file_transfer_offer.as_ref().unwrap().raw().get();
    assert_eq!(offer, r#"{"transfer_id":"t","zip_size":74900}"#);
    answer
}

/// What the hub says it has of the only open request; if it is over, all.
fn have(resumed: &Value, sent: u64) -> u64 {
    if resumed["gone"] == json!(["r-1"]) {
        return u64::MAX;
    }
    assert_eq!(resumed["open"][0]["request_id"], "r-1", "{resumed}");
    let have = resumed["open"][0]["have"].as_u64().unwrap();
    assert!(have <= sent, "{have} of {sent}");
    have
}

/// The frames after a number.
fn after(have: u64) -> impl Iterator<Item = Value> {
    let frames = script().into_iter();
    frames.filter(move |frame| frame["seq"].as_u64() > Some(have))
}

fn up_to(sent: u64) -> impl Iterator<Item = Value> {
    let frames = script().into_iter();
    frames.filter(move |frame| frame["seq"].as_u64() <= Some(sent))
}

#[tokio::test]
async fn cut_after_any_frame_the_answer_is_the_same() {
    let expected = uncut().await;
    let last = script().len() as u64;
    for sent in 0..=last {
        // With a hub that has noticed the cut, and one to which the old connection still looks alive.
        for is_noticed in [true, false] {
            let door = BridgeHub::open().await;
            let (mut agent, token) = door.resumable("a").await;
            let replies = door.call("a", "r-1", "hi");
            assert_eq!(agent.word().await["request_id"], "r-1");
            agent.send_all(up_to(sent)).await;
            let mut old = Some(agent);
            if is_noticed {
                old = None;
                door.lost("a").await;
            }
            let (mut agent, resumed) = door.resume("a", &token, open("r-1", sent)).await;
            assert_eq!(resumed["token"], token, "the token stays good");
            let have = have(&resumed, sent);
            agent.send_all(after(have)).await;
            assert_eq!(all_of(replies).await, expected, "cut after {sent}");
            if have < last {
                agent.acked("r-1", last).await;
            }
            assert_eq!(
                agent.sync().await,
                [] as [Value; 0],
                "nothing is said twice"
            );
            if let Some(mut old) = old {
                assert_eq!(old.closed().await.0, 4001);
            }
            assert_eq!(door.refused(), 0);
        }
    }
}

#[tokio::test]
async fn an_agent_that_heard_no_ack_repeats_everything_and_nothing_is_doubled() {
    let expected = uncut().await;
    let last = script().len() as u64;
    for sent in 0..=last {
        let door = BridgeHub::open().await;
        let (mut agent, token) = door.resumable("a").await;
        let replies = door.call("a", "r-1", "hi");
        agent.word().await;
        agent.send_all(up_to(sent)).await;
        drop(agent);
        let (mut agent, _) = door.resume("a", &token, open("r-1", sent)).await;
        agent.send_all(script()).await;
        agent.acked("r-1", last).await;
        assert_eq!(all_of(replies).await, expected, "cut after {sent}");
        assert_eq!(door.refused(), 0);
    }
}

#[tokio::test]
async fn cut_after_every_frame_and_before_the_hub_has_said_a_word() {
    let expected = uncut().await;
    let door = BridgeHub::open().await;
    let (mut agent, token) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    drop(agent);
    let last = script().len() as u64;
    for sent in 0..last {
        // Registered, and cut before it heard of it.
        let mut agent = door.connect("a").await;
        let resume = json!({"token": token, "open": open("r-1", sent)});
        agent.send(register_with("a", &resume)).await;
        drop(agent);
        let (mut agent, resumed) = door.resume("a", &token, open("r-1", sent)).await;
        let have = have(&resumed, sent);
        agent
            .send_all(after(have).take_while(|frame| frame["seq"].as_u64() <= Some(sent + 1)))
            .await;
    }
    let (mut agent, resumed) = door.resume("a", &token, open("r-1", last)).await;
    agent.send_all(after(have(&resumed, last))).await;
    assert_eq!(all_of(replies).await, expected);
}

#[tokio::test]
async fn a_message_that_never_arrived_is_written_again_and_only_then() {
    let door = BridgeHub::open().await;
    let (agent, token) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.is_written_to().await;
    drop(agent);
    let (mut agent, resumed) = door.resume("a", &token, json!([])).await;
    assert_eq!(resumed.get("open"), None);
    let message = agent.word().await;
    assert_eq!(
        (
            &message["type"],
            &message["request_id"],
            &message["content"]
        ),
        (&json!("message"), &json!("r-1"), &json!("hi"))
    );
    drop(agent);
    // Now it has it.
    let (mut agent, resumed) = door.resume("a", &token, open("r-1", 0)).await;
    assert_eq!(resumed["open"], json!([{"request_id": "r-1", "have": 0}]));
    assert_eq!(agent.sync().await, [] as [Value; 0]);
    agent.send(done("r-1", 1)).await;
    assert_eq!(all_of(replies).await.1, End::done());
}

#[tokio::test]
async fn messages_that_never_arrived_come_in_their_order() {
    let door = BridgeHub::open().await;
    let (agent, token) = door.resumable("a").await;
    let requests: Vec<_> = (0..20).map(|n| format!("r-{n}")).collect();
    let calls: Vec<_> = requests
        .iter()
        .map(|id| door.call("a", id, &"x".repeat(20_000)))
        .collect();
    agent.is_written_to().await;
    drop(agent);
    door.lost("a").await;
    let waiting = door.call("a", "r-new", "came during the cut");
    let (mut agent, _) = door.resume("a", &token, json!([])).await;
    for id in requests.iter().map(String::as_str).chain(["r-new"]) {
        assert_eq!(agent.word().await["request_id"], id);
        agent.send(done(id, 1)).await;
    }
    for replies in calls.into_iter().chain([waiting]) {
        assert_eq!(all_of(replies).await.1, End::done());
    }
}

#[tokio::test]
async fn a_request_that_the_agent_forgot_in_the_middle_fails() {
    let door = BridgeHub::open().await;
    let (mut agent, token) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    agent.send(chunk("r-1", 1, "half of ")).await;
    agent.acked("r-1", 1).await;
    drop(agent);
    let (mut agent, _) = door.resume("a", &token, json!([])).await;
    assert_eq!(failure_of(replies).await, Reason::Offline);
    assert_eq!(agent.sync().await, [] as [Value; 0], "it is not run twice");
}

#[tokio::test]
async fn numbers_of_somebody_else_are_not_believed() {
    let door = BridgeHub::open().await;
    let (mut agent, token) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    agent
        .send_all((1..=3).map(|seq| chunk("r-1", seq, "x")))
        .await;
    agent.acked("r-1", 3).await;
    drop(agent);
    let (_agent, resumed) = door.resume("a", &token, open("r-1", 2)).await;
    assert_eq!(
        resumed["gone"],
        json!(["r-1"]),
        "it has sent less than has come"
    );
    assert_eq!(failure_of(replies).await, Reason::Offline);
}

#[tokio::test]
async fn an_answer_is_not_taken_for_that_to_a_later_request_of_the_same_id() {
    let door = BridgeHub::open().await;
    let (mut agent, token) = door.resumable("a").await;
    let first = door.call("a", "r-1", "one");
    agent.word().await;
    agent
        .send_all([chunk("r-1", 1, "to one"), done("r-1", 2)])
        .await;
    assert_eq!(all_of(first).await.1, End::done());
    let second = door.call("a", "r-1", "two");
    agent.is_written_to().await;
    drop(agent);
    // The agent got neither the ack nor the second message.
    let (mut agent, resumed) = door.resume("a", &token, open("r-1", 2)).await;
    assert_eq!(resumed["gone"], json!(["r-1"]));
    agent
        .send_all([chunk("r-1", 1, "to one"), done("r-1", 2)])
        .await;
    agent.sync().await;
    assert_eq!(failure_of(second).await, Reason::Offline);
}

#[tokio::test]
async fn a_cancel_that_found_no_connection_is_written_to_the_next_one() {
    let door = BridgeHub::open().await;
    let (mut agent, token) = door.resumable("a").await;
    let (kept, dropped) = (door.call("a", "r-1", "hi"), door.call("a", "r-2", "hi"));
    agent.word().await;
    agent.word().await;
    drop(agent);
    door.lost("a").await;
    drop(dropped);
    let both = json!([{"request_id": "r-1", "sent": 0}, {"request_id": "r-2", "sent": 4}]);
    let (mut agent, resumed) = door.resume("a", &token, both).await;
    assert_eq!(
        (&resumed["open"], &resumed["gone"]),
        (&json!([{"request_id": "r-1", "have": 0}]), &json!(["r-2"]))
    );
    assert_eq!(
        agent.sync().await,
        [json!({"type": "cancel", "session_id": "s-1", "request_id": "r-2"})]
    );
    agent.send(done("r-1", 1)).await;
    assert_eq!(all_of(kept).await.1, End::done());
}

#[tokio::test]
async fn answers_are_repeated_and_questions_are_asked_once() {
    for is_heard in [true, false] {
        let door = BridgeHub::open().await;
        let (mut agent, token) = door.resumable("a").await;
        let replies = door.call("a", "r-1", "hi");
        let call = replies.asking().call().id;
        agent.word().await;
        let ask = json!({"type": "ask", "request_id": "r-1", "ask_id": "q", "kind": "input", "text": "which?", "seq": 1});
        agent.send(ask.clone()).await;
        agent.acked("r-1", 1).await;
        let yes = Answer {
            content: Some("this one".into()),
            ..Answer::default()
        };
        let answer =
            json!({"type": "answer", "request_id": "r-1", "ask_id": "q", "content": "this one"});
        if is_heard {
            door.hub
                .calls()
                .answer(&Principal::local(), call, "q", yes)
                .unwrap();
            assert_eq!(agent.word().await, answer);
            drop(agent);
        } else {
            drop(agent);
            door.lost("a").await;
            door.hub
                .calls()
                .answer(&Principal::local(), call, "q", yes)
                .unwrap();
        }
        let (mut agent, resumed) = door.resume("a", &token, open("r-1", 1)).await;
        assert_eq!(resumed["open"][0]["have"], 1);
        assert_eq!(agent.sync().await, [answer], "once");
        agent
            .send_all([ask, chunk("r-1", 2, "so be it"), done("r-1", 3)])
            .await;
        let (events, end) = all_of(replies).await;
        assert!(
            matches!(&events[..], [Event::Ask(_), Event::Chunk(_)]),
            "{events:?}"
        );
        assert_eq!(end, End::done());
    }
}
