//! The body of an SSE response. Frames come from a stream or a bounded channel; all ready frames leave in one
//! write, and a comment is sent after a period of silence. A frame is written with exactly its own lines, so
//! a frame with data alone is `data: …\n\n`.

use std::{
    borrow::Cow,
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use http::{HeaderName, HeaderValue, header};
use http_body::Frame;
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep, sleep},
};

#[cfg(test)]
mod tests;

/// Default period of silence before a comment is sent.
pub const KEEPALIVE: Duration = Duration::from_secs(15);

/// Maximum number of bytes in one write; a single larger frame still leaves whole.
const BATCH: usize = 64 * 1024;

/// One server-sent event, or a comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseFrame {
    /// Value of the line `event:`.
    pub event: Option<Cow<'static, str>>,
    /// Value of the line `id:`.
    pub id: Option<Cow<'static, str>>,
    /// Data, written as one line `data:` per line; UTF-8, as all content of an event stream.
    pub data: Option<Bytes>,
    /// Comment, ignored by clients.
    pub comment: Option<Cow<'static, str>>,
    /// Bytes of a frame that was encoded before; the other fields are empty then.
    encoded: Option<Bytes>,
}

impl SseFrame {
    /// Creates a frame with data alone.
    pub fn data(data: impl Into<Bytes>) -> Self {
        Self {
            data: Some(data.into()),
            ..Self::default()
        }
    }

    /// Creates a frame with a comment alone.
    pub fn comment(comment: impl Into<Cow<'static, str>>) -> Self {
        Self {
            comment: Some(comment.into()),
            ..Self::default()
        }
    }

    /// Wraps the bytes of a whole frame, from [`encode`](Self::encode). Many responses can share the bytes.
    pub fn encoded(bytes: Bytes) -> Self {
        Self {
            encoded: Some(bytes),
            ..Self::default()
        }
    }

    /// Sets the name of the event.
    pub fn with_event(mut self, event: impl Into<Cow<'static, str>>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// Sets the id of the event, from which a reconnecting client resumes.
    pub fn with_id(mut self, id: impl Into<Cow<'static, str>>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Returns the bytes of the frame.
    pub fn encode(self) -> Bytes {
        match self.encoded {
            Some(bytes) => bytes,
            None => {
                let mut out = BytesMut::new();
                self.write_to(&mut out);
                out.freeze()
            }
        }
    }

    /// Appends the bytes of the frame to `out`.
    pub fn write_to(&self, out: &mut BytesMut) {
        if let Some(bytes) = &self.encoded {
            out.extend_from_slice(bytes);
            return;
        }
        if let Some(comment) = &self.comment {
            write_lines(out, b": ", comment.as_bytes());
        }
        if let Some(event) = &self.event {
            write_line(out, b"event: ", event);
        }
        if let Some(id) = &self.id {
            write_line(out, b"id: ", id);
        }
        if let Some(data) = &self.data {
            write_lines(out, b"data: ", data);
        }
        out.extend_from_slice(b"\n");
    }
}

/// Writes a field of one line, without the characters that would end the line early.
fn write_line(out: &mut BytesMut, name: &[u8], value: &str) {
    out.extend_from_slice(name);
    for part in value.split(['\n', '\r', '\0']) {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b"\n");
}

/// Writes a field with one line per line of its value. Lines end in `\n`, `\r\n` or `\r`.
fn write_lines(out: &mut BytesMut, name: &[u8], mut value: &[u8]) {
    out.reserve(name.len() + value.len() + 2);
    loop {
        out.extend_from_slice(name);
        let Some(end) = value.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            out.extend_from_slice(value);
            out.extend_from_slice(b"\n");
            return;
        };
        out.extend_from_slice(&value[..end]);
        out.extend_from_slice(b"\n");
        let next = match &value[end..] {
            [b'\r', b'\n', ..] => end + 2,
            _ => end + 1,
        };
        value = &value[next..];
    }
}

/// The body of a response that sends the frames of a stream as they arrive.
pub struct SseBody<S> {
    frames: Pin<Box<S>>,
    keepalive: Duration,
    silence: Pin<Box<Sleep>>,
    is_over: bool,
}

/// Creates a channel of frames, and the body that sends them. The body ends when all senders are dropped.
///
/// When the client reads slowly, the channel fills up: the sender waits or drops frames.
pub fn channel(
    capacity: usize,
) -> (
    mpsc::Sender<SseFrame>,
    SseBody<impl Stream<Item = SseFrame> + Send + 'static>,
) {
    let (sender, mut receiver) = mpsc::channel(capacity);
    let frames = stream::poll_fn(move |cx| receiver.poll_recv(cx));
    (sender, SseBody::new(frames))
}

impl<S: Stream<Item = SseFrame>> SseBody<S> {
    /// Creates a body that sends the frames of a stream.
    pub fn new(frames: S) -> Self {
        Self {
            frames: Box::pin(frames),
            keepalive: KEEPALIVE,
            silence: Box::pin(sleep(KEEPALIVE)),
            is_over: false,
        }
    }

    /// Changes the period of silence before `: keepalive` is sent.
    pub fn with_keepalive(mut self, keepalive: Duration) -> Self {
        self.keepalive = keepalive;
        self.restart_silence();
        self
    }

    fn restart_silence(&mut self) {
        self.silence.as_mut().reset(Instant::now() + self.keepalive);
    }

    /// Collects all frames that are ready, up to the size of a batch. A frame that is ready alone is not
    /// copied.
    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let first = match ready!(self.poll_frames(cx)) {
            Some(frame) => frame.encode(),
            None => return Poll::Ready(None),
        };
        let mut batch = BytesMut::new();
        while first.len().max(batch.len()) < BATCH {
            let Poll::Ready(Some(frame)) = self.poll_frames(cx) else {
                break;
            };
            if batch.is_empty() {
                batch.extend_from_slice(&first);
            }
            frame.write_to(&mut batch);
        }
        let is_alone = batch.is_empty();
        Poll::Ready(Some(if is_alone { first } else { batch.freeze() }))
    }

    fn poll_frames(&mut self, cx: &mut Context<'_>) -> Poll<Option<SseFrame>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let frame = ready!(self.frames.as_mut().poll_next(cx));
        self.is_over = frame.is_none();
        Poll::Ready(frame)
    }
}

impl<S: Stream<Item = SseFrame>> http_body::Body for SseBody<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let batch = match this.poll_batch(cx) {
            Poll::Ready(batch) => batch,
            Poll::Pending => {
                ready!(this.silence.as_mut().poll(cx));
                Some(Bytes::from_static(b": keepalive\n\n"))
            }
        };
        this.restart_silence();
        Poll::Ready(batch.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

impl<S: Stream<Item = SseFrame> + Send + 'static> IntoResponse for SseBody<S> {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::new(self));
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // Makes nginx and compatible proxies forward every write at once.
        headers.insert(
            HeaderName::from_static("x-accel-buffering"),
            HeaderValue::from_static("no"),
        );
        response
    }
}

impl<S> fmt::Debug for SseBody<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseBody")
            .field("keepalive", &self.keepalive)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
