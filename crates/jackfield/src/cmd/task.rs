//! `jackfield task`: what is kept of calls: looking, waiting, cancelling, answering, calling back again.

mod dead;
mod list;
mod named;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use http::Method;
use jackfield_sdk::{Done, DoneState, Error, Hub, encode};
use serde_json::{Value, json};

pub(super) use self::list::{decisions, show};
use crate::{
    client::{self, Client},
    exit::{About, Code, Stop, WhatAbout},
    output::{self, text},
    reply::{self, Outcome, Reading},
    shell,
};

/// Look at tasks, which are calls that the hub keeps, and steer them.
#[derive(Debug, Args)]
pub(crate) struct Task {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// What waits for you, and your tasks, newest first
    Ls(list::Ls),
    /// All that was said in a task
    Show(list::Show),
    /// Print the answer of a task as it comes, until its end
    Wait(Wait),
    /// Cancel a task; the agent is told at once
    Cancel(Cancel),
    /// Answer a question of an agent
    Answer(Answer),
    /// Send a callback again that nobody took
    Resend(dead::Resend),
}

impl Task {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let code = match self.verb {
            Verb::Ls(ls) => ls.run().await?,
            Verb::Show(show) => show.run().await?,
            Verb::Wait(wait) => wait.run().await?,
            Verb::Cancel(cancel) => cancel.run().await?,
            Verb::Answer(answer) => answer.run().await?,
            Verb::Resend(resend) => resend.run().await?,
        };
        Ok(code.into())
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "A cut does no harm: it goes on where it was. Ctrl-c leaves the task alone. The exit code is as for call.\n\n\
                       Example:\n  jackfield task wait $(jackfield call worker \"build it\" --detach)"
)]
struct Wait {
    /// The task's id, or the end of it
    #[arg(value_parser = named::task)]
    task: String,
    /// Show thinking, tools and status on standard error even if it is no terminal
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    client: Client,
}

impl Wait {
    async fn run(mut self) -> Result<Code> {
        let hub = self.client.connect().await?;
        self.task = named::find(&hub, &self.task).await?;
        let stream = hub.follow(&self.task).await.about(About::Task);
        let mut stream = stream.map_err(|stop| stop.naming("TASK", &self.task))?;
        let reading = Reading {
            handed: None,
            hub: &hub,
            json: self.client.json,
            verbose: self.verbose,
            from_log: true,
            flags: self.client.flags(),
            goes_on: true,
        };
        let mut outcome = reading.read(&mut stream).await?;
        if let Outcome::Interrupted = outcome {
            let cancel = shell::command("task cancel", &[&self.task], "", "");
            output::chat(&format!("the task goes on without you; {cancel} ends it"));
        }
        if matches!(&outcome, Outcome::Done(done) if done.state == DoneState::Completed)
            || matches!(outcome, Outcome::Interrupted)
        {
            return reply::code(outcome, "", "");
        }
        let path = format!("/v1/calls/{}", self.task);
        let task = client::get(&hub, &path, About::Task).await?;
        if let Outcome::Nothing = outcome {
            // Its log is not kept; its state is.
            outcome = outcome_of(&task);
        }
        let (agent, session) = (text(&task, "agent"), text(&task, "session"));
        let flags = self.client.flags();
        let go_on = format!("call --session {}", shell::word(session));
        let next = shell::command(&go_on, &[agent], "TEXT", &flags);
        reply::code(outcome, agent, &next)
    }
}

fn outcome_of(task: &Value) -> Outcome {
    let done = |state| {
        Outcome::Done(Done {
            state,
            ..Done::default()
        })
    };
    match text(task, "state") {
        "failed" => Outcome::Failed(Error::Failed {
            code: text(&task["failure"], "error").to_owned(),
            cause: task["failure"]["cause"].as_str().map(str::to_owned),
            message: text(&task["failure"], "message").to_owned(),
        }),
        "cancelled" => Outcome::Failed(Error::Cancelled),
        "completed" => done(DoneState::Completed),
        "rejected" => done(DoneState::Rejected),
        "input_required" => done(DoneState::InputRequired),
        _ => Outcome::Nothing,
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  jackfield task cancel 0199c2f0-1111-7aaa-8bbb-123456789abc"
)]
struct Cancel {
    /// The task's id, or the end of it; or the id of an open call
    #[arg(value_parser = named::task)]
    task: String,
    #[command(flatten)]
    client: Client,
}

impl Cancel {
    async fn run(mut self) -> Result<Code> {
        let hub = self.client.connect().await?;
        self.task = named::find(&hub, &self.task).await?;
        let path = format!("/v1/calls/{}/cancel", self.task);
        let cancelled = client::ask(&hub, Method::POST, &path, None).await;
        let cancelled = cancelled.about(About::Task);
        cancelled.map_err(|stop| stop.naming("TASK", &self.task))?;
        if self.client.json {
            output::json(&json!({"id": self.task, "cancelled": true}))?;
        } else {
            output::chat(&format!("{} is cancelled", self.task));
        }
        Ok(Code::Ok)
    }
}

