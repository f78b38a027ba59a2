//! Response bodies. A body leaves in pieces, counts until written, and is dropped when its peer takes no data
//! for too long. For HTTP/1.1 the write limit of the socket applies. An HTTP/2 stream has a window of its
//! own: while the window is closed, hyper does not poll the body, so [`Http2Executor`] watches the task of the
//! stream.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Version, header};
use http_body::{Frame, SizeHint};
use jackfield_core::shares::Share;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::account::{Account, AnswerReservation, ShareHolder, too_many_answers};
use crate::{api::ApiError, tasks::Tasks};

/// Bytes of an HTTP/2 stream passed to hyper at once. A peer that takes less than one piece within the write
/// timeout loses the stream.
const PIECE: usize = 32 << 10;

/// Answers up to this size are always sent, for example the error that the account has no room.
const SMALL: usize = 4 << 10;

/// Unwritten bytes allowed at the end of a stream: its task ends then, and no watcher remains.
const LAST: usize = 16 << 10;

/// Wraps the body of a response, so that its unsent bytes are counted for `account`. Replaces the response by
/// an error if the body exceeds the account's share of unsent bytes.
pub(super) fn counted(mut response: Response, account: &Account, version: Version) -> Response {
    let is_http2 = version == Version::HTTP_2;
    if response.body().is_end_stream() {
        return response;
    }
    let size = response.body().size_hint().exact();
    let size = size.map_or(0, |size| usize::try_from(size).unwrap_or(usize::MAX));
    let is_small = (1..=SMALL).contains(&size);
    if is_small && !is_http2 {
        return response;
    }
    let room = response.extensions_mut().remove::<AnswerReservation>();
    let room = room.and_then(AnswerReservation::into_share);
    let share = match room {
        Some(mut share) => {
            share.shrink_to(size);
            let missing = size - share.amount();
            share.grow(missing).then_some(share)
        }
        None => account.answer(if is_small { 0 } else { size }),
    };
    let Some(share) = share else {
        return refused(&response);
    };
    let sending = Arc::new(SendProgress(Mutex::new(UnsentBytes {
        share,
        bytes: 0,
        since: Instant::now(),
        settled: None,
    })));
    if is_http2 {
        // Fails only if hyper does not run the stream by our executor.
        let watch = WATCHED.try_with(|watched| watched.set(sending.clone()).ok());
        debug_assert!(watch.is_ok(), "an HTTP/2 stream is not watched");
    }
    response.map(|inner| {
        Body::new(CountedResponseBody {
            inner,
            prepaid: if is_small { 0 } else { size },
            rest: Bytes::new(),
            is_small,
            is_tracked: false,
            is_over: false,
            trailers: None,
            is_http2,
            sending,
        })
    })
}

/// Returns the error in place of `answer`. Keeps the headers without which a browser hides the error from the page.
fn refused(answer: &Response) -> Response {
    let mut response = ApiError::from(too_many_answers()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    for name in [
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        header::VARY,
    ] {
        let value = answer.headers().get(&name).cloned();
        headers.extend(value.map(|value| (name, value)));
    }
    response
}

/// An answer in transit.
struct CountedResponseBody {
    inner: Body,
    /// Bytes counted before `inner` returned them.
    prepaid: usize,
    /// Whether the answer is too small to be counted.
    is_small: bool,
    /// Rest of the last frame of `inner`; `is_tracked` says whether the rest is counted until written.
    rest: Bytes,
    is_tracked: bool,
    is_over: bool,
    trailers: Option<HeaderMap>,
    is_http2: bool,
    sending: Arc<SendProgress>,
}

/// The account has no room for the next piece of a stream.
#[derive(Debug, thiserror::Error)]
#[error("too much of what the peer asked for is unread")]
struct AnswerOverShare;

impl CountedResponseBody {
    /// Counts a frame of `size` bytes; returns `false` if the account has no room.
    fn count(&mut self, size: usize) -> bool {
        let prepaid = self.prepaid.min(size);
        self.prepaid -= prepaid;
        // HTTP/1.1 buffers little, and its connection is watched.
        self.is_tracked = prepaid > 0 || self.is_http2 || size > SMALL;
        let is_free = self.is_small || !self.is_tracked;
        is_free || self.sending.0.lock().share.grow(size - prepaid)
    }

    fn next_piece(&mut self) -> Bytes {
        let most = if self.is_http2 { PIECE } else { usize::MAX };
        let piece = self.rest.split_to(most.min(self.rest.len()));
        if self.is_tracked {
            self.sending.hand_out(piece)
        } else {
            piece
        }
    }
}

impl HttpBody for CountedResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        loop {
            if !this.rest.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(this.next_piece()))));
            }
            if this.is_over {
                if this.is_http2 {
                    ready!(this.sending.poll_settled(cx));
                }
                return Poll::Ready(this.trailers.take().map(|it| Ok(Frame::trailers(it))));
            }
            match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !this.count(data.len()) => {
                        return Poll::Ready(Some(Err(axum::Error::new(AnswerOverShare))));
                    }
                    Ok(data) => this.rest = data,
                    Err(frame) => {
                        this.trailers = frame.into_trailers().ok();
                        this.is_over = true;
                    }
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => this.is_over = true,
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
            && self.trailers.is_none()
            && (self.is_over || self.inner.is_end_stream())
            && (!self.is_http2 || self.sending.is_settled())
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.inner.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

