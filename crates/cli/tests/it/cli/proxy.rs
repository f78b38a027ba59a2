//! Hubs behind a proxy: a published proxy (proxy.py), installed by `cargo xtask test`.

use std::process::Stdio;

use jackfield_testkit::{SOON, TestHub};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::run::Cli;

/// The variable with the Python interpreter.
const PYTHON: &str = "JACKFIELD_JUDGE_PYTHON";

/// A proxy that accepts `ann` with the password `pass`, and prints its address once ready. The proxy's own way is a
/// file written at some later time.
const SCRIPT: &str = "
import sys, proxy
args = ['--hostname', '127.0.0.1', '--port', '0', '--basic-auth', 'ann:pass',
        '--num-acceptors', '1', '--num-workers', '1', '--log-level', 'ERROR']
with proxy.Proxy(args) as running:
    print(running.flags.port, flush=True)
    sys.stdin.read()
";

struct Proxy {
    port: String,
    /// Ends when its standard input is closed, with its child processes.
    _process: Child,
}

/// Starts the proxy. Returns `None` if it isn't installed.
async fn proxy() -> Option<Proxy> {
    let Some(python) = std::env::var_os(PYTHON) else {
        println!("no proxy could judge: {PYTHON} is not set; see `cargo xtask test`");
        return None;
    };
    let mut process = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    let stdout = process.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(stdout).lines();
    let line = timeout(SOON, lines.next_line()).await.expect("it starts");
    Some(Proxy {
        port: line.expect("text").expect("a port"),
        _process: process,
    })
}

impl Proxy {
    fn url(&self, credentials: &str) -> String {
        format!("http://{credentials}127.0.0.1:{}", self.port)
    }
}

/// A command with these proxies in its environment.
fn command(cli: &Cli, proxy: &str, no_proxy: &str, args: &[&str]) -> Command {
    let mut command = cli.command(args);
    command
        .env("HTTP_PROXY", proxy)
        .env("NO_PROXY", no_proxy)
        .env("PATH", "/usr/bin:/bin");
    command
}

const CONNECT: [&str; 5] = ["connect", "--as", "amy", "exec", "cat"];

#[tokio::test]
async fn an_agent_and_its_callers_reach_the_hub_through_a_proxy() {
    let Some(proxy) = proxy().await else {
        return;
    };
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let through = proxy.url("ann:pass@");
    // A connection through a proxy may come from anywhere, so it needs a token even at loopback.
    let token = hub.token("ann", &["admin"]).await;
    let command = |args: &[&str]| {
        let mut command = command(&cli, &through, "", args);
        command.env("JACKFIELD_TOKEN", &token);
        command
    };
    let mut amy = cli.start_command(command(&CONNECT));
    assert_eq!(amy.line().await.as_deref(), Some("connected as amy"));
    let called = cli.start_command(command(&["call", "amy", "hello"]));
    let called = called.end().await.ok();
    assert_eq!(called.out.trim(), "hello");
    // Without the proxy there is no way to the hub, so the earlier commands did use it.
    drop(proxy);
    amy.until_it_says(&through.replace("ann:pass@", "")).await;
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_and_no_proxy_leads_around_it() {
    let Some(proxy) = proxy().await else {
        return;
    };
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    for credentials in ["", "ann:secret@"] {
        let mut amy = cli.start_command(command(&cli, &proxy.url(credentials), "", &CONNECT));
        let error_line = amy.until_it_says("407").await;
        assert!(error_line.contains(&proxy.url("")), "{error_line}");
        assert!(!error_line.contains("secret"), "{error_line}");
    }
    let mut amy = cli.start_command(command(&cli, &proxy.url(""), "127.0.0.1", &CONNECT));
    assert_eq!(amy.line().await.as_deref(), Some("connected as amy"));
}
