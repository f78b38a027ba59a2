//! The only client for outgoing HTTP requests: every request to an address that the hub did not choose itself
//! goes through [`Outbound`] (docs/promises.md, The way out). It follows no redirects, uses no proxies from
//! the environment, and limits time and answer size. Only a response from [`Outbound::open`] lasts as long as
//! its reader wants.
//!
//! A host is looked up once, every address is checked, and the connection goes to a checked address: no
//! second lookup between check and connect could lead elsewhere. Origins in the operator's configuration are
//! trusted.

use std::{
    collections::HashSet,
    error::Error,
    fmt, io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode, header::RETRY_AFTER};
use reqwest::{
    Client, RequestBuilder, Response,
    dns::{Addrs, Name, Resolving},
    redirect,
};
use tracing::Instrument as _;

pub use self::address::is_public;
pub use self::streamed::{BodyError, StreamedResponse};
pub use reqwest::Url;

mod address;
mod streamed;
#[cfg(test)]
mod tests;

/// Timeout for a whole request, and for connecting to a server in any case.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Idle time of a pooled connection. Common servers close idle connections after five seconds, and a request
/// that meets the close is lost.
const IDLE: Duration = Duration::from_secs(3);

/// Timeout for looking up a host in [`Outbound::admit`], where a caller waits for the answer.
const LOOKUP: Duration = Duration::from_secs(3);

/// Maximum number of bytes read of an answer to [`Outbound::post`]: enough for any confirmation or error
/// text.
pub const MAX_ANSWER: usize = 64 << 10;

/// Part of the TLS library's error text for a server that speaks no TLS.
const NO_TLS: &str = "corrupt message";

/// Rules for the destinations of outgoing requests.
#[derive(Debug, Clone, Default)]
pub struct OutboundRules {
    /// Whether addresses of this machine and of private networks are allowed.
    pub allow_private: bool,
    /// Origins in the operator's configuration, such as `http://10.0.0.5:8080`: allowed wherever they lead.
    pub trusted_origins: Vec<String>,
}

/// The answer to [`Outbound::post`].
#[derive(Debug, Clone)]
pub struct PostResponse {
    /// HTTP status.
    pub status: StatusCode,
    /// Delay of the header `Retry-After`, if given in seconds.
    pub retry_after: Option<Duration>,
    /// Body, truncated at [`MAX_ANSWER`].
    pub body: Bytes,
    /// Whether `body` is complete.
    pub is_whole: bool,
}

/// The answer to [`Outbound::fetch`].
#[derive(Debug, Clone)]
pub struct FetchResponse {
    /// HTTP status.
    pub status: StatusCode,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// Body, truncated at the requested maximum.
    pub body: Bytes,
    /// Whether `body` is complete.
    pub is_whole: bool,
}

/// The reason why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The text is not a URL.
    #[error("{url:?} is not an absolute URL: {why}")]
    BadUrl {
        /// Invalid URL.
        url: String,
        /// Error of the URL parser.
        why: String,
    },
    /// The address is not public, and callers may not choose private addresses.
    #[error(
        "{place} is not a public address; start the hub with --allow-private-outbound, or set \
         allow_private_outbound = true, to allow such addresses"
    )]
    Private {
        /// Host, and its address.
        place: String,
    },
    /// The request failed, or no answer arrived in time.
    #[error("cannot reach {origin}: {why}")]
    Unreachable {
        /// Origin of the request.
        origin: String,
        /// Reason, without the rest of the URL, which may hold a secret.
        why: String,
        /// Whether no connection was made, so that no data was sent.
        is_unsent: bool,
    },
    /// The client could not be made.
    #[error("cannot make an HTTP client: {0}")]
    Client(reqwest::Error),
}

impl OutboundError {
    /// Returns whether the hub's own rules refuse the request, so that a retry does not help.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::BadUrl { .. } | Self::Private { .. } => true,
            Self::Unreachable { .. } | Self::Client(_) => false,
        }
    }
}

/// A resolver for host names.
pub trait HostResolver: Send + Sync + 'static {
    /// Returns the addresses of a host.
    fn resolve(&self, host: String) -> HostLookup;
}

/// A lookup in progress.
pub type HostLookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl HostResolver for SystemResolver {
    fn resolve(&self, host: String) -> HostLookup {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|addr| addr.ip()).collect())
        })
    }
}

/// The client for outgoing requests. Cheap to clone.
#[derive(Clone)]
pub struct Outbound {
    /// Client for destinations chosen by callers.
    guarded: Client,
    /// Client for destinations chosen by the operator.
    trusting: Client,
    resolver: Arc<dyn HostResolver>,
    allow_private: bool,
    trusted: Arc<HashSet<String>>,
}

impl Outbound {
    /// Creates a client with the given rules.
    pub fn new(rules: &OutboundRules) -> Result<Self, OutboundError> {
        Self::with_resolver(rules, Arc::new(SystemResolver))
    }

