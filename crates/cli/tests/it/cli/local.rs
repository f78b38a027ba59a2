//! Commands without a hub: help, `config`, `backup`, `doctor`, `completions`.

use std::os::unix::fs::PermissionsExt;

use jackfield_testkit::{TestHub, attach_agent};
use serde_json::Value;

use crate::run::Cli;

fn nowhere() -> Cli {
    Cli::at("http://127.0.0.1:1")
}

#[tokio::test]
async fn the_help_is_as_written_down() {
    let help = nowhere().run(&["--help"]).await.ok();
    assert_eq!(
        help.out,
        include_str!("help.txt"),
        "if it is meant, change help.txt"
    );
}

#[tokio::test]
async fn every_command_has_an_example() {
    let cli = nowhere();
    for command in [
        "serve",
        "cert",
        "ls",
        "show",
        "call",
        "watch",
        "task ls",
        "task show",
        "task wait",
        "task cancel",
        "task answer",
        "task resend",
        "team ls",
        "team show",
        "team create",
        "team change",
        "team rm",
        "team task ls",
        "team task add",
        "team task set",
        "team say",
        "team stop",
        "team approve",
        "team deny",
        "add",
        "share",
        "rm",
        "token create",
        "token ls",
        "token revoke",
        "token show",
        "token rotate",
        "config check",
        "config show",
        "backup",
        "doctor",
        "completions",
    ] {
        let mut args: Vec<_> = command.split(' ').collect();
        args.push("--help");
        let help = cli.run(&args).await.ok();
        let example = format!("  jackfield {command}");
        let has_one = help.out.contains("Example") && help.out.contains(&example);
        assert!(has_one, "{command}: {}", help.out);
    }
}

