//! Bodies, counted while they are read: a length header may be missing or wrong.

use std::time::Duration;

use axum::{body::Body, extract::Request};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::header::CONTENT_LENGTH;
use tokio::time::timeout;

use super::Problem;

/// How large a body may be (DESIGN 5.4); as the original hub has it.
pub(crate) const MAX_BODY: usize = 5 << 20;

/// How long nothing of a body may come.
const STUCK: Duration = Duration::from_secs(30);

/// How much of a body that is too large is thrown away before the refusal is sent, and for how long. A client that is
/// still writing would otherwise see a broken connection and never the reason.
const THROWN_AWAY: usize = 16 << 20;
const THROWING: Duration = Duration::from_secs(2);

/// Reads a body up to the limit.
pub(crate) async fn read(request: Request) -> Result<Bytes, Problem> {
    let said = request.headers().get(CONTENT_LENGTH);
    let said = said.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let mut pieces = request.into_body().into_data_stream();
    let mut text = BytesMut::new();
    let mut is_too_large = said.is_some_and(|said| said > MAX_BODY);
    while !is_too_large {
        let piece = timeout(STUCK, pieces.next()).await.map_err(|_| {
            let text = format!("nothing of the body came for {} seconds", STUCK.as_secs());
            Problem::invalid(text)
        })?;
        match piece {
            None => return Ok(text.freeze()),
            Some(Err(error)) => {
                return Err(Problem::invalid(format!("the body broke off: {error}")));
            }
            Some(Ok(piece)) if text.len() + piece.len() > MAX_BODY => is_too_large = true,
            Some(Ok(piece)) => text.extend_from_slice(&piece),
        }
    }
    drop(text);
    throw_away(Body::from_stream(pieces)).await;
    Err(Problem::too_large(MAX_BODY))
}

async fn throw_away(body: Body) {
    let mut pieces = body.into_data_stream();
    let throwing = async {
        let mut thrown = 0;
        while let Some(Ok(piece)) = pieces.next().await {
            thrown += piece.len();
            if thrown > THROWN_AWAY {
                return;
            }
        }
    };
    // Whoever is not done by then is cut off; the refusal is on its way either way.
    timeout(THROWING, throwing).await.ok();
}
