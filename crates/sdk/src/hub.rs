//! [`Hub`], client of the hub's HTTP API, to call agents.

mod call;
mod event;
mod read_position;
mod stream;
mod transfer;

use std::{sync::Arc, time::Duration};

use parking_lot::RwLock;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use self::{
    call::{CallBuilder, CallStream, Reconnect},
    event::{CallStarted, Event},
    stream::{EventStream, RawEvent},
    transfer::{AnnouncedTransfer, ArchiveStream, FileTransfer, ReceivedSignal, ReceivedSignals},
};
use crate::{Backoff, Error, HubAddress, HubTlsError, discovery::CheckLayer};

/// Attempts of a request without side effects while the hub is unreachable.
const ATTEMPTS: u32 = 4;
/// Read timeout. The hub sends data on an open stream more often, so silence means a lost hub.
const SILENCE: Duration = Duration::from_secs(75);

/// TCP keep-alive interval for connections on which only this client sends. The hub closes stalled
/// connections; keep-alive detects a lost hub.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// How long an idle connection stays in the pool. The hub closes idle connections after 10 s, and a request
/// that races the close is lost without a sign whether the hub received it.
const IDLE: Duration = Duration::from_secs(5);

/// A hub whose agents can be called. All clones share one address and follow a hub that moves.
#[derive(Debug, Clone)]
pub struct Hub(Arc<RwLock<Arc<HubClient>>>);

/// A hub at one address.
#[derive(Debug)]
struct HubClient {
    address: HubAddress,
    client: reqwest::Client,
    /// Client for long uploads, without a read timeout: no response arrives until the upload is complete.
    sender: reqwest::Client,
}

/// An agent as the hub lists it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Id to call the agent by.
    pub id: String,
    /// Display name.
    #[serde(default)]
    pub name: String,
    /// Protocol by which the agent is attached.
    #[serde(default)]
    pub door: String,
    /// Owner of the agent.
    #[serde(default)]
    pub owner: String,
    /// `online` or `offline`.
    #[serde(default)]
    pub state: String,
    /// All other fields of the hub's response.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Value>,
}

impl AgentInfo {
    /// Returns whether the agent is attached.
    pub fn is_online(&self) -> bool {
        self.state == "online"
    }
}

impl Hub {
    /// Creates a client for the hub at `address`.
    pub fn new(address: HubAddress) -> Result<Self, Error> {
        let site = HubClient::new(address)?;
        Ok(Self(Arc::new(RwLock::new(Arc::new(site)))))
    }

    /// Creates a client for the hub in the environment, or for the hub on this machine
    /// ([`HubAddress::from_env`]).
    pub fn from_env() -> Result<Self, Error> {
        Self::new(HubAddress::from_env()?)
    }

    /// Returns the current address.
    pub fn address(&self) -> HubAddress {
        self.site().address.clone()
    }

    fn site(&self) -> Arc<HubClient> {
        self.0.read().clone()
    }

    /// Switches this handle and all its clones to a new address of the hub.
    pub fn move_to(&self, address: HubAddress) -> Result<(), Error> {
        let site = Arc::new(HubClient::new(address)?);
        *self.0.write() = site;
        Ok(())
    }

    /// Looks up the hub with its [`Discovery`](crate::Discovery), if set, and switches to the new address if
    /// the hub has moved. Open connections are not affected.
    pub async fn relocate(&self) -> Result<(), Error> {
        match self.address().relocated().await {
            Some(address) => self.move_to(address),
            None => Ok(()),
        }
    }

    /// Lists the agents that the token's owner may see.
    pub async fn agents(&self) -> Result<Vec<AgentInfo>, Error> {
        #[derive(Deserialize)]
        struct AgentsResponse {
            agents: Vec<AgentInfo>,
        }
        self.get::<AgentsResponse>("/v1/agents")
            .await
            .map(|agents| agents.agents)
    }

    /// Prepares a call to an agent.
    pub fn call(&self, agent: impl Into<String>) -> CallBuilder {
        CallBuilder::new(self.clone(), agent.into())
    }

    /// Reads a task from its first event on, while a call of the task is running.
    pub async fn follow(&self, task: &str) -> Result<CallStream, Error> {
        CallStream::follow(self.clone(), task).await
    }

