//! Setup by invite: fetches the invite once and stores its token for later starts.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use jackfield_sdk::{Error, HubAddress, HubTlsError, TlsTrust, encode, try_socket};
use reqwest::{Client, StatusCode, Url, redirect};
use serde::Deserialize;

/// Time limit for a hub's response.
const PATIENCE: Duration = Duration::from_secs(30);
/// Largest response in bytes: a token and three names.
const LARGEST: usize = 64 << 10;

/// Why [`fetch`] cannot use an invite.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The text is not a URL.
    #[error("{0:?} is not the URL of an invite; copy it as `jackfield invite` printed it")]
    Url(String),
    /// The invite was used or has expired.
    #[error("this invite has expired or was used already; make a new one with `jackfield invite`")]
    Gone,
    /// The hub cannot be reached.
    #[error("cannot reach {origin}: {why}; the invite is not used up")]
    Unreachable {
        /// Origin of the invite; the rest of the URL is a secret.
        origin: String,
        /// Cause of the failure.
        why: String,
    },
    /// The connection broke before the response was read.
    #[error(
        "the connection to {origin} broke before it answered: {why}; try again, and if the invite is used up, make a new one"
    )]
    Broken {
        /// Origin of the invite.
        origin: String,
        /// Cause of the failure.
        why: String,
    },
    /// No TLS connection to the hub.
    #[error("no secure connection to {origin}: {why}; the invite is not used up")]
    Tls {
        /// Origin of the invite.
        origin: String,
        /// Cause of the failure.
        why: HubTlsError,
    },
    /// The hub is reachable, but agents cannot attach to it.
    #[error("agents cannot attach at {origin}: {why}; the invite is not used up")]
    NoSocket {
        /// Origin of the invite.
        origin: String,
        /// Error that an attaching agent would receive.
        why: Box<Error>,
    },
    /// The hub responded with an unexpected status.
    #[error("{origin} answered {status} to the invite; try again later")]
    Refused {
        /// Origin of the invite.
        origin: String,
        /// Status of the response.
        status: StatusCode,
    },
    /// The response is not that of an invite.
    #[error("the answer of {origin} is none to an invite: {why}")]
    Unreadable {
        /// Origin of the invite.
        origin: String,
        /// Problem with the response.
        why: String,
    },
}

/// Result of an invite, see [`fetch`].
#[derive(Debug, Clone)]
pub struct Setup {
    /// Id of the agent.
    pub agent_id: String,
    /// Kind of agent, if the inviter set one.
    pub agent_type: Option<String>,
    /// Address of the hub, with the agent's token.
    pub address: HubAddress,
    /// The hub's own address, if agents cannot attach there; [`address`](Self::address) is then the invite's
    /// origin.
    pub misnamed: Option<UnreachableAddress>,
}

/// An address that a hub gives as its own but at which agents cannot attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreachableAddress {
    /// URL of the hub.
    pub url: String,
    /// Why agents cannot attach there.
    pub why: String,
}

#[derive(Deserialize)]
struct SetupResponse {
    agent_id: String,
    token: String,
    agent_type: Option<String>,
    bridge_url: String,
}

/// Uses an invite. `trust` is applied to the hub's certificate. An invite works once: it is used only after a
/// check that agents can attach to the hub, and the caller must store the result; see [`TokenStore`]. If the hub
/// names an address that cannot be reached from here, agents attach at the invite's origin.
pub async fn fetch(url: &str, trust: &TlsTrust) -> Result<Setup, SetupError> {
    let bad = || SetupError::Url(url.to_owned());
    let url = Url::parse(url.trim()).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad());
    }
    let origin = url.origin().ascii_serialization();
    // The URL is the secret.
    let unreachable = |error: reqwest::Error| failed(&origin, &error.without_url());
    let broken = |error: reqwest::Error| {
        if error.is_connect() {
            return unreachable(error);
        }
        SetupError::Broken {
            origin: origin.clone(),
            why: innermost(&error.without_url()),
        }
    };
    let secure = |why| SetupError::Tls {
        origin: origin.clone(),
        why,
    };
    let unreadable = |why: String| SetupError::Unreadable {
        origin: origin.clone(),
        why,
    };
    let reached = attachable(&url, &origin, trust).await?;
    let client = Client::builder()
        .tls_backend_preconfigured(trust.client_config().map_err(secure)?)
        .timeout(PATIENCE)
        .redirect(redirect::Policy::none())
        .build()
        .map_err(unreachable)?;
    let mut response = client.get(url).send().await.map_err(broken)?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Err(SetupError::Gone),
        status => return Err(SetupError::Refused { origin, status }),
    }
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(broken)? {
        body.extend_from_slice(&bytes);
        if body.len() > LARGEST {
            return Err(unreadable(format!("it is larger than {LARGEST} bytes")));
        }
    }
    let answer: SetupResponse =
        serde_json::from_slice(&body).map_err(|error| unreadable(error.to_string()))?;
    let base = base_of(&answer.bridge_url).ok_or_else(|| {
        unreadable("field \"bridge_url\" must be a WebSocket's plain URL".to_owned())
    })?;
    let named = HubAddress::new(&base).map_err(|error| unreadable(error.to_string()))?;
    let (address, misnamed) = choose(named.with_trust(trust.clone()), reached).await;
    Ok(Setup {
        agent_id: answer.agent_id,
        agent_type: answer.agent_type,
        address: address.with_token(answer.token),
        misnamed,
    })
}

