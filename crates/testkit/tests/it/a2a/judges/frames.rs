//! Agents of Agora and of the bridge with hand-written frames.

use std::collections::HashMap;

use jackfield_testkit::Raw;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::behaviour::{Releases, Responder, answer};

/// The frame format of an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Dialect {
    Agora,
    Bridge,
    /// The bridge with numbered frames, as the extension `resume` requires.
    Numbered,
}

/// The meaning of a frame from the hub.
enum HubMessage {
    Message(String),
    Answer(String),
    Cancel,
    Nothing,
}

impl Dialect {
    fn read_frame(self, frame: &Value) -> HubMessage {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (self, frame["type"].as_str().unwrap_or_default()) {
            (_, "cancel") => HubMessage::Cancel,
            (Self::Agora, "message") if frame["payload"]["action"] == "answer" => {
                HubMessage::Answer(text(&frame["payload"]["body"]["content"]))
            }
            (Self::Agora, "message") => {
                HubMessage::Message(text(&frame["payload"]["body"]["question"]))
            }
            (_, "message") => HubMessage::Message(text(&frame["content"])),
            (_, "answer") => HubMessage::Answer(text(&frame["content"])),
            _ => HubMessage::Nothing,
        }
    }

    /// The call id in the frames of both sides.
    fn call_of(self, frame: &Value) -> String {
        let id = match self {
            Self::Agora => &frame["from"],
            Self::Bridge | Self::Numbered => &frame["request_id"],
        };
        id.as_str().unwrap_or_default().to_owned()
    }
}

/// An open call of an agent.
struct Work {
    dialect: Dialect,
    message: Value,
    sent: u64,
    frames: mpsc::Sender<Value>,
    answers: mpsc::Receiver<String>,
}

impl Work {
    async fn send(&mut self, mut frame: Value) {
        let call = self.dialect.call_of(&self.message);
        match self.dialect {
            Dialect::Agora => frame["to"] = call.into(),
            Dialect::Bridge | Dialect::Numbered => {
                frame["request_id"] = call.into();
                frame["session_id"] = self.message["session_id"].clone();
            }
        }
        self.sent += 1;
        if let Dialect::Numbered = self.dialect {
            frame["seq"] = self.sent.into();
        }
        // The agent may be gone.
        self.frames.send(frame).await.ok();
    }

    async fn finish(&mut self) {
        let end = match self.dialect {
            Dialect::Agora => json!({"type": "reply_end", "stream_id": "s"}),
            Dialect::Bridge | Dialect::Numbered => json!({"type": "done"}),
        };
        self.send(end).await;
    }
}

impl Responder for Work {
    async fn send_text(&mut self, text: &str) {
        let chunk = match self.dialect {
            Dialect::Agora => json!({"type": "reply_chunk", "stream_id": "s", "chunk": text}),
            Dialect::Bridge | Dialect::Numbered => json!({"type": "chunk", "delta": text}),
        };
        self.send(chunk).await;
    }

    async fn ask(&mut self, question: &str) -> Option<String> {
        let ask = match self.dialect {
            Dialect::Agora => {
                json!({"type": "reply", "payload": {"input_required": {"id": "q", "text": question}}})
            }
            Dialect::Bridge | Dialect::Numbered => {
                json!({"type": "ask", "ask_id": "q", "kind": "input", "text": question})
            }
        };
        self.send(ask).await;
        self.answers.recv().await
    }
}

/// Answers every message, several calls at once, until the connection ends.
pub(crate) async fn run(mut connection: Raw, dialect: Dialect, releases: Releases) {
    let mut working = JoinSet::new();
    let mut calls: HashMap<String, (AbortHandle, mpsc::Sender<String>)> = HashMap::new();
    let (frames, mut written) = mpsc::channel(16);
    loop {
        let text = tokio::select! {
            Some(frame) = written.recv() => {
                let frame: Value = frame;
                connection.maybe_send_text(&frame.to_string()).await;
                continue;
            }
            text = connection.wait_text() => text,
        };
        let Some(text) = text else { return };
        let frame: Value = serde_json::from_str(&text).unwrap();
        let call = dialect.call_of(&frame);
        match dialect.read_frame(&frame) {
            HubMessage::Message(text) => {
                let (answered, answers) = mpsc::channel(1);
                let mut work = Work {
                    dialect,
                    message: frame,
                    sent: 0,
                    frames: frames.clone(),
                    answers,
                };
                let releases = releases.clone();
                let task = working.spawn(async move {
                    answer(&text, &mut work, &releases).await;
                    work.finish().await;
                });
                calls.insert(call, (task, answered));
            }
            HubMessage::Answer(text) => {
                if let Some((_, answered)) = calls.get(&call) {
                    answered.send(text).await.ok();
                }
            }
            HubMessage::Cancel => {
                if let Some((task, _)) = calls.remove(&call) {
                    task.abort();
                }
            }
            HubMessage::Nothing => {}
        }
    }
}
