//! HTTP requests of the sidecar to a hub or a registry.

use std::{fmt, time::Duration};

use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use jackfield_kit::outbound::{MAX_ANSWER, Outbound, OutboundError};
use jackfield_peer::wire::{PeerAnswer, read_answer};
use serde::Deserialize;
use tokio::time::timeout;

/// Timeout of one request (the original's own limit).
const PATIENCE: Duration = Duration::from_secs(5);

/// A registry or hub over HTTP, with its token.
#[derive(Clone)]
pub struct RegistryAt {
    /// Base URL.
    pub url: String,
    /// Token, where the peer's signature is not enough.
    pub token: Option<String>,
}

impl fmt::Debug for RegistryAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryAt")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SiteError {
    #[error(transparent)]
    Unreachable(#[from] OutboundError),
    #[error("it does not answer within {} s", PATIENCE.as_secs())]
    Late,
    #[error("it answers {status}: {text}")]
    Refused { status: StatusCode, text: String },
}

impl SiteError {
    /// Returns whether the registry requires a token or a better proof.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::UNAUTHORIZED)
    }

    /// Returns whether the registry blocks this peer.
    pub(super) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::FORBIDDEN)
    }
}

/// HTTP client for one hub or registry.
#[derive(Debug)]
pub(super) struct HttpSite {
    /// Base URL without a slash at its end.
    url: String,
    token: Option<String>,
    outbound: Outbound,
}

impl HttpSite {
    /// Creates a client, if the URL can be used.
    pub(super) fn new(at: RegistryAt, outbound: &Outbound) -> Result<Self, OutboundError> {
        Ok(Self {
            outbound: outbound.trusting([&*at.url])?,
            url: at.url.trim_end_matches('/').to_owned(),
            token: at.token,
        })
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<Vec<u8>, SiteError> {
        let url = format!("{}{path}", self.url);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.token
            && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {token}"))
        {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let asked = async {
            let opened = self.outbound.open(method, &url, headers, body, None);
            let opened = opened.await?;
            let status = opened.status();
            // An incomplete error text counts as empty.
            let body = opened.whole(MAX_ANSWER).await.unwrap_or_default();
            if status.is_success() {
                return Ok(body.to_vec());
            }
            let text = match read_answer(&body) {
                PeerAnswer::Error(error) => error.text,
                PeerAnswer::Body(_) => error_in(&body).unwrap_or_default(),
            };
            Err(SiteError::Refused { status, text })
        };
        let asked = timeout(PATIENCE, asked).await;
        asked.map_err(|_| SiteError::Late)?
    }
}

/// Returns the text in `{"error": text}`, as registries write it.
fn error_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct ErrorText {
        error: String,
    }
    let told: ErrorText = serde_json::from_slice(body).ok()?;
    Some(told.error)
}
