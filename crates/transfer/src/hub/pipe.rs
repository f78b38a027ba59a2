//! Two bodies connected to each other: data of the sender goes to the receiver, a few pieces at a time. No
//! data is stored, and the size of the archive does not matter. The receiver's body ends cleanly after the
//! last byte and not before: every problem of the sender is an error there.

use std::{
    fmt::Display,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use jackfield_kit::api::{invalid, lifetime::RequestLifetime};
use jackfield_model::{Failure, Reason};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, oneshot},
    time::timeout,
};

/// Maximum number of pieces in transit; each has the size of one read from a socket.
pub(crate) const PIECES: usize = 4;
/// Maximum time without sending or taking data.
pub(crate) const IDLE: Duration = Duration::from_secs(30);

/// The sender's end of the pipe.
#[derive(Debug)]
pub struct ArchiveSender {
    pieces: mpsc::Sender<Bytes>,
    /// Remaining bytes of the archive.
    left: u64,
    /// Resolves when the receiver has taken all data; fails if the receiver left before.
    taken: oneshot::Receiver<()>,
    _permit: OwnedSemaphorePermit,
}

/// The receiver's end of the pipe, used as the response body.
#[derive(Debug)]
pub struct ArchiveReceiver {
    pieces: mpsc::Receiver<Bytes>,
    left: u64,
    taken: Option<oneshot::Sender<()>>,
}

/// Creates an [`ArchiveSender`] and an [`ArchiveReceiver`] for `len` bytes. The permit is held while data comes in.
pub fn pipe(len: u64, permit: OwnedSemaphorePermit) -> (ArchiveSender, ArchiveReceiver) {
    let (sender, receiver) = mpsc::channel(PIECES);
    let (took, taken) = oneshot::channel();
    let inlet = ArchiveSender {
        pieces: sender,
        left: len,
        taken,
        _permit: permit,
    };
    let outlet = ArchiveReceiver {
        pieces: receiver,
        left: len,
        taken: Some(took),
    };
    (inlet, outlet)
}

impl ArchiveSender {
    /// Copies a body up to the last byte of the archive, no more and no less, while the [`RequestLifetime`] holds.
    pub async fn copy_body<E: Display>(
        mut self,
        body: impl Stream<Item = Result<Bytes, E>>,
        lifetime: RequestLifetime,
    ) -> Result<(), Failure> {
        let carrying = async {
            tokio::pin!(body);
            loop {
                let next = tokio::select! {
                    next = timeout(IDLE, body.next()) => next.map_err(|_| idle("came"))?,
                    // A receiver with all data may leave; then only the end of the body is awaited.
                    () = self.pieces.closed(), if self.left > 0 => return Err(receiver_left()),
                };
                match next {
                    Some(Ok(piece)) => self.send_piece(piece).await?,
                    Some(Err(error)) => {
                        return Err(invalid(format!("the body broke off: {error}")));
                    }
                    None => return self.end().await,
                }
            }
        };
        tokio::select! {
            carried = carrying => carried,
            failure = lifetime.ended() => Err(failure),
        }
    }

    async fn send_piece(&mut self, piece: Bytes) -> Result<(), Failure> {
        let Some(left) = self.left.checked_sub(piece.len() as u64) else {
            let text = "the body has more bytes than the offer said; it was cut there";
            return Err(Failure::new(Reason::TooLarge, text));
        };
        self.left = left;
        match timeout(IDLE, self.pieces.send(piece)).await {
            Ok(sent) => sent.map_err(|_| self::receiver_left()),
            Err(_) => Err(idle("was taken")),
        }
    }

    async fn end(self) -> Result<(), Failure> {
        if self.left > 0 {
            let text = format!("the body ended {} bytes before its time", self.left);
            return Err(invalid(text));
        }
        match timeout(IDLE, self.taken).await {
            Ok(taken) => taken.map_err(|_| receiver_left()),
            Err(_) => Err(idle("was taken")),
        }
    }
}

impl ArchiveReceiver {
    /// Returns the number of remaining bytes.
    pub fn bytes_left(&self) -> u64 {
        self.left
    }
}

impl Stream for ArchiveReceiver {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 || self.taken.is_none() {
            return Poll::Ready(None);
        }
        let Some(piece) = ready!(self.pieces.poll_recv(cx)) else {
            self.taken = None;
            return Poll::Ready(Some(Err(io::Error::other("the sender was cut off"))));
        };
        self.left = self.left.saturating_sub(piece.len() as u64);
        if self.left == 0
            && let Some(taken) = self.taken.take()
        {
            // The sender may be gone and needs no notice.
            taken.send(()).ok();
        }
        Poll::Ready(Some(Ok(piece)))
    }
}

fn idle(what: &str) -> Failure {
    let text = format!("nothing of the archive {what} for {} s", IDLE.as_secs());
    Failure::new(Reason::Timeout, text)
}

/// Returns the failure for a receiver that left.
fn receiver_left() -> Failure {
    Failure::new(Reason::Cancelled, "the other party has left")
}

#[cfg(test)]
mod tests;
