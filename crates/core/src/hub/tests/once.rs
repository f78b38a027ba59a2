//! A request that bears a key is carried out once, however often it is sent.

use super::{
    slow_store::{begin, on_slow_store},
    tasks::input_required,
    *,
};
use crate::{agent::Keep, store::LogItem, task::IdempotencyKey};

fn once(key: &str, digest: u8, request: Request) -> Request {
    let once = IdempotencyKey {
        key: key.into(),
        digest: [digest; 32],
    };
    Request {
        once: Some(once),
        ..request
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_gives_the_task_that_was_made_of_it() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let request = || once("k", 1, to("a", "hi"));
    let task = hub.tasks().start(request()).await.unwrap();
    let again = hub.tasks().start(request()).await.unwrap();
    assert!(Arc::ptr_eq(&task, &again), "while it is worked on");
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
    line.next().finish(End::done());
    until_idle().await;
    let again = hub.tasks().start(request()).await.unwrap();
    assert_eq!((again.id, state(&again)), (task.id, TaskState::Completed));
    let hub = hub_on(store, |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let again = hub.tasks().start(request()).await.unwrap();
    assert_eq!(again.id, task.id, "after a restart, too");
    until_idle().await;
    assert!(line.texts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_same_key_for_something_else_is_a_conflict() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    hub.tasks()
        .start(once("k", 1, to("a", "hi")))
        .await
        .unwrap();
    let failure = hub.tasks().start(once("k", 2, to("a", "ho"))).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.reason, Reason::Conflict);
    assert!(failure.text.contains("\"k\""), "{failure}");
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_one_principals_for_one_agent() {
    let hub = hub().await;
    let (_a, a) = agent(&hub, "a");
    let (_b, b) = agent(&hub, "b");
    let robot = Request {
        principal: ann().as_agent(id("x")),
        ..to("a", "robot")
    };
    hub.tasks()
        .start(once("k", 1, to("a", "ann")))
        .await
        .unwrap();
    hub.tasks().start(once("k", 2, to("b", "b"))).await.unwrap();
    hub.tasks().start(once("k", 3, robot)).await.unwrap();
    hub.tasks()
        .start(once("l", 4, to("a", "other")))
        .await
        .unwrap();
    hub.tasks().start(to("a", "plain")).await.unwrap();
    hub.tasks().start(to("a", "plain")).await.unwrap();
    until_idle().await;
    let mut texts = a.texts();
    texts.sort();
    assert_eq!(texts, ["ann", "other", "plain", "plain", "robot"]);
    assert_eq!(b.texts(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn of_two_at_once_the_second_gets_the_task_of_the_first() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    store.hold();
    let first = begin(&hub, once("k", 1, to("a", "hi")));
    let mut second = begin(&hub, once("k", 1, to("a", "hi")));
    until_idle().await;
    assert!(!second.is_done() && store.held_up() == 1);
    let third = begin(&hub, once("k", 2, to("a", "ho")));
    store.let_go();
    let (first, second) = (first.done().await.unwrap(), second.done().await.unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(reason(third.done().await), Reason::Conflict);
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_gives_the_end_of_a_turn_that_ends_while_its_task_is_looked_for() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let request = || once("k", 1, to("a", "hi"));
    hub.tasks().start(request()).await.unwrap();
    until_idle().await;
    store.hold_lists();
    let again = begin(&hub, request());
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    store.return_lists();
    let again = again.done().await.unwrap();
    assert_eq!(state(&again), TaskState::Completed);
    let mut reader = again.subscribe(None);
    let mut last = None;
    while let Some(TaskItem::Row { item, .. }) = reader.next().await.unwrap() {
        last = Some(item);
    }
    assert_eq!(last, Some(LogItem::End(End::done())));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_frees_its_key() {
    let (store, hub) = on_slow_store(|_| ()).await;
    drop(agent(&hub, "a"));
    let request = || once("k", 1, to("a", "hi"));
    assert_eq!(reason(hub.tasks().start(request()).await), Reason::Offline);
    let (_a, line) = agent(&hub, "a");
    store.hold();
    let first = begin(&hub, request());
    let second = begin(&hub, once("k", 2, to("a", "ho")));
    until_idle().await;
    store.fail_one();
    until_idle().await;
    store.let_go();
    assert_eq!(reason(first.done().await), Reason::Internal);
    second.done().await.unwrap();
    until_idle().await;
    assert_eq!(line.texts(), ["ho"]);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_message_to_a_waiting_task_gives_it_as_it_stands() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub
        .tasks()
        .start(once("k", 1, to("a", "one")))
        .await
        .unwrap();
    until_idle().await;
    line.next().finish(input_required());
    until_idle().await;
    let next = || once("l", 2, to("a", "two"));
    let early = hub
        .tasks()
        .continue_task(once("k", 1, to("a", "one")), &task)
        .await;
    assert_eq!(early.unwrap().id, task.id, "that was its first message");
    let going = hub.tasks().continue_task(next(), &task).await.unwrap();
    let again = hub.tasks().continue_task(next(), &task).await.unwrap();
    assert!(Arc::ptr_eq(&going, &again));
    until_idle().await;
    assert_eq!(line.texts(), ["two"]);
    line.next().finish(input_required());
    until_idle().await;
    let again = hub.tasks().continue_task(next(), &task).await.unwrap();
    assert_eq!(state(&again), TaskState::InputRequired);
    assert!(line.texts().is_empty());
    let other = hub
        .tasks()
        .continue_task(once("l", 3, to("a", "three")), &task)
        .await;
    assert_eq!(reason(other), Reason::Conflict);
    // Whoever else may go on with it repeats its message, too.
    let owner = Request {
        principal: Principal::local(),
        ..next()
    };
    let again = hub.tasks().continue_task(owner, &task).await.unwrap();
    assert_eq!(again.id, task.id);
    assert!(line.texts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_kept_a_request_is_known_while_it_is_worked_on() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let settings = Settings {
        store: Keep::None,
        ..Settings::default()
    };
    drop(
        hub.agents()
            .change(&ann(), &id("a"), None, Some(settings))
            .unwrap(),
    );
    let request = || once("k", 1, to("a", "hi"));
    let task = hub.tasks().start(request()).await.unwrap();
    let again = hub.tasks().start(request()).await.unwrap();
    assert!(Arc::ptr_eq(&task, &again));
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    assert_ne!(hub.tasks().start(request()).await.unwrap().id, task.id);
}
