//! An archive through the hub: its bytes as the body of a request, and a body as its bytes. Both ends of a transfer use it.

use futures_util::stream::try_unfold;
use jackfield_files::{Archive, Bundle, Part, PartError};
use jackfield_sdk::{Content, Error};
use reqwest::Body;

/// Why an archive did not come through the hub.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The hub or the other side is gone, or says no. What came stays for the next try.
    #[error(transparent)]
    Hub(#[from] Error),
    /// What comes cannot be taken.
    #[error(transparent)]
    Part(#[from] PartError),
}

/// The bytes of an archive from there on, read as they go. `progress` is told how many have gone, and of how many.
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

/// Receives an archive, or the rest of it from the byte `begins` on. `progress` is told how many bytes are there, and of how
/// many. What came before a cut stays for the next try.
pub async fn receive(
    mut content: Content,
    begins: u64,
    mut part: Part,
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
                // The next try must find all that came.
                part.flush().await?;
                return Err(cut.err().unwrap_or(Error::Broken).into());
            }
        }
    }
}
