//! What a client of the seed meets: registering, messages and answers, calls, replacement, signals.

use jackfield_core::{call::Reply, principal::Principal};
use jackfield_model::{ChunkKind, DoneState, End, Event, Reason};
use serde_json::{Value, json};

use crate::ws::{
    files::{offer, offers},
    harness::*,
};

#[tokio::test]
async fn both_versions_are_welcome_as_text_and_as_number() {
    let door = BridgeHub::open().await;
    for (n, version) in [json!("1"), json!(1), json!("2"), json!(2)]
        .into_iter()
        .enumerate()
    {
        let id = format!("a{n}");
        let mut agent = door.connect(&id).await;
        agent.send(register(&id, &version)).await;
        assert_eq!(
            agent.frame().await,
            json!({"type": "registered", "status": "ok"})
        );
    }
}

#[tokio::test]
async fn whoever_does_not_register_properly_is_told_and_closed() {
    let door = BridgeHub::open().await;
    let cases = [
        ("{".to_owned(), "Invalid JSON", "Invalid JSON"),
        (
            json!({"type": "heartbeat"}).to_string(),
            "First message must be register",
            "Expected register",
        ),
        (
            register("a", &json!("3")).to_string(),
            "Unsupported protocol version 3, expected 2",
            "Version mismatch",
        ),
        (
            register("b", &json!("2")).to_string(),
            "agent_id differs from the one in the URL",
            "Auth failed",
        ),
    ];
    for (text, error, reason) in cases {
        let mut agent = door.connect("a").await;
        agent.send_text(text).await;
        assert_eq!(
            agent.frame().await,
            json!({"type": "registered", "status": "error", "error": error})
        );
        assert_eq!(agent.closed().await, (1008, reason.to_owned()));
    }
}

#[tokio::test]
async fn a_message_reaches_the_agent_and_its_chunks_come_back_with_their_kinds() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    let mut replies = door.call("a", "r-1", "User's question here");
    assert_eq!(
        agent.frame().await,
        json!({
            "type": "message", "session_id": "s-1", "request_id": "r-1",
            "content": "User's question here", "attachments": [],
        })
    );
    let chunk = |kind: &str, delta: &str| json!({"type": "chunk", "session_id": "x", "request_id": "r-1", "delta": delta, "kind": kind, "tool_name": "Bash", "tool_call_id": "toolu_01abc"});
    let kinds = [
        "thinking",
        "tool_start",
        "tool_input",
        "tool_result",
        "status",
        "text",
    ];
    for kind in kinds {
        agent.send(chunk(kind, kind)).await;
    }
    agent
        .send(json!({"type": "chunk", "request_id": "not-mine", "delta": "injected"}))
        .await;
    agent
        .send(json!({
            "type": "done", "session_id": "x", "request_id": "r-1", "result": "all of it",
            "attachments": [{"name": "output.png", "url": "https://files.example/o", "type": "image/png"}],
        }))
        .await;
    agent.send(chunk("text", "late")).await;
    let mut seen = Vec::new();
    let end = loop {
        match replies.next().await.unwrap() {
            Reply::Event(Event::Chunk(chunk)) => seen.push((chunk.kind, chunk.text)),
            Reply::Event(other) => panic!("{other:?}"),
            Reply::End(end) => break end,
        }
    };
    let expected: Vec<_> = kinds
        .iter()
        .map(|kind| (ChunkKind::from_name(kind).unwrap(), (*kind).to_owned()))
        .collect();
    assert_eq!(seen, expected);
    let End::Done(done) = end else {
        panic!("{end:?}")
    };
    assert_eq!(done.result.as_deref(), Some("all of it"));
    assert_eq!(done.attachments[0].name.as_deref(), Some("output.png"));
}

#[tokio::test]
async fn an_agents_error_keeps_its_code_and_a_lost_caller_cancels() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    let mut replies = door.call("a", "r-1", "one");
    agent.frame().await;
    agent.send(json!({"type": "error", "request_id": "r-1", "code": "adapter_crash", "message": "died"})).await;
    let End::Failed(failure) = end_of(&mut replies).await else {
        panic!("not failed")
    };
    assert_eq!((failure.reason, &*failure.text), (Reason::Crashed, "died"));
    let replies = door.call("a", "r-2", "two");
    agent.frame().await;
    drop(replies);
    assert_eq!(
        agent.frame().await,
        json!({"type": "cancel", "session_id": "s-1", "request_id": "r-2"})
    );
}

