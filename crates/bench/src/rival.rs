//! Servers of other people to compare with: the echo agents of the published A2A libraries, and programs that
//! stand in front of an A2A server. Each is a process on a free loopback port, killed on drop. A rival that is not
//! installed is left out, and the report says so.

use std::{
    env, fmt::Write as _, fs, io::Read as _, net::SocketAddr, path::PathBuf, process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::{sleep, timeout},
};

use crate::{
    http::HttpConnection,
    http_load::process_tree,
    installed::{in_path, output_of, version_in},
    question::Question,
};

/// Timeout for the start of a server; LiteLLM takes some twelve seconds.
const START: Duration = Duration::from_secs(90);
/// Interval for polling a server that does not announce that it is ready.
const ASK: Duration = Duration::from_millis(50);

/// Where the rivals are. A missing one is left out of the comparison.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RivalPrograms {
    /// Path of a Python with the A2A library, to compare with
    #[arg(long, value_name = "FILE")]
    a2a_python: Option<PathBuf>,
    /// Path of the folder node_modules with the A2A library, to compare with
    #[arg(long, value_name = "DIR")]
    a2a_node: Option<PathBuf>,
    /// Path of the folder with the echo agents of the two A2A libraries
    #[arg(
        long,
        value_name = "DIR",
        default_value = "crates/testkit/judges/a2a/servers"
    )]
    a2a_servers: PathBuf,
    /// Path of a Python with LiteLLM's proxy, to compare with
    #[arg(long, value_name = "FILE")]
    litellm_python: Option<PathBuf>,
}

impl RivalPrograms {
    /// Makes the paths absolute, because servers are started in another folder. Links are not followed: the
    /// Python of a virtual environment is one.
    pub(crate) fn absolute(self) -> Result<Self> {
        let absolute = |path: Option<PathBuf>| path.map(std::path::absolute).transpose();
        Ok(Self {
            a2a_python: absolute(self.a2a_python)?,
            a2a_node: absolute(self.a2a_node)?,
            a2a_servers: std::path::absolute(self.a2a_servers)?,
            litellm_python: absolute(self.litellm_python)?,
        })
    }
}

/// A server to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rival {
    /// The echo agent of this program: plain axum.
    Bare,
    /// The same, whose card says that it streams.
    BareStreaming,
    /// An echo agent on the JavaScript library.
    Node,
    /// An echo agent on the Python library.
    Python,
    /// nginx in front of an A2A server.
    Nginx,
    /// HAProxy in front of an A2A server.
    Haproxy,
    /// LiteLLM's A2A gateway in front of an A2A server.
    Litellm,
}

impl Rival {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare | Self::BareStreaming => "bare axum server",
            Self::Node => "JavaScript SDK",
            Self::Python => "Python SDK",
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
            Self::Litellm => "LiteLLM",
        }
    }

    /// Returns the version, or `None` if the rival is not installed.
    pub(crate) fn version(self, programs: &RivalPrograms) -> Option<String> {
        let python = |program: &Option<PathBuf>, package: &str| {
            let script = format!("import importlib.metadata as m; print(m.version('{package}'))");
            output_of(program.as_deref()?, &["-c", &script])
        };
        match self {
            Self::Bare | Self::BareStreaming => Some(env!("CARGO_PKG_VERSION").to_owned()),
            Self::Node => {
                let package = programs.a2a_node.as_ref()?.join("@a2a-js/sdk/package.json");
                let package: serde_json::Value =
                    serde_json::from_str(&fs::read_to_string(package).ok()?).ok()?;
                package["version"].as_str().map(str::to_owned)
            }
            Self::Python => python(&programs.a2a_python, "a2a-sdk"),
            Self::Litellm => python(&programs.litellm_python, "litellm"),
            Self::Nginx => output_of(&in_path("nginx")?, &["-v"]).map(|text| version_in(&text)),
            Self::Haproxy => output_of(&in_path("haproxy")?, &["-v"]).map(|text| version_in(&text)),
        }
    }

    /// Returns the sentence for the report about a rival that is not installed.
    pub(crate) fn left_out(self) -> String {
        let reason = match self {
            Self::Nginx | Self::Haproxy => "not installed",
            _ => "it could not be fetched",
        };
        format!("{} is left out: {reason}.", self.name())
    }
}

