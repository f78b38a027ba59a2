//! Behaviour of the agents that the judges call: selected by the text of a message, and the same in every
//! protocol. The judges' `promise.py` describes it.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;

/// Continues `count`: a permit for each `release`.
pub(crate) type Releases = Arc<Semaphore>;

/// Interval between the pieces of `work`.
const PACE: Duration = Duration::from_millis(50);
/// Number of pieces of `work` without a cancellation.
const PATIENCE: usize = 200;

/// The agent's end of a call, independent of the protocol.
pub(super) trait Responder {
    /// Sends a piece of the answer.
    async fn send_text(&mut self, text: &str);

    /// Asks the caller. Returns `None` if the answer will come as a separate message.
    async fn ask(&mut self, question: &str) -> Option<String>;

    /// The bytes of the message's file, if the protocol transports them.
    fn file(&self) -> Option<Vec<u8>> {
        None
    }

    /// Sends a file, if the protocol supports it.
    async fn give(&mut self, _: Vec<u8>) {}
}

/// Answers a message. The caller drops the future when the call is cancelled.
pub(super) async fn answer(text: &str, responder: &mut impl Responder, releases: &Semaphore) {
    match text {
        "hello" => {
            responder.send_text("Hello, ").await;
            responder.send_text("world").await;
        }
        "count" => {
            count(1..=10, responder).await;
            releases.acquire().await.unwrap().forget();
            count(11..=20, responder).await;
        }
        "release" => {
            releases.add_permits(1);
            responder.send_text("released").await;
        }
        "work" => {
            for _ in 0..PATIENCE {
                responder.send_text(". ").await;
                tokio::time::sleep(PACE).await;
            }
        }
        "ask" => {
            if let Some(answer) = responder.ask("Which colour?").await {
                responder.send_text(&format!("You said: {answer}")).await;
            }
        }
        "file" => {
            let mut bytes = responder.file().unwrap_or_default();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            responder.send_text(&hex).await;
            bytes.reverse();
            responder.give(bytes).await;
        }
        other => responder.send_text(&format!("You said: {other}")).await,
    }
}

async fn count(numbers: std::ops::RangeInclusive<u32>, responder: &mut impl Responder) {
    for number in numbers {
        responder.send_text(&format!("{number} ")).await;
    }
}
