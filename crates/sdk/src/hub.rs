//! Calling agents: a client of the hub's own HTTP API.

mod call;
mod event;
mod place;
mod stream;
mod transfer;

use std::{sync::Arc, time::Duration};

use parking_lot::RwLock;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use self::{
    call::{CallBuilder, CallStream, Reconnect},
    event::{Event, Started},
    stream::{EventStream, RawEvent},
    transfer::{Announced, Content, Said, SaidSignal, Transfer},
};
use crate::{Address, Backoff, Error, TlsError, discovery::CheckLayer};

/// How often a request that changes nothing is tried again when the hub cannot be reached.
const ATTEMPTS: u32 = 4;
/// The hub says something on an open stream more often than this; silence means that it is gone.
const SILENCE: Duration = Duration::from_secs(75);

/// How often a connection on which only we speak is proved. The hub ends what stands still; one that is gone is noticed
/// by this.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// How long a connection is kept for the next request. The hub closes idle ones after 10 s, and a request that meets the
/// close is lost without anybody knowing whether it was heard.
const IDLE: Duration = Duration::from_secs(5);

/// A hub, to be called. All clones use one address, so that they follow a hub that moves.
#[derive(Debug, Clone)]
pub struct Hub(Arc<RwLock<Arc<Site>>>);

/// A hub at one address.
#[derive(Debug)]
struct Site {
    address: Address,
    client: reqwest::Client,
    /// For bodies that take their time: nothing is heard until they are through.
    sender: reqwest::Client,
}

/// What the hub says of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The door it came through.
    #[serde(default)]
    pub door: String,
    /// Whose it is.
    #[serde(default)]
    pub owner: String,
    /// `online` or `offline`.
    #[serde(default)]
    pub state: String,
    /// What else the hub says.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Value>,
}

impl AgentInfo {
    /// Whether it is attached.
    pub fn is_online(&self) -> bool {
        self.state == "online"
    }
}

impl Hub {
    /// The hub at this address.
    pub fn new(address: Address) -> Result<Self, Error> {
        let site = Site::new(address)?;
        Ok(Self(Arc::new(RwLock::new(Arc::new(site)))))
    }

    /// The hub that the environment names, or the one on this machine.
    pub fn from_env() -> Result<Self, Error> {
        Self::new(Address::from_env()?)
    }

    /// Its address, as it is now.
    pub fn address(&self) -> Address {
        self.site().address.clone()
    }

    fn site(&self) -> Arc<Site> {
        self.0.read().clone()
    }

    /// Uses another address of the hub from now on, for this handle and all its clones.
    pub fn move_to(&self, address: Address) -> Result<(), Error> {
        let site = Arc::new(Site::new(address)?);
        *self.0.write() = site;
        Ok(())
    }

    /// Looks for the hub again, if it was found by a [`Discovery`](crate::Discovery), and follows it where it has moved.
    /// Connections that are open stay as they are.
    pub async fn relocate(&self) -> Result<(), Error> {
        match self.address().moved().await {
            Some(address) => self.move_to(address),
            None => Ok(()),
        }
    }

    /// The agents that one may see.
    pub async fn agents(&self) -> Result<Vec<AgentInfo>, Error> {
        #[derive(Deserialize)]
        struct Agents {
            agents: Vec<AgentInfo>,
        }
        self.get::<Agents>("/v1/agents")
            .await
            .map(|agents| agents.agents)
    }

    /// Begins a call to an agent.
    pub fn call(&self, agent: impl Into<String>) -> CallBuilder {
        CallBuilder::new(self.clone(), agent.into())
    }

    /// Reads a task from its first event on, as long as a call of it is running.
    pub async fn follow(&self, task: &str) -> Result<CallStream, Error> {
        CallStream::follow(self.clone(), task).await
    }

    /// Calls an agent and waits for its whole answer.
    pub async fn ask(
        &self,
        agent: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<String, Error> {
        self.call(agent).text(text).start().await?.text().await
    }

    /// Gets JSON from a path; tried again with full jitter while the hub cannot be reached.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let mut backoff = Backoff::default();
        for _ in 1..ATTEMPTS {
            match self.request(Method::GET, path, None::<&()>).await {
                Err(error) if error.is_passing() => tokio::time::sleep(backoff.next_wait()).await,
                other => return other,
            }
        }
        self.request(Method::GET, path, None::<&()>).await
    }

    /// Sends JSON to a path and reads JSON back. Not tried again: it may have been done.
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
        // 204 and the like: nothing reads as null.
        let text = if text.is_empty() { "null" } else { &text };
        serde_json::from_str(text).map_err(|error| Error::Unreadable(error.to_string()))
    }

    /// Follows a stream of events at a path.
    pub async fn events(&self, path: &str, after: Option<&str>) -> Result<EventStream, Error> {
        let mut request = self.builder(Method::GET, path);
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        self.send(request).await.map(EventStream::new)
    }

    /// A request to a path that shows the token, for what this client has no words for.
    pub fn builder(&self, method: Method, path: &str) -> RequestBuilder {
        let site = self.site();
        site.request(&site.client, method, path)
    }

    /// The same for a request whose body takes its time.
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

impl Site {
    fn new(address: Address) -> Result<Self, Error> {
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

fn http(address: &Address) -> Result<reqwest::ClientBuilder, Error> {
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

/// An id as it may stand in a path or a query.
pub fn encode(id: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    id.bytes().map(byte).collect()
}

/// What a refusal of the hub at `url` over HTTP means.
pub(crate) fn refused(url: &str, status: StatusCode, body: &str) -> Error {
    if status == StatusCode::BAD_REQUEST && TlsError::is_asked_for(url, body) {
        return Error::Tls {
            url: url.to_owned(),
            why: TlsError::TlsServer,
        };
    }
    #[derive(Deserialize)]
    struct Body {
        error: String,
        message: String,
    }
    let Body { error, message } = serde_json::from_str(body).unwrap_or_else(|_| Body {
        error: "unknown".to_owned(),
        message: format!("the hub answered {status}"),
    });
    Error::Refused {
        status: status.as_u16(),
        code: error,
        message,
    }
}
