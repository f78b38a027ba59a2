//! File transfer between agents: the speed of an archive by WebRTC and through the hub, from a connected
//! agent to a caller, compared with a plain copy of as many bytes over TCP.

use std::{
    fs::File,
    io::{self, Read as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    patterns::Sample,
    proc::Memory,
    server::{Kind, Programs, Server},
};

/// Number of bytes to transfer.
pub(crate) const BYTES: u64 = 50_000_000;
/// Timeout of a transfer.
const LONGEST: Duration = Duration::from_secs(120);
/// Client id whose folder holds the files.
const CLIENT: &str = "bench";

/// Route of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferPath {
    Tcp,
    Direct,
    Hub,
}

impl TransferPath {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "plain TCP",
            Self::Direct => "files by WebRTC",
            Self::Hub => "files through the hub",
        }
    }
}

/// A hub, and an agent with files.
#[derive(Debug)]
pub(crate) struct TransferSetup {
    server: Server,
    jackfield: PathBuf,
    home: TempDir,
    _agent: Child,
}

impl TransferSetup {
    pub(crate) async fn open(programs: &Programs) -> Result<Self> {
        let server = Server::start(Kind::Jackfield, programs).await?;
        let home = TempDir::new().context("cannot make a temporary folder")?;
        let folder = home.path().join("project/.bridge-clients").join(CLIENT);
        std::fs::create_dir_all(&folder)?;
        // Random bytes, which cannot be compressed.
        let mut noise = Vec::new();
        let source = File::open("/dev/urandom")?;
        source.take(BYTES).read_to_end(&mut noise)?;
        std::fs::write(folder.join("noise"), noise)?;
        let args = [
            "connect", "--as", "files", "--dir", "project", "exec", "true",
        ];
        let mut agent = command(&programs.jackfield, home.path(), &server)
            .args(args)
            .spawn()?;
        let mut lines = BufReader::new(agent.stdout.take().context("no output")?).lines();
        let line = timeout(LONGEST, lines.next_line()).await??;
        ensure!(
            line.as_deref() == Some("connected as files"),
            "no agent: {line:?}"
        );
        Ok(Self {
            server,
            jackfield: programs.jackfield.clone(),
            home,
            _agent: agent,
        })
    }

    /// Transfers the files once; `per_second` of the [`Sample`] is in bytes.
    pub(crate) async fn transfer(&self, path_kind: TransferPath) -> Result<Sample> {
        let took = match path_kind {
            TransferPath::Tcp => timeout(LONGEST, self.copied()).await??,
            TransferPath::Direct => timeout(LONGEST, self.fetched("direct")).await??,
            TransferPath::Hub => timeout(LONGEST, self.fetched("hub")).await??,
        };
        Ok(Sample {
            cpu_us: 0.0,
            per_second: BYTES as f64 / took.as_secs_f64(),
            memory: Memory::of(self.server.pid)?,
            // The CPU time of the transferring programs cannot be told apart from other programs.
            foreign: 0.0,
        })
    }

    /// Returns the time from the start of the caller's search for a route until the last byte.
    async fn fetched(&self, via: &str) -> Result<Duration> {
        let out = TempDir::new_in(self.home.path())?;
        let into = out.path().join("got");
        let mut call = command(&self.jackfield, self.home.path(), &self.server)
            .args(["call", "files", "go", "--json", "--with-files"])
            .args(["--client", CLIENT, "--via", via, "--out"])
            .arg(&into)
            .spawn()?;
        let mut lines = BufReader::new(call.stdout.take().context("no output")?).lines();
        let mut took = None;
        while let Some(line) = lines.next_line().await? {
            let report: Value = serde_json::from_str(&line)?;
            if report["step"] == "progress" && report["received"] == report["size"] {
                // Use the caller's clock, because this process may read the line late.
                took = report["ms"].as_u64();
            }
        }
        ensure!(call.wait().await?.success(), "the files did not come");
        let took = took.context("it was not told when the files were there")?;
        Ok(Duration::from_millis(took.max(1)))
    }

    /// Returns the time to copy the same bytes from file to file over a socket.
    async fn copied(&self) -> Result<Duration> {
        let source = self.home.path().join("project/.bridge-clients");
        let mut source = File::open(source.join(CLIENT).join("noise"))?;
        let folder = TempDir::new_in(self.home.path())?;
        let mut target = File::create(folder.path().join("copy"))?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        let begun = Instant::now();
        let sending = spawn_blocking(move || {
            let mut socket = TcpStream::connect(addr)?;
            io::copy(&mut source, &mut socket)
        });
        let receiving = spawn_blocking(move || {
            let (mut socket, _) = listener.accept()?;
            io::copy(&mut socket, &mut target)
        });
        let copied = receiving.await??;
        let took = begun.elapsed();
        ensure!(
            sending.await?? == copied && copied == BYTES,
            "{copied} bytes were copied"
        );
        Ok(took)
    }

    pub(crate) async fn close(self) -> Result<()> {
        self.server.stop().await
    }
}

fn command(program: &Path, home: &Path, server: &Server) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(home)
        .env("HOME", home)
        .env_remove("XDG_STATE_HOME")
        .env("JACKFIELD_HUB", format!("http://{}", server.target.addr))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}
