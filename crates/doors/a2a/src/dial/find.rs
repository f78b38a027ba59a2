//! The card of a remote: where it is, what it says, and which of the places that it names is called.
//!
//! What the operator typed may be the base of a server, the base of one agent there, or the card itself. All places that
//! are tried are of the typed origin, so that credentials go nowhere else.

mod servers;
#[cfg(test)]
mod tests;

pub(super) use self::servers::describe;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use jackfield_core::agent::Profile;
use jackfield_kit::outbound::{Fetched, Outbound, OutboundError, Url, origin_of};

use super::{
    Place,
    choose::{Choice, Origin, choose},
    credentials::Credentials,
    profile::profile_from_card,
    verify::{Signed, key_ids, verify},
};
use crate::wire::{
    card::{ForeignCard, OLD_PATH, PATH},
    official::Version,
};

/// The largest card that is read.
const MAX_CARD: usize = 1 << 20;

/// What people should know of a server that will not let the hub in.
const WANTS_CREDENTIALS: &str = "the card says that callers must show credentials (securityRequirements), and none were given: \
     --bearer-env VAR, --bearer-file FILE or --header NAME=env:VAR";

/// What was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The card as it came.
    pub(super) raw: Box<str>,
    /// Where it was.
    pub(super) url: String,
    /// Where the remote is called.
    pub(super) place: Place,
    /// What it says of itself.
    pub(super) profile: Profile,
    /// Who vouches for the card.
    pub(super) signature: Signed,
    /// The keys that its signatures name, be they valid or not.
    pub(super) signed_with: Vec<String>,
    /// What people should know.
    pub(super) warnings: Vec<String>,
}

/// Why there is no card, or none that is of use.
#[derive(Debug, thiserror::Error)]
pub(super) enum CardTrouble {
    /// Nothing comes back, or our own rules forbid to ask.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// There is nothing to show to the server.
    #[error("cannot present credentials: {0}")]
    Credentials(String),
    /// The server wants credentials, or others.
    #[error(
        "{url} is not for us: the server answers {status}; say what it is shown, as with --bearer-env VAR or --bearer-file FILE"
    )]
    Denied {
        /// The card.
        url: String,
        /// 401 or 403.
        status: StatusCode,
    },
    /// The server answers, but has no card.
    #[error("there is no card at {}", .tried.join(", nor at "))]
    Nowhere {
        /// Where it was looked for.
        tried: Vec<String>,
    },
    /// The card is elsewhere, which is for the operator to judge.
    #[error("{url} redirects to {to}, which is not followed; add that URL if it is right")]
    Redirected {
        /// Where it was asked for.
        url: String,
        /// Where that leads.
        to: String,
    },
    /// Something else than a card came.
    #[error("{url} answers {status}")]
    Status {
        /// Where it was asked for.
        url: String,
        /// What came.
        status: StatusCode,
    },
    /// More than a card can be.
    #[error("{url} is larger than 1 MiB, too large for a card")]
    TooLarge {
        /// The card.
        url: String,
    },
    /// It broke off.
    #[error("{url} breaks off after {bytes} bytes")]
    Cut {
        /// The card.
        url: String,
        /// How much of it came.
        bytes: usize,
    },
    /// It is a card of this very hub.
    #[error("the card at {url} is one of this hub's own: a hub does not dial itself")]
    Itself {
        /// The card.
        url: String,
    },
    /// It is no card, or it names no place that can be called.
    #[error("the card at {url} is of no use: {why}")]
    Useless {
        /// The card.
        url: String,
        /// What is wrong with it.
        why: String,
    },
}

