//! SQL of tasks. `log.rs` holds the SQL of their logs, `trim.rs` their removal.

use std::time::Duration;

use jackfield_core::{
    outbox::{Callback, Follower},
    principal::Whose,
    store::{Reopened, TaskFilter, TaskOrder, TaskRecord, TaskState},
    task::IdempotencyKey,
    units::Span,
};
use jackfield_model::{
    AgentId, CallId, Cause, Failure, Json, Reason, RequestId, SessionId, TaskId, TokenId,
};
use rusqlite::{Connection, OptionalExtension, Row, types::Value};

use crate::{
    column::{
        optional_json, optional_name, optional_time, parsed, parsed_name, signed, size, time,
        time_text, unsigned,
    },
    error::DatabaseError,
    log,
};

/// Inserts a task, unless it exists.
pub(crate) const INSERT: &str = "INSERT INTO tasks (id, call, principal, caller, door, agent, session, request, state, sent, epoch, log_end,
                        created_at, updated_at, wait_until, failure, failure_text, callback, unread, followers,
                        once_key, once_digest, parent, handle, context, token, sent_at, failure_cause, cancelling, bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING";

/// Updates the columns that change in every turn. Besides `state` and `updated_at` none of them is in an index: SQLite
/// rewrites the entries of an index whenever a statement names one of its columns, even if the value stays the same.
pub(crate) const UPDATE: &str = "UPDATE tasks SET
        call = ?, caller = ?, door = ?, state = ?, sent = ?, epoch = ?, log_end = max(log_end, ?),
        created_at = ?, updated_at = ?, wait_until = ?, failure = ?, failure_text = ?, unread = ?,
        once_digest = ?, parent = ?, handle = ?, context = ?, token = ?, sent_at = ?, failure_cause = ?,
        cancelling = ?, bytes = bytes + ?
     WHERE id = ?";

/// Updates the columns by which a task is found, if one of them differs. Most saves change none.
pub(crate) const UPDATE_IDENTITY: &str = "UPDATE tasks SET
        principal = ?2, agent = ?3, session = ?4, request = ?5, once_key = ?6, callback = ?7, followers = ?8
     WHERE id = ?1
        AND (principal, agent, session, request, once_key, callback, followers)
            IS NOT (?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// What a batch adds to the log of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogGrowth {
    /// End position of the log; 0 if the batch adds no row.
    pub(crate) end: u64,
    /// Growth of the bodies in bytes.
    pub(crate) bytes: i64,
}

/// The columns of a task that [`UPDATE_IDENTITY`] writes. Most have an index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskIdentity {
    principal: String,
    agent: AgentId,
    session: SessionId,
    request: RequestId,
    once_key: Option<String>,
    callback: Option<Callback>,
    followers: Vec<Follower>,
}

impl TaskIdentity {
    fn of(task: &TaskRecord) -> Self {
        Self {
            principal: task.principal.clone(),
            agent: task.agent.clone(),
            session: task.session.clone(),
            request: task.request.clone(),
            once_key: task.once.as_ref().map(|once| once.key.clone()),
            callback: task.callback.clone(),
            followers: task.followers.clone(),
        }
    }

    /// Returns the size of the texts of callers, which may be long.
    pub(crate) fn text_len(&self) -> usize {
        let of_callback = |callback: &Callback| {
            let data = callback.data.as_ref().map_or(0, |data| data.get().len());
            callback.url.len() + callback.kind.len() + data
        };
        let of_follower = |follower: &Follower| {
            size_of::<Follower>() + follower.id.len() + of_callback(&follower.callback)
        };
        self.principal.len()
            + self.session.as_str().len()
            + self.request.as_str().len()
            + self.once_key.as_ref().map_or(0, String::len)
            + self.callback.as_ref().map_or(0, of_callback)
            + self.followers.iter().map(of_follower).sum::<usize>()
    }

