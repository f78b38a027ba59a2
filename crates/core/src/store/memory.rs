//! [`MemoryStore`]: the store of a hub that lives only as long as its process, and the simple model that `jackfield-store` is tested against. One lock guards all maps, and every receipt is ready at once. The store merges no rows, and weighs logs for `trim` by [`LogItem::weight`](super::LogItem::weight), where SQLite counts the written bytes.

mod outbox;

use std::collections::BTreeMap;

use jiff::Timestamp;
use parking_lot::Mutex;

use self::outbox::Outbox;
use super::{
    AgentRecord, CallbackFilter, DoorRecord, LogItem, LogRow, Receipt, RecordKey, Reopened, Store,
    StoreError, TaskFilter, TaskOrder, TaskRecord, TokenRecord,
};
use jackfield_model::{AgentId, CallbackId, TaskId, TokenId};

use crate::outbox::{Callback, NewCallback, OutboxRow, Settled};

/// A store in memory. Nothing survives the process.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Inner>);

#[derive(Debug, Clone, Default)]
struct Inner {
    agents: BTreeMap<AgentId, AgentRecord>,
    records: BTreeMap<Option<AgentId>, Vec<DoorRecord>>,
    tokens: BTreeMap<TokenId, TokenRecord>,
    tasks: BTreeMap<TaskId, Task>,
    outbox: Outbox,
}

impl MemoryStore {
    /// Returns a copy of the store, as a process that is killed now would leave it behind.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }
}

impl Inner {
    /// Returns the owner of a task: the first part of its principal's key.
    fn owner(&self, task: TaskId) -> Option<String> {
        let key = &self.tasks.get(&task)?.record.principal;
        key.split('/').next().map(ToOwned::to_owned)
    }

    /// Returns the owner whose finished tasks hold most, among the owners of these tasks.
    fn holds_most(&self, some: &[(Timestamp, TaskId)]) -> Option<Option<String>> {
        let mut held: BTreeMap<_, usize> = BTreeMap::new();
        for task in self.tasks.values().filter(|task| task.is_final()) {
            *held.entry(self.owner(task.record.id)).or_default() += task.weight();
        }
        let owners = some.iter().map(|(_, id)| self.owner(*id));
        owners.max_by_key(|owner| held.get(owner).copied())
    }

    fn save(&mut self, record: TaskRecord, rows: Vec<LogRow>) -> Result<(), StoreError> {
        let known = self.tasks.get(&record.id);
        check(record.id, known.map_or(&[][..], |task| &task.log), &rows)?;
        let task = self.tasks.entry(record.id).or_insert_with(|| Task {
            record: record.clone(),
            log: Vec::new(),
        });
        // A log never gets shorter, even if the record was made before the last append.
        let log_end = task.record.log_end.max(record.log_end);
        task.record = TaskRecord { log_end, ..record };
        task.extend(rows);
        Ok(())
    }

    /// Removes a task with its log and callbacks, and returns the weight of the log.
    fn remove(&mut self, id: TaskId) -> usize {
        self.outbox.forget(id);
        self.tasks.remove(&id).map_or(0, |task| task.weight())
    }
}

#[derive(Debug, Clone)]
struct Task {
    record: TaskRecord,
    log: Vec<LogRow>,
}

/// Returns one past the last position of a row.
fn end(row: &LogRow) -> u64 {
    row.pos + row.item.advance()
}

/// Whether rows continue the log: a position is written once.
fn check(id: TaskId, log: &[LogRow], rows: &[LogRow]) -> Result<(), StoreError> {
    let mut written = log.last().map_or(0, end);
    for row in rows {
        let pos = row.pos;
        if pos < written {
            let why = format!("position {pos} of task {id} is written already");
            return Err(StoreError::Refused(why));
        }
        written = end(row);
    }
    Ok(())
}

impl Task {
    fn extend(&mut self, rows: Vec<LogRow>) {
        self.log.extend(rows);
        self.record.log_end = self.record.log_end.max(self.log.last().map_or(0, end));
    }

    fn is_final(&self) -> bool {
        self.record.state.is_final()
    }

    fn weight(&self) -> usize {
        self.log.iter().map(|row| row.item.weight()).sum()
    }
}

/// Whether a task matches a filter.
fn admits(filter: &TaskFilter, task: &TaskRecord) -> bool {
    fn is<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
        wanted.is_none_or(|wanted| wanted == found)
    }
    filter.whose.includes(&task.principal)
        && is(filter.agent.as_ref(), &task.agent)
        && is(filter.request.as_ref(), &task.request)
        && is(filter.session.as_ref(), &task.session)
        && filter.has_state_of(task)
        && (filter.once.is_none()
            || filter.once.as_ref() == task.once.as_ref().map(|once| &once.key))
        && filter
            .updated_since
            .is_none_or(|since| task.updated_at >= since)
}

