//! Events of `message/stream`: the JSON after `data: ` and the name after `event: `. The events are not
//! JSON-RPC. The original sends a single event, [`COMPLETED`] or [`ERROR`]; the hub sends any number of
//! [`UPDATE`]s before.

use jackfield_wire::json::JsonText;
use serde::{Serialize, Serializer};

use super::task::{ReplyOut, SeedReply, SeedStatus, TaskError, TaskErrorOut};
use crate::wire::write::to_json;

/// Name of a progress event (an extension of the original).
pub(crate) const UPDATE: &str = "task_update";

/// Name of the last event of a successful task.
pub(crate) const COMPLETED: &str = "task_completed";

/// Name of the last event of a failed task.
pub(crate) const ERROR: &str = "error";

/// Ids of the task that the events of a stream belong to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamIds<'a> {
    /// Task id.
    pub task_id: &'a str,
    /// Context id: the conversation.
    pub context_id: &'a str,
}

/// Piece of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeedUpdate<'a> {
    /// Text of the piece.
    pub delta: JsonText<'a>,
    /// Kind of the text.
    pub kind: &'a str,
    /// Tool that the text is about.
    pub tool_name: Option<&'a str>,
    /// Id of the tool call.
    pub tool_call_id: Option<&'a str>,
}

/// Serialized form of an event.
#[derive(Debug, Serialize)]
struct EventOut<'a> {
    #[serde(rename = "taskId")]
    task_id: &'a str,
    #[serde(rename = "contextId")]
    context_id: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "text")]
    delta: Option<JsonText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<ReplyOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<TaskErrorOut<'a>>,
}

/// Serializes a text; text in JSON form is written unchanged.
#[expect(clippy::ref_option, reason = "as serde calls it")]
fn text<S: Serializer>(text: &Option<JsonText<'_>>, serializer: S) -> Result<S::Ok, S::Error> {
    match text {
        None => serializer.serialize_none(),
        Some(JsonText::Plain(text)) => text.serialize(serializer),
        Some(JsonText::Json(raw)) => raw.serialize(serializer),
    }
}

impl<'a> StreamIds<'a> {
    /// Returns the data of an [`UPDATE`].
    pub(crate) fn update(&self, update: &SeedUpdate<'_>) -> String {
        to_json(&EventOut {
            delta: Some(update.delta),
            kind: Some(update.kind),
            tool_name: update.tool_name,
            tool_call_id: update.tool_call_id,
            ..self.event(SeedStatus::Working)
        })
    }

    /// Returns the data of [`COMPLETED`].
    pub(crate) fn completed(&self, reply: &SeedReply<'_>) -> String {
        to_json(&EventOut {
            message: Some(ReplyOut::of(reply)),
            ..self.event(SeedStatus::Completed)
        })
    }

    /// Returns the data of [`ERROR`].
    pub(crate) fn error(&self, status: SeedStatus, error: &TaskError<'_>) -> String {
        to_json(&EventOut {
            error: Some(TaskErrorOut::of(error)),
            ..self.event(status)
        })
    }

    fn event(&self, status: SeedStatus) -> EventOut<'a> {
        EventOut {
            task_id: self.task_id,
            context_id: self.context_id,
            status: status.name(),
            delta: None,
            kind: None,
            tool_name: None,
            tool_call_id: None,
            message: None,
            error: None,
        }
    }
}
