//! [`TestHub`]: a complete hub, as `jackfield serve` runs it, on a free port and in a temporary folder.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use jackfield_core::hub::Hub;
use jackfield_hub::{
    assembly::{self, RunningHub},
    config::{HubConfig, P2pConfig},
};
use jackfield_kit::testing::{create_token, judge_by};
use serde_json::json;
use tempfile::TempDir;

use crate::Raw;

/// A hub for one test. Dropping it ends the hub.
#[derive(Debug)]
pub struct TestHub {
    running: RunningHub,
    /// The configuration of the hub.
    pub config: HubConfig,
    folder: TempDir,
}

impl TestHub {
    /// Starts a hub with the default configuration.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a hub with a changed [`HubConfig`].
    pub async fn start_with(change: impl FnOnce(&mut HubConfig)) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::start_in(folder, change).await
    }

    async fn start_in(folder: TempDir, change: impl FnOnce(&mut HubConfig)) -> Self {
        let mut config = HubConfig {
            listen: "127.0.0.1:0".parse().expect("an address"),
            data_dir: folder.path().join("data"),
            // Most tests need no peers, and a p2p node costs sockets and threads.
            p2p: P2pConfig {
                enabled: false,
                ..P2pConfig::default()
            },
            ..HubConfig::default()
        };
        change(&mut config);
        let running = assembly::start(&config).await.expect("the hub starts");
        judge_by(running.schemas());
        Self {
            running,
            config,
            folder,
        }
    }

    /// Stops the hub as SIGTERM would and starts another hub on the same data.
    pub async fn restart(self) -> Self {
        let Self {
            running,
            config,
            folder,
        } = self;
        running.stop(Duration::ZERO).await;
        Self::start_in(folder, |new| {
            let data_dir = new.data_dir.clone();
            *new = HubConfig { data_dir, ..config };
        })
        .await
    }

    /// Stops the hub as SIGTERM would.
    pub async fn stop(self, grace: Duration) {
        self.running.stop(grace).await;
    }

    /// Returns the address of the hub; on loopback if the hub listens on all addresses.
    pub fn addr(&self) -> SocketAddr {
        let mut addr = self.running.addr;
        if addr.ip().is_unspecified() {
            addr.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        addr
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr())
    }

    /// Returns the [`Hub`] itself, for state that is easier to check from the inside.
    pub fn hub(&self) -> &Hub {
        &self.running.hub
    }

    /// Returns the addresses of the hub among peers, each with its peer id at the end, TCP first. Panics if
    /// p2p is disabled.
    pub fn peer_addresses(&self) -> Vec<String> {
        let door = self.running.p2p().expect("the hub is a peer");
        let addresses = door.node().addresses();
        addresses.iter().map(ToString::to_string).collect()
    }

    /// Connects to a peer.
    pub async fn meet_peer(&self, address: &str) {
        let door = self.running.p2p().expect("the hub is a peer");
        let address = address.parse().expect("a multiaddr");
        door.node().connect(address).await.expect("it is there");
    }

    /// Returns the data directory.
    pub fn data_dir(&self) -> &Path {
        &self.config.data_dir
    }

    /// Returns the secret with which the platform authenticates.
    pub fn platform_secret(&self) -> String {
        let path = self.data_dir().join("platform-secret");
        let secret = std::fs::read_to_string(path).expect("made at the start");
        secret.trim().to_owned()
    }

    /// Creates a token for an owner.
    pub async fn token(&self, owner: &str, scopes: &[&str]) -> String {
        create_token(self.hub(), owner, scopes).await
    }

    /// Opens a connection to `/ws` without sending a frame.
    pub async fn connect(&self) -> Raw {
        Raw::connect(self.addr(), "/ws").await
    }

    /// Connects and registers an Agora agent with a token.
    pub async fn agora_of(&self, token: &str, id: &str) -> Raw {
        let mut raw = self.connect().await;
        raw.send(json!({"type": "register", "id": id, "token": token}))
            .await;
        assert_eq!(raw.frame().await, json!({"type": "registered", "id": id}));
        raw
    }

    /// Connects and registers an Agora agent, over a connection with small buffers.
    pub async fn agora_narrow(&self, id: &str) -> Raw {
        let mut raw = Raw::connect_narrow(self.addr(), "/ws").await;
        raw.register(id).await;
        raw
    }

    /// Connects and registers an Agora agent.
    pub async fn agora(&self, id: &str) -> Raw {
        let mut raw = self.connect().await;
        raw.register(id).await;
        raw
    }
}
