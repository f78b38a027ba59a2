//! `jackfield task`: lists, shows, follows, cancels and answers tasks, and resends callbacks.

mod list;
mod task_id;
mod undelivered;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use http::Method;
use jackfield_sdk::{Done, DoneState, Error, Hub, encode};
use serde_json::{Value, json};

pub(super) use self::list::{decisions, show};
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    output::{self, text},
    reply::{self, ReplyOutcome, ReplyPrinter},
    shell,
};

/// Manage tasks, which are calls that the hub stores.
#[derive(Debug, Args)]
pub(crate) struct Task {
    #[command(subcommand)]
    verb: TaskCommand,
}

#[derive(Debug, Subcommand)]
enum TaskCommand {
    /// List questions that wait for you, and your tasks, newest first
    Ls(list::Ls),
    /// Show a task with all messages
    Show(list::Show),
    /// Follow a task and print its answer until the end
    Wait(Wait),
    /// Cancel a task and notify the agent at once
    Cancel(Cancel),
    /// Answer a question of an agent
    Answer(Answer),
    /// Resend a callback that could not be delivered
    Resend(undelivered::Resend),
}

impl Task {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let code = match self.verb {
            TaskCommand::Ls(ls) => ls.run().await?,
            TaskCommand::Show(show) => show.run().await?,
            TaskCommand::Wait(wait) => wait.run().await?,
            TaskCommand::Cancel(cancel) => cancel.run().await?,
            TaskCommand::Answer(answer) => answer.run().await?,
            TaskCommand::Resend(resend) => resend.run().await?,
        };
        Ok(code.into())
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "A lost connection is resumed. Ctrl-c does not end the task. The exit codes are those of call.\n\n\
                       Example:\n  jackfield task wait $(jackfield call worker \"build it\" --detach)"
)]
struct Wait {
    /// Follow the task with this id, or id ending
    #[arg(value_parser = task_id::task)]
    task: String,
    /// Show thinking, tools and status on standard error even if standard error is not a terminal
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    client: Client,
}

impl Wait {
    async fn run(mut self) -> Result<ExitKind> {
        let hub = self.client.connect().await?;
        self.task = task_id::find(&hub, &self.task).await?;
        let stream = hub.follow(&self.task).await.about(ErrorSubject::Task);
        let mut stream = stream.map_err(|stop| stop.fill_in("TASK", &self.task))?;
        let reading = ReplyPrinter {
            handed: None,
            hub: &hub,
            json: self.client.json,
            verbose: self.verbose,
            from_log: true,
            flags: self.client.flags(),
            goes_on: true,
        };
        let mut outcome = reading.read(&mut stream).await?;
        if let ReplyOutcome::Interrupted = outcome {
            let cancel = shell::command("task cancel", &[&self.task], "", "");
            output::print_message(&format!("the task continues; {cancel} ends it"));
        }
        if matches!(&outcome, ReplyOutcome::Done(done) if done.state == DoneState::Completed)
            || matches!(outcome, ReplyOutcome::Interrupted)
        {
            return reply::code(outcome, "", "");
        }
        let path = format!("/v1/calls/{}", self.task);
        let task = client::get(&hub, &path, ErrorSubject::Task).await?;
        if let ReplyOutcome::Nothing = outcome {
            // The hub no longer has the log, but has the state.
            outcome = outcome_of(&task);
        }
        let (agent, session) = (text(&task, "agent"), text(&task, "session"));
        let flags = self.client.flags();
        let go_on = format!("call --session {}", shell::word(session));
        let next = shell::command(&go_on, &[agent], "TEXT", &flags);
        reply::code(outcome, agent, &next)
    }
}

fn outcome_of(task: &Value) -> ReplyOutcome {
    let done = |state| {
        ReplyOutcome::Done(Done {
            state,
            ..Done::default()
        })
    };
    match text(task, "state") {
        "failed" => ReplyOutcome::Failed(Error::Failed {
            code: text(&task["failure"], "error").to_owned(),
            cause: task["failure"]["cause"].as_str().map(str::to_owned),
            message: text(&task["failure"], "message").to_owned(),
        }),
        "cancelled" => ReplyOutcome::Failed(Error::Cancelled),
        "completed" => done(DoneState::Completed),
        "rejected" => done(DoneState::Rejected),
        "input_required" => done(DoneState::InputRequired),
        _ => ReplyOutcome::Nothing,
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  jackfield task cancel 0199c2f0-1111-7aaa-8bbb-123456789abc"
)]
struct Cancel {
    /// Cancel the task with this id, or id ending, or the open call with this id
    #[arg(value_parser = task_id::task)]
    task: String,
    #[command(flatten)]
    client: Client,
}

impl Cancel {
    async fn run(mut self) -> Result<ExitKind> {
        let hub = self.client.connect().await?;
        self.task = task_id::find(&hub, &self.task).await?;
        let path = format!("/v1/calls/{}/cancel", self.task);
        let cancelled = client::request(&hub, Method::POST, &path, None).await;
        let cancelled = cancelled.about(ErrorSubject::Task);
        cancelled.map_err(|stop| stop.fill_in("TASK", &self.task))?;
        if self.client.json {
            output::json(&json!({"id": self.task, "cancelled": true}))?;
        } else {
            output::print_message(&format!("{} is cancelled", self.task));
        }
        Ok(ExitKind::Ok)
    }
}

