//! File transfers between two agents: a raw bridge client and a connected agent.

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

use crate::drive::fixture::Fixture;

/// Signals about a transfer between `amy` and `bob`.
struct Signals<'a> {
    amy: &'a mut Raw,
    transfer: &'a str,
}

impl Signals<'_> {
    async fn send_signal(&mut self, kind: &str, payload: &str) {
        let signal = json!({
            "type": "rtc_signal", "transfer_id": self.transfer, "target_agent_id": "bob",
            "signal_type": kind, "payload": payload,
        });
        self.amy.send(signal).await;
    }

    async fn next_signal(&mut self) -> (String, String) {
        let frame = self.amy.frame().await;
        assert_eq!(
            (&frame["type"], &frame["from_agent_id"]),
            (&json!("rtc_signal_relay"), &json!("bob")),
            "{frame}"
        );
        let text = |name: &str| frame[name].as_str().unwrap().to_owned();
        (text("signal_type"), text("payload"))
    }
}

impl Signalling for Signals<'_> {
    async fn send(&mut self, kind: SignalKind, payload: String) -> Result<(), ChannelError> {
        self.send_signal(kind.as_str(), &payload).await;
        Ok(())
    }

    async fn next(&mut self) -> Option<(SignalKind, String)> {
        let (kind, payload) = self.next_signal().await;
        Some((kind.parse().unwrap(), payload))
    }
}

/// Returns the text and the end of `bob`'s call for files.
async fn call_for_files(amy: &mut Raw, call_id: &str) -> (String, Value) {
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
    let fixture = Fixture::start().await;
    let _bob = fixture.shell("echo content > made.txt; echo made").await;
    let mut amy = fixture.hub.bridge("amy").await;
    let (words, done) = call_for_files(&mut amy, "c1").await;
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
    let fixture = Fixture::start().await;
    let _bob = fixture.command(&["cat", "sent.txt"], Format::Text).await;
    let mut amy = fixture.hub.bridge("amy").await;
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
    signals.send_signal("prepare-upload", &announced).await;
    let prepared = ("prepared".to_owned(), r#"{"received":0}"#.to_owned());
    assert_eq!(signals.next_signal().await, prepared);
    let mut channel = rtc::call(&mut signals, &RtcOptions::default())
        .await
        .unwrap();
    send(&mut channel, &bundle, 0, |_, _| {}).await.unwrap();
    // Candidates that were not needed may come first.
    let received = loop {
        match signals.next_signal().await {
            (kind, _) if kind == "candidate" => {}
            other => break other,
        }
    };
    assert_eq!(received.0, "received", "{}", received.1);
    let (words, _) = call_for_files(&mut amy, "c1").await;
    assert_eq!(words, "from amy");
    assert!(!fixture.project().join("sent.txt").exists());
}
