//! Saves files that arrived one by one with a reply instead of in an archive, under the rules of archives.
//! Such files cannot be fetched again, so a file with an existing name gets a number instead of being
//! refused.

use std::{fs::File, io, path::Path, time::SystemTime};

use crate::endpoint::{
    limits::ArchiveLimits,
    tree,
    unpack::{ConflictPolicy, UnpackError, Unpacked, unpack_file},
    work::blocking,
    zip::{ZipMeta, ZipWriter},
};

/// Most names tried for one file.
const TRIES: usize = 1_000;

/// A single file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleFile {
    /// Name of the file, chosen by an untrusted peer.
    pub name: String,
    /// Content of the file.
    pub content: Vec<u8>,
}

/// Saves [`SingleFile`] files into a folder, which is created if missing. A name that is invalid in an archive is replaced.
/// An existing name gets a number, unless the existing file has the same content or `clash` allows replacing
/// it.
pub async fn save(
    files: Vec<SingleFile>,
    into: &Path,
    clash: ConflictPolicy,
    limits: ArchiveLimits,
) -> Result<Unpacked, UnpackError> {
    let into = into.to_owned();
    blocking(move |wanted| {
        let mut saved = Unpacked::default();
        for (at, file) in files.iter().enumerate() {
            let name = safe(&file.name).unwrap_or_else(|| format!("file-{}", at + 1));
            let mut number = 1;
            let one = loop {
                let name = numbered(&name, number);
                // Files of this call replace neither each other nor files with a number.
                let clash = match number > 1 || saved.files.contains(&name) {
                    true => ConflictPolicy::Refuse,
                    false => clash,
                };
                let archive = archive(&name, &file.content, limits)?;
                match unpack_file(&archive, 1, &into, clash, limits, wanted) {
                    Err(UnpackError::InTheWay { .. }) if number < TRIES => number += 1,
                    done => break done?,
                }
            };
            if !saved.files.contains(&one.files[0]) {
                saved.bytes += one.bytes;
                saved.files.extend(one.files);
            }
        }
        Ok(saved)
    })
    .await?
}

/// Creates an archive of one file.
fn archive(name: &str, content: &[u8], limits: ArchiveLimits) -> io::Result<File> {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let meta = ZipMeta {
        changed: i64::try_from(now.as_secs()).unwrap_or(0),
        is_executable: false,
    };
    let mut zip = ZipWriter::new(tempfile::tempfile()?, limits.archive);
    zip.add(name, meta, content)?;
    zip.finish()
}

/// Returns the last segment of a path without control characters; `None` if invalid in an archive.
fn safe(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next()?;
    let name: String = last.chars().filter(|c| !c.is_control()).collect();
    tree::check(&name).is_ok().then_some(name)
}

/// Returns the name for number 1, and the name with the number before its extension for higher numbers.
fn numbered(name: &str, number: usize) -> String {
    match (number, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (number, Some((stem, kind))) if !stem.is_empty() => format!("{stem}-{number}.{kind}"),
        (number, _) => format!("{name}-{number}"),
    }
}
