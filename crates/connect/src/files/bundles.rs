//! Offered archives, while callers may fetch them. Their files are unnamed and vanish with the process.

use std::{collections::VecDeque, time::Duration};

use jackfield_transfer::Bundle;
use tokio::time::Instant;

/// How long an archive is kept: as long as the hub knows the offer.
const KEPT: Duration = Duration::from_secs(3600);
/// Most archives kept; the oldest are dropped first.
const MOST: usize = 64;
/// Most bytes kept; the oldest archives are dropped first.
const MOST_BYTES: u64 = 1 << 30;

/// Offered archives with their expiry, oldest first.
#[derive(Debug, Default)]
pub(super) struct OfferedBundles(VecDeque<(Instant, Bundle)>);

impl OfferedBundles {
    pub(super) fn keep(&mut self, bundle: Bundle) {
        self.0.push_back((Instant::now() + KEPT, bundle));
        // The newest archive stays, regardless of its size.
        while self.0.len() > 1 && (self.0.len() > MOST || self.bytes() > MOST_BYTES) {
            self.0.pop_front();
        }
    }

    pub(super) fn find(&mut self, transfer: &str) -> Option<Bundle> {
        self.expire();
        let mut bundles = self.0.iter().map(|(_, bundle)| bundle);
        bundles
            .find(|bundle| bundle.offer().transfer_id == transfer)
            .cloned()
    }

    /// Drops expired archives.
    pub(super) fn expire(&mut self) {
        let now = Instant::now();
        self.0.retain(|(until, _)| now < *until);
    }

    fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, bundle)| bundle.size()).sum()
    }
}

#[cfg(test)]
mod tests {
    use jackfield_transfer::{ArchiveLimits, pack};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_make_room_and_none_is_kept_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "a").unwrap();
        let mut bundles = OfferedBundles::default();
        let mut ids = Vec::new();
        for _ in 0..=MOST {
            let packed = pack(folder.path(), ArchiveLimits::default(), &[]).await;
            let bundle = packed.unwrap().bundle.unwrap();
            ids.push(bundle.offer().transfer_id.clone());
            bundles.keep(bundle);
        }
        assert!(bundles.find(&ids[0]).is_none());
        assert!(ids[1..].iter().all(|id| bundles.find(id).is_some()));
        tokio::time::advance(KEPT).await;
        bundles.expire();
        assert!(bundles.0.is_empty());
    }
}
