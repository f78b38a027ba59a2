//! The result of `message/send`: a task that is over, with its history.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    part::{Part, PartOut},
    refusal::{Id, response},
};

/// How a task ended, or that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Status {
    /// The agent is at it; only in streams (ours).
    Working,
    /// The agent answered.
    Completed,
    /// It came to nothing.
    Failed,
    /// Somebody cancelled.
    Cancelled,
}

impl Status {
    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Status::Working => "working",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}

/// What an agent answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply<'a> {
    /// The id of this message.
    pub message_id: &'a str,
    /// Who answers.
    pub agent_id: &'a str,
    /// The conversation.
    pub context_id: &'a str,
    /// What it says.
    pub parts: &'a [Part<'a>],
    /// When, in RFC 3339.
    pub timestamp: &'a str,
}

/// A reply as it is written.
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

/// The class of what went wrong, of which the original has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ErrorCode {
    /// The run failed.
    Execution,
    /// The answer cannot be told.
    Conversion,
}

impl ErrorCode {
    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ErrorCode::Execution => "execution_error",
            ErrorCode::Conversion => "conversion_error",
        }
    }
}

/// What went wrong with a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskError<'a> {
    /// The class of it.
    pub code: ErrorCode,
    /// The sentence.
    pub message: &'a str,
    /// The exact reason, for programs; it stands in `details` (ours).
    pub reason: &'a str,
}

/// An error as it is written.
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

/// A task that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    /// Its id.
    pub id: &'a str,
    /// The conversation.
    pub context_id: &'a str,
    /// How it ended.
    pub status: Status,
    /// The message that it began with, as the caller wrote it.
    pub input: &'a RawValue,
    /// What the agent answered.
    pub reply: Option<Reply<'a>>,
    /// What went wrong.
    pub error: Option<TaskError<'a>>,
}

/// The body of the response to the request with this id.
pub(crate) fn result(id: &Id, task: &Task<'_>) -> String {
    #[derive(Serialize)]
    struct Result<'a> {
        task: TaskOut<'a>,
    }
    /// Unlike all other names, those of a task are written `like_this`.
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
