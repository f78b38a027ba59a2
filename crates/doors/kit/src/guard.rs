//! Protection against web pages that use the hub through a visitor's browser. The `Host` of a request must
//! belong to the hub (against DNS rebinding), and its `Origin`, if a browser sends one, must be the hub
//! itself or listed. [`check`] decides, and [`Guard`] applies the decision to every request. A second check
//! covers browsers and pages that omit `Origin`: the guard refuses requests that a browser marks as
//! cross-site, and bodies of a type that a page can send without a preflight request. Pages of listed origins get
//! the headers with which their browser lets them read answers (CORS).

mod cors;
mod origin;
#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    future::{Ready, ready},
    net::{IpAddr, SocketAddr},
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, HttpBody as _},
    response::{IntoResponse, Response},
};
use futures_util::future::Either;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header, uri::Authority};
use tower::{Layer, Service};
use tower_http::cors::{self as tower_cors, Cors, CorsLayer};

pub use self::{
    cors::BrowserHeaders,
    origin::{check_origin, is_same_origin},
};

/// Host names and origins allowed by a hub.
#[derive(Debug, Clone, Default)]
pub struct HostRules {
    /// Addresses that the hub listens on.
    pub listen: Vec<SocketAddr>,
    /// Public URL of the hub.
    pub public_url: Option<Uri>,
    /// Further host names, with or without a port; without a port, any port matches.
    pub allowed_hosts: Vec<String>,
    /// Further origins, such as `https://console.example.com`.
    pub allowed_origins: Vec<String>,
}

/// The reason why the guard refuses a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// `Host` is missing or repeated.
    #[error("request must have exactly one Host header")]
    MissingHost,
    /// `Host` does not belong to the hub.
    #[error(
        "host {0:?} is not this hub's; add it to allowed_hosts or set public_url, from when on every request needs a token"
    )]
    Host(String),
    /// `Origin` is neither the hub's nor listed.
    #[error("origin {0:?} may not use this hub; add it to allowed_origins")]
    Origin(String),
    /// The browser marks the request as sent by a page of a different site.
    #[error("a page of another site may not use this hub; add its origin to allowed_origins")]
    CrossSite,
    /// The content type is not JSON.
    #[error(
        "header Content-Type must be application/json, got {0:?}; curl sends it with --json in the place of -d"
    )]
    ContentType(String),
}

impl GuardError {
    /// Returns the HTTP status of the refusal.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::MissingHost => StatusCode::BAD_REQUEST,
            Self::Host(_) | Self::Origin(_) | Self::CrossSite => StatusCode::FORBIDDEN,
            Self::ContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    /// Returns the error code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingHost => "missing_host",
            Self::Host(_) => "forbidden_host",
            Self::Origin(_) => "forbidden_origin",
            Self::CrossSite => "cross_site",
            Self::ContentType(_) => "unsupported_media_type",
        }
    }
}

impl IntoResponse for GuardError {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.code(), "message": self.to_string() });
        (self.status(), axum::Json(body)).into_response()
    }
}

