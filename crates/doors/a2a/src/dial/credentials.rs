//! Credentials for a remote. Each request reads the secrets anew, so that a changed secret takes effect at
//! once. Only a fetched token is cached, until the token expires or is refused.
//!
//! Errors, logs and debug output contain no secrets.

mod oauth;
#[cfg(test)]
mod tests;

use std::env::VarError;

use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use jackfield_kit::outbound::Outbound;

use self::oauth::OAuthTokens;
use super::spec::{Auth, SecretLocation};

/// Largest secret in bytes. A larger file is probably the wrong file.
const MAX_SECRET: u64 = 64 << 10;

/// Credentials for requests to a remote.
#[derive(Debug)]
pub(crate) struct Credentials {
    bearer: Option<SecretLocation>,
    headers: Vec<(HeaderName, SecretLocation)>,
    tokens: Option<OAuthTokens>,
}

impl Credentials {
    /// Checks the operator's configuration; the error names the problem. Reads no secret yet.
    pub(crate) fn new(auth: &Auth, outbound: Outbound) -> Result<Self, String> {
        let mut headers = Vec::new();
        for (name, source) in &auth.headers {
            let parsed = HeaderName::try_from(name.as_str());
            let parsed = parsed.map_err(|_| format!("{name:?} is no name of a header"))?;
            headers.push((parsed, source.clone()));
        }
        let ways = [
            auth.bearer.is_some(),
            auth.oauth.is_some(),
            headers.iter().any(|(name, _)| *name == AUTHORIZATION),
        ];
        if ways.into_iter().filter(|is_used| *is_used).count() > 1 {
            let why = "give one of bearer, oauth and the header Authorization: they are one header";
            return Err(why.to_owned());
        }
        let oauth = auth.oauth.clone();
        let tokens = oauth
            .map(|oauth| OAuthTokens::new(oauth, outbound))
            .transpose()?;
        Ok(Self {
            bearer: auth.bearer.clone(),
            headers,
            tokens,
        })
    }

    /// Returns empty credentials.
    pub(crate) fn none() -> Self {
        Self {
            bearer: None,
            headers: Vec::new(),
            tokens: None,
        }
    }

    /// Returns true if the credentials are empty.
    pub(crate) fn is_none(&self) -> bool {
        self.bearer.is_none() && self.headers.is_empty() && self.tokens.is_none()
    }

    /// Adds the credentials to the headers of a request; the error names a missing secret.
    pub(crate) async fn apply(&self, headers: &mut HeaderMap) -> Result<(), String> {
        if let Some(source) = &self.bearer {
            let token = read(source).await?;
            headers.insert(AUTHORIZATION, bearer(&token).ok_or_else(|| unfit(source))?);
        }
        for (name, source) in &self.headers {
            let value = read(source).await?;
            headers.insert(name.clone(), secret(&value).ok_or_else(|| unfit(source))?);
        }
        if let Some(tokens) = &self.tokens {
            headers.insert(AUTHORIZATION, tokens.current().await?);
        }
        Ok(())
    }

    /// Drops a fetched token, because the server refused the credentials. The next request fetches a new
    /// token.
    pub(crate) fn refused(&self) {
        if let Some(tokens) = &self.tokens {
            tokens.forget();
        }
    }
}

fn bearer(token: &str) -> Option<HeaderValue> {
    secret(&format!("Bearer {token}"))
}

/// Builds a header value that debug output hides.
fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn unfit(source: &SecretLocation) -> String {
    format!("what is in {} does not fit into a header", named(source))
}

/// Describes a source, for error messages.
fn named(source: &SecretLocation) -> String {
    match source {
        SecretLocation::Env(name) => format!("the environment variable {name}"),
        SecretLocation::File(path) => format!("the file {}", path.display()),
    }
}

/// Reads a secret and trims white space.
async fn read(source: &SecretLocation) -> Result<String, String> {
    let text = match source {
        SecretLocation::Env(name) => match std::env::var(name) {
            Ok(text) => text,
            Err(VarError::NotPresent) => {
                return Err(format!(
                    "set {name} in the hub's environment: there is no such variable"
                ));
            }
            Err(VarError::NotUnicode(_)) => return Err(format!("{} is no text", named(source))),
        },
        SecretLocation::File(path) => {
            let path = path.clone();
            // The file may be on a slow disk, or be no regular file.
            let reading = tokio::task::spawn_blocking(move || {
                let file = std::fs::File::open(path)?;
                let text = std::io::read_to_string(std::io::Read::take(file, MAX_SECRET + 1))?;
                if text.len() as u64 > MAX_SECRET {
                    let why = format!("it has more than {MAX_SECRET} bytes; is it the right file?");
                    return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, why));
                }
                Ok(text)
            });
            let text = reading
                .await
                .unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()));
            text.map_err(|error| format!("cannot read {}: {error}", named(source)))?
        }
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("{} is empty", named(source)));
    }
    Ok(text.to_owned())
}
