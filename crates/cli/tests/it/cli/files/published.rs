//! A published caller: the platform's HTTP API and another WebRTC implementation fetch files from a connected
//! agent.

use std::{path::Path, process::Stdio, time::Duration};

use jackfield_testkit::{SOON, TestHub, relay_to};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
    time::timeout,
};

use super::{CLIENT, amy};
use crate::run::Cli;

const PYTHON: &str = "JACKFIELD_JUDGE_RTC_PYTHON";

#[tokio::test]
async fn a_published_caller_fetches_what_a_connected_agent_made() {
    let Some(python) = std::env::var_os(PYTHON) else {
        println!("peer.py could not judge: {PYTHON} is not set; see `cargo xtask test`");
        return;
    };
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, "head -c 3000000 /dev/urandom > made.bin").await;
    let platform = hub.platform();
    let mut relay = relay_to("amy", "r-1");
    relay["client_id"] = json!(CLIENT);
    relay["with_files"] = json!(true);
    let relay_events = platform.stream("/api/relay", relay).await.rest().await;
    let mut offers = relay_events
        .iter()
        .map(|event| &event["file_transfer_offer"]);
    let offer = offers.find(|offer| offer.is_object());
    let offer = offer.unwrap_or_else(|| panic!("{relay_events:?}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/judges/files/peer.py");
    let mut judge = Command::new(python)
        .arg(script)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = judge.stdin.take().unwrap();
    let mut lines = BufReader::new(judge.stdout.take().unwrap()).lines();
    input.write_all(b"{\"role\": \"receive\"}\n").await.unwrap();
    let signal = async |kind: &Value, payload: &Value| {
        let body =
            json!({"transfer_id": offer["transfer_id"], "signal_type": kind, "payload": payload});
        let (status, mut signals) = platform.post("/api/rtc-signal/amy", body).await;
        assert_eq!(status, 200, "{signals}");
        signals["signals"].take()
    };
    let passing_on = async {
        loop {
            // Polls repeatedly, like the published client.
            let line = timeout(Duration::from_millis(200), lines.next_line()).await;
            let signals = match line {
                Ok(line) => {
                    let line: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
                    if line["done"].is_object() {
                        return line["done"].clone();
                    }
                    signal(&line["kind"], &line["payload"]).await
                }
                Err(_) => signal(&json!("poll"), &json!("")).await,
            };
            for line_out in signals.as_array().unwrap() {
                let line_out =
                    json!({"kind": line_out["signal_type"], "payload": line_out["payload"]});
                input
                    .write_all(format!("{line_out}\n").as_bytes())
                    .await
                    .unwrap();
            }
        }
    };
    let got = timeout(SOON, passing_on).await.unwrap();
    assert_eq!(got["header"]["transfer_id"], offer["transfer_id"]);
    assert_eq!(got["size"], offer["zip_size"]);
    assert_eq!(got["sha256"], offer["zip_sha256"]);
}
