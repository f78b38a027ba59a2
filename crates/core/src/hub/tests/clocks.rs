//! The clocks of live and kept calls, and who may set them.

use super::*;
use crate::call::Patience;

const HOUR: u64 = 3600;

fn patience(idle: Option<u64>, absolute: Option<u64>) -> Patience {
    Patience {
        idle: idle.map(Duration::from_secs),
        absolute: absolute.map(Duration::from_secs),
    }
}

/// After how many seconds the call ended, if it did within `most`.
async fn lasts(hub: &Hub, call: &Arc<Call>, most: u64) -> Option<u64> {
    for second in 1..=most {
        tokio::time::advance(Duration::from_secs(1)).await;
        hub.sweep(Instant::now());
        if call.is_ended() {
            return Some(second);
        }
    }
    None
}

#[tokio::test(start_paused = true)]
async fn a_live_call_may_be_silent_for_two_minutes_and_a_chunk_resets_that() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    pass(&hub, 119).await;
    serving.push(Event::text("still here"));
    assert_eq!(
        lasts(&hub, asking.call(), 200).await,
        Some(121),
        "seen at the first look, then 120 s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_may_be_silent_for_five_minutes() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let _serving = line.next();
    assert_eq!(lasts(&hub, &task.call().unwrap(), 400).await, Some(300));
    until_idle().await;
    assert_eq!(task.record().failure.unwrap().reason, Reason::Timeout);
    assert_eq!(line.cancelled().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_of_the_line_reset_the_idle_clock_but_not_the_absolute_one() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let _serving = line.next();
    line.signs.store(i64::MAX, Ordering::Release);
    assert_eq!(lasts(&hub, asking.call(), 2 * HOUR).await, Some(HOUR));
    assert_eq!(failure(&asking), Reason::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_lasts_a_day_at_most() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let _serving = line.next();
    line.signs.store(i64::MAX, Ordering::Release);
    assert_eq!(
        lasts(&hub, &task.call().unwrap(), 25 * HOUR).await,
        Some(24 * HOUR)
    );
}

#[tokio::test(start_paused = true)]
async fn the_idle_clock_stands_still_while_the_reply_is_full() {
    let hub = hub_with(|limits| limits.pipe_stalled = Span::secs(500)).await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    serving.push(Event::text("x".repeat(2 << 20)));
    assert_eq!(lasts(&hub, asking.call(), 400).await, None);
}

#[tokio::test(start_paused = true)]
async fn clocks_start_when_the_call_is_handed_over_and_a_queue_holds_ten_minutes() {
    let hub = hub_with(|limits| limits.idle_live = Span::secs(1000)).await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let first = hub.calls().open(in_session("s", to("a", "1"))).unwrap();
    let second = hub.calls().open(in_session("s", to("a", "2"))).unwrap();
    pass(&hub, 590).await;
    line.next().finish(End::done());
    assert!(first.call().is_ended());
    let third = hub.calls().open(in_session("s", to("a", "3"))).unwrap();
    assert_eq!(lasts(&hub, third.call(), 700).await, Some(600));
    assert!(
        !second.call().is_ended(),
        "its own time began when it was sent"
    );
    assert_eq!(lasts(&hub, second.call(), 700).await, Some(400));
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_waits_for_its_agent_as_long_as_the_caller_said() {
    let hub = hub().await;
    drop(agent(&hub, "a"));
    assert_eq!(
        reason(hub.tasks().start(to("a", "hi")).await),
        Reason::Offline,
        "or not at all"
    );
    let wait_online = Some(Duration::from_secs(8 * HOUR));
    let task = hub
        .tasks()
        .start(Request {
            wait_online,
            ..to("a", "hi")
        })
        .await
        .unwrap();
    assert_eq!(
        lasts(&hub, &task.call().unwrap(), 9 * HOUR).await,
        Some(8 * HOUR)
    );
    until_idle().await;
    assert_eq!(task.record().failure.unwrap().reason, Reason::Offline);
}

#[tokio::test(start_paused = true)]
async fn what_is_set_for_an_agent_goes_before_the_hub_and_what_the_caller_says_before_both() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let settings = Settings {
        idle: Some(Span::secs(10)),
        absolute: Some(Span::secs(20)),
        ..Settings::default()
    };
    hub.agents()
        .change(&ann(), &id("a"), None, Some(settings))
        .unwrap();
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    assert_eq!(lasts(&hub, asking.call(), 100).await, Some(10));
    let asking = hub
        .calls()
        .open(Request {
            patience: patience(Some(15), None),
            ..to("a", "hi")
        })
        .unwrap();
    assert_eq!(lasts(&hub, asking.call(), 100).await, Some(15));
    line.signs.store(i64::MAX, Ordering::Release);
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    assert_eq!(lasts(&hub, asking.call(), 100).await, Some(20));
    let asking = hub
        .calls()
        .open(Request {
            patience: patience(None, Some(30)),
            ..to("a", "hi")
        })
        .unwrap();
    assert_eq!(lasts(&hub, asking.call(), 100).await, Some(30));
}

#[tokio::test(start_paused = true)]
async fn nobody_can_ask_for_so_much_time_that_the_clock_breaks() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let (_b, _) = agent(&hub, "b");
    let forever = Some(Duration::MAX);
    let endless = Request {
        patience: patience(Some(u64::MAX), Some(u64::MAX)),
        wait_online: forever,
        ..to("a", "hi")
    };
    let asking = hub.calls().open(endless.clone()).unwrap();
    let _serving = line.next();
    pass(&hub, 2).await;
    let child = Request {
        principal: ann().as_agent(id("a")),
        parent: Parent::Call(asking.call().id),
        ..to("b", "hi")
    };
    assert!(hub.calls().open(child).is_ok());
    let task = hub.tasks().start(endless).await.unwrap();
    assert!(task.record().wait_until.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_sweeper_looks_every_second_by_itself() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let mut replies = hub.calls().open(to("a", "hi")).unwrap().replies();
    let _serving = line.next();
    let start = Instant::now();
    let end = tokio::select! {
        () = hub.sweep_forever() => None,
        reply = replies.next() => reply,
    };
    assert!(matches!(end, Some(crate::call::Reply::End(End::Failed(_)))));
    assert_eq!(start.elapsed().as_secs(), 120);
}
