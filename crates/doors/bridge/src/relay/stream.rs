//! The stream of a relay, live or durable. Dropping the stream of a live relay, as happens when the reader hangs up, drops the
//! caller's handle of the call, which cancels it at the agent. The events of a durable relay have ids, from which another
//! stream continues when this one is lost.

use std::{collections::VecDeque, future::pending, sync::Arc, time::Duration};

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use jackfield_core::{
    call::{CallerHandle, Life},
    metrics::Connected,
    reply::{ReplyItem, ReplyReader},
    store::{LogItem, TaskState},
    task::{Cursor, LastTurn, Subscription, Task},
};
use jackfield_kit::files::Files;
use jackfield_kit::{
    api::store_failure,
    sse::{SseBody, SseFrame},
};
use jackfield_model::{Failure, Reason};
use tokio_util::sync::CancellationToken;

use super::{code_and_text, keepalive::KeepaliveTimer, renderer::EventRenderer};
use crate::{DOOR, door::Bridge, wire::sse};

/// Interval of the comments that the kit sends as keepalives. Clients of the bridge do not know comments, so they
/// never come.
const NO_COMMENTS: Duration = Duration::from_secs(365 * 86_400);

/// The response that streams a live call.
pub(crate) fn respond_live(bridge: &Bridge, asking: CallerHandle) -> Response {
    let call = asking.call();
    tracing::debug!(call = %call.id, from = call.principal.label(), to = %call.target, "relay");
    let files = bridge.links.of_call(call);
    RelayStream::new(bridge, asking.into(), files, None).respond()
}

/// The response that streams a durable call; `after` is where the reader continues, if not at the start.
pub(super) fn respond_durable(
    bridge: &Bridge,
    subscription: Subscription,
    after: Option<Cursor>,
) -> Response {
    let task = subscription.task().clone();
    let record = task.record();
    tracing::debug!(task = %record.id, to = %record.agent, ?after, "durable relay");
    let durable = Durable {
        task,
        has_missed: after.is_some(),
        message_max: bridge.hub.limits().message.0,
        stop: bridge.tasks.stop_token().clone(),
    };
    let files = bridge.links.of_task(&record);
    RelayStream::new(bridge, subscription.into(), files, Some(durable)).respond()
}

/// State of a stream that only durable calls have.
struct Durable {
    task: Arc<Task>,
    /// Whether the reader missed the beginning.
    has_missed: bool,
    message_max: usize,
    stop: CancellationToken,
}

struct RelayStream {
    reader: ReplyReader,
    renderer: EventRenderer,
    silence: KeepaliveTimer,
    durable: Option<Durable>,
    /// Frames that are ready.
    rendered: VecDeque<SseFrame>,
    is_over: bool,
    _counted: Connected,
}

impl RelayStream {
    fn new(
        bridge: &Bridge,
        reader: ReplyReader,
        files: Arc<Files>,
        durable: Option<Durable>,
    ) -> Self {
        let life = match durable {
            None => Life::Live,
            Some(_) => Life::Durable,
        };
        Self {
            reader,
            renderer: EventRenderer::new(life, files),
            silence: KeepaliveTimer::new(bridge.hub.limits().keepalive.0),
            durable,
            rendered: VecDeque::new(),
            is_over: false,
            _counted: bridge.hub.metrics().connection(DOOR),
        }
    }

    fn respond(self) -> Response {
        let frames = stream::unfold(self, |mut stream| async move {
            stream.next().await.map(|frame| (frame, stream))
        });
        SseBody::new(frames)
            .with_keepalive(NO_COMMENTS)
            .into_response()
    }

    /// The next event of the stream. Cancel-safe.
    async fn next(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(frame) = self.rendered.pop_front() {
                return Some(frame);
            }
            if self.is_over {
                return None;
            }
            let item = tokio::select! {
                // The clock of the silence is set only where nothing is ready.
                biased;
                () = stopped(self.durable.as_ref()) => return Some(self.fail(&stopping())),
                item = self.reader.next() => item,
                () = self.silence.too_long() => return Some(SseFrame::data(sse::KEEPALIVE)),
            };
            match item {
                Ok(Some(ReplyItem::Item { next, item })) => self.push_item(item, next).await,
                Ok(Some(ReplyItem::Gap { next })) => {
                    let next = next.to_string();
                    return Some(SseFrame::data(sse::gap(&next)).with_id(next));
                }
                Ok(Some(ReplyItem::Pulse)) => return Some(SseFrame::data(sse::KEEPALIVE)),
                Ok(None) if self.is_unfinished() => return Some(self.fail(&stopping())),
                Ok(None) => self.is_over = true,
                Err(error) => return Some(self.fail(&store_failure(&error))),
            }
        }
    }

    async fn push_item(&mut self, item: LogItem, next: Option<Cursor>) {
        match item {
            // The platform sent these items itself.
            LogItem::Message(_) | LogItem::Answer(..) => {}
            LogItem::Event(event) => {
                let text = self.renderer.event(event);
                self.rendered.extend(text.map(|text| frame(text, next)));
            }
            LogItem::End(end) => {
                self.is_over = true;
                if let Some(durable) = self.durable.as_ref().filter(|it| it.has_missed)
                    && let Ok(turn) = LastTurn::read(&durable.task, durable.message_max).await
                {
                    self.renderer.catch_up(turn);
                }
                let (first, last) = self.renderer.end(&end);
                self.rendered.extend(first.map(SseFrame::data));
                self.rendered.push_back(frame(last, next));
            }
        }
    }

    /// Whether the reply stopped without an end: the hub stops, and the next hub continues the task.
    fn is_unfinished(&self) -> bool {
        let state = self.durable.as_ref().map(|it| it.task.record().state);
        matches!(state, Some(TaskState::Submitted | TaskState::Working))
    }

    /// Ends the stream with an error. The call may go on: a client that reconnects continues from the last id.
    fn fail(&mut self, failure: &Failure) -> SseFrame {
        self.is_over = true;
        let (code, text) = code_and_text(failure, Life::Durable);
        SseFrame::data(sse::error(code, &text))
    }
}

/// Waits until a durable stream has to end because the hub stops. A live one ends with its call.
async fn stopped(durable: Option<&Durable>) {
    match durable {
        Some(durable) => durable.stop.cancelled().await,
        None => pending().await,
    }
}

fn frame(text: String, next: Option<Cursor>) -> SseFrame {
    let frame = SseFrame::data(text);
    match next {
        Some(next) => frame.with_id(next.to_string()),
        None => frame,
    }
}

fn stopping() -> Failure {
    let text = "the hub is stopping; come back in a moment and go on from the last event id";
    Failure::new(Reason::Stopping, text)
}
