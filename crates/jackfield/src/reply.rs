//! A reply as it comes: its text to standard output, what goes on besides to standard error, its questions to the
//! person at the terminal. `call` and `task wait` read this way.

pub(crate) mod asks;
mod page;

use anyhow::Result;
use http::Method;
use jackfield_model::WaitingFor;
use jackfield_sdk::{
    CallStream, Chunk, Done, DoneState, Error, Event, Hub, RawEvent, Reconnect, encode,
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use self::asks::Asks;
pub(crate) use self::page::Page;
use crate::{
    client,
    exit::{About, Code, Stop, WhatAbout},
    output, shell,
    transfers::handed::Handed,
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
    /// Whether the call goes on when nobody reads it any more.
    pub(crate) goes_on: bool,
    /// Who takes the files that come with it, if somebody does.
    pub(crate) handed: Option<&'a Handed>,
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
    /// The connection to the hub was lost, and the hub did not come back in time.
    Lost(Stop),
    /// Ctrl-c.
    Interrupted,
}

impl Reading<'_> {
    /// Reads until the end.
    pub(crate) async fn read(&self, stream: &mut CallStream) -> Result<Outcome> {
        stream.on_reconnect(tell_reconnect);
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut page = Page::new(self.verbose);
        let mut asks = Asks::default();
        let mut outcome = Outcome::Nothing;
        loop {
            tokio::select! {
                raw = stream.next_raw() => match raw {
                    Err(error) => match stream.started().task.as_deref() {
                        // The hub keeps the call, so that it can be found again.
                        Some(task) if is_connection_lost(&error) => {
                            page.end()?;
                            return Ok(Outcome::Lost(self.lost(task, &error)));
                        }
                        _ => return Err(error.into()),
                    },
                    Ok(None) => break,
                    Ok(Some(raw)) => {
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

    /// The hub did not come back in time.
    fn lost(&self, task: &str, error: &Error) -> Stop {
        let Stop { code, text, .. } = Stop::from_hub(error, About::Task);
        let text = format!("gave up: {text}; the call is task {}", output::clean(task));
        let wait = shell::command("task wait", &[task], "", &self.flags);
        let next = match self.goes_on {
            true => format!("once the hub runs, go on with: {wait}"),
            false => format!(
                "once the hub runs, go on with: {wait} (the hub cancels the call if nobody reads it for 30 s; with --keep it does not)"
            ),
        };
        Stop::new(code, text, next)
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
        if let Some(handed) = self.handed {
            handed.hear(&event);
        }
        match event {
            Event::Ask(ask) => {
                // As the hub lists the open questions of a call.
                let ask = json!(ask);
                if !self.json && (!self.from_log || self.is_open(stream, &ask).await?) {
                    page.make_room()?;
                    self.put(&ask, stream, asks)?;
                }
            }
            Event::Chunk(chunk) if !self.json && waits_for_owner(&chunk) => {
                page.chunk(&chunk)?;
                page.make_room()?;
                self.approvals(stream, asks).await?;
            }
            Event::Done(done) => {
                if !self.json {
                    page.done(&done, self.how_to_save())?;
                }
                return Ok(Some(Outcome::Done(done)));
            }
            _ if self.json => {}
            Event::Chunk(chunk) => page.chunk(&chunk)?,
            Event::Artifact(artifact) => page.artifact(&artifact, self.how_to_save())?,
            Event::Gap => page.gap()?,
            Event::Started(_) => {}
        }
        Ok(None)
    }

    /// How a file of the answer is got, to stand after its name.
    fn how_to_save(&self) -> &'static str {
        match self.handed {
            Some(_) => "",
            None if self.from_log => " (--json shows it)",
            None => " (--with-files saves it, --json shows it)",
        }
    }

    /// The call as it stands.
    async fn call(&self, stream: &CallStream) -> Result<Value> {
        let path = format!("/v1/calls/{}", encode(&stream.started().id));
        client::get(self.hub, &path, About::Task).await
    }

    /// Whether a question of the log still waits for us.
    async fn is_open(&self, stream: &CallStream, ask: &Value) -> Result<bool> {
        let call = self.call(stream).await?;
        let mut open = output::items(&call, "asks").iter();
        Ok(open.any(|open| open["id"] == ask["id"]))
    }

    /// Puts a question to the person at the terminal. Where there is none, an approval of a live call is waited for, since
    /// somebody may give it elsewhere; a question for words is only ours to answer.
    fn put(&self, ask: &Value, stream: &CallStream, asks: &mut Asks) -> Result<()> {
        if asks.ask(ask.clone()) {
            return Ok(());
        }
        if asks::is_approval(ask) && !self.from_log {
            output::chat(&format!("{}\n{}", asked(ask), self.how(stream, ask)));
            return Ok(());
        }
        Err(self.nobody_to_ask(stream, ask).into())
    }

    /// The call waits for approvals: those that are ours to give are asked here, of the others it is said whose they are.
    async fn approvals(&self, stream: &CallStream, asks: &mut Asks) -> Result<()> {
        let call = self.call(stream).await?;
        let ours = output::items(&call, "asks");
        for ask in ours.iter().filter(|ask| asks::is_approval(ask)) {
            if asks.is_new(ask) {
                self.put(ask, stream, asks)?;
            }
        }
        for approval in output::items(&call, "approvals") {
            let id = &approval["ask_id"];
            if ours.iter().any(|ask| ask["id"] == *id) || !asks.is_new(&json!({ "id": id })) {
                continue;
            }
            let (what, how) = asks::of_others(named(stream), approval);
            if self.from_log {
                return Err(Stop::new(Code::Failed, what, how).into());
            }
            output::chat(&format!("{what}\n{how}"));
        }
        Ok(())
    }

    /// The command that answers a question.
    fn how(&self, stream: &CallStream, ask: &Value) -> String {
        asks::command(named(stream), ask, &self.flags)
    }

    /// Nobody is at the terminal: say how somebody can answer. A call that only we read is over then.
    fn nobody_to_ask(&self, stream: &CallStream, ask: &Value) -> Stop {
        let task = stream.started().task.as_ref().filter(|_| self.goes_on);
        let Some(task) = task else {
            let next = "nobody is here to answer, so the call is cancelled; call from a terminal, or with --detach: \
                        jackfield task wait then prints the jackfield task answer that is needed";
            return Stop::new(Code::Cancelled, asked(ask), next);
        };
        let how = self.how(stream, ask);
        let wait = shell::command("task wait", &[task], "", &self.flags);
        let next = format!("{how}\nthen go on with: {wait}");
        Stop::new(Code::Failed, asked(ask), next)
    }

    /// Ctrl-d: whoever is at the terminal says nothing.
    fn not_answered(&self, stream: &CallStream, ask: &Value) -> Stop {
        // The question's line is still open.
        output::chat("");
        let text = "no answer was given";
        match self.goes_on {
            true => Stop::new(Code::Failed, text, self.how(stream, ask)),
            false => Stop::new(
                Code::Cancelled,
                format!("{text}, so the call is cancelled"),
                "call again; with --detach the question waits for an answer",
            ),
        }
    }

    async fn answer(&self, stream: &CallStream, ask: &Value, line: Option<String>) -> Result<()> {
        let Some(line) = line else {
            return Err(self.not_answered(stream, ask).into());
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

/// Tells the person at the terminal why nothing comes.
fn tell_reconnect(news: Reconnect) {
    output::chat(&match news {
        Reconnect::Lost { retry_for } => format!(
            "the connection to the hub was lost; trying again for {} s",
            retry_for.as_secs_f64().round()
        ),
        Reconnect::Resumed => "connected to the hub again".to_owned(),
    });
}

/// Whether there is no way to the hub, as against an answer of the hub.
fn is_connection_lost(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable { .. } | Error::Untrusted { .. } | Error::Tls { .. } | Error::Broken
    )
}

/// Whether a status says that an approval is waited for. The hub is asked for which, so that an agent that says the same
/// of itself does no harm.
fn waits_for_owner(chunk: &Chunk) -> bool {
    chunk.waiting_for == Some(WaitingFor::Owner)
}

/// The id by which somebody else finds the call.
fn named(stream: &CallStream) -> &str {
    let started = stream.started();
    started.task.as_deref().unwrap_or(&started.id)
}

/// What the agent asks, as a sentence.
fn asked(ask: &Value) -> String {
    format!("the agent asks: {}", asks::wanted(ask))
}

/// The exit code of a reply, or the error to end with; `agent` is who was called, if it is known.
pub(crate) fn code(outcome: Outcome, agent: &str, agent_next: &str) -> Result<Code> {
    let named = |stop: Stop| stop.naming("AGENT", agent);
    match outcome {
        Outcome::Done(done) if done.state == DoneState::Rejected => Err(named(Stop::new(
            Code::Agent,
            "the agent refused to do it",
            "its answer may say why; jackfield show AGENT tells what it can do",
        ))
        .into()),
        Outcome::Done(done) => {
            if done.state == DoneState::InputRequired {
                let what = match done.needs_auth {
                    true => "the agent needs you to sign in; then go on with",
                    false => "the agent waits for your answer",
                };
                output::chat(&format!("{what}: {agent_next}"));
            }
            Ok(Code::Ok)
        }
        Outcome::Failed(error) => Err(named(Stop::from_hub(&error, About::Agent)).into()),
        Outcome::Nothing => Err(Stop::new(
            Code::Failed,
            "the stream ended without an end",
            "jackfield task ls shows what is kept",
        )
        .into()),
        Outcome::Lost(stop) => Err(stop.into()),
        Outcome::Interrupted => Ok(Code::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use jackfield_sdk::Address;

    use super::*;

    #[test]
    fn who_gives_up_waiting_for_the_hub_is_told_how_to_go_on() {
        let address = Address::new("http://127.0.0.1:1").unwrap();
        let hub = Hub::new(address).unwrap();
        let reading = |goes_on| Reading {
            hub: &hub,
            json: false,
            verbose: false,
            from_log: false,
            flags: " --hub http://h:1".to_owned(),
            goes_on,
            handed: None,
        };
        let stop = reading(false).lost("t-1", &Error::Broken);
        assert!(stop.text.contains("task t-1"), "{stop}");
        let next = stop.next.unwrap();
        assert!(
            next.contains("jackfield task wait t-1 --hub http://h:1"),
            "{next}"
        );
        assert!(next.contains("--keep"), "{next}");
        let next = reading(true).lost("t-1", &Error::Broken).next.unwrap();
        assert!(!next.contains("--keep"), "{next}");
    }
}
