//! The bridge through a whole hub: raw frames on `/ws`, raw requests below `/api`, agents of other doors beside it.
//! The door's own tests are in its crate.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod across;
mod answers;
mod bad_input;
mod codes;
mod judges;
mod promises;
mod replay;
mod seed;

use jackfield_core::units::Span;
use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

/// Ids in the format of the published clients.
const AMY: &str = "3f2b8c1e-9a4d-4f6b-8e2a-7c5d1b0a9f3e";
const BOB: &str = "b7d0c2aa-51f3-4c0e-9d7b-0e6f4a1c8d25";
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// A hub without keep-alives of its own: every `keepalive` is an agent's heartbeat.
async fn quiet_hub() -> TestHub {
    TestHub::start_with(|config| config.limits.keepalive = Span::secs(3600)).await
}

/// A frame or body with additional or replaced fields.
fn with(mut frame: Value, fields: &Value) -> Value {
    let more = fields.as_object().unwrap().clone();
    frame.as_object_mut().unwrap().extend(more);
    frame
}

/// A `chunk` of an agent.
fn chunk(request: &str, delta: &str) -> Value {
    json!({"type": "chunk", "session_id": "s-1", "request_id": request, "delta": delta})
}

/// A `done` of an agent.
fn done(request: &str) -> Value {
    json!({"type": "done", "session_id": "s-1", "request_id": request})
}

/// An `error` of an agent.
fn error(request: &str, code: &str, message: &str) -> Value {
    json!({"type": "error", "session_id": "s-1", "request_id": request, "code": code, "message": message})
}

/// The platform's event for a text chunk.
fn text_event(delta: &str) -> Value {
    json!({"type": "chunk", "delta": delta})
}

/// The platform's event for the end.
fn finished() -> Value {
    json!({"type": "done"})
}

/// The platform's event for a failure.
fn failed(code: &str, message: &str) -> Value {
    json!({"type": "error", "code": code, "message": message})
}

/// Answers a request with this text.
async fn answer_all(agent: &mut Raw, request: &str, text: &str) {
    agent.send(chunk(request, text)).await;
    agent.send(done(request)).await;
}
