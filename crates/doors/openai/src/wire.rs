//! Types of the protocol: what clients send (`chat.rs`, `content.rs`, `request.rs`), and what they get
//! (`completion.rs`, `response.rs`). Requests borrow from the body; fields that the door does not know are kept, because
//! they are passed on to the agent.

mod chat;
mod completion;
mod content;
mod request;
mod response;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use self::{
    chat::{ChatMessage, ChatRequest},
    completion::{
        ChatChunk, ChatCompletion, Choice, ChunkChoice, Delta, SaidMessage, TokenUsage, WaitsFor,
    },
    content::read_content,
    request::{InputItem, RequestInput, ResponsesRequest},
    response::{
        IncompleteDetails, OutputItem, OutputText, ResponseError, ResponseObject, ResponseStatus,
        ResponseUsage, StreamError, StreamEvent, SummaryText,
    },
};

/// A list. The hub gives all of it at once.
#[derive(Debug, Serialize)]
pub(crate) struct ListObject<T> {
    object: &'static str,
    data: Vec<T>,
    has_more: bool,
}

impl<T> ListObject<T> {
    /// Creates a list that is whole.
    pub(crate) fn whole(data: Vec<T>) -> Self {
        Self {
            object: "list",
            data,
            has_more: false,
        }
    }
}

/// A model, which is an agent or a team.
#[derive(Debug, Serialize)]
pub(crate) struct ModelObject {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) created: i64,
    pub(crate) owned_by: String,
    /// Display name; not in OpenAI's API, and shown by Open WebUI.
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}