    fn callback_text(&self) -> Result<Option<String>, DatabaseError> {
        let callback = self.callback.as_ref().map(serde_json::to_string);
        Ok(callback.transpose()?)
    }

    fn followers_text(&self) -> Result<Option<String>, DatabaseError> {
        let followers =
            (!self.followers.is_empty()).then(|| serde_json::to_string(&self.followers));
        Ok(followers.transpose()?)
    }
}

/// Inserts or updates a [`TaskRecord`], and returns its identity. `known` is the identity that the database has, if
/// the writer knows it. The end of the log never decreases, even if the record was created before the last
/// append.
pub(crate) fn save(
    conn: &Connection,
    task: &TaskRecord,
    log: LogGrowth,
    known: Option<&TaskIdentity>,
) -> Result<TaskIdentity, DatabaseError> {
    let identity = TaskIdentity::of(task);
    let is_inserted = known.is_none() && insert(conn, task, &identity, log)?;
    if !is_inserted {
        update(conn, task, log)?;
        if known != Some(&identity) {
            update_identity(conn, task.id, &identity)?;
        }
    }
    Ok(identity)
}

/// Counts what a batch added to the log of a task whose record stays as it is.
pub(crate) fn extend(conn: &Connection, task: TaskId, log: LogGrowth) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached(
        "UPDATE tasks SET log_end = max(log_end, ?), bytes = bytes + ? WHERE id = ?",
    )?;
    match statement.execute((signed(log.end), log.bytes, task.to_string()))? {
        0 => Err(DatabaseError::NoTask(task)),
        _ => Ok(()),
    }
}

/// Inserts a [`TaskRecord`]. Returns false if the task exists; it is unchanged then.
fn insert(
    conn: &Connection,
    task: &TaskRecord,
    identity: &TaskIdentity,
    log: LogGrowth,
) -> Result<bool, DatabaseError> {
    let mut statement = conn.prepare_cached(INSERT)?;
    let once = task.once.as_ref();
    let failure = task.failure.as_ref();
    let inserted = statement.execute(rusqlite::params![
        task.id.to_string(),
        task.call.to_string(),
        &task.principal,
        &task.caller,
        &task.door,
        task.agent.as_str(),
        task.session.as_str(),
        task.request.as_str(),
        state_name(task.state, task.needs_auth),
        task.sent,
        task.epoch,
        signed(task.log_end.max(log.end)),
        time_text(task.created_at),
        time_text(task.updated_at),
        task.wait_until.map(time_text),
        failure.map(|failure| failure.reason.name()),
        failure.map(|failure| failure.text.as_ref()),
        identity.callback_text()?,
        task.unread.map(millis),
        identity.followers_text()?,
        once.map(|once| &once.key),
        once.map(|once| once.digest),
        task.parent.map(|parent| parent.to_string()),
        task.handle.as_ref().map(Json::get),
        context_text(task)?,
        task.token.map(|token| token.to_string()),
        task.sent_at.map(time_text),
        failure.and_then(|failure| failure.cause).map(Cause::name),
        task.cancelling,
        log.bytes,
    ])?;
    Ok(inserted > 0)
}

fn update(conn: &Connection, task: &TaskRecord, log: LogGrowth) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached(UPDATE)?;
    let failure = task.failure.as_ref();
    statement.execute(rusqlite::params![
        task.call.to_string(),
        &task.caller,
        &task.door,
        state_name(task.state, task.needs_auth),
        task.sent,
        task.epoch,
        signed(task.log_end.max(log.end)),
        time_text(task.created_at),
        time_text(task.updated_at),
        task.wait_until.map(time_text),
        failure.map(|failure| failure.reason.name()),
        failure.map(|failure| failure.text.as_ref()),
        task.unread.map(millis),
        task.once.as_ref().map(|once| once.digest),
        task.parent.map(|parent| parent.to_string()),
        task.handle.as_ref().map(Json::get),
        context_text(task)?,
        task.token.map(|token| token.to_string()),
        task.sent_at.map(time_text),
        failure.and_then(|failure| failure.cause).map(Cause::name),
        task.cancelling,
        log.bytes,
        task.id.to_string(),
    ])?;
    Ok(())
}

