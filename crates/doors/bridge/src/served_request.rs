//! Calls that the agent of this connection works on: the agent gets a `message`, and its frames with the same
//! `request_id` become events. Agents with the extension `resume` number the frames of a request from 1
//! without gaps: a repeated frame is dropped, and a missing one cannot be recovered.

use std::{fmt, sync::Arc};

use jackfield_core::{
    call::{AgentHandle, Call, Life},
    pipe::Pushed,
};
use jackfield_kit::files::Files;
use jackfield_model::{Chunk, ChunkKind, End, Event, Failure, Input, RequestId};
use jackfield_wire::bridge::{downlink, uplink};

use crate::{
    link::Extensions,
    translate::{ask_from_wire, chunk_from_wire, frame_from_answer, frame_from_call},
};

/// Bytes of further input taken at once.
const BATCH: usize = 64 << 10;

/// A [`Call`] that the agent works on.
#[derive(Debug)]
pub(crate) struct ServedRequest {
    serving: AgentHandle,
    /// Key of the call's further input in the ready set of the connection.
    pub(crate) key: u32,
    /// Number of the last accepted frame; `None` if the frames have no numbers.
    last: Option<u64>,
    /// Bytes of text that the agent sent in chunks, as counted in frames: the end may repeat as much.
    said: usize,
}

/// The error of a frame's number, phrased as the end of a sentence about `seq`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SequenceError(String);

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The result of a frame that ends a call.
#[derive(Debug)]
pub(crate) enum EndResult {
    /// The call is over.
    Over,
    /// The call was over before.
    Late,
    /// The frame is a repeated one, and did not end the call.
    Repeated(ServedRequest),
}

impl ServedRequest {
    pub(crate) fn new(serving: AgentHandle, key: u32, extensions: Extensions) -> Self {
        let last = extensions.resume.then(|| serving.call().received());
        Self {
            serving,
            key,
            last,
            said: 0,
        }
    }

    /// Returns the bytes of text that the agent sent in chunks, as counted in frames.
    pub(crate) fn streamed_bytes(&self) -> usize {
        self.said
    }

    pub(crate) fn serving(&self) -> &AgentHandle {
        &self.serving
    }

    pub(crate) fn call(&self) -> &Arc<Call> {
        self.serving.call()
    }

    pub(crate) fn request(&self) -> &RequestId {
        &self.call().request
    }

    /// Returns the frame that delivers the call to the agent; `links` provides URLs for files given as bytes.
    pub(crate) fn message(&self, extensions: Extensions, links: &Files) -> String {
        let links = links.of_call(self.call());
        frame_from_call(self.call(), extensions, &links)
    }

    /// Checks and returns the number of a frame, or fails with [`SequenceError`]; `None` if the frames have no
    /// numbers.
    pub(crate) fn number(&self, seq: Option<u64>) -> Result<Option<u64>, SequenceError> {
        let Some(last) = self.last else {
            return Ok(None);
        };
        match seq {
            None => Err(SequenceError("is required".to_owned())),
            Some(seq) if (1..=last.saturating_add(1)).contains(&seq) => Ok(Some(seq)),
            Some(seq) => Err(SequenceError(format!(
                "must be {} here, not {seq}",
                last + 1
            ))),
        }
    }

    /// Handles a chunk of the answer, split into parts of at most `max` bytes. Returns the number to
    /// acknowledge now, if any: frames of a durable call are acknowledged by the log.
    pub(crate) fn chunk(
        &mut self,
        chunk: &uplink::Chunk<'_>,
        max: usize,
    ) -> Result<Option<u64>, SequenceError> {
        let number = self.number(chunk.seq)?;
        let mut rest = chunk_from_wire(chunk);
        if rest.kind == ChunkKind::Text {
            self.said += chunk.delta.size_hint();
        }
        while rest.text.len() > max && self.may_split(&rest, number) {
            // At least one character, however small the limit.
            let first = rest.text.chars().next().map_or(0, char::len_utf8);
            let at = rest.text.floor_char_boundary(max).max(first);
            let tail = rest.text.split_off(at);
            let part = Chunk {
                tool_name: rest.tool_name.clone(),
                tool_call_id: rest.tool_call_id.clone(),
                text: std::mem::replace(&mut rest.text, tail),
                kind: rest.kind,
                extra: None,
                waiting_for: None,
            };
            let pushed = self.serving.push(Event::Chunk(part));
            if matches!(pushed, Pushed::Overrun | Pushed::Ended) {
                return Ok(self.number_to_ack(pushed, number));
            }
        }
        Ok(self.push(Event::Chunk(rest), number))
    }

