//! JSON Schemas of the door's frames and events.

use jackfield_kit::schemas::{MessageSchemas, MessageSender, MessageTransport};
use jackfield_wire::bridge::{downlink, uplink};

use crate::{DOOR, wire::sse};

/// Returns the schemas of all frames between hub and agents, and of the events for platforms.
pub(crate) fn schemas() -> Vec<MessageSchemas> {
    let frames = |group, sender| {
        MessageSchemas::new(DOOR, group, MessageTransport::WebSocket, sender).at(&["GET /ws"])
    };
    let from_agent = frames("from-agent", MessageSender::Client)
        .typed::<uplink::Register<'_>>("register")
        .typed::<uplink::Chunk<'_>>("chunk")
        .typed::<uplink::Done<'_>>("done")
        .typed::<uplink::AgentError<'_>>("error")
        .typed::<uplink::Heartbeat>("heartbeat")
        .typed::<uplink::DiscoverAgents<'_>>("discover_agents")
        .typed::<uplink::CallAgent<'_>>("call_agent")
        .typed::<uplink::RtcSignal<'_>>("rtc_signal")
        .typed::<uplink::Artifact<'_>>("artifact")
        .typed::<uplink::Ask<'_>>("ask");
    let from_hub = frames("from-hub", MessageSender::Hub)
        .typed::<downlink::AcceptedFrame<'_>>("registered")
        .typed_as::<downlink::RefusedFrame<'_>>("refused", "registered")
        .typed::<downlink::Message<'_>>("message")
        .typed::<downlink::Cancel<'_>>("cancel")
        .typed::<downlink::DiscoverAgentsResultFrame<'_>>("discover_agents_result")
        .typed::<downlink::CallChunk<'_>>("call_agent_chunk")
        .typed::<downlink::CallDone<'_>>("call_agent_done")
        .typed::<downlink::CallError<'_>>("call_agent_error")
        .typed::<downlink::RtcRelay<'_>>("rtc_signal_relay")
        .typed::<downlink::Ack<'_>>("ack")
        .typed::<downlink::Answer<'_>>("answer")
        .typed::<downlink::HubError<'_>>("error");
    let events = MessageSchemas::new(DOOR, "event", MessageTransport::Sse, MessageSender::Hub)
        .at(&[
            "POST /api/relay",
            "GET /api/relay/events",
            "POST /api/a2a/call",
        ])
        .typed::<sse::ChunkEvent<'_>>("chunk")
        .typed::<sse::DoneEvent<'_>>("done")
        .typed::<sse::StreamErrorEvent<'_>>("error")
        .typed::<sse::GapEvent<'_>>("gap")
        .bare("keepalive");
    vec![from_agent, from_hub, events]
}

#[cfg(test)]
mod tests {
    use jackfield_wire::bridge::Downlink;

    use super::*;

    #[test]
    fn every_schema_is_sound() {
        jackfield_kit::testing::check_schemas(&schemas());
    }

    #[test]
    fn every_frame_of_an_agent_has_a_schema() {
        let schemas = schemas();
        assert!(schemas[0].names().eq(uplink::TYPES));
    }

    /// The name of the schema of a frame: a new kind of frame does not compile without one.
    fn name_of(frame: &Downlink<'_>) -> Option<&'static str> {
        Some(match frame {
            Downlink::Registered(_) => "registered",
            Downlink::Refused(_) => "refused",
            Downlink::Message(_) => "message",
            Downlink::Cancel(_) => "cancel",
            Downlink::DiscoverAgentsResult(_) => "discover_agents_result",
            Downlink::CallAgentChunk(_) => "call_agent_chunk",
            Downlink::CallAgentDone(_) => "call_agent_done",
            Downlink::CallAgentError(_) => "call_agent_error",
            Downlink::RtcSignalRelay(_) => "rtc_signal_relay",
            Downlink::Ack(_) => "ack",
            Downlink::Answer(_) => "answer",
            Downlink::Error(_) => "error",
            Downlink::Unknown(_) => return None,
        })
    }

    #[test]
    fn every_frame_of_the_hub_has_a_schema() {
        let frames = [
            Downlink::Registered(Default::default()),
            Downlink::Refused(Default::default()),
            Downlink::Message(Default::default()),
            Downlink::Cancel(Default::default()),
            Downlink::DiscoverAgentsResult(Default::default()),
            Downlink::CallAgentChunk(Default::default()),
            Downlink::CallAgentDone(Default::default()),
            Downlink::CallAgentError(Default::default()),
            Downlink::RtcSignalRelay(Default::default()),
            Downlink::Ack(Default::default()),
            Downlink::Answer(Default::default()),
            Downlink::Error(Default::default()),
        ];
        let schemas = schemas();
        assert!(schemas[1].names().eq(frames.iter().filter_map(name_of)));
    }
}
