//! Killed while a dialled A2A server works on a task: rule *sent*.

use jackfield_testkit::{Events, SOON};
use serde_json::json;

use crate::kill::{
    agent::Agent,
    hub::Hub,
    platform::{patient, relay},
    receiver::Receiver,
    server::{ProtocolVersion, Server},
};

/// A hub whose server has sent `one `, which is stored.
async fn half_answered(server: &Server, receiver: &Receiver) -> Hub {
    let hub = Hub::start_with(&server.config()).await;
    Agent::register(&hub, "bob").await.leave(&hub).await;
    let platform = hub.platform();
    platform
        .relay(&patient(relay("far", "r1", &receiver.url())))
        .await;
    server.wait_for_message().await;
    server.add_text("one ");
    let path = "/api/relay/events?agent_id=far&request_id=r1";
    let request = reqwest::Client::new()
        .get(format!("http://{}{path}", hub.addr))
        .header("x-platform-secret", &platform.secret);
    let mut events = Events::of(request).await;
    while events.next().await["delta"] != "one " {}
    // The store writes in order: once this task is stored, everything before it is too.
    platform
        .relay(&patient(relay("bob", "r2", &receiver.url())))
        .await;
    hub
}

async fn assert_answered(receiver: &mut Receiver, result: &str) {
    let post = receiver.next().await;
    let report = post.body();
    assert_eq!(
        (&report["request_id"], &report["status"], &report["result"]),
        (&json!("r1"), &json!("completed"), &json!(result)),
        "{report}"
    );
    post.ok().await;
}

#[tokio::test]
async fn an_answer_that_is_still_being_said_goes_on_with_nothing_lost_or_doubled() {
    for version in [ProtocolVersion::New, ProtocolVersion::Old] {
        let mut receiver = Receiver::start();
        let server = Server::start(version).await;
        let stopped_hub = half_answered(&server, &receiver).await.kill().await;
        server.add_text("two ");
        let _hub = stopped_hub.start().await;
        server.add_text("three");
        server.ends();
        assert_answered(&mut receiver, "one two three").await;
        let methods = server.methods();
        let sent = methods.iter().filter(|method| method.contains("essage"));
        assert_eq!(sent.count(), 1, "{methods:?}");
    }
}

#[tokio::test]
async fn an_answer_that_ended_while_the_hub_was_away_is_fetched() {
    for version in [ProtocolVersion::New, ProtocolVersion::Old] {
        let mut receiver = Receiver::start();
        let server = Server::start(version).await;
        let stopped_hub = half_answered(&server, &receiver).await.kill().await;
        server.add_text("two");
        server.ends();
        let hub = stopped_hub.start().await;
        assert_answered(&mut receiver, "one two").await;
        // The stored end survives another kill.
        let hub = hub.kill().await.start().await;
        let status = hub.platform().status("far", "r1").await;
        assert_eq!(status["result"], "one two", "{status}");
    }
}

#[tokio::test]
async fn a_server_that_forgot_the_task_fails_it_and_that_is_told() {
    let mut receiver = Receiver::start();
    let server = Server::start(ProtocolVersion::New).await;
    let stopped_hub = half_answered(&server, &receiver).await.kill().await;
    server.forgets();
    let _hub = stopped_hub.start().await;
    let post = receiver.next().await;
    let report = post.body();
    let why = report["error_message"].as_str().unwrap_or_default();
    assert!(
        why.contains("restarted") && why.contains("no such task"),
        "{report}"
    );
    post.ok().await;
}

#[tokio::test]
async fn a_server_that_is_away_for_a_while_is_waited_for() {
    let mut receiver = Receiver::start();
    let mut server = Server::start(ProtocolVersion::New).await;
    let stopped_hub = half_answered(&server, &receiver).await.kill().await;
    server.leaves().await;
    let mut hub = stopped_hub.start().await;
    hub.says("remote cannot be called").await;
    server.add_text("two");
    server.ends();
    server.returns().await;
    assert_answered(&mut receiver, "one two").await;
}

/// SIGTERM leaves the task to the next hub, and the server isn't cancelled.
#[tokio::test]
async fn a_hub_that_stops_leaves_the_work_to_the_next_one() {
    let mut receiver = Receiver::start();
    let server = Server::start(ProtocolVersion::New).await;
    let hub = half_answered(&server, &receiver).await;
    let stopped = tokio::time::timeout(SOON, hub.stop()).await;
    let stopped_hub = stopped.expect("nobody waits for the server");
    server.add_text("two");
    let _hub = stopped_hub.start().await;
    server.ends();
    assert_answered(&mut receiver, "one two").await;
    let methods = server.methods();
    assert!(
        !methods.iter().any(|method| method == "CancelTask"),
        "{methods:?}"
    );
}
