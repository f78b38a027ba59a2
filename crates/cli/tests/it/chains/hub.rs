//! The hub as a process that can be killed, and restarted with the same data and address.

use std::{fs, net::SocketAddr};

use jackfield_testkit::{Events, SOON, answer};
use reqwest::{Client, Method, RequestBuilder};
use rustix::process::Signal;
use serde_json::Value;
use tokio::time::timeout;

use crate::run::{Cli, Running};

/// A running hub.
pub(crate) struct Hub {
    pub(crate) addr: SocketAddr,
    /// A client of this hub, with its own home.
    pub(crate) cli: Cli,
    process: Running,
    client: Client,
}

impl Hub {
    pub(crate) async fn start() -> Self {
        let cli = Cli::at("").with_any_peer_port();
        Self::start_at("127.0.0.1:0", cli).await
    }

    async fn start_at(listen: &str, cli: Cli) -> Self {
        let mut process = cli.start(&["serve", "--listen", listen, "--data-dir", "data"]);
        let line = process.line().await.expect("it listens");
        let url = line.strip_prefix("jackfield listens on ");
        let url = url.expect("the first line says where");
        let addr = url.strip_prefix("http://").and_then(|it| it.parse().ok());
        Self {
            addr: addr.expect("an address"),
            cli: cli.at_hub(url),
            process,
            client: Client::new(),
        }
    }

    /// Kills the hub with `kill -9`, and starts a new one with the same data and address.
    pub(crate) async fn kill_and_start(self) -> Self {
        self.process.signal(Signal::KILL);
        assert_eq!(self.process.end().await.code, -1);
        Self::start_at(&self.addr.to_string(), self.cli).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// A request with the platform's secret; routes that need none ignore it.
    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let secret = fs::read_to_string(self.cli.home().join("data/platform-secret"));
        let secret = secret.expect("made at the first start");
        let request = self.client.request(method, format!("{}{path}", self.url()));
        match path.starts_with("/api/") {
            true => request.header("x-platform-secret", secret.trim()),
            false => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = answer(self.ask(Method::GET, path).timeout(SOON)).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        answer(self.ask(Method::POST, path).timeout(SOON).json(body)).await
    }

    /// Reads an open call or a task.
    pub(crate) async fn call(&self, id: &str) -> Value {
        self.get(&format!("/v1/calls/{id}")).await
    }

    /// Waits until all of these agents are online.
    pub(crate) async fn until_online(&self, ids: &[&str]) {
        let online = timeout(SOON, self.are_online(ids)).await;
        online.expect("they come in time");
    }

    async fn are_online(&self, ids: &[&str]) {
        let mut changes = Events::of(self.ask(Method::GET, "/v1/events")).await;
        loop {
            let agents = self.get("/v1/agents").await;
            let agents = agents["agents"].as_array().expect("a list");
            let is_online = |id: &&&str| {
                let mut those = agents.iter().filter(|agent| agent["id"] == ***id);
                those.any(|agent| agent["state"] == "online")
            };
            if ids.iter().filter(is_online).count() == ids.len() {
                return;
            }
            changes.next().await;
        }
    }

    /// Waits until no call is open.
    pub(crate) async fn wait_until_idle(&self) {
        let quiet = async {
            while self.open_calls().await != "0" {
                tokio::task::yield_now().await;
            }
        };
        let quiet = timeout(SOON, quiet).await;
        quiet.expect("every call ends in time");
    }

    async fn open_calls(&self) -> String {
        let sent = self.ask(Method::GET, "/metrics").send().await;
        let text = sent.expect("an answer").text().await.expect("text");
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix("jackfield_calls_open "));
        value.expect("it is counted").to_owned()
    }
}
