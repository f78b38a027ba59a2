//! The exchange of bytes on a stream. The protocol frames nothing, some peers never close their side, and
//! some read only once; these functions follow rules that work with all of them. Every wait has a deadline,
//! and one task owns a stream.

mod body;
mod outgoing;

use std::{future::poll_fn, io, pin::Pin, time::Duration};

use libp2p::futures::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use self::{
    body::{BodyKind, BodyTooLarge, ReplyBody},
    outgoing::OutgoingRequest,
};
use crate::limits;
use crate::wire::{BodyLimits, JsonEnd, PeerInputError};

/// Bytes per read: a frame of the multiplexer.
pub(crate) const PIECE: usize = 16 * 1024;

/// Why a request could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StreamReadError {
    /// The request is too large, too deep or not JSON. The peer gets an error.
    #[error("{0}")]
    Refused(PeerInputError),
    /// The request did not arrive in time. The peer gets an error.
    #[error("the request did not come in time")]
    TooSlow,
    /// The stream broke, so no error can be sent.
    #[error("the stream broke")]
    Broken(#[source] io::Error),
}

/// Why an answer did not reach the peer.
#[derive(Debug, thiserror::Error)]
pub enum StreamWriteError {
    /// The peer does not read.
    #[error("the peer does not read")]
    TooSlow,
    /// The stream broke.
    #[error("the stream broke")]
    Broken(#[source] io::Error),
}

/// Why a peer gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The answer is larger than this many bytes.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The answer did not arrive in time.
    #[error("the answer did not come in time")]
    TooSlow,
    /// The stream broke before the answer was complete.
    #[error("the stream broke before the answer was complete")]
    Broken(#[source] io::Error),
}

/// Reads one request: until the peer closes its side, or until one JSON value is complete, because some peers
/// never close.
pub async fn read_json<S>(stream: &mut S, limits: BodyLimits) -> Result<Vec<u8>, StreamReadError>
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
            .map_err(|_| StreamReadError::TooSlow)?
            .map_err(StreamReadError::Broken)?;
        if read == 0 {
            end.finish().map_err(StreamReadError::Refused)?;
            return Ok(request);
        }
        let came = &piece[..read];
        let is_complete = end.feed(came).map_err(StreamReadError::Refused)?;
        request.extend_from_slice(came);
        if is_complete {
            return Ok(request);
        }
    }
}

/// Writes an answer and ends the stream in a way that every peer understands: all bytes, a moment for the
/// peer to look, our end, then the peer's end. No part of the answer is lost to a reset.
pub async fn answer<S>(stream: &mut S, bytes: &[u8]) -> Result<(), StreamWriteError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    write(stream, bytes).await?;
    finish(stream).await
}

/// Writes and flushes; the stream stays open. An answer in pieces is one call per piece and then [`finish`].
pub async fn write<S>(stream: &mut S, bytes: &[u8]) -> Result<(), StreamWriteError>
where
    S: AsyncWrite + Unpin,
{
    let mut rest = bytes;
    let all = async {
        while !rest.is_empty() {
            let written = in_time(stream.write(rest)).await?;
            if written == 0 {
                return Err(StreamWriteError::Broken(io::ErrorKind::WriteZero.into()));
            }
            rest = &rest[written..];
        }
        in_time(stream.flush()).await
    };
    // A peer that takes a byte now and then counts as not reading.
    let most = limits::WRITE_STUCK + limits::SLOWEST * (bytes.len() / PIECE) as u32;
    timeout(most, all)
        .await
        .unwrap_or(Err(StreamWriteError::TooSlow))
}

/// Ends a stream after the last byte, as [`answer`] does. A peer that keeps sending is not waited for; the
/// caller resets the stream by dropping it.
pub async fn finish<S>(stream: &mut S) -> Result<(), StreamWriteError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut left = limits::LINGER_BYTES;
    let rest = discard(stream, &mut left, limits::LINGER, limits::BEFORE_FIN).await;
    if rest == Drained::Endless {
        // Our side stays open, so dropping the stream resets it. Nothing else stops a peer that ignores the
        // answer.
        return Ok(());
    }
    in_time(stream.close()).await?;
    if rest != Drained::Ended {
        let rest = discard(stream, &mut left, limits::LINGER, limits::LINGER).await;
        tracing::debug!(?rest, "an answered stream is over");
    }
    Ok(())
}

/// Sends a request, closes our side (some peers answer only then) and reads the whole answer, all within
/// `wait`.
pub async fn ask<S>(
    stream: &mut S,
    request: &[u8],
    cap: usize,
    wait: Duration,
) -> Result<Vec<u8>, AskError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let until = Instant::now() + wait;
    let mut outgoing = OutgoingRequest::new(request, true);
    let mut answer = ReplyBody::new(cap, limits::WORDS_SILENCE);
    let mut piece = vec![0; PIECE];
    loop {
        let silence = answer
            .is_closed()
            .then(|| Instant::now() + limits::AFTER_JSON);
        let patience = silence.map_or(until, |silence| silence.min(until));
        let more = poll_fn(|cx| {
            let mut stream = Pin::new(&mut *stream);
            outgoing.poll(stream.as_mut(), cx);
            stream.poll_read(cx, &mut piece)
        });
        match timeout_at(patience, more).await {
            Ok(Ok(0)) => {
                let trouble = outgoing.take_trouble();
                let trouble = trouble.filter(|_| answer.bytes().is_empty());
                return match trouble {
                    Some(error) => Err(AskError::Broken(error)),
                    None => Ok(answer.into_bytes()),
                };
            }
            Ok(Ok(read)) => {
                let pushed = answer.push(&piece[..read]);
                pushed.map_err(|BodyTooLarge(cap)| AskError::TooLarge(cap))?;
            }
            // Some peers reset the stream, or leave it open, after the complete answer.
            Ok(Err(_)) | Err(_) if answer.is_closed() => return Ok(answer.into_bytes()),
            Ok(Err(error)) => return Err(AskError::Broken(error)),
            Err(_) if Instant::now() >= until => return Err(AskError::TooSlow),
            Err(_) => {}
        }
    }
}

/// How reading the peer's remaining bytes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drained {
    /// The peer closed its side.
    Ended,
    /// The peer is silent, or sends little.
    Quiet,
    /// The peer keeps sending.
    Endless,
}

/// Reads and discards until the peer closes its side or is silent for `silence`, or until `wait` or the bytes
/// are used up.
async fn discard<S>(stream: &mut S, left: &mut usize, wait: Duration, silence: Duration) -> Drained
where
    S: AsyncRead + Unpin,
{
    let until = Instant::now() + wait;
    let mut piece = [0; 1024];
    while *left > 0 {
        let most = piece.len().min(*left);
        let patience = until.min(Instant::now() + silence);
        match timeout_at(patience, stream.read(&mut piece[..most])).await {
            Ok(Ok(0) | Err(_)) => return Drained::Ended,
            Ok(Ok(read)) => *left -= read,
            Err(_) => return Drained::Quiet,
        }
    }
    Drained::Endless
}

async fn in_time<T>(io: impl Future<Output = io::Result<T>>) -> Result<T, StreamWriteError> {
    timeout(limits::WRITE_STUCK, io)
        .await
        .map_err(|_| StreamWriteError::TooSlow)?
        .map_err(StreamWriteError::Broken)
}

#[cfg(test)]
mod tests;
