//! Packs the regular files below a folder. Links are neither followed nor packed. Folders are held open on
//! the way down, so that swapping a folder for a link during packing leads nowhere else.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io::{self, Read, Take},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use tracing::debug;

use jackfield_model::Offer;

use crate::endpoint::{
    bundle::Bundle,
    digest::sha256,
    dir::{Dir, EntryKind},
    excluded,
    limits::{ArchiveLimits, MAX_DEPTH, megabytes},
    omitted::{OmitReason, OmittedEntries},
    tree::{EntryNames, InvalidEntryName},
    work::{CancelFlag, blocking},
    zip::{ZipMeta, ZipWriter},
};

/// Why a folder could not be packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The folder cannot be read.
    #[error("cannot read the folder: {0}")]
    Folder(io::Error),
    /// Too many files or folders.
    #[error("the folder has more than {0} files or folders, which is the limit")]
    TooManyFiles(u64),
    /// The archive would be too large.
    #[error("the archive would have more than {}, which is the limit", megabytes(*.0))]
    TooLarge(u64),
    /// The files are too large, regardless of compression.
    #[error("the files have more than {}, which is the limit", megabytes(*.0))]
    TooMuch(u64),
    /// A file cannot be read to its end.
    #[error("cannot read {0:?}: {1}")]
    File(String, io::Error),
    /// The archive cannot be written.
    #[error("cannot write the archive: {0}")]
    Archive(io::Error),
}

/// Result of [`pack`].
#[derive(Debug)]
pub struct Packed {
    /// The archive; `None` if no file was packed.
    pub bundle: Option<Bundle>,
    /// Entries that were not packed.
    pub omitted: OmittedEntries,
}

/// Packs the regular files below a folder. Links at the top level with names in `ours` are not reported as
/// omitted, because the owner of the folder knows them.
///
/// Not packed: build output (`node_modules`, `target`), version control data (`.git`), other clients'
/// folders, files with secrets (`.env`), and `.attachments`, which came from the caller. A file that grows
/// during packing is packed with its initial size. A file that vanishes is skipped.
///
/// If the future is dropped, the work ends soon. The archive's file is unnamed at all times.
pub async fn pack(
    folder: &Path,
    limits: ArchiveLimits,
    ours: &[OsString],
) -> Result<Packed, PackError> {
    let (folder, ours) = (folder.to_owned(), ours.to_vec());
    blocking(move |wanted| {
        let root = Dir::open(&folder).map_err(PackError::Folder)?;
        let scratch = tempfile::tempfile().map_err(PackError::Archive)?;
        let mut packer = Packer {
            zip: ZipWriter::new(scratch, limits.archive),
            tree: EntryNames::new(limits),
            room: limits.unpacked,
            omitted: OmittedEntries::default(),
            ours,
            limits,
            wanted,
        };
        let names = root.names().map_err(PackError::Folder)?;
        packer.folder(&root, names, "", 0)?;
        packer.finish()
    })
    .await
    .map_err(PackError::Archive)?
}

struct Packer<'a> {
    zip: ZipWriter,
    tree: EntryNames,
    /// Bytes left for files.
    room: u64,
    omitted: OmittedEntries,
    ours: Vec<OsString>,
    limits: ArchiveLimits,
    wanted: &'a CancelFlag,
}

