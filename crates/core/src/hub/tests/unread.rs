//! Kept calls that go on only while somebody reads them.

use super::*;
use crate::units::Span;

const UNREAD: Duration = Duration::from_secs(30);

fn unread(request: Request) -> Request {
    Request {
        unread: Some(UNREAD),
        ..request
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_nobody_reads_is_cancelled_in_time_and_its_agent_told() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(unread(to("a", "hi"))).await.unwrap();
    let other = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let (serving, _other) = (line.next(), line.next());
    serving.push(Event::text("word"));
    pass(&hub, 29).await;
    assert!(!state(&task).is_final());
    pass(&hub, 2).await;
    assert_eq!(state(&task), TaskState::Cancelled);
    assert_eq!(line.cancelled(), [serving.call().id]);
    pass(&hub, 100).await;
    assert_eq!(state(&other), TaskState::Working, "others need no reader");
}

#[tokio::test(start_paused = true)]
async fn it_goes_on_while_anybody_reads_and_for_a_while_after() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(unread(to("a", "hi"))).await.unwrap();
    until_idle().await;
    let _serving = line.next();
    pass(&hub, 20).await;
    let (one, two) = (task.subscribe(None), task.subscribe(None));
    pass(&hub, 60).await;
    drop(one);
    pass(&hub, 60).await;
    assert!(!state(&task).is_final(), "somebody still reads");
    drop(two);
    pass(&hub, 29).await;
    // A reader that finds it by its id counts as well.
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    drop(found.subscribe(None));
    pass(&hub, 29).await;
    assert!(!state(&task).is_final(), "the clock started again");
    pass(&hub, 2).await;
    assert_eq!(state(&task), TaskState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn the_clock_starts_when_the_task_is_accepted() {
    let (store, hub) = slow_store::on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    store.hold();
    let starting = slow_store::begin(&hub, unread(to("a", "hi")));
    until_idle().await;
    pass(&hub, 100).await;
    store.let_go();
    let task = starting.done().await.unwrap();
    until_idle().await;
    let _serving = line.next();
    pass(&hub, 29).await;
    assert!(!state(&task).is_final());
    pass(&hub, 2).await;
    assert_eq!(state(&task), TaskState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn one_that_ended_stays_as_it_ended() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(unread(to("a", "hi"))).await.unwrap();
    until_idle().await;
    assert!(line.next().finish(End::done()));
    pass(&hub, 100).await;
    assert_eq!(state(&task), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_restart_starts_the_clock_again() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(unread(to("a", "hi"))).await.unwrap();
    until_idle().await;
    let _serving = line.next();
    assert_eq!(task.record().unread, Some(Span(UNREAD)));
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let line = Line::new();
    let mut attached = resume(&hub, "a", &line);
    let _serving = attached.adopted.pop().unwrap();
    pass(&hub, 29).await;
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    assert!(!state(&found).is_final());
    pass(&hub, 2).await;
    assert_eq!(state(&found), TaskState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn one_whose_id_somebody_was_told_needs_no_reader_any_more() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(unread(to("a", "hi"))).await.unwrap();
    until_idle().await;
    let serving = line.next();
    task.outlive_readers();
    pass(&hub, 100).await;
    assert_eq!(state(&task), TaskState::Working);
    let stored = hub.tasks().find_stored(&ann(), task.id).await.unwrap();
    assert_eq!(stored.record().unread, None, "not after a restart either");
    serving.finish(End::done());
    until_idle().await;
    task.outlive_readers();
    let stored = hub.tasks().find_stored(&ann(), task.id).await.unwrap();
    assert_eq!(stored.record().state, TaskState::Completed);
}
