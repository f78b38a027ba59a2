//! Token for programs that an agent starts. With it a program acts as the agent, without further rights of
//! the owner. The token is stored in a file readable by the owner only, never in an argument or in the
//! environment.
//!
//! A token from an invite is such a token already. For any other token of the owner, the hub is asked for an
//! agent token once; the token is stored for the next start. No token is used if the hub needs none.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use http::Method;
use jackfield_sdk::{Error, Hub, HubAddress, encode};
use rustix::fs::{FlockOperation, flock};
use serde::Deserialize;
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::sync::OnceCell;
use tracing::warn;

use crate::setup::TokenStore;

/// Prefix of token copies.
const COPY: &str = "token-";
/// Age after which an unlocked copy counts as left behind by a killed process. A younger copy may not be
/// locked yet.
const LEFT: Duration = Duration::from_secs(60);

/// Path of the token file of an [`AgentToken`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenFile {
    /// Token of the agent itself.
    Agent(PathBuf),
    /// Token of the user who connected the agent.
    Owner(PathBuf),
}

/// Provider of an agent's token file.
#[derive(Debug)]
pub struct AgentToken {
    tokens: TokenStore,
    /// Folder for a copy of the owner's token, used if no agent token is available.
    copies: PathBuf,
    agent: String,
    found: OnceCell<TokenLookup>,
}

#[derive(Debug)]
enum TokenLookup {
    Nothing,
    Own(PathBuf),
    Given(NamedTempFile),
}

#[derive(Deserialize)]
struct WhoamiResponse {
    agent: Option<String>,
}

#[derive(Deserialize)]
struct InviteResponse {
    url: String,
}

#[derive(Deserialize)]
struct InviteToken {
    token: String,
}

impl AgentToken {
    /// Creates a provider for `agent`. Agent tokens are stored in `tokens`; copies of other tokens are in
    /// `copies` while needed. Removes copies that killed processes left behind.
    pub fn new(tokens: TokenStore, copies: impl Into<PathBuf>, agent: impl Into<String>) -> Self {
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

    /// Returns the token file, created on first use.
    pub(crate) async fn file(&self, hub: &Hub) -> Option<TokenFile> {
        let found = self.found.get_or_try_init(|| self.find(hub)).await;
        match found {
            Ok(TokenLookup::Nothing) => None,
            Ok(TokenLookup::Own(path)) => Some(TokenFile::Agent(path.clone())),
            Ok(TokenLookup::Given(file)) => Some(TokenFile::Owner(file.path().to_owned())),
            Err(error) => {
                warn!(%error, "there is no file for the agent's token");
                None
            }
        }
    }

    async fn find(&self, hub: &Hub) -> io::Result<TokenLookup> {
        let address = hub.address();
        let Some(token) = address.token() else {
            return Ok(TokenLookup::Nothing);
        };
        match address_of_agent(hub, &self.tokens, &self.agent).await {
            Ok(own) => {
                self.tokens.store(&own, &self.agent)?;
                Ok(TokenLookup::Own(self.tokens.path(&own, &self.agent)))
            }
            Err(error) => {
                warn!(%error, "the hub makes no token for this agent; it cannot call others by `jackfield call`");
                Ok(TokenLookup::Given(copy(token, &self.copies)?))
            }
        }
    }
}

/// Returns the hub's address with a token that authenticates as the agent: the current token, a stored one,
/// or a new one, which the hub creates as for an invite. A hub that does not know its own address creates
/// none (`unsupported`).
pub async fn address_of_agent(
    hub: &Hub,
    tokens: &TokenStore,
    agent: &str,
) -> Result<HubAddress, Error> {
    let address = hub.address();
    if is_agent(hub, agent).await? {
        return Ok(address);
    }
    if let Ok(Some(kept)) = tokens.find(&address, agent) {
        let kept = address.clone().with_token(kept);
        // A revoked token, or a token of an earlier hub, is replaced.
        if matches!(is_agent(&Hub::new(kept.clone())?, agent).await, Ok(true)) {
            return Ok(kept);
        }
    }
    let body = json!({ "agent": agent });
    let invite: InviteResponse = hub
        .request(Method::POST, "/v1/invites", Some(&body))
        .await?;
    // Use the address that works here; the invite's URL may name the hub differently.
    let ticket = invite.url.rsplit('/').next().unwrap_or_default();
    let path = format!("/invite/{}", encode(ticket));
    let taken: InviteToken = hub.request(Method::GET, &path, None::<&()>).await?;
    Ok(address.with_token(taken.token))
}

async fn is_agent(hub: &Hub, agent: &str) -> Result<bool, Error> {
    let whoami: WhoamiResponse = hub.get("/v1/whoami").await?;
    Ok(whoami.agent.as_deref() == Some(agent))
}

/// Writes a copy of a token, locked while open and removed on drop.
fn copy(token: &str, folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::Builder::new().prefix(COPY).tempfile_in(folder)?;
    flock(file.as_file(), FlockOperation::NonBlockingLockExclusive)?;
    writeln!(file, "{token}")?;
    Ok(file)
}

/// Removes token copies that no process holds.
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
        // As after SIGKILL: the lock is gone, the file remains.
        let (left, young) = (left.keep().unwrap().1, young.keep().unwrap().1);
        remove_left(folder.path()).unwrap();
        assert!(held.path().exists());
        assert!(!left.exists());
        assert!(young.exists(), "it may not be locked yet");
        assert!(other.exists());
        remove_left(&folder.path().join("none")).unwrap();
    }
}
