//! Which token this program showed the hub, for what it says when it is refused, and the proof that the hub gives before
//! it is shown the administrator's.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use http::Method;
use jackfield_own::proof::{ProofKey, ProofView};
use jackfield_sdk::Hub;
use parking_lot::Mutex;

use jackfield_hub::assembly::ADMIN_TOKEN;

use crate::shell;

/// How long the hub may take to prove itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which token was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// One that was given, and where it is from.
    Given(String),
    /// The agent's own, which `connect` keeps in this file.
    Saved { file: PathBuf },
    /// The administrator's, from this file.
    Admin { file: PathBuf },
    /// None, although this file holds the administrator's: why not.
    Withheld { file: PathBuf, why: Unproved },
    /// None, and this file is not there or cannot be read.
    Nothing { file: PathBuf },
}

/// Why the administrator's token was not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unproved {
    /// Nobody answered, or not as a hub does.
    NoAnswer,
    /// It is another hub, or needs no token.
    Other,
    /// It is the hub, and what was connected to is not: something between them passes requests on, unencrypted.
    Between,
}

/// What was shown last. A command talks to one hub.
static LAST: Mutex<Option<Shown>> = Mutex::new(None);

/// Remembers what was shown.
pub(crate) fn note(shown: Shown) {
    *LAST.lock() = Some(shown);
}

/// Whether the administrator's token was shown.
pub(crate) fn is_admins() -> bool {
    matches!(*LAST.lock(), Some(Shown::Admin { .. }))
}

/// The administrator's token of a data directory, if this user may read it.
pub(crate) fn admin_token(data_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data_dir.join(ADMIN_TOKEN)).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Which token was shown, for somebody whose token is not valid any more. Nothing if none was.
pub(crate) fn which() -> Option<String> {
    match LAST.lock().as_ref()? {
        Shown::Given(from) => Some(format!("the token shown is the one {from}")),
        Shown::Saved { file } => Some(format!(
            "the token shown is the one that connect saved in {}",
            file.display()
        )),
        Shown::Admin { file } => Some(format!(
            "the token shown is the admin's in {}",
            file.display()
        )),
        Shown::Withheld { .. } | Shown::Nothing { .. } => None,
    }
}

/// Which token was shown and what to do, for somebody who was refused.
pub(crate) fn explain() -> Option<String> {
    LAST.lock().as_ref().map(Shown::explain)
}

impl Shown {
    fn explain(&self) -> String {
        const MAKE: &str = "an admin makes one with: jackfield token create";
        const SHOW: &str = "with --token-file FILE or JACKFIELD_TOKEN";
        match self {
            Self::Given(from) => format!(
                "the token shown is the one {from}; show one that may do this {SHOW} ({MAKE})"
            ),
            Self::Saved { file } => format!(
                "the token shown is the one that connect saved in {}; show another {SHOW} ({MAKE})",
                file.display()
            ),
            Self::Admin { file } => format!(
                "the token shown is the admin's in {}; if it was revoked, stop the hub, remove that file and start the hub: it makes another",
                file.display()
            ),
            Self::Withheld { file, why } => {
                let why = match why {
                    Unproved::NoAnswer => "the hub did not answer when asked to prove itself",
                    Unproved::Other => "the hub did not prove that it has that data directory",
                    Unproved::Between => {
                        "it would pass through something that could keep it; use https, or the hub's own address (--hub)"
                    }
                };
                format!(
                    "no token was shown: not the admin's in {}, because {why}\nshow another {SHOW} ({MAKE})",
                    file.display()
                )
            }
            Self::Nothing { file } => {
                let dir = file.parent().unwrap_or(file).to_string_lossy();
                format!(
                    "no token was shown: none was given, and there is no admin's in {}\non the hub's machine, as its user, JACKFIELD_DATA_DIR=DIR finds the admin's; elsewhere show one {SHOW} ({MAKE})",
                    shell::word(&dir)
                )
            }
        }
    }
}

/// Lets the hub prove that it has the administrator's token, and that nobody in between could take it.
pub(crate) async fn prove(hub: &Hub, token: &str) -> Result<(), Unproved> {
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let asked = hub.builder(Method::GET, &format!("/v1/prove?nonce={nonce}"));
    let answer = asked.timeout(PATIENCE).send().await;
    let answer = answer.map_err(|_| Unproved::NoAnswer)?;
    if !answer.status().is_success() {
        return Err(Unproved::Other);
    }
    let remote = answer.remote_addr();
    let proof: ProofView = answer.json().await.map_err(|_| Unproved::Other)?;
    judge(&proof, &nonce, token, hub.address().base(), remote)
}

fn judge(
    proof: &ProofView,
    nonce: &str,
    token: &str,
    url: &str,
    remote: Option<std::net::SocketAddr>,
) -> Result<(), Unproved> {
    let key = ProofKey::new(token);
    // Who passes a question on has another socket than the hub.
    let socket = remote.map(|remote| key.at_socket(nonce, remote));
    if socket.is_some() && socket == proof.socket {
        return Ok(());
    }
    let by_url = key.at_url(nonce, url);
    if by_url.is_none() || by_url != proof.public_url {
        return Err(Unproved::Other);
    }
    // A certificate was checked: nobody else can pass for this URL.
    if url.starts_with("https://") {
        Ok(())
    } else {
        Err(Unproved::Between)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "0123456789abcdef0123456789abcdef";

    fn proof(key: &str, socket: &str, url: Option<&str>) -> ProofView {
        let key = ProofKey::new(key);
        ProofView {
            socket: Some(key.at_socket(NONCE, socket.parse().unwrap())),
            public_url: url.and_then(|url| key.at_url(NONCE, url)),
        }
    }

    #[test]
    fn the_token_goes_to_the_hubs_own_socket_and_to_its_certified_url_only() {
        let judge = |proof: &ProofView, url: &str, remote: &str| {
            judge(proof, NONCE, "secret", url, Some(remote.parse().unwrap()))
        };
        let (here, there) = ("127.0.0.1:7411", "127.0.0.1:9");
        let direct = proof("secret", here, None);
        assert_eq!(judge(&direct, "http://localhost:7411", here), Ok(()));
        // Somebody on another port, or on the other loopback address, passes the question on.
        for relay in [there, "[::1]:7411"] {
            let judged = judge(&direct, "http://localhost:7411", relay);
            assert_eq!(judged, Err(Unproved::Other), "{relay}");
        }
        let known = proof("secret", here, Some("https://hub.lan"));
        assert_eq!(judge(&known, "https://hub.lan/", there), Ok(()));
        let other = judge(&known, "https://evil.example", there);
        assert_eq!(other, Err(Unproved::Other));
        let plain = proof("secret", here, Some("http://hub.lan"));
        let judged = judge(&plain, "http://hub.lan", there);
        assert_eq!(judged, Err(Unproved::Between));
        let another = proof("guess", here, Some("https://hub.lan"));
        assert_eq!(
            judge(&another, "https://hub.lan", here),
            Err(Unproved::Other)
        );
    }
}
