//! What the agents do that the judges call: by the text of a message, and the same in every protocol. The judges'
//! `promise.py` says it for them.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;

/// What lets `count` go on: a permit for each `release`.
pub(super) type Releases = Arc<Semaphore>;

/// How often `work` says something.
const PACE: Duration = Duration::from_millis(50);
/// How often in all, if nobody cancels it.
const PATIENCE: usize = 200;

/// The agent's end of a call, whatever its protocol.
pub(super) trait Mouth {
    /// Says a piece of the answer.
    async fn say(&mut self, text: &str);

    /// Asks the caller; nothing if the answer will come as a message of its own.
    async fn ask(&mut self, question: &str) -> Option<String>;

    /// The bytes of the file in the message, where its protocol brings them.
    fn file(&self) -> Option<Vec<u8>> {
        None
    }

    /// Hands over a file, where its protocol can.
    async fn give(&mut self, _: Vec<u8>) {}
}

/// Answers a message. Who calls it drops it when the call is cancelled.
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
