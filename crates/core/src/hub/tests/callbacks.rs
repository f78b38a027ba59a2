//! Who wants to be told of the end of a task is in the outbox from the moment it is durable.

use super::{asks::question, slow_store::on_slow_store, *};
use jackfield_model::{Chunk, ChunkKind, Done, DoneState};

use crate::{
    agent::Keep,
    outbox::{Callback, OutboxRow, Settled},
    store::{CallbackFilter, LogItem},
};

fn callback() -> Callback {
    Callback {
        url: "https://example.com/done".into(),
        kind: "bridge".into(),
        data: None,
        token: None,
    }
}

fn told(request: Request) -> Request {
    Request {
        callback: Some(callback()),
        ..request
    }
}

async fn all(store: &dyn Store) -> Vec<OutboxRow> {
    let filter = CallbackFilter {
        limit: 9,
        ..CallbackFilter::default()
    };
    store.list_callbacks(filter).await.unwrap()
}

async fn due(hub: &Hub) -> Vec<OutboxRow> {
    hub.callbacks().due(10).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ends_wakes_whoever_delivers() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(told(to("a", "hi"))).await.unwrap();
    until_idle().await;
    assert!(due(&hub).await.is_empty());
    let deliver = async {
        hub.callbacks().wait().await.unwrap();
        (Instant::now(), due(&hub).await)
    };
    let finish = async {
        until_idle().await;
        assert!(line.next().finish(End::done()));
        Instant::now()
    };
    let ((woken, rows), finished) = tokio::join!(deliver, finish);
    assert_eq!(woken, finished, "at once");
    assert_eq!((rows.len(), rows[0].task), (1, task.id));
    assert_eq!(rows[0].callback, callback());
    let record = hub.tasks().find(&ann(), task.id).await.unwrap().record();
    assert_eq!(record.callback, Some(callback()), "for what it says");
    let settled = hub.callbacks().settle(rows[0].id, Settled::Delivered);
    settled.await.unwrap();
    let left = hub.callbacks().list(&ann(), false, 9).await.unwrap();
    assert!(left.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_loop_wakes_when_a_pause_is_over_or_one_is_sent_again() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(told(to("a", "hi"))).await.unwrap();
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    let callbacks = hub.callbacks().clone();
    callbacks.wait().await.unwrap();
    let id = due(&hub).await[0].id;
    let at = Timestamp::now() + Duration::from_secs(20);
    let error = "503".to_owned();
    callbacks
        .settle(id, Settled::Retry { at, error })
        .await
        .unwrap();
    let start = Instant::now();
    callbacks.wait().await.unwrap();
    let waited = start.elapsed().as_secs_f64();
    assert!((19.0..=20.1).contains(&waited), "{waited}");
    let error = "410".to_owned();
    callbacks.settle(id, Settled::Dead { error }).await.unwrap();
    callbacks.resend(&ann(), task.id).await.unwrap();
    let start = Instant::now();
    callbacks.wait().await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(due(&hub).await[0].id, id, "the same one");
    let again = callbacks.resend(&ann(), task.id).await.unwrap_err();
    assert_eq!(again.reason, Reason::Conflict, "it is tried already");
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_ends_between_the_look_and_the_wait_is_not_slept_through() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    hub.tasks().start(told(to("a", "hi"))).await.unwrap();
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    let callbacks = hub.callbacks().clone();
    callbacks.wait().await.unwrap();
    let id = due(&hub).await[0].id;
    let (at, error) = (Timestamp::now(), "503".to_owned());
    let retry = Settled::Retry { at, error };
    callbacks.settle(id, retry).await.unwrap();
    let start = Instant::now();
    callbacks.wait().await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(due(&hub).await[0].id, id);
}

#[tokio::test(start_paused = true)]
async fn the_end_and_its_callback_are_one_commit() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(told(to("a", "hi"))).await.unwrap();
    until_idle().await;
    store.hold();
    line.next().finish(End::done());
    until_idle().await;
    assert!(all(&store.copy()).await.is_empty());
    assert_eq!(store.held_up(), 1, "one write has both");
    store.commit_one();
    let left = store.copy();
    assert_eq!(all(&left).await.len(), 1);
    let record = left.find_task(task.id).await.unwrap().unwrap();
    assert_eq!(record.state, TaskState::Completed);
    // Who recorded it has not heard of it yet; who tells of it must not ask there.
    assert_eq!(state(&task), TaskState::Working);
    let stored = hub.tasks().find_stored(&ann(), task.id).await.unwrap();
    assert_eq!(state(&stored), TaskState::Completed);
    let rows = read_on(stored.subscribe(None)).await;
    assert_eq!(rows.len(), 2, "the message and the end: {rows:?}");
}

