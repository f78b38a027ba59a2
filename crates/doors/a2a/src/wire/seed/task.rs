//! Result of `message/send`: the finished task with its history.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    part::{Part, PartOut},
    refusal::{Id, response},
};

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Status {
    /// In progress; only in streams (an extension of the original).
    Working,
    /// Completed with an answer.
    Completed,
    /// Failed.
    Failed,
    /// Cancelled.
    Cancelled,
}

impl Status {
    /// Returns the name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Status::Working => "working",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}

/// Agent's answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply<'a> {
    /// Message id.
    pub message_id: &'a str,
    /// Agent id.
    pub agent_id: &'a str,
    /// Context id: the conversation.
    pub context_id: &'a str,
    /// Content of the answer.
    pub parts: &'a [Part<'a>],
    /// Time in RFC 3339.
    pub timestamp: &'a str,
}

/// Serialized form of a reply.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReplyOut<'a> {
    message_id: &'a str,
    role: &'static str,
    agent_id: &'a str,
    context_id: &'a str,
    parts: Vec<PartOut<'a>>,
    timestamp: &'a str,
}

impl<'a> ReplyOut<'a> {
    pub(super) fn of(reply: &Reply<'a>) -> Self {
        ReplyOut {
            message_id: reply.message_id,
            role: "agent",
            agent_id: reply.agent_id,
            context_id: reply.context_id,
            parts: reply.parts.iter().map(PartOut::of).collect(),
            timestamp: reply.timestamp,
        }
    }
}

/// Class of an error; the original has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ErrorCode {
    /// The run failed.
    Execution,
    /// The answer cannot be converted.
    Conversion,
}

impl ErrorCode {
    /// Returns the name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ErrorCode::Execution => "execution_error",
            ErrorCode::Conversion => "conversion_error",
        }
    }
}

/// Error of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskError<'a> {
    /// Class of the error.
    pub code: ErrorCode,
    /// Error message.
    pub message: &'a str,
    /// Exact machine-readable reason, in `details` (an extension of the original).
    pub reason: &'a str,
}

/// Serialized form of an error.
#[derive(Debug, Serialize)]
pub(super) struct TaskErrorOut<'a> {
    code: &'static str,
    message: &'a str,
    details: DetailsOut<'a>,
}

#[derive(Debug, Serialize)]
struct DetailsOut<'a> {
    reason: &'a str,
}

impl<'a> TaskErrorOut<'a> {
    pub(super) fn of(error: &TaskError<'a>) -> Self {
        TaskErrorOut {
            code: error.code.name(),
            message: error.message,
            details: DetailsOut {
                reason: error.reason,
            },
        }
    }
}

/// Finished task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    /// Task id.
    pub id: &'a str,
    /// Context id: the conversation.
    pub context_id: &'a str,
    /// Final status.
    pub status: Status,
    /// First message of the task, as written by the caller.
    pub input: &'a RawValue,
    /// Answer of the agent.
    pub reply: Option<Reply<'a>>,
    /// Error of the task.
    pub error: Option<TaskError<'a>>,
}

/// Returns the body of the response to the request with this id.
pub(crate) fn result(id: &Id, task: &Task<'_>) -> String {
    #[derive(Serialize)]
    struct Result<'a> {
        task: TaskOut<'a>,
    }
    /// Serialized form of a task. Unlike all other names, the names in a task are spelt `like_this`.
    #[derive(Serialize)]
    struct TaskOut<'a> {
        id: &'a str,
        context_id: &'a str,
        status: &'static str,
        history: Vec<Told<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<TaskErrorOut<'a>>,
    }
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Told<'a> {
        Input(&'a RawValue),
        Reply(ReplyOut<'a>),
    }
    let reply = task.reply.as_ref().map(ReplyOut::of).map(Told::Reply);
    let task = TaskOut {
        id: task.id,
        context_id: task.context_id,
        status: task.status.name(),
        history: [Told::Input(task.input)].into_iter().chain(reply).collect(),
        error: task.error.as_ref().map(TaskErrorOut::of),
    };
    response(id, Some(Result { task }), None)
}
