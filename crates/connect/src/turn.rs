//! [`Turn`], a driver's input.

use std::path::{Path, PathBuf};

use jackfield_sdk::{Message, Part};

/// One message of a conversation, and where to work on it.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The message, with its caller and all of its parts.
    pub message: Message,
    /// Paths of the attached files, stored in the working folder.
    pub files: Vec<PathBuf>,
    /// The agent's own id of the conversation, if the conversation is not new.
    pub native_session: Option<String>,
    /// Working folder.
    pub dir: PathBuf,
    /// Environment variables for processes of this turn, besides those passed on from this program.
    pub env: Vec<(String, String)>,
    /// MCP server through which the agent can call other agents.
    pub mcp: Option<McpServer>,
}

impl Turn {
    /// Returns the whole message as one text, for an agent that reads text only: text, data, and paths of
    /// files.
    pub fn prompt(&self) -> String {
        let mut prompt = self.message.text.clone();
        let mut add = |text: &str| {
            if !prompt.is_empty() {
                prompt.push_str("\n\n");
            }
            prompt.push_str(text);
        };
        for part in &self.message.parts {
            if let Part::Data(data) = part {
                add(data.get());
            }
        }
        if !self.files.is_empty() {
            let files: Vec<_> = self.files.iter().map(|file| self.near(file)).collect();
            add(&format!("Files that came with this:\n{}", files.join("\n")));
        }
        prompt
    }

    /// Returns a file's path relative to the working folder, if inside.
    fn near(&self, file: &Path) -> String {
        let near = file.strip_prefix(&self.dir).unwrap_or(file);
        near.display().to_string()
    }
}

/// A stdio MCP server for the agent of a [`Turn`]. `args` contains no secret, because all users of the
/// machine can see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Name of the server, as the agent sees it.
    pub name: String,
    /// Path of the program.
    pub command: PathBuf,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Environment of the program.
    pub env: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use jackfield_sdk::Message;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_is_all_that_came() {
        let mut message = Message::default();
        message.text = "compare these".to_owned();
        message.parts = vec![Part::Data(json!({"n": 1}).into())];
        let turn = Turn {
            message,
            files: vec!["/p/.attachments/r/a.txt".into(), "/other/b".into()],
            native_session: None,
            dir: "/p".into(),
            env: Vec::new(),
            mcp: None,
        };
        assert_eq!(
            turn.prompt(),
            "compare these\n\n{\"n\":1}\n\nFiles that came with this:\n.attachments/r/a.txt\n/other/b"
        );
    }
}
