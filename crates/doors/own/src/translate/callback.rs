//! Callbacks as JSON.

use jackfield_core::outbox::{OutboxRow, OutboxState};
use jackfield_model::{CallbackId, TaskId};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Where a callback stands.
#[derive(Debug, ToSchema)]
#[schema(as = CallbackState, rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the core's type")]
pub enum CallbackStateView {
    /// It is tried until it is delivered.
    Pending,
    /// It was given up.
    Dead,
}

/// A callback that was not delivered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Callback)]
pub struct CallbackView {
    /// Its id, which is its `Idempotency-Key`.
    #[schema(value_type = String, format = "uuid")]
    id: CallbackId,
    /// The task that it is about.
    #[schema(value_type = String, format = "uuid")]
    task: TaskId,
    /// Where it stands.
    #[schema(value_type = CallbackStateView)]
    state: OutboxState,
    /// The origin that it goes to; the whole address may hold a secret.
    to: String,
    /// How often it was tried.
    attempts: u32,
    /// When the task's turn ended, or since when it is sent again.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it is tried again; of a dead one, when it was given up.
    #[schema(value_type = String, format = DateTime)]
    next_at: Timestamp,
    /// Why the last try failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_error: Option<String>,
}

/// Callbacks, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallbackList {
    /// The callbacks.
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
