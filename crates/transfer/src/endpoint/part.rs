//! A partially received archive, in a file that survives interruptions. The file's name contains hash and
//! size of the offer, so that a repeated offer of the same archive finds the earlier bytes without further
//! state.
//!
//! A lock admits one receiver at a time. Invalid content is removed, as are parts without progress for a day.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use jackfield_model::{InvalidOffer, Offer};
use tokio::{
    io::{AsyncSeekExt as _, AsyncWriteExt as _},
    time::sleep,
};

use crate::endpoint::{
    archive::Archive,
    digest::sha256,
    dir::{Dir, starts_with},
    limits::{ArchiveLimits, megabytes},
    work::blocking,
};

/// Prefix of part files.
const PREFIX: &str = "part-";
/// Age after which a part without progress is removed.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Attempts to lock a part, and the pause between them: a cancelled receiver may still be writing its last
/// bytes.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Why a [`ArchivePart`] cannot be received.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The [`Offer`] is invalid.
    #[error(transparent)]
    Offer(#[from] InvalidOffer),
    /// The offered archive is too large.
    #[error("the archive has more than {}, which is the limit", megabytes(*.0))]
    TooLarge(u64),
    /// The offered archive has too many files.
    #[error("the archive has more than {0} files, which is the limit")]
    TooManyFiles(u64),
    /// The same archive is being received elsewhere.
    #[error("this archive is being received already")]
    InUse,
    /// More bytes arrived than offered.
    #[error("more came than the {0} bytes that were offered; what came was removed")]
    TooMuch(u64),
    /// Fewer bytes arrived than offered.
    #[error("{received} of {offered} bytes came, and no more will; they were removed")]
    TooLittle {
        /// Size in the offer.
        offered: u64,
        /// Bytes received.
        received: u64,
    },
    /// The content differs from the offer.
    #[error("the SHA-256 of what came is not the one that was offered; it was removed")]
    Hash,
    /// The bytes cannot be stored.
    #[error("cannot store the archive: {0}")]
    Io(#[from] io::Error),
}

/// A partially received archive; becomes an [`Archive`] with [`finish`](Self::finish).
#[derive(Debug)]
pub struct ArchivePart {
    folder: Arc<Dir>,
    name: String,
    /// Open file, which holds the lock.
    file: tokio::fs::File,
    received: u64,
    offer: Offer,
}

impl ArchivePart {
    /// Opens the part of an [`Offer`], with the bytes already in the folder. The folder is created for the owner
    /// only.
    pub async fn open(
        folder: &Path,
        offer: &Offer,
        limits: ArchiveLimits,
    ) -> Result<Self, PartError> {
        let offer = offer.clone().checked()?;
        if offer.zip_size > limits.archive {
            return Err(PartError::TooLarge(limits.archive));
        }
        if offer.file_count > limits.files {
            return Err(PartError::TooManyFiles(limits.files));
        }
        let name = name_of(&offer);
        let path = folder.to_owned();
        let folder = blocking(move |_| {
            make(&path)?;
            let folder = Dir::open(&path)?;
            sweep_in(&folder)?;
            Ok::<_, io::Error>(folder)
        });
        let folder = Arc::new(folder.await??);
        let file = lock(&folder, &name).await?;
        let mut part = Self {
            received: file.metadata()?.len(),
            file: tokio::fs::File::from_std(file),
            folder,
            name,
            offer,
        };
        if part.received > part.offer.zip_size {
            part.restart().await?;
        }
        part.file.seek(io::SeekFrom::End(0)).await?;
        Ok(part)
    }

    /// Returns the offer.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Returns the number of bytes received.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Appends bytes. If they exceed the offered size, removes the part and returns an error.
    pub async fn append(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        let received = self.received + bytes.len() as u64;
        if received > self.offer.zip_size {
            self.remove().await?;
            return Err(PartError::TooMuch(self.offer.zip_size));
        }
        self.file.write_all(bytes).await?;
        self.received = received;
        Ok(())
    }

    /// Discards the received bytes and starts over.
    pub async fn restart(&mut self) -> Result<(), PartError> {
        self.file.set_len(0).await?;
        self.file.rewind().await?;
        self.received = 0;
        Ok(())
    }

    /// Removes the part.
    pub async fn discard(self) -> Result<(), PartError> {
        Ok(self.remove().await?)
    }

    /// Returns how many bytes of an offer's archive are in the folder. The archive may be in the course of
    /// being received.
    pub async fn received_in(folder: &Path, offer: &Offer) -> Result<u64, PartError> {
        let offer = offer.clone().checked()?;
        let file = folder.join(name_of(&offer));
        match tokio::fs::symlink_metadata(file).await {
            Ok(meta) => Ok(meta.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until all appended bytes are in the file.
    pub async fn flush(&mut self) -> Result<(), PartError> {
        Ok(self.file.flush().await?)
    }

    /// Verifies the archive. Removes the file if it does not match the offer.
    pub async fn finish(mut self) -> Result<Archive, PartError> {
        self.flush().await?;
        let file = self.file.into_std().await;
        // From here on the file is removed on drop, unless kept.
        let archive = Archive::new(file, self.offer.file_count, self.folder, self.name);
        let whole = archive.file();
        let (hash, size) = blocking(move |wanted| sha256(&whole, wanted)).await??;
        if size != self.offer.zip_size {
            return Err(PartError::TooLittle {
                offered: self.offer.zip_size,
                received: size,
            });
        }
        if hash != self.offer.zip_sha256 {
            return Err(PartError::Hash);
        }
        Ok(archive)
    }

    async fn remove(&self) -> io::Result<()> {
        let (folder, name) = (self.folder.clone(), self.name.clone());
        blocking(move |_| folder.remove(name.as_ref())).await?
    }
}

/// Removes the parts in a folder that had no progress for a day. [`ArchivePart::open`] does the same.
pub async fn sweep_parts(folder: &Path) -> io::Result<()> {
    let folder = folder.to_owned();
    blocking(move |_| match Dir::open(&folder) {
        Ok(folder) => sweep_in(&folder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    })
    .await?
}

fn sweep_in(folder: &Dir) -> io::Result<()> {
    for name in folder.names()? {
        if !starts_with(&name, PREFIX) {
            continue;
        }
        let Some(file) = folder.read(&name)? else {
            continue;
        };
        let changed = file.metadata()?.modified()?;
        let age = SystemTime::now().duration_since(changed);
        if age.is_ok_and(|age| age > KEPT) && try_lock(&file)? {
            folder.remove(&name)?;
        }
    }
    Ok(())
}

/// Returns the file name for a checked offer, whose hash is in lower case.
fn name_of(offer: &Offer) -> String {
    format!("{PREFIX}{}-{}", offer.zip_sha256, offer.zip_size)
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

/// Opens and locks the file.
async fn lock(folder: &Arc<Dir>, name: &str) -> Result<File, PartError> {
    for _ in 0..TRIES {
        let (folder, name) = (folder.clone(), name.to_owned());
        let tried = blocking(move |_| {
            let file = folder.open_or_create(&name)?;
            // The previous holder may have removed the file before this lock succeeded.
            let is_ours = try_lock(&file)? && folder.is_name_of(&name, &file)?;
            Ok::<_, io::Error>(is_ours.then_some(file))
        });
        if let Some(file) = tried.await?? {
            return Ok(file);
        }
        sleep(PAUSE).await;
    }
    Err(PartError::InUse)
}

/// Locks a file; returns `false` if locked elsewhere. The lock ends when the file is closed.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
