//! Servers with private certificates, and the errors of clients.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use jackfield_sdk::{
    Base64, Error, Fingerprint, Hub, HubAddress, HubTlsError, TlsTrust, try_socket,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// A certificate chain, the server's own first, and its key.
struct Certified {
    chain: Vec<CertificateDer<'static>>,
    key: Vec<u8>,
}

/// Parameters of a certificate for these names, optionally as a CA.
fn params(names: &[&str], is_ca: bool) -> CertificateParams {
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params
}

/// A self-signed certificate.
fn self_signing(names: &[&str], is_ca: bool) -> Certified {
    let key = KeyPair::generate().unwrap();
    let certificate = params(names, is_ca).self_signed(&key).unwrap();
    Certified {
        chain: vec![certificate.der().clone()],
        key: key.serialize_der(),
    }
}

/// A certificate signed by a private CA.
fn ca_signed(params: &CertificateParams) -> Certified {
    let ca_key = KeyPair::generate().unwrap();
    let ca_params = self::params(&[], true);
    let ca = ca_params.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(ca_params, ca_key);
    let key = KeyPair::generate().unwrap();
    let leaf = params.signed_by(&key, &issuer).unwrap();
    Certified {
        chain: vec![leaf.der().clone(), ca.der().clone()],
        key: key.serialize_der(),
    }
}

/// A TLS server that answers every request with 410.
async fn serve(certified: &Certified, tasks: &mut JoinSet<()>) -> SocketAddr {
    let key = PrivatePkcs8KeyDer::from(certified.key.clone());
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certified.chain.clone(), key.into())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tasks.spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            if let Ok(mut tls) = acceptor.accept(tcp).await {
                // A part of the request is enough.
                let _read = tls.read(&mut [0; 4096]).await;
                let answer = b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n";
                tls.write_all(answer).await.ok();
                tls.shutdown().await.ok();
            }
        }
    });
    addr
}

/// Writes a certificate to a PEM file.
fn file(folder: &TempDir, certificate: &CertificateDer<'_>) -> PathBuf {
    let path = folder.path().join("ca.pem");
    let text = Base64::encode(certificate);
    let text = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    std::fs::write(&path, text).unwrap();
    path
}

/// Connects the HTTP client and the WebSocket, which must agree. Returns the TLS error, or `None`
/// for a trusted server.
async fn tls_error(url: &str, trust: TlsTrust) -> Option<HubTlsError> {
    let address = HubAddress::new(url).unwrap().with_trust(trust);
    let of = |error: Error| match error {
        Error::Tls { why, .. } => Some(why),
        // The server answers all requests and WebSocket handshakes with 410.
        Error::Refused { status: 410, .. } | Error::NoWebSocket { .. } => None,
        other => panic!("{other:?}"),
    };
    let by_http = Hub::new(address.clone()).unwrap().agents().await;
    let by_http = of(by_http.unwrap_err());
    assert_eq!(of(try_socket(&address).await.unwrap_err()), by_http);
    by_http
}

#[tokio::test]
async fn a_ca_of_ones_own_is_trusted_by_its_file_or_its_fingerprint_by_http_and_by_websocket() {
    let (mut tasks, folder) = (JoinSet::new(), tempfile::tempdir().unwrap());
    let certified = ca_signed(&params(&["localhost"], false));
    let port = serve(&certified, &mut tasks).await.port();
    let url = format!("https://localhost:{port}");
    let path = file(&folder, &certified.chain[1]);
    let by_file = TlsTrust::from_ca(path.to_str().unwrap()).unwrap();
    assert_eq!(tls_error(&url, by_file.clone()).await, None);
    for certificate in &certified.chain {
        let pin = Fingerprint::of(certificate).to_string();
        let pinned = TlsTrust::from_ca(&pin).unwrap();
        assert_eq!(tls_error(&url, pinned.clone()).await, None, "{pin}");
        assert_eq!(pinned.ca(), Some(pin));
    }
    let unknown = tls_error(&url, TlsTrust::default()).await;
    assert_eq!(unknown, Some(HubTlsError::UnknownIssuer));
    let other = TlsTrust::pinned(Fingerprint::of(b"another"));
    let shown = Fingerprint::of(&certified.chain[1]);
    assert_eq!(
        tls_error(&url, other).await,
        Some(HubTlsError::NotPinned { shown })
    );

    // A CA's certificate must match the name. A certificate that is trusted directly need not.
    let by_address = format!("https://127.0.0.1:{port}");
    let wrong = Some(HubTlsError::WrongName(vec!["localhost".to_owned()]));
    assert_eq!(tls_error(&by_address, by_file).await, wrong);
    let pinned = |at: usize| TlsTrust::pinned(Fingerprint::of(&certified.chain[at]));
    assert_eq!(tls_error(&by_address, pinned(1)).await, wrong);
    assert_eq!(tls_error(&by_address, pinned(0)).await, None);
}

