//! The agent's own ids of its conversations, on disk, so that a reconnected agent continues them. One small
//! file per hub, agent and kind of driver, readable by the owner only.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use jackfield_sdk::encode;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// Most conversations that are stored; the least recently used are dropped. The agents themselves store
/// conversations for weeks.
const MOST: usize = 1000;

/// The stored conversations of one agent.
#[derive(Debug)]
pub struct Sessions {
    file: PathBuf,
    stored: Mutex<StoredSessions>,
}

/// Content of the file; the most recently used conversation is last.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredSessions {
    sessions: Vec<SessionMapping>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SessionMapping {
    session: String,
    native: String,
}

impl Sessions {
    /// Opens the conversations of an agent at a hub, in `folder`. Starts empty if the file cannot be parsed.
    pub fn open(folder: &Path, hub: &str, agent: &str, kind: &str) -> io::Result<Self> {
        // Both names are safe in a path: the hub's is encoded, an agent's id has no slash and no leading dot.
        let folder = folder.join(encode(hub));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        let file = folder.join(format!("{agent}.{kind}.json"));
        let kept = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(file = %file.display(), %error, "the conversations cannot be read; beginning anew");
                StoredSessions::default()
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => StoredSessions::default(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            file,
            stored: Mutex::new(kept),
        })
    }

    /// Returns the agent's own id of a conversation.
    pub fn native_id(&self, session: &str) -> Option<String> {
        let kept = self.stored.lock();
        let pair = kept.sessions.iter().find(|pair| pair.session == session);
        pair.map(|pair| pair.native.clone())
    }

    /// Stores the agent's own id of a conversation. If writing fails, the id is known until the program ends.
    pub fn store(&self, session: &str, native: &str) {
        let pair = SessionMapping {
            session: session.to_owned(),
            native: native.to_owned(),
        };
        let mut kept = self.stored.lock();
        if kept.sessions.last() == Some(&pair) {
            return;
        }
        kept.sessions.retain(|other| other.session != pair.session);
        kept.sessions.push(pair);
        let too_many = kept.sessions.len().saturating_sub(MOST);
        kept.sessions.drain(..too_many);
        if let Err(error) = self.save(&kept) {
            tracing::warn!(file = %self.file.display(), %error, "a conversation will not outlive this program");
        }
    }

    /// Writes a temporary file and renames it, so that a killed process leaves the old file or the new one.
    fn save(&self, kept: &StoredSessions) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let mut new = NamedTempFile::new_in(folder)?;
        new.write_all(&serde_json::to_vec(kept)?)?;
        new.as_file().sync_all()?;
        new.persist(&self.file)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn open(folder: &Path) -> Sessions {
        Sessions::open(folder, "http://127.0.0.1:7411", "bob", "claude").unwrap()
    }

    #[test]
    fn conversations_are_known_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = open(folder.path());
        assert_eq!(sessions.native_id("a"), None);
        sessions.store("a", "n1");
        sessions.store("b", "n2");
        sessions.store("a", "n3");
        let again = open(folder.path());
        assert_eq!(again.native_id("a").as_deref(), Some("n3"));
        assert_eq!(again.native_id("b").as_deref(), Some("n2"));
        let mode = fs::metadata(&again.file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let other = Sessions::open(folder.path(), "http://x", "bob", "claude").unwrap();
        assert_eq!(other.native_id("a"), None, "another hub's are others");
    }

    #[test]
    fn only_so_many_are_kept_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = StoredSessions::default();
        kept.sessions.extend((0..MOST).map(|number| SessionMapping {
            session: number.to_string(),
            native: "n".to_owned(),
        }));
        let sessions = open(folder.path());
        *sessions.stored.lock() = kept;
        sessions.store("0", "n");
        sessions.store("new", "n");
        let again = open(folder.path());
        assert_eq!(again.stored.lock().sessions.len(), MOST);
        assert_eq!(again.native_id("1"), None);
        assert!(again.native_id("0").is_some() && again.native_id("new").is_some());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = open(folder.path());
        fs::write(&sessions.file, "{").unwrap();
        let sessions = open(folder.path());
        sessions.store("a", "n");
        assert_eq!(open(folder.path()).native_id("a").as_deref(), Some("n"));
    }
}
