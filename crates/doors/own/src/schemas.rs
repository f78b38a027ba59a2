//! JSON Schemas of the events of the API's streams. They are made from the events themselves, so that a new event has
//! a schema from the start.

use jackfield_kit::schemas::{MessageSchemas, MessageSender, MessageTransport};

use crate::{
    DOOR,
    translate::{
        event::CallEvent,
        watch::{WatchContent, WatchEvent},
    },
};

/// Returns the schemas of the events of calls, and of those for observers.
pub(crate) fn schemas() -> Vec<MessageSchemas> {
    let events =
        |group| MessageSchemas::new(DOOR, group, MessageTransport::Sse, MessageSender::Hub);
    let calls = events("call-event")
        .at(&[
            "POST /v1/agents/{id}/calls",
            "GET /v1/calls/{id}/events",
            "POST /v1/calls/{id}/messages",
        ])
        .variants::<CallEvent>();
    let watch = events("watch-event")
        .at(&["GET /v1/events"])
        .variants_in::<WatchContent, WatchEvent>();
    vec![calls, watch]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_sound() {
        jackfield_kit::testing::check_schemas(&schemas());
    }

    #[test]
    fn every_event_has_a_schema_of_its_own() {
        let schemas = schemas();
        let names: Vec<_> = schemas[0].names().collect();
        assert_eq!(
            names,
            [
                "call",
                "message",
                "chunk",
                "artifact",
                "ask",
                "answer",
                "gap",
                "done",
                "failed",
                "cancelled"
            ]
        );
        let names: Vec<_> = schemas[1].names().collect();
        assert_eq!(
            names,
            [
                "online", "offline", "started", "chunk", "artifact", "ask", "ended", "relayed",
                "frame", "missed", "failed"
            ]
        );
    }
}
