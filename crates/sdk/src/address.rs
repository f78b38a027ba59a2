//! The hub's URL, the token to authenticate with, and the certificates to trust.

use std::{fmt, sync::Arc};

use reqwest::Url;

use crate::{Discovery, Error, HubTlsError, TlsTrust};

/// URL of a hub on this machine, used when `JACKFIELD_HUB` is not set.
const DEFAULT: &str = "http://127.0.0.1:7411";

/// Path prefix of the files that a hub serves by link.
const FILES: &str = "/v1/files/";

/// A hub's URL, the token for the hub, and the certificates to trust.
#[derive(Clone)]
pub struct HubAddress {
    base: String,
    token: Option<String>,
    trust: TlsTrust,
    discovery: Option<Arc<dyn Discovery>>,
}

impl fmt::Debug for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl HubAddress {
    /// Creates the address of the hub at `url`, without a token and with the system's certificates.
    pub fn new(url: &str) -> Result<Self, Error> {
        let base = url.trim().trim_end_matches('/');
        let is_url = Url::parse(base)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !is_url {
            return Err(Error::Address(url.to_owned()));
        }
        Ok(Self {
            base: base.to_owned(),
            token: None,
            trust: TlsTrust::default(),
            discovery: None,
        })
    }

    /// Reads the address from the environment: the URL from `JACKFIELD_HUB` (default: the hub on this
    /// machine), the token from `JACKFIELD_TOKEN`, and a CA to trust from `JACKFIELD_CA` (see
    /// [`TlsTrust::from_env`]).
    pub fn from_env() -> Result<Self, Error> {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let address = Self::new(&var("JACKFIELD_HUB").unwrap_or_else(|| DEFAULT.to_owned()))?;
        let trust = TlsTrust::from_env().map_err(|why| address.tls_error(why))?;
        let address = address.with_trust(trust);
        Ok(match var("JACKFIELD_TOKEN") {
            Some(token) => address.with_token(token),
            None => address,
        })
    }

    /// Sets the token to authenticate with.
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the certificates to trust.
    pub fn with_trust(mut self, trust: TlsTrust) -> Self {
        self.trust = trust;
        self
    }

    /// Sets a [`Discovery`], which follows a hub that moves and checks each new connection.
    pub fn with_discovery(mut self, discovery: Arc<dyn Discovery>) -> Self {
        self.discovery = Some(discovery);
        self
    }

    pub(crate) fn discovery(&self) -> Option<&Arc<dyn Discovery>> {
        self.discovery.as_ref()
    }

    /// Returns the address at which the [`Discovery`] finds the hub now, with the same token; `None` if the
    /// hub has not moved.
    pub(crate) async fn relocated(&self) -> Option<Self> {
        let found = self.discovery.as_ref()?.locate().await?;
        let has_moved = found.base != self.base || found.trust != self.trust;
        has_moved.then(|| Self {
            base: found.base,
            trust: found.trust,
            token: self.token.clone(),
            discovery: self.discovery.clone(),
        })
    }

    /// Returns the certificates that are trusted.
    pub fn trust(&self) -> &TlsTrust {
        &self.trust
    }

    /// Returns the TLS configuration for connections to this hub.
    pub(crate) fn tls(&self) -> Result<rustls::ClientConfig, Error> {
        // Plain HTTP needs no certificate check, so no certificate store is read.
        let config = match self.base.starts_with("http://") {
            true => TlsTrust::trusting_none(),
            false => self.trust.client_config(),
        };
        config.map_err(|why| self.tls_error(why))
    }

    fn tls_error(&self, why: HubTlsError) -> Error {
        Error::Tls {
            url: self.base.clone(),
            why,
        }
    }

    /// Returns the path of a file that this hub serves, for [`Hub::builder`](crate::Hub::builder). Returns
    /// `None` if the URL, once its dots are resolved, leads to a different server or to a path outside the
    /// hub's files.
    pub fn file_path(&self, url: &str) -> Option<String> {
        let (base, url) = (Url::parse(&self.base).ok()?, Url::parse(url).ok()?);
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.origin() != base.origin() {
            return None;
        }
        let path = url.path().strip_prefix(base.path().trim_end_matches('/'))?;
        let is_file = path.starts_with(FILES) && path.len() > FILES.len();
        is_file.then(|| match url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        })
    }

    /// Returns the URL, without a trailing slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the token.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns the WebSocket URL of `path`.
    pub(crate) fn socket(&self, path: &str) -> String {
        // http becomes ws, https becomes wss.
        format!("ws{}{path}", &self.base["http".len()..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_as_secure_as_the_hub() {
        assert_eq!(
            HubAddress::new("https://hub.example.com/base/")
                .unwrap()
                .socket("/ws"),
            "wss://hub.example.com/base/ws"
        );
        assert_eq!(
            HubAddress::new("http://127.0.0.1:7411")
                .unwrap()
                .socket("/ws"),
            "ws://127.0.0.1:7411/ws"
        );
    }

    #[test]
    fn only_files_of_the_hub_are_files_of_the_hub() {
        let hub = HubAddress::new("https://hub.example.com/base").unwrap();
        let path = |url: &str| hub.file_path(url);
        for (url, expected) in [
            ("https://hub.example.com/base/v1/files/a1", "/v1/files/a1"),
            (
                "https://HUB.example.com:443/base/v1/files/a1?x=1#y",
                "/v1/files/a1?x=1",
            ),
            (
                "https://hub.example.com/base/v1/../v1/files/a1",
                "/v1/files/a1",
            ),
        ] {
            assert_eq!(path(url).as_deref(), Some(expected), "{url}");
        }
        for url in [
            "https://hub.example.com/base/v1/files/../tokens",
            "https://hub.example.com/base/v1/files/%2e%2e/tokens",
            "https://hub.example.com/base/v1/files/..\\tokens",
            "https://hub.example.com/base/v1/files/../../../v1/files/a1",
            "https://hub.example.com/base/v1/files/",
            "https://hub.example.com/base/v1/agents",
            "https://hub.example.com/v1/files/a1",
            "http://hub.example.com/base/v1/files/a1",
            "https://hub.example.com:444/base/v1/files/a1",
            "https://ann:x@hub.example.com/base/v1/files/a1",
            "https://hub.example.com.evil.example/base/v1/files/a1",
            "/v1/files/a1",
        ] {
            assert_eq!(path(url), None, "{url}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_and_tokens_are_not_printed() {
        for bad in ["", "127.0.0.1:7411", "ftp://x", "http://"] {
            assert!(
                matches!(HubAddress::new(bad), Err(Error::Address(_))),
                "{bad}"
            );
        }
        let address = HubAddress::new("http://x").unwrap().with_token("secret");
        assert!(!format!("{address:?}").contains("secret"));
    }
}
