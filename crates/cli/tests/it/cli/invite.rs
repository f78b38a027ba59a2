//! `invite`: the command line that connects an agent on another machine.

use jackfield_testkit::TestHub;

use crate::run::Cli;

#[tokio::test]
async fn an_invite_is_one_line_to_copy_and_what_it_is_good_for_is_said_beside_it() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let made = cli.run(&["invite", "amy"]).await.ok();
    let line = made.out.trim_end_matches('\n').to_owned();
    let url = line.strip_prefix("jackfield connect --setup ");
    let url = url.and_then(|rest| rest.strip_suffix(" claude"));
    let url = url.unwrap_or_else(|| panic!("{line}"));
    assert!(url.starts_with(&hub.url("/invite/")), "{url}");
    let made = made.stderr_has(&format!("agent-mesh connect --setup {url}"));
    made.stderr_has("15 minutes").stderr_has("public_url");
    let made = cli
        .run(&["invite", "amy", "--type", "exec", "--json"])
        .await;
    let made = made.ok().json();
    let command = made["command"].as_str().unwrap();
    assert!(command.ends_with(" exec COMMAND"), "{command}");
    assert_eq!(made["owner"], "local");
    assert!(
        made["bridge_command"].is_null(),
        "that client starts no commands"
    );
}

#[tokio::test]
async fn an_invite_for_what_is_no_agent_is_refused() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    cli.run(&["invite", "a/b"]).await.code(2);
    cli.run(&["invite", "amy", "--type", "ghost"]).await.code(2);
    let nowhere = cli.at_hub("http://127.0.0.1:1");
    nowhere.run(&["invite", "amy"]).await.code(3);
}

#[tokio::test]
async fn what_has_to_be_put_into_the_line_is_said_and_costs_no_invite_if_forgotten() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    for (kind, word) in [("exec", "COMMAND"), ("acp", "COMMAND"), ("openai", "URL")] {
        let made = cli.run(&["invite", "amy", "--type", kind]).await.ok();
        let line = made.out.trim_end().to_owned();
        made.stderr_has(&format!("replace {word} "));
        // Pasted unchanged.
        let words: Vec<_> = line.split(' ').skip(1).collect();
        let run = cli.run(&words).await.code(2);
        run.stderr_has(&format!("{word} is a placeholder"));
        let url = words[2].strip_prefix(&hub.url("")).expect("its URL");
        let (status, _) = hub.web().get(url).await;
        assert_eq!(status, 200, "the invite still works");
    }
}

#[tokio::test]
async fn a_hub_that_does_not_know_its_address_is_told_how_to() {
    let hub = TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().unwrap()).await;
    let cli = Cli::new(&hub);
    let token = hub.token("ann", &["admin"]).await;
    let run = cli.run_with("JACKFIELD_TOKEN", &token, &["invite", "amy"]);
    let run = run.await.code(1).stderr_has("does not know its address");
    let run = run.stderr_has("jackfield serve --public-url URL");
    assert!(!run.err.contains("jackfield show"), "{run:?}");
}

#[tokio::test]
async fn an_invite_says_whose_the_agent_will_be_and_an_admin_chooses() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let made = cli.run(&["invite", "ann-new"]).await.ok();
    made.stderr_has("Owner of ann-new: local")
        .stderr_has("--owner NAME");
    let args = ["invite", "ann-new", "--owner", "ann"];
    let made = cli.run(&args).await.ok();
    let url = made.out.split(' ').nth(3).expect("its URL").to_owned();
    let made = made.stderr_has("Owner of ann-new: ann");
    assert!(!made.err.contains("--owner"), "{made:?}");
    let path = url.strip_prefix(&hub.url("")).expect("its path");
    let (status, setup) = hub.web().get(path).await;
    assert_eq!(status, 200, "{setup}");
    let tokens = hub.hub().tokens().list();
    let owners: Vec<_> = tokens.iter().map(|token| token.owner.as_str()).collect();
    assert_eq!(owners, ["ann"]);
    // A user without admin rights can invite for themselves only.
    let bob = hub.token("bob", &["agent:*"]).await;
    let refused = cli.run_with("JACKFIELD_TOKEN", &bob, &args).await.code(4);
    refused.stderr_has("admin");
    let own = cli.run_with(
        "JACKFIELD_TOKEN",
        &bob,
        &["invite", "bobs", "--owner", "bob"],
    );
    own.await.ok();
    // An existing agent belongs to its owner.
    let _bobs = hub.bridge_of(&bob, "bobs").await;
    let taken = cli.run(&["invite", "bobs", "--owner", "ann"]).await;
    taken.code(1).stderr_has("bobs belongs to bob");
    cli.run(&["invite", "bobs"])
        .await
        .ok()
        .stderr_has("Owner of bobs: bob");
}
