//! Calls that this connection's agent works on: it gets a `message`, and its frames with that `request_id` become
//! events.

use std::sync::Arc;

use jackfield_core::{
    call::{Call, Serving},
    event::{End, Input},
    failure::Failure,
};
use jackfield_wire::bridge::{downlink, uplink};

use crate::{
    failure::failure_of_agent,
    link::Extensions,
    translate::{
        ask_from_wire, end_from_done, event_from_artifact, event_from_chunk, frame_from_answer,
        frame_from_call,
    },
};

/// How much further input is taken at once.
const BATCH: usize = 64 << 10;

/// One call that the agent works on.
#[derive(Debug)]
pub(crate) struct Served {
    serving: Serving,
    /// The key of its further input on the line.
    pub(crate) key: u32,
}

impl Served {
    pub(crate) fn new(serving: Serving, key: u32) -> Self {
        Self { serving, key }
    }

    pub(crate) fn serving(&self) -> &Serving {
        &self.serving
    }

    /// The frame that brings the call to the agent.
    pub(crate) fn message(&self, extensions: Extensions) -> String {
        frame_from_call(self.serving.call(), extensions)
    }

    pub(crate) fn chunk(&self, chunk: &uplink::Chunk<'_>) {
        self.serving.push(event_from_chunk(chunk));
    }

    pub(crate) fn artifact(&self, artifact: &uplink::Artifact<'_>) {
        self.serving.push(event_from_artifact(artifact));
    }

    pub(crate) fn ask(&self, ask: &uplink::Ask<'_>) {
        self.serving.ask(ask_from_wire(ask));
    }

    /// The agent is done.
    pub(crate) fn done(self, done: &uplink::Done<'_>) {
        self.serving.finish(end_from_done(done));
    }

    pub(crate) fn error(self, error: &uplink::AgentError<'_>) {
        self.serving
            .finish(End::Failed(failure_of_agent(&error.code, &error.message)));
    }

    pub(crate) fn fail(self, failure: Failure) {
        self.serving.finish(End::Failed(failure));
    }

    /// Frames for what the caller said after its message.
    pub(crate) fn input_frames(&self, frames: &mut Vec<String>) {
        let mut inputs = Vec::new();
        self.serving.input().take(&mut inputs, BATCH);
        let request_id = self.serving.call().request.as_str();
        frames.extend(inputs.into_iter().filter_map(|input| match input {
            Input::Answer(ask_id, answer) => Some(frame_from_answer(request_id, &ask_id, &answer)),
            // Callers that stream join their message first: the bridge takes whole ones.
            Input::Chunk(_) | Input::EndOfMessage => None,
        }));
    }
}

/// The frame that tells the agent to stop.
pub(crate) fn cancel_frame(call: &Arc<Call>) -> String {
    downlink::cancel(call.agent_session.as_str(), call.request.as_str())
}
