//! The agent on a laptop: a command that calls the A2A server with this same program, attached by `connect`. All of
//! the laptop's connections to the hub go through a proxy.

use jackfield_testkit::FaultProxy;

use crate::chains::hub::Hub;
use crate::run::{Cli, Running};

/// The id of the agent that the laptop calls.
pub(crate) const CALLS: &str = "server";

/// The laptop.
pub(crate) struct Laptop {
    pub(crate) proxy: FaultProxy,
    connect: Running,
}

impl Laptop {
    pub(crate) async fn join(hub: &Hub) -> Self {
        let proxy = FaultProxy::start(hub.addr).await;
        let cli = Cli::at(&format!("http://{}", proxy.addr()));
        // A call that may wait is durable, so it outlives a cut of the laptop's connection.
        let command = [
            env!("CARGO_BIN_EXE_jackfield"),
            "call",
            CALLS,
            "{prompt}",
            "--wait-online",
            "1m",
        ];
        let args = [&["connect", "--as", "laptop", "exec"], &command[..]].concat();
        let mut connect = cli.start(&args);
        let first_line = connect.line().await;
        assert_eq!(first_line.as_deref(), Some("connected as laptop"));
        Self { proxy, connect }
    }

    /// Waits until the agent reports its cancellation.
    pub(crate) async fn until_cancelled(&mut self) {
        self.connect.until_it_says("cancelled").await;
    }

    /// Waits until the agent is connected again.
    pub(crate) async fn until_connected_again(&mut self) {
        self.connect.until_it_says("reconnected").await;
    }
}
