//! Who a connection is: the token it shows, or the trust in programs of this machine. Every door asks here, whichever
//! field or header its protocol carries the token in.

use http::{
    HeaderMap,
    header::{AUTHORIZATION, FORWARDED, VIA},
};
use jackfield_core::{
    failure::{Failure, Reason},
    hub::Hub,
    id::Owner,
    principal::Principal,
    token::Lookup,
};

/// How a request came to the hub, as far as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// From whoever connected.
    Directly,
    /// From somebody else, through a proxy or a tunnel that connected for them.
    Forwarded,
}

impl Came {
    /// How a request with these headers came.
    pub fn with(headers: &HeaderMap) -> Self {
        let is_trace = |name: &str| name.starts_with("x-forwarded-") || name == "x-real-ip";
        let is_forwarded = headers.contains_key(FORWARDED)
            || headers.contains_key(VIA)
            || headers.keys().any(|name| is_trace(name.as_str()));
        if is_forwarded {
            Self::Forwarded
        } else {
            Self::Directly
        }
    }
}

/// Who is the owner `local` without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nobody.
    Nobody,
    /// Programs of this machine, since nobody else can connect. What a proxy passes on is not theirs.
    ThisMachine,
    /// Everybody: the operator said `--insecure`.
    Everybody,
}

/// For those who have no `--insecure`: whether programs of this machine are trusted.
impl From<bool> for Trust {
    fn from(is_here_only: bool) -> Self {
        if is_here_only {
            Self::ThisMachine
        } else {
            Self::Nobody
        }
    }
}

/// Decides who a connection is.
#[derive(Debug, Clone)]
pub struct Gatekeeper {
    hub: Hub,
    trust: Trust,
}

impl Gatekeeper {
    /// A gatekeeper; [`Trust::ThisMachine`] only where nobody but this machine's user can connect.
    pub fn new(hub: Hub, trust: impl Into<Trust>) -> Self {
        Self {
            hub,
            trust: trust.into(),
        }
    }

    /// Whether a connection that came like this is somebody without a token.
    pub fn trusts(&self, came: Came) -> bool {
        match self.trust {
            Trust::Nobody => false,
            Trust::ThisMachine => came == Came::Directly,
            Trust::Everybody => true,
        }
    }

    /// Who shows this token, or none. Where no token is needed, an unknown one is no reason to refuse: clients of
    /// other hubs bring theirs along. A revoked or expired one always is.
    pub fn admit(&self, token: Option<&str>, came: Came) -> Result<Principal, Failure> {
        let refused = |text: &'static str| Err(Failure::new(Reason::Unauthorized, text));
        match token.map(|token| self.hub.tokens().look_up(token)) {
            Some(Lookup::Valid(principal)) => Ok(principal),
            Some(Lookup::Dead) => {
                refused("this token was revoked or has expired; ask for a new one")
            }
            Some(Lookup::Unknown) | None if self.trusts(came) => Ok(Principal::local()),
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

    /// The owner of the token in these headers, if there is a valid one.
    pub fn owner_of_token(&self, headers: &HeaderMap) -> Option<Owner> {
        match self.hub.tokens().look_up(bearer(headers)?) {
            Lookup::Valid(principal) => Some(principal.owner),
            Lookup::Dead | Lookup::Unknown => None,
        }
    }

    /// Who sent these headers.
    pub fn admit_headers(&self, headers: &HeaderMap) -> Result<Principal, Failure> {
        self.admit(bearer(headers), Came::with(headers))
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

    use jackfield_core::{limits::Limits, principal::Scopes, store::memory::MemoryStore};

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
        let admit = |token| gate.admit(token, Came::Directly);
        assert_eq!(admit(None).unwrap().owner, Owner::local());
        assert_eq!(
            admit(Some("ah_from_elsewhere")).unwrap().owner,
            Owner::local()
        );
        let ann = Owner::parse("ann").unwrap();
        let token = hub
            .tokens()
            .create("t".into(), ann.clone(), &Scopes::default(), None)
            .await
            .unwrap();
        assert_eq!(admit(Some(&token.secret)).unwrap().owner, ann);
        hub.tokens().revoke(token.record.id).await.unwrap();
        assert_eq!(
            admit(Some(&token.secret)).unwrap_err().reason,
            Reason::Unauthorized
        );
    }

    #[tokio::test]
    async fn what_a_proxy_passes_on_is_nobody_without_a_known_token() {
        let hub = hub().await;
        let ann = Owner::parse("ann").unwrap();
        let token = hub
            .tokens()
            .create("t".into(), ann.clone(), &Scopes::default(), None)
            .await
            .unwrap();
        let gate = Gatekeeper::new(hub.clone(), Trust::ThisMachine);
        for name in [
            "forwarded",
            "via",
            "x-real-ip",
            "x-forwarded-for",
            "x-forwarded-proto",
        ] {
            let mut headers = HeaderMap::new();
            assert!(gate.admit_headers(&headers).is_ok());
            headers.insert(name, "whatever".parse().unwrap());
            for shown in [None, Some("Bearer ah_from_elsewhere")] {
                if let Some(shown) = shown {
                    headers.insert(AUTHORIZATION, shown.parse().unwrap());
                }
                let refused = gate.admit_headers(&headers).unwrap_err();
                assert_eq!(refused.reason, Reason::Unauthorized, "{name}");
            }
            let everybody = Gatekeeper::new(hub.clone(), Trust::Everybody);
            assert!(everybody.admit_headers(&headers).is_ok(), "{name}");
            let shown = format!("Bearer {}", token.secret).parse().unwrap();
            headers.insert(AUTHORIZATION, shown);
            assert_eq!(gate.admit_headers(&headers).unwrap().owner, ann, "{name}");
        }
    }

    #[tokio::test]
    async fn elsewhere_only_a_known_token_is_somebody() {
        let gate = Gatekeeper::new(hub().await, false);
        for token in [None, Some(""), Some("jf_guess")] {
            let refused = gate.admit(token, Came::Directly).unwrap_err();
            assert_eq!(refused.reason, Reason::Unauthorized);
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
