//! Approval prompts for the owner of a connected agent: at the terminal, one after the other. Without a
//! terminal, the program prints how to answer elsewhere.

use std::{future::pending, sync::Arc};

use jackfield_connect::{ApprovalRequest, OwnerDecision, OwnerTerminal, TerminalDecision};
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

/// Capacity of the queue of questions; further questions wait before the queue.
const WAITING: usize = 16;

/// Returns the terminal if a user is there. JSON output is for programs, so no prompts.
pub(super) fn find(json: bool, flags: String) -> Arc<dyn OwnerTerminal> {
    if json || !prompt::is_interactive() {
        return Arc::new(RemoteDesk { json, flags });
    }
    let (questions, waiting) = mpsc::channel(WAITING);
    let mut showing = JoinSet::new();
    showing.spawn(show(waiting, flags));
    Arc::new(TerminalDesk {
        questions,
        _showing: showing,
    })
}

/// A question, and the channel for the [`OwnerDecision`].
type ApprovalPrompt = (ApprovalRequest, oneshot::Sender<OwnerDecision>);

/// Prompts at the terminal where the agent was connected.
#[derive(Debug)]
struct TerminalDesk {
    questions: mpsc::Sender<ApprovalPrompt>,
    _showing: JoinSet<()>,
}

impl OwnerTerminal for TerminalDesk {
    fn ask(&self, request: ApprovalRequest) -> TerminalDecision {
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

/// Shows questions one after the other. A question that was answered elsewhere is withdrawn.
async fn show(mut waiting: mpsc::Receiver<ApprovalPrompt>, flags: String) {
    let mut typed = None;
    while let Some((request, mut answer)) = waiting.recv().await {
        if answer.is_closed() {
            continue;
        }
        let lines = typed.get_or_insert_with(prompt::lines);
        // Lines typed before the question was shown are no answer.
        while lines.try_recv().is_ok() {}
        let ask = as_ask(&request);
        output::print_message_part(&asks::question(&ask));
        tokio::select! {
            line = lines.recv() => match line {
                // The question may have been answered elsewhere at this very moment.
                Some(line) => drop(answer.send(decision(&ask, &line))),
                None => {
                    output::print_message("");
                    print_how_to_answer(&request, &flags);
                }
            },
            () = answer.closed() => output::print_message("\n(answered elsewhere)"),
        }
    }
}

/// Converts a [`ApprovalRequest`] into the hub's format.
fn as_ask(request: &ApprovalRequest) -> Value {
    let caller = request.caller.as_deref().unwrap_or("an unknown caller");
    json!({
        "id": request.ask_id,
        "kind": "approval",
        "text": format!("for {caller}: may I use {}?", request.tool),
        "tool_name": request.tool,
        "arguments": request.arguments,
    })
}

fn decision(ask: &Value, line: &str) -> OwnerDecision {
    let body = asks::answer_body(ask, line);
    OwnerDecision {
        approved: body["approved"] == true,
        reason: Some(text(&body, "reason").to_owned()).filter(|reason| !reason.is_empty()),
    }
}

/// Replacement for a terminal, if there is none.
#[derive(Debug)]
struct RemoteDesk {
    json: bool,
    flags: String,
}

impl OwnerTerminal for RemoteDesk {
    fn ask(&self, request: ApprovalRequest) -> TerminalDecision {
        if self.json {
            let mut object = as_ask(&request);
            object["type"] = json!("ask");
            object["call"] = json!(request.call);
            output::json(&object).ok();
        } else {
            print_how_to_answer(&request, &self.flags);
        }
        Box::pin(pending())
    }
}

/// Prints how to answer from elsewhere.
fn print_how_to_answer(request: &ApprovalRequest, flags: &str) {
    let tool = output::clean(&request.tool);
    let arguments = output::clean(&request.arguments.to_string());
    output::print_message(&match &request.call {
        Some(call) => {
            let about = [&**call, &request.ask_id];
            let answer = shell::command("task answer", &about, "--approve", flags);
            format!("the agent asks to use {tool} {arguments}\nanswer with: {answer} (or --deny)")
        }
        None => format!("the agent asks to use {tool} {arguments}; answer at the hub"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_a_yes() {
        let request = ApprovalRequest {
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
            OwnerDecision {
                approved: false,
                reason: Some("rather not".to_owned())
            }
        );
        assert!(!told("").approved);
    }
}
