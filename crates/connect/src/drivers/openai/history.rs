//! Conversations with a model that remembers nothing: a file each, named by an id of our own that is kept as the native
//! session. Only words are kept. What is older than a model can make use of is forgotten, whole sayings at a time.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// How much of a conversation is kept, in bytes of words: about what the models that people run themselves can hold.
const LONGEST: usize = 256 << 10;
/// How many conversations are kept; the one that was quiet for longest is forgotten for a new one.
const MOST: usize = 1000;

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saying {
    role: Role,
    content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

impl Saying {
    /// The caller said it.
    pub(super) fn user(content: String) -> Self {
        let role = Role::User;
        Self { role, content }
    }

    /// The model said it.
    pub(super) fn assistant(content: String) -> Self {
        let role = Role::Assistant;
        Self { role, content }
    }
}

/// All conversations.
#[derive(Debug, Clone)]
pub(super) struct Histories {
    folder: PathBuf,
}

impl Histories {
    /// Those in this folder, which is made when it is needed.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// An id for a new conversation.
    pub(super) fn new_id() -> String {
        Uuid::new_v4().to_string()
    }

    /// Whether this is an id that was made here, and so the name of a file.
    pub(super) fn is_id(id: &str) -> bool {
        Uuid::try_parse(id).is_ok_and(|uuid| uuid.to_string() == id)
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// What was said in a conversation. One that cannot be read begins anew.
    pub(super) async fn load(&self, id: &str) -> Vec<Saying> {
        let Ok(bytes) = tokio::fs::read(self.file(id)).await else {
            return Vec::new();
        };
        serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            tracing::warn!(%error, "a conversation cannot be read and begins anew");
            Vec::new()
        })
    }

    /// Keeps a conversation.
    pub(super) async fn save(&self, id: &str, mut sayings: Vec<Saying>) -> io::Result<()> {
        trim(&mut sayings, LONGEST);
        let (folder, file) = (self.folder.clone(), self.file(id));
        let bytes = serde_json::to_vec(&sayings)?;
        let saving = tokio::task::spawn_blocking(move || save(&folder, &file, &bytes));
        saving.await.map_err(io::Error::other)?
    }
}

/// Forgets the oldest sayings, so that the rest begins with the caller.
fn trim(sayings: &mut Vec<Saying>, longest: usize) {
    let mut len: usize = sayings.iter().map(|saying| saying.content.len()).sum();
    let mut forgotten = 0;
    for saying in sayings.iter() {
        if len <= longest && saying.role == Role::User {
            break;
        }
        len -= saying.content.len();
        forgotten += 1;
    }
    sayings.drain(..forgotten);
}

/// Writes a file that is either the old one or the new one, whatever happens.
fn save(folder: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut make = fs::DirBuilder::new();
    make.recursive(true).mode(0o700).create(folder)?;
    if !file.exists() {
        forget_oldest(folder)?;
    }
    let new = file.with_extension("new");
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut writing = options.open(&new)?;
    writing.write_all(bytes)?;
    writing.sync_all()?;
    fs::rename(&new, file)
}

fn forget_oldest(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            files.push((entry.metadata()?.modified()?, path));
        }
    }
    files.sort();
    let surplus = (files.len() + 1).saturating_sub(MOST);
    for (_, path) in files.drain(..surplus) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn pair(words: &str) -> [Saying; 2] {
        [
            Saying::user(format!("{words}?")),
            Saying::assistant(format!("{words}!")),
        ]
    }

    #[tokio::test]
    async fn a_conversation_is_kept_for_whoever_comes_later_and_for_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("a/b");
        let id = Histories::new_id();
        let said = [pair("one"), pair("two")].concat();
        let before = Histories::new(folder.clone());
        assert_eq!(before.load(&id).await, []);
        before.save(&id, said.clone()).await.unwrap();
        let after = Histories::new(folder.clone());
        assert_eq!(after.load(&id).await, said);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&after.file(&id)), 0o600);
        assert_eq!(mode(&folder), 0o700);
        fs::write(after.file(&id), "{half").unwrap();
        assert_eq!(after.load(&id).await, []);
    }

    #[test]
    fn what_is_too_old_is_forgotten_and_the_rest_begins_with_the_caller() {
        let mut said = [pair("a"), pair("b"), pair("c")].concat();
        trim(&mut said, 12);
        assert_eq!(said.len(), 6);
        trim(&mut said, 7);
        assert_eq!(said, pair("c"));
        trim(&mut said, 1);
        assert_eq!(said, []);
    }

    #[test]
    fn only_ids_of_our_own_are_names_of_files() {
        assert!(Histories::is_id(&Histories::new_id()));
        for bad in ["", "../x", "a/b", "0192B3C4-0000-7000-8000-00000000000A"] {
            assert!(!Histories::is_id(bad), "{bad}");
        }
    }
}
