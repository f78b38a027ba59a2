//! Commands without an explicit hub: discovery, verification, and following a hub to a new address.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs::{self, File},
    io::Write as _,
    net::{SocketAddr, TcpListener},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustix::process::Signal;
use serde_json::Value;
use tokio::process::Command;

use crate::run::{Cli, Run, Running};

/// The user `nobody`.
const NOBODY: u32 = 65534;

/// A command without an explicit hub, run by the user who owns the data directory `data`.
pub(crate) fn unnamed(cli: &Cli, args: &[&str]) -> Command {
    let mut command = cli.command(args);
    command
        .env_remove("JACKFIELD_HUB")
        .env("JACKFIELD_DATA_DIR", "data")
        .env("PATH", "/usr/bin:/bin");
    command
}

async fn run(cli: &Cli, args: &[&str]) -> Run {
    cli.start_command(unnamed(cli, args)).end().await
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: only root can act as another user");
    }
    is_root
}

/// Another user's program that listens on loopback and closes each connection after the first bytes.
struct ForeignListener {
    addr: SocketAddr,
    /// Number of received bytes.
    received_bytes: Arc<AtomicUsize>,
}

impl ForeignListener {
    fn listen() -> Self {
        let received_bytes = Arc::new(AtomicUsize::new(0));
        let (sender, listening) = std::sync::mpsc::channel();
        let count = received_bytes.clone();
        // Only this thread runs as the other user; it ends with the test process.
        std::thread::spawn(move || {
            let nobody = rustix::process::Uid::from_raw(NOBODY);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            for socket in listener.incoming() {
                let mut buffer = [0; 4096];
                let read = std::io::Read::read(&mut socket.unwrap(), &mut buffer);
                count.fetch_add(read.unwrap_or(0), Ordering::SeqCst);
            }
        });
        let addr = listening.recv().unwrap();
        Self {
            addr,
            received_bytes,
        }
    }

    fn received_bytes(&self) -> usize {
        self.received_bytes.load(Ordering::SeqCst)
    }
}