    /// Calls an agent and waits for the whole reply.
    pub async fn ask(
        &self,
        agent: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<String, Error> {
        self.call(agent).text(text).start().await?.text().await
    }

    /// Gets JSON from a path. Retries with full jitter while the hub is unreachable.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let mut backoff = Backoff::default();
        for _ in 1..ATTEMPTS {
            match self.request(Method::GET, path, None::<&()>).await {
                Err(error) if error.is_retryable() => tokio::time::sleep(backoff.next_wait()).await,
                other => return other,
            }
        }
        self.request(Method::GET, path, None::<&()>).await
    }

    /// Sends JSON to a path and reads JSON back. Does not retry: the hub may have executed the request.
    pub async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<T, Error> {
        let mut request = self.builder(method, path);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = self.send(request).await?;
        let text = response.text().await.map_err(|_| Error::Broken)?;
        // An empty body, as with 204, parses as null.
        let text = if text.is_empty() { "null" } else { &text };
        serde_json::from_str(text).map_err(|error| Error::Unreadable(error.to_string()))
    }

    /// Opens the event stream at a path. `after` is the [`RawEvent::id`] to continue after.
    pub async fn events(&self, path: &str, after: Option<&str>) -> Result<EventStream, Error> {
        let mut request = self.builder(Method::GET, path);
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        self.send(request).await.map(EventStream::new)
    }

    /// Builds an authenticated request to a path, for endpoints without a method of their own here.
    pub fn builder(&self, method: Method, path: &str) -> RequestBuilder {
        let site = self.site();
        site.request(&site.client, method, path)
    }

    /// Like [`builder`](Self::builder), for a request with a long upload.
    fn upload_builder(&self, method: Method, path: &str) -> RequestBuilder {
        let site = self.site();
        site.request(&site.sender, method, path)
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = request.send().await;
        let address = self.address();
        let base = address.base();
        let response = response.map_err(|error| Error::unreachable(base, error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.text().await.unwrap_or_default();
        Err(refused(base, status, &body))
    }
}

impl HubClient {
    fn new(address: HubAddress) -> Result<Self, Error> {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let unusable = |error: reqwest::Error| Error::unreachable(address.base(), error);
        let client = http(&address)?.read_timeout(SILENCE).build();
        let client = client.map_err(unusable)?;
        let sender = http(&address)?.tcp_keepalive(KEEPALIVE).build();
        let sender = sender.map_err(unusable)?;
        Ok(Self {
            address,
            client,
            sender,
        })
    }

    fn request(&self, client: &reqwest::Client, method: Method, path: &str) -> RequestBuilder {
        let request = client.request(method, format!("{}{path}", self.address.base()));
        match self.address.token() {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

fn http(address: &HubAddress) -> Result<reqwest::ClientBuilder, Error> {
    let tls = address.tls()?;
    let builder = match address.discovery() {
        Some(discovery) => reqwest::Client::builder()
            .no_proxy()
            .connector_layer(CheckLayer(discovery.clone())),
        None => reqwest::Client::builder(),
    };
    Ok(builder
        .tls_backend_preconfigured(tls)
        .connect_timeout(Duration::from_secs(10))
        .pool_idle_timeout(IDLE)
        .redirect(reqwest::redirect::Policy::none()))
}

/// Percent-encodes an id for use in a path or a query.
pub fn encode(id: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    id.bytes().map(byte).collect()
}

/// Converts an HTTP error response of the hub at `url`.
pub(crate) fn refused(url: &str, status: StatusCode, body: &str) -> Error {
    if status == StatusCode::BAD_REQUEST && HubTlsError::is_tls_required_reply(url, body) {
        return Error::Tls {
            url: url.to_owned(),
            why: HubTlsError::TlsServer,
        };
    }
    #[derive(Deserialize)]
    struct ErrorResponse {
        error: String,
        cause: Option<String>,
        field: Option<String>,
        message: String,
    }
    let ErrorResponse {
        error,
        cause,
        field,
        message,
    } = serde_json::from_str(body).unwrap_or_else(|_| ErrorResponse {
        error: "unknown".to_owned(),
        cause: None,
        field: None,
        message: format!("the hub answered {status}"),
    });
    Error::Refused {
        status: status.as_u16(),
        code: error,
        cause,
        field,
        message,
    }
}
