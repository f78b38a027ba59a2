//! Lying agents, malicious archives and unauthorised callers: a clear error, and no files left
//! behind.

use std::fs;

use jackfield_testkit::{Raw, TestHub};
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{CLIENT, left_over};
use crate::run::{Cli, Running};

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The checksum of `hi`.
const CRC: u32 = 0xd893_2aac;

/// An archive of a single stored file. Size and checksum may be false.
fn archive(name: &str, size: u32, crc: u32, content: &[u8]) -> Vec<u8> {
    let name_len = u16::try_from(name.len()).unwrap().to_le_bytes();
    let packed = u32::try_from(content.len()).unwrap().to_le_bytes();
    let mut fields = vec![20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0x5a];
    fields.extend(crc.to_le_bytes());
    fields.extend(packed);
    fields.extend(size.to_le_bytes());
    fields.extend(name_len);
    fields.extend([0, 0]);
    let mut zip = b"PK\x03\x04".to_vec();
    zip.extend(&fields);
    zip.extend(name.bytes());
    zip.extend(content);
    let directory = u32::try_from(zip.len()).unwrap();
    zip.extend(b"PK\x01\x02\x14\x03");
    zip.extend(&fields);
    zip.extend([0; 14]);
    zip.extend(name.bytes());
    let length = u32::try_from(zip.len()).unwrap() - directory;
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend(length.to_le_bytes());
    zip.extend(directory.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

/// An offer of these bytes.
fn offer(bytes: &[u8]) -> Value {
    json!({"transfer_id": "t-1", "zip_size": bytes.len(), "zip_sha256": hash(bytes), "file_count": 1})
}

/// Calls `eve` for files, through the hub.
fn call(cli: &Cli) -> Running {
    call_via(cli, "hub")
}

fn call_via(cli: &Cli, via: &str) -> Running {
    cli.start(&[
        "call",
        "eve",
        "go",
        "--with-files",
        "--client",
        CLIENT,
        "--out",
        "got",
        "--via",
        via,
    ])
}

/// Sends an offer as `eve`.
async fn offers(eve: &mut Raw, offer: &Value) {
    let request = eve.expect_message("go").await;
    eve.send(json!({"type": "done", "request_id": request, "file_transfer_offer": offer}))
        .await;
}

/// Waits for the request for the archive at `eve`. Returns the offset and the upload ticket.
async fn requested(eve: &mut Raw) -> (usize, String) {
    let frame = eve.frame().await;
    assert_eq!(frame["signal_type"], "relay", "{frame}");
    let payload_json: Value = serde_json::from_str(frame["payload"].as_str().unwrap()).unwrap();
    let offset = usize::try_from(payload_json["offset"].as_u64().unwrap()).unwrap();
    (offset, payload_json["ticket"].as_str().unwrap().to_owned())
}

async fn sends(hub: &TestHub, ticket: &str, bytes: &[u8]) {
    let path = format!("/v1/transfers/{ticket}");
    let sent = hub.web().ask(Method::PUT, &path).body(bytes.to_vec());
    // The hub's response doesn't matter here.
    sent.send().await.unwrap();
}

#[tokio::test]
async fn what_is_not_what_was_offered_or_attacks_leaves_nothing() {
    // The checksum is wrong, which only unpacking detects.
    let plain = archive("a.txt", 2, !CRC, b"hi");
    let changed = |field: &str, value: Value| {
        let mut offer = offer(&plain);
        offer[field] = value;
        offer
    };
    let traversal = archive("../evil.txt", 2, CRC, b"hi");
    let bomb = archive("bomb", u32::MAX, CRC, b"hi");
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    for (offered, sent, says) in [
        (
            changed("zip_sha256", json!(hash(b"other"))),
            &plain,
            "SHA-256",
        ),
        (changed("file_count", json!(2)), &plain, "refused"),
        (offer(&traversal), &traversal, "evil.txt"),
        (offer(&bomb), &bomb, "refused"),
        (offer(&plain), &plain, "a.txt"),
    ] {
        let called = call(&cli);
        offers(&mut eve, &offered).await;
        let (offset, ticket) = requested(&mut eve).await;
        assert_eq!(offset, 0);
        sends(&hub, &ticket, sent).await;
        let refused = called
            .end()
            .await
            .code(6)
            .stderr_has("the files are refused")
            .stderr_has(says);
        assert!(refused.err.contains("nothing was unpacked"), "{refused:?}");
        assert!(!cli.home().join("got").exists(), "{refused:?}");
        assert!(!cli.home().join("evil.txt").exists(), "{refused:?}");
        assert_eq!(left_over(&cli), Vec::<String>::new(), "{refused:?}");
    }
}

#[tokio::test]
async fn an_offer_of_more_than_is_taken_is_refused_before_anything_comes() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    for (field, value) in [("zip_size", 200 << 20), ("file_count", 5000)] {
        let mut large = offer(b"x");
        large[field] = json!(value + 1);
        let called = call(&cli);
        offers(&mut eve, &large).await;
        called.end().await.code(6).stderr_has("limit");
        assert_eq!(left_over(&cli), Vec::<String>::new());
    }
    eve.expect_no_bridge_frame().await;
}

#[tokio::test]
async fn an_agent_that_sends_less_than_it_offered_is_given_up_after_some_tries() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let bytes = archive("a.txt", 2, CRC, b"hi");
    let called = call(&cli);
    offers(&mut eve, &offer(&bytes)).await;
    let half = &bytes[..bytes.len() / 2];
    for _ in 0..5 {
        let (offset, ticket) = requested(&mut eve).await;
        sends(&hub, &ticket, &half[offset.min(half.len())..]).await;
    }
    let given_up = called
        .end()
        .await
        .code(1)
        .stderr_has("resume with: jackfield fetch t-1");
    assert!(!cli.home().join("got").exists(), "{given_up:?}");
}

