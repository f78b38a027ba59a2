//! Agents that call others through their MCP server: the parent call is known and enforced.

use jackfield_testkit::TestHub;
use serde_json::json;

use super::{begun_by_agents, bring, call_of, say, says, text, until_rest, watched_crew};
use crate::run::Cli;

/// Starts a detached call, and returns its id.
async fn detached(cli: &Cli, agent: &str, words: &str) -> String {
    let output = cli.run(&["call", agent, words, "--detach"]).await.ok();
    output.out.trim().to_owned()
}

#[tokio::test]
async fn a_call_that_an_agent_makes_shows_the_calls_for_which_it_is_made() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut cas = hub.bridge("cas").await;
    let _amy = bring(&cli, "amy", &["claude"]).await;
    let _bob = bring(&cli, "bob", &["claude"]).await;
    // Both agents have other open calls, so the caller alone doesn't determine the parent call.
    let mut waiting = Vec::new();
    for agent in ["amy", "bob"] {
        detached(&cli, agent, "call cas wait").await;
        waiting.push(cas.expect_message("wait").await);
    }
    let first = detached(&cli, "amy", "call bob call cas hello").await;
    let request = cas.expect_message("hello").await;
    let at_cas = call_of(&hub, &request).await;
    let at_bob = call_of(&hub, text(&at_cas["parent"])).await;
    let at_amy = call_of(&hub, text(&at_bob["parent"])).await;
    let agents = [&at_cas, &at_bob, &at_amy].map(|call| text(&call["agent"]));
    assert_eq!(agents, ["cas", "bob", "amy"]);
    let callers = [&at_cas, &at_bob, &at_amy].map(|call| text(&call["caller"]));
    assert_eq!(callers, ["bob", "amy", "local"]);
    assert_eq!((text(&at_amy["id"]), at_amy.get("parent")), (&*first, None));
    let show = ["task", "show", text(&at_cas["id"])];
    let shown = cli.run(&show).await.ok().out;
    for call in [&at_bob, &at_amy] {
        let line = format!("{}, call {}", text(&call["agent"]), text(&call["call"]));
        assert!(shown.contains(&line), "{line:?} is not in {shown}");
    }
    for request in waiting.iter().chain([&request]) {
        says(&mut cas, request, "good day").await;
    }
    let answer = cli.run(&["task", "wait", &first]).await.ok();
    assert_eq!(answer.out.trim(), "bob says cas says good day");
}

#[tokio::test]
async fn a_command_that_calls_others_with_this_program_does_so_for_its_call() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut cas = hub.bridge("cas").await;
    let program = env!("CARGO_BIN_EXE_jackfield");
    let _amy = bring(&cli, "amy", &["exec", program, "call", "cas", "{prompt}"]).await;
    let first = detached(&cli, "amy", "hello").await;
    let request = cas.expect_message("hello").await;
    let at_cas = call_of(&hub, &request).await;
    let call = &call_of(&hub, &first).await["call"];
    assert_eq!(at_cas["parent"], *call, "{at_cas}");
    says(&mut cas, &request, "good day").await;
    let answer = cli.run(&["task", "wait", &first]).await.ok();
    assert_eq!(answer.out.trim(), "good day");
}

#[tokio::test]
async fn a_member_that_another_one_calls_is_shown_by_the_team() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = bring(&cli, "amy", &["claude"]).await;
    let _bob = bring(&cli, "bob", &["claude"]).await;
    let mut viewer = watched_crew(&hub, &["amy", "bob"]).await;
    say(&mut viewer, "amy", "call bob hello").await;
    let shown = until_rest(&mut viewer).await;
    let of = |wanted: &str, member: &str| {
        let mut found = shown
            .iter()
            .filter(|(kind, payload)| kind == wanted && payload["agent_name"] == member);
        let (_, payload) = found.next().unwrap_or_else(|| panic!("{shown:?}"));
        payload["content"].as_str().unwrap().trim().to_owned()
    };
    assert_eq!(of("INTER_AGENT_MESSAGE", "bob"), "hello");
    assert_eq!(of("ASSISTANT_COMPLETE", "bob"), "you said hello");
    assert_eq!(of("ASSISTANT_COMPLETE", "amy"), "bob says you said hello");
}

#[tokio::test]
async fn a_cancelled_call_cancels_what_was_called_for_it() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut cas = hub.bridge("cas").await;
    let _amy = bring(&cli, "amy", &["claude"]).await;
    let _bob = bring(&cli, "bob", &["claude"]).await;
    let first = detached(&cli, "amy", "call bob call cas hello").await;
    let request = cas.expect_message("hello").await;
    let at_cas = call_of(&hub, &request).await;
    let at_bob = call_of(&hub, text(&at_cas["parent"])).await;
    cli.run(&["task", "cancel", &first]).await.ok();
    let frame = cas.frame().await;
    assert_eq!(
        (&frame["type"], &frame["request_id"]),
        (&json!("cancel"), &json!(request)),
        "{frame}"
    );
    for call in [&at_bob, &at_cas] {
        let wait = ["task", "wait", text(&call["id"])];
        cli.run(&wait).await.code(7);
    }
}

#[tokio::test]
async fn two_agents_that_call_each_other_for_ever_are_cut_off() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = bring(&cli, "amy", &["claude"]).await;
    let _bob = bring(&cli, "bob", &["claude"]).await;
    let output = cli.run(&["call", "amy", "circle bob amy"]).await.ok();
    let begin = "bob says amy says bob says refused: loop: agent amy occurs 2 times";
    assert!(output.out.starts_with(begin), "{output:?}");
    assert!(
        output.out.contains("answer with what you have"),
        "{output:?}"
    );
    let agents: Vec<_> = begun_by_agents(&hub).await;
    let agents: Vec<_> = agents.iter().map(|task| &task["agent"]).collect();
    assert_eq!(agents, ["bob", "amy", "bob"]);
}
