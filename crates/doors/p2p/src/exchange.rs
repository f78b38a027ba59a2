//! How bytes are exchanged on a stream: nothing is framed, some peers never close their side, some read only once. These
//! functions are the rules that all of them can live with. Every wait has a deadline, and one task owns a stream.

use std::{future::poll_fn, io, pin::Pin, task::Poll, time::Duration};

use jackfield_wire::p2p::{Fault, JsonEnd, Limits};
use libp2p::futures::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits;

/// How much is read at once: a frame of the multiplexer.
const PIECE: usize = 16 * 1024;

/// Why there is no request.
#[derive(Debug, thiserror::Error)]
pub enum ReadTrouble {
    /// It is too large, too deep or no JSON; the peer is told.
    #[error("{0}")]
    Refused(Fault),
    /// It did not come in time; the peer is told.
    #[error("the request did not come in time")]
    TooSlow,
    /// The stream broke; there is nobody to tell.
    #[error("the stream broke")]
    Broken(#[source] io::Error),
}

/// Why an answer did not get to the peer.
#[derive(Debug, thiserror::Error)]
pub enum WriteTrouble {
    /// The peer does not read.
    #[error("the peer does not read")]
    TooSlow,
    /// The stream broke.
    #[error("the stream broke")]
    Broken(#[source] io::Error),
}

/// Why there is no answer from a peer.
#[derive(Debug, thiserror::Error)]
pub enum AskTrouble {
    /// It is larger than was allowed.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// It did not come in time.
    #[error("the answer did not come in time")]
    TooSlow,
    /// The stream broke before the answer was complete.
    #[error("the stream broke before the answer was complete")]
    Broken(#[source] io::Error),
}

/// Reads one request: until the peer closes its side, or until one JSON value is complete, since some never close.
pub async fn read_json<S>(stream: &mut S, limits: Limits) -> Result<Vec<u8>, ReadTrouble>
where
    S: AsyncRead + Unpin,
{
    let begun = Instant::now();
    let mut end = JsonEnd::new(limits);
    let mut request = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let wait = if request.is_empty() {
            limits::FIRST_BYTE
        } else {
            limits::REQUEST
        };
        let read = timeout_at(begun + wait, stream.read(&mut piece))
            .await
            .map_err(|_| ReadTrouble::TooSlow)?
            .map_err(ReadTrouble::Broken)?;
        if read == 0 {
            end.finish().map_err(ReadTrouble::Refused)?;
            return Ok(request);
        }
        let came = &piece[..read];
        let is_complete = end.feed(came).map_err(ReadTrouble::Refused)?;
        request.extend_from_slice(came);
        if is_complete {
            return Ok(request);
        }
    }
}

/// Answers and ends a stream in the way that every peer understands: all bytes, a moment for the peer to look, our end,
/// and then the peer's end, so that nothing of the answer is lost to a reset.
pub async fn answer<S>(stream: &mut S, bytes: &[u8]) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    write(stream, bytes).await?;
    finish(stream).await
}

/// Writes and flushes; the stream stays open. For answers that come in pieces, each of them with this, then [`finish`].
pub async fn write<S>(stream: &mut S, bytes: &[u8]) -> Result<(), WriteTrouble>
where
    S: AsyncWrite + Unpin,
{
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = in_time(stream.write(rest)).await?;
        if written == 0 {
            return Err(WriteTrouble::Broken(io::ErrorKind::WriteZero.into()));
        }
        rest = &rest[written..];
    }
    in_time(stream.flush()).await
}

/// Ends a stream on which all is said, as [`answer`] does.
pub async fn finish<S>(stream: &mut S) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut left = limits::LINGER_BYTES;
    let mut has_ended = discard(stream, &mut left, limits::BEFORE_FIN).await;
    in_time(stream.close()).await?;
    if !has_ended {
        has_ended = discard(stream, &mut left, limits::LINGER).await;
    }
    if !has_ended {
        tracing::debug!("the peer did not close its side of an answered stream");
    }
    Ok(())
}

/// Sends a request and closes our side, without which some peers never answer. The answer is read from the stream.
pub async fn send<S>(stream: &mut S, request: &[u8]) -> Result<(), WriteTrouble>
where
    S: AsyncWrite + Unpin,
{
    write(stream, request).await?;
    in_time(stream.close()).await
}

