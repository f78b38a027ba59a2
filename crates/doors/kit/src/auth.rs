//! Who a connection is: the token it shows, or the trust in loopback. Every door asks here, whichever
//! field or header its protocol carries the token in.

use http::{HeaderMap, header::AUTHORIZATION};
use jackfield_core::{
    failure::{Failure, Reason},
    hub::Hub,
    principal::Principal,
    token::Lookup,
};

/// Decides who a connection is.
#[derive(Debug, Clone)]
pub struct Gatekeeper {
    hub: Hub,
    /// Callers without a token are the owner `local`: the hub is bound to loopback, or the operator said `--insecure`.
    trusts_everyone: bool,
}

impl Gatekeeper {
    /// A gatekeeper; `trusts_everyone` only where nobody but this machine's user can connect.
    pub fn new(hub: Hub, trusts_everyone: bool) -> Self {
        Self {
            hub,
            trusts_everyone,
        }
    }

    /// Whether a connection without a token is somebody.
    pub fn trusts_everyone(&self) -> bool {
        self.trusts_everyone
    }

    /// Who shows this token, or none. Where everyone is trusted, an unknown token is no reason to refuse: clients of
    /// other hubs bring theirs along. A revoked or expired one always is.
    pub fn admit(&self, token: Option<&str>) -> Result<Principal, Failure> {
        let refused = |text: &'static str| Err(Failure::new(Reason::Unauthorized, text));
        match token.map(|token| self.hub.tokens().look_up(token)) {
            Some(Lookup::Valid(principal)) => Ok(principal),
            Some(Lookup::Dead) => {
                refused("this token was revoked or has expired; ask for a new one")
            }
            Some(Lookup::Unknown) | None if self.trusts_everyone => Ok(Principal::local()),
            Some(Lookup::Unknown) => {
                refused("this hub does not know the token; see `jackfield token create`")
            }
            None => refused(
                "a token is needed: send Authorization: Bearer TOKEN; see `jackfield token create`",
            ),
        }
    }

    /// Whether a token is one of this hub's, be it a dead one.
    pub fn knows(&self, token: &str) -> bool {
        !matches!(self.hub.tokens().look_up(token), Lookup::Unknown)
    }

    /// Who sent these headers.
    pub fn admit_headers(&self, headers: &HeaderMap) -> Result<Principal, Failure> {
        self.admit(bearer(headers))
    }
}

/// The token of an `Authorization: Bearer` header.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jackfield_core::{
        id::Owner, limits::Limits, principal::Scopes, store::memory::MemoryStore,
    };

    use super::*;

    async fn hub() -> Hub {
        Hub::open(Arc::new(MemoryStore::default()), Limits::default())
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn on_loopback_anybody_is_local_but_a_dead_token_is_refused() {
        let hub = hub().await;
        let gate = Gatekeeper::new(hub.clone(), true);
        assert_eq!(gate.admit(None).unwrap().owner, Owner::local());
        assert_eq!(
            gate.admit(Some("ah_from_elsewhere")).unwrap().owner,
            Owner::local()
        );
        let ann = Owner::parse("ann").unwrap();
        let token = hub
            .tokens()
            .create("t".into(), ann.clone(), &Scopes::default(), None)
            .await
            .unwrap();
        assert_eq!(gate.admit(Some(&token.secret)).unwrap().owner, ann);
        hub.tokens().revoke(token.record.id).await.unwrap();
        assert_eq!(
            gate.admit(Some(&token.secret)).unwrap_err().reason,
            Reason::Unauthorized
        );
    }

    #[tokio::test]
    async fn elsewhere_only_a_known_token_is_somebody() {
        let gate = Gatekeeper::new(hub().await, false);
        for token in [None, Some(""), Some("jf_guess")] {
            assert_eq!(gate.admit(token).unwrap_err().reason, Reason::Unauthorized);
        }
    }

    #[test]
    fn the_bearer_scheme_is_read_in_any_case() {
        let mut headers = HeaderMap::new();
        assert_eq!(bearer(&headers), None);
        headers.insert(AUTHORIZATION, "bEARER  abc ".parse().unwrap());
        assert_eq!(bearer(&headers), Some("abc"));
        headers.insert(AUTHORIZATION, "Basic abc".parse().unwrap());
        assert_eq!(bearer(&headers), None);
    }
}
