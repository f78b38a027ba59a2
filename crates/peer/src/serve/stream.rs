//! Handoffs and cards on streams: what a peer sends goes to the [`Host`], and what comes of it back. One task per
//! stream owns it; the loops that take streams do nothing but give permits.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use jackfield_kit::tasks::Tasks;
use libp2p::futures::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::timeout;

use super::{Answer, Frames, Host, Piece, Way, Work};
use crate::wire::{PeerErrorBody, frame::FrameWriter};
use crate::{
    exchange::{self, ReadTrouble, WriteTrouble},
    limits,
    node::Node,
    origin::Origin,
    permits::{Kind, Permits, TooMany},
    protocol::{CARD, HANDOFF, HANDOFF_STREAM},
    streams::{Inbound, Incoming},
};

/// How often it is looked whether a peer that closed its side is still there: nobody waits longer for a cancel.
const LOOK: Duration = Duration::from_secs(1);

/// Serves cards and handoffs to the peers of a node, until it stops. Who accepts these protocols already goes on.
pub fn serve_peers<H: Host>(node: &Node, host: &H, tasks: &Tasks) {
    let permits = Permits::new();
    for (protocol, way) in [(HANDOFF, Way::Plain), (HANDOFF_STREAM, Way::Framed)] {
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

/// Gives the host's card to peers that open a stream for it.
async fn serve_cards<H: Host>(mut incoming: Incoming, host: H, permits: Permits, tasks: Tasks) {
    while let Some(Inbound {
        peer,
        source,
        origin,
        mut stream,
        ..
    }) = incoming.next().await
    {
        let permit = permits.take(peer, source, Kind::Card);
        let host = host.clone();
        tasks.spawn(async move {
            let outcome = match permit {
                Err(why) => refuse(&mut stream, why, Way::Plain).await,
                // What a peer writes here, and some do, is nothing to wait for.
                Ok(_permit) => {
                    let card = host.card(&peer.to_string(), origin).await;
                    exchange::answer(&mut stream, card.as_bytes()).await
                }
            };
            note(outcome);
        });
    }
}

/// Takes the handoffs of peers.
async fn serve_handoffs<H: Host>(
    mut incoming: Incoming,
    way: Way,
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
        let permit = permits.take(peer, source, Kind::Handoff);
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

/// Takes one handoff. A stream that is reset cancels the work; dropping the stream is how we reset one.
pub async fn hand_off<S, H>(
    stream: &mut S,
    host: &H,
    peer: &str,
    origin: Origin,
    way: Way,
) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Host,
{
    let request = match exchange::read_json(stream, host.limits()).await {
        Ok(request) => request,
        Err(ReadTrouble::Refused(fault)) => return tell(stream, &fault.to_body(), way).await,
        Err(trouble @ ReadTrouble::TooSlow) => {
            return tell(stream, &PeerErrorBody::new(trouble.to_string(), 504), way).await;
        }
        Err(ReadTrouble::Broken(error)) => return Err(WriteTrouble::Broken(error)),
    };
    let mut listening = Listening::default();
    let answer = tokio::select! {
        answer = host.answer(peer, origin, &request, way) => answer,
        () = listening.until_reset(stream) => return Ok(()),
    };
    match answer {
        Answer::Whole(body) => exchange::answer(stream, &body).await,
        Answer::Frames(frames) => write_frames(stream, *frames, listening).await,
        Answer::Reset => Ok(()),
    }
}

async fn write_frames<S, W>(
    stream: &mut S,
    mut frames: Frames<W>,
    mut listening: Listening,
) -> Result<(), WriteTrouble>
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
            Some(Piece::Lines(lines)) => exchange::write(stream, lines.as_bytes()).await?,
            Some(Piece::Reset) => return Ok(()),
            None => return exchange::finish(stream).await,
        }
    }
}

/// Waits until a peer begins to ask: a busy one may not look at its stream before, and would miss the end of an answer
/// that is there already.
async fn begun<S>(stream: &mut S)
where
    S: AsyncRead + Unpin,
{
    let mut piece = [0; 1024];
    // However that ends, the peer is told.
    drop(timeout(limits::FIRST_BYTE, stream.read(&mut piece)).await);
}

/// Too much at once: said, not dropped.
async fn refuse<S>(stream: &mut S, why: TooMany, way: Way) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let error = PeerErrorBody::new(format!("{why}; try again later"), 429);
    tell(stream, &error, way).await
}

/// An error before there is a job, in the shape of all others.
async fn tell<S>(stream: &mut S, error: &PeerErrorBody, way: Way) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut told = String::new();
    match way {
        Way::Plain => told = error.to_json(),
        Way::Framed => FrameWriter::default().error(error, &mut told),
    }
    exchange::answer(stream, told.as_bytes()).await
}

fn note(outcome: Result<(), WriteTrouble>) {
    if let Err(error) = outcome {
        tracing::debug!(%error, "an answer did not get to its peer");
    }
}

/// What is still heard of a peer whose request is complete.
#[derive(Debug)]
struct Listening {
    left: usize,
    has_ended: bool,
}

impl Default for Listening {
    fn default() -> Self {
        Self {
            left: limits::LINGER_BYTES,
            has_ended: false,
        }
    }
}

impl Listening {
    /// Ends when the peer resets the stream. That it closes its side is no reset: it waits for the answer. Both look the
    /// same to who reads; who writes is told, so then it is looked at from that side, at once and every second.
    /// Cancel-safe.
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

/// Whether nothing can be written any more. Writing nothing tells it, and is nothing to the peer.
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
