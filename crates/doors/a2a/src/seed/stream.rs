//! Answer to `message/stream`: the agent's chunks as they arrive, then the end. When the reader disconnects,
//! the stream is dropped, and with it the call, which cancels the call at the agent.

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use jackfield_core::{call::CallerHandle, metrics::Connected};
use jackfield_kit::sse::{SseBody, SseFrame};
use jackfield_model::{Chunk, Part};
use jackfield_wire::json::JsonText;

use super::{
    reply_reader::{LiveCallError, ReplyElement, SeedReplyReader},
    translate::SeedIds,
};
use crate::wire::seed::event::{self, SeedUpdate, StreamIds};
use crate::{A2aDoor, DOOR};

/// Returns the response that streams a call.
pub(super) fn respond(a2a: &A2aDoor, asking: CallerHandle) -> Response {
    let limits = a2a.hub.limits();
    let telling = ReplyStream {
        names: SeedIds::of(asking.call()),
        listening: SeedReplyReader::new(asking, limits.message),
        _counted: a2a.hub.metrics().connection(DOOR),
    };
    let frames = stream::unfold(Some(telling), |telling| async move {
        let mut telling = telling?;
        match telling.listening.next().await {
            ReplyElement::Chunk(chunk) => Some((telling.names.update(&chunk), Some(telling))),
            ReplyElement::Over(outcome) => Some((telling.names.last(&outcome), None)),
        }
    });
    SseBody::new(frames)
        .with_keepalive(limits.keepalive.0)
        .into_response()
}

struct ReplyStream {
    names: SeedIds,
    listening: SeedReplyReader,
    _counted: Connected,
}

impl SeedIds {
    fn about(&self) -> StreamIds<'_> {
        StreamIds {
            task_id: &self.task,
            context_id: &self.context,
        }
    }

    fn update(&self, chunk: &Chunk) -> SseFrame {
        let data = self.about().update(&SeedUpdate {
            delta: JsonText::from(chunk.text.as_str()),
            kind: chunk.kind.name(),
            tool_name: chunk.tool_name.as_deref(),
            tool_call_id: chunk.tool_call_id.as_deref(),
        });
        SseFrame::data(data).with_event(event::UPDATE)
    }

    fn last(&self, outcome: &Result<Vec<Part>, LiveCallError>) -> SseFrame {
        match outcome {
            Ok(parts) => {
                let data = self.reply(parts, |reply| self.about().completed(reply));
                SseFrame::data(data).with_event(event::COMPLETED)
            }
            Err(trouble) => {
                let (status, error) = trouble.task_error();
                SseFrame::data(self.about().error(status, &error)).with_event(event::ERROR)
            }
        }
    }
}
