//! Documents of made-up messages, judged by a JSON Schema validator.

use serde::Serialize;
use serde_json::{Value, json};

use super::*;

#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code, reason = "only described, never made")]
enum Story {
    /// Begins.
    Begins(Chapter),
    /// Ends.
    Ends,
}

#[derive(Serialize, ToSchema)]
struct Chapter {
    title: String,
    pages: Vec<Page>,
}

#[derive(Serialize, ToSchema)]
struct Page {
    number: u64,
}

#[derive(Serialize, ToSchema)]
struct Unused {
    page: Page,
}

fn group() -> MessageSchemas {
    MessageSchemas::new("tale", "event", MessageTransport::Sse, MessageSender::Hub)
        .at(&["GET /v1/tales/{id}"])
        .variants::<Story>()
        .typed::<Page>("page")
        .bare("pulse")
        .typed_as::<Chapter>("chapter-again", "chapter")
}

fn fits(document: &SchemaDocument, message: &Value) -> bool {
    jsonschema::validator_for(&document.schema)
        .unwrap()
        .is_valid(message)
}

#[test]
fn every_variant_and_message_has_a_complete_document() {
    for base in [None, Some("https://hub.example/")] {
        let all = documents(&group(), base);
        let names: Vec<_> = all.iter().map(|it| it.name.as_deref()).collect();
        let named = ["begins", "ends", "page", "pulse", "chapter-again"].map(Some);
        assert_eq!(names, [&[None], &named[..]].concat());
        assert_eq!(all[1].path, "/schemas/tale/event.begins.json");
        let host = base.map_or("", |_| "https://hub.example");
        assert_eq!(all[1].schema["$id"], format!("{host}{}", all[1].path));
        for document in &all {
            assert!(jsonschema::meta::is_valid(&document.schema), "{document:?}");
            let text = document.schema.to_string();
            assert!(!text.contains("#/components"), "{text}");
        }
        // Only what a message refers to stands beside it.
        let parts = all[1].schema["$defs"].as_object().unwrap();
        assert!(parts.contains_key("Page"), "{parts:?}");
        assert!(all[4].schema.get("$defs").is_none(), "{:?}", all[4]);
    }
}

#[test]
fn a_message_fits_its_own_schema_and_that_of_the_group_and_a_wrong_one_fits_neither() {
    let all = documents(&group(), None);
    for (at, message) in [
        (
            1,
            json!({"type": "begins", "title": "t", "pages": [{"number": 1}]}),
        ),
        (2, json!({"type": "ends"})),
        (3, json!({"type": "page", "number": 7, "further": true})),
        (4, json!({"type": "pulse"})),
        (5, json!({"type": "chapter", "title": "t", "pages": []})),
    ] {
        for (place, document) in all.iter().enumerate() {
            assert_eq!(
                fits(document, &message),
                place == at || place == 0,
                "{place} {message}"
            );
        }
    }
    for wrong in [
        json!({"type": "begins", "title": "t", "pages": [{"number": "1"}]}),
        json!({"type": "begins", "title": "t"}),
        json!({"type": "other"}),
        json!({"number": 7}),
        json!("pulse"),
    ] {
        assert!(!fits(&all[0], &wrong), "{wrong}");
    }
}

#[test]
fn messages_are_told_by_their_path_their_sender_and_their_transport() {
    let group = group();
    let is_sent = |transport, sender, path| group.are_sent(transport, sender, path);
    assert!(is_sent(
        MessageTransport::Sse,
        MessageSender::Hub,
        "/v1/tales/7"
    ));
    assert!(!is_sent(
        MessageTransport::Sse,
        MessageSender::Hub,
        "/v1/tales"
    ));
    assert!(!is_sent(
        MessageTransport::Sse,
        MessageSender::Client,
        "/v1/tales/7"
    ));
    assert!(!is_sent(
        MessageTransport::WebSocket,
        MessageSender::Hub,
        "/v1/tales/7"
    ));
}

#[test]
fn a_part_that_nothing_refers_to_is_left_out() {
    let group = MessageSchemas::new("tale", "event", MessageTransport::Sse, MessageSender::Hub)
        .typed::<Page>("page")
        .with_parts::<Unused>();
    assert!(documents(&group, None)[1].schema.get("$defs").is_none());
}