fn update_identity(
    conn: &Connection,
    task: TaskId,
    identity: &TaskIdentity,
) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached(UPDATE_IDENTITY)?;
    statement.execute(rusqlite::params![
        task.to_string(),
        &identity.principal,
        identity.agent.as_str(),
        identity.session.as_str(),
        identity.request.as_str(),
        &identity.once_key,
        identity.callback_text()?,
        identity.followers_text()?,
    ])?;
    Ok(())
}

fn context_text(task: &TaskRecord) -> Result<Option<String>, DatabaseError> {
    let context = (!task.context.is_empty()).then(|| serde_json::to_string(&task.context));
    Ok(context.transpose()?)
}

fn millis(span: Span) -> i64 {
    i64::try_from(span.0.as_millis()).unwrap_or(i64::MAX)
}

/// Removes the callbacks and followers that the given tokens registered from all tasks.
pub(crate) fn drop_callbacks(conn: &Connection, tokens: &[TokenId]) -> Result<(), DatabaseError> {
    // Tasks with callbacks are few and have an index of their own.
    let mut told = conn.prepare_cached(
        "SELECT id, callback, followers FROM tasks INDEXED BY tasks_told
         WHERE callback IS NOT NULL OR followers IS NOT NULL",
    )?;
    let mut update =
        conn.prepare_cached("UPDATE tasks SET callback = ?, followers = ? WHERE id = ?")?;
    let is_theirs = |callback: &Callback| callback.token.is_some_and(|it| tokens.contains(&it));
    let rows = told.query_map([], |row| {
        let callback: Option<Callback> = optional_json(row, "callback")?;
        let followers: Option<Vec<Follower>> = optional_json(row, "followers")?;
        Ok((
            row.get::<_, String>("id")?,
            callback,
            followers.unwrap_or_default(),
        ))
    })?;
    let mut changed = Vec::new();
    for row in rows {
        let (id, callback, mut followers) = row?;
        let count = followers.len();
        followers.retain(|follower| !is_theirs(&follower.callback));
        let left = callback.clone().filter(|callback| !is_theirs(callback));
        if followers.len() < count || left != callback {
            changed.push((id, left, followers));
        }
    }
    for (id, callback, followers) in changed {
        let callback = callback.as_ref().map(serde_json::to_string).transpose()?;
        let followers = (!followers.is_empty()).then(|| serde_json::to_string(&followers));
        update.execute((callback, followers.transpose()?, id))?;
    }
    Ok(())
}

/// Returns the task with the id, if it exists.
pub(crate) fn find(conn: &Connection, id: TaskId) -> Result<Option<TaskRecord>, DatabaseError> {
    let mut statement = conn.prepare_cached("SELECT * FROM tasks WHERE id = ?")?;
    Ok(statement.query_row([id.to_string()], from_row).optional()?)
}

/// A condition on tasks: SQL and its operands.
#[derive(Debug)]
struct TaskCondition {
    sql: String,
    values: Vec<Value>,
}

impl TaskCondition {
    /// Returns the condition of a [`TaskFilter`], without its page.
    fn of(filter: &TaskFilter) -> Self {
        let (whose, keys) = ownership_condition(&filter.whose);
        let mut condition = Self {
            sql: whose.to_owned(),
            values: Vec::new(),
        };
        condition.take(&keys);
        if let Some(agent) = &filter.agent {
            condition.and("agent = ?", &[agent.as_str()]);
        }
        if let Some(request) = &filter.request {
            condition.and("request = ?", &[request.as_str()]);
        }
        if let Some(session) = &filter.session {
            condition.and("session = ?", &[session.as_str()]);
        }
        if let Some(state) = filter.state {
            condition.and_state(state, filter);
        }
        if let Some(key) = &filter.once {
            condition.and("once_key = ?", &[key]);
        }
        if let Some(since) = filter.updated_since {
            condition.and("updated_at >= ?", &[&time_text(since)]);
        }
        condition
    }

