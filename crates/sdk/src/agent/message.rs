//! [`Message`], the input of a handler.

use serde_json::Value;

use crate::{File, Part};

/// A message of a caller to the agent.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Message {
    /// Text of the message.
    pub text: String,
    /// The caller: an agent's id or an owner's name, as the hub authenticated it.
    pub caller: Option<String>,
    /// Conversation id: equal for all messages of a conversation, never shared between callers.
    pub session: String,
    /// Id of this request.
    pub request_id: String,
    /// All parts of the message: the text again, files and data.
    pub parts: Vec<Part>,
    /// Further metadata of the caller's protocol.
    pub metadata: Option<Value>,
    /// The caller's own id of the message.
    pub message_id: Option<String>,
    /// Id of the task, if the call is durable.
    pub task_id: Option<String>,
    /// Conversation id as the caller names it.
    pub context_id: Option<String>,
    /// Id of the call that carries the message. Pass it to [`parent`](crate::CallBuilder::parent) for calls
    /// made on behalf of this message, so that the hub cuts loops and passes on cancellation.
    pub call: Option<String>,
    /// Client name by which an agent with a folder separates files. Chosen by the caller, so it may not be
    /// valid as a file name.
    pub client_id: Option<String>,
    /// Whether the caller asks for the files that result from the message.
    pub with_files: bool,
}

impl Message {
    /// Iterates over the attached files.
    pub fn attachments(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().filter_map(|part| match part {
            Part::File(file) => Some(file),
            Part::Text(_) | Part::Data(_) => None,
        })
    }
}
