//! Card of a remote: fetching, reading, and choosing the endpoint.
//!
//! The operator may type the base of a server, the base of an agent, or the card's own URL. All tried URLs
//! have the typed origin, so that credentials go to no other server.

mod servers;
#[cfg(test)]
mod tests;

pub(super) use self::servers::describe;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use jackfield_core::agent::Profile;
use jackfield_kit::outbound::{FetchResponse, Outbound, OutboundError, Url, origin_of};

use super::{
    RemoteEndpoint,
    choose::{CardOrigin, ChosenEndpoint, choose},
    credentials::Credentials,
    profile::profile_from_card,
    verify::{SignatureCheck, key_ids, verify},
};
use crate::wire::{
    card::{ForeignCard, OLD_PATH, PATH},
    official::A2aVersion,
};

/// Largest card in bytes.
const MAX_CARD: usize = 1 << 20;

/// Warning about a server that demands credentials.
const WANTS_CREDENTIALS: &str = "the card says that callers must show credentials (securityRequirements), and none were given: \
     --bearer-env VAR, --bearer-file FILE or --header NAME=env:VAR";

/// Card of a remote, with the facts derived from the card.
#[derive(Debug, Clone)]
pub(super) struct FoundCard {
    /// Card as received.
    pub(super) raw: Box<str>,
    /// URL of the card.
    pub(super) url: String,
    /// Endpoint to call.
    pub(super) place: RemoteEndpoint,
    /// Agent's profile from the card.
    pub(super) profile: Profile,
    /// Result of the signature check.
    pub(super) signature: SignatureCheck,
    /// Ids of the keys named by signatures, valid or not.
    pub(super) signed_with: Vec<String>,
    /// Warnings for the operator.
    pub(super) warnings: Vec<String>,
}

/// Error while fetching or reading a card.
#[derive(Debug, thiserror::Error)]
pub(super) enum CardFetchError {
    /// The server does not answer, or a rule of the hub forbids the request.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// A secret for the server is missing.
    #[error("cannot present credentials: {0}")]
    Credentials(String),
    /// The server demands credentials, or different ones.
    #[error(
        "{url} is not for us: the server answers {status}; say what it is shown, as with --bearer-env VAR or --bearer-file FILE"
    )]
    Denied {
        /// URL of the card.
        url: String,
        /// Status 401 or 403.
        status: StatusCode,
    },
    /// The server answers, but has no card.
    #[error("there is no card at {}", .tried.join(", nor at "))]
    Nowhere {
        /// URLs tried.
        tried: Vec<String>,
    },
    /// The server redirects. The operator decides on the new URL.
    #[error("{url} redirects to {to}, which is not followed; add that URL if it is right")]
    Redirected {
        /// URL of the request.
        url: String,
        /// Target of the redirect.
        to: String,
    },
    /// The server answered with an unexpected status.
    #[error("{url} answers {status}")]
    Status {
        /// URL of the request.
        url: String,
        /// Status of the answer.
        status: StatusCode,
    },
    /// The answer is larger than [`MAX_CARD`].
    #[error("{url} is larger than 1 MiB, too large for a card")]
    TooLarge {
        /// URL of the card.
        url: String,
    },
    /// The connection broke during the answer.
    #[error("{url} breaks off after {bytes} bytes")]
    Cut {
        /// URL of the card.
        url: String,
        /// Number of bytes received.
        bytes: usize,
    },
    /// The card belongs to this hub itself.
    #[error("the card at {url} is one of this hub's own: a hub does not dial itself")]
    Itself {
        /// URL of the card.
        url: String,
    },
    /// The answer is not a card, or the card names no endpoint that can be called.
    #[error("the card at {url} is of no use: {why}")]
    Useless {
        /// URL of the card.
        url: String,
        /// Problem of the card.
        why: String,
    },
}

impl CardFetchError {
    /// Returns true if the operator must act: retrying alone does not help.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Outbound(error) => error.is_refusal(),
            Self::Cut { .. } => false,
            Self::Status { status, .. } => {
                !status.is_server_error() && *status != StatusCode::TOO_MANY_REQUESTS
            }
            Self::Credentials(_)
            | Self::Denied { .. }
            | Self::Nowhere { .. }
            | Self::Redirected { .. }
            | Self::TooLarge { .. }
            | Self::Itself { .. }
            | Self::Useless { .. } => true,
        }
    }
}

