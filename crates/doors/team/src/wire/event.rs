//! What a member says: the events of one agent, which the envelope carries whole and the flattened stream as messages.

use serde_json::value::RawValue;

use super::event_type::{EventType, MessageType};
use super::{AgentStatus, Segment};
use jackfield_wire::json::ObjectWriter;

/// One event of a member, of the hub's own making.
#[derive(Debug, Clone, Copy)]
pub enum MemberEvent<'a> {
    /// A piece of its answer.
    Segment(Segment<'a>),
    /// It does something else now.
    Status {
        /// What it does now.
        new: AgentStatus,
        /// What it did before.
        old: Option<AgentStatus>,
        /// What made it change.
        trigger: Option<&'a str>,
        /// The tool that it is about.
        tool_name: Option<&'a str>,
        /// Why it failed.
        error_message: Option<&'a str>,
    },
    /// Its answer is whole.
    Complete {
        /// The answer.
        content: &'a str,
        /// Whether there is more of it: `content_truncated` on the wire, which the published programs do not know.
        is_cut: bool,
        /// What it took: counts of tokens.
        usage: Option<&'a RawValue>,
        /// What it thought.
        reasoning: Option<&'a str>,
        /// Images that belong to it.
        image_urls: &'a [String],
        /// Sounds that belong to it.
        audio_urls: &'a [String],
        /// Films that belong to it.
        video_urls: &'a [String],
    },
    /// It waits until somebody approves a tool call.
    ApprovalRequested {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// What the tool is to get.
        arguments: &'a RawValue,
        /// The turn that it belongs to.
        turn_id: Option<&'a str>,
        /// What it says to whoever decides; ours, beside the protocol's own fields.
        message: Option<&'a str>,
    },
    /// Somebody approved.
    Approved {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// Why.
        reason: Option<&'a str>,
    },
    /// Somebody denied.
    Denied {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// Why; also written as the error.
        reason: &'a str,
    },
    /// A tool runs.
    ToolStarted {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// What it got.
        arguments: Option<&'a RawValue>,
    },
    /// A tool has run.
    ToolSucceeded {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// What it gave.
        result: Option<&'a RawValue>,
    },
    /// A tool failed.
    ToolFailed {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// Why.
        error: &'a str,
    },
    /// A tool says what it does.
    ToolLog {
        /// What it says.
        entry: &'a str,
        /// Which call.
        tool_invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
    },
    /// It has got a message of another member.
    InterAgent {
        /// The agent that sent it.
        sender_agent_id: &'a str,
        /// The part that this one plays.
        recipient_role_name: &'a str,
        /// What it says.
        content: &'a str,
        /// Of which sort it is.
        message_type: &'a str,
    },
    /// It has made something.
    ArtifactPersisted {
        /// Which thing.
        artifact_id: &'a str,
        /// Where it is.
        path: &'a str,
        /// What it is; `type` on the wire.
        kind: &'a str,
        /// Where it can be fetched.
        url: Option<&'a str>,
    },
    /// It has changed something that it made.
    ArtifactUpdated {
        /// Which thing.
        artifact_id: Option<&'a str>,
        /// Where it is.
        path: &'a str,
        /// What it is; `type` on the wire.
        kind: &'a str,
    },
    /// Something went wrong.
    Error {
        /// A word for it.
        code: &'a str,
        /// A sentence about it.
        message: &'a str,
        /// More of it.
        details: Option<&'a str>,
    },
    /// The hub told it something.
    SystemNotification {
        /// What told it.
        sender_id: &'a str,
        /// What it was told.
        content: &'a str,
    },
}

