//! Cancelling a task, whatever it does just now.

use super::{
    slow_store::{Write, on_slow_store},
    tasks::input_required,
    *,
};
use jackfield_model::TaskId;

use crate::store::LogItem;

#[tokio::test(start_paused = true)]
async fn a_running_task_is_cancelled_at_its_agent() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    assert_eq!(
        reason(hub.tasks().cancel(&bob(), task.id).await),
        Reason::NotFound
    );
    hub.tasks().cancel(&ann(), task.id).await.unwrap();
    assert_eq!(line.cancelled(), [serving.call().id]);
    until_idle().await;
    assert_eq!(state(&task), TaskState::Cancelled);
    assert_eq!(
        reason(hub.tasks().cancel(&ann(), task.id).await),
        Reason::Conflict
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_a_message_is_cancelled_for_good() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    line.next().finish(input_required());
    until_idle().await;
    store.hold();
    let cancel = async {
        hub.tasks().cancel(&ann(), task.id).await.unwrap();
        assert_eq!(store.held_up(), 0, "it is cancelled when the store has it");
    };
    let others = async {
        until_idle().await;
        let going_on = hub.tasks().continue_task(to("a", "two"), &task).await;
        assert_eq!(reason(going_on), Reason::Conflict, "nobody gets in between");
        assert_eq!(
            reason(hub.tasks().cancel(&ann(), task.id).await),
            Reason::Conflict
        );
    };
    let commit = async {
        until_idle().await;
        until_idle().await;
        let Some(Write::Save(record, rows, _)) = store.commit_one() else {
            panic!("nothing was saved")
        };
        assert_eq!(record.state, TaskState::Cancelled);
        assert_eq!(rows[0].item, LogItem::End(End::Cancelled));
    };
    tokio::join!(cancel, others, commit);
    store.let_go();
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    assert_eq!(state(&found), TaskState::Cancelled);
    let rows = read_on(found.subscribe(None)).await;
    assert_eq!(rows.len(), 3, "message, end of the turn, end: {rows:?}");
    assert_eq!(
        reason(hub.tasks().continue_task(to("a", "two"), &found).await),
        Reason::Conflict
    );
    assert!(line.texts().is_empty() && line.cancelled().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_over_or_unknown_cannot_be_cancelled() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    let failure = hub.tasks().cancel(&ann(), task.id).await.unwrap_err();
    assert_eq!(failure.reason, Reason::Conflict);
    assert!(failure.text.contains("completed"), "{failure}");
    let unknown = TaskId::from(CallId::new());
    assert_eq!(
        reason(hub.tasks().cancel(&ann(), unknown).await),
        Reason::NotFound
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiting_task_never_goes_out_once_it_is_cancelled() {
    let hub = hub().await;
    drop(agent(&hub, "a"));
    let patient = Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..to("a", "hi")
    };
    let task = hub.tasks().start(patient).await.unwrap();
    until_idle().await;
    hub.tasks().cancel(&ann(), task.id).await.unwrap();
    until_idle().await;
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert!(line.texts().is_empty());
    assert_eq!(state(&task), TaskState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_turn_and_leaves_does_not_give_it_to_a_third() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "one")).await.unwrap();
    until_idle().await;
    line.next().finish(input_required());
    until_idle().await;
    store.hold();
    let caller = ann();
    let first = hub.tasks().cancel(&caller, task.id);
    let others = async {
        until_idle().await;
        for _ in 0..3 {
            tokio::select! {
                biased;
                early = hub.tasks().continue_task(to("a", "two"), &task) => panic!("{early:?}"),
                () = until_idle() => {}
            }
        }
        store.let_go();
    };
    let (first, ()) = tokio::join!(first, others);
    first.unwrap();
}