#[derive(Debug, Args)]
#[command(
    override_usage = "jackfield task answer [OPTIONS] <TASK> [ASK_ID] <TEXT>\n       jackfield task answer [OPTIONS] <TASK> [ASK_ID] --approve\n       jackfield task answer [OPTIONS] <TASK> [ASK_ID] --deny [--reason <REASON>]",
    after_long_help = "ASK_ID is needed only where several questions are open; jackfield task show TASK lists them.\n\n\
                       Examples:\n  jackfield task answer TASK \"the blue one\"\n  jackfield task answer TASK --approve\n  \
                       jackfield task answer TASK ASK_ID --deny --reason \"not on a Friday\""
)]
struct Answer {
    /// The task's id, or the end of it; or the id of an open call
    #[arg(value_parser = named::task)]
    task: String,
    /// The question's id, and what to answer
    #[arg(value_name = "ASK_ID|TEXT", num_args = 0..=2)]
    words: Vec<String>,
    /// Let it do what it asks for
    #[arg(long, conflicts_with = "deny")]
    approve: bool,
    /// Do not let it
    #[arg(long)]
    deny: bool,
    /// Why not
    #[arg(long, requires = "deny")]
    reason: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl Answer {
    async fn run(mut self) -> Result<Code> {
        let (ask_id, answer) = self.parts()?;
        let hub = self.client.connect().await?;
        self.task = named::find(&hub, &self.task).await?;
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
        let answered = client::ask(&hub, Method::POST, &path, Some(&body)).await;
        answered.map_err(|error| self.refused(&error, &ask_id))?;
        if self.client.json {
            output::json(&json!({"id": self.task, "ask_id": ask_id, "answered": true}))?;
        } else {
            output::chat("the agent has the answer");
        }
        Ok(Code::Ok)
    }

    /// The id of the question and the words of the answer, as far as they were typed. One word alone is the answer where
    /// the answer is in words, and the question's id where it is a decision.
    fn parts(&mut self) -> Result<(Option<String>, Option<String>), Stop> {
        let is_decision = self.approve || self.deny;
        let mut words = std::mem::take(&mut self.words).into_iter();
        match (words.next(), words.next()) {
            (None, _) if !is_decision => {
                let next = shell::command("task answer", &[&self.task], "TEXT", "");
                Err(Stop::new(
                    Code::Usage,
                    "what is the answer?",
                    format!("{next}, or with --approve or --deny instead of TEXT"),
                ))
            }
            (Some(answer), None) if !is_decision => Ok((None, Some(answer))),
            (ask_id, answer) => Ok((ask_id, answer)),
        }
    }

    fn refused(&self, error: &Error, ask_id: &str) -> Stop {
        let stop = Stop::from_hub(error, About::Task);
        let next = match error.code() {
            Some("unauthorized") => {
                "whoever may decide shows their own token: --token-file FILE or JACKFIELD_TOKEN"
                    .to_owned()
            }
            Some("not_found") => {
                let show = shell::command("task show", &[&self.task], "", "");
                format!("{show} shows what it asks")
            }
            Some("invalid") if self.approve || self.deny => {
                let answer = shell::command("task answer", &[&self.task, ask_id], "TEXT", "");
                format!("answer in words: {answer}")
            }
            Some("invalid") => "it asks for an approval: use --approve or --deny".to_owned(),
            _ => return stop.naming("TASK", &self.task),
        };
        Stop {
            next: Some(next),
            ..stop
        }
    }
}

/// The id of the only open question of a task that is ours to answer. An `answer` that is the id of a question is one that
/// somebody forgot to type the answer to.
async fn only_question(hub: &Hub, task: &str, answer: Option<&str>) -> Result<String> {
    let path = format!("/v1/calls/{}", encode(task));
    let call = client::get(hub, &path, About::Task).await?;
    let ids: Vec<_> = output::items(&call, "asks")
        .iter()
        .map(|ask| output::clean(text(ask, "id")))
        .collect();
    if let Some(id) = ids.iter().find(|id| Some(id.as_str()) == answer) {
        let next = shell::command("task answer", &[task, id], "TEXT", "");
        let text = format!("what is the answer to {id}?");
        return Err(Stop::new(Code::Usage, text, next).into());
    }
    match &ids[..] {
        [_] => Ok(text(&call["asks"][0], "id").to_owned()),
        [] => Err(Stop::new(
            Code::Missing,
            "this task asks nothing that is yours to answer",
            format!(
                "{} shows what it waits for",
                shell::command("task show", &[task], "", "")
            ),
        )
        .into()),
        _ => Err(Stop::new(
            Code::Usage,
            format!("this task asks several things: {}", ids.join(", ")),
            "name the one that you answer, before the answer",
        )
        .into()),
    }
}
