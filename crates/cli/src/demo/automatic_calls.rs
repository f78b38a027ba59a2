//! Automatic calls of the demo, so that `watch` always shows activity.

use std::time::Duration;

use http::Method;
use jackfield_sdk::{Error, Event, Hub};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::TEAM;

/// Delay of the first call: time for the user to read the message at the start.
const FIRST: Duration = Duration::from_secs(5);
/// Interval of the calls.
const APART: Duration = Duration::from_secs(20);
/// Time for the user to answer the editor's question, before this task answers.
const THINK: Duration = Duration::from_secs(6);

/// Questions to the team, in turn. A question with the word publish leads to an approval.
const QUESTIONS: [&str; 4] = [
    "Which telephone exchange was the first?",
    "Who were the operators? Publish it.",
    "Why is a jack called a jack?",
    "When did the last one end? Publish it.",
];

/// Calls the team at intervals ([`APART`]). Never returns.
pub(super) async fn live(hub: Hub) {
    let mut ticks = interval_at(Instant::now() + FIRST, APART);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for question in QUESTIONS.iter().cycle() {
        ticks.tick().await;
        // `watch` shows the result.
        if let Err(error) = ask(&hub, question).await {
            tracing::debug!(%error, "a call of the demo failed");
        }
    }
}

/// Calls the team once, and approves if no user does.
async fn ask(hub: &Hub, question: &str) -> Result<(), Error> {
    let mut call = hub.call(TEAM).text(question).start().await?;
    while let Some(event) = call.next().await? {
        if let Event::Ask(ask) = event {
            sleep(THINK).await;
            let path = format!("/v1/calls/{}/answer", call.started().id);
            let yes = json!({"ask_id": ask.id, "approved": true});
            // A user may have answered first.
            hub.request::<Value>(Method::POST, &path, Some(&yes))
                .await
                .ok();
        }
    }
    Ok(())
}
