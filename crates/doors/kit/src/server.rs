//! The HTTP server below all doors: accepts on any number of listeners, speaks HTTP/1.1 and HTTP/2, with
//! or without TLS, and hands every request to one axum router together with a [`Peer`]. It owns its
//! connections and what they were upgraded to, through [`Tasks`], and ends them within a limit.

use std::{
    io,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body};
use futures_util::future::join_all;
use http::Request;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::{
    io::Io,
    socket::{Hangup, Socket},
    tasks::Tasks,
    tls::Tls,
};

/// The first pause after an accept that failed for want of resources; it doubles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The longest pause between two attempts to accept.
const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);

/// How many requests one connection may have open; each may hold a body.
const HTTP2_STREAMS: u32 = 100;

/// How often an HTTP/2 peer is asked whether it is still there, which HTTP/1.1 has no way to do.
const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(30);

/// The limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// How many connections may be open, upgraded ones included. Further peers wait in the kernel's
    /// queue until one ends; nobody is refused. A listener that waits for a peer takes one place.
    pub max_connections: usize,
    /// How long a peer may take to send the head of a request. An idle HTTP/1.1 connection is closed
    /// after this time too.
    pub header_read_timeout: Duration,
    /// How long the TLS handshake may take.
    pub tls_handshake_timeout: Duration,
    /// How long a peer may take nothing of what is written to it before the connection ends.
    pub write_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_connections: 15_000,
            header_read_timeout: Duration::from_secs(10),
            tls_handshake_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Who sent a request; found in the extensions of each of them.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address of the peer, which may be a proxy's.
    pub addr: SocketAddr,
    /// Tells whether the peer has gone.
    pub hangup: Hangup,
}

/// An HTTP server that has not started.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<TcpListener>,
    app: Router,
    tasks: Tasks,
    tls: Option<Tls>,
    limits: ServerLimits,
}

impl Server {
    /// A server of `app` whose connections are among `tasks`.
    pub fn new(listeners: Vec<TcpListener>, app: Router, tasks: Tasks) -> Self {
        Self {
            listeners,
            app,
            tasks,
            tls: None,
            limits: ServerLimits::default(),
        }
    }

    /// Speaks TLS, and only TLS.
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets other limits.
    pub fn with_limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Serves until the stop token of the tasks is cancelled, then lets requests and sessions end
    /// within `stop_limit`. Returns how many tasks had to be dropped.
    pub async fn run(self, stop_limit: Duration) -> usize {
        let mut builder = auto::Builder::new(self.tasks.clone());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_read_timeout);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(HTTP2_PING_INTERVAL)
            .max_concurrent_streams(HTTP2_STREAMS);
        let acceptor = Acceptor {
            builder,
            app: self.app,
            tasks: self.tasks.clone(),
            tls: self.tls,
            limits: self.limits,
            free: Arc::new(Semaphore::new(self.limits.max_connections)),
        };
        let accepting = join_all(self.listeners.iter().map(|it| acceptor.accept_from(it)));
        self.tasks.stop_token().run_until_cancelled(accepting).await;
        // Closes the ports before the wait, so that nobody new is kept hanging.
        drop(self.listeners);
        drop(acceptor);
        self.tasks.stop(stop_limit).await
    }
}

struct Acceptor {
    builder: auto::Builder<Tasks>,
    app: Router,
    tasks: Tasks,
    tls: Option<Tls>,
    limits: ServerLimits,
    free: Arc<Semaphore>,
}

impl Acceptor {
    async fn accept_from(&self, listener: &TcpListener) {
        let mut pause = ACCEPT_PAUSE;
        loop {
            let Ok(permit) = self.free.clone().acquire_owned().await else {
                return;
            };
            match listener.accept().await {
                Ok((tcp, addr)) => {
                    pause = ACCEPT_PAUSE;
                    self.start(tcp, addr, permit);
                }
                Err(error) if is_of_the_peer(&error) => {
                    tracing::debug!(%error, "connection ended before it was accepted");
                }
                Err(error) => {
                    // Most likely out of file descriptors: it gets better when a connection ends.
                    tracing::warn!(%error, ?pause, "cannot accept, trying again after a pause");
                    sleep(pause).await;
                    pause = (pause * 2).min(ACCEPT_PAUSE_MAX);
                }
            }
        }
    }

    fn start(&self, tcp: TcpStream, addr: SocketAddr, permit: OwnedSemaphorePermit) {
        if let Err(error) = tcp.set_nodelay(true) {
            tracing::debug!(%addr, %error, "cannot set TCP_NODELAY");
        }
        let socket = Socket::new(tcp)
            .with_permit(permit)
            .with_write_limit(self.limits.write_timeout);
        let connection = Connection {
            peer: Peer {
                addr,
                hangup: socket.hangup(),
            },
            builder: self.builder.clone(),
            app: self.app.clone(),
            tasks: self.tasks.clone(),
            limits: self.limits,
        };
        match &self.tls {
            None => self.tasks.spawn(connection.serve(Io::Plain(socket))),
            Some(tls) => {
                let acceptor = TlsAcceptor::from(tls.current());
                self.tasks.spawn(connection.serve_tls(acceptor, socket));
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

/// One accepted connection, until it ends or is upgraded.
struct Connection {
    peer: Peer,
    builder: auto::Builder<Tasks>,
    app: Router,
    tasks: Tasks,
    limits: ServerLimits,
}

impl Connection {
    async fn serve_tls(self, acceptor: TlsAcceptor, socket: Socket) {
        let addr = self.peer.addr;
        let handshake = timeout(self.limits.tls_handshake_timeout, acceptor.accept(socket));
        let stop = self.tasks.stop_token().clone();
        match stop.run_until_cancelled(handshake).await {
            Some(Ok(Ok(stream))) => self.serve(Io::Tls(Box::new(stream))).await,
            Some(Ok(Err(error))) => tracing::debug!(%addr, %error, "TLS handshake failed"),
            Some(Err(_)) => tracing::debug!(%addr, "TLS handshake took too long"),
            None => {}
        }
    }

    async fn serve(self, io: Io) {
        let Self {
            peer,
            builder,
            app,
            tasks,
            limits,
        } = self;
        let addr = peer.addr;
        let has_begun = Arc::new(AtomicBool::new(false));
        let service = {
            let has_begun = has_begun.clone();
            service_fn(move |mut request: Request<Incoming>| {
                has_begun.store(true, Ordering::Relaxed);
                request.extensions_mut().insert(peer.clone());
                app.clone().oneshot(request.map(Body::new))
            })
        };
        let mut serving = pin!(builder.serve_connection_with_upgrades(TokioIo::new(io), service));
        // Hyper's own timeout starts only when the peer has shown which HTTP it speaks.
        let mut silence = pin!(sleep(limits.header_read_timeout));
        let mut stop = pin!(tasks.stop_token().cancelled());
        let (mut watches_silence, mut is_stopping) = (true, false);
        loop {
            tokio::select! {
                served = serving.as_mut() => {
                    if let Err(error) = served {
                        tracing::debug!(%addr, %error, "connection ended with an error");
                    }
                    return;
                }
                () = silence.as_mut(), if watches_silence => {
                    watches_silence = false;
                    if !has_begun.load(Ordering::Relaxed) {
                        tracing::debug!(%addr, "no request came in time");
                        return;
                    }
                }
                () = stop.as_mut(), if !is_stopping => {
                    is_stopping = true;
                    serving.as_mut().graceful_shutdown();
                }
            }
        }
    }
}
