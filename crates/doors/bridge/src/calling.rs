//! Calls that an agent makes by `call_agent`: the reply comes back as `call_agent_chunk`, then `call_agent_done` or
//! `call_agent_error`.

use jackfield_core::{
    call::Asking,
    event::{Chunk, ChunkKind, Done, End, Event, File, Part},
    failure::{Failure, Reason},
};
use jackfield_wire::{
    bridge::downlink::{self, CallChunk, CallDone, CallError},
    json::Text,
};

use crate::{failure::code, translate::attachments_from_files};

/// How much of a reply is taken at once, before another call has its turn.
const BATCH: usize = 16 << 10;

/// One call that the agent made.
#[derive(Debug)]
pub(crate) struct Calling {
    call_id: String,
    asking: Asking,
    /// Files among the artifacts, which this protocol names only at the end.
    files: Vec<File>,
}

impl Calling {
    pub(crate) fn new(call_id: String, asking: Asking) -> Self {
        Self {
            call_id,
            asking,
            files: Vec::new(),
        }
    }

    pub(crate) fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Frames for what the called agent said. True once the call is over.
    pub(crate) fn reply_frames(&mut self, frames: &mut Vec<String>) -> bool {
        let mut events = Vec::new();
        let end = self.asking.take(&mut events, BATCH);
        for event in events {
            match event {
                Event::Chunk(chunk) => frames.push(self.chunk(&chunk)),
                Event::Artifact(artifact) => {
                    self.files
                        .extend(artifact.parts.into_iter().filter_map(|part| match part {
                            Part::File(file) => Some(file),
                            Part::Text(_) | Part::Data(_) => None,
                        }));
                }
                // This protocol's callers cannot answer: they hear why it takes so long.
                Event::Ask(ask) => {
                    frames.push(self.chunk(&Chunk::status(format!("input required: {}", ask.text))))
                }
            }
        }
        let Some(end) = end else { return false };
        frames.push(match end {
            End::Done(done) => self.done(&done),
            End::Failed(failure) => error_frame(&self.call_id, &failure),
            End::Cancelled => error_frame(
                &self.call_id,
                &Failure::new(Reason::Cancelled, "Request cancelled"),
            ),
        });
        true
    }

    fn chunk(&self, chunk: &Chunk) -> String {
        downlink::call_agent_chunk(&CallChunk {
            call_id: self.call_id.as_str().into(),
            delta: Text::from(chunk.text.as_str()),
            kind: (chunk.kind != ChunkKind::Text).then(|| chunk.kind.name().into()),
            tool_name: chunk.tool_name.as_deref().map(Into::into),
            tool_call_id: chunk.tool_call_id.as_deref().map(Into::into),
        })
    }

    fn done(&self, done: &Done) -> String {
        let mut attachments = attachments_from_files(&done.attachments);
        attachments.extend(attachments_from_files(&self.files));
        downlink::call_agent_done(&CallDone {
            call_id: self.call_id.as_str().into(),
            attachments,
            file_transfer_offer: None,
        })
    }
}

/// The frame that tells why a call failed.
pub(crate) fn error_frame(call_id: &str, failure: &Failure) -> String {
    downlink::call_agent_error(&CallError {
        call_id: call_id.into(),
        code: code(&failure.reason).name().into(),
        message: failure.text.as_ref().into(),
    })
}