    /// Adds the condition on the state, including the `needs_auth`, `not_failed` and `or_failed` fields of
    /// the filter.
    fn and_state(&mut self, state: TaskState, filter: &TaskFilter) {
        let plain = (filter.needs_auth != Some(true)).then(|| state_name(state, false));
        let auth = (filter.needs_auth != Some(false)).then(|| state_name(state, true));
        let mut operands: Vec<_> = plain.into_iter().chain(auth).collect();
        operands.dedup();
        let mut sql = format!("state IN ({})", placeholders(operands.len()));
        if !filter.not_failed.is_empty() {
            let count = placeholders(filter.not_failed.len());
            sql += &format!(" AND NOT (state = 'failed' AND coalesce(failure, '') IN ({count}))");
            operands.extend(filter.not_failed.iter().map(Reason::name));
        }
        if !filter.or_failed.is_empty() {
            let count = placeholders(filter.or_failed.len());
            sql += &format!(" OR state = 'failed' AND failure IN ({count})");
            operands.extend(filter.or_failed.iter().map(Reason::name));
        }
        self.and(&format!("({sql})"), &operands);
    }

    fn and(&mut self, condition: &str, operands: &[&str]) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.take(operands);
    }

    fn take(&mut self, operands: &[&str]) {
        let operands = operands.iter().map(|&operand| operand.to_owned().into());
        self.values.extend(operands);
    }
}

/// Returns a list of `count` SQL placeholders.
fn placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// State name in the table for a task that waits for credentials; the table has no separate column.
const AUTH_REQUIRED: &str = "auth_required";

fn state_name(state: TaskState, needs_auth: bool) -> &'static str {
    match state {
        TaskState::InputRequired if needs_auth => AUTH_REQUIRED,
        state => state.name(),
    }
}

fn state_from(name: &str) -> Option<TaskState> {
    match name {
        AUTH_REQUIRED => Some(TaskState::InputRequired),
        name => TaskState::from_name(name),
    }
}

/// Returns the tasks of one page, newest first by creation or by last update, see [`TaskOrder`]. Ids sort by
/// their creation time.
pub(crate) fn list(
    conn: &Connection,
    filter: &TaskFilter,
) -> Result<Vec<TaskRecord>, DatabaseError> {
    let mut only = TaskCondition::of(filter);
    if let Some(before) = filter.before {
        only.and("id < ?", &[&before.to_string()]);
    }
    if let Some((at, id)) = filter.before_update {
        only.and(
            "(updated_at, id) < (?, ?)",
            &[&time_text(at), &id.to_string()],
        );
    }
    let order = match filter.order {
        TaskOrder::Created => "id DESC",
        TaskOrder::Updated => "updated_at DESC, id DESC",
    };
    let TaskCondition { sql, mut values } = only;
    values.push(size(filter.limit).into());
    let sql = format!("SELECT * FROM tasks WHERE {sql} ORDER BY {order} LIMIT ?");
    let mut statement = conn.prepare_cached(&sql)?;
    let tasks = statement.query_map(rusqlite::params_from_iter(values), from_row)?;
    Ok(tasks.collect::<Result<_, _>>()?)
}

