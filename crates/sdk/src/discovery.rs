//! Hubs that are discovered instead of configured: the hub's current address, and a check of the process that
//! listens there. The program that discovers a hub provides the [`Discovery`]; [`Hub`](crate::Hub) and
//! [`Agent`](crate::Agent) call it.

use std::{
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper_util::client::legacy::connect::{Connection, HttpInfo};
use tokio_tungstenite::tungstenite::http::Extensions;
use tower::{Layer, Service};

use crate::HubAddress;

/// Future returned by the methods of [`Discovery`].
pub type DiscoveryFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Finds a hub without a configured address, and tells the hub from other processes that listen on its port.
///
/// Set on an [`HubAddress`] with [`HubAddress::with_discovery`]. Connections to a discovered hub use no proxy.
pub trait Discovery: fmt::Debug + Send + Sync {
    /// Returns the hub's current address; its token is ignored. Called before each reconnect. `None` means
    /// unknown: the last address is used.
    fn locate(&self) -> DiscoveryFuture<'_, Option<HubAddress>>;

    /// Accepts or refuses the peer of a new connection. Nothing but a TLS handshake has been sent at that
    /// point.
    fn check(&self, ends: ConnectionEnds) -> DiscoveryFuture<'_, Result<(), UntrustedHub>>;
}

/// The two ends of a connection to a hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionEnds {
    /// Address of the hub's end.
    pub peer: SocketAddr,
    /// Address of this program's end.
    pub ours: SocketAddr,
}

/// Why the process that listens at a hub's address is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct UntrustedHub {
    /// Description of the problem.
    pub why: String,
    /// What the user can do.
    pub remedy: String,
}

impl UntrustedHub {
    /// Finds a refusal of [`Discovery::check`] among the causes of a failed request or connection.
    pub(crate) fn find(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref::<Self>() {
                return Some(found.clone());
            }
            cause = error.source();
        }
        None
    }
}

type ConnectorError = Box<dyn std::error::Error + Send + Sync>;

/// Connector layer of an HTTP client that checks every new connection before use.
#[derive(Debug, Clone)]
pub(crate) struct CheckLayer(pub(crate) Arc<dyn Discovery>);

impl<S> Layer<S> for CheckLayer {
    type Service = CheckedConnector<S>;

    fn layer(&self, connector: S) -> CheckedConnector<S> {
        CheckedConnector {
            connector,
            discovery: self.0.clone(),
        }
    }
}

/// Connector that checks its connections.
#[derive(Debug, Clone)]
pub(crate) struct CheckedConnector<S> {
    connector: S,
    discovery: Arc<dyn Discovery>,
}

impl<S, R> Service<R> for CheckedConnector<S>
where
    S: Service<R, Error = ConnectorError>,
    S::Future: Send + 'static,
    S::Response: Connection + Send,
{
    type Response = S::Response;
    type Error = ConnectorError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, ConnectorError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectorError>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, to: R) -> Self::Future {
        let connecting = self.connector.call(to);
        let discovery = self.discovery.clone();
        Box::pin(async move {
            let connection = connecting.await?;
            let ends = ends(&connection).ok_or("the addresses of the connection are not known")?;
            discovery.check(ends).await?;
            Ok(connection)
        })
    }
}

fn ends(connection: &impl Connection) -> Option<ConnectionEnds> {
    let mut extras = Extensions::new();
    connection.connected().get_extras(&mut extras);
    let info = extras.get::<HttpInfo>()?;
    Some(ConnectionEnds {
        peer: info.remote_addr(),
        ours: info.local_addr(),
    })
}