impl Packer<'_> {
    /// Packs the content of a folder. `path` is the folder's path with a trailing slash, or empty.
    fn folder(
        &mut self,
        dir: &Dir,
        mut names: Vec<OsString>,
        path: &str,
        depth: usize,
    ) -> Result<(), PackError> {
        // Equal files produce equal archives, so that a transfer can be resumed after packing again.
        names.sort_unstable();
        for name in names {
            self.wanted.check().map_err(PackError::Archive)?;
            match dir.kind(&name) {
                Ok(Some(EntryKind::File)) if excluded::file(&name) => {
                    self.omit(OmitReason::Never, path, &name, "");
                }
                Ok(Some(EntryKind::File)) => self.file(dir, path, &name)?,
                Ok(Some(EntryKind::Folder)) if excluded::is_silently_excluded(&name) => {}
                Ok(Some(EntryKind::Folder)) if excluded::folder(&name) => {
                    self.omit(OmitReason::Never, path, &name, "/");
                }
                Ok(Some(EntryKind::Folder)) => self.subfolder(dir, path, &name, depth)?,
                Ok(Some(EntryKind::Link)) if path.is_empty() && self.ours.contains(&name) => {}
                Ok(Some(EntryKind::Link)) => self.omit(OmitReason::Link, path, &name, ""),
                Ok(Some(EntryKind::Other)) => self.omit(OmitReason::Special, path, &name, ""),
                // The entry has vanished.
                Ok(None) => {}
                Err(error) => self.leave_out(OmitReason::Unreadable, path, &name, &error),
            }
        }
        Ok(())
    }

    fn subfolder(
        &mut self,
        dir: &Dir,
        path: &str,
        name: &OsStr,
        depth: usize,
    ) -> Result<(), PackError> {
        let Some(text) = name.to_str() else {
            self.leave_out(OmitReason::Name, path, name, &"is no UTF-8");
            return Ok(());
        };
        if depth == MAX_DEPTH {
            self.leave_out(OmitReason::Name, path, name, &InvalidEntryName::Deep);
            return Ok(());
        }
        let opened = dir
            .folder(name)
            .and_then(|inner| inner.names().map(|names| (inner, names)));
        match opened {
            Ok((_, names)) if names.is_empty() => {
                self.omit(OmitReason::Empty, path, name, "/");
                Ok(())
            }
            Ok((inner, names)) => self.folder(&inner, names, &format!("{path}{text}/"), depth + 1),
            // The folder has vanished or was replaced.
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) => {
                self.leave_out(OmitReason::Unreadable, path, name, &error);
                Ok(())
            }
        }
    }

    fn file(&mut self, dir: &Dir, path: &str, name: &OsStr) -> Result<(), PackError> {
        let opened = match dir.read(name) {
            Ok(Some(file)) => file.metadata().map(|meta| (file, meta)),
            // The file has vanished or was replaced.
            Ok(None) => return Ok(()),
            Err(error) => Err(error),
        };
        let (file, meta) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.leave_out(OmitReason::Unreadable, path, name, &error);
                return Ok(());
            }
        };
        let Some(text) = name.to_str() else {
            self.leave_out(OmitReason::Name, path, name, &"is no UTF-8");
            return Ok(());
        };
        let full = format!("{path}{text}");
        match self.tree.file(&full) {
            Ok(()) => self.add(full, file, &meta),
            Err(InvalidEntryName::TooMany) => Err(PackError::TooManyFiles(self.limits.files)),
            Err(why) => {
                self.leave_out(OmitReason::Name, path, name, &why);
                Ok(())
            }
        }
    }

    fn add(&mut self, name: String, file: File, meta: &Metadata) -> Result<(), PackError> {
        let size = meta.len();
        self.room = self
            .room
            .checked_sub(size)
            .ok_or(PackError::TooMuch(self.limits.unpacked))?;
        let told = ZipMeta {
            changed: meta.mtime(),
            is_executable: meta.permissions().mode() & 0o111 != 0,
        };
        let mut content = SourceReader {
            // Bounded, because a file being written may never end.
            file: file.take(size),
            wanted: self.wanted,
            failure: None,
        };
        let added = self.zip.add(&name, told, &mut content);
        match content.failure {
            Some(error) => Err(PackError::File(name, error)),
            None => added.map_err(|error| self.writing(error)),
        }
    }

    fn finish(self) -> Result<Packed, PackError> {
        let Self {
            zip,
            tree,
            omitted,
            limits,
            wanted,
            ..
        } = self;
        if tree.files() == 0 {
            return Ok(Packed {
                bundle: None,
                omitted,
            });
        }
        let file = zip.finish().map_err(|error| writing(error, limits))?;
        let (hash, size) = sha256(&file, wanted).map_err(PackError::Archive)?;
        let offer = Offer::new(size, hash, tree.files());
        Ok(Packed {
            bundle: Some(Bundle::new(file, offer)),
            omitted,
        })
    }

    /// Omits an entry for a general reason. `mark` is a slash for a folder.
    fn omit(&mut self, why: OmitReason, path: &str, name: &OsStr, mark: &str) {
        let named = || format!("{:?}", format!("{path}{}{mark}", name.display()));
        self.omitted.add(why, named);
    }

    /// Omits an entry for a specific reason.
    fn leave_out(
        &mut self,
        kind: OmitReason,
        path: &str,
        name: &OsStr,
        why: &dyn std::fmt::Display,
    ) {
        let named = || format!("{:?} ({why})", format!("{path}{}", name.display()));
        debug!(name = named(), "a file is not packed");
        self.omitted.add(kind, named);
    }

    fn writing(&self, error: io::Error) -> PackError {
        writing(error, self.limits)
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn writing(error: io::Error, limits: ArchiveLimits) -> PackError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => PackError::TooLarge(limits.archive),
        _ => PackError::Archive(error),
    }
}

/// Reader that stores a read error: the zip writer cannot distinguish read errors from write errors.
struct SourceReader<'a> {
    file: Take<File>,
    wanted: &'a CancelFlag,
    failure: Option<io::Error>,
}

impl Read for SourceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wanted.check()?;
        match self.file.read(buffer) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let copy = io::Error::from(error.kind());
                self.failure = Some(error);
                Err(copy)
            }
            done => done,
        }
    }
}
