//! The protocol's extension for tasks (`io.modelcontextprotocol/tasks`), from version 2026-07-28 on. A task of the
//! protocol is the core's task of a call, with the same id: the door stores nothing of it.
//!
//! A client without forms cannot answer questions of a task. For that client the task is completed with the result that
//! says what the agent asks, and the client's model goes on with the tool `task`.

use std::sync::Arc;

use jackfield_core::{
    hub::Hub,
    store::{TaskRecord, TaskState},
    task::Task,
};
use jackfield_model::{Failure, Reason};
use rmcp::model::{self, DetailedTask, GetTaskResult, InputResponses, TaskPayload, TaskStatus};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    limits::{POLL, READ},
    outcome::TaskOutcome,
    questions,
    tool_request::{ToolRequest, find_task},
    waiting,
};

/// Returns a task without its result or its questions.
pub(crate) fn summary(record: &TaskRecord, hub: &Hub) -> model::Task {
    let status = match record.state {
        TaskState::Submitted | TaskState::Working => TaskStatus::Working,
        TaskState::InputRequired => TaskStatus::InputRequired,
        TaskState::Completed | TaskState::Failed | TaskState::Rejected => TaskStatus::Completed,
        TaskState::Cancelled => TaskStatus::Cancelled,
    };
    let (created, updated) = (record.created_at, record.updated_at);
    let task = model::Task::new(
        record.id.to_string(),
        status,
        created.to_string(),
        updated.to_string(),
    );
    let task = task.with_poll_interval_ms(millis(POLL));
    if !record.state.is_final() {
        // The hub keeps a task at least until its end.
        return task;
    }
    let lasted = updated.duration_since(created).unsigned_abs();
    task.with_ttl_ms(millis(lasted.saturating_add(hub.limits().task_kept.0)))
}

/// Answers `tasks/get`.
pub(crate) async fn get(asked: &ToolRequest<'_>, id: &str) -> Result<GetTaskResult, Failure> {
    let task = found(asked, id).await?;
    task.outlive_readers();
    let payload = payload(asked, &task).await?;
    let summary = summary(&task.record(), asked.hub());
    Ok(GetTaskResult::new(DetailedTask::new(summary, payload)))
}

/// Answers `tasks/update`: passes the answers of the client's user on to the agent.
pub(crate) async fn update(
    asked: &ToolRequest<'_>,
    id: &str,
    responses: &InputResponses,
) -> Result<(), Failure> {
    let task = found(asked, id).await?;
    questions::answer(asked.hub(), asked.asker, task, responses).await?;
    Ok(())
}

/// Answers `tasks/cancel`. The protocol acknowledges a cancel whatever becomes of it, so a task that has ended by itself is
/// no failure.
pub(crate) async fn cancel(asked: &ToolRequest<'_>, id: &str) -> Result<(), Failure> {
    let task = found(asked, id).await?;
    let cancelled = asked.hub().tasks().cancel(asked.principal(), task.id).await;
    match cancelled {
        Err(failure) if failure.reason != Reason::Conflict => Err(failure),
        _ => {
            // So that the next look at the task shows the end, if the store is not slow.
            drop(timeout(READ, task.over()).await);
            Ok(())
        }
    }
}

async fn found(asked: &ToolRequest<'_>, id: &str) -> Result<Arc<Task>, Failure> {
    let found = find_task(asked.hub(), asked.principal(), id).await;
    found.map_err(|failure| match failure.reason {
        Reason::SessionUnknown => {
            let text =
                "field \"taskId\": no such task of yours; a task is kept for a day after its end";
            Failure::new(Reason::SessionUnknown, text)
        }
        _ => failure,
    })
}

async fn payload(asked: &ToolRequest<'_>, task: &Arc<Task>) -> Result<TaskPayload, Failure> {
    let (hub, principal) = (asked.hub(), asked.principal());
    let record = task.record();
    let asks = questions::open_asks(hub, principal, task).next().is_some();
    match record.state {
        TaskState::Submitted | TaskState::Working | TaskState::InputRequired
            if !asks && !record.waits_for_message() =>
        {
            return Ok(TaskPayload::Working);
        }
        TaskState::Cancelled => return Ok(TaskPayload::Cancelled),
        _ => {}
    }
    let heard = waiting::wait(asked, task, None, READ, asked.progress(task.id)).await?;
    if asked.takes_questions() {
        let open = questions::open(hub, principal, task, &heard.text);
        if !open.is_empty() {
            let input_requests = questions::requests(record.agent.as_str(), &open);
            return Ok(TaskPayload::InputRequired { input_requests });
        }
    }
    let outcome = TaskOutcome::new(&task.record(), heard);
    if outcome.is_working() {
        // Somebody answered meanwhile.
        return Ok(TaskPayload::Working);
    }
    Ok(match serde_json::to_value(outcome.into_result()) {
        Ok(Value::Object(result)) => TaskPayload::Completed { result },
        _ => TaskPayload::Working,
    })
}

fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
