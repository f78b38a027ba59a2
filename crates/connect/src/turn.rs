//! What a driver is to do: one message of a conversation, and where to work.

use std::path::{Path, PathBuf};

use jackfield_sdk::{Message, Part};

/// One message of a conversation.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What somebody said, with who they are and all of its parts.
    pub message: Message,
    /// The files that came with it, as they lie in the folder now.
    pub files: Vec<PathBuf>,
    /// What the agent itself calls the conversation, if it was asked in it before.
    pub native_session: Option<String>,
    /// The folder to work in.
    pub dir: PathBuf,
    /// What a process that is started for it finds in its environment, besides what it may have of ours.
    pub env: Vec<(String, String)>,
    /// The server through which the agent can call others.
    pub mcp: Option<McpServer>,
}

impl Turn {
    /// All of the message as one text, for an agent that reads nothing else: its words, its data, where its files are.
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

    /// A file as it is called from the folder to work in.
    fn near(&self, file: &Path) -> String {
        let near = file.strip_prefix(&self.dir).unwrap_or(file);
        near.display().to_string()
    }
}

/// An MCP server on stdio that is to be given to the agent. No secret is in `args`, which all of this machine can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// What the agent calls it.
    pub name: String,
    /// The program.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment.
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
