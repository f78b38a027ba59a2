//! The input of a stored response, as items of the protocol.

use jackfield_kit::files::Files;
use jackfield_model::{Answer, Part};
use serde_json::{Value, json};

use super::stored::{StoredInput, StoredResponse};

/// Returns the items. The messages of a conversation that the agent did not know are one item, as it got them.
pub(super) fn of(response: &StoredResponse, files: &Files) -> Vec<Value> {
    let parts = match &response.input {
        Some(StoredInput::Message(message)) => message.parts.clone(),
        Some(StoredInput::Answer(answer)) => parts_of(answer),
        None => return Vec::new(),
    };
    let content: Vec<_> = parts.iter().map(|part| content(part, files)).collect();
    vec![json!({
        "id": format!("msg_{}_in", response.id.to_string().trim_start_matches("resp_")),
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": content,
    })]
}

fn parts_of(answer: &Answer) -> Vec<Part> {
    let approved = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let words = answer.content.clone().or_else(|| answer.reason.clone());
    let words = words.or_else(|| answer.approved.map(approved));
    let words = words.map(Part::Text).into_iter();
    words.chain(answer.parts.iter().cloned()).collect()
}

fn content(part: &Part, files: &Files) -> Value {
    match part {
        Part::Text(text) => json!({"type": "input_text", "text": text}),
        Part::Data(data) => json!({"type": "input_text", "text": data.get()}),
        Part::File(file) => json!({
            "type": "input_file", "filename": file.name, "file_url": files.url(file),
        }),
    }
}
