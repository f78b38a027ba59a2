//! A WebSocket over any asynchronous stream, owned by one task and made for that task's `select!`: a door
//! calls [`Ws::turn`] in one arm and its bell and timers in the others. Frames are queued without
//! waiting and leave in one write per batch. Reading and the rules of RFC 6455 are tungstenite's; the
//! codec and its buffers exist only while a message is half read, so an idle connection owns none.
//!
//! It never bounds what is queued: the caller looks at [`Ws::queued_bytes`] and stops in time.

mod adapter;
mod boundary;
mod error;
mod queue;
mod turn;

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
    adapter::{Adapter, Out, poll_chunk},
    boundary::Boundary,
};
use crate::server::{Account, Holder};

pub use self::{
    error::WsError,
    turn::{Incoming, Turn, WsConfig},
};
pub use tungstenite::Utf8Bytes;

/// How many bytes of pongs may wait before we stop reading a peer that pings but does not read.
const MAX_REPLIES: usize = 16 * 1024;

/// A WebSocket that one task reads and writes.
pub struct Ws<S> {
    io: S,
    role: Role,
    config: WsConfig,
    /// Absent while nothing is half read and no close is under way.
    codec: Option<WebSocketContext>,
    boundary: Boundary,
    out: Out,
    /// Whether the closing handshake has begun, on either side.
    is_closing: bool,
    /// Whether there is nothing more to read.
    is_over: bool,
    /// Whether both sides have said that they close.
    is_complete: bool,
    /// Whether the queue ran empty since something was put into it, and nobody was told.
    owes_flushed: bool,
    /// Whether it is the reader's turn when both directions have news.
    reader_first: bool,
    blocked_since: Option<Instant>,
    /// For whom messages whose end has not come are counted; nobody counts them if it is absent.
    account: Option<Box<Account>>,
    /// What is counted; exists only while a message is half read.
    unfinished: Option<Box<Share<Holder>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Ws<S> {
    /// The server's end of a stream whose handshake is done.
    pub fn server(io: S, config: WsConfig) -> Self {
        Self::new(io, Role::Server, Vec::new(), config)
    }

    /// The server's end of a stream of which the handshake read more than its own bytes.
    pub fn server_with_leftover(io: S, leftover: Vec<u8>, config: WsConfig) -> Self {
        Self::new(io, Role::Server, leftover, config)
    }

    /// The client's end; `leftover` is what was read beyond the handshake's response.
    pub fn client(io: S, leftover: Vec<u8>, config: WsConfig) -> Self {
        Self::new(io, Role::Client, leftover, config)
    }

    fn new(io: S, role: Role, leftover: Vec<u8>, config: WsConfig) -> Self {
        let mut ws = Self {
            io,
            role,
            config,
            codec: None,
            boundary: Boundary::default(),
            out: Out::default(),
            is_closing: false,
            is_over: false,
            is_complete: false,
            owes_flushed: false,
            reader_first: true,
            blocked_since: None,
            account: None,
            unfinished: None,
        };
        if !leftover.is_empty() {
            ws.start_codec(leftover);
        }
        ws
    }

    /// The stream below.
    pub fn get_ref(&self) -> &S {
        &self.io
    }

    /// Counts messages whose end has not come for somebody from now on.
    pub fn set_account(&mut self, account: Account) {
        self.account = Some(Box::new(account));
    }

    /// For whom messages whose end has not come are counted.
    pub fn account_mut(&mut self) -> Option<&mut Account> {
        self.account.as_deref_mut()
    }

    /// How many bytes of frames are queued but not yet taken by the stream.
    pub fn queued_bytes(&self) -> usize {
        self.out.len()
    }

    /// How long the stream has taken nothing although something is queued; zero while it moves.
    pub fn blocked_for(&self) -> Duration {
        self.blocked_since
            .map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether the closing handshake has begun, so that nothing more can be queued.
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Changes the largest message that is accepted, from the next frame on.
    pub fn set_max_message(&mut self, bytes: usize) {
        self.config.max_message = bytes;
        if let Some(codec) = &mut self.codec {
            codec.set_config(|config| {
                config.max_message_size = Some(bytes);
                config.max_frame_size = Some(bytes);
            });
        }
    }

    /// Waits until the peer sends something or everything queued has left, whichever is first and by
    /// turns when both go on: the one arm of a `select!` that belongs to this connection. With `read`
    /// false the peer is left alone and its pings stay unanswered. Cancel-safe.
    pub async fn turn(&mut self, read: bool) -> Turn {
        poll_fn(|cx| self.poll_turn(cx, read)).await
    }

    /// The next thing the peer sends, while queued frames are written; nothing once it is over.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Incoming, WsError>> {
        loop {
            match self.turn(true).await {
                Turn::Frame(frame) => return Some(Ok(frame)),
                Turn::Flushed => {}
                Turn::Closed => return None,
                Turn::Failed(error) => return Some(Err(error)),
            }
        }
    }

    /// What the peer sent that needs no waiting, so that a batch is handled before one flush. Bound
    /// the batch: a fast peer has always more. Nothing may also mean the end, which `turn` tells.
    pub fn try_next(&mut self) -> Option<Result<Incoming, WsError>> {
        if self.is_over {
            return None;
        }
        // The lost wake-up is none: whoever waits next polls the stream again.
        match self.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(next) => next,
            Poll::Pending => None,
        }
    }

