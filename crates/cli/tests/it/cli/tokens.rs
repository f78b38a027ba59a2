//! `token`.

use jackfield_testkit::TestHub;
use rustix::process::Signal;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::cli::serve::Served;
use crate::run::{Cli, Run};

#[tokio::test]
async fn a_token_is_printed_once_and_alone() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let none = cli
        .run(&["token", "ls"])
        .await
        .ok()
        .stderr_has("token create");
    assert_eq!(none.out, "");
    let args = [
        "token",
        "create",
        "--owner",
        "ann",
        "--scope",
        "agent:ann-*",
        "--scope",
        "call:*",
    ];
    let made = cli
        .run(&[&args[..], &["--expires", "30d", "--name", "laptop"]].concat())
        .await
        .ok();
    let token = made.out.trim().to_owned();
    assert!(
        !token.contains(char::is_whitespace) && !made.err.contains(&token),
        "{made:?}"
    );
    made.stderr_has("ann").stderr_has("until 2");
    let list = cli.run(&["token", "ls"]).await.ok();
    assert!(!list.out.contains(&token));
    assert!(
        list.out
            .contains("\tann\tlaptop\tagent:ann-* call:*\tvalid\t"),
        "{list:?}"
    );
    let who = cli
        .run_with("JACKFIELD_TOKEN", &token, &["token", "ls"])
        .await;
    who.code(4);
}

#[tokio::test]
async fn a_revoked_token_is_refused() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let args = [
        "token", "create", "--owner", "ann", "--scope", "admin", "--json",
    ];
    let made = cli.run(&args).await.ok().json();
    let (id, token) = (
        made["id"].as_str().unwrap(),
        made["token"].as_str().unwrap(),
    );
    assert_eq!(made["name"], "ann");
    cli.run_with("JACKFIELD_TOKEN", token, &["ls"]).await.ok();
    cli.run(&["token", "revoke", id]).await.ok();
    cli.run_with("JACKFIELD_TOKEN", token, &["ls"])
        .await
        .code(4);
    let list = cli.run(&["token", "ls", "--json"]).await.ok().json();
    assert!(list["tokens"][0]["revoked_at"].is_string());
    cli.run(&["token", "revoke", "nothing"])
        .await
        .code(3)
        .stderr_has("token ls");
}

#[tokio::test]
async fn a_scope_that_is_none_is_refused() {
    let cli = Cli::at("http://127.0.0.1:1");
    let bad = cli
        .run(&["token", "create", "--owner", "ann", "--scope", "root"])
        .await;
    bad.code(2).stderr_has("agent:PATTERN");
    cli.run(&["token", "create", "--owner", "ann"])
        .await
        .code(2);
}

#[tokio::test]
async fn the_hubs_secrets_are_shown_when_asked_for() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let dir = hub.data_dir().to_str().unwrap();
    for which in ["platform", "callback"] {
        let run = cli
            .run(&["token", "show", which, "--data-dir", dir])
            .await
            .ok();
        assert_eq!(run.out.trim().len(), 64);
        assert_eq!(run.err, "");
    }
    let admin = cli
        .run(&["token", "show", "admin", "--data-dir", dir])
        .await
        .code(3);
    admin.stderr_has("--data-dir");
    assert!(
        !hub.data_dir().join("admin-token").exists(),
        "looking makes nothing"
    );
}

/// The relay API's status for this secret.
async fn status_for(served: &Served, secret: &str) -> u16 {
    let mut socket = TcpStream::connect(served.addr)
        .await
        .expect("the hub answers");
    let request = format!(
        "GET /api/agents/bob/status HTTP/1.1\r\nhost: {}\r\nx-platform-secret: {secret}\r\nconnection: close\r\n\r\n",
        served.addr
    );
    socket
        .write_all(request.as_bytes())
        .await
        .expect("the hub answers");
    let mut answer = String::new();
    socket
        .read_to_string(&mut answer)
        .await
        .expect("the hub answers");
    let status = answer.split(' ').nth(1).expect("the hub answers");
    status.parse().expect("the hub answers")
}

/// A command that reads or creates secrets of the served hub.
async fn token(served: &Served, args: &[&str]) -> Run {
    let args = [&["token"], args, &["--data-dir", "data"]].concat();
    served.cli.run(&args).await.ok()
}

#[tokio::test]
async fn a_rotated_platform_secret_and_the_one_before_it_both_count() {
    let mut served = Served::start(Cli::at(""), &[]).await;
    let old = token(&served, &["show", "platform"]).await.out;
    let new = token(&served, &["rotate"])
        .await
        .stderr_has("kill -HUP")
        .out;
    assert_eq!(new, token(&served, &["show", "platform"]).await.out);
    let (old, new) = (old.trim(), new.trim());
    let answers = async |served: &Served| {
        let (old, new) = (status_for(served, old).await, status_for(served, new).await);
        (old, new)
    };
    assert_eq!(answers(&served).await, (200, 401), "it was not told yet");
    served.process.signal(Signal::HUP);
    served.process.until_it_says("reloaded").await;
    assert_eq!(answers(&served).await, (200, 200));
    let forget = ["rotate", "--forget-old"];
    token(&served, &forget).await.stderr_has("becomes invalid");
    token(&served, &forget).await.stderr_has("only one");
    served.process.signal(Signal::HUP);
    served.process.until_it_says("reloaded").await;
    assert_eq!(answers(&served).await, (401, 200));
    assert_eq!(status_for(&served, "").await, 401);
}

#[tokio::test]
async fn the_platform_secrets_of_the_environment_count_instead_of_the_files() {
    let cli = Cli::at("");
    let mut command = cli.command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
    command.env("JACKFIELD_PLATFORM_SECRET", "new one");
    command.env("JACKFIELD_PLATFORM_SECRET_OLD", "old one");
    let served = Served::of(cli.start_command(command), cli).await;
    assert_eq!(status_for(&served, "new one").await, 200);
    assert_eq!(status_for(&served, "old one").await, 200);
    assert_eq!(status_for(&served, "another").await, 401);
    assert!(!served.cli.home().join("data/platform-secret").exists());
}

#[tokio::test]
async fn a_secret_of_a_hub_that_never_ran_cannot_be_rotated() {
    let cli = Cli::at("");
    let none = ["token", "rotate", "--data-dir", "nowhere"];
    cli.run(&none).await.code(3).stderr_has("--data-dir");
}

#[tokio::test]
async fn the_hint_of_a_new_token_leads_to_the_same_hub() {
    let hub = TestHub::start().await;
    let url = hub.url("");
    let cli = Cli::at("");
    let args = ["token", "create", "--owner", "ann", "--scope", "call:*"];
    let made = cli.run(&[&args[..], &["--hub", &url]].concat()).await.ok();
    made.stderr_has(&format!("jackfield ls --hub {url} --token-file FILE"));
}

#[tokio::test]
async fn a_token_is_revoked_by_its_id_and_who_types_a_name_is_told_the_id() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let args = [
        "token", "create", "--owner", "ann", "--scope", "call:*", "--json",
    ];
    let made = cli.run(&args).await.ok().json();
    let id = made["id"].as_str().unwrap();
    let run = cli.run(&["token", "revoke", "ann"]).await.code(3);
    let run = run.stderr_has(&format!("jackfield token revoke {id}"));
    assert!(!run.err.contains("/v1/"), "{run:?}");
    let run = cli.run(&["token", "revoke", "nothing"]).await.code(3);
    let run = run.stderr_has("jackfield token ls");
    assert!(!run.err.contains("/v1/"), "{run:?}");
}
