//! Behaviour of the agents that the judges call: selected by the text of a message, and the same in every
//! protocol. The judges' `promise.py` describes it.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;

/// Continues `count`: a permit for each `release`.
pub(super) type Releases = Arc<Semaphore>;

/// Interval between the pieces of `work`.
const PACE: Duration = Duration::from_millis(50);
/// Number of pieces of `work` without a cancellation.
const PATIENCE: usize = 200;

/// The agent's end of a call, independent of the protocol.
pub(super) trait Mouth {
    /// Sends a piece of the answer.
    async fn say(&mut self, text: &str);

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
pub(super) async fn answer(text: &str, mouth: &mut impl Mouth, releases: &Semaphore) {
    match text {
        "hello" => {
            mouth.say("Hello, ").await;
            mouth.say("world").await;
        }
        "count" => {
            count(1..=10, mouth).await;
            releases.acquire().await.unwrap().forget();
            count(11..=20, mouth).await;
        }
        "release" => {
            releases.add_permits(1);
            mouth.say("released").await;
        }
        "work" => {
            for _ in 0..PATIENCE {
                mouth.say(". ").await;
                tokio::time::sleep(PACE).await;
            }
        }
        "ask" => {
            if let Some(answer) = mouth.ask("Which colour?").await {
                mouth.say(&format!("You said: {answer}")).await;
            }
        }
        "file" => {
            let mut bytes = mouth.file().unwrap_or_default();
            let shown: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            mouth.say(&shown).await;
            bytes.reverse();
            mouth.give(bytes).await;
        }
        other => mouth.say(&format!("You said: {other}")).await,
    }
}

async fn count(numbers: std::ops::RangeInclusive<u32>, mouth: &mut impl Mouth) {
    for number in numbers {
        mouth.say(&format!("{number} ")).await;
    }
}
