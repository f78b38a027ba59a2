//! Records which token this program sent to the hub, for the advice after a refusal. Also checks the proof
//! that a hub must give before receiving the administrator's token.

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

/// Time limit for the hub's proof, see [`prove`].
const PATIENCE: Duration = Duration::from_secs(5);

/// Token that was sent to the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// An explicitly given token, with its source.
    Given(String),
    /// The agent's own token, which `connect` saved in this file.
    Saved { file: PathBuf },
    /// The administrator's token, from this file.
    Admin { file: PathBuf },
    /// No token, although this file holds the administrator's token, with the reason.
    Withheld { file: PathBuf, why: Unproved },
    /// No token; this file is missing or unreadable.
    Nothing { file: PathBuf },
}

/// Reason for not sending the administrator's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unproved {
    /// No response, or not one of a hub.
    NoAnswer,
    /// A different hub, or a hub that needs no token.
    Other,
    /// The right hub, but behind a proxy that forwards requests unencrypted.
    Between,
}

/// Last recorded token. A command talks to one hub only.
static LAST: Mutex<Option<Shown>> = Mutex::new(None);

/// Records which token was sent; see [`which`] and [`explain`].
pub(crate) fn note(shown: Shown) {
    *LAST.lock() = Some(shown);
}

/// Returns whether the administrator's token was sent.
pub(crate) fn is_admins() -> bool {
    matches!(*LAST.lock(), Some(Shown::Admin { .. }))
}

/// Returns the administrator's token of a data directory, if this user may read the file.
pub(crate) fn admin_token(data_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data_dir.join(ADMIN_TOKEN)).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Describes the sent token, for a user whose token is no longer valid. `None` if no token was sent.
pub(crate) fn which() -> Option<String> {
    match LAST.lock().as_ref()? {
        Shown::Given(from) => Some(format!("the token sent is the one {from}")),
        Shown::Saved { file } => Some(format!(
            "the token sent is the one that connect saved in {}",
            file.display()
        )),
        Shown::Admin { file } => Some(format!(
            "the token sent is the administrator's in {}",
            file.display()
        )),
        Shown::Withheld { .. } | Shown::Nothing { .. } => None,
    }
}

/// Describes the sent token and the next step, for a user who was refused.
pub(crate) fn explain() -> Option<String> {
    LAST.lock().as_ref().map(Shown::explain)
}

impl Shown {
    fn explain(&self) -> String {
        const MAKE: &str = "an admin creates one with: jackfield token create";
        const SHOW: &str = "with --token-file FILE or JACKFIELD_TOKEN";
        match self {
            Self::Given(from) => format!(
                "the token sent is the one {from}; pass one that may do this {SHOW} ({MAKE})"
            ),
            Self::Saved { file } => format!(
                "the token sent is the one that connect saved in {}; pass another {SHOW} ({MAKE})",
                file.display()
            ),
            Self::Admin { file } => format!(
                "the token sent is the administrator's in {}; if it was revoked, stop the hub, remove that file and start the hub: it creates a new one",
                file.display()
            ),
            Self::Withheld { file, why } => {
                let why = match why {
                    Unproved::NoAnswer => "the hub did not answer when asked to prove its identity",
                    Unproved::Other => "the hub did not prove that it uses that data directory",
                    Unproved::Between => {
                        "it would pass unencrypted through a proxy, which could keep it; use https, or the hub's own address (--hub)"
                    }
                };
                format!(
                    "no token was sent: not the administrator's in {}, because {why}\npass another {SHOW} ({MAKE})",
                    file.display()
                )
            }
            Self::Nothing { file } => {
                let dir = file.parent().unwrap_or(file).to_string_lossy();
                format!(
                    "no token was sent: none was given, and there is no administrator's token in {}\non the hub's machine, as its user, JACKFIELD_DATA_DIR=DIR finds it; elsewhere pass one {SHOW} ({MAKE})",
                    shell::word(&dir)
                )
            }
        }
    }
}

/// Asks the [`Hub`] to prove that it holds the administrator's token, and that no proxy in between could take the
/// token.
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
    // A proxy that forwards the question has a different socket address.
    let socket = remote.map(|remote| key.at_socket(nonce, remote));
    if socket.is_some() && socket == proof.socket {
        return Ok(());
    }
    let by_url = key.at_url(nonce, url);
    if by_url.is_none() || by_url != proof.public_url {
        return Err(Unproved::Other);
    }
    // The certificate was checked: only the hub can answer for this URL.
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
        // A relay on a different port, or on the other loopback address, forwards the question.
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
