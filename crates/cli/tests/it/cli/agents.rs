//! `ls`, `show`, `share`, `rm`.

use jackfield_testkit::{TestHub, attach_agent};
use serde_json::json;

use crate::run::Cli;

#[tokio::test]
async fn an_empty_hub_says_how_to_attach_somebody() {
    let hub = TestHub::start().await;
    let run = Cli::new(&hub).run(&["ls"]).await.ok();
    assert_eq!(run.out, "");
    run.stderr_has("/ws").stderr_has("ws://127.0.0.1");
}

#[tokio::test]
async fn who_may_see_no_agent_is_not_told_that_there_is_none() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _agent = attach_agent(hub.hub(), "bob");
    let ann = hub.token("ann", &[]).await;
    let run = cli.run_with("JACKFIELD_TOKEN", &ann, &["ls"]).await.ok();
    assert!(!run.err.contains("there are no agents"), "{run:?}");
    let run = run.stderr_has("ann has no agent, and none is shared with ann");
    run.stderr_has("jackfield share AGENT --with ann");
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
    let gone = attach_agent(hub.hub(), "ann");
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
    none.stderr_has("jackfield ls");
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
    let run = run.stderr_has("bob (bridge) calls ann (agora)");
    let asks = "question of the agent\tconverted\ta status chunk; the agent waits";
    assert!(run.out.contains(asks), "{}", run.out);
    let removed = cli
        .run(&["show", "--calls", "ann", "ann", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(removed["called"], json!({"id": "ann", "protocol": "agora"}));
    let rows = removed["rows"].as_array().unwrap();
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
        .stderr_has("jackfield ls");
    cli.run(&["show", "not/an/id"]).await.code(2);
}

#[tokio::test]
async fn an_agent_is_shared_with_some_with_all_and_with_none() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _agent = attach_agent(hub.hub(), "bob");
    let shared = cli
        .run(&["share", "bob", "--with", "ann", "--with", "eve"])
        .await
        .ok();
    assert_eq!(shared.out, "id\tbob\nshared\twith ann, eve\n");
    let shared = shared.stderr_has("no token has the owner ann");
    hub.token("ann", &[]).await;
    let again = cli.run(&["share", "bob", "--with", "ann"]).await.ok();
    assert!(!again.err.contains("warning"), "{again:?}");
    let again = ["share", "bob", "--with", "ann", "--with", "eve"];
    cli.run(&again)
        .await
        .ok()
        .stderr_has("no token has the owner eve");
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
        run.stderr_has(flag);
        let shown = cli.run(&["share", "bob"]).await.ok();
        assert_eq!(shown.out, none.out);
    }
    cli.run(&["share", "ghost", "--nobody"]).await.code(3);
}

#[tokio::test]
async fn a_forgotten_agent_is_gone() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    drop(attach_agent(hub.hub(), "bob"));
    drop(attach_agent(hub.hub(), "eve"));
    cli.run(&["rm", "bob"])
        .await
        .ok()
        .stderr_has("bob is removed");
    let removed = cli.run(&["rm", "eve", "--yes", "--json"]).await.ok().json();
    assert_eq!(removed, json!({"id": "eve", "forgotten": true}));
    cli.run(&["show", "bob"]).await.code(3);
    cli.run(&["rm", "bob"]).await.code(3);
}