    /// Waits until everything queued has left. Cancel-safe.
    pub async fn flush(&mut self) -> Result<(), WsError> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Brings the connection to its end within `limit`: writes what is queued, completes the closing
    /// handshake if one is under way, and reads off what the peer is still sending, since closing a
    /// socket with unread data would destroy our last frames on their way.
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

    /// The poll form of [`turn`](Self::turn).
    pub fn poll_turn(&mut self, cx: &mut Context<'_>, read: bool) -> Poll<Turn> {
        if self.out.is_dirty() {
            match self.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.owes_flushed = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Turn::Failed(error)),
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
                Some(Ok(frame)) => Turn::Frame(frame),
                Some(Err(error)) => Turn::Failed(error),
                None => Turn::Closed,
            });
        }
        if self.owes_flushed {
            return Poll::Ready(self.tell_flushed());
        }
        Poll::Pending
    }

    /// The poll form of [`next`](Self::next), but for the writing: what is queued, pongs included,
    /// leaves by [`poll_flush`](Self::poll_flush).
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Incoming, WsError>>> {
        loop {
            if self.is_over {
                // Our answer to the close must be out before anybody drops the stream. If it cannot
                // be written, the end is the same.
                ready!(self.poll_flush(cx)).ok();
                return Poll::Ready(None);
            }
            if self.out.replies > MAX_REPLIES
                && let Err(error) = ready!(self.poll_flush(cx))
            {
                return Poll::Ready(Some(Err(error)));
            }
            if self.codec.is_none() {
                let chunk = match ready!(poll_chunk(&mut self.io, cx, self.config.read_buffer)) {
                    Ok(chunk) if chunk.is_empty() => Err(WsError::Disconnected),
                    chunk => chunk.map_err(WsError::Io),
                };
                match chunk {
                    Ok(chunk) => self.start_codec(chunk),
                    Err(error) => return Poll::Ready(Some(Err(self.fail(error)))),
                }
            }
            let (codec, mut adapter) = self.codec_and_adapter(Some(cx));
            let Some(read) = codec.map(|codec| codec.read(&mut adapter)) else {
                continue;
            };
            match read {
                Ok(message) => {
                    if let Some(incoming) = self.take(message) {
                        return Poll::Ready(Some(Ok(incoming)));
                    }
                }
                Err(CodecError::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    return match self.count_unfinished() {
                        true => Poll::Pending,
                        false => Poll::Ready(Some(Err(self.fail(WsError::NoRoom)))),
                    };
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

    /// The poll form of [`flush`](Self::flush).
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

    fn tell_flushed(&mut self) -> Turn {
        self.owes_flushed = false;
        self.reader_first = true;
        Turn::Flushed
    }

    /// Counts what was read of a message whose end has not come; `false` if there is no room for it.
    fn count_unfinished(&mut self) -> bool {
        let Some(account) = &self.account else {
            return true;
        };
        let bytes = self.boundary.unfinished();
        if bytes == 0 {
            self.unfinished = None;
            return true;
        }
        let mut share = match self.unfinished.take() {
            // Whom it is counted for may have changed since.
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

    /// Ends the reading; a broken stream ends the writing too.
    fn fail(&mut self, error: WsError) -> WsError {
        self.is_over = true;
        self.owes_flushed = false;
        self.unfinished = None;
        if error.close_code().is_none() {
            self.is_closing = true;
            self.codec = None;
            self.out.discard();
        }
        error
    }

    /// Accounts for a message that the codec handed out, and lets the codec go if it holds no more.
    fn take(&mut self, message: Message) -> Option<Incoming> {
        self.boundary.take();
        let incoming = match message {
            Message::Text(text) => Incoming::Text(text),
            Message::Binary(bytes) => Incoming::Binary(bytes),
            Message::Pong(payload) => Incoming::Pong(payload),
            Message::Ping(payload) => {
                // The pong waits inside the codec until it is flushed into our buffer.
                let (codec, mut adapter) = self.codec_and_adapter(None);
                if let Some(Err(error)) = codec.map(|codec| codec.flush(&mut adapter)) {
                    tracing::trace!(%error, "pong was not queued");
                }
                Incoming::Ping(payload)
            }
            Message::Close(frame) => {
                self.is_closing = true;
                frame.map_or_else(
                    || Incoming::Close {
                        code: 1005,
                        reason: Utf8Bytes::default(),
                    },
                    |frame| Incoming::Close {
                        code: frame.code.into(),
                        reason: frame.reason,
                    },
                )
            }
            // Never handed out by a reading codec.
            Message::Frame(_) => return None,
        };
        if !self.is_closing && self.boundary.is_clean() {
            self.codec = None;
            self.unfinished = None;
        }
        Some(incoming)
    }

    fn start_codec(&mut self, read: Vec<u8>) {
        self.boundary.feed(&read);
        let config = WebSocketConfig::default()
            .read_buffer_size(self.config.read_buffer)
            // Whatever the codec writes goes to our own buffer at once.
            .write_buffer_size(0)
            .max_message_size(Some(self.config.max_message))
            .max_frame_size(Some(self.config.max_message));
        self.codec = Some(WebSocketContext::from_partially_read(
            read,
            self.role,
            Some(config),
        ));
    }

    fn codec_and_adapter<'a, 'c>(
        &'a mut self,
        cx: Option<&'a mut Context<'c>>,
    ) -> (Option<&'a mut WebSocketContext>, Adapter<'a, 'c, S>) {
        let adapter = Adapter {
            io: &mut self.io,
            cx,
            boundary: &mut self.boundary,
            out: &mut self.out,
        };
        (self.codec.as_mut(), adapter)
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
