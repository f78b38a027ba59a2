//! An archive that was received whole and is what was offered. Its file is removed when it is dropped.

use std::{fs::File, sync::Arc};

use tracing::warn;

use crate::dir::Dir;

/// An archive that was received whole and is what was offered.
#[derive(Debug)]
pub struct Archive {
    /// It has the lock of the part that it was.
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

    /// How many files are in it, as the offer says.
    pub fn file_count(&self) -> u64 {
        self.file_count
    }

    /// Leaves it where it is. A second try finds it all there and has nothing to fetch.
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
