//! A received and verified archive, removed on drop.

use std::{fs::File, sync::Arc};

use tracing::warn;

use crate::endpoint::dir::Dir;

/// A received archive that matches its [`Offer`](jackfield_model::Offer). Its file is removed on drop, unless [kept](Self::keep).
#[derive(Debug)]
pub struct Archive {
    /// File of the archive; still holds the lock of its [`Part`](crate::endpoint::Part).
    file: Arc<File>,
    file_count: u64,
    folder: Arc<Dir>,
    name: String,
    is_kept: bool,
}

impl Archive {
    pub(crate) fn new(file: File, file_count: u64, folder: Arc<Dir>, name: String) -> Self {
        Self {
            file: Arc::new(file),
            file_count,
            folder,
            name,
            is_kept: false,
        }
    }

    pub(crate) fn file(&self) -> Arc<File> {
        self.file.clone()
    }

    /// Returns the number of files, according to the offer.
    pub fn file_count(&self) -> u64 {
        self.file_count
    }

    /// Keeps the file on disk. A further attempt finds the complete archive and fetches nothing.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Err(error) = self.folder.remove(self.name.as_ref()) {
            warn!(%error, "an archive that is no longer needed cannot be removed");
        }
    }
}
