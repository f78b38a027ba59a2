//! The first frames of `docs/protocols/agora.md`: the hub sends and accepts them exactly as shown.

use std::{fs, path::Path};

use jackfield_core::{call::Reply, principal::Principal};
use jackfield_model::{Answer, End, Event, Failure, Reason};
use jackfield_testkit::{Raw, TestHub, fake_request};
use serde_json::{Value, json};

/// The JSON blocks of the page, an object per line.
fn blocks() -> Vec<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocols/agora.md");
    let page = fs::read_to_string(path).expect("the page");
    let blocks = page.split("```json\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().expect("a block").lines());
    let parsed = |line: &str| serde_json::from_str(line).expect("JSON");
    blocks.map(|lines| lines.map(parsed).collect()).collect()
}

/// A frame of the hub in the form of the page: ids differ each time.
fn as_on_page(mut frame: Value) -> Value {
    frame["from"] = "call:…".into();
    let in_payload = ["request_id", "session_id"].map(|id| format!("/payload/{id}"));
    for id in in_payload.iter().map(String::as_str).chain(["/request_id"]) {
        if let Some(id) = frame.pointer_mut(id) {
            *id = "…".into();
        }
    }
    frame
}

/// Sends the frames of a block about a call.
async fn send_frames(agent: &mut Raw, frames: &[Value], call: &Value) {
    for frame in frames {
        let mut frame = frame.clone();
        assert_eq!(frame["to"], "call:…");
        frame["to"] = call.clone();
        agent.send(frame).await;
    }
}

#[tokio::test]
async fn the_page_shows_what_an_agent_is_sent_and_what_it_may_say() {
    let blocks = blocks();
    let [message, reply, stream, failure, question, answered, cancel] = &blocks[..] else {
        panic!("there are {} blocks", blocks.len());
    };
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    let call = || {
        hub.hub()
            .calls()
            .open(fake_request("agent", "hello"))
            .unwrap()
    };
    for block in [reply, stream] {
        let open = call();
        let frame = agent.frame().await;
        assert_eq!(as_on_page(frame.clone()), message[0]);
        send_frames(&mut agent, block, &frame["from"]).await;
        let (text, end) = open.replies().finish().await;
        assert!(matches!(end, End::Done(_)), "{end:?}");
        assert_eq!(text, "you said: hello");
    }

    let open = call();
    let from = agent.frame().await["from"].clone();
    send_frames(&mut agent, failure, &from).await;
    let reason = Reason::Agent("quota".to_owned());
    let failed = Failure::new(reason, "no more today");
    assert_eq!(open.replies().finish().await.1, End::Failed(failed));

    let open = call();
    let from = agent.frame().await["from"].clone();
    send_frames(&mut agent, question, &from).await;
    let mut replies = open.replies();
    let Some(Reply::Event(Event::Ask(ask))) = replies.next().await else {
        panic!("no question came");
    };
    let answer = Answer {
        content: Some("Rome".to_owned()),
        ..Answer::default()
    };
    let id = replies.asking().call().id;
    hub.hub()
        .calls()
        .answer(&Principal::local(), id, &ask.id, answer)
        .unwrap();
    assert_eq!(as_on_page(agent.frame().await), answered[0]);

    drop(replies);
    assert_eq!(as_on_page(agent.frame().await), cancel[0]);
    assert_eq!(cancel[0]["from"], json!("call:…"));
}
