//! The two lives of a call, and the byte budget that both live on.

use super::*;
use jackfield_model::{Chunk, Done, Input, Part};

use crate::gate::{Gate, Reading};

const KIB: usize = 1 << 10;

/// A status, since those are not merged.
fn block(bytes: usize) -> Event {
    Event::Chunk(Chunk::status("x".repeat(bytes)))
}

/// Pushes until the pipe is full.
fn fill(serving: &AgentHandle) {
    while serving.push(block(64 * KIB)) == Pushed::Room {}
}

#[tokio::test]
async fn dropping_the_agents_end_without_an_end_means_offline() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    serving.push(Event::text("half an ans"));
    drop(serving);
    assert_eq!(read(&asking).0, [Event::text("half an ans")]);
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn an_agent_that_leaves_before_it_said_anything_is_not_said_to_have_worked() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let told = |asking: &CallerHandle| match read(asking).1 {
        Some(End::Failed(failure)) => failure,
        other => panic!("it has not failed: {other:?}"),
    };
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    drop(line.next());
    assert_eq!(told(&asking), Failure::agent_left_silent());
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    serving.push(Event::text("half an ans"));
    drop(serving);
    assert_eq!(told(&asking), Failure::agent_left());
}

#[tokio::test]
async fn a_lost_live_reader_cancels_at_the_agent_at_once() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let (call, serving) = (asking.call().id, line.next());
    drop(asking);
    assert_eq!(line.cancelled(), [call]);
    assert!(!serving.finish(End::done()));
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reader_of_a_kept_call_changes_nothing() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let mut reader = task.subscribe(None);
    reader.next().await.unwrap();
    drop(reader);
    let serving = line.next();
    assert_eq!(serving.push(Event::text("on")), Pushed::Room);
    assert!(serving.finish(End::done()));
    until_idle().await;
    assert!(line.cancelled().is_empty());
    assert_eq!(state(&task), TaskState::Completed);
}

#[tokio::test]
async fn a_call_that_cannot_be_handed_over_fails_offline() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    line.is_dead.store(true, Ordering::Release);
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    assert_eq!(failure(&asking), Reason::Offline);
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn a_full_reply_shuts_the_gate_until_it_is_half_read() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let (serving, gate) = (line.next(), Arc::new(Gate::default()));
    serving.gated(gate.clone());
    fill(&serving);
    assert_eq!(gate.reading(), Reading::Shut);
    let mut events = Vec::new();
    asking.take(&mut events, 300 * KIB);
    assert_eq!(gate.reading(), Reading::Shut, "more than half is left");
    asking.take(&mut events, 300 * KIB);
    assert_eq!(gate.reading(), Reading::Free);
}

#[tokio::test]
async fn an_overrun_live_reader_is_dropped_and_its_unread_discarded() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    let pushes = (0..)
        .take_while(|_| serving.push(block(256 * KIB)) != Pushed::Overrun)
        .count();
    assert!(
        (31..=32).contains(&pushes),
        "8 MiB were taken, not {pushes} quarters"
    );
    let (events, end) = read(&asking);
    assert!(events.is_empty());
    assert!(matches!(end, Some(End::Failed(failure)) if failure.reason == Reason::SlowReader));
    assert_eq!(line.cancelled(), [asking.call().id]);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_full_reply_of_which_nothing_is_taken_for_30_seconds_has_lost_its_reader() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    fill(&serving);
    pass(&hub, 29).await;
    asking.take(&mut Vec::new(), 1);
    pass(&hub, 30).await;
    assert!(!asking.call().is_ended(), "something was taken in between");
    pass(&hub, 2).await;
    assert_eq!(failure(&asking), Reason::SlowReader);
}

#[tokio::test(start_paused = true)]
async fn a_limit_below_a_second_does_not_fail_calls_that_are_not_full() {
    let hub = hub_with(|limits| limits.pipe_stalled = Span::millis(500)).await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let _serving = line.next();
    pass(&hub, 3).await;
    assert!(!asking.call().is_ended());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_read_its_input_is_given_up_too() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    line.signs.store(1000, Ordering::Release);
    let asking = hub
        .calls()
        .open(Request {
            streamed: true,
            ..to("a", "hi")
        })
        .unwrap();
    let _serving = line.next();
    let gate = Arc::new(Gate::default());
    asking.gated(gate.clone());
    while asking.say(Input::Chunk("x".repeat(100 * KIB))) == Pushed::Room {}
    assert_eq!(gate.reading(), Reading::Shut);
    pass(&hub, 31).await;
    assert_eq!(failure(&asking), Reason::SlowReader);
}

#[tokio::test]
async fn input_beyond_every_measure_ends_the_call() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub
        .calls()
        .open(Request {
            streamed: true,
            ..to("a", "hi")
        })
        .unwrap();
    let _serving = line.next();
    while asking.say(Input::Chunk("x".repeat(1000 * KIB))) != Pushed::Overrun {}
    assert_eq!(failure(&asking), Reason::SlowReader);
}

#[tokio::test]
async fn new_calls_are_busy_while_all_pipes_together_hold_too_much() {
    let hub = hub_with(|limits| limits.pipes_total = Size::mib(1)).await;
    let (_a, line) = agent(&hub, "a");
    let first = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    fill(&serving);
    // Its agent was told to pause, and says more all the same.
    assert_eq!(serving.push(block(128 * KIB)), Pushed::Full);
    let busy = hub
        .calls()
        .open(to("a", "hi"))
        .map(|asking| asking.call().id);
    assert_eq!(reason(busy), Reason::Busy);
    read(&first);
    let second = hub.calls().open(to("a", "hi")).unwrap();
    drop((first, second, serving, line.next()));
    assert_eq!(hub.shared().budget.used(), 0);
}

