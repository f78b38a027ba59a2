//! The calls that come by themselves, so that there is always something to watch.

use std::time::Duration;

use http::Method;
use jackfield_sdk::{Error, Event, Hub};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::TEAM;

/// When the first call comes: whoever started the demo has read what it says by then.
const FIRST: Duration = Duration::from_secs(5);
/// How far the calls are apart.
const APART: Duration = Duration::from_secs(20);
/// How long others have to answer what the editor asks for, before this does.
const THINK: Duration = Duration::from_secs(6);

/// What is said to the team, in turn. Who says publish is asked.
const QUESTIONS: [&str; 4] = [
    "Which telephone exchange was the first?",
    "Who were the operators? Publish it.",
    "Why is a jack called a jack?",
    "When did the last one end? Publish it.",
];

/// Calls the team now and then. Never ends by itself.
pub(super) async fn live(hub: Hub) {
    let mut ticks = interval_at(Instant::now() + FIRST, APART);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for question in QUESTIONS.iter().cycle() {
        ticks.tick().await;
        // Whoever watches sees how it went.
        if let Err(error) = ask(&hub, question).await {
            tracing::debug!(%error, "a call of the demo failed");
        }
    }
}

/// Calls the team once, and says yes where nobody else does.
async fn ask(hub: &Hub, question: &str) -> Result<(), Error> {
    let mut call = hub.call(TEAM).text(question).start().await?;
    while let Some(event) = call.next().await? {
        if let Event::Ask(ask) = event {
            sleep(THINK).await;
            let path = format!("/v1/calls/{}/answer", call.started().id);
            let yes = json!({"ask_id": ask.id, "approved": true});
            // Somebody else may have been faster.
            hub.request::<Value>(Method::POST, &path, Some(&yes))
                .await
                .ok();
        }
    }
    Ok(())
}
