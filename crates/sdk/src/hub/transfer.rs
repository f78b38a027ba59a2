//! File transfers with an agent: signals to negotiate a direct connection, and the archive through the hub if
//! no direct connection is possible.

use std::time::Duration;

use reqwest::{Body, Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Hub, encode};
use crate::{Error, Offer};

/// Header that names the agent on whose behalf a program acts.
const ACTS_AS: &str = "Jackfield-Agent";

/// A file transfer with an agent: offered by the agent ([`Done::offer`](crate::Done::offer)), or announced to
/// it ([`Hub::announce`]).
#[derive(Debug, Clone)]
pub struct FileTransfer {
    hub: Hub,
    path: String,
    agent: Option<String>,
}

/// The hub's response to an announced transfer. `Debug` shows no credentials.
#[derive(Clone, Deserialize)]
pub struct AnnouncedTransfer {
    /// Id of the transfer.
    pub transfer_id: String,
    /// ICE servers for a direct connection, with credentials.
    #[serde(default)]
    pub ice_servers: Option<Value>,
}

/// The agent's signals about a transfer. `Debug` shows no credentials.
#[derive(Clone, Deserialize)]
pub struct ReceivedSignals {
    /// The signals, in the order in which the agent sent them.
    pub signals: Vec<ReceivedSignal>,
    /// ICE servers for a direct connection, with credentials.
    #[serde(default)]
    pub ice_servers: Option<Value>,
}

/// One signal of the agent.
#[derive(Debug, Clone, Deserialize)]
pub struct ReceivedSignal {
    /// Type of the signal.
    pub signal_type: String,
    /// Content of the signal: a string in practice.
    #[serde(default)]
    pub payload: Option<Value>,
}

impl std::fmt::Debug for AnnouncedTransfer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Announced")
            .field("transfer_id", &self.transfer_id)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ReceivedSignals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Said")
            .field("signals", &self.signals)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// Returns a handle for a transfer with an agent.
    pub fn transfer(&self, agent: &str, id: &str) -> FileTransfer {
        FileTransfer {
            hub: self.clone(),
            path: format!("{}/{}", transfers(agent), encode(id)),
            agent: None,
        }
    }

    /// Announces an archive that will be sent to an agent. `client_id` is the client name to which the files
    /// belong.
    pub async fn announce(
        &self,
        agent: &str,
        offer: &Offer,
        client_id: Option<&str>,
    ) -> Result<AnnouncedTransfer, Error> {
        let mut body = json!(offer);
        if let Some(client_id) = client_id {
            body["client_id"] = client_id.into();
        }
        self.request(Method::POST, &transfers(agent), Some(&body))
            .await
    }

    /// Sends an archive as an agent, with a ticket of the hub (signal `relay`, direction `send`).
    pub async fn send_by_ticket(&self, ticket: &str, body: impl Into<Body>) -> Result<(), Error> {
        let request = self.upload_builder(Method::PUT, &by_ticket(ticket));
        self.send(request.body(body)).await.map(drop)
    }

    /// Receives an archive as an agent, with a ticket of the hub (signal `relay`, direction `receive`).
    pub async fn receive_by_ticket(&self, ticket: &str) -> Result<ArchiveStream, Error> {
        let request = self.builder(Method::GET, &by_ticket(ticket));
        self.send(request)
            .await
            .map(|response| ArchiveStream::new(response, 0))
    }
}

fn transfers(agent: &str) -> String {
    format!("/v1/agents/{}/transfers", encode(agent))
}

fn by_ticket(ticket: &str) -> String {
    format!("/v1/transfers/{}", encode(ticket))
}

impl FileTransfer {
    /// Acts on behalf of an agent that made the call. The token must be allowed to register that agent.
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

    /// Sends a signal to the agent and returns the agent's signals. Waits up to `wait`, at most 30 s, if the
    /// agent has sent none. Signal type `poll` sends nothing to the agent.
    pub async fn signal(
        &self,
        signal_type: &str,
        payload: Option<&str>,
        wait: Duration,
    ) -> Result<ReceivedSignals, Error> {
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
    pub async fn content(&self, offset: u64) -> Result<ArchiveStream, Error> {
        let mut request = self.request(Method::GET, "/content");
        if offset > 0 {
            request = request.header("Range", format!("bytes={offset}-"));
        }
        let response = self.hub.send(request).await?;
        let begins = match response.status() {
            StatusCode::PARTIAL_CONTENT => offset,
            _ => 0,
        };
        Ok(ArchiveStream::new(response, begins))
    }

    /// Sends the archive through the hub. `body` is the rest of the archive from `offset` on.
    pub async fn upload(&self, offset: u64, body: impl Into<Body>) -> Result<(), Error> {
        let end = format!("/content?offset={offset}");
        let request = self.request(Method::PUT, &end).body(body);
        self.hub.send(request).await.map(drop)
    }
}

/// An archive being received. Its content is not verified: compare size and hash with the [`Offer`].
#[derive(Debug)]
pub struct ArchiveStream {
    response: Response,
    begins: u64,
}

impl ArchiveStream {
    fn new(response: Response, begins: u64) -> Self {
        Self { response, begins }
    }

    /// Returns the offset of the first byte: the requested offset, or 0.
    pub fn offset(&self) -> u64 {
        self.begins
    }

    /// Returns the number of bytes to come, according to the hub.
    pub fn length(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// Waits for the next piece. Returns `None` at the end. Returns [`Error::Broken`] if the sender was cut
    /// off: request the rest.
    pub async fn next(&mut self) -> Result<Option<bytes::Bytes>, Error> {
        self.response.chunk().await.map_err(|_| Error::Broken)
    }
}
