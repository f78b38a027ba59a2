//! Reading, listing and cancelling tasks.

use std::sync::Arc;

use jackfield_core::{
    store::{TaskFilter, TaskOrder, TaskRecord, TaskState},
    task::Task,
};
use jackfield_kit::server::Room;
use jackfield_model::{AgentId, Reason, SessionId, TaskId};
use jiff::Timestamp;

use super::{
    failure::{fault_from, no_such_task, state_of_failure, task_fault_from},
    send::broken,
    story::{Shown, Story},
    visit::Visit,
};
use crate::wire::official::{
    Version,
    error::{Fault, Kind},
    model::{self, GetParams, ListParams, Page, State, TaskParams},
};

/// Default number of tasks per page.
const PAGE: usize = 50;

/// Number of copies of the agent's text in memory while a task is built: in the artifacts and in the history.
const TOLD: usize = 2;

impl Visit {
    /// Finds a task of the caller. Tasks of other callers, unknown tasks and tasks of other agents than the
    /// named agent give the same error.
    pub(super) async fn task(&self, id: &str, tenant: Option<&str>) -> Result<Arc<Task>, Fault> {
        let id = TaskId::parse(id).ok_or_else(no_such_task)?;
        let task = self.a2a.hub.tasks().find(&self.principal, id).await;
        let task = task.map_err(task_fault_from)?;
        let agent = self.chosen(tenant)?;
        match agent {
            Some(agent) if task.record().agent != agent => Err(no_such_task()),
            _ => Ok(task),
        }
    }

    /// Returns the agent that the request names, if any.
    fn chosen(&self, tenant: Option<&str>) -> Result<Option<AgentId>, Fault> {
        let is_said = self.agent.is_some() || tenant.is_some_and(|tenant| !tenant.is_empty());
        is_said.then(|| self.target(tenant)).transpose()
    }

    /// Returns a task in its current state.
    pub(crate) async fn get(&self, params: GetParams) -> Result<model::Task, Fault> {
        let task = self.task(&params.id, params.tenant.as_deref()).await?;
        let shown = Shown {
            history: params.history_length,
            artifacts: true,
        };
        self.present(&task, shown, self.room.as_ref()).await
    }

    /// Builds the current task. Log items are charged to `room` before they are stored.
    async fn present(
        &self,
        task: &Arc<Task>,
        shown: Shown,
        room: Option<&Room>,
    ) -> Result<model::Task, Fault> {
        let (record, present) = task.snapshot();
        let count = |weight: usize| match room {
            Some(room) => room.grow(weight * TOLD).map_err(fault_from),
            None => Ok(()),
        };
        let mut story = self.gather_counted(task, present.pos, count).await?;
        story.at_present(&record);
        Ok(story.into_task(shown))
    }

