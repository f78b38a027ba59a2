//! Random operations against a simple model. Text must read back from every cursor at the same positions, regardless
//! of batches, merges and restarts.

use jackfield_core::store::{LogItem, LogRow, Store};
use jackfield_model::{ChunkKind, End, Event, TaskId};
use jackfield_store::SqliteStore;
use proptest::prelude::*;

use crate::records::{chunk, message, open_database, row, save, task, text, whole_log};

const TASKS: usize = 3;

/// A step of a test.
#[derive(Debug, Clone)]
enum Step {
    /// Appends to a task, with or without waiting for the write.
    Append {
        task: usize,
        items: Vec<LogItem>,
        wait: bool,
    },
    /// Saves a task with rows in a single transaction.
    Save { task: usize, items: Vec<LogItem> },
    /// Closes the store and opens it again.
    Restart,
}

fn joined_text() -> impl Strategy<Value = String> {
    let short = || "[a-zé\u{1F600}\"\n]{0,12}";
    prop_oneof![
        8 => short(),
        1 => (short(), 300..900_usize).prop_map(|(joined_text, times)| joined_text.repeat(times)),
        1 => (short(), 3000_usize..4000).prop_map(|(joined_text, times)| joined_text.repeat(times)),
    ]
}

fn item() -> impl Strategy<Value = LogItem> {
    let call = prop_oneof![Just("1"), Just("2")];
    let kind = prop_oneof![
        Just(ChunkKind::Thinking),
        Just(ChunkKind::ToolStart),
        Just(ChunkKind::ToolInput),
        Just(ChunkKind::ToolResult),
        Just(ChunkKind::Status)
    ];
    prop_oneof![
        8 => joined_text().prop_map(|joined_text| text(0, &joined_text).item),
        4 => (kind, call, joined_text()).prop_map(|(kind, call, joined_text)| chunk(kind, call, &joined_text)),
        1 => joined_text().prop_map(|joined_text| message(0, &joined_text).item),
        1 => Just(LogItem::End(End::done())),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let items = || prop::collection::vec(item(), 0..6);
    prop_oneof![
        12 => (0..TASKS, items(), any::<bool>()).prop_map(|(task, items, wait)| Step::Append { task, items, wait }),
        2 => (0..TASKS, items()).prop_map(|(task, items)| Step::Save { task, items }),
        1 => Just(Step::Restart),
    ]
}

/// A log independent of row boundaries: runs of text of one kind, and other items unchanged.
#[derive(Debug, PartialEq)]
enum Run {
    Text {
        pos: u64,
        bytes: Vec<u8>,
        kind: ChunkKind,
        call: Option<String>,
    },
    Whole(u64, LogItem),
}

/// Merges adjacent text without a length limit, and drops the part before `from`.
fn runs(rows: &[LogRow], from: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for LogRow { pos, item, .. } in rows
        .iter()
        .filter(|row| row.pos + row.item.advance() > from)
    {
        let (chunk, skip) = match item {
            LogItem::Event(Event::Chunk(chunk))
                if chunk.can_merge(chunk) && !chunk.text.is_empty() =>
            {
                (chunk, usize::try_from(from.saturating_sub(*pos)).unwrap())
            }
            item => {
                runs.push(Run::Whole(*pos, item.clone()));
                continue;
            }
        };
        let more = &chunk.text.as_bytes()[skip..];
        match runs.last_mut() {
            Some(Run::Text {
                bytes, kind, call, ..
            }) if *kind == chunk.kind && *call == chunk.tool_call_id => {
                bytes.extend(more);
            }
            _ => runs.push(Run::Text {
                pos: pos + skip as u64,
                bytes: more.to_vec(),
                kind: chunk.kind,
                call: chunk.tool_call_id.clone(),
            }),
        }
    }
    runs
}

/// The rows appended to a task.
#[derive(Debug)]
struct Model {
    id: TaskId,
    rows: Vec<LogRow>,
    end: u64,
}

impl Model {
    fn extend(&mut self, items: Vec<LogItem>) -> Vec<LogRow> {
        let mut rows = Vec::new();
        for item in items {
            let seq = Some(self.rows.len() as u64 + rows.len() as u64 + 1);
            rows.push(LogRow {
                pos: self.end,
                seq,
                ..row(0, item)
            });
            self.end = rows.last().map_or(0, |row| row.pos + row.item.advance());
        }
        self.rows.extend(rows.clone());
        rows
    }

    /// Returns the agent's sequence number for the item before this position.
    fn seq_before(&self, end: u64) -> Option<u64> {
        self.rows
            .iter()
            .find(|row| row.pos + row.item.advance() == end)
            .and_then(|row| row.seq)
    }

    fn check(&self, store: &dyn Store, from: u64, max: usize) {
        let read = whole_log(store, self.id, from, max);
        assert_eq!(runs(&read, from), runs(&self.rows, from));
        assert!(
            read.iter()
                .skip(1)
                .zip(&read)
                .all(|(next, row)| next.pos == row.pos + row.item.advance())
        );
        for row in &read {
            let end = row.pos + row.item.advance();
            assert_eq!(
                row.seq,
                self.seq_before(end),
                "{row:?} has its last frame's number"
            );
            let is_merged = !self
                .rows
                .iter()
                .any(|own| own.pos == row.pos && own.item == row.item);
            assert!(
                !is_merged || row.item.advance() <= 16 << 10,
                "{} bytes merged",
                row.item.advance()
            );
        }
    }
}

fn bytes_are_kept_up_to_date(dir: &std::path::Path) {
    let wrong: i64 = open_database(dir)
        .query_row(
            "SELECT count(*) FROM tasks WHERE bytes <>
             (SELECT coalesce(sum(octet_length(body)), 0) FROM log WHERE task = tasks.id)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(wrong, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_log_reads_back_from_any_cursor(
        steps in prop::collection::vec(step(), 0..30),
        cursors in prop::collection::vec((any::<prop::sample::Index>(), 0..40_000_usize), 4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(dir.path()).unwrap();
        let records: Vec<_> = (0..TASKS).map(|_| task()).collect();
        records.iter().for_each(|record| save(&store, record, Vec::new()));
        let mut models: Vec<_> = records.iter().map(|record| Model { id: record.id, rows: Vec::new(), end: 0 }).collect();
        for step in steps {
            match step {
                Step::Append { task, items, wait } => {
                    let receipt = store.append(models[task].id, models[task].extend(items), Vec::new());
                    if wait {
                        // Reading flushes the batch.
                        store.find_task(models[task].id).wait().unwrap();
                        receipt.wait().unwrap();
                    }
                }
                Step::Save { task, items } => save(&store, &records[task], models[task].extend(items)),
                Step::Restart => {
                    drop(store);
                    store = SqliteStore::open(dir.path()).unwrap();
                }
            }
        }
        for model in &models {
            prop_assert_eq!(store.find_task(model.id).wait().unwrap().unwrap().log_end, model.end);
            for (cursor, max) in &cursors {
                let from = cursor.index(usize::try_from(model.end).unwrap() + 2) as u64;
                model.check(&store, from, *max);
            }
        }
        bytes_are_kept_up_to_date(dir.path());
    }
}
