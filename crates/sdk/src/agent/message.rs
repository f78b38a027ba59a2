//! What somebody says to the agent.

use serde_json::Value;

use crate::{File, Part};

/// What somebody says to the agent.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Message {
    /// The words.
    pub text: String,
    /// Who calls: an agent's id or an owner's name, as the hub knows it.
    pub caller: Option<String>,
    /// The conversation it belongs to: the same for each message of it, and of one caller only.
    pub session: String,
    /// The id of this request.
    pub request_id: String,
    /// All of it: the words again, files and data.
    pub parts: Vec<Part>,
    /// What the caller's protocol said besides.
    pub metadata: Option<Value>,
    /// The caller's own id of the message.
    pub message_id: Option<String>,
    /// The task it belongs to, if it is kept.
    pub task_id: Option<String>,
    /// The conversation as the caller names it.
    pub context_id: Option<String>,
    /// The call that brought it. Name it as [`parent`](crate::CallBuilder::parent) of the calls that are made on its
    /// behalf, so that loops are cut and cancels are passed on.
    pub call: Option<String>,
    /// Whose files an agent with a folder keeps apart; a name that somebody chose, which need not fit as a file's.
    pub client_id: Option<String>,
    /// Whether the caller wants the files that come of it.
    pub with_files: bool,
}

impl Message {
    /// The files that came with the words.
    pub fn attachments(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().filter_map(|part| match part {
            Part::File(file) => Some(file),
            Part::Text(_) | Part::Data(_) => None,
        })
    }
}
