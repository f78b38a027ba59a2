//! Fetches the bytes of a URL, and decides which servers may be contacted.

use std::{error::Error, io, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use jackfield_kit::outbound::{
    BodyError, Outbound, OutboundError, OutboundRules, StreamedResponse, TIMEOUT, Url, origin_of,
};
use jackfield_sdk::{HubAddress, InvalidBase64};
use reqwest::{Client, ClientBuilder, Response, redirect};

/// Why a file could not be fetched. Shows only the origin of a URL, because the rest may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The file is too large.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// The transfer took too long.
    #[error("it did not come within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The URL leads to a private network.
    #[error("{0} is not a public address; start connect with --allow-private to fetch from there")]
    Private(String),
    /// The URL is the hub's, but not of a file.
    #[error("only /v1/files/ of {0} may be fetched")]
    NoFile(String),
    /// The URL is invalid, or its server unreachable.
    #[error("{0}")]
    Address(String),
    /// The server refused the request.
    #[error("{origin} answered {status}")]
    Refused {
        /// Origin of the server.
        origin: String,
        /// Status of the response.
        status: StatusCode,
    },
    /// The inline bytes cannot be decoded.
    #[error(transparent)]
    Bytes(#[from] InvalidBase64),
    /// The connection broke.
    #[error("{0}")]
    Interrupted(String),
    /// The file cannot be written.
    #[error("it cannot be written: {0}")]
    Write(#[from] io::Error),
}

impl From<OutboundError> for FetchError {
    fn from(error: OutboundError) -> Self {
        match error {
            OutboundError::Private { place } => Self::Private(place),
            other => Self::Address(other.to_string()),
        }
    }
}

impl From<BodyError> for FetchError {
    fn from(error: BodyError) -> Self {
        Self::Interrupted(error.to_string())
    }
}

/// HTTP clients for fetching files.
#[derive(Debug, Clone)]
pub(super) struct FileFetcher {
    /// Client for callers' URLs: restricted to public addresses, and without a proxy, which would resolve
    /// names beyond these checks.
    judged: Outbound,
    /// Client for the hub. Like [`plain`](Self::plain), which serves all URLs if the owner allows private
    /// addresses, uses the proxy in the environment.
    of_hub: Client,
    plain: Client,
    hub: HubAddress,
    hub_origin: String,
    allow_private: bool,
}

impl FileFetcher {
    pub(super) fn new(hub: &HubAddress, allow_private: bool) -> Result<Self, FetchError> {
        let judged = Outbound::new(&OutboundRules::default())?;
        let hub_origin = http_url(hub.base()).map(|url| origin_of(&url))?;
        let tls = hub.trust().client_config();
        let of_hub = match tls {
            Ok(tls) => client(Client::builder().tls_backend_preconfigured(tls)),
            // A hub without TLS needs no TLS configuration.
            Err(_) if hub.base().starts_with("http://") => client(Client::builder()),
            Err(error) => Err(FetchError::Address(error.to_string())),
        }?;
        Ok(Self {
            judged,
            of_hub,
            plain: client(Client::builder())?,
            hub: hub.clone(),
            hub_origin,
            allow_private,
        })
    }

    /// Returns a source for a hub at a new address.
    pub(super) fn at(&self, hub: &HubAddress) -> Result<Self, FetchError> {
        Self::new(hub, self.allow_private)
    }

    /// Opens a URL for reading.
    pub(super) async fn open(&self, uri: &str) -> Result<FetchedBody, FetchError> {
        let url = http_url(uri)?;
        let origin = origin_of(&url);
        let is_of_hub = origin == self.hub_origin;
        if is_of_hub && self.hub.file_path(uri).is_none() {
            return Err(FetchError::NoFile(origin));
        }
        let (status, body) = if self.allow_private || is_of_hub {
            let client = if is_of_hub { &self.of_hub } else { &self.plain };
            let sent = client.get(url).send().await;
            let response = sent.map_err(|error| unreachable(&origin, &error))?;
            (response.status(), FetchedBody::Plain(response))
        } else {
            let (headers, head) = (HeaderMap::new(), Some(TIMEOUT));
            let opened = self
                .judged
                .open(Method::GET, uri, headers, Bytes::new(), head);
            let opened = opened.await?;
            (opened.status(), FetchedBody::Judged(opened))
        };
        if status != StatusCode::OK {
            return Err(FetchError::Refused { origin, status });
        }
        Ok(body)
    }
}

fn client(builder: ClientBuilder) -> Result<Client, FetchError> {
    builder
        .connect_timeout(TIMEOUT)
        .redirect(redirect::Policy::none())
        .build()
        .map_err(|error| FetchError::Address(error.to_string()))
}

/// A file being fetched.
#[derive(Debug)]
pub(super) enum FetchedBody {
    Judged(StreamedResponse),
    Plain(Response),
}

impl FetchedBody {
    /// Waits for the next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        match self {
            Self::Judged(opened) => Ok(opened.next().await?),
            Self::Plain(response) => response.chunk().await.map_err(|error| {
                FetchError::Interrupted(format!("it broke off: {}", deepest(&error)))
            }),
        }
    }
}

fn http_url(text: &str) -> Result<Url, FetchError> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| FetchError::Address("its address is no http or https URL".to_owned()))
}

fn unreachable(origin: &str, error: &reqwest::Error) -> FetchError {
    FetchError::Address(format!("cannot reach {origin}: {}", deepest(error)))
}

/// Returns the innermost cause of an error, without the URL.
fn deepest(error: &reqwest::Error) -> String {
    let mut why: &dyn Error = error;
    while let Some(deeper) = why.source() {
        why = deeper;
    }
    if error.source().is_none() {
        return "the request failed".to_owned();
    }
    why.to_string()
}
