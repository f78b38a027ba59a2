//! Conversations, settings and answers in both directions.

use jackfield_core::limits::Limits;
use jackfield_kit::files::Files;
use jackfield_model::{Artifact, Ask, AskKind, Chunk, ChunkKind, Done, File, Json, Message, Part};
use jackfield_wire::read::{OpenObject, read};
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::wire::{ChatRequest, RequestInput, TokenUsage};

fn chat(messages: &str) -> Result<Conversation, String> {
    let text = format!(r#"{{"model": "m", "messages": {messages}}}"#);
    let request: ChatRequest<'_> = read(&text, 64).unwrap();
    let read = Conversation::from_chat(&request.messages);
    read.map_err(|error| format!("{} {}", error.path, error.problem))
}

fn words(message: &Message) -> String {
    message.joined_text()
}

#[test]
fn a_single_message_reaches_the_agent_as_it_is() {
    let conversation = chat(r#"[{"role": "user", "content": "hi"}]"#).unwrap();
    assert_eq!(conversation.whole(), Message::text("hi"));
    assert_eq!(conversation.news(), Message::text("hi"));
}

#[test]
fn an_agent_that_knows_the_conversation_gets_what_is_new() {
    let conversation = chat(
        r#"[{"role": "system", "content": "Be short."}, {"role": "user", "content": "one"},
            {"role": "assistant", "content": "1"}, {"role": "user", "content": "two"}, {"role": "user", "content": "three"}]"#,
    );
    assert_eq!(words(&conversation.unwrap().news()), "two\nthree");
}

#[test]
fn an_agent_that_does_not_gets_all_of_it_with_the_speakers_and_the_files() {
    let conversation = chat(
        r#"[{"role": "developer", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "what is"}, {"type": "image_url", "image_url": {"url": "https://x/a.png"}}, {"type": "text", "text": "this?"}]},
            {"role": "assistant", "content": "A cat."}, {"role": "user", "content": "Sure?"}]"#,
    );
    let parts = conversation.unwrap().whole().parts;
    let expected = [
        Part::Text("[system]\nBe short.\n\n[user]\nwhat is\n".into()),
        Part::File(File::at("https://x/a.png")),
        Part::Text("this?\n\n[assistant]\nA cat.\n\n[user]\nSure?".into()),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn a_conversation_that_asks_nothing_is_refused_by_its_field() {
    for (messages, expected) in [
        (
            "[]",
            "messages must have a message of the user; it is empty",
        ),
        (
            r#"[{"role": "user", "content": " "}]"#,
            "messages must end with a message that says something; its content is empty",
        ),
        (
            r#"[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]"#,
            "messages must end with a message of the role user: the agent answers it",
        ),
        (
            r#"[{"role": "robot", "content": "a"}]"#,
            "messages[0].role must be system, developer, user, assistant or tool",
        ),
        (r#"[{"role": "user"}]"#, "messages[0].content is required"),
        (
            r#"[{"role": "user", "content": [{"type": "text"}]}]"#,
            "messages[0].content[0].text is required",
        ),
    ] {
        assert_eq!(chat(messages).unwrap_err(), expected, "{messages}");
    }
}

#[test]
fn the_next_request_of_a_client_without_a_session_is_recognised_by_its_messages() {
    let first = chat(r#"[{"role": "system", "content": "s"}, {"role": "user", "content": "go"}]"#);
    let next = chat(
        r#"[{"role": "system", "content": "s"}, {"role": "user", "content": "go"},
            {"role": "assistant", "content": "where?"}, {"role": "user", "content": "Rome"}]"#,
    );
    let other = chat(
        r#"[{"role": "system", "content": "sg"}, {"role": "user", "content": "o"},
            {"role": "assistant", "content": "where?"}, {"role": "user", "content": "Rome"}]"#,
    );
    let (first, next, other) = (first.unwrap(), next.unwrap(), other.unwrap());
    assert_eq!(first.fingerprint_before(), None);
    assert_eq!(next.fingerprint_before(), Some(first.fingerprint()));
    assert_ne!(other.fingerprint_before(), Some(first.fingerprint()));
}

#[test]
fn the_input_of_a_response_is_a_conversation_with_instructions_first() {
    let input = serde_json::value::to_raw_value(&json!([
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "assistant", "content": [{"type": "output_text", "text": "1"}]},
        {"type": "message", "role": "user", "content": "two"},
    ]));
    let input = input.unwrap();
    let read = |instructions| {
        let input = RequestInput::read(&input).unwrap();
        Conversation::from_input(input, instructions).unwrap()
    };
    assert_eq!(words(&read(None).whole()), "[assistant]\n1\n\n[user]\ntwo");
    let told = read(Some("Be short."));
    assert_eq!(
        words(&told.whole()),
        "[system]\nBe short.\n\n[assistant]\n1\n\n[user]\ntwo"
    );
    for (item, path) in [
        (
            json!({"type": "function_call_output", "output": "x"}),
            "input[0].type",
        ),
        (
            json!({"type": "item_reference", "id": "x"}),
            "input[0].type",
        ),
        (json!({"content": "x"}), "input[0].role"),
        (json!({"role": "user"}), "input[0].content"),
    ] {
        let raw = serde_json::value::to_raw_value(&json!([item])).unwrap();
        let input = RequestInput::read(&raw).unwrap();
        let error = Conversation::from_input(input, None).unwrap_err();
        assert_eq!(error.path, path, "{item}");
    }
}

#[derive(Debug, Deserialize)]
struct Nothing {}

/// The settings among these fields, or the name of the refused field.
fn settings(fields: &serde_json::Value) -> Result<Option<String>, String> {
    let text = fields.to_string();
    let object: OpenObject<'_, Nothing> = read(&text, 64).unwrap();
    match take_settings(&object.rest) {
        Ok(settings) => Ok(metadata_of(&settings).map(|json| json.get().to_owned())),
        Err(error) => Err(error.body.param.unwrap()),
    }
}

#[test]
fn fields_that_change_the_form_of_the_answer_are_refused_by_name() {
    for (name, value) in [
        ("n", json!(2)),
        ("n", json!("x")),
        ("tools", json!([{"type": "function"}])),
        ("functions", json!([{}])),
        ("tool_choice", json!("required")),
        ("logprobs", json!(true)),
        ("top_logprobs", json!(3)),
        ("response_format", json!({"type": "json_schema"})),
        ("text", json!({"format": {"type": "json_object"}})),
        ("modalities", json!(["text", "audio"])),
        ("audio", json!({"voice": "x"})),
        ("conversation", json!("conv_1")),
        ("prompt", json!({"id": "p"})),
    ] {
        assert_eq!(
            settings(&json!({name: value})),
            Err(name.to_owned()),
            "{value}"
        );
    }
    let huge = json!({"stop": "x".repeat(100_000)});
    assert_eq!(settings(&huge), Err("stop".to_owned()));
}

#[test]
fn settings_are_passed_on_and_values_that_ask_for_nothing_are_let_be() {
    let fields = json!({
        "n": 1, "tools": [], "tool_choice": "auto", "logprobs": false, "top_logprobs": 0, "response_format": {"type": "text"},
        "text": {"format": {"type": "text"}, "verbosity": "low"}, "modalities": ["text"], "seed": null,
    });
    assert!(settings(&fields).is_ok());
    let told = settings(&json!({"temperature": 0.5, "max_tokens": 100}));
    let expected = r#"{"openai":{"max_tokens":100,"temperature":0.5}}"#;
    assert_eq!(told, Ok(Some(expected.to_owned())));
    assert_eq!(settings(&json!({"seed": null})), Ok(None));
}

fn end_of(streamed: &str, artifacts: Vec<Part>, done: &Done) -> String {
    let mut rest = AnswerRest::new(1000);
    rest.push(streamed);
    if !artifacts.is_empty() {
        rest.artifact(Artifact {
            id: "a".into(),
            parts: artifacts,
            ..Artifact::default()
        });
    }
    rest.end(done, &Files::new(&Limits::default()))
}

#[test]
fn the_end_of_an_answer_is_its_rest_with_artifacts_and_links() {
    let done = Done {
        result: Some("one two".into()),
        attachments: vec![
            File::at("https://x/a b.txt").name("a]\n.txt"),
            File::at("https://x/c(1).png").mime("image/png"),
        ],
        ..Done::default()
    };
    let data = Part::Data(Json::parse("[1]").unwrap());
    assert_eq!(
        end_of("one", vec![Part::Text("made".into()), data], &done),
        " two\n\nmade\n\n```json\n[1]\n```\n\n[a  .txt](https://x/a%20b.txt)\n\n![file](https://x/c%281%29.png)"
    );
    assert_eq!(
        end_of("", vec![], &done).split('\n').next(),
        Some("one two")
    );
    let large = end_of("", vec![Part::Text("x".repeat(2000))], &Done::default());
    assert_eq!(
        large,
        "(Some results of the agent are too large to be shown here.)"
    );
}

#[test]
fn tokens_are_told_under_either_name() {
    let usage = |json: &str| usage_of(Some(&Json::parse(json).unwrap()));
    let expected = TokenUsage {
        prompt_tokens: 3,
        completion_tokens: 4,
        total_tokens: 7,
    };
    assert_eq!(
        usage(r#"{"input_tokens": 3, "output_tokens": 4}"#),
        Some(expected)
    );
    assert_eq!(
        usage(r#"{"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}"#),
        Some(expected)
    );
    assert_eq!(usage(r#"{"cost": 0.1}"#), None);
    assert_eq!(usage_of(None), None);
}

#[test]
fn tools_and_statuses_are_a_line_each() {
    let chunk = |kind, text: &str, tool: Option<&str>| Chunk {
        kind,
        tool_name: tool.map(str::to_owned),
        ..Chunk::text(text)
    };
    for (chunk, line) in [
        (
            chunk(ChunkKind::Status, "read\ning", None),
            Some("read ing"),
        ),
        (chunk(ChunkKind::Status, "", None), None),
        (
            chunk(ChunkKind::ToolStart, "", Some("Bash")),
            Some("Uses Bash"),
        ),
        (
            chunk(ChunkKind::ToolStart, "ls", Some("Bash")),
            Some("Uses Bash: ls"),
        ),
        (chunk(ChunkKind::ToolResult, "ok", Some("Bash")), None),
        (chunk(ChunkKind::Text, "hi", None), None),
    ] {
        assert_eq!(line_of(&chunk).as_deref(), line, "{chunk:?}");
    }
}

#[test]
fn an_approval_needs_a_clear_yes() {
    let ask = |kind| Ask {
        id: "q".into(),
        kind,
        text: "Delete it?".into(),
        tool_name: Some("rm".into()),
        tool_call_id: None,
        arguments: None,
        schema: None,
    };
    let approval = ask(AskKind::Approval);
    assert_eq!(question(&approval), "Delete it? (rm)\n\nAnswer yes or no.");
    for (words, approved) in [
        ("Yes.", true),
        ("ok", true),
        ("no", false),
        ("yes, but", false),
    ] {
        let answer = answer_to(&approval, Message::text(words));
        assert_eq!(answer.approved, Some(approved), "{words}");
    }
    let input = answer_to(&ask(AskKind::Input), Message::text("Rome"));
    assert_eq!(
        (input.content.as_deref(), input.approved),
        (Some("Rome"), None)
    );
    assert_eq!(question(&ask(AskKind::Input)), "Delete it?");
}
