//! [`ResumeToken`]: proves that a connection belongs to the program that had the agent's last connection, so that its statements about open calls can be trusted. The owner of the agent is proved elsewhere, each time.
//!
//! The hub makes a token when a program attaches afresh. The token stays as long as connections of that
//! program resume each other: a connection that was cut before it learned a newer token could not come back.
//! Only the hash is kept, with the agent in the store, so that the token also works after a restart of the
//! hub. The next fresh program invalidates it.

use std::fmt;

use jackfield_model::{Failure, Reason};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// SHA-256 of a token.
pub(crate) type Hash = [u8; 32];

/// A token, for the program that holds the connection only.
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

    /// Returns the valid token that a connection showed.
    pub(crate) fn shown(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the text of the token.
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

/// How a connection attaches to an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AttachMode {
    /// Fresh connection; open calls fail.
    Fresh,
    /// Resumes the open calls, on the word of its door.
    Resume,
    /// Resumes the open calls, but takes no new ones until it ends its absence.
    Away,
    /// Resumes the open calls if `shown` is the hash of the last connection's token. Otherwise attaches
    /// afresh, with the token `fresh`.
    Resumable { shown: Option<Hash>, fresh: Hash },
}

impl AttachMode {
    /// Whether the connection resumes the open calls, given the hash of the last connection's token.
    pub(crate) fn resumes(self, last: Option<Hash>) -> bool {
        match (self, last) {
            (Self::Fresh, _) | (Self::Resumable { .. }, None) => false,
            (Self::Resume | Self::Away, _) => true,
            (Self::Resumable { shown, .. }, Some(last)) => {
                shown.is_some_and(|shown| bool::from(shown.ct_eq(&last)))
            }
        }
    }

    /// Returns the hash of the token for the next connection.
    pub(crate) fn token(self, last: Option<Hash>) -> Option<Hash> {
        match self {
            Self::Fresh | Self::Resume | Self::Away => None,
            Self::Resumable { .. } if self.resumes(last) => last,
            Self::Resumable { fresh, .. } => Some(fresh),
        }
    }
}
