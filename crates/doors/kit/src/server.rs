//! The HTTP server below all doors. [`Server`] accepts on any number of listeners, speaks HTTP/1.1 and
//! HTTP/2, with or without TLS, and passes every request to one axum router together with a [`RequestPeer`]. Through
//! [`Tasks`] the server owns its connections and upgraded connections, and ends them within a time limit.
//! Each [`Account`] counts the resources held for one peer: connections, incomplete input, and unsent
//! answers.

mod account;
mod connection;
mod handover;
mod http_io;
mod plain;
mod request_body;
mod response_body;

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    response::{IntoResponse as _, Response},
};
use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header, request::Parts};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
};
use hyper_util::rt::TokioTimer;
use jackfield_core::limits::Limits;
use jackfield_model::{Failure, Reason};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Notify,
    time::sleep,
};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;
use tracing::{Instrument as _, field::Empty};

pub(crate) use self::{account::ConnectionSlot, http_io::HttpIo, request_body::InputOverShare};
pub use self::{
    account::{Account, AnswerReservation, ShareHolder},
    handover::EndlessStream,
    request_body::PassThrough,
};
use self::{
    account::{AdmittedConnection, ServerBudgets},
    connection::{HttpConnection, ServingOptions},
    handover::StreamHandover,
    response_body::Http2Executor,
};
use crate::{
    api::ApiError,
    auth::Gatekeeper,
    io::Io,
    peer_user::PeerUser,
    socket::{HangupDetector, TcpConnection},
    tasks::Tasks,
    tls::Tls,
};

/// First pause after an accept that failed for lack of resources; doubles with every failure.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Longest pause between two attempts to accept.
const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Bytes that one HTTP/2 stream may buffer for its peer. Twice a piece of an answer, so that data is always
/// available for writing.
const HTTP2_SEND_BUFFER: usize = 64 << 10;

/// Bytes of an HTTP/2 request body that may arrive before the handler reads them: 1 MB/s and more on any
/// network.
const HTTP2_STREAM_WINDOW: u32 = 128 << 10;

/// Bytes of request bodies that may arrive unread on one HTTP/2 connection.
const HTTP2_CONNECTION_WINDOW: u32 = 512 << 10;

/// Bytes that an HTTP/1.1 connection may buffer in either direction, the head of a request included.
const HTTP1_BUFFER: usize = 64 << 10;

/// Connections that may wait to be accepted. When a hub comes back, thousands of agents reconnect within a
/// second; a connection beyond the backlog waits a second for its next attempt. Linux caps the number by
/// `net.core.somaxconn`, 4,096 unless changed.
const BACKLOG: u32 = 4096;

/// Paths served to every client on connections reserved for the operator.
const OPERATORS_PATHS: [&str; 4] = ["/healthz", "/health", "/readyz", "/metrics"];

/// Response to a connection beyond the limit, if the port speaks no TLS.
const NO_PLACE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n\
    Content-Type: application/json\r\nContent-Length: 88\r\n\r\n\
    {\"error\":\"busy\",\"message\":\"the hub has no place for more connections from this address\"}";

/// Interval of HTTP/2 pings, which check whether the peer is still connected. HTTP/1.1 has no equivalent.
const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(30);

/// Limits of a [`Server`].
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Maximum number of open connections, upgraded ones included. Addresses and owners share this total:
    /// each may hold twice as many as are free. Further connections are refused.
    pub max_connections: usize,
    /// Connections reserved for health checks and administrators, beyond `max_connections`.
    pub operator_connections: usize,
    /// Maximum number of open requests on one HTTP/2 connection.
    pub http2_streams: u32,
    /// Maximum number of bytes held for incomplete bodies and frames.
    pub input_total: usize,
    /// Maximum number of bytes held for unsent answers.
    pub answers_total: usize,
    /// Timeout for the head of a request. Also closes an idle HTTP/1.1 connection.
    pub header_read_timeout: Duration,
    /// Timeout for the TLS handshake.
    pub tls_handshake_timeout: Duration,
    /// Time after which a connection ends when its peer takes none of the written bytes.
    pub write_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self::from(&Limits::default())
    }
}

impl From<&Limits> for ServerLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            max_connections: limits.connections,
            operator_connections: limits.operator_connections,
            http2_streams: limits.http2_streams,
            input_total: limits.input_total.0,
            answers_total: limits.answers_total.0,
            header_read_timeout: Duration::from_secs(10),
            tls_handshake_timeout: Duration::from_secs(10),
            write_timeout: limits.write_stuck.0,
        }
    }
}

/// Opens a listener for a [`Server`].
pub fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Lets a restarted hub bind its port again. On Windows it would let two hubs share the port.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// The sender of a request. Every request carries a [`RequestPeer`] in its extensions.
#[derive(Debug, Clone)]
pub struct RequestPeer {
    /// Network address of the peer, possibly of a proxy.
    pub addr: SocketAddr,
    /// Detector for a hang-up of the peer.
    pub hangup: HangupDetector,
    /// Account that counts the resources held for the request.
    pub account: Account,
    /// Operating-system user of the peer.
    pub user: PeerUser,
}

