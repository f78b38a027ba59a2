//! Helpers: folders as comparable lists, and archives as if received.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _, path::Path};

use jackfield_model::Offer;
use jackfield_transfer::{Archive, ArchiveLimits, ArchivePart, Bundle, PackError};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn offer(archive: &[u8], files: u64) -> Offer {
    Offer::new(archive.len() as u64, sha256(archive), files)
}

/// Packs a folder into an archive.
pub(crate) async fn pack(
    folder: &Path,
    limits: ArchiveLimits,
) -> Result<Option<Bundle>, PackError> {
    let packed = jackfield_transfer::pack(folder, limits, &[]).await;
    packed.map(|packed| packed.bundle)
}

/// Returns an archive as if received, with its folder.
pub(crate) async fn received(bytes: &[u8], files: u64) -> (Archive, TempDir) {
    let parts = tempfile::tempdir().unwrap();
    let offer = offer(bytes, files);
    let mut part = ArchivePart::open(parts.path(), &offer, ArchiveLimits::default())
        .await
        .unwrap();
    part.append(bytes).await.unwrap();
    (part.finish().await.unwrap(), parts)
}

/// Lists everything below a folder: files with bytes and executable bit, links with their targets.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    walk(folder, "", &mut found);
    found
}

fn walk(folder: &Path, path: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{path}{}", entry.file_name().display());
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            found.insert(name, format!("link to {}", target.display()));
        } else if kind.is_dir() {
            walk(&entry.path(), &format!("{name}/"), found);
            found.insert(name, "folder".to_owned());
        } else {
            let mode = entry.metadata().unwrap().permissions().mode();
            let mark = if mode & 0o100 == 0 { "file" } else { "program" };
            let content = sha256(&fs::read(entry.path()).unwrap());
            found.insert(name, format!("{mark} {content}"));
        }
    }
}

pub(crate) fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Incompressible bytes.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// A separate runtime. Dropping the runtime waits for all of its blocking work.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().unwrap()
}
