//! The data channel against other WebRTC implementations: aiortc, and libdatachannel, which the bridge's published
//! client uses. Each runs as a separate process, as sender and as receiver.

use std::env;
use std::path::Path;
use std::process::Stdio;

use jackfield_transfer::rtc::{self, RtcChannel, RtcOptions, SignalKind, Signalling};
use jackfield_transfer::{Channel, ChannelError, ChannelFrame};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

const PIECE: usize = 64 * 1024;
/// Not a multiple of the chunk size, and larger than all buffers together.
const SIZE: usize = 5_000_000;

/// Process of a published peer; also the signalling connection to the peer.
struct Judge {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The peer's final message.
    done: Option<Value>,
    /// The process is killed when dropped.
    _child: Child,
}

#[derive(Debug, Clone, Copy)]
enum Language {
    Python,
    JavaScript,
}

impl Language {
    /// Starts the peer in a role. Returns `None` if the peer isn't installed.
    async fn start(self, role: Value) -> Option<Judge> {
        let (variable, script) = match self {
            Self::Python => ("JACKFIELD_JUDGE_RTC_PYTHON", "peer.py"),
            Self::JavaScript => ("JACKFIELD_JUDGE_RTC_NODE", "peer.cjs"),
        };
        let Some(judge) = env::var_os(variable) else {
            println!("{script} could not judge: {variable} is not set; see `cargo xtask test`");
            return None;
        };
        let mut command = match self {
            Self::Python => Command::new(judge),
            Self::JavaScript => {
                let mut node = Command::new("node");
                node.env("NODE_PATH", judge);
                node
            }
        };
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/judges/files");
        // Python would write bytecode beside the script.
        let command = command.env("PYTHONDONTWRITEBYTECODE", "1");
        let command = command.arg(scripts.join(script)).kill_on_drop(true);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut judge = Judge {
            input: child.stdin.take().expect("piped"),
            output: BufReader::new(child.stdout.take().expect("piped")).lines(),
            done: None,
            _child: child,
        };
        judge.write(&role).await;
        Some(judge)
    }
}

impl Judge {
    async fn write(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .expect("it listens");
    }

    async fn read(&mut self) -> Option<Value> {
        let line = self.output.next_line().await.expect("it speaks")?;
        Some(serde_json::from_str(&line).expect("a line of JSON"))
    }

    /// Waits for the peer's final message.
    async fn done(&mut self) -> Value {
        loop {
            if let Some(done) = self.done.take() {
                return done;
            }
            let mut message = self.read().await.expect("an end");
            if message["done"].is_object() {
                return message["done"].take();
            }
        }
    }
}

impl Signalling for Judge {
    async fn send(&mut self, kind: SignalKind, payload: String) -> Result<(), ChannelError> {
        self.write(&json!({"kind": kind.as_str(), "payload": payload}))
            .await;
        Ok(())
    }

    async fn next(&mut self) -> Option<(SignalKind, String)> {
        let mut message = self.read().await?;
        if message["done"].is_object() {
            self.done = Some(message["done"].take());
            return None;
        }
        let kind = message["kind"].as_str().and_then(|kind| kind.parse().ok());
        let payload = message["payload"].as_str().map(str::to_owned);
        Some((kind.expect("a kind"), payload.expect("a payload")))
    }
}

fn archive() -> Vec<u8> {
    (0..SIZE)
        .map(|at| u8::try_from(at % 251).expect("it fits"))
        .collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

async fn send_archive(channel: &mut RtcChannel, archive: &[u8]) {
    let text = |value: Value| ChannelFrame::Text(value.to_string());
    let header = json!({"type": "header", "transfer_id": "ours", "zip_size": archive.len()});
    channel.send(text(header)).await.expect("it works");
    for piece in archive.chunks(PIECE.min(channel.max_message())) {
        channel
            .send(ChannelFrame::Binary(piece.to_vec().into()))
            .await
            .expect("it works");
    }
    channel
        .send(text(json!({"type": "complete"})))
        .await
        .expect("it works");
}

/// The peer dials and receives, then closes the channel once complete.
async fn receives(language: Language) {
    let Some(mut judge) = language.start(json!({"role": "receive"})).await else {
        return;
    };
    let (kind, offer) = judge.next().await.expect("an offer");
    assert_eq!(kind, SignalKind::Offer);
    let options = RtcOptions::default();
    let mut channel = rtc::answer(&mut judge, &offer, &options)
        .await
        .expect("it works");
    let archive = archive();
    send_archive(&mut channel, &archive).await;
    channel.finish().await.expect("all has arrived");
    let done = judge.done().await;
    assert_eq!(done["header"]["zip_size"], SIZE);
    assert_eq!(done["size"], SIZE);
    assert_eq!(done["largest"], PIECE);
    assert_eq!(done["sha256"], sha256(&archive));
}

/// The peer is dialled and sends without watching the channel's buffer. We read everything and close.
async fn sends(language: Language) {
    let role = json!({"role": "send", "size": SIZE});
    let Some(mut judge) = language.start(role).await else {
        return;
    };
    let options = RtcOptions {
        offset: Some(17),
        ..RtcOptions::default()
    };
    let mut channel = rtc::call(&mut judge, &options).await.expect("it works");
    let header = channel.recv().await.expect("it works");
    let Some(ChannelFrame::Text(header)) = header else {
        panic!("{header:?}");
    };
    let header: Value = serde_json::from_str(&header).expect("JSON");
    assert_eq!(header["zip_size"], SIZE);
    let mut taken = Vec::new();
    loop {
        match channel.recv().await.expect("it works") {
            Some(ChannelFrame::Binary(piece)) => taken.extend_from_slice(&piece),
            Some(ChannelFrame::Text(text)) => {
                let text: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(text["type"], "complete");
                break;
            }
            None => panic!("it closed before the end"),
        }
    }
    channel.finish().await.expect("all has arrived");
    assert!(taken == archive(), "the bytes are others");
    assert_eq!(judge.done().await["sha256"], sha256(&taken));
}

#[tokio::test]
async fn aiortc_receives_what_we_send() {
    receives(Language::Python).await;
}

#[tokio::test]
async fn we_receive_what_aiortc_sends() {
    sends(Language::Python).await;
}

#[tokio::test]
async fn libdatachannel_receives_what_we_send() {
    receives(Language::JavaScript).await;
}

#[tokio::test]
async fn we_receive_what_libdatachannel_sends() {
    sends(Language::JavaScript).await;
}
