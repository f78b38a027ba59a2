//! Result of `message/send`: the finished task with its history.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    part::{SeedPart, SeedPartOut},
    refusal::{SeedRequestId, response},
};

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SeedStatus {
    /// In progress; only in streams (an extension of the original).
    Working,
    /// Completed with an answer.
    Completed,
    /// Failed.
    Failed,
    /// Cancelled.
    Cancelled,
}

impl SeedStatus {
    /// Returns the name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SeedStatus::Working => "working",
            SeedStatus::Completed => "completed",
            SeedStatus::Failed => "failed",
            SeedStatus::Cancelled => "cancelled",
        }
    }
}

/// Agent's answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeedReply<'a> {
    /// Message id.
    pub message_id: &'a str,
    /// Agent id.
    pub agent_id: &'a str,
    /// Context id: the conversation.
    pub context_id: &'a str,
    /// Content of the answer.
    pub parts: &'a [SeedPart<'a>],
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
    parts: Vec<SeedPartOut<'a>>,
    timestamp: &'a str,
}

impl<'a> ReplyOut<'a> {
    pub(super) fn of(reply: &SeedReply<'a>) -> Self {
        ReplyOut {
            message_id: reply.message_id,
            role: "agent",
            agent_id: reply.agent_id,
            context_id: reply.context_id,
            parts: reply.parts.iter().map(SeedPartOut::of).collect(),
            timestamp: reply.timestamp,
        }
    }
}

/// Class of an error; the original has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SeedErrorCode {
    /// The run failed.
    Execution,
    /// The answer cannot be converted.
    Conversion,
}

impl SeedErrorCode {
    /// Returns the name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SeedErrorCode::Execution => "execution_error",
            SeedErrorCode::Conversion => "conversion_error",
        }
    }
}

/// Error of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskError<'a> {
    /// Class of the error.
    pub code: SeedErrorCode,
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
pub(crate) struct SeedTask<'a> {
    /// Task id.
    pub id: &'a str,
    /// Context id: the conversation.
    pub context_id: &'a str,
    /// Final status.
    pub status: SeedStatus,
    /// First message of the task, as written by the caller.
    pub input: &'a RawValue,
    /// Answer of the agent.
    pub reply: Option<SeedReply<'a>>,
    /// Error of the task.
    pub error: Option<TaskError<'a>>,
}

/// Returns the body of the response to the request with this id.
pub(crate) fn result(id: &SeedRequestId, task: &SeedTask<'_>) -> String {
    #[derive(Serialize)]
    struct Result<'a> {
        task: SeedTaskOut<'a>,
    }
    /// Serialized form of a task. Unlike all other names, the names in a task are spelt `like_this`.
    #[derive(Serialize)]
    struct SeedTaskOut<'a> {
        id: &'a str,
        context_id: &'a str,
        status: &'static str,
        history: Vec<HistoryEntry<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<TaskErrorOut<'a>>,
    }
    #[derive(Serialize)]
    #[serde(untagged)]
    enum HistoryEntry<'a> {
        Input(&'a RawValue),
        Reply(ReplyOut<'a>),
    }
    let reply = task
        .reply
        .as_ref()
        .map(ReplyOut::of)
        .map(HistoryEntry::Reply);
    let task = SeedTaskOut {
        id: task.id,
        context_id: task.context_id,
        status: task.status.name(),
        history: [HistoryEntry::Input(task.input)]
            .into_iter()
            .chain(reply)
            .collect(),
        error: task.error.as_ref().map(TaskErrorOut::of),
    };
    response(id, Some(Result { task }), None)
}
