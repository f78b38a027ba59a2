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
pub(crate) enum SentToken {
    /// An explicitly given token, with its source.
    Given(String),
    /// The agent's own token, which `connect` saved in this file.
    Saved { file: PathBuf },
    /// The administrator's token, from this file.
    Admin { file: PathBuf },
    /// No token, although this file holds the administrator's token, with the reason.
    Withheld { file: PathBuf, why: ProofFailure },
    /// No token; this file is missing or unreadable.
    Nothing { file: PathBuf },
}

/// Reason for not sending the administrator's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProofFailure {
    /// No response, or not one of a hub.
    NoAnswer,
    /// A different hub, or a hub that needs no token.
    Other,
    /// The right hub, but behind a proxy that forwards requests unencrypted.
    Between,
}

/// Last recorded token. A command talks to one hub only.
static LAST: Mutex<Option<SentToken>> = Mutex::new(None);

/// Records which token was sent; see [`describe`] and [`explain`].
pub(crate) fn record(shown: SentToken) {
    *LAST.lock() = Some(shown);
}

/// Returns whether the administrator's token was sent.
pub(crate) fn is_admin_token() -> bool {
    matches!(*LAST.lock(), Some(SentToken::Admin { .. }))
}

/// Returns the administrator's token of a data directory, if this user may read the file.
pub(crate) fn admin_token(data_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data_dir.join(ADMIN_TOKEN)).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Describes the sent token, for a user whose token is no longer valid. `None` if no token was sent.
pub(crate) fn describe() -> Option<String> {
    match LAST.lock().as_ref()? {
        SentToken::Given(from) => Some(format!("the token sent is the one {from}")),
        SentToken::Saved { file } => Some(format!(
            "the token sent is the one that connect saved in {}",
            file.display()
        )),
        SentToken::Admin { file } => Some(format!(
            "the token sent is the administrator's in {}",
            file.display()
        )),
        SentToken::Withheld { .. } | SentToken::Nothing { .. } => None,
    }
}

/// Describes the sent token and the next step, for a user who was refused.
pub(crate) fn explain() -> Option<String> {
    LAST.lock().as_ref().map(SentToken::explain)
}

impl SentToken {
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
                    ProofFailure::NoAnswer => {
                        "the hub did not answer when asked to prove its identity"
                    }
                    ProofFailure::Other => "the hub did not prove that it uses that data directory",
                    ProofFailure::Between => {
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
pub(crate) async fn prove(hub: &Hub, token: &str) -> Result<(), ProofFailure> {
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let asked = hub.builder(Method::GET, &format!("/v1/prove?nonce={nonce}"));
    let answer = asked.timeout(PATIENCE).send().await;
    let answer = answer.map_err(|_| ProofFailure::NoAnswer)?;
    if !answer.status().is_success() {
        return Err(ProofFailure::Other);
    }
    let remote = answer.remote_addr();
    let proof: ProofView = answer.json().await.map_err(|_| ProofFailure::Other)?;
    check_proof(&proof, &nonce, token, hub.address().base(), remote)
}

fn check_proof(
    proof: &ProofView,
    nonce: &str,
    token: &str,
    url: &str,
    remote: Option<std::net::SocketAddr>,
) -> Result<(), ProofFailure> {
    let key = ProofKey::new(token);
    // A proxy that forwards the question has a different socket address.
    let socket = remote.map(|remote| key.at_socket(nonce, remote));
    if socket.is_some() && socket == proof.socket {
        return Ok(());
    }
    let by_url = key.at_url(nonce, url);
    if by_url.is_none() || by_url != proof.public_url {
        return Err(ProofFailure::Other);
    }
    // The certificate was checked: only the hub can answer for this URL.
    if url.starts_with("https://") {
        Ok(())
    } else {
        Err(ProofFailure::Between)
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
            check_proof(proof, NONCE, "secret", url, Some(remote.parse().unwrap()))
        };
        let (here, there) = ("127.0.0.1:7411", "127.0.0.1:9");
        let direct = proof("secret", here, None);
        assert_eq!(judge(&direct, "http://localhost:7411", here), Ok(()));
        // A relay on a different port, or on the other loopback address, forwards the question.
        for relay in [there, "[::1]:7411"] {
            let judged = judge(&direct, "http://localhost:7411", relay);
            assert_eq!(judged, Err(ProofFailure::Other), "{relay}");
        }
        let known = proof("secret", here, Some("https://hub.lan"));
        assert_eq!(judge(&known, "https://hub.lan/", there), Ok(()));
        let other = judge(&known, "https://evil.example", there);
        assert_eq!(other, Err(ProofFailure::Other));
        let plain = proof("secret", here, Some("http://hub.lan"));
        let judged = judge(&plain, "http://hub.lan", there);
        assert_eq!(judged, Err(ProofFailure::Between));
        let another = proof("guess", here, Some("https://hub.lan"));
        assert_eq!(
            judge(&another, "https://hub.lan", here),
            Err(ProofFailure::Other)
        );
    }
}
