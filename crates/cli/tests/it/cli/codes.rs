//! Each exit code, and its hint.

use jackfield_model::{Done, DoneState, End, Failure, Reason};
use jackfield_testkit::{TestHub, attach_agent};

use crate::run::{Cli, Run};

/// Runs `call` against an agent with this end.
async fn ended(end: End) -> Run {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let run = Cli::new(&hub).start(&["call", "bob", "x"]);
    agent.next_call().await.finish(end);
    run.end().await
}

fn failed(reason: Reason) -> End {
    End::Failed(Failure::new(reason, "it went wrong"))
}

#[tokio::test]
async fn one_for_what_has_no_code_of_its_own() {
    ended(failed(Reason::Busy))
        .await
        .code(1)
        .stderr_has("it went wrong");
    ended(failed(Reason::Internal))
        .await
        .code(1)
        .stderr_has("jackfield doctor");
}

#[tokio::test]
async fn two_for_usage() {
    let nonsense = Cli::at("nonsense");
    nonsense.run(&["ls"]).await.code(2).stderr_has("--hub URL");
    let cli = Cli::at("http://127.0.0.1:1");
    cli.run(&["dance"]).await.code(2);
    cli.run(&["ls", "--token-file", "missing"])
        .await
        .code(2)
        .stderr_has("missing");
    std::fs::write(cli.home().join("empty"), "\n").unwrap();
    cli.run(&["ls", "--token-file", "empty"])
        .await
        .code(2)
        .stderr_has("token create");
}

#[tokio::test]
async fn three_for_what_is_not_there() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    cli.run(&["call", "ghost", "x"])
        .await
        .code(3)
        .stderr_has("jackfield ls");
    drop(attach_agent(hub.hub(), "bob"));
    cli.run(&["call", "bob", "x"])
        .await
        .code(3)
        .stderr_has("--wait-online");
    let nowhere = Cli::at("http://127.0.0.1:1");
    nowhere
        .run(&["ls"])
        .await
        .code(3)
        .stderr_has("jackfield serve");
    // A hub on another machine can't be started from here. This address isn't loopback, and fails at once.
    let elsewhere = nowhere.at_hub("http://0.0.0.0:1");
    let none = elsewhere.run(&["ls"]).await.code(3);
    let none = none.stderr_has("does the hub run?");
    assert!(!none.err.contains("jackfield serve"), "{none:?}");
}

#[tokio::test]
async fn a_token_that_goes_to_another_machine_unencrypted_is_warned_of_once() {
    let warning = "warning: the token is sent to";
    for (hub, count) in [("http://0.0.0.0:1", 1), ("http://127.0.0.1:1", 0)] {
        let cli = Cli::at(hub);
        let run = cli.run_with("JACKFIELD_TOKEN", "jf_x", &["ls"]).await;
        let run = run.code(3);
        assert_eq!(run.err.matches(warning).count(), count, "{run:?}");
    }
    let none = Cli::at("http://0.0.0.0:1").run(&["ls"]).await.code(3);
    assert!(!none.err.contains(warning), "{none:?}");
}

#[tokio::test]
async fn four_for_who_may_not() {
    let hub = TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().unwrap()).await;
    let cli = Cli::at(&format!("http://127.0.0.1:{}", hub.addr().port()));
    cli.run(&["ls"]).await.code(4).stderr_has("--token-file");
    cli.run_with("JACKFIELD_TOKEN", "jf_wrong", &["ls"])
        .await
        .code(4)
        .stderr_has("token create");
    let token = hub.token("ann", &["call:*"]).await;
    cli.run_with("JACKFIELD_TOKEN", &token, &["ls"]).await.ok();
    cli.run_with("JACKFIELD_TOKEN", &token, &["token", "ls"])
        .await
        .code(4)
        .stderr_has("admin");
    std::fs::write(cli.home().join("token"), format!("{token}\n")).unwrap();
    let run = cli
        .run_with(
            "JACKFIELD_TOKEN",
            "jf_wrong",
            &["ls", "--token-file", "token"],
        )
        .await;
    run.ok().stderr_has("chmod 600 token");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(cli.home().join("token"), mode).unwrap();
    let run = cli.run(&["ls", "--token-file", "token"]).await.ok();
    assert!(!run.err.contains("chmod"), "{run:?}");
}

#[tokio::test]
async fn the_admins_token_is_shown_to_its_hub_by_whichever_address() {
    let hub = TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().unwrap()).await;
    let cli = Cli::at(&format!("http://127.0.0.1:{}", hub.addr().port()));
    // A named hub gets the token too, once it has proved that it owns this data directory.
    cli.run_with("JACKFIELD_DATA_DIR", hub.data_dir(), &["ls"])
        .await
        .ok();
    let local = cli.at_hub("");
    let config = format!(
        "listen = \"0.0.0.0:{}\"\ndata_dir = {:?}\n",
        hub.addr().port(),
        hub.data_dir()
    );
    std::fs::write(local.home().join("jackfield.toml"), config).unwrap();
    let run = local.run(&["doctor"]).await.ok();
    assert!(run.out.contains("is ready"), "{run:?}");
}

#[tokio::test]
async fn five_for_a_clock_that_ran_out() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let run = Cli::new(&hub).start(&["call", "bob", "x", "--timeout", "50ms"]);
    let _serving = agent.next_call().await;
    run.end()
        .await
        .code(5)
        .stderr_has("--timeout")
        .stderr_has("the call lasted 50 ms, its limit");
}

#[tokio::test]
async fn six_for_an_agent_that_failed_or_refused() {
    let run = ended(failed(Reason::Agent("quota".into()))).await.code(6);
    run.stderr_has("it went wrong")
        .stderr_has("quota")
        .stderr_has("jackfield watch bob --raw");
    ended(failed(Reason::Crashed)).await.code(6);
    let rejected = Done {
        state: DoneState::Rejected,
        ..Done::default()
    };
    ended(End::Done(Box::new(rejected)))
        .await
        .code(6)
        .stderr_has("refused");
}

#[tokio::test]
async fn seven_for_a_call_that_somebody_cancelled() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let run = cli.start(&["call", "bob", "x"]);
    let serving = agent.next_call().await;
    let id = serving.call().id.to_string();
    cli.run(&["task", "cancel", &id]).await.ok();
    run.end().await.code(7);
    assert_eq!(agent.next_cancel().await, serving.call().id);
}