/// Bob's request.
fn of_bob(name: &str, text: &str) -> Request {
    Request {
        principal: bob(),
        ..to(name, text)
    }
}

#[tokio::test]
async fn an_owner_whose_agents_are_deaf_does_not_make_the_calls_of_others_busy() {
    let hub = hub_with(|limits| limits.pipes_total = Size::mib(16)).await;
    let (_a, line) = agent(&hub, "a");
    let bobs = Line::new();
    let _b = attach_as(&hub, &bob(), "b", &bobs, false).unwrap();
    let large = "x".repeat(1024 * KIB);
    let taken: Vec<_> = (0..32)
        .map_while(|_| hub.calls().open(to("a", &large)).ok())
        .collect();
    assert_eq!(taken.len(), 8, "half of it all");
    assert_eq!(reason(hub.calls().open(to("a", &large))), Reason::Busy);
    let others = hub.calls().open(of_bob("b", &large)).unwrap();
    let serving = bobs.next();
    assert_eq!(serving.push(block(1000 * KIB)), Pushed::Room);
    assert!(!others.call().is_ended());
    drop(taken);
    line.mail.lock().clear();
    assert!(hub.calls().open(to("a", &large)).is_ok());
}

#[tokio::test]
async fn replies_that_nobody_reads_take_no_more_than_a_fair_share() {
    let hub = hub_with(|limits| limits.pipes_total = Size::mib(3)).await;
    let (_a, line) = agent(&hub, "a");
    let open: Vec<_> = (0..60)
        .map(|_| (hub.calls().open(to("a", "hi")).unwrap(), line.next()))
        .collect();
    let push = |serving: &AgentHandle| serving.push(block(60 * KIB));
    let pushed: Vec<_> = open.iter().map(|(_, serving)| push(serving)).collect();
    assert_eq!(pushed[0], Pushed::Room);
    let paced = pushed.iter().position(|pushed| *pushed == Pushed::Full);
    let given_up = pushed.iter().position(|pushed| *pushed == Pushed::Overrun);
    assert!(paced.is_some() && paced < given_up, "{pushed:?}");
    let used = hub.shared().budget.used();
    assert!(used <= 1700 * KIB, "about half: {used}");
    // Whoever reads again is not paced any more.
    let (asking, _) = &open[paced.unwrap()];
    read(asking);
    assert!(!asking.call().reply.is_full());
    drop(open);
    assert_eq!(hub.shared().budget.used(), 0);
}

#[tokio::test]
async fn an_end_counts_until_it_is_read() {
    let hub = hub_with(|limits| limits.pipes_total = Size::mib(4)).await;
    let (_a, line) = agent(&hub, "a");
    let done = || {
        End::Done(Box::new(Done {
            result: Some("x".repeat(1024 * KIB)),
            ..Done::default()
        }))
    };
    let asked: Vec<_> = (0..4)
        .map(|_| hub.calls().open(to("a", "hi")).unwrap())
        .collect();
    for _ in &asked {
        line.next().finish(done());
    }
    assert!(hub.shared().budget.used() >= 1024 * KIB);
    let ends: Vec<_> = asked.iter().map(|asking| read(asking).1.unwrap()).collect();
    assert_eq!(ends[0], done());
    assert!(
        matches!(&ends[3], End::Failed(failure) if failure.reason == Reason::SlowReader),
        "its caller held as much as it may"
    );
    assert!(hub.shared().budget.used() < 64 * KIB, "all were read");
}

#[tokio::test]
async fn pipes_that_were_read_do_not_keep_the_budget() {
    let hub = hub_with(|limits| limits.pipes_total = Size::mib(1)).await;
    let (_a, line) = agent(&hub, "a");
    let open: Vec<_> = (0..20)
        .map(|_| {
            let asking = hub
                .calls()
                .open(to("a", "hi"))
                .expect("all that is open was read");
            let serving = line.next();
            serving.push(block(100 * KIB));
            read(&asking);
            (asking, serving)
        })
        .collect();
    assert_eq!(open.len(), 20);
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused() {
    let hub = hub_with(|limits| limits.message = Size::kib(1)).await;
    let (_a, line) = agent(&hub, "a");
    assert_eq!(
        reason(hub.calls().open(to("a", &"x".repeat(2000)))),
        Reason::TooLarge
    );
    assert!(line.texts().is_empty());
}

#[tokio::test]
async fn the_messages_of_open_calls_count_as_long_as_they_are_open() {
    let hub = hub_with(|limits| limits.pipes_total = Size::mib(1)).await;
    let (_a, line) = agent(&hub, "a");
    let large = to("a", &"x".repeat(1024 * KIB));
    let first = hub.calls().open(large).unwrap();
    assert_eq!(reason(hub.calls().open(to("a", "hi"))), Reason::Busy);
    line.next().finish(End::done());
    drop(first);
    assert_eq!(hub.shared().budget.used(), 0);
    assert!(hub.calls().open(to("a", "hi")).is_ok());
}

#[tokio::test]
async fn a_message_of_many_empty_parts_is_over_the_limit_too() {
    let hub = hub_with(|limits| limits.message = Size::kib(1)).await;
    let (_a, _line) = agent(&hub, "a");
    let empty = vec![Part::Text(String::new()); 1000];
    let message = Message {
        parts: empty,
        ..Message::default()
    };
    let request = Request::new(ann(), "own", id("a"), message);
    assert_eq!(reason(hub.calls().open(request)), Reason::TooLarge);
}
