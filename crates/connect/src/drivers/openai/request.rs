//! Converts a [`Turn`] into a request for a chat completion.

use std::path::Path;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jackfield_sdk::Part;
use serde_json::{Value, json};

use super::history::HistoryMessage;
use crate::{Turn, drivers::media};

/// Largest attached image, in bytes.
const LARGEST_PICTURE: u64 = 5 << 20;
/// Largest attached text file, in bytes.
const LARGEST_TEXT: u64 = 256 << 10;

/// Returns the text of a turn: message and data.
pub(super) fn words(turn: &Turn) -> String {
    let mut words = vec![turn.message.text.clone()];
    for part in &turn.message.parts {
        if let Part::Data(data) = part {
            words.push(data.get().to_owned());
        }
    }
    words.retain(|words| !words.is_empty());
    words.join("\n")
}

/// Returns the content of the prompt: text, with the files that the model can read.
pub(super) async fn prompt(turn: &Turn) -> Value {
    let mut text = words(turn);
    let mut pictures = Vec::new();
    for file in &turn.files {
        match read(file).await {
            AttachedContent::Picture(url) => {
                pictures.push(json!({"type": "image_url", "image_url": {"url": url}}));
            }
            AttachedContent::Text(content) => {
                text = format!("{text}\n\n--- {} ---\n{content}", name(file));
            }
            AttachedContent::Unreadable => {
                text = format!("{text}\n\n(The file {} cannot be shown here.)", name(file));
            }
        }
    }
    if pictures.is_empty() {
        return text.into();
    }
    pictures.insert(0, json!({"type": "text", "text": text}));
    pictures.into()
}

enum AttachedContent {
    Picture(String),
    Text(String),
    Unreadable,
}

async fn read(file: &Path) -> AttachedContent {
    let picture = media::of(file).filter(|mime| mime.starts_with("image/"));
    let largest = if picture.is_some() {
        LARGEST_PICTURE
    } else {
        LARGEST_TEXT
    };
    let size = tokio::fs::metadata(file).await.map(|file| file.len());
    if size.is_ok_and(|size| size <= largest)
        && let Ok(bytes) = tokio::fs::read(file).await
    {
        if let Some(mime) = picture {
            let data = BASE64_STANDARD.encode(bytes);
            return AttachedContent::Picture(format!("data:{mime};base64,{data}"));
        }
        if let Ok(text) = String::from_utf8(bytes) {
            return AttachedContent::Text(text);
        }
    }
    AttachedContent::Unreadable
}

fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Builds the request body.
pub(super) fn body(
    model: &str,
    system: Option<&str>,
    history: &[HistoryMessage],
    prompt: &Value,
) -> Value {
    let system = system.map(|text| json!({"role": "system", "content": text}));
    let before = history.iter().map(|saying| json!(saying));
    let prompt = json!({"role": "user", "content": prompt});
    let messages: Vec<Value> = system.into_iter().chain(before).chain([prompt]).collect();
    json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

#[cfg(test)]
mod tests {
    use jackfield_sdk::Message;

    use super::*;

    #[tokio::test]
    async fn files_that_a_model_can_read_go_along() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let mut message = Message::default();
        message.text = "look".to_owned();
        message.parts = vec![
            Part::Text("look".to_owned()),
            Part::Data(json!({"n": 1}).into()),
        ];
        let mut turn = Turn {
            message,
            files: vec![write("a.rs", b"fn"), write("b.bin", b"\xff\x00")],
            native_session: None,
            dir: folder.path().to_owned(),
            env: Vec::new(),
            mcp: None,
        };
        let text = "look\n{\"n\":1}\n\n--- a.rs ---\nfn\n\n(The file b.bin cannot be shown here.)";
        assert_eq!(prompt(&turn).await, json!(text));
        turn.files = vec![write("p.png", b"hi!")];
        assert_eq!(
            prompt(&turn).await,
            json!([
                {"type": "text", "text": "look\n{\"n\":1}"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGkh"}},
            ])
        );
    }

    #[test]
    fn a_request_has_the_whole_conversation_in_order() {
        let history = [
            HistoryMessage::user("hi".to_owned()),
            HistoryMessage::assistant("hello".to_owned()),
        ];
        assert_eq!(
            body("m", Some("be brief"), &history, &json!("and now?")),
            json!({
                "model": "m",
                "messages": [
                    {"role": "system", "content": "be brief"},
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "hello"},
                    {"role": "user", "content": "and now?"},
                ],
                "stream": true,
                "stream_options": {"include_usage": true},
            })
        );
    }
}
