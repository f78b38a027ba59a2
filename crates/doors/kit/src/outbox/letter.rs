//! What a door gives to the courier: the words, and whatever its protocol puts beside them.

use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use jackfield_core::outbox::OutboxRow;

/// What is posted to the callback's URL. The courier adds the `Idempotency-Key` and the signature.
#[derive(Debug, Clone)]
pub struct Letter {
    /// The headers: at least the type of the body. Those that are secret are marked sensitive.
    pub headers: HeaderMap,
    /// The body, which is signed as it is.
    pub body: Bytes,
}

impl Letter {
    /// A letter whose body is plain JSON.
    pub fn json(body: impl Into<Bytes>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self {
            headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
            body: body.into(),
        }
    }
}

/// Why there is no letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undelivered {
    /// It cannot be composed now; it is tried again like one that nobody took.
    ForNow(String),
    /// It cannot be composed, ever; it is given up.
    ForGood(String),
}

impl Undelivered {
    /// Something that may be over at the next try.
    pub fn for_now(why: impl fmt::Display) -> Self {
        Self::ForNow(why.to_string())
    }

    /// Something that stays so.
    pub fn for_good(why: impl fmt::Display) -> Self {
        Self::ForGood(why.to_string())
    }
}

/// A door that calls back.
pub trait Composer: fmt::Debug + Send + Sync + 'static {
    /// How its callbacks are marked in the outbox: see [`jackfield_core::outbox::Callback::kind`].
    fn kind(&self) -> &'static str;

    /// What a callback of this kind says, from the task and its log. Asked again at every try. Several letters go
    /// out one after another, all of them again if one fails; none at all counts as delivered.
    fn compose<'a>(&'a self, row: &'a OutboxRow)
    -> BoxFuture<'a, Result<Vec<Letter>, Undelivered>>;
}
