//! Converts a [`Turn`] into a prompt of ACP: content blocks of the kinds that the agent supports.

use std::path::Path;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jackfield_sdk::Part;
use reqwest::Url;
use serde_json::{Value, json};

use crate::{McpServer, Turn, drivers::media};

/// Largest image that is sent inline, in bytes. Models accept no larger images, and a line must stay within
/// limits.
const LARGEST_PICTURE: u64 = 5 << 20;

/// Capabilities that the agent announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AcpCapabilities {
    /// Can resume a conversation.
    pub(super) resumes: bool,
    /// Can resume a conversation, and replays all of it.
    pub(super) loads: bool,
    /// Accepts images.
    pub(super) sees: bool,
}

impl AcpCapabilities {
    /// Reads the capabilities from the response to `initialize`.
    pub(super) fn read(answer: &Value) -> Self {
        let can = &answer["agentCapabilities"];
        let is_true = |value: &Value| value.as_bool() == Some(true);
        Self {
            resumes: can["sessionCapabilities"]["resume"].is_object(),
            loads: is_true(&can["loadSession"]),
            sees: is_true(&can["promptCapabilities"]["image"]),
        }
    }
}

/// Builds the blocks of a prompt. Every agent accepts text and links; other kinds are sent only if announced.
pub(super) async fn blocks(turn: &Turn, abilities: AcpCapabilities) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !turn.message.text.is_empty() {
        blocks.push(json!({"type": "text", "text": turn.message.text}));
    }
    for part in &turn.message.parts {
        if let Part::Data(data) = part {
            blocks.push(json!({"type": "text", "text": data.get()}));
        }
    }
    for file in &turn.files {
        let picture = match media::of(file) {
            Some(mime) if abilities.sees && mime.starts_with("image/") => picture(file, mime).await,
            _ => None,
        };
        blocks.extend(picture.or_else(|| link(file)));
    }
    if blocks.is_empty() {
        blocks.push(json!({"type": "text", "text": ""}));
    }
    blocks
}

async fn picture(file: &Path, mime: &str) -> Option<Value> {
    let size = tokio::fs::metadata(file).await.ok()?.len();
    if size > LARGEST_PICTURE {
        return None;
    }
    let bytes = tokio::fs::read(file).await.ok()?;
    Some(json!({"type": "image", "mimeType": mime, "data": BASE64_STANDARD.encode(bytes)}))
}

fn link(file: &Path) -> Option<Value> {
    let uri = Url::from_file_path(file).ok()?;
    let name = file.file_name()?.to_string_lossy();
    let mut link = json!({"type": "resource_link", "uri": uri.as_str(), "name": name});
    if let Some(mime) = media::of(file) {
        link["mimeType"] = mime.into();
    }
    Some(link)
}

/// Builds the list of MCP servers for a conversation.
pub(super) fn servers(mcp: Option<&McpServer>) -> Value {
    let server = |server: &McpServer| {
        let pair = |(name, value): &(String, String)| json!({"name": name, "value": value});
        json!({
            "name": server.name,
            "command": server.command,
            "args": server.args,
            "env": server.env.iter().map(pair).collect::<Vec<_>>(),
        })
    };
    mcp.map(server).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use jackfield_sdk::Message;

    use super::*;

    fn turn(text: &str, parts: Vec<Part>, files: Vec<PathBuf>) -> Turn {
        let mut message = Message::default();
        message.text = text.to_owned();
        message.parts = parts;
        Turn {
            message,
            files,
            native_session: None,
            dir: PathBuf::from("/"),
            env: Vec::new(),
            mcp: None,
        }
    }

    #[test]
    fn abilities_are_what_was_announced() {
        // The example of the protocol's page on initialization.
        let answer = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true, "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true}, "mcpCapabilities": {"http": true, "sse": true}}, "authMethods": []});
        let all = AcpCapabilities {
            resumes: false,
            loads: true,
            sees: true,
        };
        assert_eq!(AcpCapabilities::read(&answer), all);
        let answer = json!({"agentCapabilities": {"sessionCapabilities": {"resume": {}}}});
        assert!(AcpCapabilities::read(&answer).resumes);
        assert_eq!(
            AcpCapabilities::read(&json!({"protocolVersion": 1})),
            AcpCapabilities::default()
        );
    }

    #[tokio::test]
    async fn words_data_and_files_are_blocks_that_every_agent_takes() {
        let data = Part::Data(json!({"n": 1}).into());
        let parts = vec![Part::Text("look".to_owned()), data];
        let turn = turn("look", parts, vec![PathBuf::from("/w/a file.png")]);
        assert_eq!(
            blocks(&turn, AcpCapabilities::default()).await,
            [
                json!({"type": "text", "text": "look"}),
                json!({"type": "text", "text": r#"{"n":1}"#}),
                json!({"type": "resource_link", "uri": "file:///w/a%20file.png", "name": "a file.png", "mimeType": "image/png"}),
            ]
        );
    }

    #[tokio::test]
    async fn a_picture_goes_whole_to_those_who_look_at_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.png");
        std::fs::write(&file, b"hi!").unwrap();
        let sees = AcpCapabilities {
            sees: true,
            ..AcpCapabilities::default()
        };
        let turn = turn("", Vec::new(), vec![file]);
        assert_eq!(
            blocks(&turn, sees).await,
            [json!({"type": "image", "mimeType": "image/png", "data": "aGkh"})]
        );
    }

    #[test]
    fn a_server_is_given_with_its_environment_as_pairs() {
        let server = McpServer {
            name: "jackfield".to_owned(),
            command: PathBuf::from("/bin/jackfield"),
            args: vec!["mcp".to_owned()],
            env: vec![("JACKFIELD_HUB".to_owned(), "http://x".to_owned())],
        };
        assert_eq!(
            servers(Some(&server)),
            json!([{"name": "jackfield", "command": "/bin/jackfield", "args": ["mcp"], "env": [{"name": "JACKFIELD_HUB", "value": "http://x"}]}])
        );
        assert_eq!(servers(None), json!([]));
    }
}
