//! The hub as a process that can be killed and restarted with the same data.

use std::{fs, net::SocketAddr, path::PathBuf};

use rustix::process::Signal;

use crate::kill::platform::Platform;
use crate::run::{Cli, Run, Running};

/// A running hub.
pub(crate) struct Hub {
    pub(crate) addr: SocketAddr,
    home: HubHome,
    process: Running,
}

/// The remains of a stopped hub: its data and configuration.
pub(crate) struct HubHome {
    cli: Cli,
    calls_anybody: bool,
}

impl Hub {
    /// Starts a hub that may call back any address.
    pub(crate) async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts a hub with a configuration file.
    pub(crate) async fn start_with(config: &str) -> Self {
        HubHome::new(config, true).start().await
    }

    /// Starts a hub that calls only those private addresses named in its configuration file.
    pub(crate) async fn start_strict(config: &str) -> Self {
        HubHome::new(config, false).start().await
    }

    /// Kills the hub with `kill -9`.
    pub(crate) async fn kill(self) -> HubHome {
        let (home, run) = self.end(Signal::KILL).await;
        assert_eq!(run.code, -1, "{run:?}");
        home
    }

    /// Sends SIGTERM, and waits until the hub has stopped.
    pub(crate) async fn stop(self) -> HubHome {
        let (home, run) = self.end(Signal::TERM).await;
        assert_eq!(run.code, 0, "{run:?}");
        home
    }

    async fn end(self, signal: Signal) -> (HubHome, Run) {
        self.process.signal(signal);
        (self.home, self.process.end().await)
    }

    /// Sends SIGTERM without waiting.
    pub(crate) fn terminate(&self) {
        self.process.signal(Signal::TERM);
    }

    /// Waits until the hub has logged a line with this text.
    pub(crate) async fn says(&mut self, text: &str) {
        self.process.until_it_says(text).await;
    }

    /// A platform with this hub's secret.
    pub(crate) fn platform(&self) -> Platform {
        Platform {
            addr: self.addr,
            secret: self.secret("platform-secret"),
        }
    }

    /// The key that signs callbacks.
    pub(crate) fn callback_key(&self) -> String {
        self.secret("callback-key")
    }

    fn secret(&self, name: &str) -> String {
        let text = fs::read_to_string(self.home.data_dir().join(name));
        text.expect("made at the first start").trim().to_owned()
    }
}

impl HubHome {
    fn new(config: &str, calls_anybody: bool) -> Self {
        let cli = Cli::at("");
        fs::write(cli.home().join("jackfield.toml"), config).expect("a file");
        Self { cli, calls_anybody }
    }

    fn data_dir(&self) -> PathBuf {
        self.cli.home().join("data")
    }

    /// Starts a hub with this data, at a new address.
    pub(crate) async fn start(self) -> Hub {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"];
        let mut command = self.cli.command(&serve);
        if self.calls_anybody {
            command.env("JACKFIELD_ALLOW_PRIVATE_OUTBOUND", "true");
        }
        let mut process = self.cli.start_command(command);
        let line = process.line().await.expect("it listens");
        let addr = line.strip_prefix("jackfield listens on http://");
        let addr = addr.and_then(|addr| addr.parse().ok());
        Hub {
            addr: addr.expect("the first line says where"),
            home: self,
            process,
        }
    }
}
