//! An agent behind HTTP that the operator named: a handoff becomes one request to it, as in the seed. The request goes to
//! that origin and nowhere else, and only by a method and a path that the agent's own card declares.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
use jackfield_kit::outbound::{self, Outbound, OutboundError, Url, origin_of};
use jackfield_wire::p2p::{Card, Data, MAX_CARD, Method, NoCard, path, read_card};

use super::failure::Trouble;

/// How long such an agent may take (the seed's own limit).
const TIMEOUT: Duration = outbound::TIMEOUT;

/// Why an agent behind HTTP cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Its address is no good, or nobody is there.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// It has no card.
    #[error("{url} answers {status}, and not with a card")]
    Status {
        /// Where the card should be.
        url: String,
        /// What is there.
        status: StatusCode,
    },
    /// What it has there is no card.
    #[error("{url} is no card: {why}")]
    NoCard {
        /// Where the card should be.
        url: String,
        /// What is wrong with it.
        why: String,
    },
}

/// An agent behind HTTP.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its URL, without a slash at the end.
    base: String,
    origin: String,
    card: Card,
    outbound: Outbound,
}

impl Endpoint {
    /// An agent at a URL that the operator typed, with the skills of this card.
    pub fn new(outbound: &Outbound, base: &str, card: Card) -> Result<Self, OutboundError> {
        let outbound = outbound.trusting([base])?;
        let url = outbound.check(base)?;
        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            origin: origin_of(&url),
            card,
            outbound,
        })
    }

    /// An agent at a URL that the operator typed, with the card that it has at `/card`.
    pub async fn open(outbound: &Outbound, base: &str) -> Result<Self, EndpointError> {
        let mut endpoint = Self::new(outbound, base, Card::default())?;
        let url = format!("{}/card", endpoint.base);
        let fetched = endpoint.outbound.fetch(&url, HeaderMap::new(), MAX_CARD);
        let fetched = fetched.await?;
        if !fetched.status.is_success() {
            let status = fetched.status;
            return Err(EndpointError::Status { url, status });
        }
        endpoint.card = read_card(&fetched.body).map_err(|error| {
            let why = match error {
                NoCard::Error(error) => error.text,
                NoCard::Fault(fault) => fault.to_string(),
            };
            EndpointError::NoCard { url, why }
        })?;
        Ok(endpoint)
    }

    /// Its card.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// What a request for a path, filled in and checked, leads to; refused unless the card declares it.
    pub(crate) fn plan(&self, method: Method, rest: &str) -> Result<Plan, Trouble> {
        let skills = self.card.skills.iter();
        let mut here = skills
            .filter(|skill| path::matches(&skill.path, rest))
            .peekable();
        if here.peek().is_none() {
            return Err(Trouble::coded(
                404,
                "the agent has nothing at this path; see its card",
            ));
        }
        if !here.any(|skill| skill.method == method.name()) {
            let text = format!("the agent does not take {method} at this path; see its card");
            return Err(Trouble::coded(405, text));
        }
        let url = Url::parse(&format!("{}{rest}", self.base)).ok();
        // A checked path cannot lead elsewhere; this is the place where it would do harm, so it is looked at again.
        let url = url.filter(|url| origin_of(url) == self.origin);
        let url = url.ok_or_else(|| Trouble::coded(400, "field \"path\" leads elsewhere"))?;
        Ok(Plan {
            outbound: self.outbound.clone(),
            method,
            url,
        })
    }
}

/// A request that is about to be made.
#[derive(Debug)]
pub(crate) struct Plan {
    outbound: Outbound,
    method: Method,
    url: Url,
}

impl Plan {
    /// Makes the request, with the input as its body, and reads up to `max` bytes of the answer.
    pub(crate) async fn carry_out(
        self,
        input: Option<Data>,
        max: usize,
    ) -> Result<Vec<u8>, Trouble> {
        match tokio::time::timeout(TIMEOUT, self.exchange(input, max)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Trouble::coded(504, "the agent did not answer in time")),
        }
    }

    async fn exchange(self, input: Option<Data>, max: usize) -> Result<Vec<u8>, Trouble> {
        let mut headers = HeaderMap::new();
        let body = match input {
            None => Bytes::new(),
            Some(input) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Bytes::from(input.to_value().get().to_owned())
            }
        };
        let method = http_method(self.method);
        let opened = self
            .outbound
            .open(method, self.url.as_str(), headers, body, None);
        let opened = opened.await.map_err(|error| unreachable(&error))?;
        let status = opened.status();
        if !status.is_success() {
            // What is no error is a redirect, which is not followed.
            let code = if status.as_u16() < 400 {
                502
            } else {
                status.as_u16()
            };
            return Err(Trouble::coded(
                code,
                format!("HTTP error: {}", status.as_u16()),
            ));
        }
        let body = opened.whole(max).await.map_err(|error| {
            tracing::debug!(%error, "an agent behind HTTP did not answer to the end");
            Trouble::coded(502, "the agent's answer broke off, or is too large")
        })?;
        Ok(body.into())
    }
}

/// The peer is not told where the agent is: that is the operator's own business.
fn unreachable(error: &OutboundError) -> Trouble {
    tracing::debug!(%error, "an agent behind HTTP cannot be reached");
    Trouble::coded(504, "the agent cannot be reached")
}

fn http_method(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
    }
}
