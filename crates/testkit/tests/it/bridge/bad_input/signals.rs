//! Transfer signals: without a receiver, without a transfer, and far too many.

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use super::Bystander;
use crate::bridge::{AMY, BOB, NOBODY};

/// The number of signals that the hub must survive.
const MANY: usize = 10_000;
/// Number of signals sent before their responses are read.
const BATCH: usize = 100;

fn signal(target: &str, transfer: &str, number: usize, payload: &str) -> String {
    json!({"type": "rtc_signal", "transfer_id": transfer, "target_agent_id": target, "signal_type": "candidate", "payload": payload, "n": number})
        .to_string()
}

/// The signal that begins a transfer; its sender becomes one of the two parties.
fn announced(target: &str, transfer: &str) -> Value {
    let offer = json!({"transfer_id": transfer, "zip_size": 9, "zip_sha256": "0".repeat(64), "file_count": 1});
    json!({"type": "rtc_signal", "transfer_id": transfer, "target_agent_id": target, "signal_type": "prepare-upload", "payload": offer.to_string()})
}

/// Begins a transfer with an agent, which receives the signal.
async fn begin(from: &mut Raw, to: &mut Raw, target: &str, transfer: &str) {
    from.send(announced(target, transfer)).await;
    assert_eq!(to.frame().await["signal_type"], "prepare-upload");
}

/// Sends signals while reading the responses. Returns the number of refused signals.
async fn send_all(agent: &mut Raw, signals: impl Iterator<Item = String>) -> usize {
    let signals: Vec<_> = signals.collect();
    let mut refused = 0;
    for batch in signals.chunks(BATCH) {
        for text in batch {
            assert!(agent.feed_text(text.clone()).await);
        }
        assert!(agent.flush().await);
        agent
            .send(json!({"type": "discover_agents", "capability": "a fence"}))
            .await;
        loop {
            let frame = agent.frame().await;
            if frame["type"] == "discover_agents_result" {
                break;
            }
            // The error is about capacity, not about an unknown agent.
            assert_eq!(
                (&frame["type"], &frame["code"], &frame["frame_type"]),
                (&json!("error"), &json!("agent_busy"), &json!("rtc_signal")),
                "{frame}"
            );
            refused += 1;
        }
    }
    refused
}

async fn poll(hub: &TestHub, transfer: &str) -> Vec<Value> {
    let poll = json!({"transfer_id": transfer, "signal_type": "poll"});
    let (status, answer) = hub
        .platform()
        .post(&format!("/api/rtc-signal/{AMY}"), poll)
        .await;
    assert_eq!(status, 200);
    answer["signals"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_transfer_that_nobody_began_is_empty_and_a_signal_to_nobody_is_refused() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    assert_eq!(poll(&hub, "unknown").await, [] as [Value; 0]);
    let signal = json!({"transfer_id": "t", "signal_type": "offer", "payload": "x"});
    let (status, refused) = hub
        .platform()
        .post(&format!("/api/rtc-signal/{NOBODY}"), signal)
        .await;
    assert_eq!((status, &refused["error"]), (404, &json!("agent_offline")));
    amy.send(announced(NOBODY, "t")).await;
    amy.expect_error(
        json!({"code": "agent_offline", "frame_type": "rtc_signal", "field": "target_agent_id"}),
    )
    .await;
    // Without an announcement there is no transfer, and the error doesn't reveal which agents
    // exist.
    amy.send_text(self::signal(NOBODY, "t", 0, "x")).await;
    amy.expect_error(
        json!({"code": "auth_failed", "frame_type": "rtc_signal", "field": "transfer_id"}),
    )
    .await;
}

#[tokio::test]
async fn ten_thousand_signals_for_an_http_caller_leave_only_what_it_can_fetch() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    let mut amy = hub.bridge(AMY).await;
    let one_transfer = (0..MANY).map(|number| signal("http-caller", "t", number, "x"));
    assert_eq!(send_all(&mut amy, one_transfer).await, MANY - 50);
    let kept = poll(&hub, "t").await;
    assert_eq!(kept.len(), 50);
    assert_eq!(kept[0], json!({"signal_type": "candidate", "payload": "x"}));
    let transfers =
        (0..MANY).map(|number| signal("http-caller", &format!("t-{number}"), number, "x"));
    // The earlier transfer is one of the hundred.
    assert_eq!(send_all(&mut amy, transfers).await, MANY - 99);
    assert_eq!(poll(&hub, "t-98").await.len(), 1);
    assert_eq!(poll(&hub, "t-99").await.len(), 0);
    // A disconnected agent's signals are dropped.
    let mut watch = hub.watch(AMY);
    amy.close().await;
    watch.until_offline().await;
    assert_eq!(poll(&hub, "t-0").await.len(), 0);
    bystander.is_undisturbed().await;
}

#[tokio::test]
async fn ten_thousand_signals_reach_an_agent_that_reads_them_in_order() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    let (mut amy, mut bob) = (hub.bridge(AMY).await, hub.bridge(BOB).await);
    begin(&mut amy, &mut bob, BOB, "t").await;
    for first in (0..MANY).step_by(BATCH) {
        let numbers = first..first + BATCH;
        let signals = numbers.clone().map(|number| signal(BOB, "t", number, "x"));
        assert_eq!(send_all(&mut amy, signals).await, 0);
        for number in numbers {
            assert_eq!(bob.frame().await["n"], number);
        }
    }
    bystander.is_undisturbed().await;
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_sent_no_more_signals_than_fit() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    let mut amy = hub.bridge(AMY).await;
    let mut bob = Raw::connect_narrow(hub.addr(), &format!("/ws?agent_id={BOB}")).await;
    bob.send(jackfield_testkit::bridge_register(BOB)).await;
    bob.expect(json!({"type": "registered", "status": "ok"}))
        .await;
    begin(&mut amy, &mut bob, BOB, "t").await;
    // Far more than sockets and hub hold: some 10 MB.
    let payload = "x".repeat(1000);
    let signals = (0..MANY).map(|number| signal(BOB, "t", number, &payload));
    let refused = send_all(&mut amy, signals).await;
    assert!(refused > MANY / 2, "only {refused} were refused");
    // The received signals are complete and in order, and the agent stays usable.
    for number in 0..10 {
        assert_eq!(bob.frame().await["n"], number);
    }
    bystander.is_undisturbed().await;
}
