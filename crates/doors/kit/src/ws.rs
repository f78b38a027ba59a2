//! A WebSocket over any asynchronous stream, owned by one task and made for the `select!` of that task: a
//! door calls [`Ws::next_event`] in one arm, and waits for ready sources and timers in the others. Frames are
//! queued without waiting and leave in one write per batch. Usual messages are read here; all others, and the
//! rules of RFC 6455, are handled by tungstenite. Its codec and all buffers exist only while a message is half
//! read, so an idle connection owns none.
//!
//! The write queue is unbounded: the caller checks [`Ws::queued_bytes`] and stops in time.

mod adapter;
mod boundary;
mod error;
mod event;
mod frames;
mod queue;
mod whole;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    future::poll_fn,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use jackfield_core::shares::Share;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::Instant,
};
use tungstenite::{
    Error as CodecError, Message,
    protocol::{Role, WebSocketConfig, WebSocketContext},
};

use self::{
    adapter::{CodecAdapter, WriteBuffer, poll_fill},
    boundary::FrameBoundary,
    whole::{NextFrame, WholeFrames},
};
use crate::server::{Account, ShareHolder};

pub use self::{
    error::WsError,
    event::{WsConfig, WsEvent, WsMessage},
    frames::{TextFrames, TextWriter},
};
pub use tungstenite::Utf8Bytes;

/// Bytes of unwritten pongs above which the hub stops reading a peer that pings but does not read.
const MAX_REPLIES: usize = 16 * 1024;

/// A WebSocket that one task reads and writes.
pub struct Ws<S> {
    io: S,
    role: Role,
    config: WsConfig,
    /// Bytes of the peer that neither a message nor the codec has taken.
    whole: WholeFrames,
    /// `None` unless the codec reads a message, or a close is in progress.
    codec: Option<Box<Codec>>,
    out: WriteBuffer,
    /// Whether either side has begun the closing handshake.
    is_closing: bool,
    /// Whether the reading side has ended.
    is_over: bool,
    /// Whether both sides have sent a close frame.
    is_complete: bool,
    /// Whether the write queue was emptied and [`WsEvent::Flushed`] is not yet reported.
    owes_flushed: bool,
    /// Whether the reader comes first when both directions are ready.
    reader_first: bool,
    blocked_since: Option<Instant>,
    /// Account that incomplete messages are counted for; without an account they are not counted.
    account: Option<Box<Account>>,
    /// Share of memory held by the incomplete message; exists only while a message is half read.
    unfinished: Option<Box<Share<ShareHolder>>>,
}

/// The codec for messages that are not read the short way, and its position in the stream of frames.
struct Codec {
    context: WebSocketContext,
    boundary: FrameBoundary,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Ws<S> {
    /// Creates the server side of a stream after the handshake.
    pub fn server(io: S, config: WsConfig) -> Self {
        Self::new(io, Role::Server, Vec::new(), config)
    }

    /// Creates the server side of a stream; `leftover` holds bytes that were read beyond the handshake.
    pub fn server_with_leftover(io: S, leftover: Vec<u8>, config: WsConfig) -> Self {
        Self::new(io, Role::Server, leftover, config)
    }

    /// Creates the client side of a stream; `leftover` holds bytes that were read beyond the response of the
    /// handshake.
    pub fn client(io: S, leftover: Vec<u8>, config: WsConfig) -> Self {
        Self::new(io, Role::Client, leftover, config)
    }

    fn new(io: S, role: Role, leftover: Vec<u8>, config: WsConfig) -> Self {
        Self {
            io,
            role,
            config,
            whole: WholeFrames::new(leftover),
            codec: None,
            out: WriteBuffer::default(),
            is_closing: false,
            is_over: false,
            is_complete: false,
            owes_flushed: false,
            reader_first: true,
            blocked_since: None,
            account: None,
            unfinished: None,
        }
    }

    /// Returns the underlying stream.
    pub fn get_ref(&self) -> &S {
        &self.io
    }

    /// Counts incomplete messages for `account` from now on.
    pub fn set_account(&mut self, account: Account) {
        self.account = Some(Box::new(account));
    }

    /// Returns the account that incomplete messages are counted for.
    pub fn account_mut(&mut self) -> Option<&mut Account> {
        self.account.as_deref_mut()
    }

    /// Returns the number of queued bytes not yet taken by the stream.
    pub fn queued_bytes(&self) -> usize {
        self.out.len()
    }

    /// Returns how long the stream has taken no bytes although frames are queued; zero while the stream makes
    /// progress.
    pub fn blocked_for(&self) -> Duration {
        self.blocked_since
            .map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns whether the closing handshake has begun, after which no frame can be queued.
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Sets the maximum size of incoming messages, from the next frame on.
    pub fn set_max_message(&mut self, bytes: usize) {
        self.config.max_message = bytes;
        if let Some(codec) = &mut self.codec {
            codec.context.set_config(|config| {
                config.max_message_size = Some(bytes);
                config.max_frame_size = Some(bytes);
            });
        }
    }

    /// Waits until the peer sends a message or the write queue is empty, alternating when both are ready. A
    /// `select!` needs only this arm per connection. With `read` false the peer is not read, and its pings
    /// stay unanswered. Cancel-safe.
    pub async fn next_event(&mut self, read: bool) -> WsEvent {
        poll_fn(|cx| self.poll_event(cx, read)).await
    }

    /// Waits for the next message of the peer, while queued frames are written. Returns `None` after the end.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<WsMessage, WsError>> {
        loop {
            match self.next_event(true).await {
                WsEvent::Frame(frame) => return Some(Ok(frame)),
                WsEvent::Flushed => {}
                WsEvent::Closed => return None,
                WsEvent::Failed(error) => return Some(Err(error)),
            }
        }
    }

    /// Returns a message that is available without waiting, so that a batch is handled before one flush.
    /// Callers limit the batch, because a fast peer always has more. `None` may also mean the end, which
    /// [`next_event`](Self::next_event) reports.
    pub fn try_next(&mut self) -> Option<Result<WsMessage, WsError>> {
        if self.is_over {
            return None;
        }
        // The waker is a no-op: the next caller that waits polls the stream again.
        match self.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(next) => next,
            Poll::Pending => None,
        }
    }

