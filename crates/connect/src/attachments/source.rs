//! Where the bytes of an address come from, and who may be asked for them.

use std::{error::Error, io, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use jackfield_kit::outbound::{
    BodyError, Opened, Outbound, OutboundError, OutboundRules, TIMEOUT, Url, origin_of,
};
use jackfield_sdk::{Address, BadBase64};
use reqwest::{Client, ClientBuilder, Response, redirect};

/// Why a file could not be had. Nothing of an address but its origin is told: the rest may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It is larger than is taken.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// It took too long.
    #[error("it did not come within {} s", .0.as_secs())]
    Late(Duration),
    /// The address leads to a private network.
    #[error("{0} is not a public address; start connect with --allow-private to fetch from there")]
    Private(String),
    /// The address is the hub's, and that of no file.
    #[error("only /v1/files/ of {0} may be fetched")]
    NoFile(String),
    /// The address cannot be used, or nobody is there.
    #[error("{0}")]
    Address(String),
    /// It is not there, or not for us.
    #[error("{origin} answered {status}")]
    Refused {
        /// Who was asked.
        origin: String,
        /// What they said.
        status: StatusCode,
    },
    /// The message holds its bytes, and they cannot be decoded.
    #[error(transparent)]
    Bytes(#[from] BadBase64),
    /// It broke off.
    #[error("{0}")]
    Cut(String),
    /// It cannot be written.
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
        Self::Cut(error.to_string())
    }
}

/// Who is asked for files.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// For addresses of strangers: judged, and past any proxy, which would look up names where nobody judges.
    judged: Outbound,
    /// For the hub, and with [`plain`](Self::plain) for all if the owner says so: through the proxy that the environment
    /// names.
    of_hub: Client,
    plain: Client,
    hub: Address,
    hub_origin: String,
    allow_private: bool,
}

impl Source {
    pub(super) fn new(hub: &Address, allow_private: bool) -> Result<Self, FetchError> {
        let judged = Outbound::new(&OutboundRules::default())?;
        let hub_origin = http_url(hub.base()).map(|url| origin_of(&url))?;
        let tls = hub.trust().client_config();
        let of_hub = match tls {
            Ok(tls) => client(Client::builder().tls_backend_preconfigured(tls)),
            // Without TLS nobody asks for it.
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

    /// The same for a hub that is elsewhere.
    pub(super) fn at(&self, hub: &Address) -> Result<Self, FetchError> {
        Self::new(hub, self.allow_private)
    }

    /// What is at an address, to be read as it comes.
    pub(super) async fn open(&self, uri: &str) -> Result<Body, FetchError> {
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
            (response.status(), Body::Plain(response))
        } else {
            let (headers, head) = (HeaderMap::new(), Some(TIMEOUT));
            let opened = self
                .judged
                .open(Method::GET, uri, headers, Bytes::new(), head);
            let opened = opened.await?;
            (opened.status(), Body::Judged(opened))
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

/// A file on its way.
#[derive(Debug)]
pub(super) enum Body {
    Judged(Opened),
    Plain(Response),
}

impl Body {
    /// The next bytes; nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        match self {
            Self::Judged(opened) => Ok(opened.next().await?),
            Self::Plain(response) => response
                .chunk()
                .await
                .map_err(|error| FetchError::Cut(format!("it broke off: {}", deepest(&error)))),
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

/// What went wrong, in words that do not repeat the address.
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
