//! Servers to measure: each is a process on a free loopback port, with a data folder of its own, killed on
//! drop.

use std::{
    net::SocketAddr,
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
const START: Duration = Duration::from_secs(20);
/// Interval for polling a server that does not announce its address.
const ASK: Duration = Duration::from_millis(20);

/// Paths of the programs; the bare relay is this program itself.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) jackfield: PathBuf,
    pub(crate) nats: Option<PathBuf>,
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
    /// Starts a server. It is listening when the function returns.
    pub(crate) async fn start(kind: Kind, programs: &Programs) -> Result<Self> {
        let name = kind.name();
        timeout(START, Self::start_now(kind, programs))
            .await
            .with_context(|| format!("{name} did not start in time"))?
            .with_context(|| format!("{name} did not start"))
    }

    async fn start_now(kind: Kind, programs: &Programs) -> Result<Self> {
        let data = TempDir::new().context("cannot make a temporary folder")?;
        let mut command = match kind {
            Kind::Jackfield => {
                let mut command = Command::new(&programs.jackfield);
                command
                    .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn"])
                    .arg("--data-dir")
                    .arg(data.path());
                command
            }
            Kind::Bare => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["bare", "--listen", "127.0.0.1:0"]);
                command
            }
            Kind::Nats => return Self::start_nats(programs, data).await,
        };
        // Started in the empty folder, so that no configuration file is found.
        let mut child = command
            .current_dir(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let Some((_, addr)) = line.trim_end().rsplit_once("http://") else {
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

    fn of(child: Child, addr: SocketAddr, dialect: Dialect, data: TempDir) -> Result<Self> {
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