#[tokio::test]
async fn a_ca_that_serves_by_itself_is_trusted_where_exactly_it_is_named() {
    let (mut tasks, folder) = (JoinSet::new(), tempfile::tempdir().unwrap());
    let certified = self_signing(&["localhost"], true);
    let port = serve(&certified, &mut tasks).await.port();
    let url = format!("https://localhost:{port}");
    let refused = tls_error(&url, TlsTrust::default()).await;
    assert_eq!(refused, Some(HubTlsError::CaAsLeaf));
    let path = file(&folder, &certified.chain[0]);
    let named = TlsTrust::from_ca(path.to_str().unwrap()).unwrap();
    assert_eq!(tls_error(&url, named.clone()).await, None);
    let by_address = format!("https://127.0.0.1:{port}");
    let wrong = tls_error(&by_address, named).await;
    assert!(
        matches!(wrong, Some(HubTlsError::WrongName(_))),
        "{wrong:?}"
    );
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_told_as_that() {
    let mut tasks = JoinSet::new();
    let mut params = params(&["localhost"], false);
    params.not_before = rcgen::date_time_ymd(2001, 1, 1);
    params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let certified = ca_signed(&params);
    let port = serve(&certified, &mut tasks).await.port();
    let ca = TlsTrust::pinned(Fingerprint::of(&certified.chain[1]));
    let error_seen = tls_error(&format!("https://localhost:{port}"), ca).await;
    assert_eq!(error_seen, Some(HubTlsError::Expired));
}

#[tokio::test]
async fn speaking_tls_to_a_server_without_it_is_told_as_that() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (mut tcp, _) = listener.accept().await.unwrap();
            let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
            tcp.write_all(answer).await.ok();
        }
    });
    let pinned = TlsTrust::pinned(Fingerprint::of(b"any"));
    assert_eq!(
        tls_error(&url, pinned).await,
        Some(HubTlsError::PlainServer)
    );
}

#[tokio::test]
async fn speaking_plainly_to_a_server_that_wants_tls_is_told_as_that() {
    for body in [
        r#"{"error":"invalid","message":"this port speaks TLS: use https:// instead of http://"}"#,
        "<center>The plain HTTP request was sent to HTTPS port</center>",
        "Client sent an HTTP request to an HTTPS server.\n",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                let (mut tcp, _) = listener.accept().await.unwrap();
                let length = body.len();
                let head = format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {length}\r\n\r\n");
                // A part of the request is enough.
                let _read = tcp.read(&mut [0; 4096]).await;
                tcp.write_all((head + body).as_bytes()).await.ok();
            }
        });
        let error_seen = tls_error(&url, TlsTrust::default()).await;
        assert_eq!(error_seen, Some(HubTlsError::TlsServer), "{body}");
    }
}

#[test]
fn fingerprints_are_read_as_they_are_written_and_as_openssl_writes_them() {
    let fingerprint = Fingerprint::of(b"x");
    let text = fingerprint.to_string();
    assert_eq!(text.len(), "sha256:".len() + 64);
    assert_eq!(text.parse(), Ok(fingerprint));
    let digits: Vec<_> = text.as_bytes()["sha256:".len()..].chunks(2).collect();
    let digits: Vec<_> = digits
        .iter()
        .map(|pair| String::from_utf8_lossy(pair).to_uppercase())
        .collect();
    assert_eq!(
        format!("sha256:{}", digits.join(":")).parse(),
        Ok(fingerprint)
    );
    for bad in ["", "sha256:", "sha256:12", &text[7..], &format!("{text}0")] {
        assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
    }
}

#[test]
fn a_file_without_a_certificate_is_told_before_anything_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.pem");
    std::fs::write(&path, "nothing").unwrap();
    for (path, why) in [
        (path, "no certificate"),
        (folder.path().join("gone.pem"), "No such file"),
    ] {
        let error = TlsTrust::from_ca(path.to_str().unwrap()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}
