//! Archives that callers have announced and not sent yet.

use std::{collections::VecDeque, time::Duration};

use jackfield_model::Offer;
use tokio::time::Instant;

/// How long an announcement is valid, as in the published bridge client.
const EXPECTED: Duration = Duration::from_secs(300);
/// Most announcements; the oldest are dropped first.
const MOST: usize = 64;

/// An announced archive ([`Offer`]), and the client to which its files belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedUpload {
    pub(super) offer: Offer,
    pub(super) client_id: String,
}

/// Announced archives with their expiry, oldest first.
#[derive(Debug, Default)]
pub(super) struct ExpectedUploads(VecDeque<(Instant, ExpectedUpload)>);

impl ExpectedUploads {
    /// Adds an announcement. Replaces an earlier one of the same transfer.
    pub(super) fn expect(&mut self, upload: ExpectedUpload) {
        self.remove(&upload.offer.transfer_id);
        self.0.push_back((Instant::now() + EXPECTED, upload));
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    pub(super) fn find(&mut self, transfer: &str) -> Option<ExpectedUpload> {
        let now = Instant::now();
        self.0.retain(|(until, _)| now < *until);
        let mut expected = self.0.iter().map(|(_, upload)| upload);
        expected
            .find(|upload| upload.offer.transfer_id == transfer)
            .cloned()
    }

    pub(super) fn remove(&mut self, transfer: &str) {
        self.0
            .retain(|(_, upload)| upload.offer.transfer_id != transfer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(id: &str) -> ExpectedUpload {
        let mut offer = Offer::new(1, "ab".repeat(32), 1);
        id.clone_into(&mut offer.transfer_id);
        ExpectedUpload {
            offer,
            client_id: "c".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_archive_is_expected_for_five_minutes_since_it_was_last_announced() {
        let mut uploads = ExpectedUploads::default();
        uploads.expect(upload("a"));
        tokio::time::advance(EXPECTED / 2).await;
        uploads.expect(upload("b"));
        uploads.expect(upload("a"));
        tokio::time::advance(EXPECTED - Duration::from_secs(1)).await;
        assert_eq!(uploads.find("a"), Some(upload("a")));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((uploads.find("a"), uploads.find("b")), (None, None));
    }

    #[tokio::test]
    async fn no_more_are_expected_than_fit() {
        let mut uploads = ExpectedUploads::default();
        (0..=MOST).for_each(|at| uploads.expect(upload(&at.to_string())));
        assert_eq!(uploads.find("0"), None);
        assert!(uploads.find("1").is_some());
    }
}
