//! What the README shows is what works: its commands are taken from it and run.

use std::path::Path;

use clap::Parser as _;
use jackfield_sdk::{Address, Agent};
use jackfield_testkit::TestHub;
use tokio::{process::Command, sync::oneshot, task::JoinSet};

use crate::run::Cli;

const README: &str = include_str!("../../../../README.md");

/// The commands of the README, in order.
fn commands() -> Vec<&'static str> {
    README
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .collect()
}

/// Runs a line as a shell would, with our binary in the path.
async fn shell(cli: &Cli, hub: &TestHub, line: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_jackfield"));
    let folder = binary.parent().expect("a file is in a folder").display();
    let mut command: Command = cli.command(&[]);
    let environment: Vec<_> = command
        .as_std()
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    command = Command::new("sh");
    command
        .arg("-c")
        .arg(line)
        .env_clear()
        .current_dir(cli.home())
        .kill_on_drop(true);
    for (name, value) in environment {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.env("JACKFIELD_DATA_DIR", hub.data_dir());
    command.env("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
    let output = command.output().await.expect("a shell");
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The echo agent of the README, attached.
async fn echo(hub: &TestHub, tasks: &mut JoinSet<()>) {
    let (attached, is_attached) = oneshot::channel();
    let mut attached = Some(attached);
    let agent = Agent::new("echo")
        .hub(Address::new(&hub.url("")).expect("a URL"))
        .on_message(|message, reply| async move {
            reply.text(message.text).await?;
            Ok(())
        });
    tasks.spawn(async move {
        let tell = move || {
            if let Some(attached) = attached.take() {
                attached.send(()).expect("the test waits");
            }
        };
        agent.run_with(tell).await.expect("the hub takes the agent");
    });
    is_attached.await.expect("the agent is attached");
}

#[tokio::test]
async fn the_commands_of_the_readme_work() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut tasks = JoinSet::new();
    echo(&hub, &mut tasks).await;
    let mut ran = Vec::new();
    for line in commands() {
        match line.split(' ').next().expect("a word") {
            "cargo" => check_cargo(line),
            // They go on until they are stopped.
            "jackfield"
                if [" serve", " watch", " connect"]
                    .iter()
                    .any(|it| line.contains(it)) =>
            {
                check_syntax(line);
            }
            "jackfield" => {
                let said = shell(&cli, &hub, line).await;
                ran.push((line, said));
            }
            "curl" => {
                let line = line.replace("http://127.0.0.1:7411", &hub.url(""));
                if Path::new("/usr/bin/curl").exists() {
                    let said = shell(&cli, &hub, &line).await;
                    let ends = ["event: done", r#"{"type":"done""#, "TASK_STATE_COMPLETED"];
                    let is_done = ends.iter().any(|end| said.contains(end));
                    assert!(is_done && said.contains("hello"), "{said}");
                }
            }
            other => panic!("the README shows {other}, which no test runs"),
        }
    }
    let said = |part: &str| {
        ran.iter()
            .find(|(line, _)| line.contains(part))
            .map(|(_, said)| said.as_str())
            .unwrap_or_default()
    };
    assert!(said("jackfield ls").contains("echo"), "{ran:?}");
    assert_eq!(said("call echo").trim(), "hello there");
    assert!(said("token create").starts_with("jf_"));
}

/// Commands of cargo build for minutes, so that what they name is checked instead.
fn check_cargo(line: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match line {
        "cargo run --release -- serve" => check_syntax("jackfield serve"),
        "cargo run --release -p jackfield-sdk --example echo" => {
            assert!(root.join("crates/sdk/examples/echo.rs").exists());
        }
        "cargo install --path crates/jackfield" => {
            assert!(root.join("crates/jackfield/Cargo.toml").exists())
        }
        "cargo xtask test" => {
            let aliases =
                std::fs::read_to_string(root.join(".cargo/config.toml")).expect("the aliases");
            assert!(aliases.contains("xtask ="));
        }
        other => panic!("the README shows {other:?}, which no test checks"),
    }
}

fn check_syntax(line: &str) {
    if let Err(error) = jackfield::cli::Cli::try_parse_from(line.split(' ')) {
        panic!("{line}: {error}");
    }
}

#[test]
fn the_first_command_of_the_readme_starts_the_hub() {
    assert_eq!(commands()[0], "cargo run --release -- serve");
}