/// Chooses the address for agents: the hub's own, or the reached one if the hub's own does not work. The hub
/// at the reached address issued the token, so presenting the token there reveals nothing new.
async fn choose(
    named: HubAddress,
    reached: Option<HubAddress>,
) -> (HubAddress, Option<UnreachableAddress>) {
    let Some(reached) = reached.filter(|reached| reached.base() != named.base()) else {
        return (named, None);
    };
    let Err(error) = try_socket(&named).await else {
        return (named, None);
    };
    let misnamed = UnreachableAddress {
        url: named.base().to_owned(),
        why: innermost(&error),
    };
    (reached, Some(misnamed))
}

/// Checks that agents can attach to the hub of an invite, at `HUB/invite/TICKET`, before the ticket is used.
/// Returns the hub's address; `None` if the invite has a different path, so that the hub is unknown.
async fn attachable(
    invite: &Url,
    origin: &str,
    trust: &TlsTrust,
) -> Result<Option<HubAddress>, SetupError> {
    let mut hub = invite.clone();
    let segments: Vec<_> = hub.path_segments().into_iter().flatten().collect();
    if segments.iter().rev().nth(1) != Some(&"invite") {
        return Ok(None);
    }
    if let Ok(mut path) = hub.path_segments_mut() {
        path.pop().pop();
    }
    hub.set_query(None);
    hub.set_fragment(None);
    let Ok(address) = HubAddress::new(hub.as_str()) else {
        return Ok(None);
    };
    let address = address.with_trust(trust.clone());
    let origin = origin.to_owned();
    match try_socket(&address).await {
        Ok(()) => Ok(Some(address)),
        Err(Error::Tls { why, .. }) => Err(SetupError::Tls { origin, why }),
        Err(Error::Unreachable { source, .. }) => Err(failed(&origin, &*source)),
        Err(other) => Err(SetupError::NoSocket {
            origin,
            why: Box::new(other),
        }),
    }
}

