//! The stream of a live relay. Dropping the stream, as after a hang-up of the reader, drops the [`Asking`]
//! side of the call, which cancels the call at the agent.

use std::{sync::Arc, time::Duration};

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use jackfield_core::{
    bell::Bell,
    call::{Asking, Life},
    metrics::Connected,
};
use jackfield_kit::sse::{SseBody, SseFrame};
use jackfield_model::{End, Event};

use super::{keepalive::KeepaliveTimer, renderer::EventRenderer};
use crate::{DOOR, bridge::Bridge, wire::sse};

/// Bytes taken from the pipe at once.
const BATCH: usize = 64 << 10;

/// Keepalive interval for the comments of the kit: practically never, because readers of the bridge do not
/// know comments.
pub(super) const NO_COMMENTS: Duration = Duration::from_secs(365 * 86_400);

/// Returns the response that streams a live call.
pub(crate) fn respond(bridge: &Bridge, asking: Asking) -> Response {
    let call = asking.call();
    tracing::debug!(call = %call.id, from = call.principal.label(), to = %call.target, "relay");
    let live = LiveStream::new(bridge, asking);
    let frames = stream::unfold(live, |mut live| async move {
        live.next().await.map(|frame| (frame, live))
    });
    SseBody::new(frames)
        .with_keepalive(NO_COMMENTS)
        .into_response()
}

struct LiveStream {
    asking: Asking,
    bell: Arc<Bell>,
    teller: EventRenderer,
    silence: KeepaliveTimer,
    ready: std::vec::IntoIter<Event>,
    end: Option<End>,
    /// Number of the agent's heartbeats passed on.
    pulses: u64,
    /// Whether a keepalive follows the ready events.
    owes_keepalive: bool,
    /// Last event of the stream, sent after an extra chunk.
    last: Option<SseFrame>,
    is_over: bool,
    _counted: Connected,
}

impl LiveStream {
    fn new(bridge: &Bridge, asking: Asking) -> Self {
        let bell = Bell::new();
        asking.listen(bell.rope(0));
        Self {
            teller: EventRenderer::new(Life::Live, asking.call().files().clone()),
            asking,
            bell,
            silence: KeepaliveTimer::new(bridge.hub.limits().keepalive.0),
            ready: Vec::new().into_iter(),
            end: None,
            pulses: 0,
            owes_keepalive: false,
            last: None,
            is_over: false,
            _counted: bridge.hub.metrics().connection(DOOR),
        }
    }

    /// Waits for the next [`SseFrame`] of the stream. Cancel-safe.
    async fn next(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(event) = self.ready.next() {
                match self.teller.event(event) {
                    Some(told) => return Some(SseFrame::data(told)),
                    None => continue,
                }
            }
            if std::mem::take(&mut self.owes_keepalive) {
                return Some(SseFrame::data(sse::KEEPALIVE));
            }
            if let Some(end) = self.end.take() {
                self.is_over = true;
                let (first, last) = self.teller.end(&end);
                self.last = Some(SseFrame::data(last));
                if let Some(first) = first {
                    return Some(SseFrame::data(first));
                }
            }
            if self.is_over {
                return self.last.take();
            }
            self.wait().await;
        }
    }

    /// Waits for events of the agent, a heartbeat of the agent, or a period of silence.
    async fn wait(&mut self) {
        let mut keys = Vec::new();
        tokio::select! {
            () = self.bell.wait(&mut keys) => {
                let mut events = Vec::new();
                self.end = self.asking.take(&mut events, BATCH);
                let pulses = self.asking.call().pulses();
                let is_pulse = std::mem::replace(&mut self.pulses, pulses) != pulses;
                // Notified without data to read: alive as well.
                self.owes_keepalive = self.end.is_none() && (is_pulse || events.is_empty());
                self.ready = events.into_iter();
            }
            () = self.silence.too_long() => self.owes_keepalive = true,
        }
    }
}
