//! Tasks: accepted when the store has them, sent once, ended when that is durable.

use super::{
    slow_store::{Write, begin, on_slow_store},
    *,
};
use jackfield_model::{Done, DoneState};

use crate::{agent::Keep, store::TaskFilter};

fn patient(request: Request) -> Request {
    Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..request
    }
}

pub(super) fn input_required() -> End {
    End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    }))
}

#[tokio::test(start_paused = true)]
async fn a_task_is_accepted_and_sent_only_after_the_store_has_it() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    store.hold();
    let mut starting = begin(&hub, to("a", "hi"));
    until_idle().await;
    assert!(!starting.is_done() && line.texts().is_empty());
    let Some(Write::Save(record, rows, _)) = store.commit_one() else {
        panic!("no task was saved")
    };
    assert!(
        record.sent && rows.len() == 1,
        "the message and that it is sent in one commit"
    );
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
    assert!(starting.is_done());
}

#[tokio::test(start_paused = true)]
async fn that_it_is_sent_is_committed_before_a_waiting_task_goes_out() {
    let (store, hub) = on_slow_store(|_| ()).await;
    drop(agent(&hub, "a"));
    let task = hub.tasks().start(patient(to("a", "hi"))).await.unwrap();
    assert_eq!(state(&task), TaskState::Submitted);
    store.hold();
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert!(line.texts().is_empty());
    let Some(Write::Save(record, ..)) = store.commit_one() else {
        panic!("it was not marked")
    };
    assert!(record.sent && record.state == TaskState::Working);
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_task_is_visible_only_when_it_is_durable() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let mut reader = task.subscribe(None);
    reader.next().await.unwrap();
    store.hold();
    line.next().finish(End::done());
    until_idle().await;
    assert_eq!(store.held_up(), 1);
    assert_eq!(state(&task), TaskState::Working);
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    assert_eq!(state(&found), TaskState::Working);
    let filter = TaskFilter {
        limit: 10,
        ..TaskFilter::default()
    };
    assert_eq!(
        hub.tasks().list(&ann(), filter).await.unwrap()[0].state,
        TaskState::Working
    );
    tokio::select! {
        biased;
        item = reader.next() => panic!("read too early: {item:?}"),
        () = until_idle() => {}
    }
    store.let_go();
    assert!(matches!(
        reader.next().await.unwrap(),
        Some(TaskItem::Row { .. })
    ));
    assert_eq!(state(&task), TaskState::Completed);
    assert_eq!(reader.next().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_while_its_task_starts_changes_nothing() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    store.hold();
    let starting = begin(&hub, to("a", "hi"));
    until_idle().await;
    drop(starting);
    store.let_go();
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
    line.next().finish(End::done());
    until_idle().await;
    let filter = TaskFilter {
        limit: 10,
        ..TaskFilter::default()
    };
    let tasks = hub.tasks().list(&ann(), filter).await.unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].state, TaskState::Completed);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_ends_wherever_it_stands() {
    let hub = hub().await;
    drop(agent(&hub, "a"));
    let waiting = hub
        .tasks()
        .start(patient(to("a", "waiting")))
        .await
        .unwrap();
    hub.calls().cancel(&ann(), waiting.record().call).unwrap();
    until_idle().await;
    assert_eq!(state(&waiting), TaskState::Cancelled);
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert!(line.texts().is_empty());
    let sent = hub.tasks().start(to("a", "sent")).await.unwrap();
    until_idle().await;
    hub.calls().cancel(&ann(), sent.record().call).unwrap();
    until_idle().await;
    assert_eq!(line.cancelled(), [sent.record().call]);
    assert_eq!(state(&sent), TaskState::Cancelled);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_input_goes_on_with_the_next_message() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let first = hub.tasks().start(to("a", "one")).await.unwrap();
    until_idle().await;
    assert_eq!(
        reason(hub.tasks().continue_task(to("a", "early"), &first).await),
        Reason::Conflict
    );
    let serving = line.next();
    let session = serving.call().agent_session.clone();
    serving.finish(input_required());
    until_idle().await;
    assert_eq!(state(&first), TaskState::InputRequired);
    let second = hub
        .tasks()
        .continue_task(to("a", "two"), &first)
        .await
        .unwrap();
    until_idle().await;
    assert_eq!(second.id, first.id);
    let serving = line.next();
    assert_eq!(serving.call().message.joined_text(), "two");
    assert_eq!(serving.call().agent_session, session);
    serving.finish(End::done());
    until_idle().await;
    assert_eq!(state(&second), TaskState::Completed);
    assert_eq!(
        read_on(second.subscribe(None)).await.len(),
        4,
        "both turns: message, end, message, end"
    );
    assert_eq!(
        reason(hub.tasks().continue_task(to("a", "late"), &second).await),
        Reason::Conflict
    );
    assert_eq!(
        reason(hub.tasks().continue_task(to("a", "late"), &first).await),
        Reason::Conflict,
        "nor by the old view of it"
    );
    assert!(line.texts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_task_stays_its_principals_and_in_its_session_whoever_goes_on_with_it() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let robot = ann().as_agent(id("x"));
    let task = hub
        .tasks()
        .start(Request {
            principal: robot.clone(),
            ..to("a", "one")
        })
        .await
        .unwrap();
    until_idle().await;
    let serving = line.next();
    let session = serving.call().agent_session.clone();
    serving.finish(input_required());
    until_idle().await;
    let task = hub
        .tasks()
        .continue_task(to("a", "two"), &task)
        .await
        .unwrap();
    until_idle().await;
    let serving = line.next();
    assert_eq!(serving.call().agent_session, session);
    assert_eq!(
        serving.call().principal.key(),
        "ann",
        "but the agent knows who speaks"
    );
    assert!(hub.tasks().find(&robot, task.id).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn of_two_messages_at_once_a_waiting_task_takes_one() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "one")).await.unwrap();
    until_idle().await;
    line.next().finish(input_required());
    until_idle().await;
    let again = hub.tasks().find(&ann(), task.id).await.unwrap();
    store.hold();
    let let_go = async {
        until_idle().await;
        store.let_go();
    };
    let (one, two, ()) = tokio::join!(
        hub.tasks().continue_task(to("a", "two"), &task),
        hub.tasks().continue_task(to("a", "three"), &again),
        let_go
    );
    assert!(one.is_ok());
    assert_eq!(reason(two), Reason::Conflict);
    until_idle().await;
    assert_eq!(line.texts(), ["two"]);
}

