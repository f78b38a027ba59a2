//! Files that come with a message, put where the agent can open them: `.attachments/REQUEST/NAME` in the folder that it
//! works in. Bytes are written, addresses are fetched.
//!
//! Addresses are a stranger's: they may lead to public places only, unless the owner allows more. The hub's own are the
//! exception, since it links files that came to it as bytes; such a link needs no token. What cannot be had is told and
//! does not keep the agent from working.

mod name;
mod source;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jackfield_files::Dir;
use jackfield_sdk::{Address, FileSource, Message};
use parking_lot::RwLock;
use tokio::{io::AsyncWriteExt as _, time::timeout};

pub use self::source::FetchError;
use self::source::Source;

/// Where the files of all requests are.
const FOLDER: &str = ".attachments";
/// How many files of one message are taken: more than that are an archive.
const MAX_FILES: usize = 64;
/// How large one file may be, and all of a message together.
const MAX_FILE: u64 = 100 << 20;
const MAX_TOTAL: u64 = 256 << 20;
/// How long one file may take to come.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often another name is tried for what exists already.
const NAMES: usize = 1000;

/// Fetches what comes with messages.
#[derive(Debug, Clone)]
pub struct Attachments {
    /// Where files come from; clones share it, so that all follow a hub that moves.
    source: Arc<RwLock<Source>>,
}

/// What came with a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// The files, as they lie in the folder.
    pub files: Vec<PathBuf>,
    /// What could not be had, each in one sentence for people and agents.
    pub problems: Vec<String>,
}

impl Attachments {
    /// Fetches from this hub and from public places, or with `allow_private` from anywhere.
    pub fn new(hub: &Address, allow_private: bool) -> Result<Self, FetchError> {
        let source = Source::new(hub, allow_private)?;
        Ok(Self {
            source: Arc::new(RwLock::new(source)),
        })
    }

    /// Fetches from the hub at another address from now on, as do all clones.
    pub fn move_to(&self, hub: &Address) -> Result<(), FetchError> {
        let moved = self.source().at(hub)?;
        *self.source.write() = moved;
        Ok(())
    }

    fn source(&self) -> Source {
        self.source.read().clone()
    }

    /// Puts the files of a message into the folder in which the agent works on it.
    pub async fn take(&self, message: &Message, dir: &Path) -> Attached {
        let mut attached = Attached::default();
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

    /// One file: its name, and how large it is.
    async fn store(
        &self,
        folder: &Dir,
        name: &str,
        source: &FileSource,
        room: u64,
    ) -> Result<(String, u64), FetchError> {
        let (file, name) = unique(name, |name| folder.create(name))?;
        let mut part = Part {
            folder,
            name,
            is_whole: false,
        };
        let max = MAX_FILE.min(room);
        let size = timeout(PATIENCE, self.write(file, source, max))
            .await
            .map_err(|_| FetchError::Late(PATIENCE))??;
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

/// The folder of a request, which is new, and its path.
fn prepare(dir: &Path, request: &str) -> io::Result<(Dir, PathBuf)> {
    let all = Dir::open(dir)?.child(FOLDER)?;
    all.ignore()?;
    let ((), name) = unique(&name::safe(request), |name| all.make(name))?;
    Ok((all.child(&name)?, dir.join(FOLDER).join(name)))
}

/// Makes something under this name, or under one like it that is new.
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

/// A file that goes away again unless all of it came.
struct Part<'a> {
    folder: &'a Dir,
    name: String,
    is_whole: bool,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if !self.is_whole
            && let Err(error) = self.folder.remove(self.name.as_ref())
        {
            tracing::warn!(%error, "a part of a file is left");
        }
    }
}