impl Drop for CountedResponseBody {
    fn drop(&mut self) {
        let mut unsent = self.sending.0.lock();
        let bytes = unsent.bytes;
        unsent.share.shrink_to(bytes);
    }
}

/// The part of an answer passed to hyper and not written yet.
struct SendProgress(Mutex<UnsentBytes>);

struct UnsentBytes {
    /// Share that counts the answer, here and in its body.
    share: Share<ShareHolder>,
    bytes: usize,
    /// Time when the peer last took data, or when the first piece was passed to hyper.
    since: Instant,
    /// Task that waits until the pieces are written.
    settled: Option<Waker>,
}

impl SendProgress {
    fn hand_out(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        let mut unsent = self.0.lock();
        if unsent.bytes == 0 {
            unsent.since = Instant::now();
        }
        unsent.bytes += bytes.len();
        drop(unsent);
        Bytes::from_owner(TrackedPiece {
            bytes,
            sending: self.clone(),
        })
    }

    fn is_settled(&self) -> bool {
        self.0.lock().bytes <= LAST
    }

    fn poll_settled(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut unsent = self.0.lock();
        if unsent.bytes <= LAST {
            return Poll::Ready(());
        }
        unsent.settled = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Returns how long the peer has taken no data, or `None` if no data waits.
    fn stuck_for(&self) -> Option<Duration> {
        let unsent = self.0.lock();
        (unsent.bytes > 0).then(|| unsent.since.elapsed())
    }
}

/// A piece of an answer, counted until hyper has written it.
struct TrackedPiece {
    bytes: Bytes,
    sending: Arc<SendProgress>,
}

impl AsRef<[u8]> for TrackedPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for TrackedPiece {
    fn drop(&mut self) {
        let mut unsent = self.sending.0.lock();
        unsent.bytes -= self.bytes.len();
        unsent.since = Instant::now();
        let counted = unsent.share.amount();
        unsent
            .share
            .shrink_to(counted.saturating_sub(self.bytes.len()));
        let is_settled = unsent.bytes <= LAST;
        let waker = unsent.settled.take_if(|_| is_settled);
        drop(unsent);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

tokio::task_local! {
    /// Slot in which an HTTP/2 stream publishes its answer for the watcher of its task.
    static WATCHED: Arc<OnceLock<Arc<SendProgress>>>;
}

/// Executor for the HTTP/2 streams of a connection. Runs each stream as a separate task, and ends a stream
/// whose peer takes none of the answer for `limit`: dropping the task resets the stream.
#[derive(Debug, Clone)]
pub(super) struct Http2Executor {
    pub(super) tasks: Tasks,
    pub(super) limit: Duration,
}

impl<F> hyper::rt::Executor<F> for Http2Executor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        let limit = self.limit;
        let answer = Arc::new(OnceLock::new());
        let stream = WATCHED.scope(answer.clone(), stream);
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                _ = stream => {}
                () = stuck(&answer, limit) => {
                    tracing::debug!("an HTTP/2 stream was reset: its peer takes nothing of the answer");
                }
            }
        });
    }
}

async fn stuck(answer: &OnceLock<Arc<SendProgress>>, limit: Duration) {
    let mut pause = limit;
    loop {
        sleep(pause).await;
        let stuck_for = answer.get().and_then(|answer| answer.stuck_for());
        match stuck_for {
            Some(stuck_for) if stuck_for >= limit => return,
            Some(stuck_for) => pause = limit - stuck_for,
            None => pause = limit,
        }
    }
}
