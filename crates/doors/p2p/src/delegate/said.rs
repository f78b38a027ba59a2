//! What chunks of an answer said, kept as its size and a digest: enough to tell a result that repeats them from one that says
//! more, without a second copy of the answer in memory.

use sha2::{Digest as _, Sha256};

/// What chunks said so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    bytes: usize,
    digest: Sha256,
}

impl Said {
    /// One chunk more.
    pub(super) fn add(&mut self, text: &str) {
        self.bytes += text.len();
        self.digest.update(text);
    }

    /// Whether no chunk said anything.
    pub(super) fn is_nothing(&self) -> bool {
        self.bytes == 0
    }

    /// What `whole` says beyond the chunks; `None` if it does not begin with them.
    pub(super) fn rest_of<'a>(&self, whole: &'a str) -> Option<&'a str> {
        let (begin, rest) = whole.split_at_checked(self.bytes)?;
        let is_same = Sha256::digest(begin) == self.digest.clone().finalize();
        is_same.then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_begins_with_the_chunks_is_told_by_what_follows_them() {
        let mut said = Said::default();
        assert!(said.is_nothing());
        assert_eq!(said.rest_of("any"), Some("any"));
        for chunk in ["Kö", "", "ln"] {
            said.add(chunk);
        }
        assert_eq!(said.rest_of("Köln"), Some(""));
        assert_eq!(said.rest_of("Köln am Rhein"), Some(" am Rhein"));
        for other in ["", "Kö", "Kölm", "Bonn am Rhein", "Kol\u{e9}"] {
            assert_eq!(said.rest_of(other), None, "{other}");
        }
    }
}
