//! A hub with `[tls]`, as a process: ways to trust its certificate, and errors without trust.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;
use tokio::process::Command;

use crate::cli::unnamed::unnamed;
use crate::run::{Cli, Running};

/// Writes a new certificate and key where the hub reads them, and a copy of the certificate under its own name.
fn certify(home: &Path, name: &str) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    std::fs::write(home.join("cert.pem"), cert.pem()).expect("written");
    std::fs::write(home.join("key.pem"), signing_key.serialize_pem()).expect("written");
    std::fs::write(home.join(name), cert.pem()).expect("written");
}

/// Requests the hub with curl, which trusts a single certificate. Returns curl's exit code and the
/// response.
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
    // curl's exit code for an untrusted certificate.
    assert_eq!(read(cli.home(), "first.pem", &url).await.0, Some(60));

    // Invalid files don't change the certificate.
    std::fs::write(cli.home().join("key.pem"), "nonsense").unwrap();
    hub.signal(Signal::HUP);
    hub.until_it_says("the old ones stay in use").await;
    assert_eq!(read(cli.home(), "second.pem", &url).await.0, Some(0));
    hub.signal(Signal::TERM);
    hub.end().await.ok();
}

/// A hub with the files of `jackfield cert`, its local URL, and the fingerprint of its CA.
async fn certified(cli: &Cli, more: &str) -> (Running, String, String) {
    let made = cli
        .run(&["cert", "hub.test", "--dir", "tls", "--json"])
        .await;
    let made = made.ok().json();
    let fingerprint = made["fingerprint"]
        .as_str()
        .expect("a fingerprint")
        .to_owned();
    let config = format!("{more}[tls]\ncert = \"tls/cert.pem\"\nkey = \"tls/key.pem\"\n");
    std::fs::write(cli.home().join("jackfield.toml"), config).expect("a file");
    let mut hub = cli.start(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
    let line = hub.line().await.expect("it listens");
    let (_, port) = line.rsplit_once(':').expect("a port");
    (hub, format!("https://localhost:{port}"), fingerprint)
}

#[tokio::test]
async fn cert_makes_a_ca_that_stays_and_overwrites_nothing() {
    let cli = Cli::at("");
    let args = ["cert", "hub.test", "10.0.0.5", "--dir", "tls"];
    let made = cli.run(&args).await.ok();
    for words in ["tls/cert.pem", "sha256:", "hub.test, 10.0.0.5, localhost"] {
        assert!(made.out.contains(words), "{words}: {made:?}");
    }
    let made = made
        .stderr_has("[tls]")
        .stderr_has("--hub https://hub.test:7411 --ca");
    made.stderr_has("Keep").stderr_has("ca-key.pem");
    let tls = cli.home().join("tls");
    for name in ["ca.pem", "ca-key.pem", "cert.pem", "key.pem"] {
        let mode = std::fs::metadata(tls.join(name)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
    let before = std::fs::read(tls.join("ca.pem")).unwrap();
    cli.run(&args).await.code(2).stderr_has("exists already");
    std::fs::remove_file(tls.join("cert.pem")).unwrap();
    cli.run(&args)
        .await
        .code(2)
        .stderr_has("key.pem exists already");
    std::fs::remove_file(tls.join("key.pem")).unwrap();
    cli.run(&args).await.ok();
    assert_eq!(std::fs::read(tls.join("ca.pem")).unwrap(), before);
    let wrong = ["cert", "no name", "--dir", "other"];
    cli.run(&wrong).await.code(2).stderr_has("NAME");
    assert!(!cli.home().join("other").exists());
}

#[tokio::test]
async fn a_ca_of_ones_own_is_trusted_alike_by_commands_and_by_connect() {
    let cli = Cli::at("");
    let (_hub, url, fingerprint) = certified(&cli, "").await;
    let cli = cli.at_hub(&url);
    for args in [
        &["ls"][..],
        &["call", "bob", "x"],
        &["connect", "--as", "bob", "exec", "/bin/cat"],
    ] {
        let refused = cli.run(args).await.code(3).stderr_has("CA");
        refused.stderr_has("--ca FILE").stderr_has("JACKFIELD_CA");
    }
    for (name, value) in [
        ("JACKFIELD_CA", "tls/ca.pem"),
        ("SSL_CERT_FILE", "tls/ca.pem"),
        ("JACKFIELD_CA", &fingerprint),
    ] {
        let mut command = cli.command(&["connect", "--as", "bob", "exec", "/bin/cat"]);
        command.env(name, value).env("PATH", "/usr/bin:/bin");
        let mut bob = cli.start_command(command);
        assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
        let called = cli.run_with(name, value, &["call", "bob", "hello"]).await;
        assert_eq!(called.ok().out.trim(), "hello");
        bob.signal(Signal::INT);
        bob.end().await.ok();
    }
    cli.run(&["--ca", "tls/ca.pem", "ls"]).await.ok();
    cli.run(&["ls", "--ca", "none.pem"])
        .await
        .code(2)
        .stderr_has("--ca");
    let other = format!("sha256:{}", "00".repeat(32));
    let refused = cli.run(&["ls", "--ca", &other]).await.code(3);
    refused.stderr_has("fingerprint").stderr_has(&fingerprint);

    // Only one side uses TLS.
    let plain = url.replacen("https", "http", 1);
    let plain = cli.at_hub(&plain);
    plain.run(&["ls"]).await.code(3).stderr_has("use https://");
    let connect = ["connect", "--as", "bob", "exec", "/bin/cat"];
    plain.run(&connect).await.code(3).stderr_has("use https://");
    let hub = jackfield_testkit::TestHub::start().await;
    let secure = hub.url("").replacen("http", "https", 1);
    let secure = plain.at_hub(&secure);
    let pinned = ["ls", "--ca", &other];
    secure.run(&pinned).await.code(3).stderr_has("use http://");
}

#[tokio::test]
async fn an_invite_carries_the_fingerprint_of_a_private_ca_and_is_not_used_up_before_it_is_trusted()
{
    let cli = Cli::at("");
    let (_hub, url, fingerprint) = certified(&cli, "").await;
    let cli = cli.at_hub(&url);
    let invite = ["invite", "bob", "--type", "exec", "--ca", "tls/ca.pem"];
    let made = cli.run(&invite).await.ok();
    let words: Vec<_> = made.out.split_whitespace().collect();
    let [_, _, "--ca", pin, "--setup", ticket, ..] = words[..] else {
        panic!("{made:?}")
    };
    assert_eq!(pin, fingerprint);
    let elsewhere = Cli::at("");
    let without = ["connect", "--setup", ticket, "exec", "/bin/cat"];
    let refused = elsewhere.run(&without).await.code(3);
    refused.stderr_has("--ca").stderr_has("not used up");
    let with = [
        "connect", "--ca", pin, "--setup", ticket, "exec", "/bin/cat",
    ];
    let mut command = elsewhere.command(&with);
    command.env("PATH", "/usr/bin:/bin");
    let mut bob = elsewhere.start_command(command);
    assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
    let next = bob.until_it_says("next time").await;
    assert!(next.contains(&format!("--ca {pin}")), "{next}");
}

#[tokio::test]
async fn commands_that_name_no_hub_find_the_one_of_their_data_directory() {
    let cli = Cli::at("");
    let (hub, url, _) = certified(&cli, "public_url = \"https://hub.test:7\"\n").await;
    let run = async |args: &[&str]| cli.start_command(unnamed(&cli, args)).end().await;
    // The hub uses TLS with its own CA, on another port, and requires a token.
    run(&["token", "ls"]).await.ok();
    let agent = ["connect", "--as", "bob", "exec", "/bin/cat"];
    let mut bob = cli.start_command(unnamed(&cli, &agent));
    assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
    let called = run(&["call", "bob", "hello"]).await.ok();
    assert_eq!(called.out.trim(), "hello");
    let report = run(&["doctor", "--json"]).await.json();
    let checks = report["checks"].as_array().expect("a list");
    let found = checks.iter().find(|check| check["check"] == "hub");
    assert_eq!(found.expect("it is checked")["verdict"], "ok", "{report}");
    // An explicit hub is always used.
    let named = run(&["ls", "--hub", "http://127.0.0.1:1"]).await;
    named.code(3).stderr_has("http://127.0.0.1:1");
    let mut command = unnamed(&cli, &["ls"]);
    command.env("JACKFIELD_HUB", &url);
    let refused = cli.start_command(command).end().await.code(3);
    refused.stderr_has("--ca FILE");
    let wrong = run(&["ls", "--ca", "none.pem"]).await;
    wrong.code(2).stderr_has("--ca");

    // A killed hub's address file is ignored, and the next hub is found.
    hub.signal(Signal::KILL);
    hub.end().await;
    let file = cli.home().join("data/address");
    let left = std::fs::read_to_string(&file).expect("it is left");
    let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"];
    let mut hub = cli.start(&args);
    hub.line().await.expect("it listens");
    assert_ne!(std::fs::read_to_string(&file).expect("a new one"), left);
    run(&["token", "ls"]).await.ok();
    hub.signal(Signal::TERM);
    hub.end().await.ok();
    assert!(!file.exists());
}

#[tokio::test]
async fn commands_find_a_hub_whose_certificate_is_not_for_its_address_and_changes() {
    let cli = Cli::at("");
    let config = "[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n";
    std::fs::write(cli.home().join("jackfield.toml"), config).unwrap();
    certify(cli.home(), "first.pem");
    let mut hub = cli.start(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
    hub.line().await.expect("it listens");
    let ls = async || cli.start_command(unnamed(&cli, &["ls"])).end().await;
    ls().await.ok();
    certify(cli.home(), "second.pem");
    hub.signal(Signal::HUP);
    hub.until_it_says("reloaded the TLS files").await;
    ls().await.ok();
}
