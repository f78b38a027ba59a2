//! The peer's answer reaches the root piece by piece, and the tree is visible at the hub.

use serde_json::Value;

use crate::chains::{
    chain::{Chain, QUESTION},
    hub::Hub,
    root::Root,
    server::ContextHandling,
    team::{CLOSING_TEXT, TEAM},
};

/// Returns a call and its parent calls, up to the topmost known call.
async fn ancestors_of(hub: &Hub, call: &str) -> Vec<Value> {
    let mut ancestors = vec![hub.call(call).await];
    while let Some(parent) = ancestors.last().and_then(|call| call["parent"].as_str()) {
        ancestors.push(hub.call(parent).await);
    }
    ancestors
}

fn of<'a>(ancestors: &'a [Value], key: &str) -> Vec<&'a str> {
    let values = ancestors.iter().map(|call| call[key].as_str());
    values.map(Option::unwrap_or_default).collect()
}

#[tokio::test]
async fn what_the_peer_says_comes_to_the_root_piece_by_piece_while_it_speaks() {
    let mut chain = Chain::start().await;
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (call, mut peer_answer) = chain.next_request().await;
    for piece in ["one ", "two\n", "three — dréi ", "\"four\"\n"] {
        peer_answer.send(piece).await;
        root.expect_piece(piece).await;
        let shown_text = chain.team.next_event("SEGMENT_CONTENT", "guest").await;
        assert_eq!(shown_text["delta"], piece);
    }

    let ancestors = ancestors_of(&chain.hub, &call).await;
    assert_eq!(of(&ancestors, "agent"), [TEAM, "server", "laptop"]);
    let shown_text = chain.hub.cli.run(&["show", &call]).await.ok().out;
    for above in &ancestors[1..] {
        // A task's id differs from the id of its first call; a live call has no task.
        let call = above["call"].as_str().or(above["id"].as_str());
        let agent = above["agent"].as_str();
        let above = format!("{}, call {}", agent.unwrap(), call.unwrap());
        assert!(
            shown_text.contains(&above),
            "{above:?} is not in {shown_text}"
        );
    }

    peer_answer.ends().await;
    chain.team.may_end();
    root.expect_rest(CLOSING_TEXT).await;
    let complete = chain.team.next_event("ASSISTANT_COMPLETE", "lead").await;
    let whole = format!("one two\nthree — dréi \"four\"\n{CLOSING_TEXT}");
    assert_eq!(complete["content"], whole);
    chain.team.wait_until_team_idle().await;
    chain.hub.wait_until_idle().await;
}

#[tokio::test]
async fn the_command_line_is_a_root_like_any_other() {
    let mut chain = Chain::start().await;
    let mut call = chain.hub.cli.start(&["call", "laptop", QUESTION]);
    let (_, mut peer_answer) = chain.next_request().await;
    for line in ["one", "two"] {
        peer_answer.send(&format!("{line}\n")).await;
        assert_eq!(call.line().await.as_deref(), Some(line));
    }
    peer_answer.ends().await;
    chain.team.may_end();
    assert_eq!(call.end().await.ok().out, CLOSING_TEXT);
}

/// The server's call has no parent then; everything else still holds.
#[tokio::test]
async fn a_server_that_does_not_pass_on_for_which_call_it_calls_ends_the_line_of_parents() {
    let mut chain = Chain::with(ContextHandling::DropsContext).await;
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (call, mut peer_answer) = chain.next_request().await;
    peer_answer.send("one\n").await;
    root.expect_piece("one\n").await;
    let ancestors = ancestors_of(&chain.hub, &call).await;
    assert_eq!(of(&ancestors, "agent"), [TEAM]);
    peer_answer.ends().await;
    chain.team.may_end();
    root.expect_rest(CLOSING_TEXT).await;
}
