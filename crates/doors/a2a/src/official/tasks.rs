//! Reading, listing and cancelling tasks.

use std::sync::Arc;

use jackfield_core::{
    store::{TaskFilter, TaskOrder, TaskRecord, TaskState},
    task::Task,
};
use jackfield_kit::server::AnswerReservation;
use jackfield_model::{AgentId, Reason, SessionId, TaskId};
use jiff::Timestamp;

use super::{
    failure::{fault_from, no_such_task, state_of_failure, task_fault_from},
    inbound::InboundRequest,
    send::store_failed,
    snapshot::{TaskDetail, TaskSnapshot},
};
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::{self, A2aState, GetParams, ListParams, TaskPage, TaskParams},
};

/// Default number of tasks per page.
const PAGE: usize = 50;

/// Number of copies of the agent's text in memory while a task is built: in the artifacts and in the history.
const COPIES_IN_MEMORY: usize = 2;

impl InboundRequest {
    /// Finds a task of the caller. Tasks of other callers, unknown tasks and tasks of other agents than the
    /// named agent give the same error.
    pub(super) async fn task(&self, id: &str, tenant: Option<&str>) -> Result<Arc<Task>, A2aError> {
        let id = TaskId::parse(id).ok_or_else(no_such_task)?;
        let task = self.a2a.hub.tasks().find(&self.principal, id).await;
        let task = task.map_err(task_fault_from)?;
        let agent = self.named_agent(tenant)?;
        match agent {
            Some(agent) if task.record().agent != agent => Err(no_such_task()),
            _ => Ok(task),
        }
    }

    /// Returns the agent that the request names, if any.
    fn named_agent(&self, tenant: Option<&str>) -> Result<Option<AgentId>, A2aError> {
        let is_said = self.agent.is_some() || tenant.is_some_and(|tenant| !tenant.is_empty());
        is_said.then(|| self.target(tenant)).transpose()
    }

    /// Returns a task in its current state.
    pub(crate) async fn get(&self, params: GetParams) -> Result<model::Task, A2aError> {
        let task = self.task(&params.id, params.tenant.as_deref()).await?;
        let shown = TaskDetail {
            history: params.history_length,
            artifacts: true,
        };
        self.present(&task, shown, self.room.as_ref()).await
    }

    /// Builds the current task. Log items are charged to `room` before they are stored.
    async fn present(
        &self,
        task: &Arc<Task>,
        shown: TaskDetail,
        room: Option<&AnswerReservation>,
    ) -> Result<model::Task, A2aError> {
        let (record, present) = task.snapshot();
        let count = |weight: usize| match room {
            Some(room) => room.grow(weight * COPIES_IN_MEMORY).map_err(fault_from),
            None => Ok(()),
        };
        let mut snapshot = self.snapshot_at_counted(task, present.pos, count).await?;
        snapshot.apply_record(&record);
        Ok(snapshot.into_task(shown))
    }

    /// Returns a [`TaskPage`] of the caller's tasks, last changed first.
    pub(crate) async fn list(&self, params: ListParams) -> Result<TaskPage, A2aError> {
        let size = params.page_size.unwrap_or(PAGE);
        let empty = TaskPage {
            tasks: Vec::new(),
            next_page_token: String::new(),
            page_size: self.page_size(size, 0),
            total_size: 0,
        };
        let Some(filter) = self.filter(&params, size)? else {
            return Ok(empty);
        };
        let tasks = self.a2a.hub.tasks();
        let total = tasks.count(&self.principal, filter.clone()).await;
        let records = tasks.list(&self.principal, filter).await;
        let mut records = records.map_err(fault_from)?;
        let is_more = records.len() > size;
        records.truncate(size);
        let last = records.last().filter(|_| is_more);
        let next_page_token = last.map(token_of).unwrap_or_default();
        let shown = TaskDetail {
            history: Some(params.history_length.unwrap_or(0)),
            artifacts: params.include_artifacts,
        };
        let mut page = TaskPage {
            next_page_token,
            page_size: self.page_size(size, records.len()),
            total_size: total.map_err(fault_from)?,
            ..empty
        };
        for record in records {
            page.tasks.push(self.listed(record, shown).await?);
        }
        Ok(page)
    }

    /// Returns the `pageSize` of an answer: in 0.3 the number of tasks in the page, in 1.0 the requested
    /// size.
    fn page_size(&self, wanted: usize, had: usize) -> usize {
        match self.version {
            A2aVersion::V03 => had,
            A2aVersion::V10 => wanted,
        }
    }

    /// Builds a task of a page. The log is read only if the answer shows a part of the log, for example the
    /// message of the status.
    async fn listed(&self, record: TaskRecord, shown: TaskDetail) -> Result<model::Task, A2aError> {
        if shown.history != Some(0) || shown.artifacts || has_message(&record) {
            let task = self.a2a.hub.tasks().find(&self.principal, record.id).await;
            // The task may have been removed since the listing. The record is shown in that case.
            if let Ok(task) = task {
                let before = self.room.as_ref().map_or(0, AnswerReservation::taken);
                // Without history and artifacts, the log is dropped right after reading and needs no account.
                let is_kept = shown.history != Some(0) || shown.artifacts;
                let room = self.room.as_ref().filter(|_| is_kept);
                let task = self.present(&task, shown, room).await?;
                self.charge_written(before, &task)?;
                return Ok(task);
            }
        }
        let mut snapshot = TaskSnapshot::new(&record, false, 0);
        snapshot.apply_record(&record);
        Ok(snapshot.into_task(shown))
    }

