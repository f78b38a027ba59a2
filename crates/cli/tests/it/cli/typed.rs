//! Options before the subcommand, ways to name a hub, and names with typos.

use jackfield_model::{Done, DoneState, End};
use jackfield_testkit::{TestHub, attach_agent};

use crate::run::Cli;

#[tokio::test]
async fn the_flags_of_clients_may_stand_before_the_verb() {
    let hub = TestHub::start().await;
    let _bob = attach_agent(hub.hub(), "bob");
    let nowhere = Cli::at("http://127.0.0.1:1");
    let url = hub.url("");
    let listed = nowhere.run(&["--hub", &url, "--json", "ls"]).await.ok();
    assert_eq!(listed.json()["agents"][0]["id"], "bob");
    nowhere.run(&["--hub", &url, "task", "ls"]).await.ok();
    nowhere.run(&["task", "--hub", &url, "ls"]).await.ok();
    // The option nearer to the command wins.
    let nearer = ["--hub", "http://127.0.0.1:2", "ls", "--hub", &url];
    nowhere.run(&nearer).await.ok();
    let useless = nowhere.run(&["--hub", &url, "config", "check"]).await;
    useless
        .code(2)
        .stderr_has("config check does not accept --hub");
}

#[tokio::test]
async fn a_hub_is_found_by_host_and_port_and_by_the_address_of_its_socket() {
    let hub = TestHub::start().await;
    let cli = Cli::at("");
    let addr = hub.addr().to_string();
    for named in [addr.clone(), format!("ws://{addr}/ws")] {
        cli.run(&["ls", "--hub", &named]).await.ok();
        cli.run_with("JACKFIELD_HUB", &named, &["ls"]).await.ok();
    }
}

#[tokio::test]
async fn an_agent_that_needs_credentials_is_told_from_one_that_waits_for_words() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    for (needs_auth, words) in [
        (true, "the agent needs you to sign in"),
        (false, "the agent waits for your answer"),
    ] {
        let run = cli.start(&["call", "bob", "x"]);
        agent.next_call().await.finish(End::Done(Box::new(Done {
            state: DoneState::InputRequired,
            needs_auth,
            ..Done::default()
        })));
        run.end().await.ok().stderr_has(words);
    }
}

#[tokio::test]
async fn a_slip_in_a_name_is_answered_with_what_may_be_meant() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _far = attach_agent(hub.hub(), "weather@wUpT3WyJGkoj");
    for verb in ["call", "show"] {
        let args = [verb, "weathr", "x"];
        let count = if verb == "call" { 3 } else { 2 };
        let run = cli.run(&args[..count]).await.code(3);
        run.stderr_has("perhaps \"weather@wUpT3WyJGkoj\" is meant");
    }
}

#[tokio::test]
async fn a_task_that_is_not_there_is_told_without_routes() {
    let hub = TestHub::start().await;
    let id = "0199c2f0-1111-7aaa-8bbb-123456789abc";
    let run = Cli::new(&hub).run(&["task", "show", id]).await.code(3);
    assert!(!run.err.contains("GET /"), "{run:?}");
    run.stderr_has("jackfield task ls");
}
