//! Unfinished downloads, for `jackfield fetch`: one small file each, under `transfers` in the state folder;
//! partial archives are in `transfers/parts`.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use jackfield_model::Offer;
use jackfield_sdk::encode;
use jackfield_transfer::{ArchiveLimits, ArchivePart, PartError};
use serde::{Deserialize, Serialize};

use crate::{exit::CliError, sessions};

/// Time after which an unfinished download is removed: the same as for partial archives.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Prefix of the file names; the encoded id follows, which may be anything, even two dots.
const PREFIX: &str = "fetch-";

/// A requested download.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DownloadOrder {
    pub(crate) hub: String,
    pub(crate) agent: String,
    pub(crate) offer: Offer,
    /// Output folder.
    pub(crate) out: PathBuf,
    /// Whether existing files are replaced.
    pub(crate) overwrite: bool,
}

impl DownloadOrder {
    fn has_archive_of(&self, other: &Self) -> bool {
        self.offer.zip_sha256 == other.offer.zip_sha256
            && self.offer.zip_size == other.offer.zip_size
    }
}

/// Folder of unfinished downloads.
#[derive(Debug, Clone)]
pub(crate) struct UnfinishedDownloads {
    folder: PathBuf,
}

impl UnfinishedDownloads {
    /// Opens the folder of this user.
    pub(crate) fn open() -> Result<Self, CliError> {
        let state = sessions::state_folder().ok_or_else(|| {
            CliError::usage(
                "there is no folder for unfinished downloads; set HOME or XDG_STATE_HOME",
            )
        })?;
        Ok(Self {
            folder: state.join("transfers"),
        })
    }

    /// Returns the folder of partial archives.
    pub(crate) fn parts(&self) -> PathBuf {
        self.folder.join("parts")
    }

    fn file(&self, transfer: &str) -> PathBuf {
        self.folder.join(format!("{PREFIX}{}", encode(transfer)))
    }

    /// Stores an [`DownloadOrder`].
    pub(crate) fn store(&self, order: &DownloadOrder) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        // Write to a temporary name first, so that no process reads a partial file.
        let draft = self.folder.join(format!(".new-{}", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(&serde_json::to_vec(order)?)?;
        fs::rename(draft, self.file(&order.offer.transfer_id))
    }

    /// Removes an order that is done, or cannot be done.
    pub(crate) fn remove(&self, transfer: &str) -> io::Result<()> {
        match fs::remove_file(self.file(transfer)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes an order whose archive arrived, and all orders for the same archive and the same folder.
    pub(crate) fn complete(&self, order: &DownloadOrder) -> io::Result<()> {
        for other in self.all()? {
            if other.has_archive_of(order) && other.out == order.out {
                self.remove(&other.offer.transfer_id)?;
            }
        }
        self.remove(&order.offer.transfer_id)
    }

    /// Removes an order that the user no longer wants, with its partial archive, unless a different order
    /// needs the same archive.
    pub(crate) async fn discard(&self, order: &DownloadOrder) -> Result<(), PartError> {
        self.remove(&order.offer.transfer_id)?;
        if self.all()?.iter().any(|other| other.has_archive_of(order)) {
            return Ok(());
        }
        let part = ArchivePart::open(&self.parts(), &order.offer, ArchiveLimits::default()).await?;
        part.discard().await
    }

    /// Returns the [`DownloadOrder`] of a transfer.
    pub(crate) fn find(&self, transfer: &str) -> io::Result<Option<DownloadOrder>> {
        read(&self.file(transfer))
    }

    /// Returns all [`DownloadOrder`]s, oldest first. Removes outdated orders.
    pub(crate) fn all(&self) -> io::Result<Vec<DownloadOrder>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut orders = Vec::new();
        for entry in entries {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
                continue;
            }
            let changed = entry.metadata()?.modified()?;
            let age = SystemTime::now().duration_since(changed);
            if age.is_ok_and(|age| age > KEPT) {
                fs::remove_file(entry.path())?;
            } else if let Some(order) = read(&entry.path())? {
                orders.push((changed, order));
            }
        }
        orders.sort_by_key(|(changed, _)| *changed);
        Ok(orders.into_iter().map(|(_, order)| order).collect())
    }
}

/// Reads an order; `None` if there is none, or if its format is unknown.
fn read(file: &Path) -> io::Result<Option<DownloadOrder>> {
    match fs::read(file) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(id: &str) -> DownloadOrder {
        let mut offer = Offer::new(1, "ab".repeat(32), 1);
        id.clone_into(&mut offer.transfer_id);
        DownloadOrder {
            hub: "http://127.0.0.1:7411".to_owned(),
            agent: "bob".to_owned(),
            offer,
            out: "bob-files".into(),
            overwrite: false,
        }
    }

    #[test]
    fn orders_are_kept_until_they_are_done_or_nobody_went_on_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let orders = UnfinishedDownloads {
            folder: folder.path().join("transfers"),
        };
        assert!(orders.all().unwrap().is_empty());
        for id in ["a:b", "..", "old"] {
            orders.store(&order(id)).unwrap();
        }
        let old = fs::File::open(orders.file("old")).unwrap();
        old.set_modified(SystemTime::now() - KEPT - Duration::from_secs(1))
            .unwrap();
        let ids = |orders: &UnfinishedDownloads| -> Vec<_> {
            let all = orders.all().unwrap().into_iter();
            all.map(|order| order.offer.transfer_id).collect()
        };
        assert_eq!(ids(&orders), ["a:b", ".."]);
        assert_eq!(orders.find("..").unwrap().unwrap().agent, "bob");
        orders.remove("..").unwrap();
        orders.remove("..").unwrap();
        assert_eq!(ids(&orders), ["a:b"]);
        assert!(orders.find("old").unwrap().is_none());
    }
}
