//! Files that came one by one, with an answer and not as an archive, put into a folder by the rules of archives. They cannot be
//! fetched again, so one whose place is taken gets a number instead of being refused.

use std::{fs::File, io, path::Path, time::SystemTime};

use crate::{
    limits::Limits,
    tree,
    unpack::{Clash, UnpackError, Unpacked, unpack_file},
    work::blocking,
    zip::{Meta, Writer},
};

/// How many names are tried for one file.
const TRIES: usize = 1_000;

/// A file that came by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loose {
    /// Its name, as a stranger chose it.
    pub name: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// Puts files into a folder, which is made if it is not there. A name that could not be in an archive is replaced by another; one
/// that is taken gets a number, unless the file there is the same or may be replaced.
pub async fn save(
    files: Vec<Loose>,
    into: &Path,
    clash: Clash,
    limits: Limits,
) -> Result<Unpacked, UnpackError> {
    let into = into.to_owned();
    blocking(move |wanted| {
        let mut saved = Unpacked::default();
        for (at, file) in files.iter().enumerate() {
            let name = safe(&file.name).unwrap_or_else(|| format!("file-{}", at + 1));
            let mut number = 1;
            let one = loop {
                let name = numbered(&name, number);
                // They do not replace each other, nor what has a number already.
                let clash = match number > 1 || saved.files.contains(&name) {
                    true => Clash::Refuse,
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

/// An archive of one file.
fn archive(name: &str, content: &[u8], limits: Limits) -> io::Result<File> {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let meta = Meta {
        changed: i64::try_from(now.as_secs()).unwrap_or(0),
        is_executable: false,
    };
    let mut zip = Writer::new(tempfile::tempfile()?, limits.archive);
    zip.add(name, meta, content)?;
    zip.finish()
}

/// The last part of a path, without what steers a terminal; nothing if it may not be in an archive.
fn safe(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next()?;
    let name: String = last.chars().filter(|c| !c.is_control()).collect();
    tree::check(&name).is_ok().then_some(name)
}

/// The name itself, then the name with a number before what says what kind of file it is.
fn numbered(name: &str, number: usize) -> String {
    match (number, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (number, Some((stem, kind))) if !stem.is_empty() => format!("{stem}-{number}.{kind}"),
        (number, _) => format!("{name}-{number}"),
    }
}
