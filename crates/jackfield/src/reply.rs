//! A reply as it comes: its text to standard output, what goes on besides to standard error, its questions to the
//! person at the terminal. `call` and `task wait` read this way.

pub(crate) mod asks;
mod page;

use anyhow::Result;
use http::Method;
use jackfield_sdk::{CallStream, Done, Error, Event, Hub, RawEvent, encode};
use tokio::signal::unix::{SignalKind, signal};

use self::asks::Asks;
pub(crate) use self::page::Page;
use crate::{
    client,
    exit::{About, Code, Stop, WhatAbout},
    output,
};

/// How to read a reply.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) hub: &'a Hub,
    /// One JSON object per line for each event, instead of the text.
    pub(crate) json: bool,
    /// Shows thinking, tools and status even where nobody looks.
    pub(crate) verbose: bool,
    /// Reads from the log of a task, whose questions may be answered long ago.
    pub(crate) from_log: bool,
    /// The flags to repeat in a command that somebody is told to type.
    pub(crate) flags: String,
}

/// How the reading ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The agent is done.
    Done(Done),
    /// The call failed or was cancelled.
    Failed(Error),
    /// The hub has nothing more, not even an end.
    Nothing,
    /// Ctrl-c.
    Interrupted,
}

impl Reading<'_> {
    /// Reads until the end.
    pub(crate) async fn read(&self, stream: &mut CallStream) -> Result<Outcome> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut page = Page::new(self.verbose);
        let mut asks = Asks::default();
        let mut outcome = Outcome::Nothing;
        loop {
            tokio::select! {
                raw = stream.next_raw() => match raw? {
                    None => break,
                    Some(raw) => {
                        if let Some(end) = self.event(raw, stream, &mut page, &mut asks).await? {
                            outcome = end;
                        }
                    }
                },
                (ask, line) = asks.answered() => {
                    self.answer(stream, &ask, line).await?;
                    asks.prompt_next();
                }
                _ = interrupt.recv() => {
                    page.end()?;
                    return Ok(Outcome::Interrupted);
                }
            }
        }
        page.end()?;
        Ok(outcome)
    }

    async fn event(
        &self,
        raw: RawEvent,
        stream: &CallStream,
        page: &mut Page,
        asks: &mut Asks,
    ) -> Result<Option<Outcome>> {
        if self.json {
            output::json(&raw.data)?;
        }
        let event = match raw.read() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(Outcome::Failed(error))),
        };
        match event {
            Event::Ask(ask) => {
                if !self.json && (!self.from_log || self.is_open(stream, &ask).await?) {
                    page.end()?;
                    if !asks.ask(ask.clone()) {
                        return Err(self.nobody_to_ask(stream, &ask).into());
                    }
                }
            }
            Event::Done(done) => {
                if !self.json {
                    page.done(&done)?;
                }
                return Ok(Some(Outcome::Done(done)));
            }
            _ if self.json => {}
            Event::Chunk(chunk) => page.chunk(&chunk)?,
            Event::Artifact(artifact) => page.artifact(&artifact)?,
            Event::Gap => page.gap()?,
            Event::Started(_) => {}
        }
        Ok(None)
    }

    /// Whether a question of the log still waits for us.
    async fn is_open(&self, stream: &CallStream, ask: &serde_json::Value) -> Result<bool> {
        let path = format!("/v1/calls/{}", encode(&stream.started().id));
        let task = client::get(self.hub, &path, About::Task).await?;
        let open = task["asks"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        Ok(open.iter().any(|open| open["id"] == ask["id"]))
    }

    /// Nobody is at the terminal: say how somebody can answer.
    fn nobody_to_ask(&self, stream: &CallStream, ask: &serde_json::Value) -> Stop {
        let started = stream.started();
        let (id, flags) = (output::clean(output::text(ask, "id")), &self.flags);
        let how = if output::text(ask, "kind") == "approval" {
            "--approve"
        } else {
            "TEXT"
        };
        let text = format!(
            "the agent asks: {}",
            output::clean(output::text(ask, "text"))
        );
        let next = match &started.task {
            Some(task) => format!(
                "answer with: jackfield task answer {task} {id} {how}{flags}\nthen go on with: jackfield task wait {task}{flags}"
            ),
            None => "nobody is here to answer, so the call is cancelled; call from a terminal, or with --detach and then \
                     jackfield task answer TASK ASK_ID TEXT"
                .to_owned(),
        };
        Stop::new(Code::Failed, text, next)
    }

    async fn answer(
        &self,
        stream: &CallStream,
        ask: &serde_json::Value,
        line: Option<String>,
    ) -> Result<()> {
        let Some(line) = line else {
            return Err(self.nobody_to_ask(stream, ask).into());
        };
        let path = format!("/v1/calls/{}/answer", encode(&stream.started().id));
        let body = asks::answer_body(ask, &line);
        match client::ask(self.hub, Method::POST, &path, Some(&body)).await {
            // Somebody else was faster, or the call is over, which the stream tells.
            Err(Error::Refused { code, message, .. })
                if code == "conflict" || code == "not_found" =>
            {
                output::chat(&format!("({message})"));
                Ok(())
            }
            other => Ok(other.map(drop).about(About::Task)?),
        }
    }
}

/// The exit code of a reply, or the error to end with.
pub(crate) fn code(outcome: Outcome, agent_next: &str) -> Result<Code> {
    match outcome {
        Outcome::Done(done) if done.state == "rejected" => Err(Stop::new(
            Code::Agent,
            "the agent refused to do it",
            "its answer may say why; jackfield show AGENT tells what it can do",
        )
        .into()),
        Outcome::Done(done) => {
            if done.state == "input_required" {
                output::chat(&format!("the agent waits for your answer: {agent_next}"));
            }
            Ok(Code::Ok)
        }
        Outcome::Failed(error) => Err(Stop::from_hub(&error, About::Agent).into()),
        Outcome::Nothing => Err(Stop::new(
            Code::Failed,
            "the stream ended without an end",
            "jackfield task ls shows what is kept",
        )
        .into()),
        Outcome::Interrupted => Ok(Code::Interrupted),
    }
}
