//! The answer to `message/stream`: what the agent says as it comes, then how it ended. Dropping the stream, as happens
//! when the reader hangs up, drops the caller's end of the call, which cancels it at the agent.

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use jackfield_core::{call::CallerHandle, metrics::Connected};
use jackfield_kit::sse::{SseBody, SseFrame};
use jackfield_model::{Chunk, Part};
use jackfield_wire::json::Text;

use super::{
    listen::{Heard, Listening, Trouble},
    translate::Names,
};
use crate::wire::seed::event::{self, About, Update};
use crate::{A2a, DOOR};

/// The response that streams a call.
pub(super) fn respond(a2a: &A2a, asking: CallerHandle) -> Response {
    let limits = a2a.hub.limits();
    let telling = Telling {
        names: Names::of(asking.call()),
        listening: Listening::new(asking, limits.message),
        _counted: a2a.hub.metrics().connection(DOOR),
    };
    let frames = stream::unfold(Some(telling), |telling| async move {
        let mut telling = telling?;
        match telling.listening.next().await {
            Heard::Chunk(chunk) => Some((telling.names.update(&chunk), Some(telling))),
            Heard::Over(outcome) => Some((telling.names.last(&outcome), None)),
        }
    });
    SseBody::new(frames)
        .with_keepalive(limits.keepalive.0)
        .into_response()
}

struct Telling {
    names: Names,
    listening: Listening,
    _counted: Connected,
}

impl Names {
    fn about(&self) -> About<'_> {
        About {
            task_id: &self.task,
            context_id: &self.context,
        }
    }

    fn update(&self, chunk: &Chunk) -> SseFrame {
        let data = self.about().update(&Update {
            delta: Text::from(chunk.text.as_str()),
            kind: chunk.kind.name(),
            tool_name: chunk.tool_name.as_deref(),
            tool_call_id: chunk.tool_call_id.as_deref(),
        });
        SseFrame::data(data).with_event(event::UPDATE)
    }

    fn last(&self, outcome: &Result<Vec<Part>, Trouble>) -> SseFrame {
        match outcome {
            Ok(parts) => {
                let data = self.reply(parts, |reply| self.about().completed(reply));
                SseFrame::data(data).with_event(event::COMPLETED)
            }
            Err(trouble) => {
                let (status, error) = trouble.told();
                SseFrame::data(self.about().error(status, &error)).with_event(event::ERROR)
            }
        }
    }
}
