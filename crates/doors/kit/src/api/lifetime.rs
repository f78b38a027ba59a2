//! Early end of a stream, when its token is revoked or the hub stops. The last event of the stream states the
//! reason.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use axum::response::{IntoResponse as _, Response};
use futures_util::Stream;
use jackfield_core::{hub::Hub, metrics::Connected, principal::Principal};
use jackfield_model::{Failure, Reason};
use tokio_util::sync::CancellationToken;

use crate::{
    server::EndlessStream,
    sse::{SseBody, SseFrame},
};

/// The conditions that end a request early: a revoked token, or the shutdown of the hub.
#[derive(Debug)]
pub struct RequestLifetime {
    revoked: CancellationToken,
    stop: Option<CancellationToken>,
}

impl RequestLifetime {
    /// Creates a lifetime for a request that the hub itself ends on shutdown.
    pub fn for_principal(principal: &Principal) -> Self {
        Self {
            revoked: principal.grant.revoked.clone(),
            stop: None,
        }
    }

    /// Creates a lifetime for a request that would outlive the shutdown of the hub, announced by `stop`.
    pub fn until_stop(principal: &Principal, stop: &CancellationToken) -> Self {
        Self {
            stop: Some(stop.clone()),
            ..Self::for_principal(principal)
        }
    }

    /// Waits until the request must end, and returns the reason.
    pub async fn ended(self) -> Failure {
        let stop = async {
            match &self.stop {
                Some(stop) => stop.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.revoked.cancelled() => Failure::new(
                Reason::Unauthorized,
                "the token was revoked or has expired; ask for a new one",
            ),
            () = stop => Failure::new(
                Reason::Stopping,
                "the hub is stopping; come back in a moment and go on from the last event id",
            ),
        }
    }
}

/// A stream that ends early with its [`RequestLifetime`].
struct LifetimeStream {
    /// `None` once the lifetime is broken, so that the resources of the stream are released at once.
    frames: Option<Pin<Box<dyn Stream<Item = SseFrame> + Send>>>,
    revoked: CancellationToken,
    broken: Pin<Box<dyn Future<Output = Failure> + Send>>,
    say: fn(&Failure) -> SseFrame,
    _counted: Connected,
}

impl Stream for LifetimeStream {
    type Item = SseFrame;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SseFrame>> {
        let this = &mut *self;
        let Some(frames) = &mut this.frames else {
            return Poll::Ready(None);
        };
        // A stream that always has a frame ready must not outrun the revocation.
        if !this.revoked.is_cancelled()
            && let Poll::Ready(frame) = frames.as_mut().poll_next(cx)
        {
            return Poll::Ready(frame);
        }
        this.broken.as_mut().poll(cx).map(|failure| {
            this.frames = None;
            Some((this.say)(&failure))
        })
    }
}

/// Returns a response that sends the frames of a stream. When the [`RequestLifetime`] breaks, the last frame is `say`
/// applied to the failure. The response counts as a connection of the door.
pub fn respond(
    hub: &Hub,
    door: &'static str,
    lifetime: RequestLifetime,
    say: fn(&Failure) -> SseFrame,
    frames: impl Stream<Item = SseFrame> + Send + 'static,
) -> Response {
    // A stream that does not end by itself.
    let is_endless = lifetime.stop.is_some();
    let leashed = LifetimeStream {
        frames: Some(Box::pin(frames)),
        revoked: lifetime.revoked.clone(),
        broken: Box::pin(lifetime.ended()),
        say,
        _counted: hub.metrics().connection(door),
    };
    let body = SseBody::new(leashed).with_keepalive(hub.limits().keepalive.0);
    let mut response = body.into_response();
    if is_endless {
        response.extensions_mut().insert(EndlessStream);
    }
    response
}
