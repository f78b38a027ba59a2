//! The one way out: every HTTP request that the hub makes to an address it did not choose itself goes through here
//! (docs/promises.md, The way out). No redirects, no proxies from the environment, a limit on time and on the size of the
//! answer; only what is [`Outbound::open`]ed lasts as long as whoever reads it wants.
//!
//! A host is looked up once, every address found is judged, and the connection goes to a judged one: between the look
//! and the connect there is no second answer that could lead elsewhere. Origins that the operator typed are trusted.

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

pub use self::address::is_public;
pub use self::opened::{BodyError, Opened};
pub use reqwest::Url;

mod address;
mod opened;
#[cfg(test)]
mod tests;

/// How long a request may take in all, and the way to a server in any case.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection is kept for the next request. Common servers close theirs after five seconds, and a request that
/// meets the closing is lost.
const IDLE: Duration = Duration::from_secs(3);

/// How long the host of a URL that is only to be judged may be looked up: somebody waits for the answer.
const LOOKUP: Duration = Duration::from_secs(3);

/// How much of an answer is read: enough for any word of thanks or complaint.
pub const MAX_ANSWER: usize = 64 << 10;

/// How the TLS library says that what came is no TLS at all.
const NO_TLS: &str = "corrupt message";

/// Whom the hub may talk to.
#[derive(Debug, Clone, Default)]
pub struct OutboundRules {
    /// Whether addresses of this machine and of private networks are fine.
    pub allow_private: bool,
    /// Origins that the operator typed, such as `http://10.0.0.5:8080`: fine wherever they lead.
    pub trusted_origins: Vec<String>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// When to come again, if it said so in seconds.
    pub retry_after: Option<Duration>,
    /// The body, or as much of it as is read.
    pub body: Bytes,
    /// Whether that is all of the body.
    pub is_whole: bool,
}

/// What was fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or as much of it as was wanted.
    pub body: Bytes,
    /// Whether that is all of the body.
    pub is_whole: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The text is no URL.
    #[error("{url:?} is not an absolute URL: {why}")]
    BadUrl {
        /// The text.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// It leads to a place that callers may not choose.
    #[error(
        "{place} is not a public address; start the hub with --allow-private-outbound, or set \
         allow_private_outbound = true, to allow such addresses"
    )]
    Private {
        /// The host, and the address behind it.
        place: String,
    },
    /// The request could not be made, or nothing came back in time.
    #[error("cannot reach {origin}: {why}")]
    Unreachable {
        /// Whom.
        origin: String,
        /// Why, without the rest of the URL, which may hold a secret.
        why: String,
        /// Whether there was no connection, so that nothing was said.
        is_unsaid: bool,
    },
    /// The client could not be made.
    #[error("cannot make an HTTP client: {0}")]
    Client(reqwest::Error),
}

impl OutboundError {
    /// Whether it is refused by our own rules, so that trying again does not help.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::BadUrl { .. } | Self::Private { .. } => true,
            Self::Unreachable { .. } | Self::Client(_) => false,
        }
    }
}

/// How host names become addresses.
pub trait Resolver: Send + Sync + 'static {
    /// The addresses of a host.
    fn resolve(&self, host: String) -> Lookup;
}

/// A look-up on its way.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: String) -> Lookup {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|addr| addr.ip()).collect())
        })
    }
}

/// The outbound client. Cheap to clone.
#[derive(Clone)]
pub struct Outbound {
    /// For places that callers chose.
    guarded: Client,
    /// For places that the operator chose.
    trusting: Client,
    resolver: Arc<dyn Resolver>,
    allow_private: bool,
    trusted: Arc<HashSet<String>>,
}

impl Outbound {
    /// A client with these rules.
    pub fn new(rules: &OutboundRules) -> Result<Self, OutboundError> {
        Self::with_resolver(rules, Arc::new(SystemResolver))
    }

