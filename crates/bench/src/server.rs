//! Servers to measure: each is a process on a free loopback port, with a data folder of its own, killed on
//! drop.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::{sleep, timeout},
};

use crate::{
    client::{Dialect, Target},
    rival::RivalPrograms,
};

/// Timeout for the start of a server.
pub(crate) const START: Duration = Duration::from_secs(20);
/// Interval for polling a server that does not announce its address.
pub(crate) const ASK: Duration = Duration::from_millis(20);

/// Listen address for a free port of this machine.
pub(crate) const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Paths of the programs; the bare relay is this program itself.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) jackfield: PathBuf,
    pub(crate) nats: Option<PathBuf>,
    /// nginx, with the module nchan beside it.
    pub(crate) nginx: Option<PathBuf>,
    pub(crate) rivals: RivalPrograms,
}

impl Programs {
    /// Returns the version of NATS.
    pub(crate) fn nats_version(&self) -> String {
        let output = self.nats.as_ref().and_then(|program| {
            std::process::Command::new(program)
                .arg("--version")
                .output()
                .ok()
        });
        let output_text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let version = output_text
            .as_deref()
            .and_then(|output_text| output_text.trim().rsplit('v').next());
        version.unwrap_or("unknown").to_owned()
    }
}

/// Kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Jackfield,
    Bare,
    Nats,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Jackfield => "jackfield",
            Kind::Bare => "bare relay",
            Kind::Nats => "NATS",
        }
    }
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) target: Target,
    pub(crate) pid: u32,
    child: Child,
    data: TempDir,
}

impl Server {
    /// Starts a server in an empty folder. It is listening when the function returns.
    pub(crate) async fn start(kind: Kind, programs: &Programs) -> Result<Self> {
        let data = TempDir::new().context("cannot make a temporary folder")?;
        Self::start_in(kind, programs, data, ANY_PORT).await
    }

    /// Starts a server in a folder, with the configuration there if there is one.
    pub(crate) async fn start_in(
        kind: Kind,
        programs: &Programs,
        data: TempDir,
        listen: SocketAddr,
    ) -> Result<Self> {
        let name = kind.name();
        timeout(START, Self::start_now(kind, programs, data, listen))
            .await
            .with_context(|| format!("{name} did not start in time"))?
            .with_context(|| format!("{name} did not start"))
    }

    /// Kills the server, and starts it again on the same port and in the same folder.
    pub(crate) async fn restart(mut self, kind: Kind, programs: &Programs) -> Result<Self> {
        self.child.kill().await.context("cannot end the server")?;
        Self::start_in(kind, programs, self.data, self.target.addr).await
    }

    async fn start_now(
        kind: Kind,
        programs: &Programs,
        data: TempDir,
        listen: SocketAddr,
    ) -> Result<Self> {
        let listen = listen.to_string();
        let mut command = match kind {
            Kind::Jackfield => {
                let mut command = Command::new(&programs.jackfield);
                command
                    .args(["serve", "--listen", &listen, "--log", "warn"])
                    .arg("--data-dir")
                    .arg(data.path());
                command
            }
            Kind::Bare => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["bare", "--listen", &listen]);
                command
            }
            Kind::Nats => return Self::start_nats(programs, data).await,
        };
        // Started in its own folder, so that no other configuration file is found.
        let mut child = command
            .current_dir(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let Some((_, addr)) = line.trim_end().rsplit_once("://") else {
            bail!("it did not say where it listens: {line:?}");
        };
        Self::of(child, addr.parse()?, Dialect::Agora, data)
    }

    async fn start_nats(programs: &Programs, data: TempDir) -> Result<Self> {
        let program = programs.nats.as_ref().context("no NATS server was named")?;
        // NATS does not announce the port it chose, so use a port that was free a moment ago.
        let addr = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        let child = Command::new(program)
            .args(["-a", "127.0.0.1", "-p", &addr.port().to_string()])
            .current_dir(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        while TcpStream::connect(addr).await.is_err() {
            sleep(ASK).await;
        }
        Self::of(child, addr, Dialect::Nats, data)
    }

    /// Returns the server of a process that listens at `addr`.
    pub(crate) fn of(
        child: Child,
        addr: SocketAddr,
        dialect: Dialect,
        data: TempDir,
    ) -> Result<Self> {
        Ok(Self {
            target: Target { addr, dialect },
            pid: child.id().context("it ended at once")?,
            child,
            data,
        })
    }

    /// Returns its data folder.
    pub(crate) fn data_dir(&self) -> &Path {
        self.data.path()
    }

    /// Kills the server, and waits until its memory and its port are free again.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.context("cannot end the server")
    }
}
