//! What was offered and has not been fetched to its end, for `jackfield fetch`: one small file each, under
//! `transfers` in the state folder; what has come of the archives lies in `transfers/parts`.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use jackfield_files::{Limits, Offer, Part, PartError};
use jackfield_sdk::encode;
use serde::{Deserialize, Serialize};

use crate::{exit::Stop, sessions};

/// How long an order is kept that nobody goes on with: as long as what has come.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How the names of the files begin; ids may be anything after it, also two dots.
const PREFIX: &str = "fetch-";

/// Files that are to be fetched.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) hub: String,
    pub(crate) agent: String,
    pub(crate) offer: Offer,
    /// Where they go.
    pub(crate) out: PathBuf,
    /// Whether they replace what is there.
    pub(crate) overwrite: bool,
}

impl Order {
    fn has_archive_of(&self, other: &Self) -> bool {
        self.offer.zip_sha256 == other.offer.zip_sha256
            && self.offer.zip_size == other.offer.zip_size
    }
}

/// The folder of orders.
#[derive(Debug, Clone)]
pub(crate) struct Orders {
    folder: PathBuf,
}

impl Orders {
    /// Those of this user.
    pub(crate) fn open() -> Result<Self, Stop> {
        let state = sessions::state_folder().ok_or_else(|| {
            Stop::usage("there is no folder for what is fetched; set HOME or XDG_STATE_HOME")
        })?;
        Ok(Self {
            folder: state.join("transfers"),
        })
    }

    /// Where what has come lies.
    pub(crate) fn parts(&self) -> PathBuf {
        self.folder.join("parts")
    }

    fn file(&self, transfer: &str) -> PathBuf {
        self.folder.join(format!("{PREFIX}{}", encode(transfer)))
    }

    /// Writes an order down.
    pub(crate) fn keep(&self, order: &Order) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        // Under another name first, so that nobody reads half of it.
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

    /// It is done, or cannot be done.
    pub(crate) fn remove(&self, transfer: &str) -> io::Result<()> {
        match fs::remove_file(self.file(transfer)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Its archive came: whoever waited for the same one in the same place has it too.
    pub(crate) fn fulfil(&self, order: &Order) -> io::Result<()> {
        for other in self.all()? {
            if other.has_archive_of(order) && other.out == order.out {
                self.remove(&other.offer.transfer_id)?;
            }
        }
        self.remove(&order.offer.transfer_id)
    }

    /// Somebody wants it no more: neither the order nor, unless another one is for the same archive, what has come.
    pub(crate) async fn forget(&self, order: &Order) -> Result<(), PartError> {
        self.remove(&order.offer.transfer_id)?;
        if self.all()?.iter().any(|other| other.has_archive_of(order)) {
            return Ok(());
        }
        let part = Part::open(&self.parts(), &order.offer, Limits::default()).await?;
        part.discard().await
    }

    /// The order of a transfer.
    pub(crate) fn find(&self, transfer: &str) -> io::Result<Option<Order>> {
        read(&self.file(transfer))
    }

    /// All of them, the oldest first. What nobody goes on with is removed.
    pub(crate) fn all(&self) -> io::Result<Vec<Order>> {
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

/// Nothing if there is none, or none that this version wrote.
fn read(file: &Path) -> io::Result<Option<Order>> {
    match fs::read(file) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(id: &str) -> Order {
        let mut offer = Offer::new(1, "ab".repeat(32), 1);
        id.clone_into(&mut offer.transfer_id);
        Order {
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
        let orders = Orders {
            folder: folder.path().join("transfers"),
        };
        assert!(orders.all().unwrap().is_empty());
        for id in ["a:b", "..", "old"] {
            orders.keep(&order(id)).unwrap();
        }
        let old = fs::File::open(orders.file("old")).unwrap();
        old.set_modified(SystemTime::now() - KEPT - Duration::from_secs(1))
            .unwrap();
        let ids = |orders: &Orders| -> Vec<_> {
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
