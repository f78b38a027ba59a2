//! The newest connection of an agent wins, and what its predecessor does later is harmless.

use super::*;
use crate::{
    gate::{Gate, Reading},
    resume::AttachMode,
};

#[tokio::test]
async fn the_newest_connection_wins_and_the_old_ones_calls_fail_offline() {
    let hub = hub().await;
    let (old, old_line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "one")).unwrap();
    let stale = old_line.next();
    let (_new, new_line) = agent(&hub, "a");
    assert_eq!(old_line.closed(), [Closing::Replaced]);
    assert_eq!(failure(&asking), Reason::Offline);
    assert_eq!(stale.push(Event::text("late")), Pushed::Ended);
    assert!(!stale.finish(End::done()));
    drop(old);
    let _second = hub.calls().open(to("a", "two")).unwrap();
    assert_eq!(new_line.texts(), ["two"]);
    assert!(old_line.texts().is_empty());
    assert_eq!(metric(&hub, "jackfield_agents_online"), 1);
}

#[tokio::test]
async fn a_late_close_keeps_the_newer_connection() {
    let hub = hub().await;
    let (old, _old_line) = agent(&hub, "a");
    let (new, new_line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    drop(old);
    assert!(new.entry().view().online);
    assert!(new_line.next().finish(End::done()));
    assert_eq!(read(&asking).1, Some(End::done()));
}

#[tokio::test]
async fn a_resuming_connection_goes_on_with_the_open_calls() {
    let hub = hub().await;
    let (old, old_line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let stale = old_line.next();
    stale.push(Event::text("one "));
    let new_line = Line::new();
    let mut new = resume(&hub, "a", &new_line);
    let serving = new.adopted.pop().unwrap();
    assert!(
        new.adopted.is_empty() && new_line.texts().is_empty(),
        "adopted, not sent again"
    );
    assert_eq!(stale.push(Event::text("stale")), Pushed::Ended);
    assert_eq!(stale.ask(asks::question("stale")), Pushed::Ended);
    assert!(!stale.finish(End::done()), "a stale end does not end it");
    drop(old);
    assert_eq!(serving.push(Event::text("two")), Pushed::Room);
    assert!(serving.call().open_asks(&ann()).is_empty());
    assert!(serving.finish(End::done()));
    assert_eq!(
        read(&asking),
        (vec![Event::text("one two")], Some(End::done()))
    );
}

#[tokio::test]
async fn dropping_a_stale_end_does_not_end_a_resumed_call() {
    let hub = hub().await;
    let (_old, old_line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let stale = old_line.next();
    let new = resume(&hub, "a", &Line::new());
    drop(stale);
    assert!(!asking.call().is_ended());
    drop(new);
    assert_eq!(
        failure(&asking),
        Reason::Offline,
        "adopted by nobody in the end"
    );
}

#[tokio::test]
async fn a_stale_connection_cannot_take_the_pipe_back_by_its_gate() {
    let hub = hub().await;
    let (_old, old_line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let stale = old_line.next();
    let mut new = resume(&hub, "a", &Line::new());
    let serving = new.adopted.pop().unwrap();
    let (old_gate, new_gate) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    serving.gated(new_gate.clone());
    stale.gated(old_gate.clone());
    assert_eq!(stale.push(Event::text("stale")), Pushed::Ended);
    assert_eq!(serving.push(Event::text("x".repeat(1 << 20))), Pushed::Full);
    assert_eq!(
        (old_gate.reading(), new_gate.reading()),
        (Reading::Free, Reading::Shut)
    );
    assert_eq!(read(&asking).0.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stale_connection_gives_no_signs_of_life() {
    let hub = hub().await;
    let (_old, old_line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let stale = old_line.next();
    let _new = resume(&hub, "a", &Line::new());
    for _ in 0..121 {
        stale.push(Event::text("stale"));
        pass(&hub, 1).await;
    }
    assert_eq!(failure(&asking), Reason::Timeout);
}

#[tokio::test(start_paused = true)]
async fn more_than_three_replacements_a_minute_hold_the_id_for_a_minute() {
    let hub = hub().await;
    let mut attached = vec![attach(&hub, "a", &Line::new())];
    let last = Line::new();
    for _ in 0..2 {
        attached.push(attach(&hub, "a", &Line::new()));
    }
    attached.push(attach(&hub, "a", &last));
    let refused = attach_as(&hub, &ann(), "a", &Line::new(), false);
    assert_eq!(reason(refused), Reason::RateLimited);
    assert!(last.closed().is_empty(), "who is there stays");
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(
        reason(attach_as(&hub, &ann(), "a", &Line::new(), false)),
        Reason::RateLimited
    );
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(attach_as(&hub, &ann(), "a", &Line::new(), false).is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_id_is_held_only_while_somebody_has_it() {
    let hub = hub().await;
    let mut attached: Vec<_> = (0..4).map(|_| attach(&hub, "a", &Line::new())).collect();
    let refused = attach_as(&hub, &ann(), "a", &Line::new(), false).unwrap_err();
    assert!(refused.text.contains("60 s more"), "{refused:?}");
    drop(attached.pop());
    attach(&hub, "a", &Line::new());
}

#[tokio::test(start_paused = true)]
async fn slow_replacements_never_hold_the_id() {
    let hub = hub().await;
    let mut attached = Vec::new();
    for _ in 0..10 {
        attached.push(attach(&hub, "a", &Line::new()));
        tokio::time::advance(Duration::from_secs(21)).await;
    }
    assert_eq!(attached.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_that_was_not_sent_yet_goes_to_the_newer_connection() {
    let store = Arc::new(slow_store::SlowStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_old, old_line) = agent(&hub, "a");
    store.hold();
    let starting = slow_store::begin(&hub, to("a", "hi"));
    until_idle().await;
    let (_new, new_line) = agent(&hub, "a");
    store.let_go();
    let task = starting.done().await.unwrap();
    until_idle().await;
    assert!(old_line.texts().is_empty());
    assert!(new_line.next().finish(End::done()));
    until_idle().await;
    assert_eq!(state(&task), TaskState::Completed);
}

#[tokio::test]
async fn a_forgotten_agent_is_told_to_go_and_all_its_calls_fail() {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    let live = hub.calls().open(to("a", "one")).unwrap();
    hub.agents()
        .forget(&ann(), &id("a"))
        .unwrap()
        .await
        .unwrap();
    assert_eq!(line.closed(), [Closing::Revoked]);
    assert_eq!(failure(&live), Reason::Offline);
    drop(attached);
    assert_eq!(reason(hub.calls().open(to("a", "two"))), Reason::NotFound);
    let line = Line::new();
    assert!(
        attach_as(&hub, &bob(), "a", &line, false).is_ok(),
        "the id is free"
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_forgotten_agent() {
    let hub = hub().await;
    drop(agent(&hub, "a"));
    let patient = Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..to("a", "hi")
    };
    let task = hub.tasks().start(patient).await.unwrap();
    hub.agents()
        .forget(&ann(), &id("a"))
        .unwrap()
        .await
        .unwrap();
    until_idle().await;
    assert_eq!(state(&task), TaskState::Failed);
    let (_bobs, line) = (
        attach_as(&hub, &bob(), "a", &Line::new(), false).unwrap(),
        Line::new(),
    );
    until_idle().await;
    assert!(
        line.texts().is_empty(),
        "and its next owner does not get the mail"
    );
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn who_finds_an_agent_just_before_it_is_forgotten_comes_too_late() {
    let hub = hub().await;
    let (attached, _line) = agent(&hub, "a");
    let entry = attached.entry().clone();
    hub.agents()
        .forget(&ann(), &id("a"))
        .unwrap()
        .await
        .unwrap();
    let late: Arc<dyn Link> = Line::new();
    assert_eq!(
        reason(entry.take(&late, Profile::default(), AttachMode::Fresh)),
        Reason::Conflict
    );
    assert!(!entry.view().online);
    assert_eq!(metric(&hub, "jackfield_agents_online"), 0);
}
