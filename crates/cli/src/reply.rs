//! Reading of a reply: text goes to standard output, tool calls and status to standard error, and questions
//! to the user at the terminal. `call` and `task wait` use [`ReplyPrinter`].

pub(crate) mod asks;
mod writer;

use anyhow::Result;
use http::Method;
use jackfield_model::WaitingFor;
use jackfield_sdk::{
    CallStream, Chunk, Done, DoneState, Error, Event, Hub, RawEvent, Reconnect, encode,
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use self::asks::QuestionPrompts;
pub(crate) use self::writer::ReplyWriter;
use crate::{
    client,
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    output, shell,
    transfers::answer_files::AnswerFiles,
};

/// Settings for reading a reply.
#[derive(Debug)]
pub(crate) struct ReplyPrinter<'a> {
    pub(crate) hub: &'a Hub,
    /// Prints one JSON object per line for each event, instead of the text.
    pub(crate) json: bool,
    /// Shows thinking, tools and status even if standard error is no terminal.
    pub(crate) verbose: bool,
    /// Reads from the log of a task, whose questions may already be answered.
    pub(crate) from_log: bool,
    /// Flags to repeat in a command that the user is told to type.
    pub(crate) flags: String,
    /// Whether the call continues without a reader.
    pub(crate) goes_on: bool,
    /// [`AnswerFiles`] collects the reply's files, if they are to be saved.
    pub(crate) handed: Option<&'a AnswerFiles>,
}

/// Result of [`ReplyPrinter::read`].
#[derive(Debug)]
pub(crate) enum ReplyOutcome {
    /// The agent is done.
    Done(Done),
    /// The call failed or was cancelled.
    Failed(Error),
    /// The stream ended without a final event.
    Nothing,
    /// The connection to the hub was lost, and the hub did not return in time.
    Lost(CliError),
    /// Ctrl-c.
    Interrupted,
}

impl ReplyPrinter<'_> {
    /// Reads until the end of the reply, and returns the [`ReplyOutcome`].
    pub(crate) async fn read(&self, stream: &mut CallStream) -> Result<ReplyOutcome> {
        stream.on_reconnect(print_reconnect);
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut page = ReplyWriter::new(self.verbose);
        let mut asks = QuestionPrompts::default();
        let mut outcome = ReplyOutcome::Nothing;
        loop {
            tokio::select! {
                raw = stream.next_raw() => match raw {
                    Err(error) => match stream.started().task.as_deref() {
                        // The hub stores the call as a task, which can be read again.
                        Some(task) if is_connection_lost(&error) => {
                            page.end()?;
                            return Ok(ReplyOutcome::Lost(self.lost(task, &error)));
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
                    return Ok(ReplyOutcome::Interrupted);
                }
            }
        }
        page.end()?;
        Ok(outcome)
    }

    /// Builds the [`CliError`] for a hub that did not return in time.
    fn lost(&self, task: &str, error: &Error) -> CliError {
        let CliError { code, text, .. } = CliError::from_hub(error, ErrorSubject::Task);
        let text = format!("gave up: {text}; the call is task {}", output::clean(task));
        let wait = shell::command("task wait", &[task], "", &self.flags);
        let next = match self.goes_on {
            true => format!("once the hub runs, resume with: {wait}"),
            false => format!(
                "once the hub runs, resume with: {wait} (without --keep, the hub cancels a call that is not read for 30 s)"
            ),
        };
        CliError::new(code, text, next)
    }

    async fn event(
        &self,
        raw: RawEvent,
        stream: &CallStream,
        page: &mut ReplyWriter,
        asks: &mut QuestionPrompts,
    ) -> Result<Option<ReplyOutcome>> {
        if self.json {
            output::json(&raw.data)?;
        }
        let event = match raw.read() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(ReplyOutcome::Failed(error))),
        };
        if let Some(handed) = self.handed {
            handed.collect(&event);
        }
        match event {
            Event::Ask(ask) => {
                // In the form in which the hub lists open questions.
                let ask = json!(ask);
                if !self.json && (!self.from_log || self.is_open(stream, &ask).await?) {
                    page.start_line()?;
                    self.put(&ask, stream, asks)?;
                }
            }
            Event::Chunk(chunk) if !self.json && waits_for_owner(&chunk) => {
                page.chunk(&chunk)?;
                page.start_line()?;
                self.approvals(stream, asks).await?;
            }
            Event::Done(done) => {
                if !self.json {
                    page.done(&done, self.how_to_save())?;
                }
                return Ok(Some(ReplyOutcome::Done(done)));
            }
            _ if self.json => {}
            Event::Chunk(chunk) => page.chunk(&chunk)?,
            Event::Artifact(artifact) => page.artifact(&artifact, self.how_to_save())?,
            Event::Gap => page.gap()?,
            Event::Started(_) => {}
        }
        Ok(None)
    }

    /// Returns how to get a file of the answer, as a suffix for the file's name.
    fn how_to_save(&self) -> &'static str {
        match self.handed {
            Some(_) => "",
            None if self.from_log => " (--json shows it)",
            None => " (--with-files saves it, --json shows it)",
        }
    }

    /// Requests the current state of the call.
    async fn call(&self, stream: &CallStream) -> Result<Value> {
        let path = format!("/v1/calls/{}", encode(&stream.started().id));
        client::get(self.hub, &path, ErrorSubject::Task).await
    }

    /// Returns whether a question from the log is still open.
    async fn is_open(&self, stream: &CallStream, ask: &Value) -> Result<bool> {
        let call = self.call(stream).await?;
        let mut open = output::items(&call, "asks").iter();
        Ok(open.any(|open| open["id"] == ask["id"]))
    }

    /// Asks the user at the terminal. Without a terminal, an approval of a live call may still be given
    /// elsewhere, so the reading goes on; a question for text can only be answered here, and is an error.
    fn put(&self, ask: &Value, stream: &CallStream, asks: &mut QuestionPrompts) -> Result<()> {
        if asks.ask(ask.clone()) {
            return Ok(());
        }
        if asks::is_approval(ask) && !self.from_log {
            output::print_message(&format!("{}\n{}", asked(ask), self.how(stream, ask)));
            return Ok(());
        }
        Err(self.nobody_to_ask(stream, ask).into())
    }

    /// Handles approvals that the call waits for: asks the user for those that this user may give, and names
    /// the owner of the rest.
    async fn approvals(&self, stream: &CallStream, asks: &mut QuestionPrompts) -> Result<()> {
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
            let (what, how) = asks::for_other_owner(named(stream), approval);
            if self.from_log {
                return Err(CliError::new(ExitKind::Failed, what, how).into());
            }
            output::print_message(&format!("{what}\n{how}"));
        }
        Ok(())
    }

    /// Returns the command that answers a question.
    fn how(&self, stream: &CallStream, ask: &Value) -> String {
        asks::command(named(stream), ask, &self.flags)
    }

    /// Builds the [`CliError`] for a question without a terminal, with the command that answers. A call without
    /// other readers is cancelled.
    fn nobody_to_ask(&self, stream: &CallStream, ask: &Value) -> CliError {
        let task = stream.started().task.as_ref().filter(|_| self.goes_on);
        let Some(task) = task else {
            let next = "there is no terminal to answer at, so the call is cancelled; call from a terminal, or with --detach: \
                        jackfield task wait then prints the jackfield task answer command to use";
            return CliError::new(ExitKind::Cancelled, asked(ask), next);
        };
        let how = self.how(stream, ask);
        let wait = shell::command("task wait", &[task], "", &self.flags);
        let next = format!("{how}\nthen continue with: {wait}");
        CliError::new(ExitKind::Failed, asked(ask), next)
    }

    /// Builds the [`CliError`] for Ctrl-d instead of an answer.
    fn not_answered(&self, stream: &CallStream, ask: &Value) -> CliError {
        // The cursor is still on the question's line.
        output::print_message("");
        let text = "no answer was given";
        match self.goes_on {
            true => CliError::new(ExitKind::Failed, text, self.how(stream, ask)),
            false => CliError::new(
                ExitKind::Cancelled,
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
        match client::request(self.hub, Method::POST, &path, Some(&body)).await {
            // Another client answered first, or the call is over, which the stream reports.
            Err(Error::Refused { code, message, .. })
                if code == "conflict" || code == "not_found" =>
            {
                output::print_message(&format!("({message})"));
                Ok(())
            }
            other => Ok(other.map(drop).about(ErrorSubject::Task)?),
        }
    }
}

/// Tells the user that the connection was lost or resumed.
fn print_reconnect(news: Reconnect) {
    output::print_message(&match news {
        Reconnect::Lost { retry_for } => format!(
            "the connection to the hub was lost; trying again for {} s",
            retry_for.as_secs_f64().round()
        ),
        Reconnect::Resumed => "reconnected to the hub".to_owned(),
    });
}

/// Returns whether the [`Error`] means that the hub could not be reached, as opposed to an error response of the hub.
fn is_connection_lost(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable { .. } | Error::Untrusted { .. } | Error::Tls { .. } | Error::Broken
    )
}

