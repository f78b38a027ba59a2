//! The editor: an agent of the bridge protocol, and the coordinator of the team. Calls the other agents and
//! forwards their answers; prints a front page after an approval.

use jackfield_sdk::{Agent, ChunkKind, Error, Event, File, HandlerError, Reply};
use serde_json::json;

use super::pace;

/// Id of the editor.
pub(super) const ID: &str = "editor";

/// Tool that needs an approval.
const PRESS: &str = "printing_press";
const COPIES: u32 = 500;

/// Ids of the agents that the editor calls. The researcher finds the story, the others receive the story.
#[derive(Debug, Clone)]
pub(super) struct Colleagues {
    pub(super) researcher: String,
    pub(super) factchecker: String,
    /// Receives the headline. Only with the feature `p2p`.
    pub(super) translator: Option<String>,
}

/// Creates the [`Agent`].
pub(super) fn agent(desk: Colleagues) -> Agent {
    Agent::new(ID)
        .name("Editor")
        .description("Scripted. Asks the others, and prints a page if you let it.")
        .skill("edit")
        .skill("publish")
        .on_message(move |message, reply| {
            let desk = desk.clone();
            async move { edit(&desk, &message.text, &reply).await }
        })
}

async fn edit(desk: &Colleagues, question: &str, reply: &Reply) -> Result<(), HandlerError> {
    let plan = "The researcher first, then somebody who checks it, then the wire.";
    reply.thinking(plan).await?;
    let story = pass_on(reply, "Researcher", &desk.researcher, question).await?;
    let checked = pass_on(reply, "Fact-checker", &desk.factchecker, &story).await?;
    let headline = story.split(':').next().unwrap_or_default();
    if let Some(translator) = &desk.translator {
        pass_on(reply, "By wire", translator, headline).await?;
    }
    if wants_press(question) {
        print(reply, headline, &format!("{story}\n{checked}\n")).await?;
    }
    Ok(())
}

/// Calls an agent and forwards the answer as it arrives. Goes on if the agent does not answer.
async fn pass_on(
    reply: &Reply,
    label: &str,
    agent: &str,
    text: &str,
) -> Result<String, HandlerError> {
    reply.status(format!("asking {agent}")).await?;
    reply.text(format!("{label}: ")).await?;
    let mut said = String::new();
    let mut call = reply.call_agent(agent, text).await?;
    loop {
        match call.next().await {
            Ok(Some(Event::Chunk(chunk))) if chunk.kind == ChunkKind::Text => {
                reply.text(&chunk.text).await?;
                said += &chunk.text;
            }
            Ok(Some(Event::Done(done))) => {
                let result = done.result.unwrap_or_default();
                let rest = result.strip_prefix(&said).unwrap_or_default();
                if !rest.is_empty() {
                    reply.text(rest).await?;
                }
                said += rest;
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => {
                reply.text(missing(&error)).await?;
                break;
            }
        }
    }
    reply.text("\n").await?;
    Ok(said)
}

fn missing(error: &Error) -> String {
    format!("(no answer: {error})")
}

fn wants_press(question: &str) -> bool {
    let question = question.to_lowercase();
    question.contains("publish") || question.contains("print")
}

/// Prints a page after an approval.
async fn print(reply: &Reply, headline: &str, page: &str) -> Result<(), HandlerError> {
    let order = json!({"page": headline, "copies": COPIES});
    let decided = reply.approve(PRESS, order.clone()).await?;
    if !decided.approved {
        let why = decided.reason.unwrap_or_else(|| "as you wish".to_owned());
        pace::say(reply, &format!("Not printed: {why}.\n")).await?;
        return Ok(());
    }
    let run = "press-run";
    reply.tool_start(PRESS, run).await?;
    reply.tool_input(run, order.to_string()).await?;
    tokio::time::sleep(10 * pace::WORD).await;
    reply.tool_result(run, format!("{COPIES} copies")).await?;
    let file = File::bytes(page).name("front-page.txt").mime("text/plain");
    reply.attach(file).await?;
    pace::say(
        reply,
        &format!("Printed: {COPIES} copies of the front page.\n"),
    )
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_says_so_gets_a_page() {
        assert!(wants_press("Publish it!") && wants_press("print that"));
        assert!(!wants_press("who was it?"));
    }
}