    /// A client that looks up names elsewhere.
    pub fn with_resolver(
        rules: &OutboundRules,
        resolver: Arc<dyn Resolver>,
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

    /// The same client, which also trusts these origins of the operator's.
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

    /// Reads a URL that a caller gave and judges what can be judged without looking its host up.
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

    /// Like [`Outbound::check`], and looks the host up too: for a URL that is kept, so that whoever gives a bad one
    /// learns it at once. A host that cannot be looked up now passes, since every request judges again.
    pub async fn admit(&self, url: &str) -> Result<Url, OutboundError> {
        let url = self.check(url)?;
        let host = url.host_str().unwrap_or_default();
        if !self.may_be_private(&url) && literal(host).is_none() {
            let lookup = self.resolver.resolve(host.to_owned());
            if let Ok(Ok(found)) = tokio::time::timeout(LOOKUP, lookup).await {
                judge(host, &found)?;
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
    ) -> Result<Answer, OutboundError> {
        let (request, origin) = self.request(Method::POST, url, headers)?;
        let request = request.body(body.into()).timeout(TIMEOUT);
        let mut response = request.send().await.map_err(|error| why(origin, &error))?;
        let (body, is_whole) = read(&mut response, MAX_ANSWER).await;
        Ok(Answer {
            status: response.status(),
            retry_after: retry_after(response.headers()),
            body,
            is_whole,
        })
    }

    /// Gets what is there, up to `max` bytes of it.
    pub async fn fetch(
        &self,
        url: &str,
        headers: HeaderMap,
        max: usize,
    ) -> Result<Fetched, OutboundError> {
        let (request, origin) = self.request(Method::GET, url, headers)?;
        let request = request.timeout(TIMEOUT);
        let mut response = request.send().await.map_err(|error| why(origin, &error))?;
        let (body, is_whole) = read(&mut response, max).await;
        Ok(Fetched {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            body,
            is_whole,
        })
    }

    /// Makes a request whose answer is read bit by bit, for as long as it comes. Its head must come within `head`; with
    /// none, whoever waits has a clock of their own.
    pub async fn open(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
        head: Option<Duration>,
    ) -> Result<Opened, OutboundError> {
        let (request, origin) = self.request(method, url, headers)?;
        let body = body.into();
        let request = if body.is_empty() {
            request
        } else {
            request.body(body)
        };
        let response = match head {
            None => request.send().await,
            Some(head) => match tokio::time::timeout(head, request.send()).await {
                Ok(sent) => sent,
                Err(_) => return Err(late(origin, head, false)),
            },
        };
        let response = response.map_err(|error| why(origin, &error))?;
        Ok(Opened::new(response))
    }

    /// A request, by the client that may make it, and the origin that it goes to.
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

fn client(resolver: Arc<dyn Resolver>, judges: bool) -> Result<Client, OutboundError> {
    Client::builder()
        .connect_timeout(TIMEOUT)
        .pool_idle_timeout(IDLE)
        .redirect(redirect::Policy::none())
        // A proxy would look up names by itself, and where the hub does not see.
        .no_proxy()
        .user_agent(concat!("jackfield/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Judge { resolver, judges })
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

/// The origin of a URL, as one text: scheme, host and port.
pub fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The address that a URL's host is, if it is no name. IPv6 addresses stand in brackets there.
fn literal(host: &str) -> Option<IpAddr> {
    let addr = host.trim_start_matches('[').trim_end_matches(']');
    addr.parse().ok()
}

fn parse(text: &str) -> Result<Url, OutboundError> {
    let bad = |why: &str| OutboundError::BadUrl {
        // Whatever comes after the place may be a secret of the caller's.
        url: text.split(['?', '#']).next().unwrap_or_default().to_owned(),
        why: why.to_owned(),
    };
    // A host and its port, as people type it: the name of the host may even be read as a scheme.
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

/// Looks names up and, for places that callers chose, refuses a host any of whose addresses is not public.
struct Judge {
    resolver: Arc<dyn Resolver>,
    judges: bool,
}

impl reqwest::dns::Resolve for Judge {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let lookup = self.resolver.resolve(host.clone());
        let judges = self.judges;
        Box::pin(async move {
            let found = lookup.await?;
            if judges {
                judge(&host, &found)?;
            }
            let addrs: Addrs = Box::new(found.into_iter().map(|addr| SocketAddr::new(addr, 0)));
            Ok(addrs)
        })
    }
}

/// One address that is not public is enough: which of them is used is not ours to choose.
fn judge(host: &str, found: &[IpAddr]) -> Result<(), OutboundError> {
    match found.iter().find(|addr| !is_public(**addr)) {
        Some(addr) => Err(OutboundError::Private {
            place: format!("{host} ({addr})"),
        }),
        None => Ok(()),
    }
}

/// What went wrong, in words that do not repeat the URL.
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
        is_unsaid,
    }
}

fn late(origin: String, limit: Duration, is_unsaid: bool) -> OutboundError {
    let why = format!("no answer within {} seconds", limit.as_secs());
    OutboundError::Unreachable {
        origin,
        why,
        is_unsaid,
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse();
    seconds.ok().map(Duration::from_secs)
}

/// Reads a body up to a limit, and whether that is all of it. What breaks off is not whole, but the status was said.
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