#[tokio::test]
async fn agents_of_one_session_get_one_request_at_a_time() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    let (_one, _two) = (door.call("a", "r-1", "one"), door.call("a", "r-2", "two"));
    assert_eq!(agent.frame().await["request_id"], "r-1");
    agent.send(json!({"type": "discover_agents"})).await;
    assert_eq!(
        agent.frame().await["type"],
        "discover_agents_result",
        "the second waits"
    );
    agent
        .send(json!({"type": "done", "request_id": "r-1"}))
        .await;
    assert_eq!(agent.frame().await["request_id"], "r-2");
}

#[tokio::test]
async fn agents_find_and_call_each_other() {
    let door = BridgeHub::open().await;
    let (mut one, mut two) = (door.agent("one").await, door.agent("two").await);
    one.send(json!({"type": "discover_agents", "capability": "translation", "limit": 5}))
        .await;
    let found = one.frame().await;
    assert_eq!(found["agents"].as_array().unwrap().len(), 2);
    assert_eq!(found["agents"][1]["is_online"], true);
    one.send(json!({"type": "call_agent", "target_agent_id": "two", "task_description": "Translate", "call_id": "c-1"})).await;
    let message = two.frame().await;
    assert_eq!(
        (&message["request_id"], &message["content"]),
        (&json!("c-1"), &json!("Translate"))
    );
    two.send(json!({"type": "chunk", "request_id": "c-1", "delta": "ja"}))
        .await;
    two.send(json!({"type": "done", "request_id": "c-1"})).await;
    assert_eq!(
        one.frame().await,
        json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": "ja"})
    );
    assert_eq!(
        one.frame().await,
        json!({"type": "call_agent_done", "call_id": "c-1"})
    );
    one.send(json!({"type": "call_agent", "target_agent_id": "nobody", "task_description": "x", "call_id": "c-2"})).await;
    let error = one.frame().await;
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("call_agent_error"), &json!("agent_offline"))
    );
}

#[tokio::test]
async fn a_newer_connection_takes_over_and_the_calls_of_the_old_one_fail() {
    let door = BridgeHub::open().await;
    let mut old = door.agent("a").await;
    let mut replies = door.call("a", "r-1", "hi");
    old.frame().await;
    let mut new = door.agent("a").await;
    assert_eq!(old.closed().await.0, 4001);
    let End::Failed(failure) = end_of(&mut replies).await else {
        panic!("not failed")
    };
    assert_eq!(failure.reason, Reason::Offline);
    let _replies = door.call("a", "r-2", "again");
    assert_eq!(new.frame().await["request_id"], "r-2");
}

#[tokio::test]
async fn signals_reach_the_other_agent_with_the_sender_stamped() {
    let door = BridgeHub::open().await;
    let (mut one, mut two) = (door.agent("one").await, door.agent("two").await);
    let caller = Principal::local().as_agent("one".parse().unwrap());
    offers(&door, &mut two, "two", &caller, &offer("t", 5)).await;
    let signal = json!({"type": "rtc_signal", "transfer_id": "t", "target_agent_id": "two", "from_agent_id": "liar", "signal_type": "offer", "payload": "v=0"});
    one.send(signal).await;
    assert_eq!(
        two.frame().await,
        json!({"type": "rtc_signal_relay", "transfer_id": "t", "from_agent_id": "one", "signal_type": "offer", "payload": "v=0"})
    );
}

