//! Reading of request bodies with limits on size and time. Bytes are counted while reading, because a length
//! header may be missing or wrong.

use std::{error::Error as _, iter, time::Duration};

use axum::body::{Body, HttpBody as _};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use jackfield_core::units::{Size, Span};
use jackfield_model::{Failure, Reason};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{api::invalid, server::InputOverShare};

/// Bytes of an oversized body that are discarded before the error response, and the time limit for
/// discarding. A client still writing would otherwise see a broken connection instead of the reason.
const THROWN_AWAY: usize = 16 << 20;
const THROWING: Duration = Duration::from_secs(2);

/// Minimum rate of a body. A slower body is refused, because the received part occupies memory all the time.
const BYTES_PER_SECOND: usize = 32 << 10;

/// Reads a body of at most `max` bytes. `stuck` limits the time without data, and the total time beyond the
/// time needed at the minimum rate.
pub async fn read(body: Body, max: Size, stuck: Span) -> Result<Bytes, Failure> {
    let is_said_too_large = body.size_hint().lower() > max.0 as u64;
    let mut pieces = body.into_data_stream();
    if !is_said_too_large && let Some(text) = read_pieces(&mut pieces, max, stuck).await? {
        return Ok(text);
    }
    discard_chunks(&mut pieces).await;
    let text = format!("the body may have at most {max}; send less");
    Err(Failure::new(Reason::TooLarge, text))
}

/// Discards the rest of a refused body, within limits, so that its sender sees the response. Returns whether
/// the body ended.
pub async fn discard(body: Body) -> bool {
    discard_chunks(&mut body.into_data_stream()).await
}

type BodyChunks = axum::body::BodyDataStream;

/// Reads the whole body; returns `None` if the body is larger than `max`.
async fn read_pieces(
    pieces: &mut BodyChunks,
    max: Size,
    stuck: Span,
) -> Result<Option<Bytes>, Failure> {
    let mut text = BytesMut::new();
    let begun = Instant::now();
    loop {
        let until = begun + stuck.0 + Duration::from_secs((text.len() / BYTES_PER_SECOND) as u64);
        let until = until.min(Instant::now() + stuck.0);
        let piece = match timeout_at(until, pieces.next()).await {
            Ok(None) => return Ok(Some(text.freeze())),
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(error))) => return Err(broken_off(&error)),
            Err(_) => {
                let text = format!(
                    "nothing of the body, or too little, came for {stuck}; send it in one go"
                );
                return Err(invalid(text));
            }
        };
        if text.len() + piece.len() > max.0 {
            return Ok(None);
        }
        // Most bodies arrive in one piece and need no copy.
        if text.is_empty() && pieces.is_end_stream() {
            return Ok(Some(piece));
        }
        text.extend_from_slice(&piece);
    }
}

/// Returns the failure for a body that ended early.
fn broken_off(error: &axum::Error) -> Failure {
    let causes = iter::successors(error.source(), |cause| (*cause).source());
    let mut no_room = causes.filter_map(|cause| cause.downcast_ref::<InputOverShare>());
    match no_room.next() {
        Some(no_room) => Failure::new(Reason::Busy, no_room.to_string()),
        None => invalid(format!("the body broke off: {error}")),
    }
}

/// Discards data up to the limits; returns whether the body ended.
async fn discard_chunks(pieces: &mut BodyChunks) -> bool {
    let throwing = async {
        let mut thrown = 0;
        while let Some(piece) = pieces.next().await {
            let Ok(piece) = piece else { return false };
            thrown += piece.len();
            if thrown > THROWN_AWAY {
                return false;
            }
        }
        true
    };
    // A client that is not done by then is cut off; the error response is already on its way.
    timeout(THROWING, throwing).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const STUCK: Span = Span::secs(30);

    fn in_pieces(pieces: &[&'static str]) -> Body {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, String>(*piece)).collect();
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_the_limit_whether_its_length_is_said_or_not() {
        let max = Size(5);
        for body in [Body::from("hello"), in_pieces(&["he", "", "llo"])] {
            assert_eq!(read(body, max, STUCK).await.unwrap(), "hello");
        }
        assert_eq!(read(Body::empty(), max, STUCK).await.unwrap(), "");
        for body in [Body::from("hello!"), in_pieces(&["hel", "lo", "!"])] {
            let refused = read(body, max, STUCK).await.unwrap_err();
            assert_eq!(refused.reason, Reason::TooLarge);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_coming_is_refused() {
        let endless = stream::once(async { Ok::<_, String>("he") }).chain(stream::pending());
        let body = Body::from_stream(endless);
        let refused = read(body, Size(5), STUCK).await.unwrap_err();
        assert_eq!(refused.reason, Reason::Invalid);
        // One that comes byte by byte is held as long as one that does not come at all, and no longer.
        let dripping = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Some((Ok::<_, String>("h"), ()))
        });
        let begun = Instant::now();
        let refused = read(Body::from_stream(dripping), Size(500), STUCK).await;
        assert_eq!(refused.unwrap_err().reason, Reason::Invalid);
        assert_eq!(begun.elapsed(), STUCK.0);
        let broken = stream::iter([Ok("he"), Err("gone")]);
        let refused = read(Body::from_stream(broken), Size(5), STUCK).await;
        assert!(refused.unwrap_err().text.contains("broke off"));
    }
}
