//! The stream of a live relay. Dropping it, as happens when the reader hangs up, drops the caller's end of the call,
//! which cancels it at the agent.

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

use super::{silence::Silence, teller::Teller};
use crate::{DOOR, bridge::Bridge, wire::sse};

/// How much is moved out of the pipe at once.
const BATCH: usize = 64 << 10;

/// The kit's own sign of life is a comment, which readers of the bridge do not know: it never comes.
pub(super) const NO_COMMENTS: Duration = Duration::from_secs(365 * 86_400);

/// The response that streams a live call.
pub(crate) fn respond(bridge: &Bridge, asking: Asking) -> Response {
    let call = asking.call();
    tracing::debug!(call = %call.id, from = call.principal.label(), to = %call.target, "relay");
    let live = Live::new(bridge, asking);
    let frames = stream::unfold(live, |mut live| async move {
        live.next().await.map(|frame| (frame, live))
    });
    SseBody::new(frames)
        .with_keepalive(NO_COMMENTS)
        .into_response()
}

struct Live {
    asking: Asking,
    bell: Arc<Bell>,
    teller: Teller,
    silence: Silence,
    ready: std::vec::IntoIter<Event>,
    end: Option<End>,
    /// How many signs of life of the agent were passed on.
    pulses: u64,
    /// Whether a sign of life is to be told after what is ready.
    owes_keepalive: bool,
    /// The last event, after another one that had to come before it.
    last: Option<SseFrame>,
    is_over: bool,
    _counted: Connected,
}

impl Live {
    fn new(bridge: &Bridge, asking: Asking) -> Self {
        let bell = Bell::new();
        asking.listen(bell.rope(0));
        Self {
            teller: Teller::new(Life::Live, asking.call().files().clone()),
            asking,
            bell,
            silence: Silence::new(bridge.hub.limits().keepalive.0),
            ready: Vec::new().into_iter(),
            end: None,
            pulses: 0,
            owes_keepalive: false,
            last: None,
            is_over: false,
            _counted: bridge.hub.metrics().connection(DOOR),
        }
    }

    /// The next event of the stream. Cancel-safe.
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

    /// Waits for something to tell: what the agent said, a sign of its life, or ours after a silence.
    async fn wait(&mut self) {
        let mut keys = Vec::new();
        tokio::select! {
            () = self.bell.wait(&mut keys) => {
                let mut events = Vec::new();
                self.end = self.asking.take(&mut events, BATCH);
                let pulses = self.asking.call().pulses();
                let is_pulse = std::mem::replace(&mut self.pulses, pulses) != pulses;
                // Rung with nothing to read: alive as well.
                self.owes_keepalive = self.end.is_none() && (is_pulse || events.is_empty());
                self.ready = events.into_iter();
            }
            () = self.silence.too_long() => self.owes_keepalive = true,
        }
    }
}
