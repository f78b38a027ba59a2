//! Request bodies. The bytes read count for the sender until the body is complete. The server discards the
//! rest that a handler leaves unread, so that the connection stays usable and the peer sees the answer.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use http::{HeaderValue, Request, Version, header};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use jackfield_core::shares::Share;
use parking_lot::Mutex;

use super::account::{Account, ShareHolder};
use crate::body::discard;

/// Marks a request whose body is passed on instead of kept, so that only the piece in hand counts.
#[derive(Debug, Clone, Default)]
pub struct PassThrough(Arc<AtomicBool>);

impl PassThrough {
    /// Marks the body of `request` as passed on while it arrives.
    pub fn mark<B>(request: &Request<B>) {
        if let Some(Self(is_passing)) = request.extensions().get() {
            is_passing.store(true, Ordering::Relaxed);
        }
    }
}

/// The account has no room for more of a body.
#[derive(Debug, thiserror::Error)]
#[error("too much that you send at once is not complete; send less at a time")]
pub(crate) struct InputOverShare;

/// The body of a request.
struct CountedRequestBody {
    /// `None` only during drop.
    inner: Option<Incoming>,
    account: Account,
    /// Share that counts the body; `None` before the first piece and after the last.
    share: Option<Share<ShareHolder>>,
    passing: PassThrough,
    rest: Arc<Mutex<Option<Incoming>>>,
}

impl CountedRequestBody {
    /// Counts a piece of `size` bytes; returns `false` if the account has no room.
    fn count(&mut self, size: usize) -> bool {
        if self.passing.0.load(Ordering::Relaxed) {
            self.share = None;
            return true;
        }
        match &mut self.share {
            Some(share) => share.grow(size),
            share @ None => {
                *share = self.account.input(size);
                share.is_some()
            }
        }
    }
}

impl HttpBody for CountedRequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(&mut *inner).poll_frame(cx));
        let is_over = frame.is_none() || inner.is_end_stream();
        let size = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };
        if is_over {
            this.share = None;
        } else if size > 0 && !this.count(size) {
            return Poll::Ready(Some(Err(axum::Error::new(InputOverShare))));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner
            .as_ref()
            .map_or_else(SizeHint::default, Incoming::size_hint)
    }
}

impl Drop for CountedRequestBody {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take().filter(|inner| !inner.is_end_stream()) {
            *self.rest.lock() = Some(inner);
        }
    }
}

/// The part of a request body that the handler left unread.
pub(super) struct UnreadRemainder {
    rest: Arc<Mutex<Option<Incoming>>>,
    /// Whether the peer sends the body only after `100 Continue`.
    waits: bool,
    version: Version,
}

/// Wraps the body of a request, so that its bytes are counted for `account`.
pub(super) fn counted(
    mut request: Request<Incoming>,
    account: &Account,
) -> (Request<Body>, UnreadRemainder) {
    let rest = Arc::default();
    let leftover = UnreadRemainder {
        rest: Arc::clone(&rest),
        waits: request.headers().contains_key(header::EXPECT),
        version: request.version(),
    };
    let passing = PassThrough::default();
    request.extensions_mut().insert(passing.clone());
    let request = request.map(|inner| {
        if inner.is_end_stream() {
            return Body::empty();
        }
        Body::new(CountedRequestBody {
            inner: Some(inner),
            account: account.clone(),
            share: None,
            passing,
            rest,
        })
    });
    (request, leftover)
}

impl UnreadRemainder {
    /// Discards the rest of an HTTP/1.1 request, within limits. If more is left, the response closes the
    /// connection.
    pub(super) async fn settle(self, response: &mut Response) {
        let rest = self.rest.lock().take();
        let Some(rest) = rest.filter(|_| self.version != Version::HTTP_2) else {
            return;
        };
        if self.waits || !discard(Body::new(rest)).await {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
    }
}
