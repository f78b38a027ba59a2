//! How an agent comes to a hub by an invite: the ticket is fetched once, and what it gave is kept for the next time.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use jackfield_sdk::{Address, Error, TlsError, Trust, encode, try_socket};
use reqwest::{Client, StatusCode, Url, redirect};
use serde::Deserialize;

/// How long a hub may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer: a token and three names.
const LARGEST: usize = 64 << 10;

/// Why an invite cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The text is no URL.
    #[error("{0:?} is not the URL of an invite; copy it as `jackfield invite` printed it")]
    Url(String),
    /// It was used, or is too old.
    #[error("this invite has expired or was used already; make a new one with `jackfield invite`")]
    Gone,
    /// The hub cannot be reached.
    #[error("cannot reach {origin}: {why}; the invite is not used up")]
    Unreachable {
        /// Where the invite leads; the rest of it is a secret.
        origin: String,
        /// Why.
        why: String,
    },
    /// The connection broke before the answer to the invite was read.
    #[error(
        "the connection to {origin} broke before it answered: {why}; try again, and if the invite is used up, make a new one"
    )]
    Broken {
        /// Where the invite leads.
        origin: String,
        /// Why.
        why: String,
    },
    /// There is no TLS connection to the hub.
    #[error("no secure connection to {origin}: {why}; the invite is not used up")]
    Tls {
        /// Where the invite leads.
        origin: String,
        /// Why.
        why: TlsError,
    },
    /// The hub can be reached, and agents cannot attach to it.
    #[error("agents cannot attach at {origin}: {why}; the invite is not used up")]
    NoSocket {
        /// Where the invite leads.
        origin: String,
        /// What an agent that attaches there would be told.
        why: Box<Error>,
    },
    /// It answered something else.
    #[error("{origin} answered {status} to the invite; try again later")]
    Refused {
        /// Where the invite leads.
        origin: String,
        /// What it said.
        status: StatusCode,
    },
    /// The answer is none to an invite.
    #[error("the answer of {origin} is none to an invite: {why}")]
    Unreadable {
        /// Where the invite leads.
        origin: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What an invite gave.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The agent.
    pub agent_id: String,
    /// What kind of agent it is to be, if the inviter said.
    pub agent_type: Option<String>,
    /// The hub, with the agent's token.
    pub address: Address,
    /// What the hub calls itself, if agents cannot attach there: [`address`](Self::address) is then where the invite led.
    pub misnamed: Option<Misnamed>,
}

/// An address that a hub gives as its own, and at which no agent can attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misnamed {
    /// The URL.
    pub url: String,
    /// Why no agent can attach there.
    pub why: String,
}

#[derive(Deserialize)]
struct Answer {
    agent_id: String,
    token: String,
    agent_type: Option<String>,
    bridge_url: String,
}

/// Takes an invite of a hub whose certificate is checked like this. It works once: it is taken only when the hub has shown
/// that agents can attach to it, and what it gives has to be kept; see [`Tokens`]. Where the hub names an address for its
/// agents that cannot be reached from here, they attach where the invite led.
pub async fn fetch(url: &str, trust: &Trust) -> Result<Setup, SetupError> {
    let bad = || SetupError::Url(url.to_owned());
    let url = Url::parse(url.trim()).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad());
    }
    let origin = url.origin().ascii_serialization();
    // The address is the secret.
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
    let answer: Answer =
        serde_json::from_slice(&body).map_err(|error| unreadable(error.to_string()))?;
    let base = base_of(&answer.bridge_url).ok_or_else(|| {
        unreadable("field \"bridge_url\" must be a WebSocket's plain URL".to_owned())
    })?;
    let named = Address::new(&base).map_err(|error| unreadable(error.to_string()))?;
    let (address, misnamed) = choose(named.with_trust(trust.clone()), reached).await;
    Ok(Setup {
        agent_id: answer.agent_id,
        agent_type: answer.agent_type,
        address: address.with_token(answer.token),
        misnamed,
    })
}

