//! Authentication: the token of a request or connection, or the trust in programs of this machine. Every door
//! authenticates through [`Gatekeeper`], whichever field or header of its protocol carries the token.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::extract::FromRequestParts;
use http::{
    HeaderMap, Version,
    header::{AUTHORIZATION, HOST},
    request::Parts,
};
use jackfield_core::{hub::Hub, principal::Principal, token::TokenLookup};
use jackfield_model::{Failure, Owner, Reason};

use crate::{
    guard::is_loopback,
    peer_user::PeerUser,
    server::RequestPeer,
    ticket::{self, BrowserTicket, TicketOutcome, Tickets},
};

/// How a request reached the hub, as far as the hub can tell.
#[derive(Debug, Clone)]
pub enum Ingress {
    /// Without a connection of our [`Server`](crate::server::Server): from within this process.
    Directly,
    /// Over a connection without signs of a proxy. [`PeerUser`] knows the user of the other end.
    Over(PeerUser),
    /// Through a proxy or tunnel, on behalf of an unknown client.
    Forwarded,
    /// With a ticket in the handshake of a WebSocket, from wherever. The ticket is then the only credential of
    /// the connection.
    WithTicket(TicketOutcome),
}

impl Ingress {
    /// Returns how a request with this head reached the hub.
    pub fn of_request(head: &Parts) -> Self {
        if let Some(outcome) = head.extensions.get::<TicketOutcome>() {
            return Self::WithTicket(outcome.clone());
        }
        if let Some(sign) = proxy_sign(head) {
            tracing::debug!(sign, "a request came through a proxy");
            return Self::Forwarded;
        }
        match head.extensions.get::<RequestPeer>() {
            Some(peer) => Self::Over(peer.user.clone()),
            None => Self::Directly,
        }
    }

    /// Returns whether the handshake had a ticket, valid or not.
    pub fn has_ticket(&self) -> bool {
        matches!(self, Self::WithTicket(_))
    }

    /// Returns why the ticket of the handshake was refused, if it was.
    pub fn refused_ticket(&self) -> Option<Failure> {
        match self {
            Self::WithTicket(outcome) => outcome.principal().err(),
            Self::Directly | Self::Over(_) | Self::Forwarded => None,
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Ingress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of_request(parts))
    }
}

/// Returns the name of the sign that a proxy forwarded the request, if there is one.
fn proxy_sign(head: &Parts) -> Option<&str> {
    // By default nginx speaks HTTP/1.0 to its upstreams; other programs have not for decades.
    if head.version == Version::HTTP_10 {
        return Some("HTTP/1.0");
    }
    let authority = head.uri.authority().map(|authority| authority.as_str());
    let hosts = head.headers.get_all(HOST).iter();
    let mut hosts = hosts.map(|host| host.to_str().unwrap_or_default());
    if authority.is_some_and(|host| !is_loopback(host)) || !hosts.all(is_loopback) {
        return Some("host");
    }
    let mut names = head.headers.keys().map(|name| name.as_str());
    names.find(|name| is_added_by_a_proxy(name))
}

/// Returns whether a header of this name is added by proxies, tunnels, load balancers and content networks,
/// and not by programs. `name` is lower-case.
fn is_added_by_a_proxy(name: &str) -> bool {
    /// Substrings of header names: `x-forwarded-for`, `wl-proxy-client-ip`, `x-azure-clientip`.
    const PARTS: [&str; 7] = [
        "forward",
        "proxy",
        "clientip",
        "socketip",
        "remote-addr",
        "client-address",
        "originating",
    ];
    /// Suffixes of header names with an address: `x-real-ip`, `true-client-ip`, `cf-connecting-ipv6`.
    const ENDINGS: [&str; 6] = [
        "-ip",
        "-ipv4",
        "-ipv6",
        "-ip-address",
        "-external-address",
        "-connection-ip",
    ];
    /// Prefixes of header names, one per product.
    const PRODUCTS: [&str; 32] = [
        "akamai-",
        "cdn-",
        "cf-",
        "cloudfront-",
        "fastly-",
        "fly-",
        "incap-",
        "ngrok-",
        "surrogate-",
        "tailscale-",
        "x-akamai-",
        "x-amz-cf-",
        "x-appengine-",
        "x-appservice-",
        "x-arr-",
        "x-auth-request-",
        "x-authentik-",
        "x-azure-",
        "x-bluecoat-",
        "x-envoy-",
        "x-goog-",
        "x-haproxy-",
        "x-kong-",
        "x-nf-",
        "x-ngrok-",
        "x-original-",
        "x-pomerium-",
        "x-real-",
        "x-rewrite-",
        "x-sucuri-",
        "x-varnish",
        "x-vercel-",
    ];
    /// Header names that match no rule.
    const OTHERS: [&str; 9] = [
        "disguised-host",
        "front-end-https",
        "remote-user",
        "via",
        "x-client-host",
        "x-client-port",
        "x-host",
        "x-scheme",
        "x-url-scheme",
    ];
    PARTS.iter().any(|part| name.contains(part))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || PRODUCTS.iter().any(|product| name.starts_with(product))
        || OTHERS.contains(&name)
}