/// Returns whether a status reports a pending approval. The hub is then asked for the approval, so an agent
/// that sends the same text does no harm.
fn waits_for_owner(chunk: &Chunk) -> bool {
    chunk.waiting_for == Some(WaitingFor::Owner)
}

/// Returns the id by which other users find the call.
fn named(stream: &CallStream) -> &str {
    let started = stream.started();
    started.task.as_deref().unwrap_or(&started.id)
}

/// Returns the agent's question as a sentence.
fn asked(ask: &Value) -> String {
    format!("the agent asks: {}", asks::one_line(ask))
}

/// Returns the exit [`ExitKind`] of a reply, or the error to end with; `agent` is the called agent, if known.
pub(crate) fn code(outcome: ReplyOutcome, agent: &str, agent_next: &str) -> Result<ExitKind> {
    let named = |stop: CliError| stop.fill_in("AGENT", agent);
    match outcome {
        ReplyOutcome::Done(done) if done.state == DoneState::Rejected => Err(named(CliError::new(
            ExitKind::Agent,
            "the agent refused to do it",
            "its answer may say why; jackfield show AGENT shows what it can do",
        ))
        .into()),
        ReplyOutcome::Done(done) => {
            if done.state == DoneState::InputRequired {
                let what = match done.needs_auth {
                    true => "the agent needs you to sign in; then continue with",
                    false => "the agent waits for your answer",
                };
                output::print_message(&format!("{what}: {agent_next}"));
            }
            Ok(ExitKind::Ok)
        }
        ReplyOutcome::Failed(error) => {
            Err(named(CliError::from_hub(&error, ErrorSubject::Agent)).into())
        }
        ReplyOutcome::Nothing => Err(CliError::new(
            ExitKind::Failed,
            "the stream ended before the answer was complete",
            "jackfield task ls lists your tasks",
        )
        .into()),
        ReplyOutcome::Lost(stop) => Err(stop.into()),
        ReplyOutcome::Interrupted => Ok(ExitKind::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use jackfield_sdk::HubAddress;

    use super::*;

    #[test]
    fn who_gives_up_waiting_for_the_hub_is_told_how_to_go_on() {
        let address = HubAddress::new("http://127.0.0.1:1").unwrap();
        let hub = Hub::new(address).unwrap();
        let reading = |goes_on| ReplyPrinter {
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