    /// Creates a client with a custom [`HostResolver`].
    pub fn with_resolver(
        rules: &OutboundRules,
        resolver: Arc<dyn HostResolver>,
    ) -> Result<Self, OutboundError> {
        let nobody = Self {
            guarded: client(resolver.clone(), !rules.allow_private)?,
            trusting: client(resolver.clone(), false)?,
            resolver,
            allow_private: rules.allow_private,
            trusted: Arc::default(),
        };
        nobody.trusting(rules.trusted_origins.iter().map(String::as_str))
    }

    /// Returns a client that also trusts the given origins of the operator.
    pub fn trusting<'a>(
        &self,
        origins: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, OutboundError> {
        let mut trusted = HashSet::clone(&self.trusted);
        for origin in origins {
            trusted.insert(origin_of(&parse(origin)?));
        }
        Ok(Self {
            trusted: Arc::new(trusted),
            ..self.clone()
        })
    }

    /// Parses a URL from a caller, and checks it as far as possible without a lookup of its host.
    pub fn check(&self, url: &str) -> Result<Url, OutboundError> {
        let url = parse(url)?;
        if self.may_be_private(&url) {
            return Ok(url);
        }
        let host = url.host_str().unwrap_or_default();
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        let is_refused = match literal(host) {
            Some(addr) => !is_public(addr),
            None => name == "localhost" || name.ends_with(".localhost"),
        };
        if is_refused {
            return Err(OutboundError::Private { place: name });
        }
        Ok(url)
    }

    /// Checks a URL like [`Outbound::check`], and looks up its host: for a stored URL, so that the caller
    /// learns about a bad one at once. A host that cannot be looked up now is accepted, because every request
    /// checks again.
    pub async fn admit(&self, url: &str) -> Result<Url, OutboundError> {
        let url = self.check(url)?;
        let host = url.host_str().unwrap_or_default();
        if !self.may_be_private(&url) && literal(host).is_none() {
            let lookup = self.resolver.resolve(host.to_owned());
            if let Ok(Ok(found)) = tokio::time::timeout(LOOKUP, lookup).await {
                check_public(host, &found)?;
            }
        }
        Ok(url)
    }

    /// Posts a body.
    pub async fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<PostResponse, OutboundError> {
        let (request, origin) = self.request(Method::POST, url, headers)?;
        let request = request.body(body.into()).timeout(TIMEOUT);
        let mut response = send(request, &origin)
            .await
            .map_err(|error| why(origin, &error))?;
        let (body, is_whole) = read(&mut response, MAX_ANSWER).await;
        Ok(PostResponse {
            status: response.status(),
            retry_after: retry_after(response.headers()),
            body,
            is_whole,
        })
    }

    /// Fetches a URL, up to `max` bytes of its body.
    pub async fn fetch(
        &self,
        url: &str,
        headers: HeaderMap,
        max: usize,
    ) -> Result<FetchResponse, OutboundError> {
        let (request, origin) = self.request(Method::GET, url, headers)?;
        let request = request.timeout(TIMEOUT);
        let mut response = send(request, &origin)
            .await
            .map_err(|error| why(origin, &error))?;
        let (body, is_whole) = read(&mut response, max).await;
        Ok(FetchResponse {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            body,
            is_whole,
        })
    }

    /// Sends a request whose response is read piece by piece, without a time limit. The head of the response
    /// must arrive within `head`; with `None`, the caller has a timeout of its own.
    pub async fn open(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
        head: Option<Duration>,
    ) -> Result<StreamedResponse, OutboundError> {
        let (request, origin) = self.request(method, url, headers)?;
        let body = body.into();
        let request = if body.is_empty() {
            request
        } else {
            request.body(body)
        };
        let response = match head {
            None => send(request, &origin).await,
            Some(head) => match tokio::time::timeout(head, send(request, &origin)).await {
                Ok(sent) => sent,
                Err(_) => return Err(late(origin, head, false)),
            },
        };
        let response = response.map_err(|error| why(origin, &error))?;
        Ok(StreamedResponse::new(response))
    }

    /// Creates a request with the client for its destination; returns the request and its origin.
    fn request(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
    ) -> Result<(RequestBuilder, String), OutboundError> {
        let url = self.check(url)?;
        let origin = origin_of(&url);
        let client = if self.trusts(&url) {
            &self.trusting
        } else {
            &self.guarded
        };
        Ok((client.request(method, url).headers(headers), origin))
    }

    fn may_be_private(&self, url: &Url) -> bool {
        self.allow_private || self.trusts(url)
    }

    fn trusts(&self, url: &Url) -> bool {
        self.trusted.contains(&origin_of(url))
    }
}

