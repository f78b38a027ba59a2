//! A request that was refused is written down as a task that is over, for callers who want to see one.

use super::{tasks::input_required, *};
use crate::{
    agent::Keep,
    outbox::{Callback, Follower},
    store::LogItem,
    task::IdempotencyKey,
};

fn busy() -> Failure {
    Failure::new(Reason::Busy, "not now")
}

fn follower() -> Follower {
    let callback = Callback {
        url: "https://example.com/told".into(),
        kind: "a2a".into(),
        data: None,
        token: None,
    };
    Follower {
        id: "f".into(),
        callback,
    }
}

#[tokio::test(start_paused = true)]
async fn it_has_a_message_and_an_end_and_no_call() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    for (reason, wanted) in [
        (Reason::Busy, TaskState::Rejected),
        (Reason::RateLimited, TaskState::Rejected),
        (Reason::Loop, TaskState::Rejected),
        (Reason::Offline, TaskState::Failed),
        (Reason::Agent("quota".into()), TaskState::Failed),
    ] {
        let failure = Failure::new(reason, "why");
        let request = in_session("s", to("a", "hi"));
        let noted = hub
            .tasks()
            .record_refused(request, failure.clone())
            .await
            .unwrap();
        let found = hub.tasks().find(&ann(), noted.id).await.unwrap();
        for task in [&noted, &found] {
            let record = task.record();
            assert_eq!(record.state, wanted);
            assert_eq!(record.failure.as_ref(), Some(&failure));
            assert_eq!((record.session.as_str(), record.log_end), ("s", 2));
            let items: Vec<_> = read_on(task.subscribe(None)).await;
            let items = items.into_iter().map(|item| match item {
                TaskItem::Row { item, .. } => item,
                TaskItem::Gap { .. } => panic!("a gap"),
            });
            let items: Vec<_> = items.collect();
            let wanted = [
                LogItem::Message(Message::text("hi")),
                LogItem::End(End::Failed(failure.clone())),
            ];
            assert_eq!(items, wanted);
            assert!(task.call().is_none());
        }
        assert_eq!(noted.record(), found.record());
    }
    until_idle().await;
    assert!(line.texts().is_empty());
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn only_whoever_may_call_the_agent_gets_one() {
    let hub = hub().await;
    let (_a, _line) = agent(&hub, "a");
    let bobs = |name: &str| Request {
        principal: bob(),
        ..to(name, "hi")
    };
    let foreign = hub
        .tasks()
        .record_refused(bobs("a"), busy())
        .await
        .unwrap_err();
    let unknown = hub.calls().open(bobs("a")).unwrap_err();
    assert_eq!(foreign, unknown);
    assert_eq!(
        reason(hub.tasks().record_refused(to("nobody", "hi"), busy()).await),
        Reason::NotFound
    );
}

#[tokio::test]
async fn a_message_that_is_too_large_is_not_kept() {
    let hub = hub_with(|limits| limits.message = Size(1000)).await;
    let (_a, _line) = agent(&hub, "a");
    let large = to("a", &"x".repeat(2000));
    assert_eq!(
        reason(hub.tasks().record_refused(large, busy()).await),
        Reason::TooLarge
    );
}

#[tokio::test]
async fn followers_are_told_and_as_much_is_kept_as_of_any_other() {
    for (keep, is_followed, has_record, rows) in [
        (Keep::Full, true, true, 2),
        (Keep::Meta, true, true, 0),
        (Keep::None, true, true, 0),
        (Keep::None, false, false, 0),
    ] {
        let store = Arc::new(MemoryStore::default());
        let hub = hub_on(store.clone(), |_| ()).await;
        let (_a, _line) = agent(&hub, "a");
        let settings = Settings {
            store: keep,
            ..Settings::default()
        };
        drop(
            hub.agents()
                .change(&ann(), &id("a"), None, Some(settings))
                .unwrap(),
        );
        let request = Request {
            followers: is_followed.then(follower).into_iter().collect(),
            ..to("a", "hi")
        };
        let task = hub.tasks().record_refused(request, busy()).await.unwrap();
        assert_eq!(read_on(task.subscribe(None)).await.len(), 2);
        let found = store.find_task(task.id).await.unwrap();
        assert_eq!(found.is_some(), has_record, "{keep:?}");
        let log = store.read_log(task.id, 0, usize::MAX).await.unwrap();
        assert_eq!(log.len(), rows, "{keep:?}");
        let due = hub.callbacks().due(9).await.unwrap();
        assert_eq!(due.len(), usize::from(is_followed));
        let Some(row) = due.first() else { continue };
        assert_eq!((row.pos, row.follower()), (Some(1), Some("f")));
        let reply = hub.callbacks().reply(row.id).await.unwrap();
        let end = [LogItem::End(End::Failed(busy()))];
        let wanted = if keep == Keep::Full { &[][..] } else { &end };
        assert_eq!(reply, wanted, "{keep:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_noted_once_and_takes_no_further_message() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let once = |digest| Request {
        once: Some(IdempotencyKey {
            key: "k".into(),
            digest: [digest; 32],
        }),
        ..to("a", "hi")
    };
    let task = hub.tasks().record_refused(once(1), busy()).await.unwrap();
    let again = hub.tasks().record_refused(once(1), busy()).await.unwrap();
    let started = hub.tasks().start(once(1)).await.unwrap();
    assert_eq!((again.id, started.id), (task.id, task.id));
    assert_eq!(
        reason(hub.tasks().record_refused(once(2), busy()).await),
        Reason::Conflict
    );
    assert_eq!(
        reason(hub.tasks().continue_task(to("a", "two"), &task).await),
        Reason::Conflict
    );
    // One that was started is not refused afterwards.
    let other = Request {
        request: None,
        once: Some(IdempotencyKey {
            key: "l".into(),
            digest: [9; 32],
        }),
        ..to("a", "ho")
    };
    let running = hub.tasks().start(other.clone()).await.unwrap();
    until_idle().await;
    line.next().finish(input_required());
    until_idle().await;
    let same = hub.tasks().record_refused(other, busy()).await.unwrap();
    assert_eq!(same.id, running.id);
}