/// The clients that act as the owner `local` without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenlessAccess {
    /// No client.
    Nobody,
    /// Programs of the user who runs the hub, on the hub's machine. Requests forwarded by a proxy are
    /// excluded.
    ThisMachine,
    /// Every client: the operator passed `--insecure`.
    Everybody,
}

/// Trust without the option `--insecure`: `true` trusts programs of this machine.
impl From<bool> for TokenlessAccess {
    fn from(is_here_only: bool) -> Self {
        if is_here_only {
            Self::ThisMachine
        } else {
            Self::Nobody
        }
    }
}

/// Authenticates connections and requests.
#[derive(Debug, Clone)]
pub struct Gatekeeper {
    hub: Hub,
    trust: TokenlessAccess,
    /// Warning for the operator about a proxy in front of the hub.
    proxy_warning: Option<Arc<ProxyWarning>>,
    tickets: Tickets<BrowserTicket>,
}

/// A warning for the log, written at the first request forwarded by a proxy.
#[derive(Debug)]
struct ProxyWarning {
    text: String,
    is_written: AtomicBool,
}

impl ProxyWarning {
    fn write(&self) {
        if !self.is_written.swap(true, Ordering::Relaxed) {
            tracing::warn!("{}", self.text);
        }
    }
}

impl Gatekeeper {
    /// Creates a gatekeeper. Use [`TokenlessAccess::ThisMachine`] only where no one but the user of this machine can
    /// connect.
    pub fn new(hub: Hub, trust: impl Into<TokenlessAccess>) -> Self {
        Self {
            hub,
            trust: trust.into(),
            proxy_warning: None,
            tickets: Tickets::default(),
        }
    }

    /// Returns the tickets with which web pages open WebSockets.
    pub fn tickets(&self) -> &Tickets<BrowserTicket> {
        &self.tickets
    }

    /// Redeems the ticket of a WebSocket handshake, if there is one, and removes it from the request. Called once
    /// per request, before any door sees the request.
    pub(crate) fn redeem_ticket(&self, head: &mut Parts) {
        ticket::redeem(&self.tickets, head);
    }

    /// Returns the clients that need no token.
    pub fn trust(&self) -> TokenlessAccess {
        self.trust
    }

    /// Writes `text` to the log, once, at the first request forwarded by a proxy: for hubs that are not
    /// configured for a proxy.
    pub fn with_proxy_warning(mut self, text: impl Into<String>) -> Self {
        self.proxy_warning = Some(Arc::new(ProxyWarning {
            text: text.into(),
            is_written: AtomicBool::new(false),
        }));
        self
    }

    /// Returns whether a connection that reached the hub in this way needs no token.
    pub fn trusts(&self, came: &Ingress) -> bool {
        match (self.trust, came) {
            (_, Ingress::WithTicket(_))
            | (TokenlessAccess::Nobody, _)
            | (TokenlessAccess::ThisMachine, Ingress::Forwarded) => false,
            (TokenlessAccess::ThisMachine, Ingress::Over(user)) => user.is_same_user(),
            (TokenlessAccess::ThisMachine, Ingress::Directly) | (TokenlessAccess::Everybody, _) => {
                true
            }
        }
    }

