//! The stream of a durable relay: its events have ids, from which a new stream resumes when the connection is
//! lost.

use std::{collections::VecDeque, sync::Arc};

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use jackfield_core::{
    call::Life,
    metrics::Connected,
    store::{LogItem, TaskState},
    task::{Cursor, LastTurn, Subscription, Task, TaskItem},
};
use jackfield_kit::{
    api::store_failure,
    sse::{SseBody, SseFrame},
};
use jackfield_model::{Failure, Reason};
use tokio_util::sync::CancellationToken;

use super::{code_and_text, keepalive::KeepaliveTimer, live::NO_COMMENTS, renderer::EventRenderer};
use crate::{DOOR, bridge::Bridge, wire::sse};

/// Returns the response that streams the [`Subscription`] of a durable call; `after` is the position to
/// resume from, if not the start.
pub(super) fn respond(
    bridge: &Bridge,
    subscription: Subscription,
    after: Option<Cursor>,
) -> Response {
    let task = subscription.task().clone();
    let record = task.record();
    tracing::debug!(task = %record.id, to = %record.agent, ?after, "kept relay");
    let kept = DurableStream {
        teller: EventRenderer::new(Life::Kept, bridge.hub.files_of(&record)),
        subscription,
        task: after.is_some().then_some(task),
        message_max: bridge.hub.limits().message.0,
        silence: KeepaliveTimer::new(bridge.hub.limits().keepalive.0),
        stop: bridge.tasks.stop_token().clone(),
        told: VecDeque::new(),
        is_over: false,
        _counted: bridge.hub.metrics().connection(DOOR),
    };
    let frames = stream::unfold(kept, |mut kept| async move {
        kept.next().await.map(|frame| (frame, kept))
    });
    SseBody::new(frames)
        .with_keepalive(NO_COMMENTS)
        .into_response()
}

struct DurableStream {
    subscription: Subscription,
    teller: EventRenderer,
    /// [`Task`] of the stream, if the reader missed its beginning.
    task: Option<Arc<Task>>,
    message_max: usize,
    silence: KeepaliveTimer,
    stop: CancellationToken,
    told: VecDeque<SseFrame>,
    is_over: bool,
    _counted: Connected,
}

impl DurableStream {
    /// Waits for the next [`SseFrame`] of the stream.
    async fn next(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(frame) = self.told.pop_front() {
                return Some(frame);
            }
            if self.is_over {
                return None;
            }
            let item = tokio::select! {
                item = self.subscription.next() => item,
                () = self.silence.too_long() => return Some(SseFrame::data(sse::KEEPALIVE)),
                () = self.stop.cancelled() => return Some(self.fail(&stopping())),
            };
            match item {
                Ok(Some(TaskItem::Row { next, item, .. })) => self.tell(item, next).await,
                Ok(Some(TaskItem::Gap { next })) => {
                    let next = next.to_string();
                    return Some(SseFrame::data(sse::gap(&next)).with_id(next));
                }
                Ok(None) if self.is_unfinished() => return Some(self.fail(&stopping())),
                Ok(None) => self.is_over = true,
                Err(error) => return Some(self.fail(&store_failure(&error))),
            }
        }
    }

    async fn tell(&mut self, item: LogItem, next: Cursor) {
        match item {
            // The platform sent these itself.
            LogItem::Message(_) | LogItem::Answer(..) => {}
            LogItem::Event(event) => {
                let told = self.teller.event(event);
                self.told.extend(told.map(|told| frame(told, next)));
            }
            LogItem::End(end) => {
                self.is_over = true;
                if let Some(task) = self.task.take()
                    && let Ok(turn) = LastTurn::read(&task, self.message_max).await
                {
                    self.teller.catch_up(turn);
                }
                let (first, last) = self.teller.end(&end);
                self.told.extend(first.map(SseFrame::data));
                self.told.push_back(frame(last, next));
            }
        }
    }

    /// Returns whether the subscription ended without an end of the task: the hub stops, and the task
    /// continues after the restart.
    fn is_unfinished(&self) -> bool {
        let state = self.subscription.task().record().state;
        matches!(state, TaskState::Submitted | TaskState::Working)
    }

    /// Ends the stream with an error. The call may continue: a client that reconnects resumes from the last
    /// id.
    fn fail(&mut self, failure: &Failure) -> SseFrame {
        self.is_over = true;
        let (code, text) = code_and_text(failure, Life::Kept);
        SseFrame::data(sse::error(code, &text))
    }
}

fn frame(told: String, next: Cursor) -> SseFrame {
    SseFrame::data(told).with_id(next.to_string())
}

fn stopping() -> Failure {
    let text = "the hub is stopping; come back in a moment and go on from the last event id";
    Failure::new(Reason::Stopping, text)
}
