//! JSON Schemas of the events of the protocol's streams.

use jackfield_kit::schemas::{MessageSchemas, MessageSender, MessageTransport};

use crate::{
    DOOR,
    failure::ErrorObject,
    wire::{ChatChunk, StreamError, StreamEvent},
};

/// Returns the schemas of the events of chats and of responses. The last event of a chat, `[DONE]`, is no JSON.
pub(crate) fn schemas() -> Vec<MessageSchemas> {
    let events =
        |group| MessageSchemas::new(DOOR, group, MessageTransport::Sse, MessageSender::Hub);
    let chat = events("chat-event")
        .at(&["POST /v1/chat/completions"])
        .whole::<ChatChunk<'_>>("chunk")
        .whole::<ErrorObject<'_>>("error");
    let response = events("response-event")
        .at(&["POST /v1/responses", "GET /v1/responses/{id}"])
        .whole::<StreamEvent<'_>>("event")
        .typed::<StreamError>("error");
    vec![chat, response]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_sound() {
        jackfield_kit::testing::check_schemas(&schemas());
    }
}
