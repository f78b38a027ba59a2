//! Calls from other doors to the agent of this connection. The agent receives a `message` from the address of
//! the call, and its `reply*` frames to that address become events.

use std::sync::Arc;

use jackfield_core::call::{AgentHandle, Call};
use jackfield_kit::files::Files;
use jackfield_model::{ChunkKind, End, Event, Failure, Input, Reason};

use crate::{
    translate::{
        EndOrAsk, call_address, chunk_from_relay, frame_from_answer, frame_from_call,
        opening_content, reply_content,
    },
    wire::{Relay, RelayKind, answer_of, downlink},
};

/// A [`Call`] that the agent works on.
#[derive(Debug)]
pub(crate) struct InboundCall {
    serving: AgentHandle,
    address: String,
    /// Whether text arrived in chunks. The end may then repeat the text, which is not passed on twice.
    spoke: bool,
}

impl InboundCall {
    /// Accepts a call; returns the call and the frame that delivers it to the agent. `links` provides URLs for files
    /// given as bytes.
    pub(crate) fn new(serving: AgentHandle, links: &Files) -> (Self, String) {
        let address = call_address(serving.call().id);
        let links = links.of_call(serving.call());
        let frame = frame_from_call(serving.call(), &address, &links);
        (
            Self {
                serving,
                address,
                spoke: false,
            },
            frame,
        )
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn serving(&self) -> &AgentHandle {
        &self.serving
    }

    /// Appends the frames for the caller's [`Input`] after the first message.
    pub(crate) fn input_frames(&self, frames: &mut Vec<String>) {
        let mut inputs = Vec::new();
        self.serving.input().take(&mut inputs, 64 << 10);
        frames.extend(inputs.into_iter().map(|input| match input {
            Input::Chunk(text) => {
                downlink::message_chunk(&self.address, &self.address, text.as_str())
            }
            Input::EndOfMessage => downlink::message_end(&self.address, &self.address),
            Input::Answer(ask_id, answer) => {
                frame_from_answer(self.serving.call(), &self.address, &ask_id, &answer)
            }
        }));
    }

    /// Handles a frame of the agent about the call. Returns the [`End`] once the call ends, or the wrong
    /// field with a [`Failure`].
    pub(crate) fn on_frame(
        &mut self,
        relay: &Relay<'_>,
    ) -> Result<Option<End>, (&'static str, Failure)> {
        self.check_answer(relay)?;
        match relay.kind {
            RelayKind::ReplyChunk => {
                let chunk = chunk_from_relay(relay);
                self.spoke |= chunk.kind == ChunkKind::Text;
                self.serving.push(Event::Chunk(chunk));
                Ok(None)
            }
            RelayKind::Reply if opens_stream(relay) => {
                // The opening of a stream may already contain text or a question; the end follows in a later
                // frame.
                let said = opening_content(relay.payload());
                for event in said.events {
                    self.spoke |= matches!(event, Event::Chunk(_));
                    self.serving.push(event);
                }
                if let EndOrAsk::Ask(ask) = said.then {
                    self.serving.ask(ask);
                }
                Ok(None)
            }
            RelayKind::Reply | RelayKind::ReplyEnd => {
                let said = reply_content(relay.payload(), !self.spoke);
                for event in said.events {
                    self.serving.push(event);
                }
                match said.then {
                    EndOrAsk::Ask(ask) => {
                        self.serving.ask(ask);
                        Ok(None)
                    }
                    EndOrAsk::Done(end) => Ok(Some(end)),
                }
            }
            RelayKind::Error => {
                let code = relay.code().map(String::from).unwrap_or_default();
                let text = relay.message().map(String::from).unwrap_or_default();
                Ok(Some(End::Failed(Failure::new(
                    Reason::from_agent_code(&code),
                    text,
                ))))
            }
            RelayKind::Cancel => Ok(Some(End::Cancelled)),
            RelayKind::Send | RelayKind::SendChunk | RelayKind::SendEnd => {
                let text = "this is the address of a call: answer it with reply, reply_chunk and reply_end";
                Err(("type", Failure::new(Reason::Invalid, text)))
            }
        }
    }

    /// Refuses an answer at an unknown place of the frame: it would be read as an empty one, which looks like
    /// a success.
    fn check_answer(&self, relay: &Relay<'_>) -> Result<(), (&'static str, Failure)> {
        if self.spoke || !matches!(relay.kind, RelayKind::Reply | RelayKind::ReplyEnd) {
            return Ok(());
        }
        let is_whole = relay.kind == RelayKind::Reply && !opens_stream(relay);
        let says_something = |payload| answer_of(payload).carries_content();
        let (field, problem) = if let Some(name) = relay.answer_beside_payload()
            && !relay.payload().is_some_and(says_something)
        {
            (name, "stands beside \"payload\"; put it inside")
        } else if is_whole && relay.payload().is_none() {
            let problem = "is missing; an answer is {\"payload\": {\"answer\": \"…\"}}";
            ("payload", problem)
        } else {
            return Ok(());
        };
        let text = format!("field {field:?} {problem}");
        Err((field, Failure::new(Reason::Invalid, text)))
    }

    /// Ends the call with the [`End`] given by the agent.
    pub(crate) fn finish(self, end: End) {
        self.serving.finish(end);
    }
}

/// Returns whether the reply is the first frame of a stream. A reply that names a stream and carries no
/// content counts too: otherwise the chunks of an agent that omits `stream` would be lost.
fn opens_stream(relay: &Relay<'_>) -> bool {
    let says_something = |payload| answer_of(payload).carries_content();
    relay.stream || (relay.stream_id.is_some() && !relay.payload().is_some_and(says_something))
}

/// Returns the frame that asks the agent to stop.
pub(crate) fn cancel_frame(call: &Arc<Call>) -> String {
    let address = call_address(call.id);
    let stream_id = call.streamed.then_some(address.as_str());
    downlink::cancel(&address, stream_id, Some(call.request.as_str()))
}
