//! Cards and handoffs on streams: requests go to the [`Host`], and its answers back. One task owns each
//! stream; the accepting loops only take permits.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use jackfield_kit::tasks::Tasks;
use libp2p::futures::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::timeout;

use super::{FrameOutput, Frames, HandoffProtocol, HandoffReply, Host, Work};
use crate::wire::{PeerErrorBody, frame::FrameWriter};
use crate::{
    exchange::{self, StreamReadError, StreamWriteError},
    limits,
    node::Node,
    origin::Origin,
    permits::{ExchangeKind, LimitReached, Permits},
    protocol::{CARD, HANDOFF, HANDOFF_STREAM},
    streams::{Inbound, Incoming},
};

/// Interval of checks whether a peer that closed its side is still there: the longest delay of a cancel.
const LOOK: Duration = Duration::from_secs(1);

/// Serves cards and handoffs to the peers of a node until the node stops. Protocols that are already accepted
/// are left alone.
pub fn serve_peers<H: Host>(node: &Node, host: &H, tasks: &Tasks) {
    let permits = Permits::new();
    for (protocol, way) in [
        (HANDOFF, HandoffProtocol::Plain),
        (HANDOFF_STREAM, HandoffProtocol::Framed),
    ] {
        if let Ok(incoming) = node.accept(protocol) {
            let (host, permits) = (host.clone(), permits.clone());
            tasks.spawn(serve_handoffs(incoming, way, host, permits, tasks.clone()));
        }
    }
    if let Ok(incoming) = node.accept(CARD) {
        let host = host.clone();
        tasks.spawn(serve_cards(incoming, host, permits, tasks.clone()));
    }
}

/// Sends the host's card on every card stream.
async fn serve_cards<H: Host>(mut incoming: Incoming, host: H, permits: Permits, tasks: Tasks) {
    while let Some(Inbound {
        peer,
        source,
        origin,
        mut stream,
        ..
    }) = incoming.next().await
    {
        let permit = permits.take(peer, source, ExchangeKind::Card);
        let host = host.clone();
        tasks.spawn(async move {
            let outcome = match permit {
                Err(why) => refuse(&mut stream, why, HandoffProtocol::Plain).await,
                // Some peers write on this stream; their bytes are not waited for.
                Ok(_permit) => {
                    let card = host.card(&peer.to_string(), origin).await;
                    exchange::answer(&mut stream, card.as_bytes()).await
                }
            };
            note(outcome);
        });
    }
}

/// Accepts the handoffs of peers.
async fn serve_handoffs<H: Host>(
    mut incoming: Incoming,
    way: HandoffProtocol,
    host: H,
    permits: Permits,
    tasks: Tasks,
) {
    while let Some(Inbound {
        peer,
        source,
        origin,
        mut stream,
        ..
    }) = incoming.next().await
    {
        let permit = permits.take(peer, source, ExchangeKind::Handoff);
        let host = host.clone();
        tasks.spawn(async move {
            let outcome = match permit {
                Err(why) => {
                    begun(&mut stream).await;
                    refuse(&mut stream, why, way).await
                }
                Ok(_permit) => hand_off(&mut stream, &host, &peer.to_string(), origin, way).await,
            };
            note(outcome);
        });
    }
}

/// Serves one handoff. A reset by the peer cancels the work; dropping the stream is our reset.
pub async fn hand_off<S, H>(
    stream: &mut S,
    host: &H,
    peer: &str,
    origin: Origin,
    way: HandoffProtocol,
) -> Result<(), StreamWriteError>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Host,
{
    let request = match exchange::read_json(stream, host.limits()).await {
        Ok(request) => request,
        Err(StreamReadError::Refused(fault)) => return tell(stream, &fault.to_body(), way).await,
        Err(trouble @ StreamReadError::TooSlow) => {
            return tell(stream, &PeerErrorBody::new(trouble.to_string(), 504), way).await;
        }
        Err(StreamReadError::Broken(error)) => return Err(StreamWriteError::Broken(error)),
    };
    let mut listening = ResetWatch::default();
    let answer = tokio::select! {
        answer = host.answer(peer, origin, &request, way) => answer,
        () = listening.until_reset(stream) => return Ok(()),
    };
    match answer {
        HandoffReply::Whole(body) => exchange::answer(stream, &body).await,
        HandoffReply::Frames(frames) => write_frames(stream, *frames, listening).await,
        HandoffReply::Reset => Ok(()),
    }
}