    /// Waits until the write queue is empty. Cancel-safe.
    pub async fn flush(&mut self) -> Result<(), WsError> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Ends the connection within `limit`: writes the queued frames, completes a closing handshake in
    /// progress, and discards the remaining data of the peer. Closing a socket with unread data would destroy
    /// our last frames on their way.
    pub async fn finish(&mut self, limit: Duration) {
        let ended = tokio::time::timeout(limit, async {
            while self.is_closing && !self.is_over {
                self.next().await;
            }
            self.flush().await?;
            self.io.shutdown().await?;
            let mut rest = vec![0; 4096];
            while !self.is_complete && self.io.read(&mut rest).await? > 0 {}
            Ok::<_, WsError>(())
        });
        match ended.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::trace!(%error, "connection ended unfinished"),
            Err(_) => tracing::trace!("peer did not finish in time"),
        }
    }

    /// Polls [`next_event`](Self::next_event).
    pub fn poll_event(&mut self, cx: &mut Context<'_>, read: bool) -> Poll<WsEvent> {
        if self.out.is_dirty() {
            match self.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.owes_flushed = true,
                Poll::Ready(Err(error)) => return Poll::Ready(WsEvent::Failed(error)),
                Poll::Pending => {}
            }
        }
        if self.owes_flushed && !(read && self.reader_first) {
            return Poll::Ready(self.tell_flushed());
        }
        if (read || self.is_over)
            && let Poll::Ready(next) = self.poll_next(cx)
        {
            self.reader_first = false;
            return Poll::Ready(match next {
                Some(Ok(frame)) => WsEvent::Frame(frame),
                Some(Err(error)) => WsEvent::Failed(error),
                None => WsEvent::Closed,
            });
        }
        if self.owes_flushed {
            return Poll::Ready(self.tell_flushed());
        }
        Poll::Pending
    }

    /// Polls [`next`](Self::next) without writing: queued frames, pongs included, leave by
    /// [`poll_flush`](Self::poll_flush).
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WsMessage, WsError>>> {
        loop {
            if self.is_over {
                // Our close frame must be written before the stream is dropped. If writing fails, the end is
                // the same.
                ready!(self.poll_flush(cx)).ok();
                return Poll::Ready(None);
            }
            if self.out.replies > MAX_REPLIES
                && let Err(error) = ready!(self.poll_flush(cx))
            {
                return Poll::Ready(Some(Err(error)));
            }
            if self.codec.is_none() {
                match self.whole.next(self.role, self.config.max_message) {
                    NextFrame::Text(bytes) => {
                        self.unfinished = None;
                        let text = Utf8Bytes::try_from(bytes).map(WsMessage::Text);
                        return Poll::Ready(Some(text.map_err(|_| self.fail(WsError::NotUtf8))));
                    }
                    NextFrame::Binary(bytes) => {
                        self.unfinished = None;
                        return Poll::Ready(Some(Ok(WsMessage::Binary(bytes))));
                    }
                    NextFrame::Partial => match poll_fill(&mut self.io, cx, &mut self.whole) {
                        Poll::Ready(Ok(1..)) => {}
                        Poll::Ready(Ok(0)) => {
                            let error = self.fail(WsError::Disconnected);
                            return Poll::Ready(Some(Err(error)));
                        }
                        Poll::Ready(Err(error)) => {
                            return Poll::Ready(Some(Err(self.fail(WsError::Io(error)))));
                        }
                        Poll::Pending => return self.wait_for_more(),
                    },
                    NextFrame::Other => self.start_codec(),
                }
                continue;
            }
            let codec = self.codec_and_adapter(Some(cx));
            let Some(read) = codec.map(|(codec, mut adapter)| codec.read(&mut adapter)) else {
                continue;
            };
            match read {
                Ok(message) => {
                    if let Some(incoming) = self.take(message) {
                        return Poll::Ready(Some(Ok(incoming)));
                    }
                }
                Err(CodecError::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    return self.wait_for_more();
                }
                Err(CodecError::ConnectionClosed | CodecError::AlreadyClosed) => {
                    self.is_over = true;
                    self.is_complete = true;
                    self.owes_flushed = false;
                }
                Err(error) => {
                    let error = self.fail(WsError::from_codec(error));
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    /// Polls [`flush`](Self::flush).
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WsError>> {
        let mut progressed = false;
        let polled = self.out.poll_write_out(&mut self.io, cx, &mut progressed);
        match polled {
            Poll::Ready(Ok(())) => {
                self.blocked_since = None;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.fail(WsError::Io(error)))),
            Poll::Pending => {
                if progressed || self.blocked_since.is_none() {
                    self.blocked_since = Some(Instant::now());
                }
                Poll::Pending
            }
        }
    }

    fn tell_flushed(&mut self) -> WsEvent {
        self.owes_flushed = false;
        self.reader_first = true;
        WsEvent::Flushed
    }

    /// Waits for more bytes of the peer, unless the bytes of an incomplete message exceed the share of its
    /// holder.
    fn wait_for_more(&mut self) -> Poll<Option<Result<WsMessage, WsError>>> {
        match self.count_unfinished() {
            true => Poll::Pending,
            false => Poll::Ready(Some(Err(self.fail(WsError::NoRoom)))),
        }
    }

    /// Counts the bytes read of an incomplete message; returns `false` if the account has no room.
    fn count_unfinished(&mut self) -> bool {
        let Some(account) = &self.account else {
            return true;
        };
        let bytes = match &self.codec {
            Some(codec) => codec.boundary.unfinished(),
            None => self.whole.unfinished(),
        };
        if bytes == 0 {
            self.unfinished = None;
            return true;
        }
        let mut share = match self.unfinished.take() {
            // The holder of the account may have changed since the last count.
            Some(share) if share.owner() == account.holder() => Some(share),
            _ => account.input(0).map(Box::new),
        };
        let is_counted = share.as_mut().is_some_and(|share| {
            share.shrink_to(bytes);
            let more = bytes - share.amount();
            share.grow(more)
        });
        self.unfinished = share;
        is_counted
    }

    /// Ends the reading side. A broken stream ends the writing side too.
    fn fail(&mut self, error: WsError) -> WsError {
        self.is_over = true;
        self.owes_flushed = false;
        self.unfinished = None;
        if error.close_code().is_none() {
            self.is_closing = true;
            self.codec = None;
            self.whole = WholeFrames::default();
            self.out.discard();
        }
        error
    }

    /// Converts a message of the codec, and drops the codec if it holds no more data.
    fn take(&mut self, message: Message) -> Option<WsMessage> {
        if let Some(codec) = &mut self.codec {
            codec.boundary.take();
        }
        let incoming = match message {
            Message::Text(text) => WsMessage::Text(text),
            Message::Binary(bytes) => WsMessage::Binary(bytes),
            Message::Pong(payload) => WsMessage::Pong(payload),
            Message::Ping(payload) => {
                // The pong waits inside the codec until the codec flushes it into our buffer.
                let codec = self.codec_and_adapter(None);
                let flushed = codec.map(|(codec, mut adapter)| codec.flush(&mut adapter));
                if let Some(Err(error)) = flushed {
                    tracing::trace!(%error, "pong was not queued");
                }
                WsMessage::Ping(payload)
            }
            Message::Close(frame) => {
                self.is_closing = true;
                frame.map_or_else(
                    || WsMessage::Close {
                        code: 1005,
                        reason: Utf8Bytes::default(),
                    },
                    |frame| WsMessage::Close {
                        code: frame.code.into(),
                        reason: frame.reason,
                    },
                )
            }
            // Never returned by a reading codec.
            Message::Frame(_) => return None,
        };
        let is_clean = |codec: &Codec| codec.boundary.is_clean();
        if !self.is_closing && self.codec.as_deref().is_none_or(is_clean) {
            self.codec = None;
            self.unfinished = None;
        }
        Some(incoming)
    }

    fn start_codec(&mut self) {
        let config = WebSocketConfig::default()
            .read_buffer_size(self.config.read_buffer)
            // The codec writes into our own buffer at once.
            .write_buffer_size(0)
            .max_message_size(Some(self.config.max_message))
            .max_frame_size(Some(self.config.max_message));
        self.codec = Some(Box::new(Codec {
            context: WebSocketContext::new(self.role, Some(config)),
            boundary: FrameBoundary::default(),
        }));
    }

    fn codec_and_adapter<'a, 'c>(
        &'a mut self,
        cx: Option<&'a mut Context<'c>>,
    ) -> Option<(&'a mut WebSocketContext, CodecAdapter<'a, 'c, S>)> {
        let Codec { context, boundary } = &mut **self.codec.as_mut()?;
        let adapter = CodecAdapter {
            io: &mut self.io,
            cx,
            boundary,
            whole: &mut self.whole,
            out: &mut self.out,
        };
        Some((context, adapter))
    }
}

impl<S> fmt::Debug for Ws<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ws")
            .field("role", &self.role)
            .field("queued_bytes", &self.out.len())
            .field("is_closing", &self.is_closing)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