/// A running rival.
#[derive(Debug)]
pub(crate) struct RivalServer {
    pub(crate) addr: SocketAddr,
    /// Path of JSON-RPC.
    path: &'static str,
    /// Header lines that its requests need.
    headers: String,
    child: Child,
    _data: TempDir,
}

impl RivalServer {
    /// Starts a rival. One that stands in front of a server gets the server's address as `backend`. The rival
    /// answers when the function returns.
    pub(crate) async fn start(
        rival: Rival,
        programs: &RivalPrograms,
        backend: Option<SocketAddr>,
    ) -> Result<Self> {
        let backend = || backend.context("no server to stand in front of");
        let starting = async {
            match rival {
                Rival::Bare => Self::bare(&[]).await,
                Rival::BareStreaming => Self::bare(&["--streaming"]).await,
                Rival::Node => Self::node(programs).await,
                Rival::Python => Self::python(programs).await,
                Rival::Nginx => Self::nginx(backend()?).await,
                Rival::Haproxy => Self::haproxy(backend()?).await,
                Rival::Litellm => Self::litellm(programs, backend()?).await,
            }
        };
        let name = rival.name();
        timeout(START, starting)
            .await
            .with_context(|| format!("{name} did not start in time"))?
            .with_context(|| format!("{name} did not start"))
    }

    /// Returns a request to the rival.
    pub(crate) fn question(&self) -> Question {
        Question::official(self.addr, self.path, &self.headers, "SendMessage")
    }

    /// Returns its process and all processes that it started.
    pub(crate) fn pids(&self) -> Result<Vec<u32>> {
        process_tree(self.child.id().context("it ended")?)
    }