#[tokio::test]
async fn the_offer_of_a_transfer_reaches_the_reader_of_a_relay() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    let body = json!({"agent_id": "a", "session_id": "s-1", "request_id": "r-1", "content": "hi", "with_files": true});
    let relay = reqwest::Client::new()
        .post(format!("http://{}/api/relay", door.addr))
        .header("X-Platform-Secret", SECRET)
        .json(&body)
        .send();
    let answer = async {
        assert_eq!(agent.frame().await["with_files"], true);
        let offer =
            json!({"transfer_id": "t", "zip_size": 74900, "zip_sha256": "abc", "file_count": 34});
        agent
            .send(json!({"type": "done", "request_id": "r-1", "file_transfer_offer": offer}))
            .await;
        offer
    };
    let (stream, offer) = tokio::join!(soon(relay), answer);
    let told = soon(stream.unwrap().text()).await.unwrap();
    let told: serde_json::Value =
        serde_json::from_str(told.trim().strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(told, json!({"type": "done", "file_transfer_offer": offer}));
}

#[tokio::test]
async fn what_an_agent_says_of_itself_besides_is_in_its_profile() {
    let door = BridgeHub::open().await;
    let with = |id: &str, profile: Value| {
        let mut frame = register_with(id, &Value::Null);
        frame["profile"] = profile;
        frame
    };
    let mut agent = door.connect("a").await;
    let besides = json!({
        "version": "1.2", "input_modes": ["text/plain"], "output_modes": ["image/png"],
        "skills": [
            {"id": "translation", "name": "Translation", "description": "from and to French"},
            {"id": "poetry", "name": "Poetry", "tags": ["unknown here"]},
        ],
        "extensions": [{"uri": "https://x/y", "description": "does", "required": true}],
    });
    agent.send(with("a", besides.clone())).await;
    assert_eq!(agent.frame().await["status"], "ok");
    let shown = |id: &str| {
        let entry = door.hub.agents().find(&Principal::local(), id).unwrap();
        serde_json::to_value(entry.view().profile).unwrap()
    };
    assert_eq!(
        shown("a"),
        json!({
            "name": "a", "agent_type": "claude", "version": "1.2",
            "input_modes": ["text/plain"], "output_modes": ["image/png"],
            "skills": [
                {"id": "code_review"},
                {"id": "translation", "name": "Translation", "description": "from and to French"},
                {"id": "poetry", "name": "Poetry"},
            ],
            "extensions": [{"uri": "https://x/y", "description": "does", "required": true}],
        })
    );
    let long = "x".repeat(4097);
    for (profile, field) in [
        (json!("a card"), "profile"),
        (json!({"version": 2}), "profile"),
        (json!({"version": long}), "profile.version"),
        (json!({"input_modes": [long]}), "profile.modes"),
        (json!({"skills": [{"id": ""}]}), "profile.skills.id"),
        (
            json!({"skills": vec![json!({"id": "x"}); 257]}),
            "profile.skills",
        ),
        (
            json!({"extensions": [{"uri": ""}]}),
            "profile.extensions.uri",
        ),
    ] {
        let mut agent = door.connect("b").await;
        agent.send(with("b", profile)).await;
        let refused = agent.frame().await;
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains(&format!("{field:?}")), "{field}: {error}");
        assert_eq!(agent.closed().await, (1008, "Invalid register".to_owned()));
    }
    // Without the extension it may be somebody else's.
    let mut agent = door.connect("b").await;
    let mut frame = register("b", &json!("2"));
    frame["profile"] = json!("a card");
    agent.send(frame).await;
    assert_eq!(agent.frame().await["status"], "ok");
}

#[tokio::test]
async fn the_state_of_a_done_says_how_the_turn_ends() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    for (state, ends, is_message) in [
        (json!(null), DoneState::Completed, false),
        (json!("completed"), DoneState::Completed, false),
        (json!("message"), DoneState::Completed, true),
        (json!("input_required"), DoneState::InputRequired, false),
        (json!("rejected"), DoneState::Rejected, false),
        (json!("of another hub"), DoneState::Completed, false),
    ] {
        let mut replies = door.call("a", "r-1", "x");
        agent.frame().await;
        agent
            .send(json!({"type": "done", "request_id": "r-1", "state": state}))
            .await;
        let Some(Reply::End(End::Done(done))) = replies.next().await else {
            panic!("it is done")
        };
        assert_eq!((done.state, done.is_message), (ends, is_message), "{state}");
    }
}
