//! Transfers an archive through the hub as an HTTP body. Used by both ends of a transfer.

use futures_util::stream::try_unfold;
use jackfield_sdk::{ArchiveStream, Error};
use jackfield_transfer::{Archive, ArchivePart, Bundle, PartError};
use reqwest::Body;

/// Why an archive could not be received through the hub.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The hub or the peer is gone, or refuses. Received bytes stay for the next attempt.
    #[error(transparent)]
    Hub(#[from] Error),
    /// The received bytes cannot be stored.
    #[error(transparent)]
    Part(#[from] PartError),
}

/// Returns the bytes of a [`Bundle`] from offset `from` on as a [`Body`] that is read while it is sent. `progress`
/// receives the bytes sent and the total.
pub fn body(bundle: &Bundle, from: u64, progress: impl Fn(u64, u64) + Send + 'static) -> Body {
    let total = bundle.size();
    let start = (bundle.pieces(from), from, progress);
    Body::wrap_stream(try_unfold(
        start,
        move |(mut pieces, mut done, progress)| async move {
            let piece = pieces.next().await?;
            Ok::<_, std::io::Error>(piece.map(|piece| {
                done += piece.len() as u64;
                progress(done, total);
                (piece, (pieces, done, progress))
            }))
        },
    ))
}

/// Receives an archive into a [`ArchivePart`], from offset `begins` on. `progress` receives the bytes stored and the
/// total. Received bytes stay for the next attempt if the connection breaks.
pub async fn receive(
    mut content: ArchiveStream,
    begins: u64,
    mut part: ArchivePart,
    progress: impl Fn(u64, u64) + Send,
) -> Result<Archive, RelayError> {
    if begins == 0 && part.received() > 0 {
        part.restart().await?;
    }
    if begins != part.received() {
        let text = "it begins where nobody asked it to".to_owned();
        return Err(Error::Unreadable(text).into());
    }
    let total = part.offer().zip_size;
    loop {
        match content.next().await {
            Ok(Some(piece)) => {
                part.append(&piece).await?;
                progress(part.received(), total);
            }
            Ok(None) if part.received() == total => return Ok(part.finish().await?),
            cut => {
                // The next attempt continues from the flushed bytes.
                part.flush().await?;
                return Err(cut.err().unwrap_or(Error::Broken).into());
            }
        }
    }
}
