//! The one test harness of the doors: a hub with a server on a free port ([`TestHub`]), an HTTP client
//! ([`TestClient`]), a reader of event streams ([`SseReader`]), a WebSocket client for raw frames ([`WsClient`]),
//! agents whose calls the test answers ([`Scripted`]), a server that receives callbacks ([`CallbackReceiver`]),
//! the log as text ([`CapturedLog`]), and a check of answers against an OpenAPI description ([`spec`]).
//!
//! For tests only, behind the feature `testing`: functions panic where a test should fail.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

mod agent;
mod client;
mod hub;
mod judged;
mod log;
mod raw_http;
mod receiver;
mod server;
pub mod spec;
mod sse;
mod ws;

pub use self::{
    agent::{AgentBuilder, Manner, Scripted, answer_text},
    client::{TestClient, answer, json_of},
    hub::{TestHub, TestHubBuilder, TestSettings, create_token},
    judged::{check_schemas, judge_by},
    log::CapturedLog,
    raw_http::{read_until, send_raw},
    receiver::{CALLBACK_KEY, CallbackReceiver, Post},
    server::TestServer,
    sse::{Sse, SseReader},
    ws::{WsClient, WsRefused},
};

/// Timeout of a test for an expected event. Long, because the value matters only when the test fails.
pub const SOON: Duration = Duration::from_secs(20);

/// Waits for `future`, and fails a test that would hang.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("in time")
}

/// Checks a condition again and again until it is true, for changes that nothing announces.
pub async fn until(is_so: impl Fn() -> bool) {
    soon(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
