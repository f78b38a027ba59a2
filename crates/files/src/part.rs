//! An archive that is being received, in a file that outlives a cut. The file's name is the hash and the size that were
//! offered, so whoever offers the same archive again finds what came before; nothing else needs to be remembered.
//!
//! Only one at a time receives into it. What turns out to be wrong is removed, and what nobody goes on with for a day too.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::{
    io::{AsyncSeekExt as _, AsyncWriteExt as _},
    time::sleep,
};

use crate::{
    archive::Archive,
    digest::sha256,
    dir::{Dir, starts_with},
    limits::{Limits, megabytes},
    offer::{BadOffer, Offer},
    work::blocking,
};

/// How the names of the files begin.
const PREFIX: &str = "part-";
/// How long a part is kept that nobody goes on with.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How often, and how long apart, a part is tried that another one has: one that was given up may be writing its last.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Why an archive is not received.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The offer makes no sense.
    #[error(transparent)]
    Offer(#[from] BadOffer),
    /// The offer is of more than is taken.
    #[error("the archive has more than {}, which is the limit", megabytes(*.0))]
    TooLarge(u64),
    /// The offer is of more files than are taken.
    #[error("the archive has more than {0} files, which is the limit")]
    TooManyFiles(u64),
    /// Another one receives the same archive.
    #[error("this archive is being received already")]
    InUse,
    /// More came than was offered.
    #[error("more came than the {0} bytes that were offered; what came was removed")]
    TooMuch(u64),
    /// Less came than was offered.
    #[error("{received} of {offered} bytes came, and no more will; they were removed")]
    TooLittle {
        /// What the offer says.
        offered: u64,
        /// What came.
        received: u64,
    },
    /// Something else came than was offered.
    #[error("the SHA-256 of what came is not the one that was offered; it was removed")]
    Hash,
    /// What comes cannot be stored.
    #[error("cannot store the archive: {0}")]
    Io(#[from] io::Error),
}

/// An archive that is being received.
#[derive(Debug)]
pub struct Part {
    folder: Arc<Dir>,
    name: String,
    /// It has the lock.
    file: tokio::fs::File,
    received: u64,
    offer: Offer,
}

impl Part {
    /// The archive of this offer, as far as it is in the folder already. Only the owner may read the folder.
    pub async fn open(folder: &Path, offer: &Offer, limits: Limits) -> Result<Self, PartError> {
        offer.check()?;
        if offer.zip_size > limits.archive {
            return Err(PartError::TooLarge(limits.archive));
        }
        if offer.file_count > limits.files {
            return Err(PartError::TooManyFiles(limits.files));
        }
        let name = name_of(offer);
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
            offer: offer.clone(),
        };
        if part.received > offer.zip_size {
            part.restart().await?;
        }
        part.file.seek(io::SeekFrom::End(0)).await?;
        Ok(part)
    }

    /// Of what it is a part.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// How many bytes are there.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Takes what comes next. Nothing is written beyond the size that was offered: the part is removed then.
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

    /// Forgets what is there.
    pub async fn restart(&mut self) -> Result<(), PartError> {
        self.file.set_len(0).await?;
        self.file.rewind().await?;
        self.received = 0;
        Ok(())
    }

    /// Removes it: what came is of no use.
    pub async fn discard(self) -> Result<(), PartError> {
        Ok(self.remove().await?)
    }

    /// How much of the archive of this offer is in the folder; it may be being received.
    pub async fn received_in(folder: &Path, offer: &Offer) -> Result<u64, PartError> {
        offer.check()?;
        let file = folder.join(name_of(offer));
        match tokio::fs::symlink_metadata(file).await {
            Ok(meta) => Ok(meta.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until all that was taken is in the file.
    pub async fn flush(&mut self) -> Result<(), PartError> {
        Ok(self.file.flush().await?)
    }

    /// The archive, if it is what was offered; else it is removed.
    pub async fn finish(mut self) -> Result<Archive, PartError> {
        self.flush().await?;
        let file = self.file.into_std().await;
        // From here on the file is removed, unless somebody wants to keep it.
        let archive = Archive::new(file, self.offer.file_count, self.folder, self.name);
        let whole = archive.file();
        let (hash, size) = blocking(move |wanted| sha256(&whole, wanted)).await??;
        if size != self.offer.zip_size {
            return Err(PartError::TooLittle {
                offered: self.offer.zip_size,
                received: size,
            });
        }
        if !hash.eq_ignore_ascii_case(&self.offer.zip_sha256) {
            return Err(PartError::Hash);
        }
        Ok(archive)
    }

    async fn remove(&self) -> io::Result<()> {
        let (folder, name) = (self.folder.clone(), self.name.clone());
        blocking(move |_| folder.remove(name.as_ref())).await?
    }
}

/// Removes the parts in a folder that nobody went on with for a day. This is done too whenever a part is opened.
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
        if age.is_ok_and(|age| age > KEPT) && take(&file)? {
            folder.remove(&name)?;
        }
    }
    Ok(())
}

/// The name of the file; the offer was checked.
fn name_of(offer: &Offer) -> String {
    let hash = offer.zip_sha256.to_ascii_lowercase();
    format!("{PREFIX}{hash}-{}", offer.zip_size)
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

/// The file with its lock.
async fn lock(folder: &Arc<Dir>, name: &str) -> Result<File, PartError> {
    for _ in 0..TRIES {
        let (folder, name) = (folder.clone(), name.to_owned());
        let tried = blocking(move |_| {
            let file = folder.open_or_create(&name)?;
            // Whoever had it may have removed it before we got the lock.
            let is_ours = take(&file)? && folder.is_name_of(&name, &file)?;
            Ok::<_, io::Error>(is_ours.then_some(file))
        });
        if let Some(file) = tried.await?? {
            return Ok(file);
        }
        sleep(PAUSE).await;
    }
    Err(PartError::InUse)
}

/// Locks a file; no if somebody else has it. The lock ends when the file is closed.
fn take(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
