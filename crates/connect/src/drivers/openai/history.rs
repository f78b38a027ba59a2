//! Conversations with a stateless model: a file each, named by an id that serves as the native session id.
//! Only text is stored. Old messages beyond a model's capacity are dropped whole.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Stored text per conversation, in bytes: about the context size of self-hosted models.
const LONGEST: usize = 256 << 10;
/// Most stored conversations; the least recently used is dropped for a new one.
const MOST: usize = 1000;

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HistoryMessage {
    role: HistoryRole,
    content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HistoryRole {
    User,
    Assistant,
}

impl HistoryMessage {
    /// Creates a message of the caller.
    pub(super) fn user(content: String) -> Self {
        let role = HistoryRole::User;
        Self { role, content }
    }

    /// Creates a message of the model.
    pub(super) fn assistant(content: String) -> Self {
        let role = HistoryRole::Assistant;
        Self { role, content }
    }
}

/// All stored conversations, each a list of [`HistoryMessage`].
#[derive(Debug, Clone)]
pub(super) struct Histories {
    folder: PathBuf,
}

impl Histories {
    /// Uses the conversations in `folder`, which is created when needed.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns an id for a new conversation.
    pub(super) fn new_id() -> String {
        Uuid::new_v4().to_string()
    }

    /// Returns whether an id was created by [`new_id`](Self::new_id), and is therefore valid as a file name.
    pub(super) fn is_id(id: &str) -> bool {
        Uuid::try_parse(id).is_ok_and(|uuid| uuid.to_string() == id)
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Loads the messages of a conversation; empty if the file cannot be read.
    pub(super) async fn load(&self, id: &str) -> Vec<HistoryMessage> {
        let Ok(bytes) = tokio::fs::read(self.file(id)).await else {
            return Vec::new();
        };
        serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            tracing::warn!(%error, "a conversation cannot be read and begins anew");
            Vec::new()
        })
    }

    /// Stores a conversation.
    pub(super) async fn save(&self, id: &str, mut sayings: Vec<HistoryMessage>) -> io::Result<()> {
        trim(&mut sayings, LONGEST);
        let (folder, file) = (self.folder.clone(), self.file(id));
        let bytes = serde_json::to_vec(&sayings)?;
        let saving = tokio::task::spawn_blocking(move || save(&folder, &file, &bytes));
        saving.await.map_err(io::Error::other)?
    }
}

/// Drops the oldest messages, so that the rest fits and starts with the caller.
fn trim(sayings: &mut Vec<HistoryMessage>, longest: usize) {
    let mut len: usize = sayings.iter().map(|saying| saying.content.len()).sum();
    let mut forgotten = 0;
    for saying in sayings.iter() {
        if len <= longest && saying.role == HistoryRole::User {
            break;
        }
        len -= saying.content.len();
        forgotten += 1;
    }
    sayings.drain(..forgotten);
}

/// Replaces a file atomically.
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

    fn pair(words: &str) -> [HistoryMessage; 2] {
        [
            HistoryMessage::user(format!("{words}?")),
            HistoryMessage::assistant(format!("{words}!")),
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
