//! Order, ends, and what comes too late.

use super::*;
use jackfield_model::Chunk;

fn status(text: &str) -> Event {
    Event::Chunk(Chunk::status(text))
}

#[tokio::test]
async fn events_arrive_in_order_and_the_end_after_them() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    assert_eq!(serving.call().message.joined_text(), "hi");
    for n in 0..100 {
        assert_eq!(serving.push(status(&n.to_string())), Pushed::Room);
    }
    assert!(serving.finish(End::done()));
    let (events, end) = read(&asking);
    assert_eq!(
        events,
        (0..100).map(|n| status(&n.to_string())).collect::<Vec<_>>()
    );
    assert_eq!(end, Some(End::done()));
    assert_eq!(read(&asking), (vec![], None), "the end comes once");
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn unread_text_is_merged_but_not_across_kinds() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    for event in [
        Event::text("a"),
        Event::text("b"),
        status("s"),
        Event::text("c"),
    ] {
        serving.push(event);
    }
    assert_eq!(
        read(&asking).0,
        [Event::text("ab"), status("s"), Event::text("c")]
    );
}

#[tokio::test]
async fn the_agents_end_beats_a_later_cancel() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    assert!(line.next().finish(End::done()));
    let call = asking.call().id;
    assert_eq!(reason(hub.calls().cancel(&ann(), call)), Reason::NotFound);
    assert_eq!(read(&asking).1, Some(End::done()));
    assert!(
        line.cancelled().is_empty(),
        "an agent that has finished is not cancelled"
    );
}

#[tokio::test]
async fn a_cancel_beats_the_agents_later_end() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    serving.push(Event::text("unread"));
    hub.calls().cancel(&ann(), asking.call().id).unwrap();
    assert_eq!(
        line.cancelled(),
        [asking.call().id],
        "the agent is told at once"
    );
    assert!(!serving.finish(End::done()));
    assert_eq!(
        read(&asking),
        (vec![], Some(End::Cancelled)),
        "a cancel discards what is unread"
    );
}

#[tokio::test(start_paused = true)]
async fn a_clock_beats_the_agents_later_end() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    pass(&hub, 121).await;
    assert!(!serving.finish(End::done()));
    assert_eq!(failure(&asking), Reason::Timeout);
    assert_eq!(
        line.cancelled(),
        [asking.call().id],
        "the agent may stop working"
    );
}

#[tokio::test]
async fn done_and_the_agents_failure_come_after_what_is_unread() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let quota = End::Failed(Failure::new(Reason::Agent("quota".into()), "no more"));
    for end in [End::done(), quota] {
        let asking = hub.calls().open(to("a", "hi")).unwrap();
        let serving = line.next();
        serving.push(Event::text("words"));
        serving.finish(end.clone());
        assert_eq!(read(&asking), (vec![Event::text("words")], Some(end)));
    }
}

#[tokio::test]
async fn late_events_are_counted_and_dropped() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let mut watching = hub.taps().watch(ann(), TapFilter::default());
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    drop(asking);
    assert_eq!(serving.push(Event::text("late")), Pushed::Ended);
    assert_eq!(serving.ask(asks::question("q")), Pushed::Ended);
    assert_eq!(metric(&hub, "jackfield_events_late_total"), 2);
    assert!(matches!(watching.next().await.sight, Sight::Started { .. }));
    assert!(matches!(
        watching.next().await.sight,
        Sight::Ended(End::Cancelled)
    ));
    agent(&hub, "b");
    let next = watching.next().await.sight;
    assert!(
        matches!(next, Sight::Online(_)),
        "observers do not see what was dropped: {next:?}"
    );
}

#[tokio::test]
async fn replies_reads_one_call_to_its_end_and_no_further() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let mut replies = hub.calls().open(to("a", "hi")).unwrap().replies();
    let serving = line.next();
    serving.push(status("1"));
    assert_eq!(
        replies.next().await,
        Some(crate::call::Reply::Event(status("1")))
    );
    serving.push(status("2"));
    serving.finish(End::done());
    assert_eq!(
        replies.next().await,
        Some(crate::call::Reply::Event(status("2")))
    );
    assert_eq!(
        replies.next().await,
        Some(crate::call::Reply::End(End::done()))
    );
    assert_eq!(replies.next().await, None);
}
