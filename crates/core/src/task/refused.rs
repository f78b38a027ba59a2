//! Tasks that end before they begin: for callers whose protocol has a task for every request.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::{Task, TaskRegistry, end_record, followers::kept, store_failure};
use jackfield_model::{CallId, End, Failure, Reason};

use crate::{
    hub::Request,
    outbox::{Callback, Follower, add},
    store::{LogItem, TaskRecord, TaskState},
    units::Span,
};

impl TaskRegistry {
    /// Records a refused request as a finished task. No call is opened, and the agent never learns of the
    /// request. The record, the log and the callbacks are as for any other task.
    pub async fn record_refused(
        &self,
        request: Request,
        failure: Failure,
    ) -> Result<Arc<Task>, Failure> {
        let _once = self.claim_key(&request).await;
        if let Some(task) = self.find_repeated(&request).await? {
            return Ok(task);
        }
        let entry = self
            .agents
            .find(&request.principal, request.target.as_str())?;
        request.check_size(&self.shared.limits)?;
        let mut followers = Vec::new();
        add(
            &mut followers,
            request.followers,
            self.shared.limits.followers,
        )?;
        let token = request.principal.grant.token;
        Follower::sign(&mut followers, token);
        let _underway = self.underway();
        let (id, now) = (CallId::new(), Timestamp::now());
        let mut record = TaskRecord {
            id: id.into(),
            call: id,
            principal: request.principal.key(),
            token,
            caller: request.principal.label().to_owned(),
            door: request.door.to_owned(),
            agent: request.target,
            session: request.session.unwrap_or_else(|| id.into()),
            request: request.request.unwrap_or_else(|| id.into()),
            // No call was opened.
            parent: None,
            state: TaskState::Submitted,
            needs_auth: false,
            sent: false,
            sent_at: None,
            cancelling: false,
            handle: None,
            epoch: 0,
            log_end: 0,
            created_at: now,
            updated_at: now,
            wait_until: None,
            failure: None,
            callback: request.callback.map(|it| Callback { token, ..it }),
            followers,
            once: request.once,
            unread: request.unread.map(Span),
            context: BTreeMap::new(),
        };
        let keep = kept(entry.settings().store, &record);
        let task = Task::new(record.clone(), keep, false, Some(0), self);
        let state = state_of_refused(&failure.reason);
        let end = End::Failed(failure);
        end_record(&mut record, &end, now);
        record.state = state;
        let items = vec![
            (LogItem::Message(request.message), None),
            (LogItem::End(end.clone()), None),
        ];
        let rows = task.number(items, now);
        let pos = rows.last().map_or(0, |row| row.pos);
        record.log_end = pos + 1;
        let told = task.told_of_end(&record, pos, &end, true);
        *task.record.lock() = record.clone();
        let saved = task.save(record, rows, told, true);
        saved.await.map_err(|error| store_failure(&error))?;
        task.show(false);
        Ok(task)
    }
}

/// Returns the state of a refused request: rejected if it came at a bad moment, failed otherwise.
fn state_of_refused(reason: &Reason) -> TaskState {
    match reason {
        Reason::Busy | Reason::RateLimited | Reason::Loop => TaskState::Rejected,
        Reason::Invalid
        | Reason::Unsupported
        | Reason::TooLarge
        | Reason::Unauthorized
        | Reason::NotFound
        | Reason::Offline
        | Reason::Stopping
        | Reason::Conflict
        | Reason::Timeout
        | Reason::Cancelled
        | Reason::SessionUnknown
        | Reason::Crashed
        | Reason::SlowReader
        | Reason::Internal
        | Reason::Agent(_) => TaskState::Failed,
    }
}