async fn write_frames<S, W>(
    stream: &mut S,
    mut frames: Frames<W>,
    mut listening: ResetWatch,
) -> Result<(), StreamWriteError>
where
    S: AsyncRead + AsyncWrite + Unpin,
    W: Work,
{
    loop {
        let piece = {
            let next = pin!(frames.next());
            tokio::select! {
                piece = next => piece,
                () = listening.until_reset(stream) => return Ok(()),
            }
        };
        match piece {
            Some(FrameOutput::Lines(lines)) => exchange::write(stream, lines.as_bytes()).await?,
            Some(FrameOutput::Reset) => return Ok(()),
            None => return exchange::finish(stream).await,
        }
    }
}

/// Waits until the peer begins to write. A busy peer may not look at its stream before, and would miss the
/// end of an answer that is already there.
async fn begun<S>(stream: &mut S)
where
    S: AsyncRead + Unpin,
{
    let mut piece = [0; 1024];
    // The peer gets its answer in any case.
    drop(timeout(limits::FIRST_BYTE, stream.read(&mut piece)).await);
}

/// Refuses an exchange above the limits ([`LimitReached`]), with an error instead of a reset.
async fn refuse<S>(
    stream: &mut S,
    why: LimitReached,
    way: HandoffProtocol,
) -> Result<(), StreamWriteError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let error = PeerErrorBody::new(format!("{why}; try again later"), 429);
    tell(stream, &error, way).await
}

/// Sends an error that occurred before any work, in the shape of the protocol.
async fn tell<S>(
    stream: &mut S,
    error: &PeerErrorBody,
    way: HandoffProtocol,
) -> Result<(), StreamWriteError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut told = String::new();
    match way {
        HandoffProtocol::Plain => told = error.to_json(),
        HandoffProtocol::Framed => FrameWriter::default().error(error, &mut told),
    }
    exchange::answer(stream, told.as_bytes()).await
}

fn note(outcome: Result<(), StreamWriteError>) {
    if let Err(error) = outcome {
        tracing::debug!(%error, "an answer did not get to its peer");
    }
}

/// Watches the peer's side of a stream after the request is complete.
#[derive(Debug)]
struct ResetWatch {
    left: usize,
    has_ended: bool,
}

impl Default for ResetWatch {
    fn default() -> Self {
        Self {
            left: limits::LINGER_BYTES,
            has_ended: false,
        }
    }
}

impl ResetWatch {
    /// Resolves when the peer resets the stream. A closed side is no reset: the peer waits for the answer.
    /// Reading cannot tell the two apart, but writing can, so after an end the write side is checked at once
    /// and every second. Cancel-safe.
    async fn until_reset<S>(&mut self, stream: &mut S)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut piece = [0; 1024];
        while !self.has_ended && self.left > 0 {
            match stream.read(&mut piece).await {
                Ok(0) => {
                    self.has_ended = true;
                    if is_reset(stream).await {
                        return;
                    }
                }
                Ok(read) => self.left = self.left.saturating_sub(read),
                Err(_) => return,
            }
        }
        loop {
            tokio::time::sleep(LOOK).await;
            if is_reset(stream).await {
                return;
            }
        }
    }
}

/// Returns whether writing is impossible. An empty write tests that and sends no bytes.
async fn is_reset<S>(stream: &mut S) -> bool
where
    S: AsyncWrite + Unpin,
{
    poll_fn(|cx| {
        let written = Pin::new(&mut *stream).poll_write(cx, &[]);
        Poll::Ready(matches!(written, Poll::Ready(Err(_))))
    })
    .await
}