    /// Replaces the charge for the task's log by a charge for the serialized task. `before` is the charge
    /// before the log was read.
    fn charge_written(&self, before: usize, task: &model::Task) -> Result<(), A2aError> {
        let Some(room) = &self.room else {
            return Ok(());
        };
        let mut written = String::new();
        self.version.write_task(task, &mut written);
        let wanted = before + written.len();
        room.shrink_to(wanted);
        let missing = wanted.saturating_sub(room.taken());
        room.grow(missing).map_err(fault_from)
    }

    /// Builds the [`TaskFilter`] of a listing; `None` if no task can match.
    fn filter(&self, params: &ListParams, size: usize) -> Result<Option<TaskFilter>, A2aError> {
        let mut filter = TaskFilter {
            agent: self.named_agent(params.tenant.as_deref())?,
            order: TaskOrder::Updated,
            // One task more than the page, to find out if a next page exists.
            limit: size + 1,
            ..TaskFilter::default()
        };
        if let Some(context) = params.context_id.as_deref().filter(|id| !id.is_empty()) {
            // No conversation has an invalid id.
            let Ok(session) = SessionId::parse(context) else {
                return Ok(None);
            };
            filter.session = Some(session);
        }
        if let Some(state) = params.state
            && !filter_by_state(state, &mut filter)
        {
            return Ok(None);
        }
        if let Some(since) = &params.status_timestamp_after {
            let since = since.parse().map_err(|_| {
                let why = "use a time such as 2026-01-31T12:00:00Z";
                A2aError::field("statusTimestampAfter", why)
            })?;
            filter.updated_since = Some(since);
        }
        if let Some(token) = params.page_token.as_deref().filter(|it| !it.is_empty()) {
            let place = parse_page_token(token).ok_or_else(|| {
                let why = "use the nextPageToken of the page before, as it is";
                A2aError::field("pageToken", why)
            })?;
            filter.before_update = Some(place);
        }
        Ok(Some(filter))
    }

    /// Cancels a task. The task is over when the function returns.
    pub(crate) async fn cancel(&self, params: TaskParams) -> Result<model::Task, A2aError> {
        let tenant = params.tenant.as_deref();
        let task = self.task(&params.id, tenant).await?;
        let (_, present) = task.snapshot();
        let cancelled = self.a2a.hub.tasks().cancel(&self.principal, task.id).await;
        cancelled.map_err(|failure| match failure.reason {
            Reason::Conflict => A2aError::new(A2aErrorKind::TaskNotCancelable, failure.text),
            _ => task_fault_from(failure),
        })?;
        // The agent is notified and its further events are ignored. Earlier events may still be on their way
        // into the log.
        let mut rest = task.subscribe(Some(present));
        while rest
            .next()
            .await
            .map_err(|error| store_failed(&error))?
            .is_some()
        {}
        let task = self.task(&params.id, tenant).await?;
        let shown = TaskDetail {
            history: None,
            artifacts: true,
        };
        // The caller gets the cancelled task without a limit by the memory account.
        self.present(&task, shown, None).await
    }
}

/// Returns true if the status of the task has a message: a question of the agent, or the reason for the end.
fn has_message(record: &TaskRecord) -> bool {
    record.failure.is_some()
        || matches!(record.state, TaskState::InputRequired | TaskState::Rejected)
}

/// Sets the filter to find tasks in `state` as defined by [`state_from`](super::snapshot::state_from). Returns
/// false if no task can match.
fn filter_by_state(state: A2aState, filter: &mut TaskFilter) -> bool {
    let called = |is_it: fn(A2aState, A2aState) -> bool| {
        let ours = Reason::HUB_REASONS.into_iter();
        ours.filter(|reason| is_it(state_of_failure(reason), state))
            .collect()
    };
    filter.state = Some(match state {
        A2aState::Submitted => TaskState::Submitted,
        A2aState::Working => TaskState::Working,
        A2aState::InputRequired | A2aState::AuthRequired => {
            filter.needs_auth = Some(state == A2aState::AuthRequired);
            TaskState::InputRequired
        }
        A2aState::Completed => TaskState::Completed,
        A2aState::Failed => {
            filter.not_failed = called(|is, wanted| is != wanted);
            TaskState::Failed
        }
        A2aState::Canceled => {
            filter.or_failed = called(|is, wanted| is == wanted);
            TaskState::Cancelled
        }
        A2aState::Rejected => {
            filter.or_failed = called(|is, wanted| is == wanted);
            TaskState::Rejected
        }
        A2aState::Unknown => return false,
    });
    true
}

/// Returns the token of the page after `last`: time of the task's last change in nanoseconds, and the task's
/// id.
fn token_of(last: &TaskRecord) -> String {
    format!("{}.{}", last.updated_at.as_nanosecond(), last.id)
}

fn parse_page_token(token: &str) -> Option<(Timestamp, TaskId)> {
    let (time, id) = token.split_once('.')?;
    let time = Timestamp::from_nanosecond(time.parse().ok()?).ok()?;
    Some((time, TaskId::parse(id)?))
}
