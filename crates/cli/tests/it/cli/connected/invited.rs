//! Invites, used as printed: by a shell, and by the published client of the bridge, which reads only the JSON.

use std::{path::Path, process::Stdio, time::Duration};

use jackfield_testkit::{Raw, TestHub};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::process::Command;

use super::says;
use crate::cli::connect::stand_ins;
use crate::run::{Cli, Run, Running};

/// A shell with the program and the stand-in for Claude Code in its path.
struct Shell {
    running: Option<Running>,
    group: Pid,
}

impl Shell {
    fn start(cli: &Cli, line: &str) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_jackfield")).parent();
        let program = program.expect("a folder").display();
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .env_clear()
            .env("HOME", cli.home())
            .env(
                "PATH",
                format!("{program}:{}:/usr/bin:/bin", stand_ins().display()),
            )
            .current_dir(cli.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let running = cli.start_command(command);
        Self {
            group: running.pid(),
            running: Some(running),
        }
    }

    /// Interrupts the shell and its children, like ctrl-c at a terminal.
    fn interrupt(&self) {
        kill_process_group(self.group, Signal::INT).expect("it can be told");
    }

    fn running(&mut self) -> &mut Running {
        self.running.as_mut().expect("it runs")
    }

    async fn end(mut self) -> Run {
        self.running.take().expect("it runs").end().await
    }
}

impl Drop for Shell {
    /// A killed shell leaves its children behind.
    fn drop(&mut self) {
        if self.running.is_some() {
            kill_process_group(self.group, Signal::KILL).ok();
        }
    }
}

#[tokio::test]
async fn the_printed_line_connects_an_agent_once() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let line = cli.run(&["invite", "amy"]).await.ok().out;
    // The other machine has only the printed line.
    let elsewhere = Cli::at("");
    let mut amy = Shell::start(&elsewhere, &line);
    assert_eq!(
        amy.running().line().await.as_deref(),
        Some("connected as amy")
    );
    let answer = cli.run(&["call", "amy", "hello"]).await.ok().out;
    assert_eq!(answer.trim(), "you said hello");
    let again = Shell::start(&elsewhere, &line).end().await;
    again.code(4).stderr_has("jackfield invite");
    // A failed attempt doesn't disturb the connected agent.
    cli.run(&["call", "amy", "hello"]).await.ok();
    amy.interrupt();
    amy.end().await.stderr_has("disconnecting");
}

#[tokio::test]
async fn an_invited_agent_calls_others_of_its_owner() {
    // A hub that requires a token, and knows its public address.
    let hub = TestHub::start().await;
    let addr = hub.addr();
    hub.stop(Duration::ZERO).await;
    let hub = TestHub::start_with(|config| {
        config.listen = ([0, 0, 0, 0], addr.port()).into();
        config.public_url = Some(format!("http://{addr}"));
    })
    .await;
    let cli = Cli::new(&hub);
    let ann = hub.token("ann", &["admin"]).await;
    let invite = cli.run_with("JACKFIELD_TOKEN", &ann, &["invite", "amy"]);
    let line = invite.await.ok().out;
    let mut amy = Shell::start(&Cli::at(""), &line);
    assert_eq!(
        amy.running().line().await.as_deref(),
        Some("connected as amy")
    );
    let mut cas = hub.bridge_of(&ann, "cas").await;
    let call = ["call", "amy", "call cas hello"];
    let call = cli.run_with("JACKFIELD_TOKEN", &ann, &call);
    let answers = async {
        let request = cas.expect_message("hello").await;
        says(&mut cas, &request, "good day").await;
    };
    let (output, ()) = tokio::join!(call, answers);
    assert_eq!(output.ok().out.trim(), "cas says good day");
}

#[tokio::test]
async fn the_published_client_finds_what_it_looks_for_behind_the_url() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let invite = cli.run(&["invite", "amy", "--json"]).await.ok().json();
    let url = invite["url"].as_str().unwrap();
    let path = url.strip_prefix(&hub.url("")).unwrap();
    let (status, setup) = hub.web().get(path).await;
    assert_eq!(status, 200, "{setup}");
    let named: Vec<_> = setup.as_object().unwrap().keys().collect();
    assert_eq!(named, ["agent_id", "agent_type", "bridge_url", "token"]);
    assert_eq!(setup["agent_id"], "amy");
    assert_eq!(setup["agent_type"], "claude");
    let bridge = format!("ws://{}", hub.addr());
    let bridge = setup["bridge_url"].as_str().unwrap().strip_prefix(&bridge);
    // The client adds its id to the address, and sends the token in its first frame.
    let at = format!("{}?agent_id=amy", bridge.unwrap());
    let mut amy = Raw::connect(hub.addr(), &at).await;
    amy.send(json!({
        "type": "register", "agent_id": "amy", "token": setup["token"], "bridge_version": "2", "agent_type": "claude",
        "capabilities": [],
    }))
    .await;
    let registered = amy.frame().await;
    assert_eq!(
        (&registered["type"], &registered["status"]),
        (&json!("registered"), &json!("ok")),
        "{registered}"
    );
    let (status, used) = hub.web().get(path).await;
    assert_eq!(status, 404, "{used}");
    let next = used["message"].as_str().map(str::to_owned);
    assert!(
        next.is_some_and(|text| text.contains("jackfield invite")),
        "{used}"
    );
    assert_eq!(used.get("token"), None::<&Value>);
}
