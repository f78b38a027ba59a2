//! An agent that may resume keeps its open calls for the grace; new ones wait for it.

use super::*;

fn leave(mut attached: Attached) {
    attached.set_resumable(true);
    drop(attached);
}

#[tokio::test(start_paused = true)]
async fn a_cut_agent_that_comes_back_in_time_goes_on() {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "one")).unwrap();
    let cut = line.next();
    cut.push(Event::text("one "));
    leave(attached);
    // The connection goes with all it held; the call does not.
    drop(cut);
    pass(&hub, 29).await;
    assert!(!asking.call().is_ended());
    let waiting = hub.calls().open(to("a", "two")).unwrap();
    let new_line = Line::new();
    let mut new = resume(&hub, "a", &new_line);
    let serving = new.adopted.pop().unwrap();
    assert_eq!(new_line.texts(), ["two"], "new calls waited");
    pass(&hub, 5).await;
    serving.push(Event::text("two"));
    serving.finish(End::done());
    assert_eq!(
        read(&asking),
        (vec![Event::text("one two")], Some(End::done()))
    );
    assert!(new_line.next().finish(End::done()));
    assert_eq!(read(&waiting).1, Some(End::done()));
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn after_the_grace_all_that_waited_fails_offline() {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    let open = hub.calls().open(to("a", "one")).unwrap();
    let _cut = line.next();
    leave(attached);
    let waiting = hub.calls().open(to("a", "two")).unwrap();
    let kept = hub.tasks().start(to("a", "three")).await.unwrap();
    pass(&hub, 31).await;
    assert_eq!(
        (failure(&open), failure(&waiting)),
        (Reason::Offline, Reason::Offline)
    );
    assert_eq!(state(&kept), TaskState::Failed);
    assert_eq!(reason(hub.calls().open(to("a", "four"))), Reason::Offline);
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn an_agent_that_cannot_resume_fails_its_calls_when_it_leaves() {
    let hub = hub().await;
    let (attached, _line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    drop(attached);
    assert_eq!(failure(&asking), Reason::Offline);
    assert_eq!(reason(hub.calls().open(to("a", "hi"))), Reason::Offline);
}

#[tokio::test]
async fn one_that_comes_back_without_resuming_fails_what_was_open_and_takes_what_waited() {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    let open = hub.calls().open(to("a", "one")).unwrap();
    let _cut = line.next();
    leave(attached);
    let waiting = hub.calls().open(to("a", "two")).unwrap();
    let (new, new_line) = agent(&hub, "a");
    assert!(new.adopted.is_empty());
    assert_eq!(failure(&open), Reason::Offline);
    assert_eq!(new_line.texts(), ["two"]);
    assert!(!waiting.call().is_ended());
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_that_was_being_written_down_waits_for_the_grace_too() {
    let store = Arc::new(slow_store::SlowStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (attached, _line) = agent(&hub, "a");
    store.hold();
    let started = slow_store::begin(&hub, to("a", "hi"));
    until_idle().await;
    leave(attached);
    store.let_go();
    let task = started.done().await.unwrap();
    until_idle().await;
    assert!(!state(&task).is_final(), "it waits: {:?}", task.record());
    assert!(!task.record().sent, "and is on record as not sent");
    let new_line = Line::new();
    let new = resume(&hub, "a", &new_line);
    assert!(new.adopted.is_empty());
    until_idle().await;
    assert!(new_line.next().finish(End::done()));
    until_idle().await;
    assert_eq!(state(&task), TaskState::Completed);
}

#[tokio::test]
async fn a_cancel_during_the_grace_ends_the_call_and_nothing_is_adopted() {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let _cut = line.next();
    leave(attached);
    hub.calls().cancel(&ann(), asking.call().id).unwrap();
    let new = resume(&hub, "a", &Line::new());
    assert!(new.adopted.is_empty());
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_patient_kept_call_survives_a_line_that_dies_under_it() {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    line.is_dead.store(true, Ordering::Release);
    let patient = Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..to("a", "hi")
    };
    let task = hub.tasks().start(patient).await.unwrap();
    until_idle().await;
    assert!(!state(&task).is_final() && !task.record().sent);
    drop(attached);
    let (_new, new_line) = agent(&hub, "a");
    until_idle().await;
    assert!(new_line.next().finish(End::done()));
    until_idle().await;
    assert_eq!(state(&task), TaskState::Completed);
}
