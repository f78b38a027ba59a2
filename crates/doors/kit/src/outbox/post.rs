//! The interface between a door and the [`Courier`](super::Courier): content and headers of a callback.

use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use jackfield_core::outbox::OutboxRow;

/// One request to the URL of a callback. The courier adds the `Idempotency-Key` and the signature.
#[derive(Debug, Clone)]
pub struct CallbackPost {
    /// Headers, at least the content type. Secret values are marked sensitive.
    pub headers: HeaderMap,
    /// Body, signed as is.
    pub body: Bytes,
}

impl CallbackPost {
    /// Creates a letter with a plain JSON body.
    pub fn json(body: impl Into<Bytes>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self {
            headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
            body: body.into(),
        }
    }
}

/// The reason why a callback has no letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComposeError {
    /// Temporary error; the callback is retried like one that its receiver refused.
    ForNow(String),
    /// Permanent error; the callback is given up.
    ForGood(String),
}

impl ComposeError {
    /// Creates a temporary error.
    pub fn temporary(why: impl fmt::Display) -> Self {
        Self::ForNow(why.to_string())
    }

    /// Creates a permanent error.
    pub fn permanent(why: impl fmt::Display) -> Self {
        Self::ForGood(why.to_string())
    }
}

/// The writer of a door's callbacks.
pub trait Composer: fmt::Debug + Send + Sync + 'static {
    /// Returns the kind of the door's callbacks in the outbox: see
    /// [`jackfield_core::outbox::Callback::kind`].
    fn kind(&self) -> &'static str;

    /// Writes the letters of a callback from the task and its log. Called for every attempt. Several letters
    /// are sent one after another, and all of them again if one fails. An empty list counts as delivered.
    fn compose<'a>(
        &'a self,
        row: &'a OutboxRow,
    ) -> BoxFuture<'a, Result<Vec<CallbackPost>, ComposeError>>;
}
