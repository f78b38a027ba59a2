//! Transfer signals, frame by frame.

use jackfield_sdk::{Agent, CallerSignal, SignalError, Signaller};
use jackfield_testkit::SOON;
use serde_json::json;
use tokio::{sync::mpsc, time::timeout};

use crate::bridge::script::ScriptedHub;

type SignalReceiver = mpsc::Receiver<(CallerSignal, Signaller)>;

fn agent() -> (Agent, SignalReceiver) {
    let (sender, signals) = mpsc::channel(16);
    let agent = Agent::new("a")
        .on_message(|_, reply| async move {
            reply.text("x").await?;
            reply.offer_files(json!({"transfer_id": "t", "any": 1}));
            Ok(())
        })
        .on_signal(move |signal, signaller| {
            assert_ne!(signal.signal_type, "panic");
            sender.try_send((signal, signaller)).unwrap();
        });
    (agent, signals)
}

async fn next(signals: &mut SignalReceiver) -> (CallerSignal, Signaller) {
    timeout(SOON, signals.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_signal_is_heard_with_all_that_it_says_and_answered_by_a_frame() {
    let (agent, mut signals) = agent();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.send(json!({"type": "rtc_signal_relay", "transfer_id": "t", "from_agent_id": "b", "signal_type": "panic"}))
        .await;
    wire.send(json!({
        "type": "rtc_signal_relay", "transfer_id": "t", "from_agent_id": "http-caller",
        "signal_type": "offer", "payload": "v=0\r\n", "client_id": "c",
        "ice_servers": [{"urls": "turn:x", "credential": "hunter2"}],
    }))
    .await;
    let (signal, signaller) = next(&mut signals).await;
    assert_eq!(signal.payload.as_deref(), Some("v=0\r\n"));
    assert_eq!(signal.client_id.as_deref(), Some("c"));
    assert_eq!(
        signal.ice_servers.as_ref().unwrap()[0]["credential"],
        "hunter2"
    );
    assert!(!format!("{signal:?}").contains("hunter2"), "{signal:?}");
    signaller
        .send("t", "http-caller", "answer", Some("v=1"))
        .unwrap();
    wire.expect(json!({
        "type": "rtc_signal", "transfer_id": "t", "target_agent_id": "http-caller",
        "signal_type": "answer", "payload": "v=1",
    }))
    .await;
}

#[tokio::test]
async fn signals_work_without_extensions_and_are_not_kept_over_a_cut() {
    let (agent, mut signals) = agent();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.plain().await;
    let relay = json!({"type": "rtc_signal_relay", "transfer_id": "t", "from_agent_id": "b", "signal_type": "candidate", "payload": {"odd": 1}});
    wire.send(relay.clone()).await;
    let (signal, signaller) = next(&mut signals).await;
    assert_eq!(signal.payload.as_deref(), Some(r#"{"odd":1}"#));
    drop(wire);
    // The next connection exists but isn't confirmed, so it doesn't count.
    let (mut wire, _) = script.greet().await;
    assert_eq!(
        signaller.send("t", "b", "late", None),
        Err(SignalError::Cut)
    );
    wire.send(json!({"type": "registered", "status": "ok"}))
        .await;
    wire.send(relay).await;
    next(&mut signals).await;
    signaller.send("t", "b", "again", None).unwrap();
    wire.expect(json!({"type": "rtc_signal", "transfer_id": "t", "target_agent_id": "b", "signal_type": "again"}))
        .await;
}

#[tokio::test]
async fn the_offer_stands_in_the_frame_that_ends_the_answer() {
    let (agent, _signals) = agent();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.plain().await;
    wire.message("r", "go").await;
    assert_eq!(wire.frame().await["type"], "chunk");
    let done = wire.frame().await;
    assert_eq!(
        done["file_transfer_offer"],
        json!({"transfer_id": "t", "any": 1})
    );
}
