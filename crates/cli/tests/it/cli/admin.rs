//! The administrator's token: the hubs that receive it, and the error messages about it.

use std::time::Duration;

use jackfield_testkit::{SOON, TestHub};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

use crate::run::Cli;

/// A hub on all addresses of this machine, which requires a token from every caller.
async fn closed() -> TestHub {
    TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().expect("an address")).await
}

/// A command to another address, run by the user who owns the hub's data directory.
fn command(hub: &TestHub, url: &str, args: &[&str]) -> (Cli, tokio::process::Command) {
    let cli = Cli::at(url);
    let mut command = cli.command(args);
    command.env("JACKFIELD_DATA_DIR", hub.data_dir());
    (cli, command)
}

#[tokio::test]
async fn commands_find_the_admins_token_for_every_address_of_their_hub() {
    let hub = closed().await;
    let port = hub.addr().port();
    for host in ["127.0.0.1", "localhost", "127.8.8.8"] {
        let url = format!("http://{host}:{port}");
        let (cli, command) = command(&hub, &url, &["token", "ls"]);
        cli.start_command(command).end().await.ok();
    }
}

#[tokio::test]
async fn a_hub_that_needs_no_token_proves_itself_too_where_an_admins_token_is() {
    let hub = TestHub::start_with(|config| {
        std::fs::create_dir(&config.data_dir).expect("a folder");
        let file = config.data_dir.join("admin-token");
        std::fs::write(&file, "ab".repeat(32)).expect("a file");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, private).expect("its mode");
    })
    .await;
    let (cli, command) = command(&hub, &hub.url(""), &["token", "ls", "--json"]);
    let listed = cli.start_command(command).end().await.ok().json();
    assert_eq!(listed["tokens"][0]["name"], "first admin", "{listed}");
    let nonce = "0123456789abcdef0123456789abcdef";
    let proof = reqwest::get(hub.url(&format!("/v1/prove?nonce={nonce}"))).await;
    assert_eq!(proof.expect("an answer").status(), 200);
    let without = TestHub::start().await;
    let proof = reqwest::get(without.url(&format!("/v1/prove?nonce={nonce}"))).await;
    assert_eq!(proof.expect("an answer").status(), 404);
}

#[tokio::test]
async fn who_listens_in_the_hubs_place_does_not_see_the_admins_token() {
    let hub = closed().await;
    let token = std::fs::read_to_string(hub.data_dir().join("admin-token")).expect("made");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let real = hub.addr();
    // Forwards everything to the real hub, and records the bytes.
    let mut relay = JoinSet::new();
    relay.spawn(async move {
        let mut seen = Vec::new();
        while let Ok(Ok((mut near, _))) = timeout(Duration::from_secs(3), listener.accept()).await {
            let mut far = TcpStream::connect(real).await.expect("the hub answers");
            let mut head = vec![0; 8192];
            let count = near.read(&mut head).await.expect("a request");
            seen.extend_from_slice(&head[..count]);
            far.write_all(&head[..count]).await.expect("the hub reads");
            let copied = tokio::io::copy_bidirectional(&mut near, &mut far);
            drop(timeout(Duration::from_secs(2), copied).await);
        }
        String::from_utf8_lossy(&seen).into_owned()
    });
    let (cli, command) = command(&hub, &url, &["ls"]);
    let refused = cli.start_command(command).end().await.code(4);
    refused
        .stderr_has("admin-token")
        .stderr_has("did not prove");
    let seen = timeout(SOON, relay.join_next()).await.expect("in time");
    let seen = seen.expect("it was started").expect("it ran");
    assert!(seen.contains("/v1/prove"), "{seen}");
    assert!(!seen.contains(token.trim()), "it saw the token");
}

#[tokio::test]
async fn a_refusal_says_which_token_was_shown() {
    let hub = closed().await;
    let cli = Cli::new(&hub);
    cli.run(&["ls"])
        .await
        .code(4)
        .stderr_has("no token was sent");
    let nobody = hub.token("ann", &[]).await;
    let refused = cli.run_with("JACKFIELD_TOKEN", &nobody, &["token", "ls"]);
    refused.await.code(4).stderr_has("in JACKFIELD_TOKEN");
    let file = cli.home().join("ann.token");
    std::fs::write(&file, &nobody).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let args = ["token", "ls", "--token-file", file];
    let refused = cli.run(&args).await.code(4).stderr_has("--token-file");
    refused.stderr_has(file);
}
