//! Hubs that are found, not named: where such a hub is now, and who may answer for it. The program that finds a hub brings
//! the [`Discovery`]; [`Hub`](crate::Hub) and [`Agent`](crate::Agent) ask it.

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

use crate::Address;

/// What a [`Discovery`] answers, later.
pub type Discovered<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How a hub is found that nobody named, and how it is told from others that listen in its place.
///
/// An [`Address`] carries it ([`Address::with_discovery`]). Connections to such a hub use no proxy.
pub trait Discovery: fmt::Debug + Send + Sync {
    /// The address of the hub now; its token is not used. Asked before each attempt to connect again. `None` if the
    /// address is not known: then the last one is tried.
    fn locate(&self) -> Discovered<'_, Option<Address>>;

    /// Accepts or refuses the other end of a new connection. Nothing but a TLS handshake has been sent over it by then.
    fn check(&self, ends: Ends) -> Discovered<'_, Result<(), Untrusted>>;
}

/// The two ends of a connection to a hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The hub's end.
    pub peer: SocketAddr,
    /// The end of this program.
    pub ours: SocketAddr,
}

/// Why whoever listens at the address of a hub is not taken for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Untrusted {
    /// What was found.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

impl Untrusted {
    /// The refusal in the causes of a failed request or connection.
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

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Has every new connection of an HTTP client checked before it is used.
#[derive(Debug, Clone)]
pub(crate) struct CheckLayer(pub(crate) Arc<dyn Discovery>);

impl<S> Layer<S> for CheckLayer {
    type Service = Checked<S>;

    fn layer(&self, connector: S) -> Checked<S> {
        Checked {
            connector,
            discovery: self.0.clone(),
        }
    }
}

/// A connector whose connections are checked.
#[derive(Debug, Clone)]
pub(crate) struct Checked<S> {
    connector: S,
    discovery: Arc<dyn Discovery>,
}

impl<S, R> Service<R> for Checked<S>
where
    S: Service<R, Error = BoxError>,
    S::Future: Send + 'static,
    S::Response: Connection + Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
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

fn ends(connection: &impl Connection) -> Option<Ends> {
    let mut extras = Extensions::new();
    connection.connected().get_extras(&mut extras);
    let info = extras.get::<HttpInfo>()?;
    Some(Ends {
        peer: info.remote_addr(),
        ours: info.local_addr(),
    })
}