#[tokio::test]
async fn completions_are_printed_and_a_closed_pipe_is_fine() {
    let cli = nowhere();
    for shell in ["bash", "zsh", "fish"] {
        let run = cli.run(&["completions", shell]).await.ok();
        assert!(run.out.contains("jackfield") && run.out.contains("coordinator"));
    }
    let mut child = cli.command(&["completions", "zsh"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[tokio::test]
async fn a_configuration_is_checked_and_shown() {
    let cli = nowhere();
    let none = cli.run(&["config", "check"]).await.ok();
    assert!(none.out.starts_with("ok"));
    std::fs::write(
        cli.home().join("jackfield.toml"),
        "listen = \"127.0.0.1:9\"\n",
    )
    .unwrap();
    assert_eq!(
        cli.run(&["config", "check"]).await.ok().out,
        "ok: jackfield.toml\n"
    );
    let shown = cli
        .run(&["config", "show", "--log", "debug"])
        .await
        .ok()
        .out;
    assert!(
        shown.contains("listen = \"127.0.0.1:9\"") && shown.contains("log = \"debug\""),
        "{shown}"
    );
    // The printed configuration can be loaded.
    std::fs::write(cli.home().join("again.toml"), &shown).unwrap();
    cli.run(&["config", "check", "again.toml"]).await.ok();
}

#[tokio::test]
async fn a_wrong_configuration_is_named_with_file_and_key() {
    let cli = nowhere();
    std::fs::write(
        cli.home().join("bad.toml"),
        "[limits]\npipe_fill = \"1MiB\"\n",
    )
    .unwrap();
    for args in [
        &["config", "check", "bad.toml"][..],
        &["serve", "--config", "bad.toml"],
    ] {
        let run = cli.run(args).await.code(2);
        run.stderr_has("bad.toml")
            .stderr_has("pipe_fill")
            .stderr_has("jackfield.example.toml");
    }
    cli.run(&["config", "check", "missing.toml"])
        .await
        .code(2)
        .stderr_has("missing.toml");
}

#[tokio::test]
async fn a_running_hub_is_backed_up_to_a_new_file_only() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _bob = attach_agent(hub.hub(), "bob");
    let dir = hub.data_dir().to_str().unwrap();
    cli.run(&["backup", "copy.db", "--data-dir", dir])
        .await
        .ok()
        .stderr_has("copy.db");
    let mode = std::fs::metadata(cli.home().join("copy.db"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    cli.run(&["backup", "copy.db", "--data-dir", dir])
        .await
        .code(2)
        .stderr_has("exists already");
    let told = cli
        .run(&["backup", "two.db", "--data-dir", dir, "--json"])
        .await
        .ok()
        .json();
    assert!(told["bytes"].as_u64().unwrap() > 0);
    cli.run(&["backup", "three.db", "--data-dir", "nothing"])
        .await
        .code(3)
        .stderr_has("--data-dir");
}

fn verdicts(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let checks = report["checks"].as_array().expect("a list");
    checks
        .iter()
        .map(|check| (text(&check["check"]), text(&check["verdict"])))
        .collect()
}

#[tokio::test]
async fn a_healthy_hub_passes() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let dir = hub.data_dir().to_str().unwrap();
    let run = cli.run(&["doctor", "--data-dir", dir]).await.ok();
    assert!(
        run.out
            .contains(concat!("version ", env!("CARGO_PKG_VERSION"))),
        "{run:?}"
    );
    let report = cli
        .run(&["doctor", "--data-dir", dir, "--json"])
        .await
        .ok()
        .json();
    assert_eq!(report["ok"], true);
    let names: Vec<_> = verdicts(&report)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let all = [
        "configuration",
        "data directory",
        "disk",
        "database",
        "secrets",
        "hub",
        "access",
        "file limit",
        "clock",
    ];
    assert_eq!(names, all);
}

#[tokio::test]
async fn what_is_wrong_fails_with_a_remedy() {
    let cli = nowhere();
    let dir = cli.home().join("data");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(
        dir.join("jackfield.db"),
        "this is no database, whatever its name says",
    )
    .unwrap();
    std::fs::write(dir.join("callback-key"), "0".repeat(64)).unwrap();
    std::fs::set_permissions(dir.join("callback-key"), PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(cli.home().join("jackfield.toml"), "lisen = 1\n").unwrap();
    let args = ["doctor", "--data-dir", dir.to_str().unwrap()];
    let report = cli
        .run(&[&args[..], &["--json"]].concat())
        .await
        .code(1)
        .json();
    let verdicts = verdicts(&report);
    for (check, verdict) in [
        ("configuration", "fail"),
        ("data directory", "warn"),
        ("database", "fail"),
        ("secrets", "fail"),
        ("hub", "fail"),
        ("clock", "ok"),
    ] {
        assert!(
            verdicts.contains(&(check.to_owned(), verdict.to_owned())),
            "{check}: {report}"
        );
    }
    let checks = report["checks"].as_array().unwrap();
    for check in checks.iter().filter(|check| check["verdict"] != "ok") {
        assert!(check["remedy"].is_string(), "{check}");
    }
    let text = cli.run(&args).await.code(1);
    assert!(
        text.out.contains("FAIL configuration") && text.out.contains("chmod 600"),
        "{text:?}"
    );
}

#[tokio::test]
async fn without_a_hub_its_address_is_looked_at() {
    let cli = Cli::at("");
    // Another program holds the port, and closes every connection.
    let holder = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = holder.local_addr().unwrap();
    std::fs::write(
        cli.home().join("jackfield.toml"),
        format!("listen = \"{listen}\"\n"),
    )
    .unwrap();
    let hang_up = async {
        loop {
            drop(holder.accept().await);
        }
    };
    let report = tokio::select! {
        run = cli.run(&["doctor", "--json"]) => run.code(1).json(),
        () = hang_up => unreachable!(),
    };
    let taken = ("hub".to_owned(), "fail".to_owned());
    assert!(verdicts(&report).contains(&taken), "{report}");
    drop(holder);
    let report = cli.run(&["doctor", "--json"]).await.ok().json();
    let free = ("hub".to_owned(), "ok".to_owned());
    assert!(verdicts(&report).contains(&free), "{report}");
}

#[tokio::test]
async fn doctor_warns_of_a_proxy_that_everybody_could_come_through() {
    let cli = Cli::at("");
    let config = "listen = \"127.0.0.1:1\"\npublic_url = \"http://localhost:8080\"\n";
    std::fs::write(cli.home().join("jackfield.toml"), config).unwrap();
    let report = cli.run(&["doctor", "--json"]).await.json();
    let checks = report["checks"].as_array().unwrap();
    let access = checks.iter().find(|check| check["check"] == "access");
    let access = access.expect("it is looked at");
    assert_eq!(access["verdict"], "warn", "{report}");
    let remedy = access["remedy"].as_str().unwrap();
    assert!(remedy.contains("require_token"), "{remedy}");
}