/// Finds the card of the remote at the operator's `url`.
pub(super) async fn find(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
) -> Result<FoundCard, CardFetchError> {
    let outbound = outbound.trusting([origin_of(url).as_str()])?;
    let mut tried = Vec::new();
    for candidate in candidates(url) {
        let Some(raw) = fetch(&outbound, &candidate.url, credentials).await? else {
            tried.push(shown(&candidate.url));
            continue;
        };
        let useless = |why| CardFetchError::Useless {
            url: shown(&candidate.url),
            why,
        };
        // Some editors put a byte order mark before the text.
        let text = raw.trim_start_matches('\u{feff}');
        let card = ForeignCard::read(text).map_err(|bad| useless(bad.to_string()))?;
        let origin = CardOrigin {
            typed: url,
            base: &candidate.base,
        };
        let choice = choose(&card, origin, &outbound).await.map_err(useless)?;
        let mut warnings = Vec::new();
        if candidate.is_elsewhere {
            warnings.push(format!(
                "there is no card at {}; this one is of the whole server, at {}",
                tried.join(" nor at "),
                shown(&candidate.url)
            ));
        }
        let ChosenEndpoint {
            place,
            generation,
            warnings: more,
        } = choice;
        warnings.extend(more);
        let dropped = card.dropped.iter();
        warnings.extend(dropped.map(|wrong| format!("ignored in the card: {wrong}")));
        if card.wants_credentials && credentials.is_none() {
            warnings.push(WANTS_CREDENTIALS.to_owned());
        }
        let signature = verify(&outbound, url, text, &card.signatures, generation).await;
        return Ok(FoundCard {
            url: candidate.url.into(),
            place,
            profile: profile_from_card(&card),
            signed_with: key_ids(&card.signatures),
            signature,
            warnings,
            raw: raw.into(),
        });
    }
    Err(CardFetchError::Nowhere { tried })
}

/// Possible URL of a card.
#[derive(Debug, PartialEq, Eq)]
struct CardCandidate {
    url: Url,
    /// Base for relative URLs in the card.
    base: Url,
    /// True if the URL is not below the typed URL.
    is_elsewhere: bool,
}

/// Returns the possible URLs of the card, most likely first.
fn candidates(typed: &Url) -> Vec<CardCandidate> {
    let path = typed.path().trim_end_matches('/');
    let is_card = path.ends_with(".json");
    let mut found: Vec<CardCandidate> = Vec::new();
    let mut add = |url: Url, is_elsewhere| {
        if found.iter().all(|known| known.url != url) {
            found.push(CardCandidate {
                base: base_of(&url),
                url,
                is_elsewhere,
            });
        }
    };
    if is_card {
        add(at(typed, path), false);
    } else {
        add(at(typed, &format!("{path}{PATH}")), false);
        add(at(typed, &format!("{path}{OLD_PATH}")), false);
    }
    if !path.is_empty() {
        add(at(typed, PATH), true);
        add(at(typed, OLD_PATH), true);
    }
    found
}

/// Returns the URL with a different path, without a fragment.
fn at(typed: &Url, path: &str) -> Url {
    let mut url = typed.clone();
    url.set_path(path);
    url.set_fragment(None);
    url
}

/// Returns the base for relative URLs in a card: the agent's address, not the folder of the card.
fn base_of(card: &Url) -> Url {
    match card.path().rfind("/.well-known/") {
        Some(end) => {
            let mut base = at(card, &card.path()[..=end]);
            base.set_query(None);
            base
        }
        None => card.clone(),
    }
}

/// Formats a URL for display, without the query, which may contain a secret.
fn shown(url: &Url) -> String {
    format!("{}{}", origin_of(url), url.path())
}

/// Fetches a card. Returns `None` if the server has no resource at the URL.
async fn fetch(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
) -> Result<Option<String>, CardFetchError> {
    let headers = headers(credentials).await?;
    let mut fetched = outbound
        .fetch(url.as_str(), headers.clone(), MAX_CARD)
        .await?;
    if fetched.status == StatusCode::UNAUTHORIZED {
        // A fetched token may have expired. Retry only with changed credentials.
        credentials.refused();
        let fresh = self::headers(credentials).await?;
        if fresh != headers {
            fetched = outbound.fetch(url.as_str(), fresh, MAX_CARD).await?;
        }
    }
    text_of(url, &fetched)
}

async fn headers(credentials: &Credentials) -> Result<HeaderMap, CardFetchError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    // Without a version header, servers of both versions send a card of the old version, or refuse.
    let newest = HeaderValue::from_static(A2aVersion::V10.name());
    headers.insert(A2aVersion::HEADER, newest);
    let applied = credentials.apply(&mut headers).await;
    applied.map_err(CardFetchError::Credentials)?;
    Ok(headers)
}

/// Returns the text of an answer; `None` for a missing resource.
fn text_of(url: &Url, fetched: &FetchResponse) -> Result<Option<String>, CardFetchError> {
    let (status, shown) = (fetched.status, shown(url));
    match status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::GONE => {
            return Ok(None);
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Err(CardFetchError::Denied { url: shown, status });
        }
        _ => {
            let location = fetched.headers.get(header::LOCATION);
            let location = location.filter(|_| status.is_redirection());
            return Err(match location.and_then(|to| to.to_str().ok()) {
                Some(to) => CardFetchError::Redirected {
                    to: url
                        .join(to)
                        .map_or_else(|_| to.to_owned(), |to| self::shown(&to)),
                    url: shown,
                },
                None => CardFetchError::Status { url: shown, status },
            });
        }
    }
    if !fetched.is_whole {
        let bytes = fetched.body.len();
        return Err(if bytes >= MAX_CARD {
            CardFetchError::TooLarge { url: shown }
        } else {
            CardFetchError::Cut { url: shown, bytes }
        });
    }
    let text = std::str::from_utf8(&fetched.body).map_err(|_| CardFetchError::Useless {
        url: shown,
        why: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some(text.to_owned()))
}