#[tokio::test(start_paused = true)]
async fn every_turn_is_told_once_whether_or_not_its_agent_waits_for_more() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let waits = || {
        End::Done(Box::new(Done {
            state: DoneState::InputRequired,
            ..Done::default()
        }))
    };
    let task = hub.tasks().start(told(to("a", "one"))).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.ask(question("q"));
    until_idle().await;
    assert!(due(&hub).await.is_empty(), "the turn goes on");
    serving.finish(waits());
    until_idle().await;
    assert_eq!(due(&hub).await.len(), 1);
    // The next message need not say again who is to be told.
    let task = hub
        .tasks()
        .continue_task(to("a", "two"), &task)
        .await
        .unwrap();
    until_idle().await;
    assert_eq!(due(&hub).await.len(), 1);
    line.next().finish(waits());
    until_idle().await;
    assert_eq!(due(&hub).await.len(), 2);
    hub.tasks().cancel(&ann(), task.id).await.unwrap();
    let cancelled = hub.tasks().start(told(to("a", "three"))).await.unwrap();
    hub.tasks().cancel(&ann(), cancelled.id).await.unwrap();
    until_idle().await;
    let tasks: Vec<_> = due(&hub).await.iter().map(|row| row.task).collect();
    assert_eq!(tasks, [task.id, task.id, cancelled.id]);
}

#[tokio::test(start_paused = true)]
async fn callbacks_are_shown_and_sent_again_to_whoever_may_act_for_their_task() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let platform = Request {
        principal: Principal::platform(),
        ..told(to("a", "hi"))
    };
    for request in [told(to("a", "hi")), platform] {
        hub.tasks().start(request).await.unwrap();
        until_idle().await;
        line.next().finish(End::done());
        until_idle().await;
    }
    let [anns, platforms] = due(&hub).await.try_into().unwrap();
    let list = async |principal: &Principal| -> Vec<_> {
        let rows = hub.callbacks().list(principal, false, 9).await.unwrap();
        rows.iter().map(|row| row.id).collect()
    };
    assert_eq!(list(&ann()).await, [anns.id]);
    assert_eq!(list(&Principal::platform()).await, [platforms.id]);
    assert_eq!(list(&ann().as_agent(id("a"))).await, []);
    assert_eq!(list(&bob()).await, []);
    assert_eq!(list(&Principal::local()).await, [platforms.id, anns.id]);
    let resend = async |principal: &Principal| {
        let resent = hub.callbacks().resend(principal, platforms.task).await;
        resent.map_err(|failure| failure.reason)
    };
    let local = Principal::local();
    assert_eq!(resend(&local).await, Err(Reason::Conflict), "not dead yet");
    let error = "410".to_owned();
    let dead = Settled::Dead { error };
    hub.callbacks().settle(platforms.id, dead).await.unwrap();
    assert_eq!(resend(&ann()).await, Err(Reason::NotFound));
    assert_eq!(resend(&local).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_nowhere_else_is_kept_for_the_callback() {
    for keep in [Keep::None, Keep::Meta, Keep::Full] {
        let store = Arc::new(MemoryStore::default());
        let hub = hub_on(store.clone(), |_| ()).await;
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
        hub.tasks().start(told(to("a", "hi"))).await.unwrap();
        until_idle().await;
        let serving = line.next();
        serving.push(Event::text("the "));
        serving.push(Event::Chunk(Chunk {
            kind: ChunkKind::Thinking,
            text: "hm".into(),
            ..Chunk::default()
        }));
        serving.push(Event::text("answer"));
        serving.finish(End::done());
        until_idle().await;
        let row = due(&hub).await.remove(0);
        let reply = hub.callbacks().reply(row.id).await.unwrap();
        let said = [
            LogItem::Event(Event::text("the answer")),
            LogItem::End(End::done()),
        ];
        match keep {
            Keep::Full => assert_eq!(reply, []),
            Keep::Meta | Keep::None => assert_eq!(reply, said),
        }
        let settled = hub.callbacks().settle(row.id, Settled::Delivered);
        settled.await.unwrap();
        assert_eq!(hub.callbacks().reply(row.id).await.unwrap(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_restart_fails_is_told_too() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, _line) = agent(&hub, "a");
    let task = hub.tasks().start(told(to("a", "hi"))).await.unwrap().id;
    until_idle().await;
    let left = store.copy();
    left.remove_agent(id("a")).await.unwrap();
    let hub = hub_on(Arc::new(left), |_| ()).await;
    let rows = due(&hub).await;
    assert_eq!((rows.len(), rows[0].task), (1, task));
}

#[tokio::test(start_paused = true)]
async fn who_is_told_is_kept_even_where_nothing_else_is() {
    for (keep, is_kept) in [(Keep::None, true), (Keep::Meta, true)] {
        let store = Arc::new(MemoryStore::default());
        let hub = hub_on(store.clone(), |_| ()).await;
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
        let task = hub.tasks().start(told(to("a", "hi"))).await.unwrap();
        let plain = hub.tasks().start(to("a", "hi")).await.unwrap();
        until_idle().await;
        for _ in 0..2 {
            line.next().finish(End::done());
        }
        until_idle().await;
        assert_eq!(due(&hub).await.len(), usize::from(is_kept));
        assert!(store.find_task(task.id).await.unwrap().is_some());
        assert!(store.read_log(task.id, 0, 9).await.unwrap().is_empty());
        let found = store.find_task(plain.id).await.unwrap();
        assert_eq!(found.is_some(), keep == Keep::Meta);
    }
}
