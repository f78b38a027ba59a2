//! How bytes are exchanged on a stream: nothing is framed, some peers never close their side, some read only once. These
//! functions are the rules that all of them can live with. Every wait has a deadline, and one task owns a stream.

mod body;
mod outgoing;

use std::{future::poll_fn, io, pin::Pin, time::Duration};

use libp2p::futures::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use self::{
    body::{Body, Kind, TooLarge},
    outgoing::Outgoing,
};
use crate::limits;
use crate::wire::{BodyLimits, JsonEnd, PeerInputError};

/// How much is read at once: a frame of the multiplexer.
pub(crate) const PIECE: usize = 16 * 1024;

/// Why there is no request.
#[derive(Debug, thiserror::Error)]
pub enum ReadTrouble {
    /// It is too large, too deep or no JSON; the peer is told.
    #[error("{0}")]
    Refused(PeerInputError),
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
pub async fn read_json<S>(stream: &mut S, limits: BodyLimits) -> Result<Vec<u8>, ReadTrouble>
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
    let all = async {
        while !rest.is_empty() {
            let written = in_time(stream.write(rest)).await?;
            if written == 0 {
                return Err(WriteTrouble::Broken(io::ErrorKind::WriteZero.into()));
            }
            rest = &rest[written..];
        }
        in_time(stream.flush()).await
    };
    // A peer that takes a byte now and then is no reader either.
    let most = limits::WRITE_STUCK + limits::SLOWEST * (bytes.len() / PIECE) as u32;
    timeout(most, all)
        .await
        .unwrap_or(Err(WriteTrouble::TooSlow))
}

/// Ends a stream on which all is said, as [`answer`] does. A peer that goes on and on is not waited for: whoever drops the
/// stream then resets it.
pub async fn finish<S>(stream: &mut S) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut left = limits::LINGER_BYTES;
    let rest = discard(stream, &mut left, limits::LINGER, limits::BEFORE_FIN).await;
    if rest == Rest::Endless {
        // Without our end, dropping the stream resets it: nothing else stops a peer that does not listen.
        return Ok(());
    }
    in_time(stream.close()).await?;
    if rest != Rest::Ended {
        let rest = discard(stream, &mut left, limits::LINGER, limits::LINGER).await;
        tracing::debug!(?rest, "an answered stream is over");
    }
    Ok(())
}

/// Sends a request, closes our side, without which some peers never answer, and reads the whole answer, all of it within
/// `wait`.
pub async fn ask<S>(
    stream: &mut S,
    request: &[u8],
    cap: usize,
    wait: Duration,
) -> Result<Vec<u8>, AskTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let until = Instant::now() + wait;
    let mut outgoing = Outgoing::new(request, true);
    let mut answer = Body::new(cap, limits::WORDS_SILENCE);
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
                    Some(error) => Err(AskTrouble::Broken(error)),
                    None => Ok(answer.into_bytes()),
                };
            }
            Ok(Ok(read)) => {
                let pushed = answer.push(&piece[..read]);
                pushed.map_err(|TooLarge(cap)| AskTrouble::TooLarge(cap))?;
            }
            // Some peers reset a stream instead of closing it, or leave it open, after they have said everything.
            Ok(Err(_)) | Err(_) if answer.is_closed() => return Ok(answer.into_bytes()),
            Ok(Err(error)) => return Err(AskTrouble::Broken(error)),
            Err(_) if Instant::now() >= until => return Err(AskTrouble::TooSlow),
            Err(_) => {}
        }
    }
}

/// What became of what a peer still had to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It closed its side.
    Ended,
    /// It is silent, or says little.
    Quiet,
    /// There is no end of it.
    Endless,
}

/// Reads and forgets until the peer closes its side, is silent for so long, or `wait` or the bytes are used up.
async fn discard<S>(stream: &mut S, left: &mut usize, wait: Duration, silence: Duration) -> Rest
where
    S: AsyncRead + Unpin,
{
    let until = Instant::now() + wait;
    let mut piece = [0; 1024];
    while *left > 0 {
        let most = piece.len().min(*left);
        let patience = until.min(Instant::now() + silence);
        match timeout_at(patience, stream.read(&mut piece[..most])).await {
            Ok(Ok(0) | Err(_)) => return Rest::Ended,
            Ok(Ok(read)) => *left -= read,
            Err(_) => return Rest::Quiet,
        }
    }
    Rest::Endless
}

async fn in_time<T>(io: impl Future<Output = io::Result<T>>) -> Result<T, WriteTrouble> {
    timeout(limits::WRITE_STUCK, io)
        .await
        .map_err(|_| WriteTrouble::TooSlow)?
        .map_err(WriteTrouble::Broken)
}

#[cfg(test)]
mod tests;
