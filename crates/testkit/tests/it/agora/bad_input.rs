//! Invalid input gets a clear error that names the frame's type and field. The connection stays usable, and two other
//! agents that talk meanwhile aren't disturbed.

mod rights;
mod socket;

use jackfield_testkit::{Raw, TestHub, attach_agent};
use serde_json::{Value, json};

/// Two agents that talk while a third sends invalid input.
pub(crate) struct Bystanders {
    pub(crate) one: Raw,
    pub(crate) two: Raw,
}

impl Bystanders {
    pub(crate) async fn join(hub: &TestHub) -> Self {
        let (mut one, two) = (hub.agora("by-1").await, hub.agora("by-2").await);
        one.send(json!({"type": "send", "to": "by-2", "stream": true, "stream_id": "s"}))
            .await;
        let mut bystanders = Self { one, two };
        assert_eq!(bystanders.two.frame().await["type"], "message");
        bystanders
    }

    /// Checks that their stream continues, without other frames.
    pub(crate) async fn are_undisturbed(&mut self) {
        self.one
            .send(json!({"type": "send_chunk", "to": "by-2", "stream_id": "s", "chunk": "on"}))
            .await;
        self.two
            .expect(
                json!({"type": "message_chunk", "from": "by-1", "stream_id": "s", "chunk": "on"}),
            )
            .await;
        self.one.expect_nothing().await;
        self.two.expect_nothing().await;
    }
}

/// Checks that each text gets an `error` with these fields, and the connection stays usable.
async fn refuses(raw: &mut Raw, table: &[(&str, Value)]) {
    for (text, fields) in table {
        raw.send_text(*text).await;
        let sentence = raw.expect_error(fields.clone()).await;
        if fields["code"] == "invalid"
            && let Some(field) = fields["field"].as_str()
        {
            assert!(
                sentence.contains(field),
                "{text}: {sentence:?} names no field"
            );
        }
        raw.expect_nothing().await;
    }
}

