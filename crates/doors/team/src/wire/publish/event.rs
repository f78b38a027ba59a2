//! Required fields of members' events. The hub forwards events unchanged, so most fields are only checked.

#![expect(dead_code, reason = "fields that are only checked are not used")]

use jackfield_wire::read::{FieldError, blank_is_absent, read_part};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::AgentStatus;
use super::super::event_type::{AgentEventType, SegmentStep};
use super::super::read::{NonBlankText, object};
use super::check_objects;

/// Event of a member.
#[derive(Deserialize)]
pub(in super::super) struct AgentEventIn<'a> {
    event_id: Option<String>,
    /// Any text: the seed's own example has an unparsable time.
    timestamp: Option<String>,
    pub(in super::super) event_type: AgentEventType,
    #[serde(default, deserialize_with = "blank_is_absent")]
    pub(in super::super) agent_id: Option<String>,
    #[serde(borrow)]
    pub(in super::super) data: &'a RawValue,
}

#[derive(Deserialize)]
struct AgentStatusIn {
    new_status: NonBlankText,
    old_status: Option<String>,
}

#[derive(Deserialize)]
struct AssistantChunkIn {
    content: String,
    is_complete: bool,
}

#[derive(Deserialize)]
struct Complete {
    content: String,
}

#[derive(Deserialize)]
struct ToolIn {
    invocation_id: NonBlankText,
    tool_name: NonBlankText,
}

#[derive(Deserialize)]
struct ApprovalRequested<'a> {
    invocation_id: NonBlankText,
    tool_name: NonBlankText,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Denial of a tool call. Viewers show the reason; runtimes write the reason under either name.
#[derive(Deserialize)]
struct Denied<'a> {
    invocation_id: NonBlankText,
    tool_name: NonBlankText,
    reason: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolFailed {
    invocation_id: NonBlankText,
    tool_name: NonBlankText,
    error: String,
}

#[derive(Deserialize)]
struct ToolLog {
    tool_invocation_id: NonBlankText,
    tool_name: NonBlankText,
    log_entry: String,
}

#[derive(Deserialize)]
struct SystemNotification {
    sender_id: NonBlankText,
    content: String,
}

#[derive(Deserialize)]
struct InterAgent {
    sender_agent_id: NonBlankText,
    message_type: NonBlankText,
    recipient_role_name: String,
    content: String,
}

#[derive(Deserialize)]
struct TodoList<'a> {
    #[serde(borrow)]
    todos: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct ArtifactPersisted {
    artifact_id: NonBlankText,
    path: NonBlankText,
    r#type: NonBlankText,
    agent_id: String,
}

#[derive(Deserialize)]
struct ArtifactUpdated {
    path: NonBlankText,
    r#type: NonBlankText,
    agent_id: String,
}

#[derive(Deserialize)]
struct ErrorEvent {
    code: NonBlankText,
    message: String,
}

/// Event of a segment. The id may be missing, as in the seed's example. The payload's id or the member's name
/// replaces a missing id.
#[derive(Deserialize)]
struct SegmentIn<'a> {
    r#type: Option<SegmentStep>,
    event_type: Option<SegmentStep>,
    segment_id: Option<String>,
    segment_type: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct SegmentContentIn {
    delta: String,
}

impl AgentEventIn<'_> {
    /// Checks that `data` has the required fields of the event's type. Returns the new status of the agent,
    /// if the event contains a known status.
    pub(super) fn check(&self) -> Result<Option<AgentStatus>, FieldError> {
        let data = self.data;
        match self.event_type {
            AgentEventType::Status => {
                let status: AgentStatusIn = object(data)?;
                return Ok(AgentStatus::from_name(&status.new_status.0));
            }
            AgentEventType::Segment => check_segment(data)?,
            AgentEventType::Chunk => drop(object::<AssistantChunkIn>(data)?),
            AgentEventType::Complete => drop(object::<Complete>(data)?),
            AgentEventType::ApprovalRequested => {
                let asked: ApprovalRequested<'_> = object(data)?;
                let arguments = asked.arguments;
                arguments.ok_or_else(|| FieldError::missing("arguments"))?;
            }
            AgentEventType::Denied => {
                let denied: Denied<'_> = object(data)?;
                if denied.reason.is_none() {
                    let why = denied.error.ok_or_else(|| FieldError::missing("reason"))?;
                    read_part::<String>(why).map_err(|misread| misread.within("error"))?;
                }
            }
            AgentEventType::Approved
            | AgentEventType::ToolStarted
            | AgentEventType::ToolSucceeded => {
                drop(object::<ToolIn>(data)?);
            }
            AgentEventType::ToolFailed => drop(object::<ToolFailed>(data)?),
            AgentEventType::ToolLog => drop(object::<ToolLog>(data)?),
            AgentEventType::SystemNotification => drop(object::<SystemNotification>(data)?),
            AgentEventType::InterAgent => drop(object::<InterAgent>(data)?),
            AgentEventType::TodoList => {
                let list: TodoList<'_> = object(data)?;
                check_objects("todos", &list.todos)?;
            }
            AgentEventType::ArtifactPersisted => drop(object::<ArtifactPersisted>(data)?),
            AgentEventType::ArtifactUpdated => drop(object::<ArtifactUpdated>(data)?),
            AgentEventType::Error => drop(object::<ErrorEvent>(data)?),
        }
        Ok(None)
    }
}

fn check_segment(data: &RawValue) -> Result<(), FieldError> {
    const PAYLOAD: &str = "payload";
    let segment: SegmentIn<'_> = object(data)?;
    let step = match (segment.r#type, segment.event_type) {
        (Some(step), Some(other)) if step != other => {
            return Err(FieldError::invalid("event_type", "differs from \"type\""));
        }
        (step, other) => step.or(other).ok_or_else(|| FieldError::missing("type"))?,
    };
    let payload = match (step, segment.payload) {
        (SegmentStep::Content, Some(payload)) => object(payload).map(|_: SegmentContentIn| ()),
        // Viewers silently drop content without a payload, so refuse the event.
        (SegmentStep::Content, None) => return Err(FieldError::missing(PAYLOAD)),
        (SegmentStep::Start | SegmentStep::End, Some(payload)) => {
            object(payload).map(|_: super::IgnoredObject| ())
        }
        (SegmentStep::Start | SegmentStep::End, None) => Ok(()),
    };
    payload.map_err(|misread| misread.within(PAYLOAD))
}