/// An HTTP server that has not started.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<TcpListener>,
    app: Router,
    tasks: Tasks,
    tls: Option<Tls>,
    limits: ServerLimits,
    gatekeeper: Option<Gatekeeper>,
}

impl Server {
    /// Creates a server for `app`, whose connections run as part of `tasks`.
    pub fn new(listeners: Vec<TcpListener>, app: Router, tasks: Tasks) -> Self {
        Self {
            listeners,
            app,
            tasks,
            tls: None,
            limits: ServerLimits::default(),
            gatekeeper: None,
        }
    }

    /// Serves TLS, and only TLS.
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Replaces the default limits.
    pub fn with_limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Counts requests for the owners of their tokens, recognizes administrators, and redeems the tickets of
    /// WebSocket handshakes. Without a [`Gatekeeper`], requests count for network addresses.
    pub fn with_gatekeeper(mut self, gatekeeper: Gatekeeper) -> Self {
        self.gatekeeper = Some(gatekeeper);
        self
    }

    /// Serves until the stop token of the tasks is cancelled, then waits up to `stop_limit` for requests and
    /// sessions to end. Returns the number of dropped tasks.
    pub async fn run(self, stop_limit: Duration) -> usize {
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_read_timeout)
            .max_buf_size(HTTP1_BUFFER);
        let mut http2 = http2::Builder::new(Http2Executor {
            tasks: self.tasks.clone(),
            limit: self.limits.write_timeout,
        });
        http2
            .timer(TokioTimer::new())
            .keep_alive_interval(HTTP2_PING_INTERVAL)
            .max_concurrent_streams(self.limits.http2_streams)
            .max_send_buf_size(HTTP2_SEND_BUFFER)
            .initial_stream_window_size(HTTP2_STREAM_WINDOW)
            .initial_connection_window_size(HTTP2_CONNECTION_WINDOW);
        let acceptor = Acceptor {
            serving: Arc::new(ServingOptions {
                http1,
                http2,
                tasks: self.tasks.clone(),
                limits: self.limits,
            }),
            app: self.app,
            tls: self.tls,
            gatekeeper: self.gatekeeper,
            budgets: ServerBudgets::new(&self.limits),
        };
        let accepting = join_all(self.listeners.iter().map(|it| acceptor.accept_from(it)));
        self.tasks.stop_token().run_until_cancelled(accepting).await;
        // Closes the ports before the wait, so that no new client is left hanging.
        drop(self.listeners);
        drop(acceptor);
        self.tasks.stop(stop_limit).await
    }
}

struct Acceptor {
    serving: Arc<ServingOptions>,
    app: Router,
    tls: Option<Tls>,
    gatekeeper: Option<Gatekeeper>,
    budgets: Arc<ServerBudgets>,
}

impl Acceptor {
    async fn accept_from(&self, listener: &TcpListener) {
        let mut pause = ACCEPT_PAUSE;
        loop {
            match listener.accept().await {
                Ok((tcp, addr)) => {
                    pause = ACCEPT_PAUSE;
                    match self.budgets.admit(addr) {
                        Some(admitted) => self.start(tcp, addr, admitted),
                        None => self.refuse(&tcp, addr),
                    }
                }
                Err(error) if is_of_the_peer(&error) => {
                    tracing::debug!(%error, "connection ended before it was accepted");
                }
                Err(error) => {
                    // Most likely out of file descriptors, until a connection ends.
                    tracing::warn!(%error, ?pause, "cannot accept, trying again after a pause");
                    sleep(pause).await;
                    pause = (pause * 2).min(ACCEPT_PAUSE_MAX);
                }
            }
        }
    }

    /// Refuses a connection beyond the limit, with a response if one can be written without waiting.
    fn refuse(&self, tcp: &TcpStream, addr: SocketAddr) {
        tracing::debug!(%addr, "connection refused: its address has its share of them");
        if self.tls.is_none() {
            tcp.try_write(NO_PLACE).ok();
        }
    }