#[tokio::test(start_paused = true)]
async fn tasks_belong_to_their_principal() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let by = |principal: Principal| Request {
        principal,
        ..to("a", "hi")
    };
    let (robot, other) = (ann().as_agent(id("x")), ann().as_agent(id("y")));
    let hers = hub.tasks().start(by(ann())).await.unwrap();
    let robots = hub.tasks().start(by(robot.clone())).await.unwrap();
    let count = async |principal: &Principal| {
        let filter = TaskFilter {
            limit: 10,
            ..TaskFilter::default()
        };
        hub.tasks().list(principal, filter).await.unwrap().len()
    };
    for _ in 0..2 {
        assert!(
            hub.tasks().find(&ann(), robots.id).await.is_ok(),
            "an owner sees its agents' tasks"
        );
        assert!(hub.tasks().find(&robot, robots.id).await.is_ok());
        assert!(hub.tasks().find(&Principal::local(), hers.id).await.is_ok());
        for stranger in [&bob(), &other] {
            let foreign = hub.tasks().find(stranger, hers.id).await.unwrap_err();
            let unknown = hub
                .tasks()
                .find(stranger, CallId::new().into())
                .await
                .unwrap_err();
            assert_eq!(foreign, unknown);
        }
        assert_eq!(
            (
                count(&ann()).await,
                count(&robot).await,
                count(&other).await,
                count(&bob()).await
            ),
            (2, 1, 0, 0)
        );
        assert_eq!(count(&Principal::local()).await, 2);
        // Once more when they have ended and come from the store.
        until_idle().await;
        while let Some(serving) = line.try_next() {
            serving.finish(End::done());
        }
        until_idle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_to_be_stored_is_not() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    for (keep, has_record, rows) in [
        (Keep::Full, true, 3),
        (Keep::Meta, true, 0),
        (Keep::None, false, 0),
    ] {
        let settings = Settings {
            store: keep,
            ..Settings::default()
        };
        drop(
            hub.agents()
                .change(&ann(), &id("a"), None, Some(settings))
                .unwrap(),
        );
        let task = hub.tasks().start(to("a", "hi")).await.unwrap();
        until_idle().await;
        let serving = line.next();
        serving.push(Event::text("words"));
        serving.finish(End::done());
        until_idle().await;
        assert_eq!(state(&task), TaskState::Completed);
        assert_eq!(
            store.find_task(task.id).await.unwrap().is_some(),
            has_record,
            "{keep:?}"
        );
        assert_eq!(
            store.read_log(task.id, 0, usize::MAX).await.unwrap().len(),
            rows,
            "{keep:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_sweeper_forgets_tasks_that_are_over_for_long_enough_or_too_large_together() {
    type Change = fn(&mut Limits);
    let changes: [(Change, bool); 3] = [
        (|_| (), true),
        (|limits| limits.task_kept = Span::secs(0), false),
        (|limits| limits.tasks_total = Size(0), false),
    ];
    for (change, is_kept) in changes {
        let hub = hub_with(change).await;
        let (_a, line) = agent(&hub, "a");
        let over = hub.tasks().start(to("a", "one")).await.unwrap();
        let open = hub.tasks().start(to("a", "two")).await.unwrap();
        until_idle().await;
        let [one, _two] = [line.next(), line.next()];
        let minutes = async {
            // It has looked before, when nothing was over.
            tokio::time::sleep(Duration::from_secs(30)).await;
            one.finish(End::done());
            tokio::time::sleep(Duration::from_secs(60)).await;
        };
        tokio::select! {
            () = hub.sweep_forever() => {}
            () = minutes => {}
        }
        let found = hub.tasks().find(&ann(), over.id).await;
        assert_eq!(found.is_ok(), is_kept, "{:?}", hub.limits().task_kept);
        // One that is not over is kept whatever it weighs.
        assert!(hub.tasks().find(&ann(), open.id).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_that_says_more_than_is_kept_fails_with_what_it_said_until_then() {
    let hub = hub_with(|limits| limits.task_log = Size::kib(10)).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.push(Event::text("x".repeat(10_000)));
    until_idle().await;
    assert_eq!(state(&task), TaskState::Working, "that much may be");
    assert_eq!(serving.push(Event::text("y".repeat(1000))), Pushed::Room);
    until_idle().await;
    assert_eq!(serving.push(Event::text("z")), Pushed::Ended);
    assert_eq!(line.cancelled(), [serving.call().id]);
    let record = task.record();
    assert_eq!(record.state, TaskState::Failed);
    assert_eq!(record.failure.unwrap().reason, Reason::TooLarge);
    assert_eq!(record.log_end, 1 + 11_000 + 1, "message, words, end");
}
