//! Requests as published clients send them, and objects as the protocol's specification has them.

use jackfield_model::{FileSource, Part};
use jackfield_wire::read::{OpenObject, read};
use serde_json::{json, value::RawValue};

use super::*;

/// Nesting that no test reaches.
const DEPTH: usize = 64;

fn content(json: &str) -> Result<Vec<Part>, String> {
    let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
    let read = read_content(&raw);
    read.map_err(|error| format!("{} {}", error.path, error.problem))
}

#[test]
fn a_chat_request_is_read_and_unknown_fields_are_kept() {
    let text = r#"{"model": "amy", "messages": [{"role": "user", "content": "hi", "name": "x"}, {"role": "assistant", "content": null}],
        "stream": true, "stream_options": {"include_usage": true}, "user": "ann", "temperature": 0.2, "seed": 7}"#;
    let OpenObject { known, rest } = read::<OpenObject<'_, ChatRequest<'_>>>(text, DEPTH).unwrap();
    assert_eq!((&*known.model, known.messages.len()), ("amy", 2));
    assert!(known.stream && known.stream_options.include_usage);
    assert_eq!(known.user.as_deref(), Some("ann"));
    let names: Vec<_> = rest.iter().map(|member| &*member.name).collect();
    assert_eq!(names, ["temperature", "seed"]);
    let nulls =
        r#"{"model": "amy", "messages": [], "stream": null, "stream_options": null, "user": null}"#;
    let request: ChatRequest<'_> = read(nulls, DEPTH).unwrap();
    assert!(!request.stream && request.user.is_none());
}

#[test]
fn a_wrong_field_is_named() {
    for (text, path) in [
        (r#"{"messages": []}"#, "model"),
        (r#"{"model": 1, "messages": []}"#, "model"),
        (r#"{"model": "a"}"#, "messages"),
        (r#"{"model": "a", "messages": {}}"#, "messages"),
        (
            r#"{"model": "a", "messages": [{"content": "x"}]}"#,
            "messages[0].role",
        ),
        (
            r#"{"model": "a", "messages": [], "stream": "yes"}"#,
            "stream",
        ),
    ] {
        let error = read::<OpenObject<'_, ChatRequest<'_>>>(text, DEPTH).unwrap_err();
        assert_eq!(error.path, path, "{text}");
    }
}

#[test]
fn a_response_request_is_read() {
    let text = r#"{"model": "amy", "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        "previous_response_id": null, "background": true, "store": false, "metadata": {"a": "b"}, "top_p": 1}"#;
    let OpenObject { known, rest } =
        read::<OpenObject<'_, ResponsesRequest<'_>>>(text, DEPTH).unwrap();
    assert!(known.background && known.previous_response_id.is_none());
    assert_eq!((known.store, rest.len()), (Some(false), 1));
    assert!(
        matches!(RequestInput::read(known.input), Ok(RequestInput::Items(items)) if items.len() == 1)
    );
}

#[test]
fn texts_images_files_and_sounds_are_parts() {
    let parts = content(
        r#"[{"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://x/a.png"}},
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}},
            {"type": "input_file", "filename": "b.txt", "file_data": "aGk"},
            {"type": "input_image", "image_url": "https://x/b.png"},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}]"#,
    );
    let parts = parts.unwrap();
    let said: Vec<_> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Data(json) => json.get().to_owned(),
            Part::File(file) => {
                let source = match &file.source {
                    FileSource::Uri(uri) => uri.clone(),
                    FileSource::Bytes(bytes) => bytes.to_string(),
                };
                let (name, mime) = (file.name.as_deref(), file.mime.as_deref());
                format!("{} {} {source}", name.unwrap_or("-"), mime.unwrap_or("-"))
            }
        })
        .collect();
    let expected = [
        "look",
        "- image/png aGk=",
        "- - https://x/a.png",
        "a.txt text/plain aGk=",
        "b.txt - aGk=",
        "- - https://x/b.png",
        "- audio/wav aGk=",
    ];
    assert_eq!(said, expected);
    assert_eq!(content(r#""hi""#).unwrap(), [Part::Text("hi".into())]);
}

#[test]
fn parts_that_nobody_can_read_are_refused_by_their_place() {
    for (json, expected) in [
        ("7", " must be a string or an array of content parts"),
        (r#"[{"text": "x"}]"#, "[0].type is required"),
        (r#"[{"type": "text"}]"#, "[0].text is required"),
        (
            r#"[{"type": "text", "text": "x"}, {"type": "file", "file": {"file_id": "f-1"}}]"#,
            "[1].file.file_id is not supported, because the hub stores no files; send file_data",
        ),
        (
            r#"[{"type": "file", "file": {}}]"#,
            "[0].file.file_data is required",
        ),
        (
            r#"[{"type": "input_file", "file_data": "%"}]"#,
            "[0].file_data must be base64",
        ),
        (
            r#"[{"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}}]"#,
            "[0].image_url.url must be an http or https URL, or a data: URL with valid base64",
        ),
        (
            r#"[{"type": "input_image", "image_url": "file:///etc/passwd"}]"#,
            "[0].image_url must be an http or https URL, or a data: URL with valid base64",
        ),
    ] {
        assert_eq!(content(json).unwrap_err(), expected, "{json}");
    }
    let strange = content(r#"[{"type": "video"}]"#).unwrap_err();
    assert!(strange.starts_with("[0].type must be text, ") && strange.ends_with("not \"video\""));
}

#[test]
fn objects_are_written_as_the_specification_has_them() {
    let chunk = ChatChunk {
        id: "chatcmpl-1",
        object: "chat.completion.chunk",
        created: 1,
        model: "amy",
        choices: &[ChunkChoice {
            index: 0,
            delta: Delta {
                content: Some("hi"),
                ..Delta::default()
            },
            finish_reason: None,
        }],
        usage: None,
        jackfield: None,
    };
    let expected = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "amy",
        "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": null}],
    });
    assert_eq!(serde_json::to_value(chunk).unwrap(), expected);
    let item = OutputItem::Message {
        id: "msg_1".into(),
        role: "assistant",
        status: "completed",
        content: vec![OutputText::new("hi".into())],
    };
    let expected = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}],
    });
    assert_eq!(serde_json::to_value(item).unwrap(), expected);
    let tool = OutputItem::Tool {
        id: "jtc_1".into(),
        name: "Bash".into(),
        status: "completed",
        arguments: "ls".into(),
        output: "a".into(),
    };
    assert_eq!(
        serde_json::to_value(tool).unwrap()["type"],
        "jackfield:tool_call"
    );
}
