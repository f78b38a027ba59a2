//! Subscription to a running task: the current task first, then every change. A reconnecting reader names its
//! position.

use jackfield_core::task::Cursor;

use super::{
    inbound::InboundRequest,
    renderer::UpdateRenderer,
    snapshot::TaskDetail,
    updates::{StreamUntil, UpdateStream},
};
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::{StreamItem, TaskParams},
};

impl InboundRequest {
    /// Subscribes to a task. `after` is the id of the last event that the caller received: the first element
    /// is then the task at that event, and no event is lost or repeated. Without `after`, the first element
    /// is the current task, and the task must not be over.
    pub(crate) async fn subscribe(
        &self,
        params: TaskParams,
        after: Option<&str>,
    ) -> Result<UpdateStream, A2aError> {
        let task = self.task(&params.id, params.tenant.as_deref()).await?;
        let (record, present) = task.snapshot();
        let after = after.map(str::parse::<Cursor>).transpose();
        let after = after.map_err(|failure| A2aError::field("Last-Event-ID", failure.text))?;
        // A position from before a restart of the hub is ignored: the current task contains every earlier
        // event.
        let after = after.filter(|it| it.epoch == present.epoch && it.pos <= present.pos);
        if after.is_none() && record.state.is_final() {
            let text = format!(
                "task {} is over: there is nothing to follow; get it",
                task.id
            );
            return Err(A2aError::new(A2aErrorKind::Unsupported, text));
        }
        let from = after.unwrap_or(present);
        let mut snapshot = self.snapshot_at(&task, from.pos).await?;
        if from == present {
            snapshot.apply_record(&record);
        }
        let renderer = UpdateRenderer::after(&snapshot);
        let shown = TaskDetail {
            history: None,
            artifacts: true,
        };
        let first = snapshot.into_task(shown);
        let until = match self.version {
            // Clients of 0.3 treat a state that waits for the caller as the end of the stream.
            A2aVersion::V03 => StreamUntil::Turn,
            A2aVersion::V10 => StreamUntil::End,
        };
        let first = StreamItem::Task(Box::new(first));
        Ok(UpdateStream::new(self, &task, from, first, renderer, until))
    }
}
