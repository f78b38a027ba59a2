//! One session, one call at a time, at agents that cannot tell requests apart.

use super::{slow_store::begin, *};

fn patient(session: &str, text: &str) -> Request {
    Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..in_session(session, to("a", text))
    }
}

fn ask_for(hub: &Hub, session: &str, text: &str) -> CallerHandle {
    hub.calls()
        .open(in_session(session, to("a", text)))
        .unwrap()
}

#[tokio::test]
async fn calls_of_one_session_go_one_at_a_time_and_in_order() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let calls: Vec<_> = (0..4).map(|n| ask_for(&hub, "s", &n.to_string())).collect();
    for n in 0..4 {
        assert_eq!(line.texts(), [n.to_string()]);
        if n % 2 == 0 {
            assert!(line.next().finish(End::done()));
        } else {
            drop(line.next());
        }
    }
    assert!(calls.iter().all(|asking| asking.call().is_ended()));
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn different_sessions_go_in_parallel() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let _calls = [
        ask_for(&hub, "s", "1"),
        ask_for(&hub, "t", "2"),
        ask_for(&hub, "s", "3"),
    ];
    assert_eq!(line.texts(), ["1", "2"]);
}

#[tokio::test]
async fn agents_that_tell_requests_apart_get_them_all() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let _calls = [ask_for(&hub, "s", "1"), ask_for(&hub, "s", "2")];
    assert_eq!(line.texts(), ["1", "2"]);
}

#[tokio::test]
async fn a_cancelled_queued_call_leaves_the_queue_and_the_agent_never_hears_of_it() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let (_one, two, _three) = (
        ask_for(&hub, "s", "1"),
        ask_for(&hub, "s", "2"),
        ask_for(&hub, "s", "3"),
    );
    two.cancel();
    assert!(line.cancelled().is_empty());
    line.next().finish(End::done());
    assert_eq!(line.texts(), ["3"]);
}

#[tokio::test]
async fn the_queue_goes_on_at_a_newer_connection() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let (_one, _two, _three) = (
        ask_for(&hub, "s", "1"),
        ask_for(&hub, "s", "2"),
        ask_for(&hub, "s", "3"),
    );
    let _stale = line.next();
    let newer = Line::one_at_a_time();
    let _b = attach(&hub, "a", &newer);
    assert_eq!(newer.texts(), ["2"], "the first failed with its connection");
    newer.next().finish(End::done());
    assert_eq!(newer.texts(), ["3"]);
}

#[tokio::test]
async fn a_newer_connection_that_can_tell_requests_apart_gets_the_whole_queue() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let (one, _two, _three) = (
        ask_for(&hub, "s", "1"),
        ask_for(&hub, "s", "2"),
        ask_for(&hub, "s", "3"),
    );
    let (newer, _stale) = (Line::new(), line.next());
    let mut b = resume(&hub, "a", &newer);
    assert_eq!(newer.texts(), ["2", "3"]);
    b.adopted.pop().unwrap().finish(End::done());
    assert_eq!(read(&one).1, Some(End::done()));
    while let Some(serving) = newer.try_next() {
        serving.finish(End::done());
    }
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn calls_that_were_open_side_by_side_do_not_let_the_queue_jump_ahead() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let (_one, _two) = (ask_for(&hub, "s", "1"), ask_for(&hub, "s", "2"));
    let _stale = [line.next(), line.next()];
    let newer = Line::one_at_a_time();
    let mut b = resume(&hub, "a", &newer);
    let (_three, _four) = (ask_for(&hub, "s", "3"), ask_for(&hub, "s", "4"));
    assert!(newer.texts().is_empty());
    for serving in b.adopted.drain(..) {
        serving.finish(End::done());
    }
    assert_eq!(newer.texts(), ["3"], "one at a time again");
}

#[tokio::test]
async fn a_queue_whose_head_ends_during_the_grace_waits_in_order() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let mut a = attach(&hub, "a", &line);
    let one = ask_for(&hub, "s", "1");
    let _queued = [ask_for(&hub, "s", "2"), ask_for(&hub, "s", "3")];
    let _cut = line.next();
    a.set_resumable(true);
    drop(a);
    let _later = ask_for(&hub, "s", "4");
    one.cancel();
    let newer = Line::one_at_a_time();
    let _b = resume(&hub, "a", &newer);
    for text in ["2", "3", "4"] {
        assert_eq!(newer.texts(), [text]);
        newer.next().finish(End::done());
    }
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_that_lost_its_turn_with_the_agent_gets_it_back_first() {
    let store = Arc::new(slow_store::SlowStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let line = Line::one_at_a_time();
    let a = attach(&hub, "a", &line);
    store.hold();
    let first = begin(&hub, patient("s", "1"));
    until_idle().await;
    let second = begin(&hub, patient("s", "2"));
    until_idle().await;
    drop(a);
    store.let_go();
    let tasks = [first.done().await.unwrap(), second.done().await.unwrap()];
    until_idle().await;
    let newer = Line::one_at_a_time();
    let _b = attach(&hub, "a", &newer);
    for text in ["1", "2"] {
        until_idle().await;
        assert_eq!(newer.texts(), [text]);
        newer.next().finish(End::done());
    }
    until_idle().await;
    assert!(tasks.iter().all(|task| state(task) == TaskState::Completed));
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_keeps_its_turn_when_the_agent_is_back_before_it_was_written_down() {
    let store = Arc::new(slow_store::SlowStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let a = attach(&hub, "a", &Line::one_at_a_time());
    store.hold();
    let first = begin(&hub, patient("s", "1"));
    until_idle().await;
    drop(a);
    let newer = Line::one_at_a_time();
    let _b = attach(&hub, "a", &newer);
    let _second = ask_for(&hub, "s", "2");
    assert!(newer.texts().is_empty(), "the kept call has its turn");
    store.let_go();
    first.done().await.unwrap();
    until_idle().await;
    assert_eq!(newer.texts(), ["1"]);
    newer.next().finish(End::done());
    assert_eq!(newer.texts(), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn a_queued_call_that_times_out_does_not_hold_up_the_next() {
    let hub = hub_with(|limits| limits.idle_live = Span::secs(3600)).await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let (_one, two) = (ask_for(&hub, "s", "1"), ask_for(&hub, "s", "2"));
    pass(&hub, 300).await;
    let _three = ask_for(&hub, "s", "3");
    pass(&hub, 301).await;
    assert_eq!(failure(&two), Reason::Timeout);
    line.next().finish(End::done());
    assert_eq!(line.texts(), ["3"]);
}
