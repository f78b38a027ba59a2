//! How text becomes rows in SQLite: joined as long as it is of one piece and not too long, readable with any tool.

use jackfield_core::{
    event::ChunkKind,
    store::{LogRow, Store},
};
use jackfield_store::SqliteStore;

use crate::records::{chunk, look_inside, row, save, sqlite, task, text, whole_log, words};

fn rows(store: &dyn Store, id: jackfield_core::id::TaskId) -> Vec<(u64, u64)> {
    whole_log(store, id, 0, 1 << 30)
        .iter()
        .map(|row| (row.pos, row.item.advance()))
        .collect()
}

#[test]
fn text_of_many_batches_becomes_one_row_with_the_last_number() {
    let (dir, store) = sqlite();
    let record = task();
    save(&store, &record, Vec::new());
    for n in 0..10 {
        store
            .append(
                record.id,
                vec![LogRow {
                    seq: Some(n),
                    ..text(2 * n, "ab")
                }],
            )
            .wait()
            .unwrap();
    }
    let log = whole_log(&store, record.id, 0, 1 << 20);
    assert_eq!(
        log,
        [LogRow {
            seq: Some(9),
            ..text(0, &"ab".repeat(10))
        }]
    );
    let sql = "SELECT task, json_extract(body, '$.text') FROM log WHERE kind = 'chunk'";
    let seen: (String, String) = look_inside(dir.path())
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(seen, (record.id.to_string(), "ab".repeat(10)));
}

#[test]
fn text_goes_on_in_the_same_row_after_a_restart() {
    let (dir, store) = sqlite();
    let record = task();
    save(&store, &record, vec![text(0, "before, ")]);
    drop(store);
    let store = SqliteStore::open(dir.path()).unwrap();
    store
        .append(record.id, vec![text(8, "after")])
        .wait()
        .unwrap();
    assert_eq!(
        whole_log(&store, record.id, 0, 1 << 20),
        [text(0, "before, after")]
    );
}

#[test]
fn a_row_of_text_stays_within_16_kib() {
    let (_dir, store) = sqlite();
    let record = task();
    save(&store, &record, Vec::new());
    for n in 0..100 {
        store
            .append(record.id, vec![text(n * 1000, &"x".repeat(1000))])
            .wait()
            .unwrap();
    }
    let rows = rows(&store, record.id);
    assert_eq!(rows.len(), 7);
    assert!(rows.iter().all(|(_, size)| *size <= 16 << 10), "{rows:?}");
    store
        .append(record.id, vec![text(100_000, &"y".repeat(1 << 20))])
        .wait()
        .unwrap();
    assert_eq!(
        words(&store.read_log(record.id, 100_000, 1).wait().unwrap()).len(),
        1 << 20,
        "a long one is its own row"
    );
}

#[test]
fn nothing_is_joined_across_kinds_tool_calls_gaps_or_empty_chunks() {
    let (_dir, store) = sqlite();
    let record = task();
    let log = vec![
        text(0, "a"),
        row(1, chunk(ChunkKind::ToolInput, "1", "b")),
        row(2, chunk(ChunkKind::ToolInput, "2", "c")),
        row(3, chunk(ChunkKind::Status, "2", "d")),
        row(4, chunk(ChunkKind::Status, "2", "e")),
        text(5, "f"),
        text(6, ""),
        text(7, "g"),
        text(9, "after a gap"),
    ];
    save(&store, &record, log.clone());
    assert_eq!(whole_log(&store, record.id, 0, 1 << 20), log);
}
