//! Tokens from an authorization server: the grant of OAuth 2.0 for client credentials (RFC 6749, section 4.4).

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
use jackfield_kit::outbound::{Answer, Outbound};
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{bearer, read, secret};
use crate::dial::spec::OAuth;

/// How long before its end a token is not used any more: a request must reach the server before. Of a token that lives
/// shorter than twice that, half of its life.
const MARGIN: Duration = Duration::from_secs(30);

/// The longest that a token is believed to live, whatever is said.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The tokens for one remote.
pub(super) struct Tokens {
    oauth: OAuth,
    outbound: Outbound,
    token: Mutex<Option<Token>>,
    /// Held while one is fetched: whoever comes meanwhile takes that one.
    fetching: tokio::sync::Mutex<()>,
    /// Whether the server takes the client's name and secret only in the body.
    in_body: AtomicBool,
}

struct Token {
    header: HeaderValue,
    /// Until when it is used; for ever if nothing is said.
    until: Option<Instant>,
}

/// What the server answers.
#[derive(Deserialize)]
struct Granted<'a> {
    access_token: String,
    token_type: Option<String>,
    /// A number, or one in a string.
    #[serde(borrow)]
    expires_in: Option<&'a RawValue>,
}

/// What it answers if it does not like the request.
#[derive(Deserialize)]
struct Refused {
    error: String,
}

impl Tokens {
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

    /// The header with the token that is good now.
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

    /// Has the next one fetched anew.
    pub(super) fn forget(&self) {
        *self.token.lock() = None;
    }

    fn known(&self) -> Option<HeaderValue> {
        let token = self.token.lock();
        let is_good = |token: &&Token| token.until.is_none_or(|until| Instant::now() < until);
        let token = token.as_ref().filter(is_good)?;
        Some(token.header.clone())
    }

    async fn fetch(&self) -> Result<Token, String> {
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

    /// Asks for a token. Who asks is said in a header, which every server must know, or in the body.
    async fn ask(&self, id: &str, password: &str, in_body: bool) -> Result<Answer, String> {
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

    fn read(&self, answer: &Answer) -> Result<Token, String> {
        let from = self
            .oauth
            .token_url
            .split(['?', '#'])
            .next()
            .unwrap_or_default();
        let no = |why: &str| format!("no token from {from}: {why}");
        if answer.status != StatusCode::OK {
            let why = match serde_json::from_slice::<Refused>(&answer.body) {
                Ok(refused) => format!("{} ({})", refused.error, answer.status),
                Err(_) => answer.status.to_string(),
            };
            return Err(no(&why));
        }
        let granted = serde_json::from_slice::<Granted<'_>>(&answer.body);
        // The parser's own words might repeat some of it.
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
        Ok(Token { header, until })
    }
}

/// Whether the server did not accept who asks. Some say so with the wrong status.
fn is_about_the_client(answer: &Answer) -> bool {
    let refused = serde_json::from_slice::<Refused>(&answer.body);
    let is_invalid_client = refused.is_ok_and(|refused| refused.error == "invalid_client");
    answer.status == StatusCode::UNAUTHORIZED
        || (answer.status == StatusCode::BAD_REQUEST && is_invalid_client)
}

fn seconds(raw: &RawValue) -> Option<Duration> {
    let text = raw.get().trim_matches('"');
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("oauth", &self.oauth)
            .finish_non_exhaustive()
    }
}