/// Whether a task is on the page of a filter, or on a later page.
fn is_ahead(filter: &TaskFilter, task: &TaskRecord) -> bool {
    filter.before.is_none_or(|before| task.id < before)
        && filter
            .before_update
            .is_none_or(|before| (task.updated_at, task.id) < before)
}

impl Store for MemoryStore {
    fn probe(&self) -> Receipt {
        Receipt::ready(Ok(()))
    }

    fn load_agents(&self) -> Receipt<Vec<AgentRecord>> {
        Receipt::ready(Ok(self.0.lock().agents.values().cloned().collect()))
    }

    fn save_agent(&self, record: AgentRecord) -> Receipt {
        self.0.lock().agents.insert(record.id.clone(), record);
        Receipt::ready(Ok(()))
    }

    fn remove_agent(&self, id: AgentId) -> Receipt {
        let mut inner = self.0.lock();
        inner.agents.remove(&id);
        inner.records.remove(&Some(id));
        Receipt::ready(Ok(()))
    }

    fn load_records(&self, door: &str) -> Receipt<Vec<DoorRecord>> {
        let inner = self.0.lock();
        let records = inner.records.values().flatten();
        let records = records.filter(|record| record.door == door);
        Receipt::ready(Ok(records.cloned().collect()))
    }

    fn save_records(&self, records: Vec<DoorRecord>, _: bool) -> Receipt {
        let mut inner = self.0.lock();
        for record in records {
            let agent = record.agent.as_ref();
            if agent.is_some_and(|agent| !inner.agents.contains_key(agent)) {
                continue;
            }
            let kept = inner.records.entry(record.agent.clone()).or_default();
            let is_it = |it: &&mut DoorRecord| it.door == record.door && it.key == record.key;
            match kept.iter_mut().find(is_it) {
                Some(known) => *known = record,
                None => kept.push(record),
            }
        }
        Receipt::ready(Ok(()))
    }

    fn remove_records(&self, keys: Vec<RecordKey>, _: bool) -> Receipt {
        let mut inner = self.0.lock();
        for RecordKey { door, agent, key } in keys {
            if let Some(kept) = inner.records.get_mut(&agent) {
                kept.retain(|it| it.door != door || it.key != key);
            }
        }
        Receipt::ready(Ok(()))
    }

    fn load_tokens(&self) -> Receipt<Vec<TokenRecord>> {
        Receipt::ready(Ok(self.0.lock().tokens.values().cloned().collect()))
    }

    fn save_token(&self, record: TokenRecord) -> Receipt {
        self.0.lock().tokens.insert(record.id, record);
        Receipt::ready(Ok(()))
    }

    fn remove_token(&self, id: TokenId) -> Receipt {
        self.0.lock().tokens.remove(&id);
        Receipt::ready(Ok(()))
    }

    fn reopen_tasks(&self) -> Receipt<Vec<TaskRecord>> {
        let mut inner = self.0.lock();
        let open = inner.tasks.values_mut().filter(|task| !task.is_final());
        let open = open.filter_map(|task| {
            task.record.epoch = task.record.epoch.saturating_add(1);
            if task.record.waits_for_message() {
                return None;
            }
            task.record.log_end = task.log.last().map_or(0, end);
            Some(task.record.clone())
        });
        Receipt::ready(Ok(open.collect()))
    }

    fn read_turn(&self, record: TaskRecord) -> Receipt<Reopened> {
        let inner = self.0.lock();
        let log = inner.tasks.get(&record.id).map(|task| task.log.iter());
        let rows = log.into_iter().flatten().cloned();
        Receipt::ready(Ok(Reopened::new(record, rows)))
    }

    fn save_task(
        &self,
        record: TaskRecord,
        rows: Vec<LogRow>,
        told: Vec<NewCallback>,
        _sync: bool,
    ) -> Receipt {
        let mut inner = self.0.lock();
        let saved = inner.save(record, rows);
        if saved.is_ok() {
            inner.outbox.extend(told);
        }
        Receipt::ready(saved)
    }

    fn append(&self, task: TaskId, rows: Vec<LogRow>, told: Vec<NewCallback>) -> Receipt {
        let mut inner = self.0.lock();
        let Some(found) = inner.tasks.get_mut(&task) else {
            return Receipt::ready(Err(StoreError::Refused(format!("there is no task {task}"))));
        };
        let result = check(task, &found.log, &rows);
        if result.is_ok() {
            found.extend(rows);
            inner.outbox.extend(told);
        }
        Receipt::ready(result)
    }

    fn find_task(&self, id: TaskId) -> Receipt<Option<TaskRecord>> {
        let task = self.0.lock().tasks.get(&id).map(|task| task.record.clone());
        Receipt::ready(Ok(task))
    }

