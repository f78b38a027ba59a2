//! The fact-checker: an A2A server on a separate port, which the hub dials.

use anyhow::{Context, Result};
use jackfield_kit::tasks::Tasks;
use jackfield_sdk::{Agent, File, HandlerError, Reply, a2a};
use tokio::net::TcpListener;

use super::{
    facts::{self, FACTS},
    pace,
};

/// Id of the fact-checker.
pub(super) const ID: &str = "factchecker";

/// Serves the agent until the tasks stop, and returns the base URL of its card.
pub(super) async fn serve(tasks: &Tasks) -> Result<String> {
    let listener = TcpListener::bind(super::ANY_PORT).await;
    let listener = listener.context("cannot listen for the fact-checker")?;
    let origin = format!("http://{}", listener.local_addr()?);
    let router = a2a::serve([agent()]).public_url(&origin).into_router("")?;
    let stop = tasks.stop_token().clone();
    tasks.spawn(async move {
        let server = axum::serve(listener, router);
        server.with_graceful_shutdown(stop.cancelled_owned()).await
    });
    Ok(format!("{origin}/agents/{ID}"))
}

fn agent() -> Agent {
    Agent::new(ID)
        .name("Fact-checker")
        .description("Scripted. Compares what you say with its list of five facts.")
        .skill("check")
        .on_message(|message, reply| async move { check(&message.text, &reply).await })
}

async fn check(claim: &str, reply: &Reply) -> Result<(), HandlerError> {
    reply.status("comparing with the list").await?;
    let known = facts::about(claim);
    let number = FACTS.iter().position(|fact| Some(fact) == known);
    let verdict = match (known, number) {
        (Some(fact), Some(number)) => format!(
            "confirmed by the list, number {} of {}, {}.",
            number + 1,
            FACTS.len(),
            fact.headline
        ),
        _ => format!(
            "not on the list of {} facts, so print it with care.",
            FACTS.len()
        ),
    };
    pace::say(reply, &verdict).await?;
    let list = File::bytes(list()).name("facts.txt").mime("text/plain");
    reply.attach(list).await?;
    Ok(())
}

/// Formats all [`FACTS`].
fn list() -> String {
    let line = |fact: &facts::Fact| format!("{}: {}\n", fact.headline, fact.story);
    FACTS.iter().map(line).collect()
}
