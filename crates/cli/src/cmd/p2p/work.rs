//! Runs work that was handed off to a peer: prints output as it arrives; ctrl-c resets the stream.

use std::{io, time::Duration};

use anyhow::Result;
use jackfield_core::units::Span;
use jackfield_model::{Failure, Reason};
use jackfield_peer::delegate::{Delegation, HandoffEvent};
use jackfield_peer::wire::{Data, HandOff};
use serde_json::{Value, json};

use super::command_node::CommandNode;
use crate::{output, reply::ReplyWriter};

/// Default time limit of a handoff: the same as for a live call of a hub.
pub(super) const TIMEOUT: Span = Span(Duration::from_secs(3600));

/// Output settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkOutput {
    pub(super) json: bool,
    pub(super) verbose: bool,
}

/// Hands off work over a [`Delegation`] and prints the result.
pub(super) async fn run(
    station: &CommandNode,
    mut delegation: Delegation,
    hand_off: &HandOff,
    timeout: Span,
    told: WorkOutput,
) -> Result<()> {
    delegation.send(hand_off);
    let mut page = ReplyWriter::new(told.verbose);
    // With `--json` and `--no-stream` the user expects one JSON object, although text arrives in chunks.
    let is_one_piece = told.json && !delegation.is_streamed();
    let mut held = is_one_piece.then(String::new);
    let hearing = receive(&mut delegation, &mut page, told, &mut held);
    let heard = tokio::time::timeout(timeout.0, hearing).await;
    page.end()?;
    let failure = match heard {
        Ok(Ok(None)) => {
            delegation.end().await;
            return Ok(());
        }
        Ok(Ok(Some(failure))) => failure,
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => Failure::new(Reason::Timeout, "the peer did not finish in time"),
    };
    if told.json {
        if let Some(words) = held.filter(|words| !words.is_empty()) {
            output::json(&json!({"type": "chunk", "data": words}))?;
        }
        let reason = failure.reason.name();
        output::json(&json!({"type": "error", "error": failure.text, "reason": reason}))?;
    }
    Err(station.stop_for(&failure).into())
}

/// Receives until the end; returns the [`Failure`], if any.
async fn receive(
    delegation: &mut Delegation,
    page: &mut ReplyWriter,
    told: WorkOutput,
    held: &mut Option<String>,
) -> io::Result<Option<Failure>> {
    let mut has_words = false;
    loop {
        match delegation.next_event().await {
            Ok(HandoffEvent::Sent | HandoffEvent::Sign) => {}
            Ok(HandoffEvent::Status(text)) if told.json => {
                output::json(&json!({"type": "status", "text": text}))?;
            }
            Ok(HandoffEvent::Status(text)) => page.aside_line(&text)?,
            Ok(HandoffEvent::Chunk(data)) if told.json => match held {
                Some(held) => held.push_str(data.as_str()),
                None => output::json(&json!({"type": "chunk", "data": value(&data)}))?,
            },
            Ok(HandoffEvent::Chunk(data)) => {
                has_words = true;
                page.text(data.as_str())?;
            }
            Ok(HandoffEvent::Done(data)) => {
                let data = data.or_else(|| held.take().map(Data::Text));
                if told.json {
                    let mut end = json!({"type": "result"});
                    if let Some(data) = &data {
                        end["data"] = value(data);
                    }
                    output::json(&end)?;
                } else if let Some(data) = &data {
                    // A result besides streamed text starts on a new line.
                    if has_words {
                        page.text("\n")?;
                    }
                    page.text(data.as_str())?;
                }
                return Ok(None);
            }
            Err(error) => return Ok(Some(error.into())),
        }
    }
}

/// Converts [`Data`] to JSON. A plain body has no declared type, so text that parses as JSON counts as JSON.
fn value(data: &Data) -> Value {
    let words = || Value::String(data.as_str().to_owned());
    match data {
        Data::Json(raw) => serde_json::from_str(raw.get()).unwrap_or_else(|_| words()),
        Data::Text(text) => match Data::from_text(text.as_str()) {
            Data::Json(raw) => serde_json::from_str(raw.get()).unwrap_or_else(|_| words()),
            Data::Text(_) => words(),
        },
    }
}
