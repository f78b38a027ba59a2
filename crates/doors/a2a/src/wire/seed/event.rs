//! The events of `message/stream`, each as the JSON after `data: ` and the name after `event: `. They are no JSON-RPC.
//! The original sends one, [`COMPLETED`] or [`ERROR`]; ours has any number of [`UPDATE`]s before it.

use jackfield_wire::json::Text;
use serde::{Serialize, Serializer};

use super::task::{Reply, ReplyOut, Status, TaskError, TaskErrorOut};
use crate::wire::write::to_json;

/// The name of an event that says how far the agent is (ours).
pub(crate) const UPDATE: &str = "task_update";

/// The name of the last event of a task that was done.
pub(crate) const COMPLETED: &str = "task_completed";

/// The name of the last event of a task that was not.
pub(crate) const ERROR: &str = "error";

/// Whom the events of a stream are about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// The task.
    pub task_id: &'a str,
    /// The conversation.
    pub context_id: &'a str,
}

/// A piece of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Update<'a> {
    /// The text.
    pub delta: Text<'a>,
    /// What kind of text it is.
    pub kind: &'a str,
    /// The tool it speaks of.
    pub tool_name: Option<&'a str>,
    /// The call of that tool it belongs to.
    pub tool_call_id: Option<&'a str>,
}

/// An event as it is written.
#[derive(Debug, Serialize)]
struct EventOut<'a> {
    #[serde(rename = "taskId")]
    task_id: &'a str,
    #[serde(rename = "contextId")]
    context_id: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "text")]
    delta: Option<Text<'a>>,
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

/// Writes a text; one that is JSON already as it is.
#[expect(clippy::ref_option, reason = "as serde calls it")]
fn text<S: Serializer>(text: &Option<Text<'_>>, serializer: S) -> Result<S::Ok, S::Error> {
    match text {
        None => serializer.serialize_none(),
        Some(Text::Plain(text)) => text.serialize(serializer),
        Some(Text::Json(raw)) => raw.serialize(serializer),
    }
}

impl<'a> About<'a> {
    /// The data of [`UPDATE`].
    pub(crate) fn update(&self, update: &Update<'_>) -> String {
        to_json(&EventOut {
            delta: Some(update.delta),
            kind: Some(update.kind),
            tool_name: update.tool_name,
            tool_call_id: update.tool_call_id,
            ..self.event(Status::Working)
        })
    }

    /// The data of [`COMPLETED`].
    pub(crate) fn completed(&self, reply: &Reply<'_>) -> String {
        to_json(&EventOut {
            message: Some(ReplyOut::of(reply)),
            ..self.event(Status::Completed)
        })
    }

    /// The data of [`ERROR`].
    pub(crate) fn error(&self, status: Status, error: &TaskError<'_>) -> String {
        to_json(&EventOut {
            error: Some(TaskErrorOut::of(error)),
            ..self.event(status)
        })
    }

    fn event(&self, status: Status) -> EventOut<'a> {
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