    /// Returns the error text for a missing token.
    fn needs_token(&self, came: &Ingress) -> &'static str {
        match (self.trust, came) {
            (TokenlessAccess::ThisMachine, Ingress::Forwarded) => {
                "a token is needed, because the request came through a proxy: send Authorization: Bearer TOKEN; see `jackfield token create`"
            }
            (TokenlessAccess::ThisMachine, Ingress::Over(_)) => {
                "a token is needed, because another user than the hub's made this connection: send Authorization: Bearer TOKEN; see `jackfield token create`"
            }
            _ => {
                "a token is needed: send Authorization: Bearer TOKEN; see `jackfield token create`"
            }
        }
    }

    /// Returns the principal for a token, or for a client without a token. Where no token is needed, an
    /// unknown token is accepted: clients of other hubs bring theirs along. A revoked or expired token is
    /// always refused. A connection with a ticket has the principal of the ticket, whatever `token` is.
    pub fn admit(&self, token: Option<&str>, came: &Ingress) -> Result<Principal, Failure> {
        if let Ingress::WithTicket(outcome) = came {
            return outcome.principal();
        }
        if let (Some(warning), Ingress::Forwarded) = (&self.proxy_warning, came) {
            warning.write();
        }
        let refused = |text: &'static str| Err(Failure::new(Reason::Unauthorized, text));
        match token.map(|token| self.hub.tokens().look_up(token)) {
            Some(TokenLookup::Valid(principal)) => Ok(principal),
            Some(TokenLookup::Dead) => {
                refused("this token was revoked or has expired; ask for a new one")
            }
            Some(TokenLookup::Unknown) | None if self.trusts(came) => Ok(Principal::local()),
            Some(TokenLookup::Unknown) => {
                refused("this hub does not know the token; see `jackfield token create`")
            }
            None => refused(self.needs_token(came)),
        }
    }

    /// Returns whether this hub issued the token, even if it was revoked or has expired.
    pub fn has_issued(&self, token: &str) -> bool {
        !matches!(self.hub.tokens().look_up(token), TokenLookup::Unknown)
    }

    /// Returns the owner of the token in the headers, if the token is valid.
    pub fn owner_of_token(&self, headers: &HeaderMap) -> Option<Owner> {
        match self.hub.tokens().look_up(bearer(headers)?) {
            TokenLookup::Valid(principal) => Some(principal.owner),
            TokenLookup::Dead | TokenLookup::Unknown => None,
        }
    }

    /// Authenticates a request by its head.
    pub fn admit_request(&self, head: &Parts) -> Result<Principal, Failure> {
        self.admit(bearer(&head.headers), &Ingress::of_request(head))
    }
}

