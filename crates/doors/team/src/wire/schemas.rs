//! Schemas of the WebSocket messages for viewers, and of the viewers' commands. They are made from the types that are
//! written and read. The payload of an event that an outside runtime published is passed on as it was published.

use jackfield_kit::schemas::{MessageSchemas, MessageSender, MessageTransport};
use utoipa::{
    PartialSchema as _, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, OneOfBuilder},
    },
};

use super::{
    AgentEventData, EnvelopeOut,
    client::{DecisionPayload, SendMessagePayload, TargetFields},
    flatten::{FlatPosition, MemberRef, PlanFields, TeamFields},
    frame::{
        AcceptedPayload, AgentStatusPayload, ConnectedAgent, ConnectedTeam, ErrorPayload,
        GapPayload,
    },
    segment::FlatSegment,
    task::PlanChange,
};
use crate::DOOR;

/// Message types of the steps of a segment.
const SEGMENTS: [&str; 3] = ["SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"];

/// Message types of the variants of [`AgentEventData`], in their order; segments have several.
const EVENTS: [&str; 14] = [
    "AGENT_STATUS",
    "ASSISTANT_COMPLETE",
    "TOOL_APPROVAL_REQUESTED",
    "TOOL_APPROVED",
    "TOOL_DENIED",
    "TOOL_EXECUTION_STARTED",
    "TOOL_EXECUTION_SUCCEEDED",
    "TOOL_EXECUTION_FAILED",
    "TOOL_LOG",
    "INTER_AGENT_MESSAGE",
    "ARTIFACT_PERSISTED",
    "ARTIFACT_UPDATED",
    "ERROR",
    "SYSTEM_TASK_NOTIFICATION",
];

/// Message types that only outside runtimes publish.
const PUBLISHED: [&str; 2] = ["ASSISTANT_CHUNK", "TODO_LIST_UPDATE"];

/// Name of the schema of a member's `ERROR`, beside that of a connection.
const MEMBER_ERROR: &str = "ERROR-of-member";

/// Returns the schemas of the messages for viewers of a team, and for viewers of a single agent.
pub(crate) fn messages() -> [MessageSchemas; 2] {
    let messages = |group, route| {
        let messages =
            MessageSchemas::new(DOOR, group, MessageTransport::WebSocket, MessageSender::Hub);
        messages.at(route)
    };
    let team = messages("message", &["GET /ws/agent-team/{id}"])
        .payload::<ConnectedTeam<'_>>("CONNECTED", [ConnectedTeam::schema()])
        .payload::<TeamFields<'_>>(
            "TEAM_STATUS",
            [TeamFields::schema(), FlatPosition::schema()],
        )
        .with_parts::<FlatPosition<'_>>()
        .payload::<PlanFields<PlanChange<'_>>>(
            "TASK_PLAN_EVENT",
            [
                PlanFields::<PlanChange<'_>>::schema(),
                FlatPosition::schema(),
            ],
        )
        .with_parts::<PlanChange<'_>>()
        .with_parts::<FlatPosition<'_>>();
    let of_member = |own| [own, MemberRef::schema(), FlatPosition::schema()];
    let team = members(team, of_member);
    let team = PUBLISHED.into_iter().fold(team, |team, name| {
        team.payload::<MemberRef<'_>>(name, [MemberRef::schema(), FlatPosition::schema()])
            .with_parts::<FlatPosition<'_>>()
    });
    let agent = messages("agent-message", &["GET /ws/agent/{id}"])
        .payload::<ConnectedAgent<'_>>("CONNECTED", [ConnectedAgent::schema()])
        .payload_as::<AgentStatusPayload>(
            "AGENT_STATUS-of-snapshot",
            "AGENT_STATUS",
            [AgentStatusPayload::schema()],
        );
    let agent = members(agent, |own| [own]);
    let agent = PUBLISHED.into_iter().fold(agent, |agent, name| {
        agent.payload::<AnyPayload>(name, [AnyPayload::schema()])
    });
    [team, agent].map(|messages| {
        messages
            .payload::<ErrorPayload<'_>>("ERROR", [ErrorPayload::schema()])
            .payload::<AcceptedPayload<'_>>("MESSAGE_ACCEPTED", [AcceptedPayload::schema()])
            .payload::<GapPayload<'_>>("GAP", [GapPayload::schema()])
    })
}