/// Checks a request by its `Host` (or HTTP/2 `:authority`) and its `Origin`.
pub fn check(
    host: Option<&str>,
    origin: Option<&str>,
    rules: &HostRules,
) -> Result<(), GuardError> {
    let host = host.ok_or(GuardError::MissingHost)?;
    let authority = HostName::parse(host)
        .filter(|name| rules.knows_host(name))
        .ok_or_else(|| GuardError::Host(host.to_owned()))?;
    match origin {
        Some(origin) if !rules.knows_origin(origin, &authority) => {
            Err(GuardError::Origin(origin.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Returns whether a host, with or without a port, is the loopback name or address. Returns `false` for an
/// invalid host.
pub fn is_loopback(host: &str) -> bool {
    HostName::parse(host).is_some_and(|name| name.is_loopback())
}

impl HostRules {
    fn knows_host(&self, host: &HostName) -> bool {
        host.is_loopback()
            || self.is_listen_address(host)
            || self.public_name().is_some_and(|it| it.host == host.host)
            || self
                .allowed_hosts
                .iter()
                .filter_map(|it| HostName::parse(it))
                .any(|it| it.host == host.host && (it.port.is_none() || it.port == host.port))
    }

    fn is_listen_address(&self, host: &HostName) -> bool {
        let Some(ip) = host.ip() else {
            return false;
        };
        self.listen.iter().any(|listen| {
            let is_same = listen.ip().is_unspecified() || listen.ip().to_canonical() == ip;
            // Without a port, the request came to the default port, 80 or 443.
            let is_port = match host.port {
                Some(port) => port == listen.port(),
                None => matches!(listen.port(), 80 | 443),
            };
            is_same && is_port
        })
    }

    fn knows_origin(&self, origin: &str, host: &HostName) -> bool {
        if self.lists_origin(origin) {
            return true;
        }
        let Some((scheme, name)) = split_origin(origin) else {
            return false;
        };
        let port = name.port.or(default_port(scheme));
        let is_same = |other: &HostName| {
            other.host == name.host && other.port.or(default_port(scheme)) == port
        };
        let is_public = || {
            let scheme_fits = self.public_url.as_ref().and_then(Uri::scheme_str) == Some(scheme);
            scheme_fits && self.public_name().is_some_and(|it| is_same(&it))
        };
        is_same(host) || is_public()
    }

    fn lists_origin(&self, origin: &str) -> bool {
        let mut listed = self.allowed_origins.iter();
        listed.any(|it| is_same_origin(it, origin))
    }

    /// Returns whether pages of `origin` may use the hub under the name `host`: those of a listed origin, and the
    /// hub's own.
    pub fn allows_origin(&self, origin: &str, host: &str) -> bool {
        let host = HostName::parse(host);
        self.lists_origin(origin) || host.is_some_and(|host| self.knows_origin(origin, &host))
    }

    fn public_name(&self) -> Option<HostName> {
        let authority = self.public_url.as_ref().and_then(Uri::authority)?;
        HostName::parse(authority.as_str())
    }
}

/// A host name in lower case, with an optional port.
#[derive(Debug, PartialEq, Eq)]
struct HostName {
    host: String,
    port: Option<u16>,
}

impl HostName {
    fn parse(text: &str) -> Option<Self> {
        // `user@host` is valid as the authority of a URL, but not as a Host.
        let authority: Authority = text.parse().ok().filter(|_| !text.contains('@'))?;
        let port = match authority.port() {
            Some(port) => Some(port.as_str().parse().ok()?),
            // The parser accepts `host:` and `host:99999` without a port.
            None if text.len() > authority.host().len() => return None,
            None => None,
        };
        let host = authority.host().to_ascii_lowercase();
        (!host.is_empty()).then_some(Self { host, port })
    }

    fn ip(&self) -> Option<IpAddr> {
        let ip: IpAddr = self
            .host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse()
            .ok()?;
        Some(ip.to_canonical())
    }

    fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.ip().is_some_and(|ip| ip.is_loopback())
    }
}

fn split_origin(origin: &str) -> Option<(&str, HostName)> {
    let (scheme, rest) = origin.split_once("://")?;
    Some((scheme, HostName::parse(rest)?))
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Exceptions from the check of content types, which doors declare for their protocols.
#[derive(Debug, Clone, Default)]
pub struct BodyRules {
    /// Headers that only programs send: no page can send them without a preflight request, so a request with
    /// one of them may have a body of any type.
    pub program_headers: Vec<&'static str>,
    /// Paths at and below which the door itself refuses content types other than JSON, in the format of its
    /// protocol.
    pub own_paths: Vec<&'static str>,
}

impl BodyRules {
    /// Adds the exceptions of another door.
    pub fn merge(&mut self, other: Self) {
        self.program_headers.extend(other.program_headers);
        self.own_paths.extend(other.own_paths);
    }

    fn is_from_program(&self, headers: &HeaderMap) -> bool {
        let mut names = self.program_headers.iter();
        names.any(|name| headers.contains_key(*name))
    }

    fn is_checked_by_door(&self, path: &str) -> bool {
        self.own_paths.iter().any(|own| {
            let rest = path.strip_prefix(own);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// The middleware that refuses requests according to [`check`] and by their content type.
#[derive(Debug, Clone)]
pub struct Guard {
    hosts: Arc<HostRules>,
    bodies: Arc<BodyRules>,
    /// Writer of the CORS headers, if an origin is listed.
    cors: Option<Arc<CorsLayer>>,
}

impl Guard {
    /// Creates a guard with the given rules, without exceptions from the check of content types.
    pub fn new(hosts: impl Into<Arc<HostRules>>) -> Self {
        let hosts = hosts.into();
        Self {
            cors: cors::layer(&hosts, &BrowserHeaders::default()),
            hosts,
            bodies: Arc::default(),
        }
    }

    /// Sets the headers of protocols that web pages send and read.
    #[must_use]
    pub fn with_browser_headers(mut self, headers: &BrowserHeaders) -> Self {
        self.cors = cors::layer(&self.hosts, headers);
        self
    }

    /// Sets the exceptions from the check of content types.
    #[must_use]
    pub fn with_bodies(mut self, bodies: BodyRules) -> Self {
        self.bodies = Arc::new(bodies);
        self
    }

    fn check<B>(&self, request: &Request<B>) -> Result<(), GuardError> {
        let headers = request.headers();
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() {
            return Err(GuardError::MissingHost);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = origins
            .next()
            .map(|it| String::from_utf8_lossy(it.as_bytes()));
        if origins.next().is_some() {
            return Err(GuardError::Origin("more than one".to_owned()));
        }
        let host = host.map(|it| String::from_utf8_lossy(it.as_bytes()));
        // HTTP/2 has `:authority`, a request to a proxy the whole URL. Either takes precedence over `Host`,
        // but neither may smuggle a foreign `Host` past the guard.
        let authority = request.uri().authority().map(Authority::as_str);
        if let (Some(_), Some(host)) = (authority, &host) {
            check(Some(host), None, &self.hosts)?;
        }
        check(
            authority.or(host.as_deref()),
            origin.as_deref(),
            &self.hosts,
        )?;
        let is_listed = origin.is_some_and(|origin| self.hosts.lists_origin(&origin));
        if !is_listed && is_cross_site(request.method(), headers) {
            return Err(GuardError::CrossSite);
        }
        Ok(())
    }
}

/// Returns whether a browser marks the request as sent by a page of a different site. Following a link does
/// not count, because the page cannot read the result.
fn is_cross_site(method: &Method, headers: &HeaderMap) -> bool {
    let says = |name: &str, word: &str| headers.get_all(name).iter().any(|it| it == word);
    let is_link = matches!(*method, Method::GET | Method::HEAD)
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document");
    says("sec-fetch-site", "cross-site") && !is_link
}

/// Refuses a body that a page could send without a preflight request: every type except JSON and gRPC. `PUT`
/// may upload a file of any type, because every browser sends a preflight request for `PUT`. Doors declare
/// further exceptions in [`BodyRules`].
fn check_type(request: &Request<Body>, rules: &BodyRules) -> Result<(), GuardError> {
    let method = request.method();
    let acts = matches!(*method, Method::POST | Method::PATCH | Method::DELETE);
    let headers = request.headers();
    if !acts || request.body().is_end_stream() || rules.is_from_program(headers) {
        return Ok(());
    }
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.map_or_else(String::new, |it| {
        String::from_utf8_lossy(it.as_bytes()).to_ascii_lowercase()
    });
    let essence = kind.split(';').next().unwrap_or_default().trim();
    let is_taken = essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
        || essence.starts_with("application/grpc")
        || (!essence.is_empty() && rules.is_checked_by_door(request.uri().path()));
    if is_taken {
        Ok(())
    } else {
        Err(GuardError::ContentType(essence.to_owned()))
    }
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Guarded {
            guard: self.clone(),
            inner: TypeChecked {
                bodies: self.bodies.clone(),
                inner,
            },
        }
    }
}

/// A service behind a [`Guard`].
#[derive(Debug, Clone)]
pub struct Guarded<S> {
    guard: Guard,
    inner: TypeChecked<S>,
}

impl<S> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response, Error = Infallible> + Clone,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<
        Either<
            tower_cors::ResponseFuture<<TypeChecked<S> as Service<Request<Body>>>::Future>,
            <TypeChecked<S> as Service<Request<Body>>>::Future,
        >,
        Ready<Result<Response, Infallible>>,
    >;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if let Err(refusal) = self.guard.check(&request) {
            return Either::Right(ready(Ok(refuse(&refusal))));
        }
        let method = request.method();
        let is_for_routes =
            *method == Method::OPTIONS && !cors::is_preflight(method, request.headers());
        Either::Left(match &self.guard.cors {
            Some(cors) if !is_for_routes => {
                // The service that is ready answers; its clone takes its place.
                let next = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, next);
                let mut with_cors: Cors<_> = cors.layer(ready);
                Either::Left(with_cors.call(request))
            }
            _ => Either::Right(self.inner.call(request)),
        })
    }
}

/// A service whose bodies are of a type that a page cannot send without a preflight request.
#[derive(Debug, Clone)]
pub struct TypeChecked<S> {
    bodies: Arc<BodyRules>,
    inner: S,
}

impl<S> Service<Request<Body>> for TypeChecked<S>
where
    S: Service<Request<Body>, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<S::Future, Ready<Result<Response, Infallible>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match check_type(&request, &self.bodies) {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(refusal) => Either::Right(ready(Ok(refuse(&refusal)))),
        }
    }
}

fn refuse(refusal: &GuardError) -> Response {
    tracing::debug!(%refusal, "request refused");
    refusal.clone().into_response()
}
