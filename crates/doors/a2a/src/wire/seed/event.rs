//! The events of `message/stream`, each as the JSON after `data: ` and the name after `event: `. They are no JSON-RPC.
//! The original sends one, [`COMPLETED`] or [`ERROR`]; ours has any number of [`UPDATE`]s before it.

use jackfield_wire::json::{ObjectWriter, Text};

use super::task::{Reply, Status, TaskError};

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

impl About<'_> {
    /// The data of [`UPDATE`].
    pub(crate) fn update(&self, update: &Update<'_>) -> String {
        self.event(Status::Working, update.delta.size_hint(), |object| {
            object
                .text("delta", update.delta)
                .text("kind", update.kind)
                .maybe_text("tool_name", update.tool_name)
                .maybe_text("tool_call_id", update.tool_call_id);
        })
    }

    /// The data of [`COMPLETED`].
    pub(crate) fn completed(&self, reply: &Reply<'_>) -> String {
        self.event(Status::Completed, reply.size_hint(), |object| {
            object.object("message", |object| reply.write(object));
        })
    }

    /// The data of [`ERROR`].
    pub(crate) fn error(&self, status: Status, error: &TaskError<'_>) -> String {
        self.event(status, error.message.len(), |object| {
            object.object("error", |object| error.write(object));
        })
    }

    fn event(
        &self,
        status: Status,
        size_hint: usize,
        fill: impl FnOnce(&mut ObjectWriter<'_>),
    ) -> String {
        /// Room for names, braces, a status and the ids of a tool call.
        const OVERHEAD: usize = 192;
        let ids = self.task_id.len() + self.context_id.len();
        let mut out = String::with_capacity(OVERHEAD + ids + size_hint);
        let mut object = ObjectWriter::open(&mut out);
        object
            .text("taskId", self.task_id)
            .text("contextId", self.context_id)
            .text("status", status.name());
        fill(&mut object);
        object.close();
        out
    }
}