#[tokio::test]
async fn frames_that_are_no_json_objects_are_refused() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    let invalid = json!({"code": "invalid"});
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let table = [
        "",
        " ",
        "hello",
        "{",
        "{\"type\":\"list\"",
        "{\"type\":\"list\"}}",
        "{'type':'list'}",
        "[]",
        "[{\"type\":\"list\"}]",
        "\"list\"",
        "17",
        "null",
        "true",
        "{\"type\":\"list\"} {}",
        "\u{feff}{\"type\":\"list\"}",
        &deep,
    ]
    .map(|text| (text, invalid.clone()));
    refuses(&mut raw, &table).await;
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn unknown_types_and_wrong_fields_are_named() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    let wrong = |frame_type: &str, field: &str| json!({"code": "invalid", "frame_type": frame_type, "field": field});
    let wrong_to = |frame_type: &str, field: &str| json!({"code": "invalid", "frame_type": frame_type, "field": field, "to": "by-1"});
    refuses(
        &mut raw,
        &[
            ("{}", json!({"code": "invalid", "field": "type"})),
            (r#"{"type":null}"#, json!({"code": "invalid", "field": "type"})),
            (r#"{"type":7}"#, json!({"code": "invalid", "field": "type"})),
            (
                r#"{"type":"shout","to":"by-1"}"#,
                json!({"code": "unsupported", "frame_type": "shout", "field": "type", "to": "by-1"}),
            ),
            (
                r#"{"type":"message","to":"by-1"}"#,
                json!({"code": "unsupported", "frame_type": "message", "field": "type", "to": "by-1"}),
            ),
            (r#"{"type":"send"}"#, wrong("send", "to")),
            (r#"{"type":"send","to":7}"#, wrong("send", "to")),
            (r#"{"type":"send","to":["by-1"]}"#, wrong("send", "to")),
            (r#"{"type":"send","to":"by-1","stream":"yes"}"#, wrong_to("send", "stream")),
            (r#"{"type":"send","to":"by-1","stream":true}"#, wrong_to("send", "stream_id")),
            (r#"{"type":"send","to":"by-1","stream_id":7}"#, wrong_to("send", "stream_id")),
            (r#"{"type":"send","to":"by-1","request_id":7}"#, wrong_to("send", "request_id")),
            (r#"{"type":"send_chunk","to":"by-1","chunk":"x"}"#, wrong_to("send_chunk", "stream_id")),
            (
                r#"{"type":"send_chunk","to":"by-1","stream_id":"s"}"#,
                json!({"code": "invalid", "frame_type": "send_chunk", "field": "chunk", "to": "by-1", "stream_id": "s"}),
            ),
            (
                r#"{"type":"reply_chunk","to":"by-1","stream_id":"s","chunk":{"text":"x"}}"#,
                json!({"code": "invalid", "frame_type": "reply_chunk", "field": "chunk", "to": "by-1", "stream_id": "s"}),
            ),
            (r#"{"type":"send_end","to":"by-1"}"#, wrong_to("send_end", "stream_id")),
            (r#"{"type":"reply_end","to":"by-1"}"#, wrong_to("reply_end", "stream_id")),
            (r#"{"type":"cancel","to":"by-1"}"#, wrong_to("cancel", "stream_id")),
            (r#"{"type":"error","to":"by-1","message":"m"}"#, wrong_to("error", "code")),
            (r#"{"type":"error","to":"by-1","code":"c"}"#, wrong_to("error", "message")),
            (r#"{"type":"send","to":"by-1","to":"by-2"}"#, wrong_to("send", "to")),
            (r#"{"type":"register"}"#, wrong("register", "id")),
            (r#"{"type":"register","id":7}"#, wrong("register", "id")),
            (r#"{"type":"register","id":"bad","name":7}"#, wrong("register", "name")),
            (r#"{"type":"register","id":"bad","capabilities":"sum"}"#, wrong("register", "capabilities")),
            (r#"{"type":"register","id":"bad","capabilities":[7]}"#, wrong("register", "capabilities[0]")),
            (r#"{"type":"list","capabilities":{}}"#, wrong("list", "capabilities")),
        ],
    )
    .await;
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn json_that_is_nested_too_deeply_is_refused_wherever_it_stands() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    for depth in [65, 10_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for field in ["payload", "unheard-of"] {
            raw.send_text(format!(r#"{{"type":"send","to":"by-2","{field}":{deep}}}"#))
                .await;
            raw.expect_error(
                json!({"code": "invalid", "frame_type": "send", "field": field, "to": "by-2"}),
            )
            .await;
        }
    }
    let fits = format!("{}{}", "[".repeat(64), "]".repeat(64));
    raw.send_text(format!(r#"{{"type":"send","to":"by-2","payload":{fits}}}"#))
        .await;
    assert_eq!(bystanders.two.frame().await["from"], "bad");
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn a_chunk_over_its_limit_is_refused_and_one_at_it_is_not() {
    let hub = TestHub::start().await;
    let mut two = hub.agora("two").await;
    let mut raw = hub.agora("bad").await;
    let chunk = |bytes: usize| json!({"type": "send_chunk", "to": "two", "stream_id": "s", "chunk": "x".repeat(bytes)});
    raw.send(chunk((1 << 20) + 1)).await;
    raw.expect_error(json!({"code": "too_large", "frame_type": "send_chunk", "field": "chunk", "to": "two", "stream_id": "s"}))
        .await;
    raw.send(chunk(1 << 20)).await;
    assert_eq!(two.frame().await["chunk"].as_str().unwrap().len(), 1 << 20);
}

#[tokio::test]
async fn stream_ids_have_a_length() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    let (fits, long) = ("s".repeat(128), "é".repeat(1000));
    raw.send(json!({"type": "send", "to": "by-2", "stream": true, "stream_id": long}))
        .await;
    let error = raw.frame().await;
    assert_eq!(
        (&error["code"], &error["field"]),
        (&json!("invalid"), &json!("stream_id"))
    );
    assert!(error["message"].as_str().unwrap().contains("128"));
    assert!(error.to_string().len() < 1000, "an error is no echo");
    raw.send(json!({"type": "send", "to": "by-2", "stream": true, "stream_id": fits}))
        .await;
    assert_eq!(bystanders.two.frame().await["stream_id"], fits);
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn one_agent_has_at_most_1024_streams_open_towards_another() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    let start = |id: usize| json!({"type": "send", "to": "by-2", "stream": true, "stream_id": id.to_string()});
    for id in 0..1024 {
        raw.send(start(id)).await;
        bystanders.two.frame().await;
    }
    raw.send(start(1024)).await;
    raw.expect_error(
        json!({"code": "busy", "frame_type": "send", "to": "by-2", "stream_id": "1024"}),
    )
    .await;
    // A repeated start doesn't count, other receivers have their own limit, and an end frees a
    // place.
    raw.send(start(7)).await;
    bystanders.two.frame().await;
    raw.send(json!({"type": "send", "to": "by-1", "stream": true, "stream_id": "1024"}))
        .await;
    bystanders.one.frame().await;
    raw.send(json!({"type": "send_end", "to": "by-2", "stream_id": "7"}))
        .await;
    bystanders.two.frame().await;
    raw.send(start(1024)).await;
    assert_eq!(bystanders.two.frame().await["stream_id"], "1024");
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn a_stream_that_failed_or_was_cancelled_is_open_no_more() {
    let hub = TestHub::start().await;
    let mut two = hub.agora("two").await;
    let mut raw = hub.agora("one").await;
    let failed = json!({"type": "error", "code": "c", "message": "m"});
    let ends = [
        ("send", failed.clone()),
        ("reply", failed),
        ("send", json!({"type": "cancel"})),
        ("send", json!({"type": "send_end"})),
        ("reply", json!({"type": "reply_end"})),
    ];
    for (number, (start, mut end)) in ends.into_iter().enumerate() {
        let stream_id = number.to_string();
        raw.send(json!({"type": start, "to": "two", "stream": true, "stream_id": stream_id}))
            .await;
        end["to"] = "two".into();
        end["stream_id"] = stream_id.into();
        raw.send(end).await;
        two.frame().await;
        two.frame().await;
    }
    let mut watching = crate::agora::watch(&hub, "one");
    raw.close().await;
    crate::agora::until_offline(&mut watching).await;
    two.expect_nothing().await;
}

#[tokio::test]
async fn chunks_for_another_door_need_a_stream_that_is_open() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut _fake = attach_agent(hub.hub(), "fake");
    let mut raw = hub.agora("bad").await;
    let unknown = |frame_type: &str| json!({"code": "invalid", "frame_type": frame_type, "field": "stream_id", "to": "fake", "stream_id": "s"});
    let chunk = r#"{"type":"send_chunk","to":"fake","stream_id":"s","chunk":"x"}"#;
    let end = r#"{"type":"send_end","to":"fake","stream_id":"s"}"#;
    let cancel = r#"{"type":"cancel","to":"fake","stream_id":"s"}"#;
    let never = [
        (chunk, unknown("send_chunk")),
        (end, unknown("send_end")),
        (cancel, unknown("cancel")),
    ];
    refuses(&mut raw, &never).await;
    for text in [
        r#"{"type":"send","to":"fake","stream":true,"stream_id":"s"}"#,
        chunk,
        end,
    ] {
        raw.send_text(text).await;
    }
    let serving = _fake.next_call().await;
    // The message is complete, the reply is not: more of the message is refused without harm.
    refuses(
        &mut raw,
        &[(chunk, unknown("send_chunk")), (end, unknown("send_end"))],
    )
    .await;
    serving.finish(jackfield_model::End::done());
    assert_eq!(raw.frame().await["type"], "reply");
    refuses(&mut raw, &never).await;
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn a_reply_to_somebody_who_asked_nothing_is_refused() {
    let hub = TestHub::start().await;
    let _fake = attach_agent(hub.hub(), "fake");
    let mut raw = hub.agora("bad").await;
    let refused = |frame_type: &str| json!({"code": "invalid", "frame_type": frame_type, "field": "to", "to": "fake"});
    raw.send(json!({"type": "reply", "to": "fake", "payload": {}}))
        .await;
    raw.expect_error(refused("reply")).await;
    raw.send(json!({"type": "error", "to": "fake", "code": "c", "message": "m"}))
        .await;
    raw.expect_error(refused("error")).await;
    raw.send(json!({"type": "reply", "to": "call:nonsense", "payload": {}}))
        .await;
    raw.expect_error(
        json!({"code": "not_found", "frame_type": "reply", "field": "to", "to": "call:nonsense"}),
    )
    .await;
    raw.expect_nothing().await;
}

#[tokio::test]
async fn unknown_and_offline_agents_are_told_apart_but_not_foreign_ones() {
    let hub = TestHub::start().await;
    let token = hub.token("ann", &["agent:*"]).await;
    let _foreign = hub.agora_of(&token, "anns").await;
    let mut watching = crate::agora::watch(&hub, "was-here");
    hub.agora("was-here").await.close().await;
    crate::agora::until_offline(&mut watching).await;
    let mut raw = hub.agora("bad").await;
    for kind in [
        "send",
        "send_chunk",
        "send_end",
        "reply",
        "reply_chunk",
        "reply_end",
        "cancel",
        "error",
    ] {
        let mut said = Vec::new();
        for (to, code) in [
            ("was-here", "offline"),
            ("nobody", "not_found"),
            ("anns", "not_found"),
            ("no id!", "not_found"),
        ] {
            raw.send(json!({"type": kind, "to": to, "stream_id": "s", "request_id": "r", "chunk": "x", "code": "c", "message": "m"}))
                .await;
            let sentence = raw
                .expect_error(json!({"code": code, "to": to, "stream_id": "s", "request_id": "r", "frame_type": kind, "field": "to"}))
                .await;
            said.push(sentence.replace(to, "X"));
        }
        assert_eq!(said[1], said[2], "foreign and unknown look the same");
    }
}