/// Converts a connection error into a [`SetupError`].
fn failed(origin: &str, error: &(dyn std::error::Error + 'static)) -> SetupError {
    let origin = origin.to_owned();
    if let Some(why) = HubTlsError::find(error) {
        return SetupError::Tls { origin, why };
    }
    SetupError::Unreachable {
        origin,
        why: innermost(error),
    }
}

/// Returns the innermost cause of an error.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Returns whether a URL is safe to paste into a shell. Users copy URLs of hubs that anyone may run.
pub fn is_plain_url(url: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/.-_~%[]".contains(&byte);
    url.bytes().all(is_plain)
}

/// Returns the hub's URL for its WebSocket URL: `wss://hub.example/base/ws` belongs to
/// `https://hub.example/base`.
fn base_of(socket: &str) -> Option<String> {
    let socket = Url::parse(socket).ok()?;
    if !matches!(socket.scheme(), "ws" | "wss") || !is_plain_url(socket.as_str()) {
        return None;
    }
    let rest = socket.as_str().strip_prefix("ws")?.trim_end_matches('/');
    let rest = rest.strip_suffix("/ws").unwrap_or(rest);
    Some(format!("http{rest}"))
}

/// Prefix of a token file that is being written.
const UNFINISHED: &str = ".new-";
/// Age after which an unfinished file counts as left behind by a killed process.
const LEFT: Duration = Duration::from_secs(60);

/// Removes unfinished token files of killed processes.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let modified = entry.metadata().and_then(|file| file.modified());
        let is_old = modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= LEFT));
        if is_unfinished && is_old {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Token files of invites, each readable by the owner only, so that later starts need no invite.
#[derive(Debug, Clone)]
pub struct TokenStore {
    dir: PathBuf,
}

impl TokenStore {
    /// Uses the token files in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Stores the token of an agent at a hub. Replaces an earlier token.
    pub fn store(&self, hub: &HubAddress, agent: &str) -> io::Result<()> {
        let Some(token) = hub.token() else {
            return Ok(());
        };
        let path = self.path(hub, agent);
        if let Some(folder) = path.parent() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(folder)?;
        }
        // Written to a temporary file first, so that the old token stays until the new one is complete.
        let folder = path.parent().unwrap_or(&self.dir);
        remove_unfinished(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(folder)?;
        writeln!(file, "{token}")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// Returns the stored token of an agent at a hub.
    pub fn find(&self, hub: &HubAddress, agent: &str) -> io::Result<Option<String>> {
        let path = self.path(hub, agent);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if fs::metadata(&path)?.permissions().mode() & 0o077 != 0 {
            let path = path.display();
            let why = format!("{path} can be read by other users; run `chmod 600 {path}`");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Some(text.trim().to_owned()).filter(|token| !token.is_empty()))
    }

    /// Returns the path of a token file. Both names are encoded, so that they cannot leave the folder;
    /// neither starts with a dot.
    pub fn path(&self, hub: &HubAddress, agent: &str) -> PathBuf {
        let agent = format!("token-{}", encode(agent));
        self.dir.join(encode(hub.base())).join(agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_where_its_socket_is() {
        for (socket, base) in [
            ("ws://127.0.0.1:7411/ws", Some("http://127.0.0.1:7411")),
            (
                "wss://hub.example/base/ws",
                Some("https://hub.example/base"),
            ),
            ("wss://hub.example/ws/", Some("https://hub.example")),
            ("wss://hub.example", Some("https://hub.example")),
            ("http://hub.example/ws", None),
            ("wsx://hub.example/ws", None),
            ("", None),
            // What a shell or a terminal would make something else of.
            ("ws://hub.example/$(id)/ws", None),
            ("ws://hub.example/;id/ws", None),
            ("ws://ann:secret@hub.example/ws", None),
            ("ws://hub.example/ws?token=x", None),
            (
                "ws://hub.example/\u{1b}[2J/ws",
                Some("http://hub.example/%1B[2J"),
            ),
        ] {
            assert_eq!(base_of(socket).as_deref(), base, "{socket}");
        }
    }

    #[test]
    fn what_a_shell_would_read_is_no_plain_url() {
        assert!(is_plain_url("https://hub.example:7411/base/invite/6d1f"));
        for bad in [
            "http://x/$(id)",
            "http://x/;ls",
            "http://x/a b",
            "http://x/\n",
        ] {
            assert!(!is_plain_url(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_token_is_kept_for_its_hub_and_agent_and_for_nobody_elses_eyes() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = TokenStore::new(dir.path().join("tokens"));
        let hub = HubAddress::new("https://hub.example/base").unwrap();
        let other = HubAddress::new("https://other.example").unwrap();
        assert_eq!(tokens.find(&hub, "amy").unwrap(), None);
        for token in ["first", "second"] {
            let hub = hub.clone().with_token(token);
            tokens.store(&hub, "amy").unwrap();
        }
        tokens
            .store(&hub.clone().with_token("x"), "../amy")
            .unwrap();
        assert_eq!(tokens.find(&hub, "amy").unwrap().as_deref(), Some("second"));
        assert_eq!(tokens.find(&other, "amy").unwrap(), None);
        assert_eq!(tokens.find(&hub, "bob").unwrap(), None);
        let path = tokens.path(&hub, "amy");
        // As a process leaves it that was killed before it was done.
        let unfinished = path.with_file_name(".new-7");
        let file = fs::File::create(&unfinished).unwrap();
        file.set_modified(std::time::SystemTime::now() - 2 * LEFT)
            .unwrap();
        tokens
            .store(&hub.clone().with_token("second"), "amy")
            .unwrap();
        assert!(!unfinished.exists());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = tokens.find(&hub, "amy").unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}
