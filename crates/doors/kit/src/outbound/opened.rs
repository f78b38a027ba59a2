//! An answer that is read while it comes.

use std::{error::Error, fmt};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use reqwest::Response;

/// An answer whose head has come, and whose body is still to be read.
pub struct Opened {
    response: Response,
}

/// Why a body could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It broke off.
    #[error("the answer broke off: {0}")]
    Cut(String),
    /// It is larger than wanted.
    #[error("the answer is larger than {max} bytes")]
    TooLarge {
        /// How much was wanted.
        max: usize,
    },
}

impl Opened {
    pub(super) fn new(response: Response) -> Self {
        Self { response }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next bytes of the body; `None` at its end. A call that is dropped loses nothing.
    pub async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        self.response.chunk().await.map_err(|error| cut(&error))
    }

    /// The whole body, which may not be larger than `max`.
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

/// What went wrong, in words that do not repeat the URL.
fn cut(error: &reqwest::Error) -> BodyError {
    let mut why: Option<&(dyn Error + 'static)> = error.source();
    while let Some(deeper) = why.and_then(Error::source) {
        why = Some(deeper);
    }
    BodyError::Cut(why.map_or_else(|| "the body cannot be read".to_owned(), ToString::to_string))
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