    /// Returns a [`Page`] of the caller's tasks, last changed first.
    pub(crate) async fn list(&self, params: ListParams) -> Result<Page, Fault> {
        let size = params.page_size.unwrap_or(PAGE);
        let empty = Page {
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
        let shown = Shown {
            history: Some(params.history_length.unwrap_or(0)),
            artifacts: params.include_artifacts,
        };
        let mut page = Page {
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
            Version::V03 => had,
            Version::V10 => wanted,
        }
    }

    /// Builds a task of a page. The log is read only if the answer shows a part of the log, for example the
    /// message of the status.
    async fn listed(&self, record: TaskRecord, shown: Shown) -> Result<model::Task, Fault> {
        if shown.history != Some(0) || shown.artifacts || has_message(&record) {
            let task = self.a2a.hub.tasks().find(&self.principal, record.id).await;
            // The task may have been removed since the listing. The record is shown in that case.
            if let Ok(task) = task {
                let before = self.room.as_ref().map_or(0, Room::taken);
                // Without history and artifacts, the log is dropped right after reading and needs no account.
                let is_kept = shown.history != Some(0) || shown.artifacts;
                let room = self.room.as_ref().filter(|_| is_kept);
                let task = self.present(&task, shown, room).await?;
                self.settle(before, &task)?;
                return Ok(task);
            }
        }
        let mut story = Story::new(&record, false, 0);
        story.at_present(&record);
        Ok(story.into_task(shown))
    }

    /// Replaces the charge for the task's log by a charge for the serialized task. `before` is the charge
    /// before the log was read.
    fn settle(&self, before: usize, task: &model::Task) -> Result<(), Fault> {
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
    fn filter(&self, params: &ListParams, size: usize) -> Result<Option<TaskFilter>, Fault> {
        let mut filter = TaskFilter {
            agent: self.chosen(params.tenant.as_deref())?,
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
            && !look_for(state, &mut filter)
        {
            return Ok(None);
        }
        if let Some(since) = &params.status_timestamp_after {
            let since = since.parse().map_err(|_| {
                let why = "use a time such as 2026-01-31T12:00:00Z";
                Fault::field("statusTimestampAfter", why)
            })?;
            filter.updated_since = Some(since);
        }
        if let Some(token) = params.page_token.as_deref().filter(|it| !it.is_empty()) {
            let place = place_of(token).ok_or_else(|| {
                let why = "use the nextPageToken of the page before, as it is";
                Fault::field("pageToken", why)
            })?;
            filter.before_update = Some(place);
        }
        Ok(Some(filter))
    }

    /// Cancels a task. The task is over when the function returns.
    pub(crate) async fn cancel(&self, params: TaskParams) -> Result<model::Task, Fault> {
        let tenant = params.tenant.as_deref();
        let task = self.task(&params.id, tenant).await?;
        let (_, present) = task.snapshot();
        let cancelled = self.a2a.hub.tasks().cancel(&self.principal, task.id).await;
        cancelled.map_err(|failure| match failure.reason {
            Reason::Conflict => Fault::new(Kind::TaskNotCancelable, failure.text),
            _ => task_fault_from(failure),
        })?;
        // The agent is notified and its further events are ignored. Earlier events may still be on their way
        // into the log.
        let mut rest = task.subscribe(Some(present));
        while rest.next().await.map_err(|error| broken(&error))?.is_some() {}
        let task = self.task(&params.id, tenant).await?;
        let shown = Shown {
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

/// Sets the filter to find tasks in `state` as defined by [`state_from`](super::story::state_from). Returns
/// false if no task can match.
fn look_for(state: State, filter: &mut TaskFilter) -> bool {
    let called = |is_it: fn(State, State) -> bool| {
        let ours = Reason::OURS.into_iter();
        ours.filter(|reason| is_it(state_of_failure(reason), state))
            .collect()
    };
    filter.state = Some(match state {
        State::Submitted => TaskState::Submitted,
        State::Working => TaskState::Working,
        State::InputRequired | State::AuthRequired => {
            filter.needs_auth = Some(state == State::AuthRequired);
            TaskState::InputRequired
        }
        State::Completed => TaskState::Completed,
        State::Failed => {
            filter.not_failed = called(|is, wanted| is != wanted);
            TaskState::Failed
        }
        State::Canceled => {
            filter.or_failed = called(|is, wanted| is == wanted);
            TaskState::Cancelled
        }
        State::Rejected => {
            filter.or_failed = called(|is, wanted| is == wanted);
            TaskState::Rejected
        }
        State::Unknown => return false,
    });
    true
}

/// Returns the token of the page after `last`: time of the task's last change in nanoseconds, and the task's
/// id.
fn token_of(last: &TaskRecord) -> String {
    format!("{}.{}", last.updated_at.as_nanosecond(), last.id)
}

fn place_of(token: &str) -> Option<(Timestamp, TaskId)> {
    let (time, id) = token.split_once('.')?;
    let time = Timestamp::from_nanosecond(time.parse().ok()?).ok()?;
    Some((time, TaskId::parse(id)?))
}