/// Returns the number of tasks on all pages.
pub(crate) fn count(conn: &Connection, filter: &TaskFilter) -> Result<usize, DatabaseError> {
    let TaskCondition { sql, values } = TaskCondition::of(filter);
    let mut statement = conn.prepare_cached(&format!("SELECT count(*) FROM tasks WHERE {sql}"))?;
    let count: i64 = statement.query_row(rusqlite::params_from_iter(values), |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Returns the SQL condition for tasks that belong to `whose`, and its operands.
pub(crate) fn ownership_condition(whose: &Whose) -> (&'static str, Vec<&str>) {
    match whose {
        Whose::Anybody => ("TRUE", Vec::new()),
        Whose::Only(key) => ("principal = ?", vec![key]),
        // Keys below this key start with the key and '/'; the character after '/' is '0'.
        Whose::Of(key) => (
            "(principal = ? OR (principal > ? || '/' AND principal < ? || '0'))",
            vec![key, key, key],
        ),
    }
}

/// Raises the epoch of every unfinished task and returns the tasks with an open turn. The last row of a log
/// determines the log's end, because a record may have been ahead of the rows when the hub was killed. Tasks
/// that wait for their next message were written together with the end of their turn; their logs are not
/// needed, and they are not returned.
pub(crate) fn reopen(conn: &Connection) -> Result<Vec<TaskRecord>, DatabaseError> {
    conn.execute(
        "UPDATE tasks SET epoch = min(epoch + 1, 4294967295) WHERE state IN ('input_required', 'auth_required') AND NOT sent",
        [],
    )?;
    let mut unfinished = conn.prepare(
        "SELECT * FROM tasks WHERE state IN ('submitted', 'working')
            OR (state IN ('input_required', 'auth_required') AND sent) ORDER BY id",
    )?;
    let mut update = conn.prepare("UPDATE tasks SET epoch = ?, log_end = ? WHERE id = ?")?;
    let mut tasks: Vec<TaskRecord> = unfinished
        .query_map([], from_row)?
        .collect::<Result<_, _>>()?;
    for task in &mut tasks {
        task.epoch = task.epoch.saturating_add(1);
        task.log_end = log::end(conn, task.id)?;
        update.execute((task.epoch, signed(task.log_end), task.id.to_string()))?;
    }
    Ok(tasks)
}

/// Returns the state of a task's last turn, from its log.
pub(crate) fn last_turn(conn: &Connection, task: TaskRecord) -> Result<Reopened, DatabaseError> {
    let rows = log::last_turn_rows(conn, task.id)?;
    Ok(Reopened::new(task, rows))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<TaskRecord> {
    let reason: Option<String> = row.get("failure")?;
    let text: Option<String> = row.get("failure_text")?;
    let cause: Option<String> = row.get("failure_cause")?;
    let key: Option<String> = row.get("once_key")?;
    let digest: Option<[u8; 32]> = row.get("once_digest")?;
    Ok(TaskRecord {
        id: parsed_name(row, "id", TaskId::parse)?,
        call: parsed_name(row, "call", CallId::parse)?,
        principal: row.get("principal")?,
        caller: row.get("caller")?,
        door: row.get("door")?,
        agent: parsed(row, "agent", AgentId::parse)?,
        session: parsed(row, "session", SessionId::parse)?,
        request: parsed(row, "request", RequestId::parse)?,
        parent: optional_name(row, "parent", TaskId::parse)?,
        state: parsed_name(row, "state", state_from)?,
        needs_auth: row.get_ref("state")?.as_str()? == AUTH_REQUIRED,
        sent: row.get("sent")?,
        sent_at: optional_time(row, "sent_at")?,
        cancelling: row.get("cancelling")?,
        handle: optional_json(row, "handle")?,
        epoch: row.get("epoch")?,
        log_end: unsigned(row, "log_end")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
        wait_until: optional_time(row, "wait_until")?,
        failure: reason.map(|reason| {
            let failure = Failure::new(Reason::from_name(&reason), text.unwrap_or_default());
            failure.because(cause.as_deref().and_then(Cause::from_name))
        }),
        callback: optional_json(row, "callback")?,
        followers: optional_json(row, "followers")?.unwrap_or_default(),
        once: key
            .zip(digest)
            .map(|(key, digest)| IdempotencyKey { key, digest }),
        unread: row.get::<_, Option<i64>>("unread")?.map(span),
        context: optional_json(row, "context")?.unwrap_or_default(),
        token: optional_name(row, "token", TokenId::parse)?,
    })
}

fn span(millis: i64) -> Span {
    Span(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}