/// The payload of a published event, of which the hub knows only that it is an object.
#[derive(ToSchema)]
struct AnyPayload {}

/// Adds the messages of members; `payload` completes the fields of an event.
fn members<const N: usize>(
    mut messages: MessageSchemas,
    payload: impl Fn(RefOr<Schema>) -> [RefOr<Schema>; N],
) -> MessageSchemas {
    for name in SEGMENTS {
        messages = messages
            .payload::<FlatSegment<'_>>(name, payload(FlatSegment::schema()))
            .with_parts::<MemberRef<'_>>()
            .with_parts::<FlatPosition<'_>>();
    }
    for (name, own) in EVENTS.into_iter().zip(variants()) {
        let file = if name == "ERROR" { MEMBER_ERROR } else { name };
        messages = messages
            .payload_as::<AgentEventData<'_>>(file, name, payload(own))
            .with_parts::<MemberRef<'_>>()
            .with_parts::<FlatPosition<'_>>();
    }
    messages
}

/// Returns the schemas of the events of members, without segments, which have a form of their own when flattened.
fn variants() -> Vec<RefOr<Schema>> {
    let RefOr::T(Schema::OneOf(mut union)) = AgentEventData::schema() else {
        return Vec::new();
    };
    union.items.split_off(1)
}

/// Adds the envelopes of a team's events.
pub(crate) fn with_envelope(events: MessageSchemas) -> MessageSchemas {
    let events = events.whole::<EnvelopeOut<'_>>("envelope");
    events.with_parts::<PlanChange<'_>>()
}

/// Returns the schemas of the viewers' commands.
pub(crate) fn commands() -> MessageSchemas {
    let commands = MessageSchemas::new(
        DOOR,
        "command",
        MessageTransport::WebSocket,
        MessageSender::Client,
    );
    let decision = || [DecisionPayload::schema(), TargetFields::schema()];
    let stop = ObjectBuilder::new().property(
        "payload",
        OneOfBuilder::new()
            .item(TargetFields::schema())
            .item(ObjectBuilder::new().schema_type(utoipa::openapi::Type::Null)),
    );
    commands
        .at(&["GET /ws/agent-team/{id}", "GET /ws/agent/{id}"])
        .payload::<SendMessagePayload>(
            "SEND_MESSAGE",
            [SendMessagePayload::schema(), TargetFields::schema()],
        )
        .typed_with::<TargetFields>("STOP_GENERATION", stop.into())
        .payload::<DecisionPayload<'_>>("APPROVE_TOOL", decision())
        .payload::<DecisionPayload<'_>>("DENY_TOOL", decision())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{ClientMessage, SegmentEvent},
        *,
    };

    /// A new event of members needs a name here.
    #[test]
    fn every_event_of_a_member_has_a_schema() {
        assert_eq!(variants().len(), EVENTS.len());
        let segments = [
            SegmentEvent::Start {
                id: "s",
                kind: super::super::SegmentKind::Text,
                metadata: None,
            },
            SegmentEvent::Content {
                id: "s",
                kind: None,
                delta: "x",
            },
            SegmentEvent::End {
                id: "s",
                metadata: None,
            },
        ];
        assert_eq!(segments.map(|segment| segment.step().message()), SEGMENTS);
    }

    #[test]
    fn every_command_has_a_schema() {
        let names: Vec<_> = commands().names().map(str::to_owned).collect();
        let name_of = |command: &ClientMessage| match command {
            ClientMessage::SendMessage { .. } => "SEND_MESSAGE",
            ClientMessage::StopGeneration { .. } => "STOP_GENERATION",
            ClientMessage::Decide { approve: true, .. } => "APPROVE_TOOL",
            ClientMessage::Decide { approve: false, .. } => "DENY_TOOL",
        };
        for name in names {
            let text = format!(
                r#"{{"type":"{name}","payload":{{"content":"x","invocation_id":"i","target":"a"}}}}"#
            );
            let read = super::super::read_client_message(&text, &Default::default());
            assert_eq!(name_of(&read.unwrap()), name);
        }
    }
}
