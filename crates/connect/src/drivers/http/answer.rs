//! Meaning of JSON in the response of an HTTP agent. Pure.
//!
//! An object with a `kind` is an object as commands print with `--format jsonl`. In any other object, the
//! first of a few known text fields is the text; an object with an `error` is a failure. All other JSON is
//! passed on as written.

use jackfield_sdk::AgentFailure;
use serde_json::Value;

use crate::{
    OutputItem,
    drivers::exec::lines::{self, CommandOutput},
};

/// Fields in which agents put their text.
const WORDS: [&str; 12] = [
    "text", "delta", "content", "message", "response", "answer", "reply", "output", "result",
    "token", "chunk", "data",
];
/// Failure code of an error without a code.
const FAILED: &str = "agent_error";

/// Meaning of a piece of a response.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AnswerPart {
    /// Output for the caller.
    Said(OutputItem),
    /// The agent failed.
    Failed(AgentFailure),
    /// No output.
    Nothing,
}

/// Interprets an event of a stream, or a line of JSON.
pub(super) fn event(name: &str, data: &str) -> AnswerPart {
    let value = serde_json::from_str::<Value>(data);
    if name == "error" {
        let text = value.map_or_else(|_| data.to_owned(), |value| complaint_in(&value));
        return AnswerPart::Failed(AgentFailure::new(FAILED, text));
    }
    match value {
        Ok(value) => whole(&value),
        Err(_) if data.is_empty() => AnswerPart::Nothing,
        Err(_) => AnswerPart::Said(OutputItem::Text(data.to_owned())),
    }
}

/// Interprets a JSON value.
pub(super) fn whole(value: &Value) -> AnswerPart {
    let object = match value {
        Value::Object(object) => object,
        Value::Null => return AnswerPart::Nothing,
        Value::String(text) => return words(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => return words(&value.to_string()),
    };
    if object.get("kind").is_some_and(Value::is_string) {
        return match lines::read(&value.to_string()) {
            CommandOutput::Said(said) => AnswerPart::Said(said),
            CommandOutput::Failed(failure) => AnswerPart::Failed(failure),
            // A response cannot receive answers to questions.
            CommandOutput::Ask(_) | CommandOutput::Approval { .. } | CommandOutput::Nothing => {
                AnswerPart::Nothing
            }
        };
    }
    if let Some(error) = object.get("error").filter(|error| !error.is_null()) {
        return AnswerPart::Failed(AgentFailure::new(FAILED, complaint_in(error)));
    }
    match WORDS.iter().find_map(|field| object.get(*field)?.as_str()) {
        Some(text) => words(text),
        None => words(&value.to_string()),
    }
}

fn words(text: &str) -> AnswerPart {
    match text.is_empty() {
        true => AnswerPart::Nothing,
        false => AnswerPart::Said(OutputItem::Text(text.to_owned())),
    }
}

/// Extracts the error message of a response body.
pub(super) fn complaint(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => complaint_in(&value),
        Err(_) if text.trim().is_empty() => "it does not say why".to_owned(),
        Err(_) => text.trim().to_owned(),
    }
}

fn complaint_in(value: &Value) -> String {
    let error = &value["error"];
    let texts = [
        value,
        error,
        &error["message"],
        &value["message"],
        &value["detail"],
    ];
    match texts.into_iter().find_map(Value::as_str) {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> AnswerPart {
        AnswerPart::Said(OutputItem::Text(text.to_owned()))
    }

    fn failed(text: &str) -> AnswerPart {
        AnswerPart::Failed(AgentFailure::new(FAILED, text))
    }

    #[test]
    fn words_are_found_where_agents_put_them() {
        for (data, meaning) in [
            ("plain words", text("plain words")),
            (r#""a string""#, text("a string")),
            (r#"{"response": "hi", "id": 3}"#, text("hi")),
            (r#"{"delta": "h"}"#, text("h")),
            (r#"{"temperature": 21}"#, text(r#"{"temperature":21}"#)),
            ("[1,2]", text("[1,2]")),
            ("42", text("42")),
            ("null", AnswerPart::Nothing),
            ("", AnswerPart::Nothing),
            (r#"{"text": ""}"#, AnswerPart::Nothing),
        ] {
            assert_eq!(event("", data), meaning, "{data}");
        }
    }

    #[test]
    fn objects_with_a_kind_are_those_of_commands() {
        assert_eq!(
            event("", r#"{"kind": "thinking", "text": "hm"}"#),
            AnswerPart::Said(OutputItem::Thinking("hm".to_owned()))
        );
        assert_eq!(
            event(
                "",
                r#"{"kind": "error", "code": "quota", "text": "no more"}"#
            ),
            AnswerPart::Failed(AgentFailure::new("quota", "no more"))
        );
        assert_eq!(
            event("", r#"{"kind": "ask", "text": "which?"}"#),
            AnswerPart::Nothing
        );
    }

    #[test]
    fn errors_are_failures_however_they_are_written() {
        for (name, data, told) in [
            ("", r#"{"error": "no"}"#, "no"),
            ("", r#"{"error": {"message": "no", "code": 3}}"#, "no"),
            ("error", "no", "no"),
            ("error", r#"{"detail": "no"}"#, "no"),
        ] {
            assert_eq!(event(name, data), failed(told), "{data}");
        }
        assert_eq!(event("", r#"{"error": null, "text": "x"}"#), text("x"));
        assert_eq!(complaint(""), "it does not say why");
        assert_eq!(complaint(r#"{"detail": "Not Found"}"#), "Not Found");
    }
}
