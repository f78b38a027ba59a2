//! The token with which programs that an agent starts are that agent at the hub, and nothing else of its owner's. It lies in
//! a file that only its owner can read, so that it stands in no argument and in no environment.
//!
//! A token of an invite is such a token already. For any other token of the owner's the hub is asked for one, once; it is
//! kept for the next start. Where no token is needed there is none.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use http::Method;
use jackfield_sdk::{Address, Error, Hub, encode};
use rustix::fs::{FlockOperation, flock};
use serde::Deserialize;
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::sync::OnceCell;
use tracing::warn;

use crate::setup::Tokens;

/// What copies of tokens begin with.
const COPY: &str = "token-";
/// A copy that nobody holds and that is older than this was left by a process that was killed. A younger one may be about to
/// be held.
const LEFT: Duration = Duration::from_secs(60);

/// The file of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenFile {
    /// With it one is the agent.
    Own(PathBuf),
    /// With it one is whoever connected the agent.
    Given(PathBuf),
}

/// The token of an agent.
#[derive(Debug)]
pub struct AgentToken {
    tokens: Tokens,
    /// Where a copy of the owner's token lies if there is no other.
    copies: PathBuf,
    agent: String,
    found: OnceCell<Found>,
}

#[derive(Debug)]
enum Found {
    Nothing,
    Own(PathBuf),
    Given(NamedTempFile),
}

#[derive(Deserialize)]
struct Whoami {
    agent: Option<String>,
}

#[derive(Deserialize)]
struct Invite {
    url: String,
}

#[derive(Deserialize)]
struct Taken {
    token: String,
}

impl AgentToken {
    /// For this agent. Tokens of agents are kept in `tokens`, copies of others lie in `copies` as long as they are needed.
    /// Copies that killed processes left are removed.
    pub fn new(tokens: Tokens, copies: impl Into<PathBuf>, agent: impl Into<String>) -> Self {
        let copies = copies.into();
        if let Err(error) = remove_left(&copies) {
            warn!(%error, "copies of tokens that other processes left cannot be removed");
        }
        Self {
            tokens,
            copies,
            agent: agent.into(),
            found: OnceCell::new(),
        }
    }

    /// The file of the token, made when it is first needed.
    pub(crate) async fn file(&self, hub: &Hub) -> Option<TokenFile> {
        let found = self.found.get_or_try_init(|| self.find(hub)).await;
        match found {
            Ok(Found::Nothing) => None,
            Ok(Found::Own(path)) => Some(TokenFile::Own(path.clone())),
            Ok(Found::Given(file)) => Some(TokenFile::Given(file.path().to_owned())),
            Err(error) => {
                warn!(%error, "there is no file for the agent's token");
                None
            }
        }
    }

    async fn find(&self, hub: &Hub) -> io::Result<Found> {
        let address = hub.address();
        let Some(token) = address.token() else {
            return Ok(Found::Nothing);
        };
        match address_of_agent(hub, &self.tokens, &self.agent).await {
            Ok(own) => {
                self.tokens.keep(&own, &self.agent)?;
                Ok(Found::Own(self.tokens.path(&own, &self.agent)))
            }
            Err(error) => {
                warn!(%error, "the hub makes no token for this agent; it cannot call others by `jackfield call`");
                Ok(Found::Given(copy(token, &self.copies)?))
            }
        }
    }
}

/// The hub with a token that is the agent: the one that is shown already, one that was kept, or a new one, which the hub
/// makes as for an invite. A hub that does not know its own address makes none (`unsupported`).
pub async fn address_of_agent(hub: &Hub, tokens: &Tokens, agent: &str) -> Result<Address, Error> {
    let address = hub.address();
    if is_agent(hub, agent).await? {
        return Ok(address);
    }
    if let Ok(Some(kept)) = tokens.find(&address, agent) {
        let kept = address.clone().with_token(kept);
        // One that was revoked, or of a hub from before, is replaced.
        if matches!(is_agent(&Hub::new(kept.clone())?, agent).await, Ok(true)) {
            return Ok(kept);
        }
    }
    let body = json!({ "agent": agent });
    let invite: Invite = hub
        .request(Method::POST, "/v1/invites", Some(&body))
        .await?;
    // Taken where we are, whatever others call the hub.
    let ticket = invite.url.rsplit('/').next().unwrap_or_default();
    let path = format!("/invite/{}", encode(ticket));
    let taken: Taken = hub.request(Method::GET, &path, None::<&()>).await?;
    Ok(address.with_token(taken.token))
}

async fn is_agent(hub: &Hub, agent: &str) -> Result<bool, Error> {
    let whoami: Whoami = hub.get("/v1/whoami").await?;
    Ok(whoami.agent.as_deref() == Some(agent))
}

/// A copy of a token, removed when it is dropped. As long as it is not, it is locked.
fn copy(token: &str, folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::Builder::new().prefix(COPY).tempfile_in(folder)?;
    flock(file.as_file(), FlockOperation::NonBlockingLockExclusive)?;
    writeln!(file, "{token}")?;
    Ok(file)
}

/// Removes copies of tokens that no process holds any more.
fn remove_left(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let is_copy = entry.file_name().to_string_lossy().starts_with(COPY);
        if is_copy && entry.file_type()?.is_file() && is_left(&entry.path()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn is_left(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let modified = file.metadata().and_then(|file| file.modified());
    let is_old = modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= LEFT));
    is_old && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn copies_that_a_killed_process_left_are_removed_and_those_that_are_held_stay() {
        let folder = tempfile::tempdir().unwrap();
        let held = copy("held", folder.path()).unwrap();
        let left = copy("left", folder.path()).unwrap();
        let young = copy("young", folder.path()).unwrap();
        let other = folder.path().join("queue");
        fs::write(&other, "x").unwrap();
        let long_ago = SystemTime::now() - 2 * LEFT;
        for file in [held.as_file(), left.as_file()] {
            file.set_modified(long_ago).unwrap();
        }
        // As after SIGKILL: the lock is gone, the file is not.
        let (left, young) = (left.keep().unwrap().1, young.keep().unwrap().1);
        remove_left(folder.path()).unwrap();
        assert!(held.path().exists());
        assert!(!left.exists());
        assert!(young.exists(), "it may not be locked yet");
        assert!(other.exists());
        remove_left(&folder.path().join("none")).unwrap();
    }
}
