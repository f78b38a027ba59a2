//! Internal error of the store: tells whether a single operation is invalid or the whole database fails.
//! Callers outside the crate get a [`StoreError`].

use jackfield_core::store::StoreError;
use jackfield_model::TaskId;
use rusqlite::ErrorCode;

/// Error of an operation on the database.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("cannot write it as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0:?} is not the id of a task")]
    BadId(String),
    #[error("there is no task {0}")]
    NoTask(TaskId),
    #[error("position {pos} of task {task} is written already")]
    Written { task: TaskId, pos: u64 },
    #[error("row {pos} of task {task} cannot be read: {source}")]
    Unreadable {
        task: TaskId,
        pos: u64,
        source: serde_json::Error,
    },
}

impl DatabaseError {
    /// Returns whether the operation itself is invalid, so that the rest of its batch can be committed
    /// without it.
    pub(crate) fn is_invalid_operation(&self) -> bool {
        match self {
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
            ),
            Self::Json(_)
            | Self::BadId(_)
            | Self::NoTask(_)
            | Self::Written { .. }
            | Self::Unreadable { .. } => true,
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(fault: DatabaseError) -> Self {
        if fault.is_invalid_operation() {
            Self::Refused(fault.to_string())
        } else {
            Self::Failed(fault.to_string())
        }
    }
}
