//! Sample records, and short functions that write and read them.

use std::collections::BTreeMap;

use jackfield_core::{
    agent::{Profile, Settings, Share},
    outbox::{Callback, NewCallback, OutboxRow},
    store::{
        AgentRecord, CallbackFilter, DoorRecord, LogItem, LogRow, Reopened, Store, TaskRecord,
        TaskState, TokenRecord,
    },
};
use jackfield_model::{
    AgentId, CallId, Chunk, ChunkKind, Event, Json, Message, Owner, RequestId, SessionId, Skill,
    TaskId, TokenId,
};
use jackfield_store::SqliteStore;
use jiff::Timestamp;

pub(crate) fn time(seconds: i64) -> Timestamp {
    Timestamp::new(1_800_000_000 + seconds, 123_456_789).unwrap()
}

pub(crate) fn agent(id: &str) -> AgentRecord {
    AgentRecord {
        id: AgentId::parse(id).unwrap(),
        owner: Owner::parse("ann").unwrap(),
        door: "agora".into(),
        profile: Profile {
            name: "Ünïcode \"quoted\"".into(),
            description: Some("does things".into()),
            skills: vec![Skill {
                id: "sum".into(),
                ..Skill::default()
            }],
            ..Profile::default()
        },
        share: Share::With(vec![Owner::parse("bob").unwrap()]),
        settings: Settings {
            approvals_to_caller: true,
            ..Settings::default()
        },
        registered_at: time(0),
        resume: Some([7; 32]),
    }
}

/// A record of the door `team` for an agent.
pub(crate) fn door_record(agent: &str, key: &str, number: u32) -> DoorRecord {
    let value = format!(r#"{{"text": "\u00fc \u0000", "number": {number}}}"#);
    DoorRecord {
        door: "team".into(),
        agent: Some(AgentId::parse(agent).unwrap()),
        key: key.into(),
        value: Json::parse(&value).unwrap(),
    }
}

pub(crate) fn token(name: &str) -> TokenRecord {
    TokenRecord {
        id: TokenId::new(),
        name: name.into(),
        owner: Owner::parse("ann").unwrap(),
        agent: Some(AgentId::parse("lab-1").unwrap()),
        hash: [7; 32],
        scopes: vec!["agent:lab-*".into(), "admin".into()],
        created_at: time(1),
        expires_at: Some(time(2)),
        revoked_at: None,
    }
}

pub(crate) fn task() -> TaskRecord {
    let call = CallId::new();
    TaskRecord {
        id: call.into(),
        call,
        principal: "ann".into(),
        token: None,
        caller: "ann".into(),
        door: "own".into(),
        agent: AgentId::parse("worker").unwrap(),
        session: SessionId::parse("a session / of ours").unwrap(),
        request: RequestId::parse("r1").unwrap(),
        state: TaskState::Working,
        needs_auth: false,
        sent: false,
        sent_at: Some(time(1)),
        cancelling: false,
        handle: None,
        epoch: 1,
        log_end: 0,
        created_at: time(0),
        updated_at: time(0),
        parent: None,
        wait_until: None,
        failure: None,
        callback: None,
        followers: Vec::new(),
        once: None,
        unread: None,
        context: BTreeMap::new(),
    }
}

pub(crate) fn finished(updated_at: Timestamp) -> TaskRecord {
    TaskRecord {
        state: TaskState::Completed,
        updated_at,
        ..task()
    }
}

/// A callback to this URL.
pub(crate) fn callback(url: &str) -> Callback {
    Callback {
        url: url.into(),
        kind: "bridge".into(),
        data: Some(Json::parse(r#"{"session_title": "T\u00e4sk"}"#).unwrap()),
        token: None,
    }
}

pub(crate) fn row(pos: u64, item: LogItem) -> LogRow {
    LogRow {
        pos,
        seq: None,
        at: time(3),
        item,
    }
}

pub(crate) fn text(pos: u64, text: &str) -> LogRow {
    row(pos, LogItem::Event(Event::text(text)))
}

pub(crate) fn chunk(kind: ChunkKind, call: &str, text: &str) -> LogItem {
    LogItem::Event(Event::Chunk(Chunk {
        kind,
        tool_call_id: Some(call.into()),
        ..Chunk::text(text)
    }))
}

pub(crate) fn message(pos: u64, text: &str) -> LogRow {
    row(pos, LogItem::Message(Message::text(text)))
}

/// Writes a task, and waits for the write.
pub(crate) fn save(store: &dyn Store, record: &TaskRecord, rows: Vec<LogRow>) {
    let saved = store.save_task(record.clone(), rows, Vec::new(), true);
    saved.wait().unwrap();
}

/// Writes the end of a turn with its callback, and waits for the write.
pub(crate) fn end(store: &dyn Store, record: &TaskRecord, rows: Vec<LogRow>) {
    let callback = OutboxRow::of(record).map(|row| NewCallback {
        row,
        reply: Vec::new(),
    });
    let new_callbacks = callback.into_iter().collect();
    let ended = store.save_task(record.clone(), rows, new_callbacks, true);
    ended.wait().unwrap();
}

/// Returns all undelivered callbacks.
pub(crate) fn callbacks(store: &dyn Store) -> Vec<OutboxRow> {
    let all = CallbackFilter {
        limit: 100,
        ..CallbackFilter::default()
    };
    store.list_callbacks(all).wait().unwrap()
}

/// Reads an existing task.
pub(crate) fn find(store: &dyn Store, id: TaskId) -> TaskRecord {
    store
        .find_task(id)
        .wait()
        .unwrap()
        .expect("the task is in the store")
}

/// Reads a log to its end, in pages of `max` bytes.
pub(crate) fn whole_log(store: &dyn Store, task: TaskId, mut from: u64, max: usize) -> Vec<LogRow> {
    let mut rows = Vec::new();
    loop {
        let page = store.read_log(task, from, max).wait().unwrap();
        let Some(last) = page.last() else { return rows };
        from = last.pos + last.item.advance();
        rows.extend(page);
    }
}

/// Joins the text of rows.
pub(crate) fn joined_text(rows: &[LogRow]) -> String {
    let texts = rows.iter().map(|row| match &row.item {
        LogItem::Event(Event::Chunk(chunk)) => chunk.text.as_str(),
        _ => "",
    });
    texts.collect()
}

/// Opens a store in a new directory.
pub(crate) fn sqlite() -> (tempfile::TempDir, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    (dir, store)
}

/// Opens the database as another program would.
pub(crate) fn open_database(dir: &std::path::Path) -> rusqlite::Connection {
    rusqlite::Connection::open(dir.join("jackfield.db")).unwrap()
}

/// Reopens all unfinished tasks, each with its last turn.
pub(crate) fn reopen(store: &dyn Store) -> Vec<Reopened> {
    let records = store.reopen_tasks().wait().unwrap();
    let turns = records.into_iter().map(|record| store.read_turn(record));
    turns.map(|turn| turn.wait().unwrap()).collect()
}
