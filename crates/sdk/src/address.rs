//! Where the hub is and what to show it.

use std::fmt;

use crate::Error;

/// The hub on this machine.
const DEFAULT: &str = "http://127.0.0.1:7411";

/// A hub's URL and the token for it.
#[derive(Clone)]
pub struct Address {
    base: String,
    token: Option<String>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Address {
    /// A hub at this URL.
    pub fn new(url: &str) -> Result<Self, Error> {
        let base = url.trim().trim_end_matches('/');
        let is_url = reqwest::Url::parse(base)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !is_url {
            return Err(Error::Address(url.to_owned()));
        }
        Ok(Self {
            base: base.to_owned(),
            token: None,
        })
    }

    /// The hub that `JACKFIELD_HUB` names, or the one on this machine, with the token in `JACKFIELD_TOKEN`.
    pub fn from_env() -> Result<Self, Error> {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let address = Self::new(&var("JACKFIELD_HUB").unwrap_or_else(|| DEFAULT.to_owned()))?;
        Ok(match var("JACKFIELD_TOKEN") {
            Some(token) => address.with_token(token),
            None => address,
        })
    }

    /// The same hub, shown this token.
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The URL, without a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The token.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// The URL of a WebSocket path.
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
            Address::new("https://hub.example.com/base/")
                .unwrap()
                .socket("/ws"),
            "wss://hub.example.com/base/ws"
        );
        assert_eq!(
            Address::new("http://127.0.0.1:7411").unwrap().socket("/ws"),
            "ws://127.0.0.1:7411/ws"
        );
    }

    #[test]
    fn what_is_no_url_is_refused_and_tokens_are_not_printed() {
        for bad in ["", "127.0.0.1:7411", "ftp://x", "http://"] {
            assert!(matches!(Address::new(bad), Err(Error::Address(_))), "{bad}");
        }
        let address = Address::new("http://x").unwrap().with_token("secret");
        assert!(!format!("{address:?}").contains("secret"));
    }
}
