//! Card of a remote: fetching, reading, and choosing the endpoint.
//!
//! The operator may type the base of a server, the base of an agent, or the card's own URL. All tried URLs
//! have the typed origin, so that credentials go to no other server.

#[cfg(test)]
mod tests;

use std::fmt;

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
pub(super) const MAX_CARD: usize = 1 << 20;

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
    #[error("there is no card at {}", TriedUrl::list(.tried))]
    Nowhere {
        /// URLs tried.
        tried: Vec<TriedUrl>,
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

/// A URL that was tried in vain, with the answer of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TriedUrl {
    /// URL, without the query.
    url: String,
    /// Answer of the server, for people.
    answer: String,
}

impl TriedUrl {
    /// Creates the record of an attempt.
    pub(super) fn new(url: &Url, answer: impl fmt::Display) -> Self {
        Self {
            url: shown(url),
            answer: answer.to_string(),
        }
    }

    /// Returns the list for a sentence that begins with "there is nothing at".
    pub(super) fn list(tried: &[Self]) -> String {
        let tried: Vec<_> = tried.iter().map(ToString::to_string).collect();
        tried.join(", nor at ")
    }
}

impl fmt::Display for TriedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.url, self.answer)
    }
}

/// A card that was read, before its signatures are checked.
#[derive(Debug)]
pub(super) struct ReadCard {
    /// Card as received.
    raw: Box<str>,
    /// URL of the card.
    url: Url,
    /// The card's fields.
    pub(super) card: ForeignCard,
    /// Endpoint to call.
    pub(super) endpoint: ChosenEndpoint,
}

impl ReadCard {
    /// Returns the text of the card without a byte order mark, which some editors put before it.
    fn text(&self) -> &str {
        self.raw.trim_start_matches('\u{feff}')
    }

    /// Returns the URL of the card, for display.
    pub(super) fn shown_url(&self) -> String {
        shown(&self.url)
    }

    /// Returns whether a signature of the card names this key, validly or not.
    pub(super) fn is_signed_with(&self, key: &str) -> bool {
        key_ids(&self.card.signatures).iter().any(|it| it == key)
    }
}

/// Places where a card is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CardPlaces {
    /// At the typed URL, below it, and at the root of the server.
    AlsoRoot,
    /// At the typed URL or below it.
    BelowOnly,
}

/// Finds the card of the remote at the operator's `url`.
pub(super) async fn find(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
) -> Result<FoundCard, CardFetchError> {
    let outbound = outbound.trusting([origin_of(url).as_str()])?;
    let read = read_card(&outbound, url, credentials, CardPlaces::AlsoRoot).await?;
    let ChosenEndpoint {
        generation,
        ref place,
        ref warnings,
    } = read.endpoint;
    let (card, mut warnings) = (&read.card, warnings.clone());
    let dropped = card.dropped.iter();
    warnings.extend(dropped.map(|wrong| format!("ignored in the card: {wrong}")));
    if card.wants_credentials && credentials.is_none() {
        warnings.push(WANTS_CREDENTIALS.to_owned());
    }
    let signature = verify(&outbound, url, read.text(), &card.signatures, generation).await;
    Ok(FoundCard {
        place: place.clone(),
        profile: profile_from_card(card),
        signed_with: key_ids(&card.signatures),
        signature,
        warnings,
        url: read.url.into(),
        raw: read.raw,
    })
}

/// Fetches and reads the card of the remote at `url`, whose origin `outbound` trusts.
pub(super) async fn read_card(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
    places: CardPlaces,
) -> Result<ReadCard, CardFetchError> {
    let mut tried = Vec::new();
    for candidate in candidates(url) {
        if candidate.is_elsewhere && places == CardPlaces::BelowOnly {
            continue;
        }
        let raw = match fetch(outbound, &candidate.url, credentials).await? {
            Ok(raw) => raw,
            Err(missing) => {
                tried.push(missing);
                continue;
            }
        };
        let useless = |why| CardFetchError::Useless {
            url: shown(&candidate.url),
            why,
        };
        let text = raw.trim_start_matches('\u{feff}');
        let card = ForeignCard::read(text).map_err(|bad| useless(bad.to_string()))?;
        let origin = CardOrigin {
            typed: url,
            base: &candidate.base,
        };
        let mut endpoint = choose(&card, origin, outbound).await.map_err(useless)?;
        if candidate.is_elsewhere {
            let warning = format!(
                "there is no card at {}; this one is of the whole server, at {}",
                TriedUrl::list(&tried),
                shown(&candidate.url)
            );
            endpoint.warnings.insert(0, warning);
        }
        return Ok(ReadCard {
            raw: raw.into(),
            url: candidate.url,
            card,
            endpoint,
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
pub(super) fn at(typed: &Url, path: &str) -> Url {
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

/// Fetches a card; the inner error is the answer of a server that has no resource at the URL.
async fn fetch(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
) -> Result<Result<String, TriedUrl>, CardFetchError> {
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

/// Returns the headers of a request for JSON, with the operator's credentials.
pub(super) async fn headers(credentials: &Credentials) -> Result<HeaderMap, CardFetchError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    // Without a version header, servers of both versions send a card of the old version, or refuse.
    let newest = HeaderValue::from_static(A2aVersion::V10.name());
    headers.insert(A2aVersion::HEADER, newest);
    let applied = credentials.apply(&mut headers).await;
    applied.map_err(CardFetchError::Credentials)?;
    Ok(headers)
}

/// Returns the text of an answer; the inner error is the answer for a missing resource.
fn text_of(url: &Url, fetched: &FetchResponse) -> Result<Result<String, TriedUrl>, CardFetchError> {
    let (status, shown) = (fetched.status, shown(url));
    match status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::GONE => {
            return Ok(Err(TriedUrl::new(url, status)));
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
    Ok(Ok(text.to_owned()))
}
