//! Calls that an agent makes with `call_agent`: the reply returns as `call_agent_chunk`, then
//! `call_agent_done` or `call_agent_error`. `lineage.rs` tracks which connection reads the reply, and the
//! state that outlives a connection.

use std::sync::Arc;

use jackfield_core::{call::CallerHandle, gate::Gate, ready::ReadyHandle};
use jackfield_kit::files::Files;
use jackfield_model::{
    Chunk, ChunkKind, Done, DoneState, End, Event, Failure, File, Json, Reason, StreamedText,
};
use jackfield_wire::{
    bridge::downlink::{self, CallChunk, CallDone, CallError},
    json::JsonText,
};

use crate::{
    attachment::attachment_from_file,
    failure::code,
    relay::renderer::{MAX_FILES, rejected, split_parts},
};

/// Bytes of a reply taken at once, before the next call is served.
const BATCH: usize = 16 << 10;

/// A call that the agent made, with its [`Asking`] side.
#[derive(Debug)]
pub(crate) struct AgentCall {
    call_id: Arc<str>,
    asking: CallerHandle,
    /// Number of written frames.
    pub(crate) written: u64,
    /// Text sent up to now.
    streamed: StreamedText,
    /// Files of artifacts, which the protocol can carry only at the end.
    files: Vec<File>,
    /// Files under links, on the account of the caller's owner.
    links: Arc<Files>,
}

impl AgentCall {
    pub(crate) fn new(call_id: Arc<str>, asking: CallerHandle, links: &Files) -> Self {
        let links = links.of_call(asking.call());
        Self {
            call_id,
            asking,
            written: 0,
            streamed: StreamedText::default(),
            files: Vec::new(),
            links,
        }
    }

    /// Sets the handle to notify about the reply, and the gate to close when the input is full.
    pub(crate) fn listen(&self, ready_handle: ReadyHandle, gate: Arc<Gate>) {
        self.asking.gated(gate);
        self.asking.listen(ready_handle);
    }

    /// Appends the frames for the reply of the called agent. Returns `true` once the call is over.
    pub(crate) fn reply_frames(&mut self, frames: &mut Vec<String>) -> bool {
        let mut events = Vec::new();
        let end = self.asking.take(&mut events, BATCH);
        for event in events {
            match event {
                Event::Chunk(chunk) => frames.push(self.chunk(&chunk)),
                Event::Artifact(artifact) => {
                    let (text, files) = split_parts(artifact.parts);
                    self.files.extend(files);
                    self.files.truncate(MAX_FILES);
                    if !text.is_empty() {
                        frames.push(self.chunk(&Chunk::text(text)));
                    }
                }
                // Callers of this protocol cannot answer questions: they see why the call takes long.
                Event::Ask(ask) => {
                    frames.push(self.chunk(&Chunk::status(format!("input required: {}", ask.text))))
                }
            }
        }
        let Some(end) = end else { return false };
        let last = match end {
            End::Done(done) if done.state == DoneState::Rejected => error_frame(
                &self.call_id,
                &Failure::new(
                    Reason::Internal,
                    rejected(done.result.as_deref().unwrap_or_default()),
                ),
            ),
            End::Done(done) => {
                let result = done.result.as_deref().unwrap_or_default();
                let rest = self.streamed.rest_of(result);
                if !rest.is_empty() {
                    frames.push(self.chunk(&Chunk::text(rest)));
                }
                self.done(&done)
            }
            End::Failed(failure) => error_frame(&self.call_id, &failure),
            End::Cancelled => error_frame(
                &self.call_id,
                &Failure::new(Reason::Cancelled, "Request cancelled"),
            ),
        };
        frames.push(last);
        true
    }

    fn chunk(&mut self, chunk: &Chunk) -> String {
        if chunk.kind == ChunkKind::Text {
            self.streamed.push(&chunk.text);
        }
        downlink::call_agent_chunk(&CallChunk {
            call_id: (&*self.call_id).into(),
            delta: JsonText::from(chunk.text.as_str()),
            kind: (chunk.kind != ChunkKind::Text).then(|| chunk.kind.name().into()),
            tool_name: chunk.tool_name.as_deref().map(Into::into),
            tool_call_id: chunk.tool_call_id.as_deref().map(Into::into),
        })
    }

    fn done(&self, done: &Done) -> String {
        let files = done.attachments.iter().chain(&self.files);
        downlink::call_agent_done(&CallDone {
            call_id: (&*self.call_id).into(),
            attachments: files
                .map(|file| attachment_from_file(file, &self.links))
                .collect(),
            file_transfer_offer: done.file_transfer_offer.as_ref().map(Json::raw),
        })
    }
}

/// Returns the frame for the [`Failure`] of a call.
pub(crate) fn error_frame(call_id: &str, failure: &Failure) -> String {
    downlink::call_agent_error(&CallError {
        call_id: call_id.into(),
        code: code(&failure.reason).into(),
        message: failure.text.as_ref().into(),
    })
}
