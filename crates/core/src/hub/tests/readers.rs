//! Readers of a task: as many as there are, each from its own cursor, from memory, else from the log, else with a gap.

use super::*;
use jackfield_model::Chunk;

use crate::{agent::Keep, store::LogItem, task::Cursor};

fn at(pos: u64) -> Option<Cursor> {
    Some(Cursor { epoch: 0, pos })
}

fn gap(pos: u64) -> TaskItem {
    TaskItem::Gap {
        next: Cursor { epoch: 0, pos },
    }
}

/// All that was said, however it was cut.
fn said(items: &[TaskItem]) -> String {
    let text = |item: &TaskItem| match item {
        TaskItem::Row {
            item: LogItem::Message(message),
            ..
        } => format!("<{}>", message.joined_text()),
        TaskItem::Row {
            item: LogItem::Event(Event::Chunk(chunk)),
            ..
        } => chunk.text.clone(),
        TaskItem::Row {
            item: LogItem::End(_),
            ..
        } => ".".into(),
        TaskItem::Row { item, .. } => panic!("{item:?}"),
        TaskItem::Gap { .. } => "…".into(),
    };
    items.iter().map(text).collect()
}

fn last(items: &[TaskItem]) -> Cursor {
    match items.last() {
        Some(TaskItem::Row { next, .. } | TaskItem::Gap { next }) => *next,
        None => panic!("nothing was read"),
    }
}

/// A task that said so many lines of 1,000 bytes and is done.
async fn long_task(hub: &Hub, line: &Line, lines: usize) -> Arc<Task> {
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    for n in 0..lines {
        serving.push(Event::Chunk(Chunk::status(format!("{n:>1000}"))));
        until_idle().await;
    }
    serving.finish(End::done());
    until_idle().await;
    task
}

#[tokio::test(start_paused = true)]
async fn many_readers_see_the_same_whenever_they_come() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    let mut early = task.subscribe(None);
    let mut first = vec![early.next().await.unwrap().unwrap()];
    serving.push(Event::text("one "));
    until_idle().await;
    first.push(early.next().await.unwrap().unwrap());
    let late = task.subscribe(None);
    serving.push(Event::text("two"));
    serving.finish(End::done());
    until_idle().await;
    let after = task.subscribe(None);
    first.extend(read_on(early).await);
    let others = [read_on(late).await, read_on(after).await];
    assert_eq!(said(&first), "<hi>one two.");
    for items in others {
        assert_eq!(said(&items), said(&first));
        assert_eq!(last(&items), last(&first));
    }
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    assert_eq!(
        said(&read_on(found.subscribe(None)).await),
        "<hi>one two.",
        "from the log too"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reader_goes_on_inside_merged_text() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.push(Event::text("héllo "));
    until_idle().await;
    serving.push(Event::text("world"));
    until_idle().await;
    serving.finish(End::done());
    until_idle().await;
    // The message is 0, the text 1 to 12, the end 13.
    for (pos, rest) in [
        (1, "héllo world."),
        (8, "world."),
        (10, "rld."),
        (13, "."),
        (14, ""),
    ] {
        assert_eq!(
            said(&read_on(task.subscribe(at(pos))).await),
            rest,
            "from {pos} in memory"
        );
        let found = hub.tasks().find(&ann(), task.id).await.unwrap();
        assert_eq!(
            said(&read_on(found.subscribe(at(pos))).await),
            rest,
            "from {pos} in the log"
        );
    }
    let items = read_on(task.subscribe(at(3))).await;
    assert_eq!(
        said(&items),
        "éllo world.",
        "a cursor inside a character is moved back"
    );
}

#[tokio::test(start_paused = true)]
async fn who_lags_behind_the_memory_reads_from_the_log() {
    let hub = hub_with(|limits| limits.task_ring = Size::kib(8)).await;
    let (_a, line) = agent(&hub, "a");
    let task = long_task(&hub, &line, 300).await;
    let items = read_on(task.subscribe(None)).await;
    assert_eq!(items.len(), 302);
    let places: Vec<_> = items
        .iter()
        .map(|item| last(std::slice::from_ref(item)).pos)
        .collect();
    assert_eq!(
        places,
        (1..=302).collect::<Vec<_>>(),
        "in order, nothing twice"
    );
}

#[tokio::test(start_paused = true)]
async fn who_lags_behind_what_is_kept_gets_a_gap_and_goes_on() {
    for keep in [Keep::None, Keep::Meta] {
        let hub = hub_with(|limits| limits.task_ring = Size::kib(8)).await;
        let (_a, line) = agent(&hub, "a");
        let settings = Settings {
            store: keep,
            ..Settings::default()
        };
        drop(
            hub.agents()
                .change(&ann(), &id("a"), None, Some(settings))
                .unwrap(),
        );
        let task = long_task(&hub, &line, 30).await;
        let items = read_on(task.subscribe(None)).await;
        assert!(matches!(items[0], TaskItem::Gap { .. }), "{keep:?}");
        let tail = u64::try_from(items.len()).unwrap() - 1;
        assert!((5..10).contains(&tail));
        assert_eq!(items[0], gap(32 - tail));
        assert_eq!(last(&items), Cursor { epoch: 0, pos: 32 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_trimmed_log_is_one_gap() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = long_task(&hub, &line, 3).await;
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    store.trim(Timestamp::MAX, usize::MAX).await.unwrap();
    assert_eq!(read_on(found.subscribe(None)).await, [gap(5)]);
    assert!(hub.tasks().find(&ann(), task.id).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_cursor_beyond_the_end_gets_a_gap_and_then_everything() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = long_task(&hub, &line, 1).await;
    let items = read_on(task.subscribe(at(1000))).await;
    assert_eq!((items.len(), &items[0]), (4, &gap(0)));
}

#[tokio::test(start_paused = true)]
async fn a_reader_may_be_dropped_while_it_waits() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let mut reader = task.subscribe(None);
    reader.next().await.unwrap();
    tokio::select! {
        biased;
        item = reader.next() => panic!("{item:?}"),
        () = until_idle() => {}
    }
    let serving = line.next();
    serving.push(Event::text("word"));
    serving.finish(End::done());
    assert_eq!(said(&read_on(reader).await), "word.");
}

#[test]
fn a_cursor_reads_back_as_written_and_nonsense_is_refused() {
    let cursor = Cursor { epoch: 3, pos: 42 };
    assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
    for bad in ["", "1", "-", "1-", "-1", "a-1", "1-2-3"] {
        assert!(bad.parse::<Cursor>().is_err(), "{bad}");
    }
}
