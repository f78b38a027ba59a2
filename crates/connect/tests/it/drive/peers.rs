//! Files between agents: one that speaks raw frames of the bridge, and one that is connected.

use std::fs;

use jackfield_connect::drivers::exec::Format;
use jackfield_model::Offer;
use jackfield_testkit::Raw;
use jackfield_transfer::{
    ArchiveLimits, ArchivePart, ChannelError, ConflictPolicy, pack, receive,
    rtc::{self, RtcOptions, SignalKind, Signalling},
    send, unpack,
};
use serde_json::{Value, json};

use crate::drive::rig::Rig;

/// What amy says to bob about a transfer, and bob to her.
struct Signals<'a> {
    amy: &'a mut Raw,
    transfer: &'a str,
}

impl Signals<'_> {
    async fn say(&mut self, kind: &str, payload: &str) {
        let signal = json!({
            "type": "rtc_signal", "transfer_id": self.transfer, "target_agent_id": "bob",
            "signal_type": kind, "payload": payload,
        });
        self.amy.send(signal).await;
    }

    async fn hear(&mut self) -> (String, String) {
        let heard = self.amy.frame().await;
        assert_eq!(
            (&heard["type"], &heard["from_agent_id"]),
            (&json!("rtc_signal_relay"), &json!("bob")),
            "{heard}"
        );
        let text = |name: &str| heard[name].as_str().unwrap().to_owned();
        (text("signal_type"), text("payload"))
    }
}

impl Signalling for Signals<'_> {
    async fn send(&mut self, kind: SignalKind, payload: String) -> Result<(), ChannelError> {
        self.say(kind.as_str(), &payload).await;
        Ok(())
    }

    async fn next(&mut self) -> Option<(SignalKind, String)> {
        let (kind, payload) = self.hear().await;
        Some((kind.parse().unwrap(), payload))
    }
}

/// The words and the end of a call of bob for files.
async fn called(amy: &mut Raw, call_id: &str) -> (String, Value) {
    let call = json!({
        "type": "call_agent", "target_agent_id": "bob", "task_description": "go",
        "call_id": call_id, "with_files": true,
    });
    amy.send(call).await;
    let mut words = String::new();
    loop {
        let frame = amy.frame().await;
        assert_eq!(frame["call_id"], call_id, "{frame}");
        match frame["type"].as_str().unwrap() {
            "call_agent_chunk" => words += frame["delta"].as_str().unwrap(),
            "call_agent_done" => return (words, frame),
            other => panic!("{other}: {frame}"),
        }
    }
}

#[tokio::test]
async fn an_agent_gets_the_files_that_a_connected_one_makes_for_it() {
    let rig = Rig::start().await;
    let _bob = rig.shell("echo content > made.txt; echo made").await;
    let mut amy = rig.hub.bridge("amy").await;
    let (words, done) = called(&mut amy, "c1").await;
    assert_eq!(words, "made\n");
    let offer: Offer = serde_json::from_value(done["file_transfer_offer"].clone()).unwrap();
    let mut signals = Signals {
        amy: &mut amy,
        transfer: &offer.transfer_id,
    };
    let mut channel = rtc::call(&mut signals, &RtcOptions::default())
        .await
        .unwrap();
    let here = tempfile::tempdir().unwrap();
    let part = ArchivePart::open(here.path(), &offer, ArchiveLimits::default())
        .await
        .unwrap();
    let archive = receive(&mut channel, part, |_, _| {}).await.unwrap();
    let out = here.path().join("out");
    fs::create_dir(&out).unwrap();
    unpack(
        &archive,
        &out,
        ConflictPolicy::Replace,
        ArchiveLimits::default(),
    )
    .await
    .unwrap();
    assert_eq!(
        fs::read_to_string(out.join("made.txt")).unwrap(),
        "content\n"
    );
}

#[tokio::test]
async fn an_agent_sends_files_ahead_to_a_connected_one_which_finds_them_in_its_next_call() {
    let rig = Rig::start().await;
    let _bob = rig.command(&["cat", "sent.txt"], Format::Text).await;
    let mut amy = rig.hub.bridge("amy").await;
    let here = tempfile::tempdir().unwrap();
    fs::write(here.path().join("sent.txt"), "from amy").unwrap();
    let packed = pack(here.path(), ArchiveLimits::default(), &[])
        .await
        .unwrap();
    let bundle = packed.bundle.unwrap();
    let offer = bundle.offer();
    let mut signals = Signals {
        amy: &mut amy,
        transfer: &offer.transfer_id,
    };
    let announced = json!(offer).to_string();
    signals.say("prepare-upload", &announced).await;
    let prepared = ("prepared".to_owned(), r#"{"received":0}"#.to_owned());
    assert_eq!(signals.hear().await, prepared);
    let mut channel = rtc::call(&mut signals, &RtcOptions::default())
        .await
        .unwrap();
    send(&mut channel, &bundle, 0, |_, _| {}).await.unwrap();
    // Addresses that were not needed may come before it.
    let received = loop {
        match signals.hear().await {
            (kind, _) if kind == "candidate" => {}
            heard => break heard,
        }
    };
    assert_eq!(received.0, "received", "{}", received.1);
    let (words, _) = called(&mut amy, "c1").await;
    assert_eq!(words, "from amy");
    assert!(!rig.project().join("sent.txt").exists());
}