/// Sends a request, closes our side and reads the whole answer, all of it within `wait`. It is read while the request is
/// still being written, so that a peer that refuses a large one early is heard.
pub async fn ask<S>(
    stream: &mut S,
    request: &[u8],
    cap: usize,
    wait: Duration,
) -> Result<Vec<u8>, AskTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut answer = Vec::new();
    let ended = timeout(wait, exchange(stream, request, &mut answer, cap)).await;
    match ended.unwrap_or(Err(AskTrouble::TooSlow)) {
        Ok(()) => Ok(answer),
        // Some peers reset a stream instead of closing it, or leave it open, after they have said everything.
        Err(AskTrouble::Broken(_) | AskTrouble::TooSlow) if is_complete(&answer) => Ok(answer),
        Err(trouble) => Err(trouble),
    }
}

/// What is still to be done for our side of the stream.
#[derive(Clone, Copy)]
enum Saying {
    Write,
    Flush,
    Close,
    Nothing,
}

async fn exchange<S>(
    stream: &mut S,
    mut request: &[u8],
    answer: &mut Vec<u8>,
    cap: usize,
) -> Result<(), AskTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut saying = Saying::Write;
    let mut broken = None;
    let mut piece = vec![0; PIECE];
    poll_fn(|cx| {
        let mut stream = Pin::new(&mut *stream);
        loop {
            let said = match saying {
                Saying::Write if request.is_empty() => {
                    saying = Saying::Flush;
                    continue;
                }
                Saying::Write => match stream.as_mut().poll_write(cx, request) {
                    Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(written)) => {
                        request = &request[written..];
                        continue;
                    }
                    other => other.map_ok(|_| Saying::Flush),
                },
                Saying::Flush => stream.as_mut().poll_flush(cx).map_ok(|()| Saying::Close),
                Saying::Close => stream.as_mut().poll_close(cx).map_ok(|()| Saying::Nothing),
                Saying::Nothing => break,
            };
            match said {
                Poll::Ready(Ok(next)) => saying = next,
                // The peer may have answered before it stopped to listen.
                Poll::Ready(Err(error)) => {
                    broken = Some(error);
                    saying = Saying::Nothing;
                }
                Poll::Pending => break,
            }
        }
        loop {
            match stream.as_mut().poll_read(cx, &mut piece) {
                Poll::Ready(Ok(0)) => {
                    let error = broken.take().filter(|_| answer.is_empty());
                    return Poll::Ready(
                        error.map_or(Ok(()), |error| Err(AskTrouble::Broken(error))),
                    );
                }
                Poll::Ready(Ok(read)) => {
                    if answer.len() + read > cap {
                        return Poll::Ready(Err(AskTrouble::TooLarge(cap)));
                    }
                    answer.extend_from_slice(&piece[..read]);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(AskTrouble::Broken(error))),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// Whether this is one whole JSON value that nothing could make longer.
fn is_complete(bytes: &[u8]) -> bool {
    let mut end = JsonEnd::new(Limits {
        max_bytes: bytes.len(),
        ..Limits::default()
    });
    matches!(end.feed(bytes), Ok(true))
}

/// Reads and forgets until the peer closes its side; whether it did within `wait` and the bytes that are left.
async fn discard<S>(stream: &mut S, left: &mut usize, wait: Duration) -> bool
where
    S: AsyncRead + Unpin,
{
    let until = Instant::now() + wait;
    let mut piece = [0; 1024];
    while *left > 0 {
        let most = piece.len().min(*left);
        match timeout_at(until, stream.read(&mut piece[..most])).await {
            Ok(Ok(0) | Err(_)) => return true,
            Ok(Ok(read)) => *left -= read,
            Err(_) => return false,
        }
    }
    false
}

async fn in_time<T>(io: impl Future<Output = io::Result<T>>) -> Result<T, WriteTrouble> {
    timeout(limits::WRITE_STUCK, io)
        .await
        .map_err(|_| WriteTrouble::TooSlow)?
        .map_err(WriteTrouble::Broken)
}

#[cfg(test)]
mod tests;
