//! The inbox of an agent that tasks work for: bounded, and closed once.

use super::*;
use crate::inbox::Inbox;

fn attached(hub: &Hub, inbox: &Arc<Inbox>) -> Attached {
    let attached = hub
        .agents()
        .attach(&ann(), &id("a"), Profile::default(), inbox.clone(), false);
    attached.unwrap()
}

#[tokio::test]
async fn an_inbox_that_nobody_empties_takes_no_more_and_goes_on_when_it_is_emptied() {
    let hub = hub_with(|limits| limits.pending_per_agent = 1).await;
    let (inbox, mut calls) = Inbox::new("local", hub.limits(), true);
    let _attached = attached(&hub, &inbox);
    for _ in 0..4 {
        drop(hub.calls().open(to("a", "given up")).unwrap());
    }
    let refused = hub.calls().open(to("a", "one too many")).unwrap();
    assert_eq!(failure(&refused), Reason::Busy);
    for _ in 0..4 {
        assert!(calls.recv().await.unwrap().call().is_ended());
    }
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    calls.recv().await.unwrap().finish(End::done());
    assert_eq!(read(&asking).1, Some(End::done()));
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_that_finds_no_room_is_busy_however_long_it_would_wait_for_its_agent() {
    let hub = hub_with(|limits| limits.pending_per_agent = 1).await;
    let (inbox, _calls) = Inbox::new("local", hub.limits(), true);
    let _attached = attached(&hub, &inbox);
    for _ in 0..4 {
        drop(hub.calls().open(to("a", "given up")).unwrap());
    }
    for wait_online in [None, Some(Duration::from_secs(60))] {
        let request = Request {
            wait_online,
            ..to("a", "one too many")
        };
        let task = hub.tasks().start(request).await.unwrap();
        until_idle().await;
        assert_eq!(state(&task), TaskState::Failed);
        assert_eq!(task.record().failure.unwrap().reason, Reason::Busy);
        assert_nothing_is_open(&hub);
    }
}

#[tokio::test]
async fn the_first_reason_for_which_an_inbox_is_closed_counts() {
    let hub = hub().await;
    let (inbox, _calls) = Inbox::new("local", hub.limits(), true);
    let _old = attached(&hub, &inbox);
    let (newer, _calls) = Inbox::new("local", hub.limits(), true);
    let _new = attached(&hub, &newer);
    inbox.close(Closing::Stopping);
    assert_eq!(inbox.closed().await, Closing::Replaced);
}
