//! SIGTERM: the same rules as for a kill, and ends that are known before the restart are reported before the restart.

use crate::kill::{
    agent::Agent,
    hub::Hub,
    platform::{patient, relay},
    receiver::{Deliveries, Receiver},
};

/// Don't wait for agents when stopping.
const NO_GRACE: &str = "[limits]\nstop_grace = \"0s\"\n";

/// Rules *unsent* and *the rest*.
#[tokio::test]
async fn a_hub_that_stops_keeps_what_it_has_not_sent_and_fails_what_it_has() {
    let mut receiver = Receiver::start();
    let hub = Hub::start_with(NO_GRACE).await;
    Agent::register(&hub, "bob").await.leave(&hub).await;
    let mut amy = Agent::register(&hub, "amy").await;
    let platform = hub.platform();
    for request in ["working", "behind it"] {
        let mut relay = relay("amy", request, &receiver.url());
        relay["session_id"] = "one".into();
        platform.relay(&relay).await;
    }
    let waiting = patient(relay("bob", "waiting", &receiver.url()));
    platform.relay(&waiting).await;
    assert_eq!(amy.message().await, "working");
    let hub = hub.stop().await.start().await;

    let mut deliveries = Deliveries::default();
    let post = receiver.next().await;
    deliveries.note(&post);
    post.ok().await;
    let failed = deliveries
        .of("working")
        .expect("the only one that has ended");
    assert_eq!(failed["error_code"], "agent_offline", "{failed}");
    let mut amy = Agent::register(&hub, "amy").await;
    assert_eq!(amy.message().await, "behind it");
    amy.done("behind it", "answer").await;
    let mut bob = Agent::register(&hub, "bob").await;
    bob.expect("waiting").await;
    bob.done("waiting", "answer").await;
    while deliveries.len() < 3 {
        let post = receiver.next().await;
        // The stop may have cut the first callback before its response was stored.
        deliveries.note(&post);
        post.ok().await;
    }
    for request in ["behind it", "waiting"] {
        assert_eq!(deliveries.of(request).unwrap()["result"], "answer");
    }
}

/// Rule *outbox*: an agent's answer during the stop counts, and is reported by this hub or the next.
#[tokio::test]
async fn an_answer_that_comes_while_the_hub_stops_counts() {
    let mut receiver = Receiver::start();
    let mut hub = Hub::start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    hub.platform()
        .relay(&relay("amy", "r1", &receiver.url()))
        .await;
    amy.expect("r1").await;
    hub.terminate();
    hub.says("stopping").await;
    amy.done("r1", "in time").await;
    amy.gone().await;
    let _hub = hub.stop().await.start().await;
    let post = receiver.next().await;
    assert_eq!(post.body()["result"], "in time");
    post.ok().await;
}

/// Rule *outbox*.
#[tokio::test]
async fn a_callback_that_a_stop_cuts_off_comes_again_under_its_key() {
    let mut receiver = Receiver::start();
    let hub = Hub::start_with(NO_GRACE).await;
    let mut amy = Agent::register(&hub, "amy").await;
    hub.platform()
        .relay(&relay("amy", "r1", &receiver.url()))
        .await;
    amy.expect("r1").await;
    amy.done("r1", "answer").await;
    let cut = receiver.next().await;
    let _hub = hub.stop().await.start().await;
    let again = receiver.next().await;
    assert_eq!((again.key(), again.body()), (cut.key(), cut.body()));
    again.ok().await;
}
