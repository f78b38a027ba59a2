//! An agent inside the hub's process.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use jackfield_core::{
    call::{Replies, Reply},
    hub::{Request, Wanted},
    principal::Principal,
};
use jackfield_model::{
    AgentId, Answer, Ask, AskKind, DoneState, End, Event, Json, Message, Owner, Part, Reason,
    SessionId,
};
use jackfield_sdk::{Agent, AgentFailure, Artifact, Error, Extension, File, Skill};
use jackfield_testkit::{SOON, fake_request};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::in_process::hub::{
    call, echo, endless, hub, is_dropped, next, next_chunk, outcome, with, words,
};

#[tokio::test]
async fn a_handler_hears_all_of_a_message_and_says_more_than_text() {
    let agent = Agent::new("bob").on_message(|message, reply| async move {
        reply.thinking("hm").await?;
        reply.tool_start("look", "t1").await?;
        reply.tool_input("t1", "where").await?;
        reply.tool_result("t1", "found").await?;
        reply.status("nearly there").await?;
        let parts: Vec<Value> = message.parts.iter().cloned().map(Value::from).collect();
        let sent = json!([
            message.text,
            message.session,
            message.context_id,
            message.caller,
            message.call,
            message.message_id,
            message.metadata,
            parts,
            message.request_id.is_empty(),
            message.client_id,
            message.with_files,
        ]);
        Ok(reply.text(sent.to_string()).await?)
    });
    let (hub, _bob) = with(agent).await;
    let message = Message {
        id: Some("m1".into()),
        parts: serde_json::from_str(
            r#"[{"text":"x"},{"file":{"name":"a","bytes":"aGk="}},{"data":{"b":[1]}}]"#,
        )
        .unwrap(),
        metadata: Some(Json::parse(r#"{"k":"v","client_id":"c","with_files":true}"#).unwrap()),
        extra: None,
    };
    let target = AgentId::parse("bob").unwrap();
    let mut request = Request::new(Principal::local(), "local", target, message);
    request.session = Some(SessionId::parse("mine").unwrap());
    let replies = hub.calls().open(request).unwrap().replies();
    let id = replies.asking().call().id.to_string();
    let outcome = outcome(replies).await;
    let other_chunks = [
        ("thinking", "hm"),
        ("tool_start", ""),
        ("tool_input", "where"),
        ("tool_result", "found"),
        ("status", "nearly there"),
    ];
    assert_eq!(
        outcome.other_chunks,
        other_chunks.map(|(kind, text)| (kind, text.to_owned()))
    );
    let parts =
        json!([{"text": "x"}, {"file": {"name": "a", "bytes": "aGk="}}, {"data": {"b": [1]}}]);
    let metadata = json!({"k": "v", "client_id": "c", "with_files": true});
    assert_eq!(
        serde_json::from_str::<Value>(&outcome.words).unwrap(),
        json!([
            "x", "mine", "mine", "local", id, "m1", metadata, parts, false, "c", true
        ])
    );
}

#[tokio::test]
async fn an_agent_says_who_it_is() {
    let agent = echo("bob")
        .name("Bob")
        .description("says it back")
        .agent_type("example")
        .skill("repeat")
        .skill(Skill::new("speak").name("Speech").description("aloud"))
        .version("1.2")
        .input_mode("text/plain")
        .output_mode("image/png")
        .extension(Extension::new("https://x/y").required());
    let (hub, _bob) = with(agent).await;
    let views = hub
        .agents()
        .discover(&Principal::local(), &Wanted::default());
    let [bob] = &views[..] else {
        panic!("{views:?}")
    };
    assert_eq!((bob.id.as_str(), bob.door.as_str()), ("bob", "local"));
    assert!(bob.online);
    assert_eq!(
        serde_json::to_value(&bob.profile).unwrap(),
        json!({
            "name": "Bob", "description": "says it back", "agent_type": "example", "version": "1.2",
            "skills": [{"id": "repeat"}, {"id": "speak", "name": "Speech", "description": "aloud"}],
            "input_modes": ["text/plain"], "output_modes": ["image/png"],
            "extensions": [{"uri": "https://x/y", "required": true}],
        })
    );
}

#[tokio::test]
async fn whoever_ends_a_call_drops_its_handler() {
    let (agent, mut dropped) = endless("bob");
    let (hub, bob) = with(agent).await;
    // The caller disconnects.
    let mut replies = call(&hub, "bob", "x");
    assert_eq!(next_chunk(&mut replies).await.text, "working");
    drop(replies);
    is_dropped(&mut dropped).await;
    // The call is cancelled.
    let mut replies = call(&hub, "bob", "x");
    next_chunk(&mut replies).await;
    let id = replies.asking().call().id;
    hub.calls().cancel(&Principal::local(), id).unwrap();
    assert_eq!(next(&mut replies).await, Reply::End(End::Cancelled));
    is_dropped(&mut dropped).await;
    // The agent is detached.
    let mut replies = call(&hub, "bob", "x");
    next_chunk(&mut replies).await;
    drop(bob);
    assert_eq!(outcome(replies).await.failure().0, "offline");
    is_dropped(&mut dropped).await;
    let refused = hub.calls().open(fake_request("bob", "x")).unwrap_err();
    assert_eq!(refused.reason, Reason::Offline);
}

#[tokio::test(start_paused = true)]
async fn a_handler_waits_while_its_caller_does_not_read() {
    const PIECE: usize = 64 << 10;
    const PIECES: usize = 100;
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let agent = Agent::new("bob").on_message(move |_, reply| {
        let counter = counter.clone();
        async move {
            for number in 0..PIECES {
                let letter = char::from(b'a' + u8::try_from(number % 26)?);
                reply.text(String::from(letter).repeat(PIECE)).await?;
                counter.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    });
    let (hub, _bob) = with(agent).await;
    let mut replies = call(&hub, "bob", "x");
    // The paused clock advances only when all tasks are idle.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let waits_after = sent.load(Ordering::Relaxed);
    // The pipe and the handler's own buffer hold one mebibyte each.
    assert!((16..=40).contains(&waits_after), "{waits_after}");
    let mut pieces = String::new();
    while let Reply::Event(Event::Chunk(chunk)) = next(&mut replies).await {
        pieces += &chunk.text;
    }
    assert_eq!(pieces.len(), PIECES * PIECE, "nothing is lost");
    let in_order = pieces.as_bytes().chunks(PIECE).enumerate();
    for (number, piece) in in_order {
        let letter = b'a' + u8::try_from(number % 26).unwrap();
        assert!(piece.iter().all(|byte| *byte == letter), "{number}");
    }
}

async fn next_ask(replies: &mut Replies) -> Ask {
    match next(replies).await {
        Reply::Event(Event::Ask(ask)) => ask,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_a_handler_asks_is_answered() {
    let agent = Agent::new("bob").on_message(|_, reply| async move {
        let name = reply.ask("who?").await?;
        let file = &name.parts[0];
        let may = reply.approve("rm", json!({"path": "/"})).await?;
        let sent = format!("{} {file:?} {} {:?}", name.text, may.approved, may.reason);
        Ok(reply.text(sent).await?)
    });
    let (hub, _bob) = with(agent).await;
    let mut replies = call(&hub, "bob", "x");
    let id = replies.asking().call().id;
    let ask = next_ask(&mut replies).await;
    assert_eq!((ask.kind, ask.text.as_str()), (AskKind::Input, "who?"));
    let answer = Answer {
        content: Some("ann".into()),
        parts: vec![Part::Text("p".into())],
        ..Answer::default()
    };
    hub.calls()
        .answer(&Principal::local(), id, &ask.id, answer)
        .unwrap();
    // The owner is asked, and the caller sees the reason for the wait.
    assert_eq!(next_chunk(&mut replies).await.kind.name(), "status");
    let answer = Answer {
        approved: Some(true),
        reason: Some("why not".into()),
        ..Answer::default()
    };
    hub.calls()
        .answer(&Principal::local(), id, "ask-2", answer)
        .unwrap();
    assert_eq!(
        outcome(replies).await.words,
        "ann Text(\"p\") true Some(\"why not\")"
    );
}

#[tokio::test]
async fn a_caller_gets_what_was_made_and_how_it_ended() {
    let agent = Agent::new("bob").on_message(|message, reply| async move {
        let log = Artifact::new("log").name("a log").text("one").open();
        reply.artifact(log).await?;
        let more = Artifact::new("log").data(json!({"two": 2}));
        reply.artifact(more.append()).await?;
        reply.attach(File::bytes(*b"hi").name("a")).await?;
        reply
            .attach(File::at("https://x/b").mime("text/plain"))
            .await?;
        reply.result("all of it");
        reply.usage(json!({"tokens": 7}));
        reply.stop_reason("end_turn");
        match message.text.as_str() {
            "wait" => reply.input_required(),
            "reject" => reply.rejected(),
            _ => {}
        }
        Ok(())
    });
    let (hub, _bob) = with(agent).await;
    for (text, state) in [
        ("go", DoneState::Completed),
        ("wait", DoneState::InputRequired),
        ("reject", DoneState::Rejected),
    ] {
        let mut replies = call(&hub, "bob", text);
        let mut made = Vec::new();
        let end = loop {
            match next(&mut replies).await {
                Reply::Event(event) => made.push(serde_json::to_value(event).unwrap()),
                Reply::End(end) => break end,
            }
        };
        assert_eq!(
            made,
            [
                json!({"type": "artifact", "id": "log", "name": "a log", "parts": [{"text": "one"}], "append": false, "last": false}),
                json!({"type": "artifact", "id": "log", "parts": [{"data": {"two": 2}}], "append": true, "last": true}),
                json!({"type": "artifact", "id": "file-1", "name": "a", "parts": [{"file": {"name": "a", "bytes": "aGk="}}], "append": false, "last": true}),
            ]
        );
        let End::Done(done) = end else {
            panic!("{end:?}")
        };
        assert_eq!(done.state, state);
        let done = serde_json::to_value(done).unwrap();
        assert_eq!(done["result"], "all of it");
        assert_eq!(done["usage"], json!({"tokens": 7}));
        assert_eq!(done["stop_reason"], "end_turn");
        let attached = json!([{"mime": "text/plain", "uri": "https://x/b"}]);
        assert_eq!(done["attachments"], attached);
    }
}

#[tokio::test]
async fn a_word_in_passing_is_a_completed_answer_that_says_so() {
    let agent = Agent::new("bob").on_message(|message, reply| async move {
        reply.text(&message.text).await?;
        if message.text == "hi" {
            reply.bare_message();
        }
        Ok(())
    });
    let (hub, _bob) = with(agent).await;
    for (text, is_message) in [("hi", true), ("work", false)] {
        let outcome = outcome(call(&hub, "bob", text)).await;
        assert_eq!(outcome.words, text);
        let done = outcome.done();
        assert_eq!(
            (done.state, done.is_message),
            (DoneState::Completed, is_message)
        );
    }
}

#[tokio::test]
async fn a_handler_that_fails_says_why() {
    let agent = Agent::new("bob").on_message(|message, _| async move {
        match message.text.as_str() {
            "panic" => panic!("oh"),
            "quota" => Err(AgentFailure::new("quota", "no more today").into()),
            "busy" => Err(AgentFailure::new("agent_busy", "later").into()),
            _ => Err("it is broken".into()),
        }
    });
    let (hub, _bob) = with(agent).await;
    for (text, reason, why) in [
        ("panic", "crashed", "the agent panicked: oh"),
        ("quota", "quota", "no more today"),
        ("busy", "busy", "later"),
        ("x", "agent_error", "it is broken"),
    ] {
        let outcome = outcome(call(&hub, "bob", text)).await;
        assert_eq!(outcome.failure(), (reason, why));
    }
}

#[tokio::test]
async fn the_newest_of_an_id_has_it_and_the_older_one_is_told() {
    let (hub, older) = with(echo("bob")).await;
    let shout = Agent::new("bob").on_message(|message, reply| async move {
        Ok(reply.text(message.text.to_uppercase()).await?)
    });
    let newer = shout.attach_to(&hub).unwrap();
    let error = timeout(SOON, older.closed()).await.unwrap();
    assert!(
        matches!(error, Error::Closed { code: 4001, .. }),
        "{error:?}"
    );
    drop(older);
    assert_eq!(words(&hub, "bob", "still here").await, "STILL HERE");
    hub.stop(Duration::ZERO).await;
    let error = timeout(SOON, newer.closed()).await.unwrap();
    assert!(
        matches!(error, Error::Closed { code: 1001, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_id_that_is_none_or_somebody_elses_is_refused() {
    let hub = hub().await;
    let refused = echo("no spaces").attach_to(&hub).unwrap_err();
    assert_eq!(refused.code(), Some("invalid"));
    let ann = Principal::admin(Owner::parse("ann").unwrap());
    let _ann = echo("bob").attach_as(&hub, &ann).unwrap();
    let refused = echo("bob").attach_to(&hub).unwrap_err();
    assert_eq!(refused.code(), Some("unauthorized"));
}