fn client(resolver: Arc<dyn HostResolver>, judges: bool) -> Result<Client, OutboundError> {
    Client::builder()
        .connect_timeout(TIMEOUT)
        .pool_idle_timeout(IDLE)
        .redirect(redirect::Policy::none())
        // A proxy would look up names itself, out of the hub's control.
        .no_proxy()
        .user_agent(concat!("jackfield/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(CheckingResolver { resolver, judges })
        .build()
        .map_err(OutboundError::Client)
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("allow_private", &self.allow_private)
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}

/// Returns the origin of a URL as text: scheme, host and port.
pub fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Returns the IP address of a URL's host, or `None` for a name. IPv6 addresses stand in brackets.
fn literal(host: &str) -> Option<IpAddr> {
    let addr = host.trim_start_matches('[').trim_end_matches(']');
    addr.parse().ok()
}

fn parse(text: &str) -> Result<Url, OutboundError> {
    let bad = |why: &str| OutboundError::BadUrl {
        // The query and fragment may hold a secret of the caller.
        url: text.split(['?', '#']).next().unwrap_or_default().to_owned(),
        why: why.to_owned(),
    };
    // Host and port without a scheme, as people type them: the parser might take the host for a scheme.
    let is_place = !text.contains("://") && !text.starts_with('/') && !text.contains('@');
    if is_place && Url::parse(&format!("http://{text}")).is_ok() {
        let place = text.split(['?', '#']).next().unwrap_or_default();
        return Err(bad(&format!("did you mean http://{place}?")));
    }
    let url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(OutboundError::BadUrl {
            url: origin_of(&url),
            why: "it may not hold a user name or password".to_owned(),
        });
    }
    Ok(url)
}

/// The lookup of the HTTP client. For destinations chosen by callers, refuses a host if any of its addresses
/// is not public.
struct CheckingResolver {
    resolver: Arc<dyn HostResolver>,
    judges: bool,
}

impl reqwest::dns::Resolve for CheckingResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let lookup = self.resolver.resolve(host.clone());
        let judges = self.judges;
        Box::pin(async move {
            let found = lookup.await?;
            if judges {
                check_public(&host, &found)?;
            }
            let addrs: Addrs = Box::new(found.into_iter().map(|addr| SocketAddr::new(addr, 0)));
            Ok(addrs)
        })
    }
}

/// Refuses a host if any of its addresses is not public, because the HTTP client picks the address.
fn check_public(host: &str, found: &[IpAddr]) -> Result<(), OutboundError> {
    match found.iter().find(|addr| !is_public(**addr)) {
        Some(addr) => Err(OutboundError::Private {
            place: format!("{host} ({addr})"),
        }),
        None => Ok(()),
    }
}

/// Converts an error of the HTTP client, without repeating the URL.
fn why(origin: String, error: &reqwest::Error) -> OutboundError {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    let mut last = None;
    while let Some(error) = cause {
        if let Some(OutboundError::Private { place }) = error.downcast_ref() {
            return OutboundError::Private {
                place: place.clone(),
            };
        }
        last = Some(error.to_string());
        cause = error.source();
    }
    let is_unsaid = error.is_connect();
    if error.is_timeout() {
        return late(origin, TIMEOUT, is_unsaid);
    }
    let mut why = last.unwrap_or_else(|| "the request could not be made".to_owned());
    if is_unsaid
        && why.contains(NO_TLS)
        && let Some(place) = origin.strip_prefix("https://")
    {
        why = format!("it does not speak TLS; did you mean http://{place}?");
    }
    OutboundError::Unreachable {
        origin,
        why,
        is_unsent: is_unsaid,
    }
}

fn late(origin: String, limit: Duration, is_unsaid: bool) -> OutboundError {
    let why = format!("no answer within {} seconds", limit.as_secs());
    OutboundError::Unreachable {
        origin,
        why,
        is_unsent: is_unsaid,
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse();
    seconds.ok().map(Duration::from_secs)
}

/// Sends a request in a span of its own, which names the origin and never the path: paths may hold secrets.
async fn send(request: RequestBuilder, origin: &str) -> Result<Response, reqwest::Error> {
    let span = tracing::debug_span!("outbound request", origin);
    let sent = request.send().instrument(span.clone()).await;
    match &sent {
        Ok(response) => {
            tracing::debug!(parent: &span, status = response.status().as_u16(), "response received");
        }
        // The text of the error has the whole URL.
        Err(error) => {
            let (timeout, connect) = (error.is_timeout(), error.is_connect());
            tracing::debug!(parent: &span, timeout, connect, "no response");
        }
    }
    sent
}

/// Reads a body up to a limit; returns the body and whether it is complete. A body that ends early is
/// incomplete, but the status is known.
async fn read(response: &mut Response, max: usize) -> (Bytes, bool) {
    let mut body = BytesMut::new();
    let is_whole = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = max - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    break false;
                }
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    (body.freeze(), is_whole)
}
