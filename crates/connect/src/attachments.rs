//! Files attached to a message, stored where the agent can open them: `.attachments/REQUEST/NAME` in the
//! working folder. Inline bytes are written, URLs are fetched.
//!
//! URLs come from untrusted callers, so they may lead to public addresses only, unless the owner allows more.
//! The hub's own file URLs are the exception: the hub creates links for files that it received as bytes, and
//! such a link needs no token. A file that cannot be fetched is reported and does not stop the agent.

mod name;
mod source;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jackfield_sdk::{FileSource, HubAddress, Message};
use jackfield_transfer::Dir;
use parking_lot::RwLock;
use tokio::{io::AsyncWriteExt as _, time::timeout};

pub use self::source::FetchError;
use self::source::FileFetcher;

/// Folder for the files of all requests.
const FOLDER: &str = ".attachments";
/// Most files per message; more belong into an archive.
const MAX_FILES: usize = 64;
/// Most bytes of one file, and of all files of a message.
const MAX_FILE: u64 = 100 << 20;
const MAX_TOTAL: u64 = 256 << 20;
/// Time limit for fetching one file.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most attempts to find an unused name.
const NAMES: usize = 1000;

/// Fetches the files attached to messages.
#[derive(Debug, Clone)]
pub struct Attachments {
    /// Source of files; shared by clones, so that all follow a hub that moves.
    source: Arc<RwLock<FileFetcher>>,
}

/// Files fetched for a message by [`Attachments::fetch`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FetchedFiles {
    /// Paths of the stored files.
    pub files: Vec<PathBuf>,
    /// Problems with files, each a sentence for people and agents.
    pub problems: Vec<String>,
}

impl Attachments {
    /// Creates a fetcher for files of this hub and of public addresses, or with `allow_private` of any
    /// address.
    pub fn new(hub: &HubAddress, allow_private: bool) -> Result<Self, FetchError> {
        let source = FileFetcher::new(hub, allow_private)?;
        Ok(Self {
            source: Arc::new(RwLock::new(source)),
        })
    }

    /// Switches this handle and all its clones to a new address of the hub.
    pub fn move_to(&self, hub: &HubAddress) -> Result<(), FetchError> {
        let moved = self.source().at(hub)?;
        *self.source.write() = moved;
        Ok(())
    }

    fn source(&self) -> FileFetcher {
        self.source.read().clone()
    }

    /// Stores the files of a message in the working folder `dir`.
    pub async fn fetch(&self, message: &Message, dir: &Path) -> FetchedFiles {
        let mut attached = FetchedFiles::default();
        let files: Vec<_> = message.attachments().collect();
        if files.is_empty() {
            return attached;
        }
        let (folder, path) = match prepare(dir, &message.request_id) {
            Ok(made) => made,
            Err(error) => {
                let problem = format!("the files of this message cannot be stored: {error}");
                attached.problems.push(problem);
                return attached;
            }
        };
        let mut room = MAX_TOTAL;
        for (at, file) in files.iter().enumerate() {
            let name = name::of(file, at + 1);
            if at >= MAX_FILES {
                let problem =
                    format!("the file {name} was left out: a message may have {MAX_FILES}");
                attached.problems.push(problem);
                continue;
            }
            match self.store(&folder, &name, &file.source, room).await {
                Ok((name, size)) => {
                    room -= size;
                    attached.files.push(path.join(name));
                }
                Err(error) => {
                    let problem = format!("the file {name} could not be fetched: {error}");
                    attached.problems.push(problem);
                }
            }
        }
        attached
    }

    /// Stores one file. Returns its name and size.
    async fn store(
        &self,
        folder: &Dir,
        name: &str,
        source: &FileSource,
        room: u64,
    ) -> Result<(String, u64), FetchError> {
        let (file, name) = unique(name, |name| folder.create(name))?;
        let mut part = PartialFile {
            folder,
            name,
            is_whole: false,
        };
        let max = MAX_FILE.min(room);
        let size = timeout(PATIENCE, self.write(file, source, max))
            .await
            .map_err(|_| FetchError::TimedOut(PATIENCE))??;
        part.is_whole = true;
        Ok((part.name.clone(), size))
    }

    async fn write(&self, file: File, source: &FileSource, max: u64) -> Result<u64, FetchError> {
        let mut file = tokio::fs::File::from_std(file);
        let mut size = 0;
        let mut write = async |bytes: &[u8]| -> Result<(), FetchError> {
            size += bytes.len() as u64;
            if size > max {
                return Err(FetchError::TooLarge(max));
            }
            Ok(file.write_all(bytes).await?)
        };
        match source {
            FileSource::Bytes(base64) => write(&base64.decode()?).await?,
            FileSource::Uri(uri) => {
                let mut body = self.source().open(uri).await?;
                while let Some(bytes) = body.next().await? {
                    write(&bytes).await?;
                }
            }
        }
        file.flush().await?;
        Ok(size)
    }
}

/// Creates a new folder for a request. Returns the folder and its path.
fn prepare(dir: &Path, request: &str) -> io::Result<(Dir, PathBuf)> {
    let all = Dir::open(dir)?.child(FOLDER)?;
    all.ignore()?;
    let ((), name) = unique(&name::safe(request), |name| all.make(name))?;
    Ok((all.child(&name)?, dir.join(FOLDER).join(name)))
}

/// Creates an entry under `name`, or under a similar unused name.
fn unique<T>(name: &str, make: impl Fn(&str) -> io::Result<T>) -> io::Result<(T, String)> {
    for number in 1..=NAMES {
        let name = name::numbered(name, number);
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (made, name)),
        }
    }
    Err(io::Error::other(format!("there are too many {name}")))
}

/// A file that is removed on drop unless complete.
struct PartialFile<'a> {
    folder: &'a Dir,
    name: String,
    is_whole: bool,
}

impl Drop for PartialFile<'_> {
    fn drop(&mut self) {
        if !self.is_whole
            && let Err(error) = self.folder.remove(self.name.as_ref())
        {
            tracing::warn!(%error, "a part of a file is left");
        }
    }
}
