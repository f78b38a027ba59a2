//! Killed around the `202`.

use std::collections::BTreeSet;

use tokio::task::JoinSet;

use crate::kill::{
    agent::{Agent, text},
    hub::Hub,
    platform::{patient, relay},
    receiver::{Deliveries, Receiver},
};

/// Rules *accepted* and *unsent*.
#[tokio::test]
async fn what_was_accepted_for_an_agent_that_is_away_goes_out_when_it_registers() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    Agent::register(&hub, "amy").await.leave(&hub).await;
    let request = patient(relay("amy", "r1", &receiver.url()));
    hub.platform().relay(&request).await;
    let hub = hub.kill().await.start().await;
    let status = hub.platform().status("amy", "r1").await;
    assert_eq!(status["status"], "running", "{status}");
    let mut amy = Agent::register(&hub, "amy").await;
    amy.expect("r1").await;
    amy.done("r1", "answer").await;
    let post = receiver.next().await;
    post.assert_signed(&hub.callback_key());
    let deliveries = post.body();
    assert_eq!(
        (&deliveries["status"], &deliveries["result"]),
        (&"completed".into(), &"answer".into())
    );
    post.ok().await;
    let status = hub.platform().status("amy", "r1").await;
    assert_eq!(status["result"], "answer", "{status}");
}

/// Rule *unsent*: queued messages behind another of their session were not sent either.
#[tokio::test]
async fn what_waited_for_its_turn_goes_out_when_its_agent_registers() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    let platform = hub.platform();
    for request in ["r1", "r2"] {
        let mut relay = relay("amy", request, &receiver.url());
        relay["session_id"] = "one".into();
        platform.relay(&relay).await;
    }
    assert_eq!(amy.message().await, "r1");
    let hub = hub.kill().await.start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    assert_eq!(amy.message().await, "r2", "r1 is never run twice");
    amy.done("r2", "answer").await;
    let mut deliveries = Deliveries::default();
    while deliveries.len() < 2 {
        let post = receiver.next().await;
        deliveries.note(&post);
        post.ok().await;
    }
    assert_eq!(deliveries.of("r1").unwrap()["error_code"], "agent_offline");
    assert_eq!(deliveries.of("r2").unwrap()["result"], "answer");
}

/// Rule *accepted*. For a request without a response, both outcomes are right: accepted and processed, or unknown.
#[tokio::test]
async fn a_request_in_flight_is_accepted_or_never_was_but_not_in_between() {
    const POSTED: usize = 60;
    const HEARD: usize = 5;
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    Agent::register(&hub, "amy").await.leave(&hub).await;
    let mut requests = JoinSet::new();
    for number in 0..POSTED {
        let request = format!("r{number}");
        let relay = patient(relay("amy", &request, &receiver.url()));
        let platform = hub.platform();
        requests.spawn(async move {
            // A killed hub accepts no connections.
            let requests = platform
                .send("POST", "/api/relay", Some(&relay))
                .await
                .ok()?;
            let (status, answer) = requests.answer().await?;
            assert_eq!(status, 202, "{answer}");
            Some(request)
        });
    }
    let mut accepted = BTreeSet::new();
    while accepted.len() < HEARD {
        let answered = requests.join_next().await.expect("more of them").unwrap();
        accepted.extend(answered);
    }
    let hub = hub.kill().await.start().await;
    while let Some(answered) = requests.join_next().await {
        accepted.extend(answered.unwrap());
    }
    let tasks = hub.platform().tasks().await;
    let there: BTreeSet<String> = tasks.iter().map(|task| text(task, "request_id")).collect();
    assert_eq!(there.len(), tasks.len(), "none is there twice");
    let lost: Vec<_> = accepted.difference(&there).collect();
    assert!(lost.is_empty(), "{lost:?} were accepted");

    let mut amy = Agent::register(&hub, "amy").await;
    let mut seen = BTreeSet::new();
    for _ in &there {
        let request = amy.message().await;
        amy.done(&request, "answer").await;
        assert!(seen.insert(request), "each is run once");
    }
    assert_eq!(seen, there);
    let mut deliveries = Deliveries::default();
    while deliveries.len() < there.len() {
        let post = receiver.next().await;
        assert_eq!(post.body()["status"], "completed");
        assert!(deliveries.note(&post), "this hub was not killed");
        post.ok().await;
    }
    hub.platform()
        .relay(&relay("amy", "last", &receiver.url()))
        .await;
    amy.expect("last").await;
}
