//! Handoffs and cards on streams: what a peer sends goes to the [`Reception`], and what comes of it back. One task per
//! stream owns it; the loops that take streams do nothing but give permits.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use jackfield_kit::tasks::Tasks;
use jackfield_wire::p2p::{ErrorBody, Limits};
use libp2p::futures::{AsyncRead, AsyncReadExt as _, AsyncWrite};

use super::{Answer, Frames, Piece, Reception, Way};
use crate::{
    exchange::{self, ReadTrouble, WriteTrouble},
    limits,
    permits::{Kind, Permits, TooMany},
    streams::{Inbound, Incoming},
};

/// How often it is looked whether a peer that closed its side is still there: nobody waits longer for a cancel.
const LOOK: Duration = Duration::from_secs(1);

/// Gives the hub's card to peers that open a stream for it, until the node stops.
pub async fn serve_cards(
    mut incoming: Incoming,
    reception: Reception,
    permits: Permits,
    tasks: Tasks,
) {
    while let Some(Inbound {
        peer,
        source,
        mut stream,
        ..
    }) = incoming.next().await
    {
        let permit = permits.take(peer, source, Kind::Card);
        let reception = reception.clone();
        tasks.spawn(async move {
            let outcome = match permit {
                Err(why) => refuse(&mut stream, why).await,
                // What a peer writes here, and some do, is nothing to wait for.
                Ok(_permit) => {
                    let card = reception.card(&peer.to_string());
                    exchange::answer(&mut stream, card.as_bytes()).await
                }
            };
            note(outcome);
        });
    }
}

/// Takes the handoffs of peers, until the node stops.
pub async fn serve_handoffs(
    mut incoming: Incoming,
    way: Way,
    reception: Reception,
    permits: Permits,
    tasks: Tasks,
) {
    while let Some(Inbound {
        peer,
        source,
        mut stream,
        ..
    }) = incoming.next().await
    {
        let permit = permits.take(peer, source, Kind::Handoff);
        let reception = reception.clone();
        tasks.spawn(async move {
            let outcome = match permit {
                Err(why) => refuse(&mut stream, why).await,
                Ok(_permit) => hand_off(&mut stream, &reception, &peer.to_string(), way).await,
            };
            note(outcome);
        });
    }
}

/// Takes one handoff. A stream that is reset cancels the work; dropping the stream is how we reset one.
pub(crate) async fn hand_off<S>(
    stream: &mut S,
    reception: &Reception,
    peer: &str,
    way: Way,
) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let limits = Limits {
        max_depth: reception.hub().limits().json_depth,
        ..Limits::default()
    };
    let request = match exchange::read_json(stream, limits).await {
        Ok(request) => request,
        Err(ReadTrouble::Refused(fault)) => return tell(stream, &fault.to_body()).await,
        Err(trouble @ ReadTrouble::TooSlow) => {
            return tell(stream, &ErrorBody::new(trouble.to_string(), 504)).await;
        }
        Err(ReadTrouble::Broken(error)) => return Err(WriteTrouble::Broken(error)),
    };
    let mut listening = Listening::default();
    let answer = tokio::select! {
        answer = reception.answer(peer, &request, way) => answer,
        () = listening.until_reset(stream) => return Ok(()),
    };
    match answer {
        Answer::Whole(body) => exchange::answer(stream, &body).await,
        Answer::Frames(frames) => write_frames(stream, frames, listening).await,
        Answer::Reset => Ok(()),
    }
}

async fn write_frames<S>(
    stream: &mut S,
    mut frames: Frames,
    mut listening: Listening,
) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
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

/// Too much at once: said, not dropped.
async fn refuse<S>(stream: &mut S, why: TooMany) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    tell(
        stream,
        &ErrorBody::new(format!("{why}; try again later"), 429),
    )
    .await
}

async fn tell<S>(stream: &mut S, error: &ErrorBody) -> Result<(), WriteTrouble>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    exchange::answer(stream, error.to_json().as_bytes()).await
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
