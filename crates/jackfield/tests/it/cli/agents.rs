//! `ls`, `show`, `share`, `rm`.

use jackfield_testkit::{FakeAgent, TestHub};
use serde_json::json;

use crate::run::Cli;

#[tokio::test]
async fn an_empty_hub_says_how_to_attach_somebody() {
    let hub = TestHub::start().await;
    let run = Cli::new(&hub).run(&["ls"]).await.ok();
    assert_eq!(run.out, "");
    run.says("/ws").says("ws://127.0.0.1");
}

#[tokio::test]
async fn who_may_see_no_agent_is_not_told_that_there_is_none() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _agent = FakeAgent::attach(hub.hub(), "bob");
    let ann = hub.token("ann", &[]).await;
    let run = cli.run_with("JACKFIELD_TOKEN", &ann, &["ls"]).await.ok();
    assert!(!run.err.contains("there are no agents"), "{run:?}");
    let run = run.says("ann has no agent, and none is shared with ann");
    run.says("jackfield share AGENT --with ann");
}

#[tokio::test]
async fn ls_writes_plain_lines_to_a_pipe() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = hub.connect().await;
    agent
        .send(json!({"type": "register", "id": "bob", "name": "Bob\tthe \u{1b}[31mbuilder", "capabilities": ["build", "fix"]}))
        .await;
    agent.frame().await;
    let gone = FakeAgent::attach(hub.hub(), "ann");
    drop(gone);
    let run = cli.run(&["ls"]).await.ok();
    assert_eq!(
        run.out,
        "ann\tann\tlocal\toffline\t\t0\tlocal\nbob\tBob the  [31mbuilder\tagora\tonline\tbuild, fix\t0\tlocal\n"
    );
    let run = cli.run(&["ls", "--online", "--skill", "fix"]).await.ok();
    assert_eq!(run.out.lines().count(), 1);
    let none = cli.run(&["ls", "--skill", "fly"]).await.ok();
    assert_eq!(none.out, "");
    none.says("jackfield ls");
}

#[tokio::test]
async fn ls_and_show_speak_json() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _agent = hub.agora("bob").await;
    let list = cli.run(&["ls", "--json"]).await.ok().json();
    assert_eq!(list["agents"][0]["id"], "bob");
    let one = cli.run(&["show", "bob", "--json"]).await.ok().json();
    assert_eq!(one["state"], "online");
    assert_eq!(one["share"], "nobody");
}

#[tokio::test]
async fn show_tells_what_passes_when_one_agent_calls_another() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let (_ann, _bob) = (hub.agora("ann").await, hub.bridge("bob").await);
    let run = cli.run(&["show", "--calls", "bob", "ann"]).await.ok();
    let run = run.says("bob (bridge) calls ann (agora)");
    let asks = "question of the agent\tconverted\ta status chunk; the agent waits";
    assert!(run.out.contains(asks), "{}", run.out);
    let told = cli
        .run(&["show", "--calls", "ann", "ann", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(told["called"], json!({"id": "ann", "protocol": "agora"}));
    let rows = told["rows"].as_array().unwrap();
    let timeout = rows.iter().find(|row| row["what"] == "timeout").unwrap();
    assert_eq!(timeout["passes"], "unsupported", "{timeout}");
    let run = cli.run(&["show", "--calls", "ann", "nobody"]).await;
    assert_eq!(run.code, 3);
    let run = cli.run(&["show", "bob", "--calls", "ann", "bob"]).await;
    assert_eq!(run.code, 2);
}

#[tokio::test]
async fn show_tells_all_of_an_agent() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _agent = hub.agora("bob").await;
    let run = cli.run(&["show", "bob"]).await.ok();
    for line in [
        "id\tbob",
        "protocol\tagora",
        "owner\tlocal",
        "shared\twith nobody",
    ] {
        assert!(run.out.lines().any(|had| had == line), "{line:?}: {run:?}");
    }
    cli.run(&["show", "nobody"])
        .await
        .code(3)
        .says("jackfield ls");
    cli.run(&["show", "not/an/id"]).await.code(2);
}

#[tokio::test]
async fn an_agent_is_shared_with_some_with_all_and_with_none() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _agent = FakeAgent::attach(hub.hub(), "bob");
    let shared = cli
        .run(&["share", "bob", "--with", "ann", "--with", "eve"])
        .await
        .ok();
    assert_eq!(shared.out, "id\tbob\nshared\twith ann, eve\n");
    let shared = shared.says("no token has the owner ann");
    hub.token("ann", &[]).await;
    let again = cli.run(&["share", "bob", "--with", "ann"]).await.ok();
    assert!(!again.err.contains("warning"), "{again:?}");
    let again = ["share", "bob", "--with", "ann", "--with", "eve"];
    cli.run(&again)
        .await
        .ok()
        .says("no token has the owner eve");
    let asked = cli.run(&["share", "bob"]).await.ok();
    assert_eq!(asked.out, shared.out);
    let all = cli
        .run(&["share", "bob", "--everyone", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(all["share"], "everyone");
    let none = cli.run(&["share", "bob", "--nobody"]).await.ok();
    assert_eq!(none.out, "id\tbob\nshared\twith nobody\n");
    cli.run(&["share", "bob", "--nobody", "--everyone"])
        .await
        .code(2);
    cli.run(&["share", "bob", "--with", "no owner"])
        .await
        .code(2);
    for (owner, flag) in [("everyone", "--everyone"), ("nobody", "--nobody")] {
        let run = cli.run(&["share", "bob", "--with", owner]).await.code(2);
        run.says(flag);
        let shown = cli.run(&["share", "bob"]).await.ok();
        assert_eq!(shown.out, none.out);
    }
    cli.run(&["share", "ghost", "--nobody"]).await.code(3);
}

#[tokio::test]
async fn a_forgotten_agent_is_gone() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    drop(FakeAgent::attach(hub.hub(), "bob"));
    drop(FakeAgent::attach(hub.hub(), "eve"));
    cli.run(&["rm", "bob"]).await.ok().says("bob is removed");
    let told = cli.run(&["rm", "eve", "--yes", "--json"]).await.ok().json();
    assert_eq!(told, json!({"id": "eve", "forgotten": true}));
    cli.run(&["show", "bob"]).await.code(3);
    cli.run(&["rm", "bob"]).await.code(3);
}
