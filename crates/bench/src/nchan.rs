//! nginx with nchan, the usual server for many readers of one channel of server-sent events. It runs as one
//! process, which needs the least CPU time, and publishers use a WebSocket.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::Command,
    time::{sleep, timeout},
};

use crate::{
    client::Dialect,
    server::{ASK, START, Server},
};

/// Path of the readers' stream.
pub(crate) const EVENTS: &str = "/events";
/// Path of the publishers' WebSocket.
pub(crate) const PUBLISH: &str = "/publish";
/// Timeout for the server's own status.
const STATUS: Duration = Duration::from_secs(5);

/// Starts nginx with nchan. It is listening when the function returns.
pub(crate) async fn start(program: &Path) -> Result<Server> {
    timeout(START, start_now(program))
        .await
        .context("nginx did not start in time")?
        .context("nginx did not start")
}

async fn start_now(program: &Path) -> Result<Server> {
    let data = TempDir::new().context("cannot make a temporary folder")?;
    // nginx does not announce a port it chose, so use a port that was free a moment ago.
    let addr = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let file = data.path().join("nginx.conf");
    std::fs::write(&file, configuration(addr, &module(program)?))?;
    let mut child = Command::new(program)
        .args(["-e", "stderr", "-p"])
        .arg(data.path())
        .arg("-c")
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    while TcpStream::connect(addr).await.is_err() {
        ensure!(child.try_wait()?.is_none(), "it ended at once");
        sleep(ASK).await;
    }
    Server::of(child, addr, Dialect::Agora, data)
}

/// Returns the path of the module, which Debian's packages put beside the program's folder.
fn module(program: &Path) -> Result<PathBuf> {
    let root = program.ancestors().nth(2).unwrap_or(Path::new("/usr"));
    let module = root.join("lib/nginx/modules/ngx_nchan_module.so");
    ensure!(module.exists(), "there is no {}", module.display());
    Ok(module)
}

fn configuration(addr: SocketAddr, module: &Path) -> String {
    format!(
        "load_module {};\n\
         daemon off;\n\
         master_process off;\n\
         pid nginx.pid;\n\
         error_log stderr crit;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n\
           access_log off;\n\
           client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;\n\
           uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n\
           server {{\n\
             listen {addr};\n\
             location = {PUBLISH} {{ nchan_publisher websocket; nchan_channel_id team; }}\n\
             location = {EVENTS} {{ nchan_subscriber eventsource; nchan_channel_id team; }}\n\
             location = /status {{ nchan_stub_status; }}\n\
           }}\n\
         }}\n",
        module.display()
    )
}

/// Returns the versions of nginx and nchan.
pub(crate) async fn version(program: &Path) -> Result<String> {
    let server = start(program).await?;
    let status = timeout(STATUS, status(server.target.addr)).await;
    server.stop().await?;
    let status = status.context("nginx does not answer")??;
    let after = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name));
        rest.map_or("unknown", str::trim).to_owned()
    };
    let (nginx, nchan) = (after("Server: nginx/"), after("nchan version:"));
    Ok(format!("nginx {nginx} with nchan {nchan}"))
}

async fn status(addr: SocketAddr) -> Result<String> {
    let mut tcp = TcpStream::connect(addr).await?;
    tcp.write_all(b"GET /status HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await?;
    Ok(answer)
}
