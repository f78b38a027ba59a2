//! A response whose body is read while it arrives.

use std::{error::Error, fmt};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use reqwest::Response;

/// A response with its head received and its body still unread.
pub struct StreamedResponse {
    response: Response,
}

/// The reason why a body could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The body ended early.
    #[error("the answer broke off: {0}")]
    Cut(String),
    /// The body is larger than allowed.
    #[error("the answer is larger than {max} bytes")]
    TooLarge {
        /// Maximum size in bytes.
        max: usize,
    },
}

impl StreamedResponse {
    pub(super) fn new(response: Response) -> Self {
        Self { response }
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Waits for the next bytes of the body; returns `None` at its end. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        self.response.chunk().await.map_err(|error| cut(&error))
    }

    /// Reads the whole body, up to `max` bytes.
    pub async fn whole(mut self, max: usize) -> Result<Bytes, BodyError> {
        let mut body = BytesMut::new();
        while let Some(bytes) = self.next().await? {
            if bytes.len() > max - body.len() {
                return Err(BodyError::TooLarge { max });
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body.freeze())
    }
}

/// Converts an error of the HTTP client, without repeating the URL.
fn cut(error: &reqwest::Error) -> BodyError {
    let mut why: Option<&(dyn Error + 'static)> = error.source();
    while let Some(deeper) = why.and_then(Error::source) {
        why = Some(deeper);
    }
    BodyError::Cut(why.map_or_else(|| "the body cannot be read".to_owned(), ToString::to_string))
}

impl fmt::Debug for StreamedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
