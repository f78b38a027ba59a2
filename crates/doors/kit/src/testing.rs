//! What the tests of doors share: agents whose part the test plays, reading streams, a place that is called back, and
//! judging answers by the API's own description. For tests only, behind the feature `testing`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

mod receiver;
mod scripted;
pub mod spec;
mod stream;

pub use self::{
    receiver::{CALLBACK_KEY, Called, Post},
    scripted::{Manner, Scripted},
    stream::{Sse, SseReader},
};

/// Long enough for anything that works.
pub const SOON: Duration = Duration::from_secs(20);

/// Fails a test that would hang.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("in time")
}