impl CardTrouble {
    /// Whether somebody must do something about it: trying again alone does not help.
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

/// Finds the card of the remote that the operator means by `url`.
pub(super) async fn find(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
) -> Result<Found, CardTrouble> {
    let outbound = outbound.trusting([origin_of(url).as_str()])?;
    let mut tried = Vec::new();
    for candidate in candidates(url) {
        let Some(raw) = fetch(&outbound, &candidate.url, credentials).await? else {
            tried.push(shown(&candidate.url));
            continue;
        };
        let useless = |why| CardTrouble::Useless {
            url: shown(&candidate.url),
            why,
        };
        // Some editors put a mark before the text.
        let text = raw.trim_start_matches('\u{feff}');
        let card = ForeignCard::read(text).map_err(|bad| useless(bad.to_string()))?;
        let origin = Origin {
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
        let Choice {
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
        return Ok(Found {
            url: candidate.url.into(),
            place,
            profile: profile_from_card(&card),
            signed_with: key_ids(&card.signatures),
            signature,
            warnings,
            raw: raw.into(),
        });
    }
    Err(CardTrouble::Nowhere { tried })
}

/// Where a card may be.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    url: Url,
    /// What relative URLs in it are relative to.
    base: Url,
    /// Whether it is not below what was typed.
    is_elsewhere: bool,
}

/// Where the card may be that the operator means, the likeliest place first.
fn candidates(typed: &Url) -> Vec<Candidate> {
    let path = typed.path().trim_end_matches('/');
    let is_card = path.ends_with(".json");
    let mut found: Vec<Candidate> = Vec::new();
    let mut add = |url: Url, is_elsewhere| {
        if found.iter().all(|known| known.url != url) {
            found.push(Candidate {
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

/// The same server and query, another path.
fn at(typed: &Url, path: &str) -> Url {
    let mut url = typed.clone();
    url.set_path(path);
    url.set_fragment(None);
    url
}

/// What relative URLs in a card are relative to: the agent whose card it is, not the folder that holds it.
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

/// A URL for people: what comes after its path may be a secret.
fn shown(url: &Url) -> String {
    format!("{}{}", origin_of(url), url.path())
}

/// Fetches a card. None if there is nothing at that place.
async fn fetch(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
) -> Result<Option<String>, CardTrouble> {
    let headers = headers(credentials).await?;
    let mut fetched = outbound
        .fetch(url.as_str(), headers.clone(), MAX_CARD)
        .await?;
    if fetched.status == StatusCode::UNAUTHORIZED {
        // A token that was good may have run out; what has not changed is not shown twice.
        credentials.refused();
        let fresh = self::headers(credentials).await?;
        if fresh != headers {
            fetched = outbound.fetch(url.as_str(), fresh, MAX_CARD).await?;
        }
    }
    text_of(url, &fetched)
}

async fn headers(credentials: &Credentials) -> Result<HeaderMap, CardTrouble> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    // Servers of both versions show readers that name none a card of the old one, or refuse it.
    let newest = HeaderValue::from_static(Version::V10.name());
    headers.insert(Version::HEADER, newest);
    let applied = credentials.apply(&mut headers).await;
    applied.map_err(CardTrouble::Credentials)?;
    Ok(headers)
}

/// The text that an answer brings. None if it says that there is nothing.
fn text_of(url: &Url, fetched: &Fetched) -> Result<Option<String>, CardTrouble> {
    let (status, shown) = (fetched.status, shown(url));
    match status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::GONE => {
            return Ok(None);
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Err(CardTrouble::Denied { url: shown, status });
        }
        _ => {
            let location = fetched.headers.get(header::LOCATION);
            let location = location.filter(|_| status.is_redirection());
            return Err(match location.and_then(|to| to.to_str().ok()) {
                Some(to) => CardTrouble::Redirected {
                    to: url
                        .join(to)
                        .map_or_else(|_| to.to_owned(), |to| self::shown(&to)),
                    url: shown,
                },
                None => CardTrouble::Status { url: shown, status },
            });
        }
    }
    if !fetched.is_whole {
        let bytes = fetched.body.len();
        return Err(if bytes >= MAX_CARD {
            CardTrouble::TooLarge { url: shown }
        } else {
            CardTrouble::Cut { url: shown, bytes }
        });
    }
    let text = std::str::from_utf8(&fetched.body).map_err(|_| CardTrouble::Useless {
        url: shown,
        why: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some(text.to_owned()))
}
