//! Required fields of members' events. The hub forwards events unchanged, so most fields are only checked.

#![expect(dead_code, reason = "fields that are only checked are not used")]

use jackfield_wire::read::{Misread, blank_is_absent, read_part};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::AgentStatus;
use super::super::event_type::{EventType, Step};
use super::super::read::{Word, object};
use super::check_objects;

/// Event of a member.
#[derive(Deserialize)]
pub(in super::super) struct AgentEvent<'a> {
    event_id: Option<String>,
    /// Any text: the seed's own example has an unparsable time.
    timestamp: Option<String>,
    pub(in super::super) event_type: EventType,
    #[serde(default, deserialize_with = "blank_is_absent")]
    pub(in super::super) agent_id: Option<String>,
    #[serde(borrow)]
    pub(in super::super) data: &'a RawValue,
}

#[derive(Deserialize)]
struct Status {
    new_status: Word,
    old_status: Option<String>,
}

#[derive(Deserialize)]
struct Chunk {
    content: String,
    is_complete: bool,
}

#[derive(Deserialize)]
struct Complete {
    content: String,
}

#[derive(Deserialize)]
struct Tool {
    invocation_id: Word,
    tool_name: Word,
}

#[derive(Deserialize)]
struct ApprovalRequested<'a> {
    invocation_id: Word,
    tool_name: Word,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Denial of a tool call. Viewers show the reason; runtimes write the reason under either name.
#[derive(Deserialize)]
struct Denied<'a> {
    invocation_id: Word,
    tool_name: Word,
    reason: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolFailed {
    invocation_id: Word,
    tool_name: Word,
    error: String,
}

#[derive(Deserialize)]
struct ToolLog {
    tool_invocation_id: Word,
    tool_name: Word,
    log_entry: String,
}

#[derive(Deserialize)]
struct SystemNotification {
    sender_id: Word,
    content: String,
}

#[derive(Deserialize)]
struct InterAgent {
    sender_agent_id: Word,
    message_type: Word,
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
    artifact_id: Word,
    path: Word,
    r#type: Word,
    agent_id: String,
}

#[derive(Deserialize)]
struct ArtifactUpdated {
    path: Word,
    r#type: Word,
    agent_id: String,
}

#[derive(Deserialize)]
struct ErrorEvent {
    code: Word,
    message: String,
}

/// Event of a segment. The id may be missing, as in the seed's example. The payload's id or the member's name
/// replaces a missing id.
#[derive(Deserialize)]
struct Segment<'a> {
    r#type: Option<Step>,
    event_type: Option<Step>,
    segment_id: Option<String>,
    segment_type: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content {
    delta: String,
}

impl AgentEvent<'_> {
    /// Checks that `data` has the required fields of the event's type. Returns the new status of the agent,
    /// if the event contains a known status.
    pub(super) fn check(&self) -> Result<Option<AgentStatus>, Misread> {
        let data = self.data;
        match self.event_type {
            EventType::Status => {
                let status: Status = object(data)?;
                return Ok(AgentStatus::from_name(&status.new_status.0));
            }
            EventType::Segment => check_segment(data)?,
            EventType::Chunk => drop(object::<Chunk>(data)?),
            EventType::Complete => drop(object::<Complete>(data)?),
            EventType::ApprovalRequested => {
                let asked: ApprovalRequested<'_> = object(data)?;
                let arguments = asked.arguments;
                arguments.ok_or_else(|| Misread::missing("arguments"))?;
            }
            EventType::Denied => {
                let denied: Denied<'_> = object(data)?;
                if denied.reason.is_none() {
                    let why = denied.error.ok_or_else(|| Misread::missing("reason"))?;
                    read_part::<String>(why).map_err(|misread| misread.within("error"))?;
                }
            }
            EventType::Approved | EventType::ToolStarted | EventType::ToolSucceeded => {
                drop(object::<Tool>(data)?);
            }
            EventType::ToolFailed => drop(object::<ToolFailed>(data)?),
            EventType::ToolLog => drop(object::<ToolLog>(data)?),
            EventType::SystemNotification => drop(object::<SystemNotification>(data)?),
            EventType::InterAgent => drop(object::<InterAgent>(data)?),
            EventType::TodoList => {
                let list: TodoList<'_> = object(data)?;
                check_objects("todos", &list.todos)?;
            }
            EventType::ArtifactPersisted => drop(object::<ArtifactPersisted>(data)?),
            EventType::ArtifactUpdated => drop(object::<ArtifactUpdated>(data)?),
            EventType::Error => drop(object::<ErrorEvent>(data)?),
        }
        Ok(None)
    }
}

fn check_segment(data: &RawValue) -> Result<(), Misread> {
    const PAYLOAD: &str = "payload";
    let segment: Segment<'_> = object(data)?;
    let step = match (segment.r#type, segment.event_type) {
        (Some(step), Some(other)) if step != other => {
            return Err(Misread::invalid("event_type", "differs from \"type\""));
        }
        (step, other) => step.or(other).ok_or_else(|| Misread::missing("type"))?,
    };
    let payload = match (step, segment.payload) {
        (Step::Content, Some(payload)) => object(payload).map(|_: Content| ()),
        // Viewers silently drop content without a payload, so refuse the event.
        (Step::Content, None) => return Err(Misread::missing(PAYLOAD)),
        (Step::Start | Step::End, Some(payload)) => object(payload).map(|_: super::AnyObject| ()),
        (Step::Start | Step::End, None) => Ok(()),
    };
    payload.map_err(|misread| misread.within(PAYLOAD))
}
