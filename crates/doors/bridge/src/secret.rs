//! The secrets that the platform sends in `X-Platform-SharedSecret`. Two may be valid while one replaces the other;
//! without any, every request is refused.

use std::{fmt, sync::Arc};

use parking_lot::RwLock;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

/// Header with the secret.
pub(crate) const HEADER: &str = "x-platform-secret";

/// A secret shared with the platform. `Debug` hides the text.
#[derive(Clone)]
pub struct SharedSecret {
    text: Arc<str>,
    hash: [u8; 32],
}

impl SharedSecret {
    /// Creates a secret; returns `None` for an empty text, which would admit every client.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self {
            text: text.into(),
            hash: hash(text.as_bytes()),
        })
    }

    /// Returns the secret text. Handle with care.
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

fn hash(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// The valid secrets, newest first.
#[derive(Debug, Default)]
pub(crate) struct SharedSecrets(RwLock<Vec<SharedSecret>>);

impl SharedSecrets {
    pub(crate) fn new(secrets: Vec<SharedSecret>) -> Self {
        Self(RwLock::new(secrets))
    }

    /// Replaces the secrets.
    pub(crate) fn set(&self, secrets: Vec<SharedSecret>) {
        *self.0.write() = secrets;
    }

    /// Returns the [`SharedSecret`] that the hub itself sends with callbacks.
    pub(crate) fn newest(&self) -> Option<SharedSecret> {
        self.0.read().first().cloned()
    }

    /// Returns whether `shown` is a valid secret. The running time reveals neither which secret matches nor
    /// how much of it is right: hashes are compared, and always all of them.
    pub(crate) fn admit(&self, shown: &[u8]) -> bool {
        let shown = hash(shown);
        let secrets = self.0.read();
        let fits = secrets.iter().fold(Choice::from(0), |fits, secret| {
            fits | secret.hash.ct_eq(&shown)
        });
        fits.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_secrets_count_until_one_is_taken_away() {
        let secrets = SharedSecrets::new(
            ["new", "old"]
                .into_iter()
                .filter_map(SharedSecret::new)
                .collect(),
        );
        assert!(secrets.admit(b"new") && secrets.admit(b"old"));
        assert!(!secrets.admit(b"ne") && !secrets.admit(b"newer") && !secrets.admit(b""));
        assert_eq!(secrets.newest().unwrap().expose(), "new");
        secrets.set(vec![SharedSecret::new("new").unwrap()]);
        assert!(secrets.admit(b"new") && !secrets.admit(b"old"));
    }

    #[test]
    fn without_a_secret_nobody_is_let_in_and_an_empty_one_is_none() {
        assert!(!SharedSecrets::default().admit(b"") && !SharedSecrets::default().admit(b"x"));
        assert!(SharedSecret::new("").is_none());
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secrets = SharedSecrets::new(vec![SharedSecret::new("hunter2").unwrap()]);
        assert!(!format!("{secrets:?}").contains("hunter2"));
    }
}