    fn start(&self, tcp: TcpStream, addr: SocketAddr, admitted: AdmittedConnection) {
        if let Err(error) = tcp.set_nodelay(true) {
            tracing::debug!(%addr, %error, "cannot set TCP_NODELAY");
        }
        let user = PeerUser::new(addr, tcp.local_addr().ok());
        let socket = TcpConnection::new(tcp)
            .with_place(admitted.place)
            .with_write_limit(self.serving.limits.write_timeout);
        let requests = RequestHandler {
            peer: RequestPeer {
                addr,
                hangup: socket.hangup(),
                account: admitted.account,
                user,
            },
            app: self.app.clone(),
            gatekeeper: self.gatekeeper.clone(),
            is_operators: admitted.is_operators,
            has_several_owners: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            begun: Notify::new(),
            handover: Arc::default(),
        };
        let connection = HttpConnection {
            requests: Arc::new(requests),
            options: self.serving.clone(),
        };
        let tasks = &self.serving.tasks;
        let span = tracing::debug_span!(parent: None, "connection", %addr, agent = Empty);
        match &self.tls {
            None => {
                let serving = connection.serve(Io::Plain(socket));
                tasks.spawn(serving.instrument(span));
            }
            Some(tls) => {
                let acceptor = TlsAcceptor::from(tls.current());
                let serving = connection.serve_tls(acceptor, socket);
                tasks.spawn(serving.instrument(span));
            }
        }
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

/// Handler for the requests of one connection.
struct RequestHandler {
    peer: RequestPeer,
    app: Router,
    gatekeeper: Option<Gatekeeper>,
    /// Whether the connection uses a slot reserved for the operator.
    is_operators: bool,
    /// Whether the connection carried tokens of several owners, as from a proxy. Such a connection counts for
    /// its address.
    has_several_owners: AtomicBool,
    has_begun: AtomicBool,
    begun: Notify,
    handover: Arc<StreamHandover>,
}

impl RequestHandler {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response, Infallible> {
        self.has_begun.store(true, Ordering::Relaxed);
        let (mut head, body) = request.into_parts();
        // Before authentication: a request without a `RequestPeer` would pass as coming from this process.
        head.extensions.insert(self.peer.clone());
        if let Some(gatekeeper) = &self.gatekeeper {
            gatekeeper.redeem_ticket(&mut head);
        }
        if self.is_operators {
            self.begun.notify_one();
            if !self.is_from_operator(&head) {
                return Ok(no_place());
            }
        }
        let (version, mut account) = (head.version, self.account_of(&head.headers));
        if let Err(failure) = self.count_for_owner(&mut account)
            && !self.is_from_operator(&head)
        {
            return Ok(busy(failure));
        }
        let can_leave_hyper = handover::has_chunks(&head);
        let is_last = handover::closes_connection(&head.headers);
        let request = Request::from_parts(head, body);
        let (mut request, leftover) = request_body::counted(request, &account);
        let peer = RequestPeer {
            account: account.clone(),
            ..self.peer.clone()
        };
        request.extensions_mut().insert(peer);
        let mut response = self.app.clone().oneshot(request).await?;
        leftover.settle(&mut response).await;
        let response = response_body::counted(response, &account, version);
        if can_leave_hyper {
            return Ok(self.handover.offer(response, is_last));
        }
        Ok(response)
    }

    /// Returns the account for a request: of the owner of its token, else of its network address.
    fn account_of(&self, headers: &HeaderMap) -> Account {
        let account = &self.peer.account;
        let gatekeeper = self.gatekeeper.as_ref();
        match gatekeeper.and_then(|it| it.owner_of_token(headers)) {
            Some(owner) => account.of(ShareHolder::Owner(owner)),
            None => account.clone(),
        }
    }

    /// Counts the connection for the owner of the request's token, from the first request with a token on.
    /// Fails with `busy` if the owner has more connections than its share.
    fn count_for_owner(&self, account: &mut Account) -> Result<(), Failure> {
        let ShareHolder::Owner(owner) = account.holder().clone() else {
            return Ok(());
        };
        if self.is_operators || self.has_several_owners.load(Ordering::Relaxed) {
            return Ok(());
        }
        match account.slot_holder() {
            Some(ShareHolder::Owner(other)) if other != owner => {
                self.has_several_owners.store(true, Ordering::Relaxed);
                account.move_back(self.peer.account.holder());
                Ok(())
            }
            Some(ShareHolder::Owner(_)) | None => Ok(()),
            Some(ShareHolder::Address(_)) => account.move_to(&owner),
        }
    }

    /// Returns whether a request may use a slot reserved for the operator. WebSockets may not, because they
    /// would occupy the slot for long.
    fn is_from_operator(&self, head: &Parts) -> bool {
        let is_admin = || {
            let gatekeeper = self.gatekeeper.as_ref();
            let caller = gatekeeper.map(|it| it.admit_request(head));
            matches!(caller, Some(Ok(caller)) if caller.is_admin())
        };
        !head.headers.contains_key(header::UPGRADE)
            && (OPERATORS_PATHS.contains(&head.uri.path()) || is_admin())
    }
}

fn no_place() -> Response {
    let text = "the hub has no place for more connections from this address; close some, or come back later";
    busy(Failure::new(Reason::Busy, text))
}

/// Returns the response for a connection beyond the limit.
fn busy(failure: Failure) -> Response {
    let problem = ApiError::from(failure);
    let mut response = problem
        .with_status(StatusCode::SERVICE_UNAVAILABLE)
        .into_response();
    let soon = HeaderValue::from_static("5");
    response.headers_mut().insert(header::RETRY_AFTER, soon);
    response
}
