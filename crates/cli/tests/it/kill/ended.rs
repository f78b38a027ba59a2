//! Killed right after the agent wrote the end.

use crate::kill::{
    agent::Agent,
    hub::Hub,
    platform::relay,
    receiver::{Deliveries, Receiver},
};

/// Number of tasks that end at once.
const TASKS: usize = 24;

fn request(number: usize) -> String {
    format!("r{number}")
}

/// Writes the ends of many tasks; the hub may have read and committed any number of them.
async fn ended(hub: &Hub, receiver: &Receiver) {
    let mut amy = Agent::register(hub, "amy").await;
    let platform = hub.platform();
    for number in 0..TASKS {
        let relay = relay("amy", &request(number), &receiver.url());
        platform.relay(&relay).await;
        amy.expect(&request(number)).await;
    }
    for number in 0..TASKS {
        amy.done(&request(number), "answer").await;
    }
}

/// Checks that every task has one end, the same in the task list and in the callback.
async fn assert_each_has_one_end(hub: &Hub, receiver: &mut Receiver, mut deliveries: Deliveries) {
    let mut amy = Agent::register(hub, "amy").await;
    while deliveries.len() < TASKS {
        let post = receiver.next().await;
        deliveries.note(&post);
        post.ok().await;
    }
    let platform = hub.platform();
    for number in 0..TASKS {
        let request = request(number);
        let status = platform.status("amy", &request).await;
        let deliveries = deliveries.of(&request).expect("each was told");
        assert_eq!(status["status"], deliveries["status"], "{status}");
        match deliveries["status"].as_str() {
            Some("completed") => assert_eq!(
                (&status["result"], &deliveries["result"]),
                (&"answer".into(), &"answer".into())
            ),
            Some("failed") => assert_eq!(
                (&status["error_code"], &deliveries["error_code"]),
                (&"agent_offline".into(), &"agent_offline".into())
            ),
            other => panic!("{other:?} is no end"),
        }
    }
    assert_eq!(platform.tasks().await.len(), TASKS);
    platform.relay(&relay("amy", "next", &receiver.url())).await;
    amy.expect("next").await;
}

/// Rules *outbox* and *the rest*: an end is committed, or the task fails; never neither, never both.
#[tokio::test]
async fn an_end_that_was_just_written_counts_or_the_task_fails() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    ended(&hub, &receiver).await;
    let hub = hub.kill().await.start().await;
    assert_each_has_one_end(&hub, &mut receiver, Deliveries::default()).await;
}

/// The same after some callbacks: a reported end never changes.
#[tokio::test]
async fn an_end_that_was_told_stays() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    ended(&hub, &receiver).await;
    let mut deliveries = Deliveries::default();
    for _ in 0..TASKS / 4 {
        let post = receiver.next().await;
        deliveries.note(&post);
        post.ok().await;
    }
    let hub = hub.kill().await.start().await;
    assert_each_has_one_end(&hub, &mut receiver, deliveries).await;
}
