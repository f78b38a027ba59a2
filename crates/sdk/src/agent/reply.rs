//! What an agent says while it works on a message.

use jackfield_wire::agora::{Chunk, ErrorFrame, Opening, Payload, uplink};
use serde_json::{Value, json, value::to_raw_value};
use tokio::sync::mpsc;

use crate::{Error, HandlerError};

/// The agent's end of a call. Each method waits while the caller does not keep up.
#[derive(Debug, Clone)]
pub struct Reply {
    to: String,
    stream_id: String,
    out: mpsc::Sender<String>,
}

impl Reply {
    pub(super) fn new(to: String, out: mpsc::Sender<String>) -> Self {
        Self {
            stream_id: to.clone(),
            to,
            out,
        }
    }

    /// Says a piece of the answer.
    pub async fn text(&self, text: impl AsRef<str>) -> Result<(), Error> {
        self.chunk(Chunk::from(text.as_ref())).await
    }

    /// Shows the agent's reasoning.
    pub async fn thinking(&self, text: impl AsRef<str>) -> Result<(), Error> {
        self.chunk(Chunk {
            kind: Some("thinking"),
            ..Chunk::from(text.as_ref())
        })
        .await
    }

    /// Says what the agent is doing.
    pub async fn status(&self, text: impl AsRef<str>) -> Result<(), Error> {
        self.chunk(Chunk {
            kind: Some("status"),
            ..Chunk::from(text.as_ref())
        })
        .await
    }

    /// A tool call begins; `call_id` joins what follows to it.
    pub async fn tool_start(&self, name: &str, call_id: &str) -> Result<(), Error> {
        let chunk = Chunk {
            kind: Some("tool_start"),
            tool_name: Some(name),
            tool_call_id: Some(call_id),
            ..Chunk::from("")
        };
        self.chunk(chunk).await
    }

    /// Input of a tool call.
    pub async fn tool_input(&self, call_id: &str, text: impl AsRef<str>) -> Result<(), Error> {
        let chunk = Chunk {
            kind: Some("tool_input"),
            tool_call_id: Some(call_id),
            ..Chunk::from(text.as_ref())
        };
        self.chunk(chunk).await
    }

    /// Result of a tool call.
    pub async fn tool_result(&self, call_id: &str, text: impl AsRef<str>) -> Result<(), Error> {
        let chunk = Chunk {
            kind: Some("tool_result"),
            tool_call_id: Some(call_id),
            ..Chunk::from(text.as_ref())
        };
        self.chunk(chunk).await
    }

    async fn chunk(&self, chunk: Chunk<'_>) -> Result<(), Error> {
        self.send(uplink::reply_chunk(&self.to, &self.stream_id, chunk))
            .await
    }

    pub(super) async fn open(&self, request_id: Option<&str>) -> Result<(), Error> {
        let opening = Opening {
            stream_id: Some(&self.stream_id),
            stream: true,
            payload: Some(Payload::Ids {
                request_id,
                session_id: None,
            }),
            ..Opening::default()
        };
        self.send(uplink::reply(&self.to, &opening)).await
    }

    pub(super) async fn finish(&self, result: Result<(), HandlerError>) -> Result<(), Error> {
        match result {
            Ok(()) => {
                self.send(uplink::reply_end(&self.to, &self.stream_id, None))
                    .await
            }
            Err(error) => {
                let text = error.to_string();
                let frame = ErrorFrame {
                    stream_id: Some(self.stream_id.as_str().into()),
                    ..ErrorFrame::new("agent_error", &text)
                };
                self.send(uplink::error(&self.to, &frame)).await
            }
        }
    }

    /// Ends the answer with files: `(name, url, media type)`.
    pub async fn attach(&self, files: &[(&str, &str, &str)]) -> Result<(), Error> {
        let files: Vec<Value> = files
            .iter()
            .map(|(name, url, kind)| json!({"name": name, "url": url, "type": kind}))
            .collect();
        let raw = to_raw_value(&json!({ "attachments": files }))
            .map_err(|error| Error::Unreadable(error.to_string()))?;
        self.send(uplink::reply_end(
            &self.to,
            &self.stream_id,
            Some(Payload::Raw(&raw)),
        ))
        .await
    }

    async fn send(&self, frame: String) -> Result<(), Error> {
        self.out.send(frame).await.map_err(|_| Error::Broken)
    }
}
