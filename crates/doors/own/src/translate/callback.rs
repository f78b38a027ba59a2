//! JSON of callbacks.

use jackfield_core::outbox::{OutboxRow, OutboxState};
use jackfield_model::{CallbackId, TaskId};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Undelivered callback.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Callback)]
pub struct CallbackView {
    /// Id of the callback, sent as its `Idempotency-Key`.
    #[schema(value_type = String, format = "uuid")]
    id: CallbackId,
    /// Task of the callback.
    #[schema(value_type = String, format = "uuid")]
    task: TaskId,
    /// State of the callback.
    state: OutboxState,
    /// Origin of the target address. The complete address may contain a secret.
    to: String,
    /// Number of attempts.
    attempts: u32,
    /// End of the task's turn, or the time of the last resend.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the next attempt. For a dead callback: the time of abandonment.
    #[schema(value_type = String, format = DateTime)]
    next_at: Timestamp,
    /// Error of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_error: Option<String>,
}

/// Callbacks, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallbackList {
    /// Callbacks.
    pub callbacks: Vec<CallbackView>,
}

impl From<OutboxRow> for CallbackView {
    fn from(row: OutboxRow) -> Self {
        Self {
            id: row.id,
            task: row.task,
            state: row.state,
            to: row.callback.origin(),
            attempts: row.attempts,
            created_at: row.created_at,
            next_at: row.next_at,
            last_error: row.last_error,
        }
    }
}
