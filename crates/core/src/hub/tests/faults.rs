//! What a slow or broken store does to tasks: paces them, then fails them, and never leaves a hole.

use super::{
    slow_store::{Write, on_slow_store},
    *,
};
use jackfield_model::{Chunk, TaskId};

use crate::{
    outbox::Callback,
    store::{LogItem, TaskRecord},
    task::Cursor,
};

fn patient(request: Request) -> Request {
    Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..request
    }
}

fn told(request: Request) -> Request {
    let callback = Callback {
        url: "https://example.com/done".into(),
        kind: "bridge".into(),
        data: None,
        token: None,
    };
    Request {
        callback: Some(callback),
        ..request
    }
}

async fn stored(store: &dyn Store, task: &Task) -> TaskRecord {
    store.find_task(task.id).await.unwrap().unwrap()
}

/// The tasks whose callbacks are to be sent.
async fn due(hub: &Hub) -> Vec<TaskId> {
    let rows = hub.callbacks().due(10).await.unwrap();
    rows.iter().map(|row| row.task).collect()
}

fn status(bytes: usize) -> Event {
    Event::Chunk(Chunk::status("x".repeat(bytes)))
}

fn failed(task: &Task) -> Reason {
    let record = task.record();
    assert_eq!(record.state, TaskState::Failed);
    record.failure.unwrap().reason
}

#[tokio::test(start_paused = true)]
async fn what_the_store_does_not_take_is_not_accepted_and_no_agent_sees_it() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    store.fail();
    assert_eq!(
        reason(hub.tasks().start(to("a", "hi")).await),
        Reason::Internal
    );
    until_idle().await;
    assert!(line.texts().is_empty() && line.cancelled().is_empty());
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_marked_as_sent_is_not_sent() {
    let (store, hub) = on_slow_store(|_| ()).await;
    drop(agent(&hub, "a"));
    let task = hub.tasks().start(patient(to("a", "hi"))).await.unwrap();
    store.fail();
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert!(line.texts().is_empty());
    assert_eq!(failed(&task), Reason::Internal);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_while_the_agent_works_fails_the_task_and_cancels_the_agent() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.fail();
    serving.push(Event::text("lost"));
    until_idle().await;
    assert_eq!(line.cancelled(), [task.record().call]);
    assert_eq!(failed(&task), Reason::Internal);
    assert_eq!(serving.push(Event::text("more")), Pushed::Ended);
}

#[tokio::test(start_paused = true)]
async fn a_task_with_a_hole_in_its_log_is_not_completed() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.lose_rows();
    serving.push(Event::text("lost"));
    until_idle().await;
    serving.finish(End::done());
    until_idle().await;
    assert_eq!(failed(&task), Reason::Internal);
}

#[tokio::test(start_paused = true)]
async fn the_last_events_and_the_end_are_one_write() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.hold();
    serving.push(Event::text("the last words"));
    serving.finish(End::done());
    until_idle().await;
    assert_eq!(store.held_up(), 1);
    let Some(Write::Save(record, rows, _)) = store.commit_one() else {
        panic!("a task is saved");
    };
    assert_eq!(record.state, TaskState::Completed);
    let items: Vec<_> = rows.into_iter().map(|row| row.item).collect();
    assert_eq!(
        items,
        [
            LogItem::Event(Event::text("the last words")),
            LogItem::End(End::done())
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_store_paces_the_agent_and_loses_nothing() {
    let (store, hub) = on_slow_store(|limits| {
        limits.task_unwritten = Size::kib(64);
        limits.pipe_full = Size::kib(64);
        limits.pipe_low = Size::kib(32);
    })
    .await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.hold();
    let mut pushed = 0;
    while serving.push(status(8 << 10)) == Pushed::Room {
        pushed += 1;
        until_idle().await;
        assert!(pushed < 100, "the agent is never paced");
    }
    until_idle().await;
    assert!(serving.call().reply.is_full());
    store.let_go();
    until_idle().await;
    assert!(!serving.call().reply.is_full());
    serving.finish(End::done());
    until_idle().await;
    assert_eq!(state(&task), TaskState::Completed);
    let items = read_on(task.subscribe(None)).await;
    assert_eq!(
        items.len(),
        1 + pushed + 1 + 1,
        "message, all of the reply, end"
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stalls_for_good_fails_the_task() {
    let (store, hub) = on_slow_store(|limits| limits.task_unwritten = Size::kib(64)).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.hold();
    serving.push(status(100 << 10));
    until_idle().await;
    while serving.push(status(100 << 10)) != Pushed::Full {}
    pass(&hub, 31).await;
    assert!(serving.call().is_ended() && line.cancelled().len() == 1);
    store.let_go();
    until_idle().await;
    assert_eq!(failed(&task), Reason::Internal);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_cannot_be_written_is_written_and_told_when_the_store_works_again() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(told(to("a", "hi"))).await.unwrap();
    until_idle().await;
    store.fail();
    line.next().finish(End::done());
    pass(&hub, 60).await;
    assert_eq!(state(&task), TaskState::Working, "nobody is told yet");
    assert_eq!(stored(&*store, &task).await.state, TaskState::Working);
    store.recover();
    pass(&hub, 16).await;
    assert_eq!(stored(&*store, &task).await.state, TaskState::Completed);
    assert_eq!(state(&task), TaskState::Completed);
    assert_eq!(due(&hub).await, [task.id]);
    let items = read_on(task.subscribe(Some(Cursor { epoch: 0, pos: 1 }))).await;
    let [TaskItem::Row { item, .. }] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(*item, LogItem::End(End::done()));
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_store_failed_is_failed_in_the_store_too_when_that_works_again() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(told(to("a", "hi"))).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.fail();
    serving.push(Event::text("lost"));
    pass(&hub, 60).await;
    assert_eq!(failed(&task), Reason::Internal, "its readers know at once");
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    assert_eq!(failed(&found), Reason::Internal, "and whoever looks it up");
    store.recover();
    pass(&hub, 16).await;
    assert_eq!(stored(&*store, &task).await.state, TaskState::Failed);
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    assert_eq!(failed(&found), Reason::Internal);
    assert_eq!(due(&hub).await, [task.id]);
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_stops_does_not_wait_for_a_store_that_fails() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    store.fail();
    line.next().finish(End::done());
    until_idle().await;
    let start = Instant::now();
    hub.stop(Duration::ZERO).await;
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(failed(&task), Reason::Internal);
    let record = stored(&*store, &task).await;
    assert_eq!(record.state, TaskState::Working, "for the next hub");
}

#[tokio::test(start_paused = true)]
async fn an_end_is_written_by_a_store_that_works_again_when_the_hub_stops() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    store.fail();
    line.next().finish(End::done());
    until_idle().await;
    store.recover();
    hub.stop(Duration::ZERO).await;
    assert_eq!(stored(&*store, &task).await.state, TaskState::Completed);
}
