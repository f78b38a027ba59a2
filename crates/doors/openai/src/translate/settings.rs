//! Fields of a request besides the message: those that would change the form of the answer are refused by name,
//! because no agent would heed them; all others are settings, which are passed on as metadata.

use jackfield_model::{Json, Reason};
use jackfield_wire::json::RawMember;
use serde_json::{Map, Value, json};

use crate::{failure::OpenAiError, limits::SETTINGS};

/// Key of the settings in the metadata of a message.
const KEY: &str = "openai";

/// Checks the fields that the door does not read itself, and returns the settings among them.
pub(crate) fn take_settings(rest: &[RawMember<'_>]) -> Result<Map<String, Value>, OpenAiError> {
    let mut settings = Map::new();
    let mut room = SETTINGS;
    for member in rest {
        let raw = member.value.get();
        let Some(left) = room.checked_sub(member.name.len() + raw.len()) else {
            let text = format!(
                "field {:?}: the settings may have at most {SETTINGS} bytes",
                member.name
            );
            return Err(OpenAiError::field(Reason::TooLarge, &member.name, text));
        };
        room = left;
        // A lone surrogate: the value is no setting of anything.
        let Ok(value) = serde_json::from_str::<Value>(raw) else {
            let text = format!("field {:?} must be valid Unicode", member.name);
            return Err(OpenAiError::field(Reason::Invalid, &member.name, text));
        };
        if let Some(remedy) = refusal(&member.name, &value) {
            let text = format!("field {:?} is not supported: {remedy}", member.name);
            return Err(OpenAiError::field(Reason::Unsupported, &member.name, text));
        }
        if !value.is_null() {
            settings.insert(member.name.to_string(), value);
        }
    }
    Ok(settings)
}

/// Returns the metadata of a message with these settings.
pub(crate) fn metadata_of(settings: &Map<String, Value>) -> Option<Json> {
    if settings.is_empty() {
        return None;
    }
    Json::of(&json!({ KEY: settings })).ok()
}

/// Returns why a field is refused, with a remedy. `None` for settings, and for values that ask for nothing.
fn refusal(name: &str, value: &Value) -> Option<&'static str> {
    let is_empty = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0),
        Value::Bool(true) => false,
    };
    if is_empty {
        return None;
    }
    let is_text = |format: &Value| format["type"] == "text";
    match name {
        "n" if value.as_u64() != Some(1) => Some("an agent gives one answer; leave it out"),
        "tools" | "functions" => {
            Some("an agent runs its own tools, and takes none of the client; leave it out")
        }
        "tool_choice" | "function_call" if value != "none" && value != "auto" => {
            Some("an agent runs its own tools; leave it out")
        }
        "logprobs" | "top_logprobs" => Some("agents tell no probabilities; leave it out"),
        "response_format" if !is_text(value) => {
            Some("the form of an agent's answer cannot be forced; ask for it in the message")
        }
        "text" if value.get("format").is_some_and(|format| !is_text(format)) => {
            Some("the form of an agent's answer cannot be forced; ask for it in the message")
        }
        "modalities" if *value != json!(["text"]) => Some("agents answer in text; leave it out"),
        "audio" => Some("agents answer in text; leave it out"),
        "web_search_options" => Some("an agent searches as it likes; ask for it in the message"),
        "conversation" => Some("use previous_response_id"),
        "prompt" => Some("the hub stores no prompts; send \"instructions\" and \"input\""),
        _ => None,
    }
}
