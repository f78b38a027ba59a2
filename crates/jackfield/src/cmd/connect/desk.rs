//! Where the owner of a connected agent may sit: at the terminal, where questions are shown one after another, or nowhere,
//! and then it is said how else to answer.

use std::{future::pending, sync::Arc};

use jackfield_connect::{Asked, Decision, Desk, Request};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use crate::{
    output::{self, text},
    prompt,
    reply::asks,
    shell,
};

/// How many questions may wait to be handed over; more wait before they are.
const WAITING: usize = 16;

/// The terminal if somebody is there; JSON is for programs.
pub(super) fn find(json: bool, flags: String) -> Arc<dyn Desk> {
    if json || !prompt::somebody_is_there() {
        return Arc::new(Nowhere { json, flags });
    }
    let (questions, waiting) = mpsc::channel(WAITING);
    let mut showing = JoinSet::new();
    showing.spawn(show(waiting, flags));
    Arc::new(Terminal {
        questions,
        _showing: showing,
    })
}

/// A question, and where its answer is awaited.
type Question = (Request, oneshot::Sender<Decision>);

/// The terminal at which the agent was connected.
#[derive(Debug)]
struct Terminal {
    questions: mpsc::Sender<Question>,
    _showing: JoinSet<()>,
}

impl Desk for Terminal {
    fn ask(&self, request: Request) -> Asked {
        let questions = self.questions.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            if questions.send((request, answer)).await.is_ok()
                && let Ok(decision) = answered.await
            {
                return decision;
            }
            pending().await
        })
    }
}

/// Shows questions one after another. One that was answered elsewhere is withdrawn.
async fn show(mut waiting: mpsc::Receiver<Question>, flags: String) {
    let mut typed = None;
    while let Some((request, mut answer)) = waiting.recv().await {
        if answer.is_closed() {
            continue;
        }
        let lines = typed.get_or_insert_with(prompt::lines);
        // What was typed before the question was seen is no answer to it.
        while lines.try_recv().is_ok() {}
        let ask = as_ask(&request);
        output::murmur(&asks::question(&ask));
        tokio::select! {
            line = lines.recv() => match line {
                // Whoever asked may have been told elsewhere in this very moment.
                Some(line) => drop(answer.send(decision(&ask, &line))),
                None => {
                    output::chat("");
                    say_how(&request, &flags);
                }
            },
            () = answer.closed() => output::chat("\n(answered elsewhere)"),
        }
    }
}

/// A question as the hub shows it.
fn as_ask(request: &Request) -> Value {
    let caller = request.caller.as_deref().unwrap_or("somebody");
    json!({
        "id": request.ask_id,
        "kind": "approval",
        "text": format!("for {caller}: may I use {}?", request.tool),
        "tool_name": request.tool,
        "arguments": request.arguments,
    })
}

fn decision(ask: &Value, line: &str) -> Decision {
    let body = asks::answer_body(ask, line);
    Decision {
        approved: body["approved"] == true,
        reason: Some(text(&body, "reason").to_owned()).filter(|reason| !reason.is_empty()),
    }
}

/// Nobody is here.
#[derive(Debug)]
struct Nowhere {
    json: bool,
    flags: String,
}

impl Desk for Nowhere {
    fn ask(&self, request: Request) -> Asked {
        if self.json {
            let mut object = as_ask(&request);
            object["type"] = json!("ask");
            object["call"] = json!(request.call);
            output::json(&object).ok();
        } else {
            say_how(&request, &self.flags);
        }
        Box::pin(pending())
    }
}

/// Says how somebody can answer from elsewhere.
fn say_how(request: &Request, flags: &str) {
    let tool = output::clean(&request.tool);
    let arguments = output::clean(&request.arguments.to_string());
    output::chat(&match &request.call {
        Some(call) => {
            let about = [&**call, &request.ask_id];
            let answer = shell::command("task answer", &about, "--approve", flags);
            format!("it asks to use {tool} {arguments}\nanswer with: {answer} (or --deny)")
        }
        None => format!("it asks to use {tool} {arguments}; answer at the hub"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_a_yes() {
        let request = Request {
            call: None,
            ask_id: "ask-1".to_owned(),
            caller: Some("alice".to_owned()),
            tool: "Bash".to_owned(),
            arguments: json!({"command": "rm x"}),
        };
        let ask = as_ask(&request);
        let told = |line: &str| decision(&ask, line);
        assert!(told("y").approved);
        assert_eq!(
            told("rather not"),
            Decision {
                approved: false,
                reason: Some("rather not".to_owned())
            }
        );
        assert!(!told("").approved);
    }
}
