//! Tokens from an authorization server, by the OAuth 2.0 client credentials grant (RFC 6749, section 4.4).

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use jackfield_kit::outbound::{Outbound, PostResponse};
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{bearer, read, secret};
use crate::dial::spec::OAuth;

/// Time before expiry at which a token is no longer used, because a request must reach the server in time.
/// For a token that lives shorter than twice the margin, half of the lifetime.
const MARGIN: Duration = Duration::from_secs(30);

/// Longest lifetime that the hub assumes for a token.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// OAuth tokens for a remote.
pub(super) struct OAuthTokens {
    oauth: OAuth,
    outbound: Outbound,
    token: Mutex<Option<OAuthToken>>,
    /// Held during a fetch: concurrent requests wait and use the same token.
    fetching: tokio::sync::Mutex<()>,
    /// True if the server accepts client id and secret only in the body.
    in_body: AtomicBool,
}

struct OAuthToken {
    header: HeaderValue,
    /// Time until the token is used; `None` for unlimited.
    until: Option<Instant>,
}

/// Successful answer of the token endpoint.
#[derive(Deserialize)]
struct TokenGrant<'a> {
    access_token: String,
    token_type: Option<String>,
    /// Lifetime in seconds: a number, or a number in a string.
    #[serde(borrow)]
    expires_in: Option<&'a RawValue>,
}

/// Error answer of the token endpoint.
#[derive(Deserialize)]
struct TokenRefusal {
    error: String,
}

impl OAuthTokens {
    pub(super) fn new(oauth: OAuth, outbound: Outbound) -> Result<Self, String> {
        let checked = outbound.check(&oauth.token_url);
        checked.map_err(|error| format!("token_url: {error}"))?;
        Ok(Self {
            oauth,
            outbound,
            token: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
            in_body: AtomicBool::new(false),
        })
    }

    /// Returns the header with a valid token; fetches a token if necessary.
    pub(super) async fn current(&self) -> Result<HeaderValue, String> {
        if let Some(header) = self.known() {
            return Ok(header);
        }
        let _only_one = self.fetching.lock().await;
        if let Some(header) = self.known() {
            return Ok(header);
        }
        let token = self.fetch().await?;
        let header = token.header.clone();
        *self.token.lock() = Some(token);
        Ok(header)
    }

    /// Drops the token, so that the next request fetches a new token.
    pub(super) fn forget(&self) {
        *self.token.lock() = None;
    }

    fn known(&self) -> Option<HeaderValue> {
        let token = self.token.lock();
        let is_good = |token: &&OAuthToken| token.until.is_none_or(|until| Instant::now() < until);
        let token = token.as_ref().filter(is_good)?;
        Some(token.header.clone())
    }

    async fn fetch(&self) -> Result<OAuthToken, String> {
        let id = read(&self.oauth.client_id).await?;
        let secret = read(&self.oauth.client_secret).await?;
        let mut in_body = self.in_body.load(Ordering::Relaxed);
        let mut answer = self.ask(&id, &secret, in_body).await?;
        if !in_body && is_about_the_client(&answer) {
            in_body = true;
            answer = self.ask(&id, &secret, in_body).await?;
        }
        let token = self.read(&answer)?;
        self.in_body.store(in_body, Ordering::Relaxed);
        Ok(token)
    }

    /// Requests a token. Client id and secret go into a header, which every server must support, or into the
    /// body.
    async fn ask(&self, id: &str, password: &str, in_body: bool) -> Result<PostResponse, String> {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let (id, password) = (encoded(id), encoded(password));
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        let mut body = "grant_type=client_credentials".to_owned();
        if let Some(scope) = &self.oauth.scope {
            body += &format!("&scope={}", encoded(scope));
        }
        if in_body {
            body += &format!("&client_id={id}&client_secret={password}");
        } else {
            let basic = BASE64_STANDARD.encode(format!("{id}:{password}"));
            let basic = secret(&format!("Basic {basic}"));
            headers.extend(basic.map(|basic| (AUTHORIZATION, basic)));
        }
        let answer = self
            .outbound
            .post(&self.oauth.token_url, headers, body)
            .await;
        answer.map_err(|error| format!("no token: {error}"))
    }

    fn read(&self, answer: &PostResponse) -> Result<OAuthToken, String> {
        let from = self
            .oauth
            .token_url
            .split(['?', '#'])
            .next()
            .unwrap_or_default();
        let no = |why: &str| format!("no token from {from}: {why}");
        if answer.status != StatusCode::OK {
            let why = match serde_json::from_slice::<TokenRefusal>(&answer.body) {
                Ok(refused) => format!("{} ({})", refused.error, answer.status),
                Err(_) => answer.status.to_string(),
            };
            return Err(no(&why));
        }
        let granted = serde_json::from_slice::<TokenGrant<'_>>(&answer.body);
        // The parser's message might repeat parts of the secret answer.
        let granted = granted.map_err(|_| no("the answer holds none"))?;
        let kind = granted.token_type.as_deref().unwrap_or("bearer");
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(no("it is not a bearer token"));
        }
        let header = bearer(&granted.access_token);
        let header = header.ok_or_else(|| no("it does not fit into a header"))?;
        let until = granted.expires_in.and_then(seconds).map(|life| {
            let life = life.min(LONGEST);
            Instant::now() + life - MARGIN.min(life / 2)
        });
        Ok(OAuthToken { header, until })
    }
}

/// Returns true if the server did not accept the client. Some servers use the wrong status for such an
/// answer.
fn is_about_the_client(answer: &PostResponse) -> bool {
    let refused = serde_json::from_slice::<TokenRefusal>(&answer.body);
    let is_invalid_client = refused.is_ok_and(|refused| refused.error == "invalid_client");
    answer.status == StatusCode::UNAUTHORIZED
        || (answer.status == StatusCode::BAD_REQUEST && is_invalid_client)
}

fn seconds(raw: &RawValue) -> Option<Duration> {
    let text = raw.get().trim_matches('"');
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

impl fmt::Debug for OAuthTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("oauth", &self.oauth)
            .finish_non_exhaustive()
    }
}