#[derive(Debug, Args)]
#[command(
    override_usage = "jackfield task answer [OPTIONS] <TASK> [ASK_ID] <TEXT>\n       jackfield task answer [OPTIONS] <TASK> [ASK_ID] --approve\n       jackfield task answer [OPTIONS] <TASK> [ASK_ID] --deny [--reason <REASON>]",
    after_long_help = "ASK_ID is needed only if several questions are open; jackfield task show TASK lists them.\n\n\
                       Examples:\n  jackfield task answer TASK \"the blue one\"\n  jackfield task answer TASK --approve\n  \
                       jackfield task answer TASK ASK_ID --deny --reason \"not on a Friday\""
)]
struct Answer {
    /// Answer the task with this id, or id ending, or the open call with this id
    #[arg(value_parser = task_id::task)]
    task: String,
    /// Answer the question with this id with this text
    #[arg(value_name = "ASK_ID|TEXT", num_args = 0..=2)]
    words: Vec<String>,
    /// Approve what the agent asks for
    #[arg(long, conflicts_with = "deny")]
    approve: bool,
    /// Deny what the agent asks for
    #[arg(long)]
    deny: bool,
    /// Give a reason for the denial
    #[arg(long, requires = "deny")]
    reason: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl Answer {
    async fn run(mut self) -> Result<ExitKind> {
        let (ask_id, answer) = self.parts()?;
        let hub = self.client.connect().await?;
        self.task = task_id::find(&hub, &self.task).await?;
        let ask_id = match ask_id {
            Some(id) => id,
            None => only_question(&hub, &self.task, answer.as_deref()).await?,
        };
        let path = format!("/v1/calls/{}/answer", encode(&self.task));
        let mut body = json!({ "ask_id": ask_id });
        if let Some(answer) = answer {
            body["content"] = json!(answer);
        }
        if self.approve || self.deny {
            body["approved"] = json!(self.approve);
        }
        if let Some(reason) = &self.reason {
            body["reason"] = json!(reason);
        }
        let answered = client::request(&hub, Method::POST, &path, Some(&body)).await;
        answered.map_err(|error| self.refused(&error, &ask_id))?;
        if self.client.json {
            output::json(&json!({"id": self.task, "ask_id": ask_id, "answered": true}))?;
        } else {
            output::print_message("the agent has the answer");
        }
        Ok(ExitKind::Ok)
    }

    /// Returns the id of the question and the text of the answer, as typed. A single word is the text, or the
    /// question's id for an approval.
    fn parts(&mut self) -> Result<(Option<String>, Option<String>), CliError> {
        let is_decision = self.approve || self.deny;
        let mut words = std::mem::take(&mut self.words).into_iter();
        match (words.next(), words.next()) {
            (None, _) if !is_decision => {
                let next = shell::command("task answer", &[&self.task], "TEXT", "");
                Err(CliError::new(
                    ExitKind::Usage,
                    "the answer is missing",
                    format!("{next}, or with --approve or --deny instead of TEXT"),
                ))
            }
            (Some(answer), None) if !is_decision => Ok((None, Some(answer))),
            (ask_id, answer) => Ok((ask_id, answer)),
        }
    }

    fn refused(&self, error: &Error, ask_id: &str) -> CliError {
        let stop = CliError::from_hub(error, ErrorSubject::Task);
        let next = match error.code() {
            Some("unauthorized") => {
                "pass the token of the owner who may decide: --token-file FILE or JACKFIELD_TOKEN"
                    .to_owned()
            }
            Some("not_found") => {
                let show = shell::command("task show", &[&self.task], "", "");
                format!("{show} shows its open questions")
            }
            Some("invalid") if self.approve || self.deny => {
                let answer = shell::command("task answer", &[&self.task, ask_id], "TEXT", "");
                format!("answer with a text: {answer}")
            }
            Some("invalid") => "it asks for an approval: use --approve or --deny".to_owned(),
            _ => return stop.fill_in("TASK", &self.task),
        };
        CliError {
            next: Some(next),
            ..stop
        }
    }
}

/// Returns the id of the only open question of a task that this user may answer. An `answer` equal to a
/// question's id means that the user forgot the answer.
async fn only_question(hub: &Hub, task: &str, answer: Option<&str>) -> Result<String> {
    let path = format!("/v1/calls/{}", encode(task));
    let call = client::get(hub, &path, ErrorSubject::Task).await?;
    let ids: Vec<_> = output::items(&call, "asks")
        .iter()
        .map(|ask| output::clean(text(ask, "id")))
        .collect();
    if let Some(id) = ids.iter().find(|id| Some(id.as_str()) == answer) {
        let next = shell::command("task answer", &[task, id], "TEXT", "");
        let text = format!("the answer to {id} is missing");
        return Err(CliError::new(ExitKind::Usage, text, next).into());
    }
    match &ids[..] {
        [_] => Ok(text(&call["asks"][0], "id").to_owned()),
        [] => Err(CliError::new(
            ExitKind::Missing,
            "this task has no open question for you",
            format!(
                "{} shows what it waits for",
                shell::command("task show", &[task], "", "")
            ),
        )
        .into()),
        _ => Err(CliError::new(
            ExitKind::Usage,
            format!("this task has several open questions: {}", ids.join(", ")),
            "put the id of the question before the answer",
        )
        .into()),
    }
}