    /// Returns whether a chunk may be split. Chunks whose parts would not be merged again stay whole. So do
    /// repeated chunks, which are dropped as a whole, and numbered chunks of a durable call: after a crash
    /// midway the hub could not tell which parts were stored.
    fn may_split(&self, chunk: &Chunk, number: Option<u64>) -> bool {
        let is_whole = match (number, self.last) {
            (Some(number), Some(last)) => number <= last || self.call().life == Life::Durable,
            _ => false,
        };
        chunk.can_merge(chunk) && !is_whole
    }

    pub(crate) fn event(
        &mut self,
        event: Event,
        seq: Option<u64>,
    ) -> Result<Option<u64>, SequenceError> {
        let number = self.number(seq)?;
        Ok(self.push(event, number))
    }

    pub(crate) fn ask(&mut self, ask: &uplink::Ask<'_>) -> Result<Option<u64>, SequenceError> {
        let number = self.number(ask.seq)?;
        let ask = ask_from_wire(ask);
        let pushed = match number {
            None => self.serving.ask(ask),
            Some(number) => self.serving.ask_numbered(ask, number),
        };
        Ok(self.number_to_ack(pushed, number))
    }

    fn push(&mut self, event: Event, number: Option<u64>) -> Option<u64> {
        let pushed = match number {
            None => self.serving.push(event),
            Some(number) => self.serving.push_numbered(event, number),
        };
        self.number_to_ack(pushed, number)
    }

    fn number_to_ack(&mut self, pushed: Pushed, number: Option<u64>) -> Option<u64> {
        let (number, last) = (number?, self.last.as_mut()?);
        if matches!(pushed, Pushed::Overrun | Pushed::Ended) {
            return None;
        }
        let is_repeated = number <= *last;
        *last = number.max(*last);
        let call = self.serving.call();
        match call.life {
            Life::Live => Some(*last),
            // Repeated by the agent, because the acknowledgement went to a lost connection.
            Life::Durable if is_repeated => Some(call.acked()).filter(|acked| *acked > 0),
            Life::Durable => None,
        }
    }

    /// Ends the call with [`End`] by a frame of the agent with this number.
    pub(crate) fn end(self, end: End, number: Option<u64>) -> EndResult {
        let Self {
            serving,
            key,
            last,
            said,
        } = self;
        let is_first = match number {
            None => Ok(serving.finish(end)),
            Some(number) => serving.finish_numbered(end, number),
        };
        match is_first {
            Ok(true) => EndResult::Over,
            Ok(false) => EndResult::Late,
            Err(serving) => EndResult::Repeated(Self {
                serving,
                key,
                last,
                said,
            }),
        }
    }

    pub(crate) fn fail(self, failure: Failure) {
        self.serving.finish(End::Failed(failure));
    }

    /// Appends the frames for the caller's input after the first message.
    pub(crate) fn input_frames(&self, frames: &mut Vec<String>) {
        for (ask_id, answer) in self.new_answers(BATCH) {
            frames.push(frame_from_answer(self.request().as_str(), &ask_id, &answer));
        }
    }

    /// Returns the frames of all answers that the agent may have missed on its previous connection.
    pub(crate) fn repeated_answers(&self) -> Vec<String> {
        // In this order: an answer that arrives meanwhile is written twice, but never lost.
        let mut answers = self.new_answers(usize::MAX);
        let remembered = self.serving.answers();
        answers.retain(|(id, _)| remembered.iter().all(|(known, _)| known != id));
        answers.extend(remembered);
        let request = self.request().as_str();
        let frames = answers
            .iter()
            .map(|(ask_id, answer)| frame_from_answer(request, ask_id, answer));
        frames.collect()
    }

    fn new_answers(&self, max: usize) -> Vec<(String, jackfield_model::Answer)> {
        let mut inputs = Vec::new();
        self.serving.input().take(&mut inputs, max);
        let answers = inputs.into_iter().filter_map(|input| match input {
            Input::Answer(ask_id, answer) => Some((ask_id, answer)),
            // Callers that stream join their message first: the bridge accepts whole messages only.
            Input::Chunk(_) | Input::EndOfMessage => None,
        });
        answers.collect()
    }
}

/// Returns the frame that tells the agent to stop.
pub(crate) fn cancel_frame(call: &Call) -> String {
    downlink::cancel(call.agent_session.as_str(), call.request.as_str())
}