/// Writes the address file of a hub that seems to run while the file is held.
fn publish(cli: &Cli, url: &str) -> File {
    let dir = cli.home().join("data");
    fs::create_dir_all(&dir).unwrap();
    let mut file = File::create(dir.join("address")).unwrap();
    file.lock().unwrap();
    write!(file, r#"{{"url":"{url}"}}"#).unwrap();
    file
}

#[tokio::test]
async fn whoever_listens_in_the_hubs_place_is_told_nothing() {
    if !is_root() {
        return;
    }
    let foreign = ForeignListener::listen();
    let cli = Cli::at("");
    let url = format!("http://{}", foreign.addr);
    let _published = publish(&cli, &url);
    fs::write(cli.home().join("token"), "jf_secret").unwrap();
    for args in [
        &["ls"][..],
        &["token", "ls"],
        &["call", "bob", "a secret"],
        &["ls", "--token-file", "token"],
        &["connect", "--as", "bob", "exec", "cat"],
        &["watch"],
    ] {
        let refused = run(&cli, args).await.code(3).stderr_has("nobody");
        refused.stderr_has(&format!("--hub {url}"));
        assert_eq!(foreign.received_bytes(), 0, "{args:?}");
    }
    // An explicit hub is always used.
    let named = run(&cli, &["ls", "--hub", &url]).await;
    named.code(3).stderr_has("does not speak HTTP");
    assert_ne!(foreign.received_bytes(), 0);
}

async fn hub_finding(cli: &Cli) -> Value {
    let report = run(cli, &["doctor", "--json"]).await;
    let report: Value = serde_json::from_str(&report.out).expect("a report");
    let checks = report["checks"].as_array().expect("a list");
    let hub = checks.iter().find(|check| check["check"] == "hub");
    hub.expect("it is checked").clone()
}

#[tokio::test]
async fn doctor_names_who_listens_in_the_hubs_place_and_does_not_lead_there() {
    if !is_root() {
        return;
    }
    let foreign = ForeignListener::listen();
    let cli = Cli::at("");
    let config = cli.home().join("jackfield.toml");
    let listen = format!("listen = \"{}\"\n", foreign.addr);
    let tls = "[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n";
    for (text, scheme) in [(listen.clone(), "http"), (listen + tls, "https")] {
        fs::write(&config, text).unwrap();
        let found = hub_finding(&cli).await;
        assert_eq!(found["verdict"], "fail", "{found}");
        assert!(
            found["found"].as_str().unwrap().contains("nobody"),
            "{found}"
        );
        let remedy = found["remedy"].as_str().unwrap();
        let named = format!("--hub {scheme}://{}", foreign.addr);
        assert!(remedy.contains(&named), "{found}");
        assert!(!remedy.contains("http:// instead"), "{found}");
    }
    assert_eq!(foreign.received_bytes(), 0);
}

/// Gives a folder to another user.
fn give_away(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
}

/// A hub of another user, whose data directory is `data`.
async fn served_by_another_user(cli: &Cli) -> Running {
    fs::set_permissions(cli.home(), fs::Permissions::from_mode(0o755)).unwrap();
    give_away(&cli.home().join("data"));
    let url = ["--public-url", "https://hub.example.com"];
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"];
    let mut command = cli.command(&[&serve[..], &url].concat());
    command.as_std_mut().uid(NOBODY).gid(NOBODY);
    let mut hub = cli.start_command(command);
    hub.until_line("jackfield listens on ").await;
    hub
}

#[tokio::test]
async fn a_hub_of_another_user_is_taken_for_the_one_of_a_data_directory_that_was_named() {
    if !is_root() {
        return;
    }
    let cli = Cli::at("");
    let _hub = served_by_another_user(&cli).await;
    run(&cli, &["ls"]).await.ok();
    // The hub's proof is enough, whoever owns the address file.
    chown(cli.home().join("data/address"), Some(0), Some(0)).unwrap();
    run(&cli, &["token", "ls"]).await.ok();
    let agent = ["connect", "--as", "bob", "exec", "cat"];
    let mut bob = cli.start_command(unnamed(&cli, &agent));
    assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
    let called = run(&cli, &["call", "bob", "hello"]).await.ok();
    assert_eq!(called.out.trim(), "hello");
}

#[tokio::test]
async fn a_configuration_of_somebody_else_in_this_folder_is_not_read_unless_it_is_named() {
    if !is_root() {
        return;
    }
    let cli = Cli::at("");
    let file = cli.home().join("jackfield.toml");
    fs::write(&file, "data_dir = \"elsewhere\"\n").unwrap();
    chown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
    for args in [&["ls"][..], &["serve"], &["config", "check"]] {
        let mut command = cli.command(args);
        command.env_remove("JACKFIELD_HUB");
        let refused = cli.start_command(command).end().await.code(2);
        refused
            .stderr_has("nobody")
            .stderr_has("--config")
            .stderr_has("JACKFIELD_CONFIG");
    }
    let report = run(&cli, &["doctor"]).await.code(1);
    assert!(report.out.contains("FAIL configuration"), "{report:?}");
    let named = cli.run_with("JACKFIELD_CONFIG", "jackfield.toml", &["config", "show"]);
    assert!(named.await.ok().out.contains("elsewhere"));
    cli.run(&["config", "check", "jackfield.toml"]).await.ok();
}

#[tokio::test]
async fn a_configuration_that_anybody_may_write_is_not_read_unless_it_is_named() {
    let cli = Cli::at("");
    let file = cli.home().join("jackfield.toml");
    fs::write(&file, "data_dir = \"elsewhere\"\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let refused = cli.run(&["ls"]).await.code(2);
    refused.stderr_has("chmod go-w jackfield.toml");
    cli.run(&["config", "check", "jackfield.toml"]).await.ok();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    cli.run(&["config", "check"]).await.ok();
}

/// A hub with the data directory `data` on any port.
async fn serve(cli: &Cli) -> (Running, String) {
    let mut hub = cli.start(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
    let line = hub.until_line("jackfield listens on ").await;
    let url = line.rsplit(' ').next().unwrap().to_owned();
    (hub, url)
}

#[tokio::test]
async fn connect_and_call_follow_a_hub_that_comes_back_on_another_port() {
    let cli = Cli::at("");
    let (hub, first) = serve(&cli).await;
    let script = "echo begin; until [ -e go ]; do sleep 0.05; done; echo $JACKFIELD_HUB";
    let args = ["connect", "--as", "bob", "exec", "sh", "-c", script];
    let mut bob = cli.start_command(unnamed(&cli, &args));
    assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
    let mut call = cli.start_command(unnamed(&cli, &["call", "bob", "x"]));
    assert_eq!(call.line().await.as_deref(), Some("begin"));
    hub.signal(Signal::KILL);
    hub.end().await;
    bob.until_it_says("; retrying").await;
    let lost = call
        .until_it_says("the connection to the hub was lost")
        .await;
    assert!(lost.contains("60 s"), "{lost}");
    // Forces a different port.
    let _held = TcpListener::bind(first.strip_prefix("http://").unwrap()).unwrap();
    let (_hub, second) = serve(&cli).await;
    assert_ne!(first, second);
    let moved = bob.until_it_says("the hub is now at").await;
    assert!(moved.contains(&second), "{moved}");
    bob.until_it_says("reconnected").await;
    call.until_it_says("reconnected to the hub").await;
    fs::write(cli.home().join("go"), "").unwrap();
    assert_eq!(call.line().await.as_deref(), Some(first.as_str()));
    call.end().await.ok();
    // The agent's further requests go to the hub's new address.
    let called = run(&cli, &["call", "bob", "x"]).await.ok();
    assert_eq!(called.out, format!("begin\n{second}\n"));
}

#[tokio::test]
async fn a_hub_that_was_killed_is_named() {
    let cli = Cli::at("");
    let (hub, url) = serve(&cli).await;
    hub.signal(Signal::KILL);
    hub.end().await;
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = free.local_addr().unwrap();
    drop(free);
    let config = format!("listen = \"{listen}\"\n");
    fs::write(cli.home().join("jackfield.toml"), config).unwrap();
    let says = format!("the hub at {url} is not running (was it killed?)");
    let found = hub_finding(&cli).await;
    assert!(found["found"].as_str().unwrap().contains(&says), "{found}");
    if std::net::TcpStream::connect("127.0.0.1:7411").is_ok() {
        println!("skipped: somebody listens on the hub's usual port");
        return;
    }
    let none = run(&cli, &["ls"]).await.code(3).stderr_has(&says);
    none.stderr_has("jackfield serve");
}

#[tokio::test]
async fn a_data_directory_that_cannot_be_read_is_told() {
    if !is_root() {
        return;
    }
    let cli = Cli::at("");
    fs::set_permissions(cli.home(), fs::Permissions::from_mode(0o777)).unwrap();
    let (_hub, _) = serve(&cli).await;
    let mut command = unnamed(&cli, &["ls"]);
    command.as_std_mut().uid(NOBODY).gid(NOBODY);
    let sender = cli.start_command(command).end().await;
    sender.stderr_has("warning: data cannot be read");
}
