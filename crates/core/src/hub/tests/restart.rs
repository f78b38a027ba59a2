//! What a restart does to tasks: the hub never runs a message twice.

use super::*;
use jackfield_model::{Done, DoneState};

use crate::{
    store::{LogItem, Store as _, TaskRecord},
    task::Cursor,
};

fn patient(request: Request) -> Request {
    Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..request
    }
}

/// A store as the process left it that was killed here: what the hub does afterwards does not count.
async fn killed(hub: Hub, store: &Arc<MemoryStore>) -> Arc<MemoryStore> {
    until_idle().await;
    drop(hub);
    store.clone()
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_goes_out_once_when_its_agent_registers() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    drop(agent(&hub, "a"));
    let task = hub
        .tasks()
        .start(with_id("r1", in_session("s", patient(to("a", "hi")))))
        .await
        .unwrap()
        .id;
    let hub = hub_on(killed(hub, &store).await, |_| ()).await;
    until_idle().await;
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    let serving = line.next();
    assert_eq!(
        (
            serving.call().message.joined_text(),
            serving.call().request.as_str()
        ),
        ("hi".into(), "r1")
    );
    assert_eq!(serving.call().session.as_str(), "s");
    assert_eq!(serving.call().principal.key(), "ann");
    serving.push(Event::text("done"));
    serving.finish(End::done());
    until_idle().await;
    assert!(line.texts().is_empty());
    let task = hub.tasks().find(&ann(), task).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed);
    let rows = read_on(task.subscribe(None)).await;
    assert_eq!(rows.len(), 3, "message, text, end: {rows:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_fails_offline() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (attached, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap().id;
    until_idle().await;
    let serving = line.next();
    serving.push(Event::text("half"));
    // The first process goes on in this test, but the second one has read the store already.
    let second = hub_on(killed(hub.clone(), &store).await, |_| ()).await;
    let (_b, at_second) = agent(&second, "a");
    until_idle().await;
    assert!(at_second.texts().is_empty());
    let found = second.tasks().find(&ann(), task).await.unwrap();
    assert_eq!(found.record().failure.unwrap().reason, Reason::Offline);
    let rows = read_on(found.subscribe(None)).await;
    assert!(
        matches!(
            rows.last(),
            Some(TaskItem::Row {
                item: LogItem::End(End::Failed(_)),
                ..
            })
        ),
        "{rows:?}"
    );
    assert_eq!(rows.len(), 3, "what it had said is still there");
    drop((serving, attached));
}

#[tokio::test(start_paused = true)]
async fn what_was_being_cancelled_is_cancelled_with_the_tasks_that_were_started_for_it() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, at_a) = agent(&hub, "a");
    drop(agent(&hub, "b"));
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let _serving = at_a.next();
    let child = Request {
        principal: ann().as_agent(id("a")),
        ..patient(to("b", "help"))
    };
    let child = hub.tasks().start(child).await.unwrap();
    assert_eq!(child.record().parent, Some(task.id));
    // What the hub writes before it tells the agent.
    let cancelling = TaskRecord {
        cancelling: true,
        ..task.record()
    };
    let saved = store.save_task(cancelling, Vec::new(), Vec::new(), true);
    saved.await.unwrap();
    let second = hub_on(killed(hub.clone(), &store).await, |_| ()).await;
    let ((_a, at_a), (_b, at_b)) = (agent(&second, "a"), agent(&second, "b"));
    until_idle().await;
    assert!(at_a.texts().is_empty() && at_b.texts().is_empty());
    for task in [task.id, child.id] {
        let task = second.tasks().find(&ann(), task).await.unwrap();
        assert_eq!(state(&task), TaskState::Cancelled);
        assert!(!task.record().cancelling);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_a_message_still_does() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (attached, line) = agent(&hub, "a");
    let task = hub
        .tasks()
        .start(in_session("s", to("a", "one")))
        .await
        .unwrap()
        .id;
    until_idle().await;
    line.next().finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
    until_idle().await;
    drop(attached);
    let hub = hub_on(killed(hub, &store).await, |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let found = hub.tasks().find(&ann(), task).await.unwrap();
    assert_eq!(state(&found), TaskState::InputRequired);
    let going_on = hub
        .tasks()
        .continue_task(to("a", "two"), &found)
        .await
        .unwrap();
    until_idle().await;
    let serving = line.next();
    assert_eq!(
        (
            serving.call().message.joined_text(),
            serving.call().session.as_str()
        ),
        ("two".into(), "s")
    );
    serving.finish(End::done());
    until_idle().await;
    assert_eq!(state(&going_on), TaskState::Completed);
    assert_eq!(read_on(going_on.subscribe(None)).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_task_waits_no_longer_than_its_caller_said() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    drop(agent(&hub, "a"));
    let wait_online = Some(Duration::from_secs(100));
    let task = hub
        .tasks()
        .start(Request {
            wait_online,
            ..to("a", "hi")
        })
        .await
        .unwrap()
        .id;
    let hub = hub_on(killed(hub, &store).await, |_| ()).await;
    pass(&hub, 98).await;
    let found = hub.tasks().find(&ann(), task).await.unwrap();
    assert!(!state(&found).is_final());
    pass(&hub, 3).await;
    let found = hub.tasks().find(&ann(), task).await.unwrap();
    assert_eq!(found.record().failure.unwrap().reason, Reason::Offline);
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_agent_is_unknown_now_fails_and_the_hub_starts() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    drop(agent(&hub, "a"));
    let task = hub.tasks().start(patient(to("a", "hi"))).await.unwrap().id;
    until_idle().await;
    store.remove_agent(id("a")).await.unwrap();
    let hub = hub_on(killed(hub, &store).await, |_| ()).await;
    let found = hub.tasks().find(&ann(), task).await.unwrap();
    assert_eq!(found.record().failure.unwrap().reason, Reason::NotFound);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_from_before_the_restart_gets_a_gap_and_then_everything() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    drop(agent(&hub, "a"));
    let task = hub.tasks().start(patient(to("a", "hi"))).await.unwrap().id;
    let hub = hub_on(killed(hub, &store).await, |_| ()).await;
    let found = hub.tasks().find(&ann(), task).await.unwrap();
    assert_eq!(found.record().epoch, 1);
    let mut reader = found.subscribe(Some(Cursor { epoch: 0, pos: 1 }));
    let gap = TaskItem::Gap {
        next: Cursor { epoch: 1, pos: 0 },
    };
    assert_eq!(reader.next().await.unwrap(), Some(gap));
    let message = TaskItem::Row {
        next: Cursor { epoch: 1, pos: 1 },
        at: found.record().created_at,
        item: LogItem::Message(Message::text("hi")),
    };
    assert_eq!(reader.next().await.unwrap(), Some(message));
}
