//! `token`.

use jackfield_testkit::TestHub;

use crate::run::Cli;

#[tokio::test]
async fn a_token_is_printed_once_and_alone() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let none = cli.run(&["token", "ls"]).await.ok().says("token create");
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
    made.says("ann").says("until 2");
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
        .says("token ls");
}

#[tokio::test]
async fn a_scope_that_is_none_is_refused() {
    let cli = Cli::at("http://127.0.0.1:1");
    let bad = cli
        .run(&["token", "create", "--owner", "ann", "--scope", "root"])
        .await;
    bad.code(2).says("agent:PATTERN");
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
    admin.says("--data-dir");
    assert!(
        !hub.data_dir().join("admin-token").exists(),
        "looking makes nothing"
    );
}