/// Returns the token of an `Authorization: Bearer` header.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use http::Request;
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
        let admit = |token| gate.admit(token, &Ingress::Directly);
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

    /// Names that proxies, tunnels and content networks are known to add.
    const ADDED: [&str; 46] = [
        "forwarded",
        "forwarded-for",
        "via",
        "x-forwarded",
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-forwarded-host",
        "x-forwarded-client-cert",
        "x-original-forwarded-for",
        "x-original-host",
        "x-original-url",
        "x-rewrite-url",
        "x-real-ip",
        "x-real-port",
        "client-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "true-client-ip",
        "x-originating-ip",
        "x-remote-ip",
        "x-remote-addr",
        "remote-addr",
        "x-proxyuser-ip",
        "proxy-client-ip",
        "wl-proxy-client-ip",
        "proxy-connection",
        "cf-connecting-ip",
        "cf-connecting-ipv6",
        "cf-ray",
        "cdn-loop",
        "fastly-client-ip",
        "akamai-origin-hop",
        "x-azure-clientip",
        "x-azure-socketip",
        "x-arr-ssl",
        "x-appengine-user-ip",
        "x-envoy-external-address",
        "cloudfront-viewer-address",
        "fly-client-ip",
        "do-connecting-ip",
        "x-nf-client-connection-ip",
        "x-vercel-id",
        "tailscale-user-login",
        "x-scheme",
        "front-end-https",
        "max-forwards",
    ];

    fn head(headers: &[(&str, &str)]) -> Parts {
        let request = headers.iter().fold(Request::get("/"), |it, (name, value)| {
            it.header(*name, *value)
        });
        request.body(()).unwrap().into_parts().0
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
        let gate = Gatekeeper::new(hub.clone(), TokenlessAccess::ThisMachine);
        assert!(gate.admit_request(&head(&[])).is_ok());
        let known = format!("Bearer {}", token.secret);
        let hosts = ["hub.example.com", "192.168.1.5:7411"].map(|host| ("host", host));
        let signs = ADDED
            .map(|name| (name, "whatever"))
            .into_iter()
            .chain(hosts);
        for sign in signs {
            let unknown = ("authorization", "Bearer ah_from_elsewhere");
            for headers in [&[sign][..], &[sign, unknown]] {
                let refused = gate.admit_request(&head(headers)).unwrap_err();
                assert_eq!(refused.reason, Reason::Unauthorized, "{headers:?}");
            }
            let everybody = Gatekeeper::new(hub.clone(), TokenlessAccess::Everybody);
            assert!(everybody.admit_request(&head(&[sign])).is_ok(), "{sign:?}");
            let shown = head(&[sign, ("authorization", &known)]);
            assert_eq!(gate.admit_request(&shown).unwrap().owner, ann, "{sign:?}");
        }
    }

    #[tokio::test]
    async fn the_http_that_proxies_speak_is_a_sign_of_one() {
        let gate = Gatekeeper::new(hub().await, TokenlessAccess::ThisMachine);
        let mut old = head(&[("host", "127.0.0.1:7411")]);
        assert!(gate.admit_request(&old).is_ok());
        old.version = Version::HTTP_10;
        assert!(gate.admit_request(&old).is_err());
        let (mut other, ()) = Request::get("http://hub.lan/")
            .body(())
            .unwrap()
            .into_parts();
        assert!(gate.admit_request(&other).is_err());
        other.uri = "http://localhost:7411/".parse().unwrap();
        assert!(gate.admit_request(&other).is_ok());
    }

    #[tokio::test]
    async fn what_programs_send_is_no_sign_of_a_proxy() {
        let gate = Gatekeeper::new(hub().await, TokenlessAccess::ThisMachine);
        for name in [
            "accept",
            "accept-encoding",
            "a2a-version",
            "baggage",
            "cache-control",
            "connection",
            "content-length",
            "content-type",
            "grpc-timeout",
            "idempotency-key",
            "jackfield-agent",
            "jackfield-call",
            "last-event-id",
            "mcp-protocol-version",
            "mcp-session-id",
            "origin",
            "pragma",
            "priority",
            "referer",
            "sec-fetch-site",
            "sec-websocket-key",
            "te",
            "traceparent",
            "transfer-encoding",
            "upgrade",
            "user-agent",
            "x-agent-id",
            "x-amzn-trace-id",
            "x-api-key",
            "x-client-data",
            "x-platform-secret",
            "x-request-id",
            "x-stainless-lang",
        ] {
            let asked = gate.admit_request(&head(&[(name, "whatever")]));
            assert!(asked.is_ok(), "{name}");
        }
    }

    #[tokio::test]
    async fn a_connection_of_nobody_here_needs_a_token_and_is_told_why() {
        let gate = Gatekeeper::new(hub().await, TokenlessAccess::ThisMachine);
        let ends = ["127.0.0.1:1", "127.0.0.1:2"].map(|end| end.parse().unwrap());
        let came = Ingress::Over(PeerUser::new(ends[0], Some(ends[1])));
        let refused = gate.admit(None, &came).unwrap_err();
        assert!(refused.text.contains("another user"), "{}", refused.text);
    }

    #[tokio::test]
    async fn elsewhere_only_a_known_token_is_somebody() {
        let gate = Gatekeeper::new(hub().await, false);
        for token in [None, Some(""), Some("jf_guess")] {
            let refused = gate.admit(token, &Ingress::Directly).unwrap_err();
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
