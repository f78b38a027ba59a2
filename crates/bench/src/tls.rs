//! A hub with TLS: `jackfield cert` creates the CA and the certificate, the hub's configuration names them, and
//! clients trust this CA only. [`Dialer`] connects clients with and without TLS.

use std::{fs, path::Path, process::Stdio, sync::Arc};

use anyhow::{Context, Result, ensure};
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tempfile::TempDir;
use tokio::{net::TcpStream, process::Command};
use tokio_rustls::TlsConnector;

use crate::{
    client::{Connection, Target},
    server::{ANY_PORT, Kind, Programs, Server},
    stream::Stream,
};

/// Configuration of the hub, with the files that `jackfield cert` creates.
const CONFIGURATION: &str = "[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n";

/// Connects clients to a server, by TCP or by TLS.
#[derive(Clone)]
pub(crate) struct Dialer {
    target: Target,
    tls: Option<TlsConnector>,
}

impl Dialer {
    /// Returns a dialer without TLS.
    pub(crate) fn plain(target: Target) -> Self {
        Self { target, tls: None }
    }

    /// Connects and registers an agent.
    pub(crate) async fn open(&self, id: &str) -> Result<Connection> {
        let Some(tls) = &self.tls else {
            return Connection::open(self.target, id).await;
        };
        let addr = self.target.addr;
        let tcp = TcpStream::connect(addr).await.context("cannot connect")?;
        tcp.set_nodelay(true)?;
        let name = ServerName::from(addr.ip());
        let stream = tls
            .connect(name, tcp)
            .await
            .context("the TLS handshake failed")?;
        let mut connection = Connection::over(Stream::Tls(Box::new(stream)), self.target.dialect);
        connection.upgrade(addr, "/ws").await?;
        connection.register(id).await?;
        Ok(connection)
    }
}

/// Starts a hub with or without TLS, and returns how clients connect.
pub(crate) async fn start_hub(programs: &Programs, has_tls: bool) -> Result<(Server, Dialer)> {
    if !has_tls {
        let server = Server::start(Kind::Jackfield, programs).await?;
        let dialer = Dialer::plain(server.target);
        return Ok((server, dialer));
    }
    let data = TempDir::new().context("cannot make a temporary folder")?;
    let made = Command::new(&programs.jackfield)
        .args(["cert", "localhost", "--dir"])
        .arg(data.path())
        .stdin(Stdio::null())
        .output()
        .await?;
    ensure!(
        made.status.success(),
        "no certificate: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    fs::write(data.path().join("jackfield.toml"), CONFIGURATION)?;
    let tls = connector(&data.path().join("ca.pem"))?;
    let server = Server::start_in(Kind::Jackfield, programs, data, ANY_PORT).await?;
    let dialer = Dialer {
        target: server.target,
        tls: Some(tls),
    };
    Ok((server, dialer))
}

/// Returns a connector that trusts this CA. Sessions are not resumed, because each client stands for another
/// machine.
fn connector(ca: &Path) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca)?)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(TlsConnector::from(Arc::new(config)))
}
