//! [`TestServer`]: an HTTP server on a free port.

use std::{net::SocketAddr, time::Duration};

use tokio::{net::TcpListener, task::JoinSet};

use crate::{server::Server, tasks::Tasks};

/// A running server. Dropping it ends the server.
#[derive(Debug)]
pub struct TestServer {
    /// The address of the server.
    pub addr: SocketAddr,
    /// The tasks of the server's connections.
    pub tasks: Tasks,
    running: JoinSet<usize>,
}

impl TestServer {
    /// Starts a server on a free loopback port.
    pub async fn start(
        stop_limit: Duration,
        server: impl FnOnce(TcpListener, Tasks) -> Server,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::start_on(listener, Tasks::new(), stop_limit, server)
    }

    /// Starts a server on a bound listener.
    pub fn start_on(
        listener: TcpListener,
        tasks: Tasks,
        stop_limit: Duration,
        server: impl FnOnce(TcpListener, Tasks) -> Server,
    ) -> Self {
        let addr = listener.local_addr().unwrap();
        let mut running = JoinSet::new();
        running.spawn(server(listener, tasks.clone()).run(stop_limit));
        Self {
            addr,
            tasks,
            running,
        }
    }

    /// Waits for the end of a server that was told to stop, and returns the number of dropped tasks.
    pub async fn join(mut self) -> usize {
        self.running.join_next().await.unwrap().unwrap()
    }
}