    /// Kills the server and the processes that it started, and waits for its end.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.kill();
        self.child.wait().await.context("cannot end the server")?;
        Ok(())
    }

    /// Kills the server's process first, because nginx replaces workers that end.
    fn kill(&self) {
        for pid in self.pids().unwrap_or_default() {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                // A process that has ended meanwhile cannot be killed.
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }

    async fn bare(args: &[&str]) -> Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["bare-a2a", "--listen", "127.0.0.1:0"])
            .args(args);
        let mut server = Self::spawn(command, TempDir::new()?, "/", Stdio::piped())?;
        let line = server.first_line().await?;
        let Some((_, addr)) = line.rsplit_once("http://") else {
            bail!("it did not say where it listens: {line:?}");
        };
        server.addr = addr.parse()?;
        Ok(server)
    }

    async fn node(programs: &RivalPrograms) -> Result<Self> {
        let mut command = Command::new("node");
        command
            .arg(programs.a2a_servers.join("js_v1.cjs"))
            .env("NODE_ENV", "production")
            .env("NODE_PATH", programs.a2a_node.as_ref().context("no path")?);
        Self::published(command, "/rpc").await
    }

    async fn python(programs: &RivalPrograms) -> Result<Self> {
        let mut command = Command::new(programs.a2a_python.as_ref().context("no path")?);
        command.arg(programs.a2a_servers.join("py_v1.py"));
        Self::published(command, "/").await
    }

    /// Starts an echo agent of the outside judges: it prints its port, then reads its URL.
    async fn published(mut command: Command, path: &'static str) -> Result<Self> {
        command.arg("JSONRPC");
        let mut server = Self::spawn(command, TempDir::new()?, path, Stdio::piped())?;
        let port: u16 = server.first_line().await?.parse()?;
        server.addr.set_port(port);
        let url = format!("http://{}\n", server.addr);
        // Its end is also the server's, so the input stays open.
        let stdin = server.child.stdin.as_mut().context("no input")?;
        stdin.write_all(url.as_bytes()).await?;
        server.ask_once().await?;
        Ok(server)
    }

    async fn nginx(backend: SocketAddr) -> Result<Self> {
        let (data, addr) = (TempDir::new()?, free_addr().await?);
        let config = data.path().join("nginx.conf");
        let mut temporary = String::new();
        for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            // Writing to a string cannot fail.
            write!(
                temporary,
                "{kind}_temp_path {}; ",
                data.path().join(kind).display()
            )
            .ok();
        }
        fs::write(
            &config,
            format!(
                "daemon off; user root; worker_processes auto; pid {}; error_log stderr error;\n\
                 events {{ worker_connections 1024; }}\n\
                 http {{\n  access_log off; keepalive_requests 1000000; {temporary}\n\
                 \x20 upstream agent {{ server {backend}; keepalive 128; keepalive_requests 1000000; }}\n\
                 \x20 server {{\n    listen {addr};\n\
                 \x20   location / {{ proxy_pass http://agent; proxy_http_version 1.1; proxy_set_header Connection \"\"; }}\n\
                 \x20 }}\n}}\n",
                data.path().join("nginx.pid").display()
            ),
        )?;
        let mut command = Command::new(in_path("nginx").context("not installed")?);
        command.arg("-c").arg(&config).arg("-p").arg(data.path());
        Self::in_front(command, data, addr).await
    }

    async fn haproxy(backend: SocketAddr) -> Result<Self> {
        let (data, addr) = (TempDir::new()?, free_addr().await?);
        let config = data.path().join("haproxy.cfg");
        fs::write(
            &config,
            format!(
                "global\n  maxconn 1024\n\
                 defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  http-reuse always\n\
                 frontend callers\n  bind {addr}\n  default_backend agent\n\
                 backend agent\n  server agent {backend}\n"
            ),
        )?;
        let mut command = Command::new(in_path("haproxy").context("not installed")?);
        command.arg("-db").arg("-f").arg(&config);
        Self::in_front(command, data, addr).await
    }

    async fn litellm(programs: &RivalPrograms, backend: SocketAddr) -> Result<Self> {
        let python = programs.litellm_python.as_ref().context("no path")?;
        let (data, addr) = (TempDir::new()?, free_addr().await?);
        let config = data.path().join("config.yaml");
        fs::write(
            &config,
            format!(
                "model_list: []\nagents:\n  - agent_name: echo\n    agent_card_params:\n      protocolVersion: \"1.0\"\n\
                 \x20     name: echo\n      url: http://{backend}/\n"
            ),
        )?;
        // It does not start without a key for its callers.
        let key = random_key()?;
        let mut command = Command::new(python.with_file_name("litellm"));
        command
            .arg("--config")
            .arg(&config)
            .args(["--host", "127.0.0.1", "--telemetry", "False", "--port"])
            .arg(addr.port().to_string())
            .env("LITELLM_MASTER_KEY", &key)
            .env("LITELLM_LOG", "ERROR")
            // Otherwise it downloads a list of prices.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        let mut server = Self::spawn(command, data, "/a2a/echo", Stdio::null())?;
        server.addr = addr;
        server.headers = format!("Authorization: Bearer {key}\r\n");
        server.wait_until_listening().await?;
        server.ask_once().await?;
        Ok(server)
    }

    async fn in_front(command: Command, data: TempDir, addr: SocketAddr) -> Result<Self> {
        let mut server = Self::spawn(command, data, "/", Stdio::null())?;
        server.addr = addr;
        server.wait_until_listening().await?;
        server.ask_once().await?;
        Ok(server)
    }

    /// Starts the program of a server that listens on loopback.
    fn spawn(
        mut command: Command,
        data: TempDir,
        path: &'static str,
        stdout: Stdio,
    ) -> Result<Self> {
        let child = command
            .current_dir(data.path())
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self {
            addr: SocketAddr::from(([127, 0, 0, 1], 0)),
            path,
            headers: String::new(),
            child,
            _data: data,
        })
    }

    async fn first_line(&mut self) -> Result<String> {
        let stdout = self.child.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        Ok(line.trim_end().to_owned())
    }

    async fn wait_until_listening(&mut self) -> Result<()> {
        while TcpStream::connect(self.addr).await.is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended at once ({status})");
            }
            sleep(ASK).await;
        }
        Ok(())
    }

    /// Makes a first request, which may take longer than any other.
    async fn ask_once(&self) -> Result<()> {
        let mut question = self.question();
        let mut answer = Vec::new();
        let mut connection = HttpConnection::open(self.addr).await?;
        connection.exchange(question.ask(1), &mut answer).await?;
        question.check(&answer)
    }
}

impl Drop for RivalServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns an address that was free a moment ago, for servers that do not announce the port that they chose.
async fn free_addr() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?)
}

fn random_key() -> Result<String> {
    let mut bytes = [0; 32];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut key = String::from("sk-");
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(key, "{byte:02x}").ok();
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_each_time() {
        let (one, two) = (random_key().unwrap(), random_key().unwrap());
        assert_eq!(one.len(), 3 + 64);
        assert_ne!(one, two);
    }
}