impl MemberEvent<'_> {
    /// Of which type it is.
    pub(super) fn event_type(&self) -> EventType {
        match self {
            Self::Segment(_) => EventType::Segment,
            Self::Status { .. } => EventType::Status,
            Self::Complete { .. } => EventType::Complete,
            Self::ApprovalRequested { .. } => EventType::ApprovalRequested,
            Self::Approved { .. } => EventType::Approved,
            Self::Denied { .. } => EventType::Denied,
            Self::ToolStarted { .. } => EventType::ToolStarted,
            Self::ToolSucceeded { .. } => EventType::ToolSucceeded,
            Self::ToolFailed { .. } => EventType::ToolFailed,
            Self::ToolLog { .. } => EventType::ToolLog,
            Self::InterAgent { .. } => EventType::InterAgent,
            Self::ArtifactPersisted { .. } => EventType::ArtifactPersisted,
            Self::ArtifactUpdated { .. } => EventType::ArtifactUpdated,
            Self::Error { .. } => EventType::Error,
            Self::SystemNotification { .. } => EventType::SystemNotification,
        }
    }

    /// Which message of the flattened stream it becomes.
    pub(super) fn message(&self) -> Option<MessageType> {
        match self {
            Self::Segment(segment) => Some(MessageType::of_step(segment.step())),
            other => other.event_type().message(),
        }
    }

    /// Writes its `data`; artifacts also name the agent, unless somebody else does so in the same object.
    pub(super) fn put_data(&self, data: &mut ObjectWriter<'_>, agent_id: Option<&str>) {
        match *self {
            Self::Segment(segment) => segment.put_data(data),
            Self::Status {
                new,
                old,
                trigger,
                tool_name,
                error_message,
            } => {
                data.text("new_status", new.name())
                    .maybe_text("old_status", old.map(AgentStatus::name))
                    .maybe_text("trigger", trigger)
                    .maybe_text("tool_name", tool_name)
                    .maybe_text("error_message", error_message);
            }
            Self::Complete {
                content,
                is_cut,
                usage,
                reasoning,
                image_urls,
                audio_urls,
                video_urls,
            } => {
                data.text("content", content);
                if is_cut {
                    data.flag("content_truncated", true);
                }
                data.maybe_text("reasoning", reasoning)
                    .maybe_raw("usage", usage)
                    .texts("image_urls", image_urls)
                    .texts("audio_urls", audio_urls)
                    .texts("video_urls", video_urls);
            }
            Self::ApprovalRequested {
                invocation_id,
                tool_name,
                arguments,
                turn_id,
                message,
            } => {
                put_invocation(data, invocation_id, tool_name)
                    .raw("arguments", arguments)
                    .maybe_text("turn_id", turn_id)
                    .maybe_text("message", message);
            }
            Self::Approved {
                invocation_id,
                tool_name,
                reason,
            } => {
                put_invocation(data, invocation_id, tool_name).maybe_text("reason", reason);
            }
            Self::Denied {
                invocation_id,
                tool_name,
                reason,
            } => {
                put_invocation(data, invocation_id, tool_name)
                    .text("reason", reason)
                    .text("error", reason);
            }
            Self::ToolStarted {
                invocation_id,
                tool_name,
                arguments,
            } => {
                put_invocation(data, invocation_id, tool_name).maybe_raw("arguments", arguments);
            }
            Self::ToolSucceeded {
                invocation_id,
                tool_name,
                result,
            } => {
                put_invocation(data, invocation_id, tool_name).maybe_raw("result", result);
            }
            Self::ToolFailed {
                invocation_id,
                tool_name,
                error,
            } => {
                put_invocation(data, invocation_id, tool_name).text("error", error);
            }
            Self::ToolLog {
                entry,
                tool_invocation_id,
                tool_name,
            } => {
                data.text("log_entry", entry)
                    .text("tool_invocation_id", tool_invocation_id)
                    .text("tool_name", tool_name);
            }
            Self::InterAgent {
                sender_agent_id,
                recipient_role_name,
                content,
                message_type,
            } => {
                data.text("sender_agent_id", sender_agent_id)
                    .text("recipient_role_name", recipient_role_name)
                    .text("content", content)
                    .text("message_type", message_type);
            }
            Self::ArtifactPersisted {
                artifact_id,
                path,
                kind,
                url,
            } => {
                data.text("artifact_id", artifact_id)
                    .text("path", path)
                    .maybe_text("agent_id", agent_id)
                    .text("type", kind)
                    .maybe_text("url", url);
            }
            Self::ArtifactUpdated {
                artifact_id,
                path,
                kind,
            } => {
                data.maybe_text("artifact_id", artifact_id)
                    .text("path", path)
                    .maybe_text("agent_id", agent_id)
                    .text("type", kind);
            }
            Self::Error {
                code,
                message,
                details,
            } => {
                data.text("code", code)
                    .text("message", message)
                    .maybe_text("details", details);
            }
            Self::SystemNotification { sender_id, content } => {
                data.text("sender_id", sender_id).text("content", content);
            }
        }
    }
}

fn put_invocation<'w, 'o>(
    data: &'w mut ObjectWriter<'o>,
    invocation_id: &str,
    tool_name: &str,
) -> &'w mut ObjectWriter<'o> {
    data.text("invocation_id", invocation_id)
        .text("tool_name", tool_name)
}