#[tokio::test]
async fn nobody_else_can_fetch_what_was_offered_whatever_id_they_know() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let bytes = archive("a.txt", 2, CRC, b"hi");
    let called = call(&cli);
    offers(&mut eve, &offer(&bytes)).await;
    requested(&mut eve).await;
    called.signal(Signal::INT);
    called
        .end()
        .await
        .code(130)
        .stderr_has("resume with: jackfield fetch t-1");
    let token = hub.token("mallory", &["call:*"]).await;
    let stolen = cli
        .run_with("JACKFIELD_TOKEN", token, &["fetch", "t-1", "--via", "hub"])
        .await;
    stolen.code(4).stderr_has("no transfer of yours");
    assert!(!cli.home().join("got").exists());
    eve.expect_no_bridge_frame().await;
    fs::remove_dir_all(cli.home().join(".local/state/jackfield/transfers")).unwrap();
}

#[tokio::test]
async fn an_agent_that_cannot_be_reached_directly_sends_through_the_hub() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let bytes = archive("a.txt", 2, CRC, b"hi");
    for via in ["auto", "direct"] {
        let called = call_via(&cli, via);
        offers(&mut eve, &offer(&bytes)).await;
        let frame = eve.frame().await;
        assert_eq!(frame["signal_type"], "offer", "{frame}");
        let sdp = frame["payload"].as_str().unwrap();
        assert!(sdp.contains("webrtc-datachannel"), "{sdp}");
        eve.send(json!({"type": "rtc_signal", "transfer_id": "t-1", "target_agent_id": frame["from_agent_id"],
                        "signal_type": "answer", "payload": "nonsense"}))
            .await;
        if via == "direct" {
            called
                .end()
                .await
                .code(1)
                .stderr_has("no direct connection")
                .stderr_has("jackfield fetch t-1");
            continue;
        }
        let (offset, ticket) = requested(&mut eve).await;
        assert_eq!(offset, 0);
        sends(&hub, &ticket, &bytes).await;
        called
            .end()
            .await
            .ok()
            .stderr_has("using the hub")
            .stderr_has("1 file (2 bytes)");
        let got = cli.home().join("got/a.txt");
        assert_eq!(fs::read_to_string(&got).unwrap(), "hi");
        fs::remove_file(got).unwrap();
    }
}