    fn list_tasks(&self, filter: TaskFilter) -> Receipt<Vec<TaskRecord>> {
        let inner = self.0.lock();
        let tasks = inner.tasks.values().rev().map(|task| &task.record);
        let mut tasks: Vec<_> = tasks
            .filter(|task| admits(&filter, task) && is_ahead(&filter, task))
            .collect();
        if filter.order == TaskOrder::Updated {
            tasks.sort_by_key(|task| std::cmp::Reverse((task.updated_at, task.id)));
        }
        let tasks = tasks.into_iter().take(filter.limit).cloned();
        Receipt::ready(Ok(tasks.collect()))
    }

    fn count_tasks(&self, filter: TaskFilter) -> Receipt<usize> {
        let inner = self.0.lock();
        let tasks = inner.tasks.values();
        let tasks = tasks.filter(|task| admits(&filter, &task.record));
        Receipt::ready(Ok(tasks.count()))
    }

    fn read_log(&self, task: TaskId, from: u64, max: usize) -> Receipt<Vec<LogRow>> {
        let inner = self.0.lock();
        let log = inner.tasks.get(&task).map_or(&[][..], |task| &task.log);
        let log = &log[log.partition_point(|row| end(row) <= from)..];
        let mut sum = 0;
        let fits = log.iter().take_while(|row| {
            let first = sum == 0;
            sum += row.item.weight();
            first || sum <= max
        });
        Receipt::ready(Ok(fits.cloned().collect()))
    }

    fn trim(&self, before: Timestamp, total: usize) -> Receipt<usize> {
        let mut inner = self.0.lock();
        let count = inner.tasks.len();
        let at_rest = inner.tasks.values();
        let at_rest = at_rest.filter(|task| task.is_final() || task.record.waits_for_message());
        let mut oldest: Vec<_> = at_rest
            .map(|task| (task.record.updated_at, task.record.id))
            .collect();
        oldest.sort();
        for (at, id) in &oldest {
            if *at < before && !inner.outbox.keeps(*id, Some(before)) {
                inner.remove(*id);
            }
        }
        let is_final = |id: &TaskId| inner.tasks.get(id).is_some_and(Task::is_final);
        oldest.retain(|(_, id)| is_final(id));
        let finished = inner.tasks.values().filter(|task| task.is_final());
        let mut left: usize = finished.map(Task::weight).sum();
        oldest.retain(|(_, id)| !inner.outbox.keeps(*id, None));
        while left > total
            && let Some(owner) = inner.holds_most(&oldest)
            && let Some(at) = oldest.iter().position(|(_, id)| inner.owner(*id) == owner)
        {
            let (_, id) = oldest.remove(at);
            left -= inner.remove(id);
        }
        Receipt::ready(Ok(count - inner.tasks.len()))
    }

    fn due_callbacks(&self, now: Timestamp, limit: usize) -> Receipt<Vec<OutboxRow>> {
        Receipt::ready(Ok(self.0.lock().outbox.due(now, limit)))
    }

    fn next_callback(&self, after: Timestamp) -> Receipt<Option<Timestamp>> {
        Receipt::ready(Ok(self.0.lock().outbox.next(after)))
    }

    fn settle_callback(&self, id: CallbackId, how: Settled) -> Receipt {
        self.0.lock().outbox.settle(id, how);
        Receipt::ready(Ok(()))
    }

    fn callback_reply(&self, id: CallbackId) -> Receipt<Vec<LogItem>> {
        Receipt::ready(Ok(self.0.lock().outbox.reply(id)))
    }

    fn list_callbacks(&self, filter: CallbackFilter) -> Receipt<Vec<OutboxRow>> {
        let inner = self.0.lock();
        let is_theirs = |task: &TaskId| {
            let task = inner.tasks.get(task);
            task.is_some_and(|task| filter.whose.includes(&task.record.principal))
        };
        let rows = inner.outbox.list(filter.dead_only);
        let rows = rows.filter(|row| is_theirs(&row.task));
        Receipt::ready(Ok(rows.take(filter.limit).cloned().collect()))
    }

    fn resend_callbacks(&self, task: TaskId) -> Receipt<bool> {
        Receipt::ready(Ok(self.0.lock().outbox.resend(task)))
    }

    fn drop_lane(&self, task: TaskId, lane: String) -> Receipt {
        self.0.lock().outbox.drop_lane(task, &lane);
        Receipt::ready(Ok(()))
    }

    fn drop_callbacks(&self, tokens: Vec<TokenId>) -> Receipt {
        let mut inner = self.0.lock();
        inner.outbox.drop_of(&tokens);
        let is_theirs = |callback: &Callback| callback.token.is_some_and(|it| tokens.contains(&it));
        for Task { record, .. } in inner.tasks.values_mut() {
            record.callback.take_if(|callback| is_theirs(callback));
            record.followers.retain(|it| !is_theirs(&it.callback));
        }
        Receipt::ready(Ok(()))
    }
}
