//! Killed after a message was written to an agent that can't resume.

use serde_json::json;

use crate::kill::{
    agent::Agent,
    hub::Hub,
    platform::{patient, relay},
    receiver::{Post, Receiver},
};

/// Checks the callback of a task whose agent had the message when the hub was killed.
fn assert_offline(post: &Post, request: &str) {
    let told = post.body();
    let expected = json!({
        "request_id": request, "status": "failed", "error_code": "agent_offline",
        "error_message": "the hub was restarted while the agent was working",
    });
    assert_eq!(told, expected);
}

/// Checks that the agent gets no earlier message again: its next message is the new one.
async fn assert_nothing_is_run_twice(hub: &Hub, agent: &mut Agent, receiver: &Receiver) {
    let next = relay("amy", "next", &receiver.url());
    hub.platform().relay(&next).await;
    agent.expect("next").await;
}

/// Rule *the rest*.
#[tokio::test]
async fn a_message_that_the_agent_has_seen_fails_offline_and_is_never_run_twice() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    hub.platform()
        .relay(&relay("amy", "r1", &receiver.url()))
        .await;
    amy.expect("r1").await;
    let hub = hub.kill().await.start().await;
    amy.gone().await;
    let mut amy = Agent::register(&hub, "amy").await;
    let post = receiver.next().await;
    post.assert_signed(&hub.callback_key());
    assert_offline(&post, "r1");
    post.ok().await;
    let status = hub.platform().status("amy", "r1").await;
    assert_eq!(status["error_code"], "agent_offline", "{status}");
    assert_nothing_is_run_twice(&hub, &mut amy, &receiver).await;
}

/// Rule *the rest*: the hub doesn't know whether the agent read the message, and doesn't send it twice.
#[tokio::test]
async fn a_message_that_the_agent_may_have_seen_fails_offline_and_is_never_run_twice() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let _amy = Agent::register(&hub, "amy").await;
    hub.platform()
        .relay(&relay("amy", "r1", &receiver.url()))
        .await;
    let hub = hub.kill().await.start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    let post = receiver.next().await;
    assert_offline(&post, "r1");
    post.ok().await;
    assert_nothing_is_run_twice(&hub, &mut amy, &receiver).await;
}

/// Rule *the rest*: accepted as unsent, and sent later, which is committed before the agent gets the
/// message.
#[tokio::test]
async fn a_message_that_waited_for_its_agent_is_never_run_twice_either() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    Agent::register(&hub, "amy").await.leave(&hub).await;
    let request = patient(relay("amy", "r1", &receiver.url()));
    hub.platform().relay(&request).await;
    let mut amy = Agent::register(&hub, "amy").await;
    amy.expect("r1").await;
    let hub = hub.kill().await.start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    let post = receiver.next().await;
    assert_offline(&post, "r1");
    post.ok().await;
    assert_nothing_is_run_twice(&hub, &mut amy, &receiver).await;
}

/// Rule *the rest*: the agent wrote half an answer.
#[tokio::test]
async fn half_an_answer_is_none() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    let platform = hub.platform();
    platform.relay(&relay("amy", "r1", &receiver.url())).await;
    platform.relay(&relay("amy", "r2", &receiver.url())).await;
    for request in ["r1", "r2"] {
        amy.expect(request).await;
        amy.chunk(request, "half an ").await;
    }
    // The hub reads an agent's frames in order: once it has the end of one answer, it has the half of the other.
    amy.done("r2", "whole").await;
    let whole = receiver.next().await;
    assert_eq!(whole.body()["result"], "whole");
    whole.ok().await;
    let hub = hub.kill().await.start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    loop {
        let post = receiver.next().await;
        // The first post may not have been stored as delivered.
        if post.request() == "r1" {
            assert_offline(&post, "r1");
            break;
        }
        post.ok().await;
    }
    assert_nothing_is_run_twice(&hub, &mut amy, &receiver).await;
}

/// Rule *the rest*, for an agent that stays away: the hub waits as long as after a cut.
#[tokio::test]
async fn a_message_of_an_agent_that_never_comes_back_fails_offline() {
    let mut receiver = Receiver::start();
    let hub = Hub::start_with("[limits]\nresume_grace = \"1s\"\n").await;
    let mut amy = Agent::register(&hub, "amy").await;
    hub.platform()
        .relay(&relay("amy", "r1", &receiver.url()))
        .await;
    amy.expect("r1").await;
    let _hub = hub.kill().await.start().await;
    let post = receiver.next().await;
    assert_offline(&post, "r1");
    post.ok().await;
}

/// Rule *the rest*, three times over: an end never changes.
#[tokio::test]
async fn a_hub_that_is_killed_over_and_over_says_the_same_of_a_task() {
    let mut receiver = Receiver::start();
    let mut hub = Hub::start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    hub.platform()
        .relay(&relay("amy", "r1", &receiver.url()))
        .await;
    amy.expect("r1").await;
    let mut keys = Vec::new();
    for _ in 0..3 {
        hub = hub.kill().await.start().await;
        let _amy = Agent::register(&hub, "amy").await;
        let post = receiver.next().await;
        assert_offline(&post, "r1");
        keys.push(post.key().to_owned());
    }
    keys.dedup();
    assert_eq!(keys.len(), 1, "{keys:?}");
}
