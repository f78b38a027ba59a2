//! HTTP client for the one server that the operator configured: no redirects, limits on time and size, and
//! error texts that name the next step and never a key.
//!
//! `body` reads responses, `events` reads event streams.

mod body;
mod events;

use std::{error::Error, fmt, time::Duration};

use jackfield_sdk::AgentFailure;
use reqwest::{Client, RequestBuilder, StatusCode, Url, redirect};

pub(super) use self::{body::ServerResponse, events::SseParser};
use crate::process::CRASHED;

/// Time limit for connecting.
const CONNECTING: Duration = Duration::from_secs(10);
/// Time limit for discovering what the server offers.
pub(super) const LOOKING: Duration = Duration::from_secs(10);
/// Bytes of a server's error message that are shown.
const COMPLAINT: usize = 2 << 10;

/// An API key, shown to the configured server only.
#[derive(Clone, Default)]
pub(super) struct BearerKey(Option<String>);

impl fmt::Debug for BearerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Key(…)" } else { "Key" })
    }
}

impl BearerKey {
    /// Reads the key from an environment variable.
    pub(super) fn from_env(name: &str) -> Self {
        Self::new(std::env::var(name).ok())
    }

    fn new(key: Option<String>) -> Self {
        let key = key.map(|key| key.trim().to_owned());
        Self(key.filter(|key| !key.is_empty()))
    }

    /// Returns the text with the key masked, in case a server repeats it.
    pub(super) fn mask_key(&self, text: &str) -> String {
        match &self.0 {
            Some(key) => text.replace(key.as_str(), "***"),
            None => text.to_owned(),
        }
    }
}

/// HTTP client for one server.
#[derive(Debug, Clone)]
pub(super) struct ServerClient {
    client: Client,
    key: BearerKey,
    /// Origin of the server, for messages.
    origin: String,
}

impl ServerClient {
    /// Creates a client for the server of `url`.
    pub(super) fn new(url: &Url, key: BearerKey) -> Result<Self, AgentFailure> {
        let mut client = Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECTING);
        // A proxy cannot reach servers on this machine.
        if is_local(url) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| {
            let text = format!("cannot make an HTTP client: {}", innermost_cause(error));
            AgentFailure::new("internal_error", text)
        })?;
        Ok(Self {
            client,
            key,
            origin: url.origin().ascii_serialization(),
        })
    }

    /// Returns the server's origin, for messages.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// Builds a request with the key; pass it to [`send`](Self::send).
    pub(super) fn request(&self, method: reqwest::Method, url: Url) -> RequestBuilder {
        let request = self.client.request(method, url);
        match &self.key.0 {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Sends a request. The response may be an error of the server.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
    ) -> Result<ServerResponse, AgentFailure> {
        let sent = tokio::time::timeout(body::MAX_SILENCE, request.send()).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let text = format!(
                    "cannot reach {}: {}; start the server, or mend the URL",
                    self.origin,
                    self.key.mask_key(&innermost_cause(error))
                );
                return Err(AgentFailure::new(CRASHED, text));
            }
            Err(_) => return Err(body::silence_failure(&self.origin)),
        };
        Ok(ServerResponse::new(response, self.origin.clone()))
    }

    /// Shortens a server's error message and masks the key.
    pub(super) fn complaint(&self, text: &str) -> String {
        let text = self.key.mask_key(text.trim());
        text[..text.floor_char_boundary(COMPLAINT)].to_owned()
    }
}

/// Formats a status for messages.
pub(super) fn status_text(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// Parses a URL that the operator typed.
pub(super) fn parse_url(url: &str) -> Result<Url, AgentFailure> {
    let read = Url::parse(url.trim()).ok();
    read.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| {
            let text = "the URL of the agent must be http://HOST… or https://HOST…";
            AgentFailure::new("invalid_message", text)
        })
}

/// Returns the URL of a different path on the same server.
pub(super) fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_fragment(None);
    url
}

fn is_local(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse()
            .is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Returns the innermost cause of a failed request, without the URL, which may contain a secret.
pub(super) fn innermost_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_to_nobody() {
        let key = BearerKey::new(Some(" sk-secret\n".to_owned()));
        assert!(!format!("{key:?}").contains("sk-"));
        assert_eq!(key.mask_key("bad key sk-secret!"), "bad key ***!");
        let empty = BearerKey::new(Some("  ".to_owned()));
        assert_eq!(empty.mask_key("as it is"), "as it is");
    }

    #[test]
    fn only_urls_of_servers_are_taken() {
        for bad in ["", "localhost:11434", "ftp://x/", "/chat"] {
            assert!(parse_url(bad).is_err(), "{bad}");
        }
        let url = parse_url(" http://h:1/v1 ").unwrap();
        assert_eq!(at(&url, "/v1/models").as_str(), "http://h:1/v1/models");
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:8", true),
            ("http://10.0.0.1", false),
            ("https://localhost.example", false),
        ] {
            assert_eq!(is_local(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
