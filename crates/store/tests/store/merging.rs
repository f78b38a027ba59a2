//! How SQLite rows hold text: adjacent text of one kind is merged up to a limit, and readable with any SQLite
//! tool.

use jackfield_core::store::{LogRow, Store};
use jackfield_model::ChunkKind;
use jackfield_store::SqliteStore;

use crate::records::{
    chunk, find, joined_text, open_database, row, save, sqlite, task, text, time, whole_log,
};

fn rows(store: &dyn Store, id: jackfield_model::TaskId) -> Vec<(u64, u64)> {
    whole_log(store, id, 0, 1 << 30)
        .iter()
        .map(|row| (row.pos, row.item.advance()))
        .collect()
}

#[test]
fn text_of_many_batches_becomes_one_row_with_the_first_time_and_the_last_number() {
    let (dir, store) = sqlite();
    let record = task();
    save(&store, &record, Vec::new());
    for n in 0..10 {
        store
            .append(
                record.id,
                vec![LogRow {
                    seq: Some(n),
                    at: time(5 + n.cast_signed()),
                    ..text(2 * n, "ab")
                }],
                Vec::new(),
            )
            .wait()
            .unwrap();
    }
    let log = whole_log(&store, record.id, 0, 1 << 20);
    assert_eq!(
        log,
        [LogRow {
            seq: Some(9),
            at: time(5),
            ..text(0, &"ab".repeat(10))
        }]
    );
    let sql = "SELECT task, json_extract(body, '$.text') FROM log WHERE kind = 'chunk'";
    let seen: (String, String) = open_database(dir.path())
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
        .append(record.id, vec![text(8, "after")], Vec::new())
        .wait()
        .unwrap();
    assert_eq!(
        whole_log(&store, record.id, 0, 1 << 20),
        [text(0, "before, after")]
    );
}

#[test]
fn a_row_of_text_is_written_with_up_to_16_kib_and_grows_to_1_kib() {
    let (_dir, store) = sqlite();
    let (burst, slow) = (task(), task());
    let texts = |size: usize| (0..100).map(move |n| text(n * size as u64, &"x".repeat(size)));
    save(&store, &burst, texts(1000).collect());
    let sizes: Vec<u64> = rows(&store, burst.id)
        .into_iter()
        .map(|(_, size)| size)
        .collect();
    assert_eq!(
        sizes,
        [16_000, 16_000, 16_000, 16_000, 16_000, 16_000, 4000]
    );
    save(&store, &slow, Vec::new());
    for row in texts(100) {
        drop(store.append(slow.id, vec![row], Vec::new()));
        // Reading flushes the batch.
        find(&store, slow.id);
    }
    assert!(rows(&store, slow.id).iter().all(|(_, size)| *size == 1000));
    store
        .append(
            slow.id,
            vec![text(10_000, &"y".repeat(1 << 20))],
            Vec::new(),
        )
        .wait()
        .unwrap();
    assert_eq!(
        joined_text(&store.read_log(slow.id, 10_000, 1).wait().unwrap()).len(),
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
