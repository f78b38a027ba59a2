//! The token by which a connection proves that its program is the one that had the agent's last connection, so that what
//! it says of its open calls can be believed. Whose the agent is, is proved elsewhere, each time.
//!
//! The hub makes it, when a program comes anew, and it stays as long as connections of that program resume each other: a
//! connection that was cut before it heard of a newer token could not come back. Only its hash is kept, with the agent in
//! the store, so that it is good after a restart of the hub too. The next program that comes anew makes it worthless.

use std::fmt;

use jackfield_model::{Failure, Reason};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What is kept of a token.
pub(crate) type Hash = [u8; 32];

/// A token, to be told to the program that holds the connection and to nobody else.
pub struct ResumeToken(String);

impl ResumeToken {
    pub(crate) fn new() -> Result<Self, Failure> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            tracing::error!(%error, "no random numbers");
            Failure::new(Reason::Internal, "the hub has no random numbers")
        })?;
        let text = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self(text.collect()))
    }

    /// The token that a connection showed and that was good.
    pub(crate) fn shown(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The token itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ResumeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResumeToken")
    }
}

pub(crate) fn hash(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

/// How a connection comes to its agent's place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Coming {
    /// Nothing of before is its own.
    Anew,
    /// It goes on with what is open: its door knows.
    Resuming,
    /// The same, but it takes nothing new until it says that it is there.
    Away,
    /// It goes on with what is open if the token that it shows is the last one's. If not, it gets a fresh one.
    Resumable { shown: Option<Hash>, fresh: Hash },
}

impl Coming {
    /// Whether it goes on with what is open, where `last` is the hash of the last connection's token.
    pub(crate) fn resumes(self, last: Option<Hash>) -> bool {
        match (self, last) {
            (Self::Anew, _) | (Self::Resumable { .. }, None) => false,
            (Self::Resuming | Self::Away, _) => true,
            (Self::Resumable { shown, .. }, Some(last)) => {
                shown.is_some_and(|shown| bool::from(shown.ct_eq(&last)))
            }
        }
    }

    /// The hash of the token that the next connection must show.
    pub(crate) fn token(self, last: Option<Hash>) -> Option<Hash> {
        match self {
            Self::Anew | Self::Resuming | Self::Away => None,
            Self::Resumable { .. } if self.resumes(last) => last,
            Self::Resumable { fresh, .. } => Some(fresh),
        }
    }
}
