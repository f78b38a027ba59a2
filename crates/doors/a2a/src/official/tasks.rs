//! Looking at tasks, and stopping them.

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

/// How many tasks a page has if the caller does not say.
const PAGE: usize = 50;

/// How often what an agent says is held while its task is shown: among the artifacts and in the history.
const TOLD: usize = 2;

impl Visit {
    /// A task of the caller's. Foreign and unknown ones look the same, and so do those of other agents.
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

    /// The agent that the request speaks of, if it says so.
    fn chosen(&self, tenant: Option<&str>) -> Result<Option<AgentId>, Fault> {
        let is_said = self.agent.is_some() || tenant.is_some_and(|tenant| !tenant.is_empty());
        is_said.then(|| self.target(tenant)).transpose()
    }

    /// A task as it stands.
    pub(crate) async fn get(&self, params: GetParams) -> Result<model::Task, Fault> {
        let task = self.task(&params.id, params.tenant.as_deref()).await?;
        let shown = Shown {
            history: params.history_length,
            artifacts: true,
        };
        self.present(&task, shown, self.room.as_ref()).await
    }

    /// A task as it stands. What is read of its log has to have room before it is kept.
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

    /// The caller's tasks, those first that changed last.
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

    /// What version 0.3 calls the size of a page is how many tasks it has.
    fn page_size(&self, wanted: usize, had: usize) -> usize {
        match self.version {
            Version::V03 => had,
            Version::V10 => wanted,
        }
    }

    /// One task of a page. Its log is read only if something of it is shown, be it the message of its status.
    async fn listed(&self, record: TaskRecord, shown: Shown) -> Result<model::Task, Fault> {
        if shown.history != Some(0) || shown.artifacts || has_message(&record) {
            let task = self.a2a.hub.tasks().find(&self.principal, record.id).await;
            // It may have gone since it was listed; what is known of it is shown all the same.
            if let Ok(task) = task {
                let before = self.room.as_ref().map_or(0, Room::taken);
                // Where neither is shown, what is read is let go at once.
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

    /// Takes room for what is shown of a task instead of for what was read of it. `before` is what was taken before it.
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

    /// What is looked for; none if there can be no such task.
    fn filter(&self, params: &ListParams, size: usize) -> Result<Option<TaskFilter>, Fault> {
        let mut filter = TaskFilter {
            agent: self.chosen(params.tenant.as_deref())?,
            order: TaskOrder::Updated,
            // One more, to see whether there is a next page.
            limit: size + 1,
            ..TaskFilter::default()
        };
        if let Some(context) = params.context_id.as_deref().filter(|id| !id.is_empty()) {
            // What cannot be the name of a conversation is none.
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

    /// Stops a task. It is over when this returns.
    pub(crate) async fn cancel(&self, params: TaskParams) -> Result<model::Task, Fault> {
        let tenant = params.tenant.as_deref();
        let task = self.task(&params.id, tenant).await?;
        let (_, present) = task.snapshot();
        let cancelled = self.a2a.hub.tasks().cancel(&self.principal, task.id).await;
        cancelled.map_err(|failure| match failure.reason {
            Reason::Conflict => Fault::new(Kind::TaskNotCancelable, failure.text),
            _ => task_fault_from(failure),
        })?;
        // The agent is told and its words count no more; what was said before is still being written down.
        let mut rest = task.subscribe(Some(present));
        while rest.next().await.map_err(|error| broken(&error))?.is_some() {}
        let task = self.task(&params.id, tenant).await?;
        let shown = Shown {
            history: None,
            artifacts: true,
        };
        // Whoever stopped a task is told so, whatever they have not read before.
        self.present(&task, shown, None).await
    }
}

/// Whether the status of a task says more than where it stands: what its agent asks, or why it is over.
fn has_message(record: &TaskRecord) -> bool {
    record.failure.is_some()
        || matches!(record.state, TaskState::InputRequired | TaskState::Rejected)
}

/// Has the filter find the tasks that stand there by [`state_from`](super::story::state_from); false if there can be none.
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

/// Where the page after this task begins: when it changed, to the nanosecond, and its id.
fn token_of(last: &TaskRecord) -> String {
    format!("{}.{}", last.updated_at.as_nanosecond(), last.id)
}

fn place_of(token: &str) -> Option<(Timestamp, TaskId)> {
    let (time, id) = token.split_once('.')?;
    let time = Timestamp::from_nanosecond(time.parse().ok()?).ok()?;
    Some((time, TaskId::parse(id)?))
}