/// Where agents attach: at the address that the hub names, or, if that does not work, at the one that did. The hub behind
/// the latter gave the token, so it learns nothing new when it is shown it.
async fn choose(named: Address, reached: Option<Address>) -> (Address, Option<Misnamed>) {
    let Some(reached) = reached.filter(|reached| reached.base() != named.base()) else {
        return (named, None);
    };
    let Err(error) = try_socket(&named).await else {
        return (named, None);
    };
    let misnamed = Misnamed {
        url: named.base().to_owned(),
        why: innermost(&error),
    };
    (reached, Some(misnamed))
}

/// Looks whether agents can attach to the hub of an invite, which is at `HUB/invite/TICKET`, before the ticket is used up.
/// Returns where they can; nothing if the invite is elsewhere, so that it does not tell.
async fn attachable(
    invite: &Url,
    origin: &str,
    trust: &Trust,
) -> Result<Option<Address>, SetupError> {
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
    let Ok(address) = Address::new(hub.as_str()) else {
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

/// Why the hub of an invite cannot be reached.
fn failed(origin: &str, error: &(dyn std::error::Error + 'static)) -> SetupError {
    let origin = origin.to_owned();
    if let Some(why) = TlsError::find(error) {
        return SetupError::Tls { origin, why };
    }
    SetupError::Unreachable {
        origin,
        why: innermost(error),
    }
}

/// The innermost cause of an error.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Whether a shell takes an address as it is: people copy it into one, and the hub may be anybody's.
pub fn is_plain_url(url: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/.-_~%[]".contains(&byte);
    url.bytes().all(is_plain)
}

/// The hub whose WebSocket this is: `wss://hub.example/base/ws` is that of `https://hub.example/base`.
fn base_of(socket: &str) -> Option<String> {
    let socket = Url::parse(socket).ok()?;
    if !matches!(socket.scheme(), "ws" | "wss") || !is_plain_url(socket.as_str()) {
        return None;
    }
    let rest = socket.as_str().strip_prefix("ws")?.trim_end_matches('/');
    let rest = rest.strip_suffix("/ws").unwrap_or(rest);
    Some(format!("http{rest}"))
}

/// What a token's file is called until all of it is written.
const UNFINISHED: &str = ".new-";
/// One that is older than this was left by a process that was killed.
const LEFT: Duration = Duration::from_secs(60);

/// Removes what killed processes left of tokens that they were about to keep.
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

/// The tokens that invites gave, one file each that only its owner may read, so that the next start needs no invite.
#[derive(Debug, Clone)]
pub struct Tokens {
    dir: PathBuf,
}

impl Tokens {
    /// Those in this folder.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Keeps the token of an agent at a hub; one from before is replaced.
    pub fn keep(&self, hub: &Address, agent: &str) -> io::Result<()> {
        let Some(token) = hub.token() else {
            return Ok(());
        };
        let path = self.path(hub, agent);
        if let Some(folder) = path.parent() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(folder)?;
        }
        // Under another name first, so that the old one is there until the new one is.
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

    /// The token of an agent at a hub, if there is one.
    pub fn find(&self, hub: &Address, agent: &str) -> io::Result<Option<String>> {
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

    /// Both names are encoded, so that they lead nowhere else; no name begins with a dot.
    pub fn path(&self, hub: &Address, agent: &str) -> PathBuf {
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
        let tokens = Tokens::new(dir.path().join("tokens"));
        let hub = Address::new("https://hub.example/base").unwrap();
        let other = Address::new("https://other.example").unwrap();
        assert_eq!(tokens.find(&hub, "amy").unwrap(), None);
        for token in ["first", "second"] {
            let hub = hub.clone().with_token(token);
            tokens.keep(&hub, "amy").unwrap();
        }
        tokens.keep(&hub.clone().with_token("x"), "../amy").unwrap();
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
            .keep(&hub.clone().with_token("second"), "amy")
            .unwrap();
        assert!(!unfinished.exists());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = tokens.find(&hub, "amy").unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}
