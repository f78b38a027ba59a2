//! Transfers of files with an agent: signals for a direct way, and the archive through the hub where there is none.

use std::time::Duration;

use reqwest::{Body, Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Hub, encode};
use crate::{Error, Offer};

/// The header by which a program acts as an agent of its own.
const ACTS_AS: &str = "Jackfield-Agent";

/// A transfer of yours with an agent: one that it offered ([`Done::offer`](crate::Done::offer)), or that was announced to it
/// ([`Hub::announce`]).
#[derive(Debug, Clone)]
pub struct Transfer {
    hub: Hub,
    path: String,
    agent: Option<String>,
}

/// What the hub says of a transfer that was announced. `Debug` shows no credentials.
#[derive(Clone, Deserialize)]
pub struct Announced {
    /// The transfer.
    pub transfer_id: String,
    /// Servers for a direct way, with credentials.
    #[serde(default)]
    pub ice_servers: Option<Value>,
}

/// What the agent said about a transfer. `Debug` shows no credentials.
#[derive(Clone, Deserialize)]
pub struct Said {
    /// In its order.
    pub signals: Vec<SaidSignal>,
    /// Servers for a direct way, with credentials.
    #[serde(default)]
    pub ice_servers: Option<Value>,
}

/// One thing that the agent said.
#[derive(Debug, Clone, Deserialize)]
pub struct SaidSignal {
    /// What it is.
    pub signal_type: String,
    /// Its content: a text in practice.
    #[serde(default)]
    pub payload: Option<Value>,
}

impl std::fmt::Debug for Announced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Announced")
            .field("transfer_id", &self.transfer_id)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Said")
            .field("signals", &self.signals)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// A transfer of yours with an agent.
    pub fn transfer(&self, agent: &str, id: &str) -> Transfer {
        Transfer {
            hub: self.clone(),
            path: format!("{}/{}", transfers(agent), encode(id)),
            agent: None,
        }
    }

    /// Tells an agent that an archive will be sent to it; `client_id` is whose files they are.
    pub async fn announce(
        &self,
        agent: &str,
        offer: &Offer,
        client_id: Option<&str>,
    ) -> Result<Announced, Error> {
        let mut body = json!(offer);
        if let Some(client_id) = client_id {
            body["client_id"] = client_id.into();
        }
        self.request(Method::POST, &transfers(agent), Some(&body))
            .await
    }

    /// Sends an archive, as an agent that the hub gave this ticket (signal `relay`, direction `send`).
    pub async fn send_by_ticket(&self, ticket: &str, body: impl Into<Body>) -> Result<(), Error> {
        let request = self.upload_builder(Method::PUT, &by_ticket(ticket));
        self.send(request.body(body)).await.map(drop)
    }

    /// Receives an archive, as an agent that the hub gave this ticket (signal `relay`, direction `receive`).
    pub async fn receive_by_ticket(&self, ticket: &str) -> Result<Content, Error> {
        let request = self.builder(Method::GET, &by_ticket(ticket));
        self.send(request)
            .await
            .map(|response| Content::new(response, 0))
    }
}

fn transfers(agent: &str) -> String {
    format!("/v1/agents/{}/transfers", encode(agent))
}

fn by_ticket(ticket: &str) -> String {
    format!("/v1/transfers/{}", encode(ticket))
}

impl Transfer {
    /// The transfer of an agent of yours, which made the call: the token must be one that may register it.
    pub fn acting_as(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    fn request(&self, method: Method, end: &str) -> RequestBuilder {
        let path = format!("{}{end}", self.path);
        let request = match method {
            Method::PUT => self.hub.upload_builder(method, &path),
            _ => self.hub.builder(method, &path),
        };
        match &self.agent {
            Some(agent) => request.header(ACTS_AS, agent),
            None => request,
        }
    }

    /// Says something to the agent, and returns what it said; waits that long, at most 30 s, if it has said nothing. The
    /// signal `poll` says nothing.
    pub async fn signal(
        &self,
        signal_type: &str,
        payload: Option<&str>,
        wait: Duration,
    ) -> Result<Said, Error> {
        let end = format!("/signals?wait={}ms", wait.as_millis());
        let mut body = json!({ "signal_type": signal_type });
        if let Some(payload) = payload {
            body["payload"] = payload.into();
        }
        let response = self.hub.send(self.request(Method::POST, &end).json(&body));
        let said = response.await?.json().await;
        said.map_err(|error| Error::Unreadable(error.to_string()))
    }

    /// Fetches the archive through the hub, from `offset` on.
    pub async fn content(&self, offset: u64) -> Result<Content, Error> {
        let mut request = self.request(Method::GET, "/content");
        if offset > 0 {
            request = request.header("Range", format!("bytes={offset}-"));
        }
        let response = self.hub.send(request).await?;
        let begins = match response.status() {
            StatusCode::PARTIAL_CONTENT => offset,
            _ => 0,
        };
        Ok(Content::new(response, begins))
    }

    /// Sends the archive through the hub: its rest from `offset` on, which is the whole body.
    pub async fn upload(&self, offset: u64, body: impl Into<Body>) -> Result<(), Error> {
        let end = format!("/content?offset={offset}");
        let request = self.request(Method::PUT, &end).body(body);
        self.hub.send(request).await.map(drop)
    }
}

/// An archive as it comes. It is not verified: compare its size and its hash with the offer's.
#[derive(Debug)]
pub struct Content {
    response: Response,
    begins: u64,
}

impl Content {
    fn new(response: Response, begins: u64) -> Self {
        Self { response, begins }
    }

    /// With which byte of the archive it begins: what was asked for, or 0.
    pub fn begins(&self) -> u64 {
        self.begins
    }

    /// How many bytes follow, as the hub says.
    pub fn length(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// The next piece; nothing at the end. A sender that was cut off is [`Error::Broken`]: ask for the rest.
    pub async fn next(&mut self) -> Result<Option<bytes::Bytes>, Error> {
        self.response.chunk().await.map_err(|_| Error::Broken)
    }
}
