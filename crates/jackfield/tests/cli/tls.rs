//! A hub with `[tls]`, as a process: curl trusts the certificate, and another one after SIGHUP.

use std::path::Path;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;
use tokio::process::Command;

use crate::run::Cli;

/// Puts a new certificate and its key where the hub reads them, and the certificate under a name of its own too.
fn certify(home: &Path, name: &str) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    std::fs::write(home.join("cert.pem"), cert.pem()).expect("written");
    std::fs::write(home.join("key.pem"), signing_key.serialize_pem()).expect("written");
    std::fs::write(home.join(name), cert.pem()).expect("written");
}

/// What curl makes of the hub when it trusts only one certificate: its exit code and what it read.
async fn read(home: &Path, trusted: &str, url: &str) -> (Option<i32>, String) {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--noproxy", "*", "--cacert", trusted, url]);
    let output = curl.current_dir(home).output().await.expect("curl");
    let text = String::from_utf8(output.stdout).expect("text");
    (output.status.code(), text)
}

#[tokio::test]
async fn a_hub_with_tls_takes_a_new_certificate_on_sighup() {
    let cli = Cli::at("");
    let config = "[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n";
    std::fs::write(cli.home().join("jackfield.toml"), config).unwrap();
    certify(cli.home(), "first.pem");
    let mut hub = cli.start(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
    let line = hub.line().await.expect("it listens");
    let (_, port) = line.rsplit_once(':').expect("a port");
    assert!(line.starts_with("jackfield listens on https://"), "{line}");
    let url = format!("https://localhost:{port}/openapi.json");

    let (code, description) = read(cli.home(), "first.pem", &url).await;
    assert_eq!(code, Some(0), "{description}");
    assert!(description.contains("\"openapi\""), "{description}");

    certify(cli.home(), "second.pem");
    hub.signal(Signal::HUP);
    hub.until_it_says("reloaded the TLS files").await;
    assert_eq!(read(cli.home(), "second.pem", &url).await.0, Some(0));
    // curl's own number for a certificate that it does not trust.
    assert_eq!(read(cli.home(), "first.pem", &url).await.0, Some(60));

    // What cannot be read changes nothing.
    std::fs::write(cli.home().join("key.pem"), "nonsense").unwrap();
    hub.signal(Signal::HUP);
    hub.until_it_says("the old ones stay in use").await;
    assert_eq!(read(cli.home(), "second.pem", &url).await.0, Some(0));
    hub.signal(Signal::TERM);
    hub.end().await.ok();
}
