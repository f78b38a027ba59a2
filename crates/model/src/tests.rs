//! What joins what, what reads back from the log, and by how much a cursor advances.

use crate::{weight::parts_weight, *};

#[test]
fn text_joins_text_but_never_another_kind_or_tool_call() {
    let tool = |id: &str| Chunk {
        kind: ChunkKind::ToolInput,
        tool_call_id: Some(id.into()),
        ..Chunk::text("x")
    };
    assert!(Chunk::text("a").can_merge(&Chunk::text("b")));
    assert!(!Chunk::text("a").can_merge(&Chunk::status("b")));
    assert!(!Chunk::status("a").can_merge(&Chunk::status("b")));
    assert!(tool("1").can_merge(&tool("1")));
    assert!(!tool("1").can_merge(&tool("2")));
}

#[test]
fn events_read_back_from_the_log_as_they_were() {
    let events = [
        Event::text("hé\"llo\n"),
        Event::Artifact(Artifact {
            id: "a".into(),
            name: None,
            parts: vec![
                Part::Data(Json::parse(r#"{"deep": [1, {"x": null}]}"#).unwrap()),
                Part::File(File {
                    name: Some("f".into()),
                    mime: None,
                    source: FileSource::Uri("https://e/f".into()),
                }),
            ],
            append: true,
            last: false,
            extra: None,
        }),
        Event::Ask(Ask {
            id: "q".into(),
            kind: AskKind::Approval,
            text: "may I?".into(),
            tool_name: Some("rm".into()),
            tool_call_id: None,
            arguments: Some(Json::parse("[1]").unwrap()),
            schema: None,
        }),
    ];
    for event in events {
        assert_eq!(
            Event::from_log(event.kind(), &event.body().unwrap()).unwrap(),
            event
        );
    }
}

#[test]
fn a_cursor_advances_by_the_bytes_of_text_and_by_one_otherwise() {
    assert_eq!(Event::text("hé").advance(), 3);
    assert_eq!(Event::text("").advance(), 1);
    assert_eq!(Event::Chunk(Chunk::status("long status")).advance(), 1);
}

#[test]
fn an_end_keeps_what_the_agent_offers_and_says_nothing_of_what_it_does_not() {
    let plain = serde_json::to_string(&Done::default()).unwrap();
    assert_eq!(plain, r#"{"state":"completed"}"#);
    let done = Done {
        file_transfer_offer: Some(Json::parse(r#"{"transfer_id": "t", "zip_size": 1}"#).unwrap()),
        ..Done::default()
    };
    let text = serde_json::to_string(&done).unwrap();
    assert_eq!(serde_json::from_str::<Done>(&text).unwrap(), done);
    assert!(done.weight() > Done::default().weight() + 30);
}

#[test]
fn parts_are_joined_by_line_breaks_with_their_data_where_nothing_else_shows_it() {
    let message = Message {
        parts: vec![
            Part::Text("look:".into()),
            Part::Data(Json::parse(r#"{"n": 1.50}"#).unwrap()),
            Part::File(File {
                name: None,
                mime: None,
                source: FileSource::Uri("https://e/f".into()),
            }),
            Part::Text("well?".into()),
        ],
        ..Message::default()
    };
    assert_eq!(message.joined_text(), "look:\nwell?");
    assert_eq!(
        message.joined_text_and_data(),
        "look:\n{\"n\": 1.50}\nwell?"
    );
}

#[test]
fn every_string_and_every_part_weighs_and_plain_words_weigh_what_they_are() {
    let long = || "x".repeat(1000);
    let ask = Ask {
        id: long(),
        kind: AskKind::Approval,
        text: long(),
        tool_name: Some(long()),
        tool_call_id: Some(long()),
        arguments: None,
        schema: None,
    };
    assert_eq!(Event::Ask(ask).weight(), ITEM_OVERHEAD + 4000);
    let artifact = Artifact {
        id: long(),
        name: Some(long()),
        ..Artifact::default()
    };
    assert_eq!(Event::Artifact(artifact).weight(), ITEM_OVERHEAD + 2000);
    let answer = Input::Answer(long(), Answer::default());
    assert_eq!(answer.weight(), ITEM_OVERHEAD + 1000);
    let done = Done {
        stop_reason: Some(long()),
        ..Done::default()
    };
    assert_eq!(done.weight(), 1000);
    let message = Message {
        id: Some(long()),
        ..Message::text(long())
    };
    assert_eq!(message.weight(), 2000);
    assert_eq!(Message::text(long()).weight(), 1000);
    let empty = vec![Part::Text(String::new()); 1000];
    assert!(size_of::<Part>() * 1000 <= parts_weight(&empty) * 3 / 2);
}
