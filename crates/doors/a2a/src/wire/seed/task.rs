//! The result of `message/send`: a task that is over, with its history.

use jackfield_wire::json::ObjectWriter;
use serde_json::value::RawValue;

use super::{
    part::Part,
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

impl Reply<'_> {
    pub(super) fn size_hint(&self) -> usize {
        /// Room for the names and ids of a message.
        const OVERHEAD: usize = 320;
        OVERHEAD + self.parts.iter().map(Part::size_hint).sum::<usize>()
    }

    pub(super) fn write(&self, object: &mut ObjectWriter<'_>) {
        object
            .text("messageId", self.message_id)
            .text("role", "agent")
            .text("agentId", self.agent_id)
            .text("contextId", self.context_id)
            .list("parts", self.parts, |out, part| part.write(out))
            .text("timestamp", self.timestamp);
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

impl TaskError<'_> {
    pub(super) fn write(&self, object: &mut ObjectWriter<'_>) {
        object
            .text("code", self.code.name())
            .text("message", self.message)
            .object("details", |details| {
                details.text("reason", self.reason);
            });
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
    enum Told<'t> {
        Input(&'t RawValue),
        Reply(&'t Reply<'t>),
    }
    let input = [Told::Input(task.input)];
    let history: Vec<_> = input
        .into_iter()
        .chain(task.reply.as_ref().map(Told::Reply))
        .collect();
    let size = task.input.get().len() + task.reply.as_ref().map_or(0, Reply::size_hint);
    response(id, size, |object| {
        object.object("result", |result| {
            result.object("task", |object| {
                object
                    .text("id", task.id)
                    .text("context_id", task.context_id)
                    .text("status", task.status.name())
                    .list("history", &history, |out, told| match told {
                        Told::Input(raw) => out.push_str(raw.get()),
                        Told::Reply(reply) => {
                            let mut object = ObjectWriter::open(out);
                            reply.write(&mut object);
                            object.close();
                        }
                    });
                if let Some(error) = &task.error {
                    object.object("error", |object| error.write(object));
                }
            });
        });
    })
}
