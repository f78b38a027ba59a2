//! Calls that this connection's agent works on: it gets a `message`, and its frames with that `request_id` become
//! events. Frames of agents with the extension `resume` are numbered within a request, from 1 and without gaps: one that
//! comes again is dropped, and one that is missing cannot be made up for.

use std::{fmt, sync::Arc};

use jackfield_core::{
    call::{AgentHandle, Call, Life},
    pipe::Pushed,
};
use jackfield_model::{Chunk, ChunkKind, End, Event, Failure, Input, RequestId};
use jackfield_wire::bridge::{downlink, uplink};

use crate::{
    link::Extensions,
    translate::{ask_from_wire, chunk_from_wire, frame_from_answer, frame_from_call},
};

/// How much further input is taken at once.
const BATCH: usize = 64 << 10;

/// One call that the agent works on.
#[derive(Debug)]
pub(crate) struct Served {
    serving: AgentHandle,
    /// The key of its further input on the line.
    pub(crate) key: u32,
    /// The number of the agent's last frame that was taken; nothing if its frames have none.
    last: Option<u64>,
    /// How much text the agent said in chunks, in bytes of its frames: as much as its end may repeat.
    said: usize,
}

/// Why a frame's number cannot be, as the end of a sentence about `seq`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadNumber(String);

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What became of a frame that ends a call.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The call is over.
    Over,
    /// It was over before.
    Late,
    /// The frame came before, and was none that ends a call.
    Repeated(Served),
}

impl Served {
    pub(crate) fn new(serving: AgentHandle, key: u32, extensions: Extensions) -> Self {
        let last = extensions.resume.then(|| serving.call().received());
        Self {
            serving,
            key,
            last,
            said: 0,
        }
    }

    /// How much text the agent said in chunks, in bytes of its frames.
    pub(crate) fn said(&self) -> usize {
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

    /// The frame that brings the call to the agent.
    pub(crate) fn message(&self, extensions: Extensions) -> String {
        frame_from_call(self.call(), extensions)
    }

    /// The number of a frame, where frames have one.
    pub(crate) fn number(&self, seq: Option<u64>) -> Result<Option<u64>, BadNumber> {
        let Some(last) = self.last else {
            return Ok(None);
        };
        match seq {
            None => Err(BadNumber("is required".to_owned())),
            Some(seq) if (1..=last.saturating_add(1)).contains(&seq) => Ok(Some(seq)),
            Some(seq) => Err(BadNumber(format!("must be {} here, not {seq}", last + 1))),
        }
    }

    /// Takes a piece of the answer, split into parts of at most `max` bytes. Returns up to which number the agent may forget
    /// its frames, if that is to be said now: of a kept call, the log says it.
    pub(crate) fn chunk(
        &mut self,
        chunk: &uplink::Chunk<'_>,
        max: usize,
    ) -> Result<Option<u64>, BadNumber> {
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
                return Ok(self.took(pushed, number));
            }
        }
        Ok(self.push(Event::Chunk(rest), number))
    }

    /// Whether a chunk may be split. One whose parts would not be joined again may not. Nor one that came before, which is
    /// dropped whole, nor one of a kept call with a number: a hub that dies in between could not tell which of its parts it had.
    fn may_split(&self, chunk: &Chunk, number: Option<u64>) -> bool {
        let is_whole = match (number, self.last) {
            (Some(number), Some(last)) => number <= last || self.call().life == Life::Durable,
            _ => false,
        };
        chunk.joins(chunk) && !is_whole
    }

    pub(crate) fn event(
        &mut self,
        event: Event,
        seq: Option<u64>,
    ) -> Result<Option<u64>, BadNumber> {
        let number = self.number(seq)?;
        Ok(self.push(event, number))
    }

    pub(crate) fn ask(&mut self, ask: &uplink::Ask<'_>) -> Result<Option<u64>, BadNumber> {
        let number = self.number(ask.seq)?;
        let ask = ask_from_wire(ask);
        let pushed = match number {
            None => self.serving.ask(ask),
            Some(number) => self.serving.ask_numbered(ask, number),
        };
        Ok(self.took(pushed, number))
    }

    fn push(&mut self, event: Event, number: Option<u64>) -> Option<u64> {
        let pushed = match number {
            None => self.serving.push(event),
            Some(number) => self.serving.push_numbered(event, number),
        };
        self.took(pushed, number)
    }

    fn took(&mut self, pushed: Pushed, number: Option<u64>) -> Option<u64> {
        let (number, last) = (number?, self.last.as_mut()?);
        if matches!(pushed, Pushed::Overrun | Pushed::Ended) {
            return None;
        }
        let is_repeated = number <= *last;
        *last = number.max(*last);
        let call = self.serving.call();
        match call.life {
            Life::Live => Some(*last),
            // Sent again, because what the log said was said to a connection that is gone.
            Life::Durable if is_repeated => Some(call.acked()).filter(|acked| *acked > 0),
            Life::Durable => None,
        }
    }

    /// Ends the call as the agent says, by a frame of this number.
    pub(crate) fn end(self, end: End, number: Option<u64>) -> Ended {
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
            Ok(true) => Ended::Over,
            Ok(false) => Ended::Late,
            Err(serving) => Ended::Repeated(Self {
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

    /// Frames for what the caller said after its message.
    pub(crate) fn input_frames(&self, frames: &mut Vec<String>) {
        for (ask_id, answer) in self.new_answers(BATCH) {
            frames.push(frame_from_answer(self.request().as_str(), &ask_id, &answer));
        }
    }

    /// Frames for all answers that the agent may not have got on the connection before.
    pub(crate) fn repeated_answers(&self) -> Vec<String> {
        // In this order: one that comes meanwhile is written twice, but never not at all.
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
            // Callers that stream join their message first: the bridge takes whole ones.
            Input::Chunk(_) | Input::EndOfMessage => None,
        });
        answers.collect()
    }
}

/// The frame that tells the agent to stop.
pub(crate) fn cancel_frame(call: &Call) -> String {
    downlink::cancel(call.agent_session.as_str(), call.request.as_str())
}
