//! JSON Schemas of everything that the door sends and reads over WebSocket and as events.

use jackfield_kit::{
    api::ApiErrorBody,
    schemas::{MessageSchemas, MessageSender, MessageTransport},
};

use crate::{
    DOOR,
    events::{EventGap, TeamSnapshot},
    publish::{Envelope, Envelopes, PublishReceipt},
    wire,
};

/// Route of the events, and of the WebSocket of publishers.
const EVENTS: &[&str] = &["GET /v1/teams/{id}/events"];

/// Returns all schemas of the door.
pub(crate) fn schemas() -> Vec<MessageSchemas> {
    let events = MessageSchemas::new(DOOR, "event", MessageTransport::Sse, MessageSender::Hub);
    let events = events.at(EVENTS).whole::<TeamSnapshot<'_>>("snapshot");
    // An envelope of an outside runtime is passed on as it was published.
    let events = wire::with_envelope(events)
        .whole::<Envelope>("envelope-as-published")
        .whole::<EventGap<'_>>("gap")
        .whole::<ApiErrorBody>("failed");
    let socket =
        |group, sender| MessageSchemas::new(DOOR, group, MessageTransport::WebSocket, sender);
    let publish = socket("publish", MessageSender::Client).whole::<Envelopes>("envelopes");
    let published = socket("published", MessageSender::Hub)
        .whole::<PublishReceipt>("accepted")
        .whole::<ApiErrorBody>("refused");
    let mut all = vec![events, publish, published, wire::commands()];
    all.extend(wire::messages());
    all
}

#[cfg(test)]
mod tests {
    use jackfield_kit::testing::check_schemas;

    #[test]
    fn every_schema_is_sound() {
        check_schemas(&super::schemas());
    }
}
