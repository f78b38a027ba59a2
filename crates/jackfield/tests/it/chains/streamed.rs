//! The peer's answer reaches the root piece by piece, and the tree is visible at the hub.

use serde_json::Value;

use crate::chains::{
    chain::{Chain, QUESTION},
    crew::{AMEN, TEAM},
    hub::Hub,
    root::Root,
    server::Manners,
};

/// Returns a call and its parent calls, up to the topmost known call.
async fn line_of(hub: &Hub, call: &str) -> Vec<Value> {
    let mut line = vec![hub.call(call).await];
    while let Some(parent) = line.last().and_then(|call| call["parent"].as_str()) {
        line.push(hub.call(parent).await);
    }
    line
}

fn of<'a>(line: &'a [Value], key: &str) -> Vec<&'a str> {
    let values = line.iter().map(|call| call[key].as_str());
    values.map(Option::unwrap_or_default).collect()
}

#[tokio::test]
async fn what_the_peer_says_comes_to_the_root_piece_by_piece_while_it_speaks() {
    let mut chain = Chain::start().await;
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (call, mut speech) = chain.is_asked().await;
    for piece in ["one ", "two\n", "three — dréi ", "\"four\"\n"] {
        speech.says(piece).await;
        root.hears(piece).await;
        let shown = chain.crew.shows("SEGMENT_CONTENT", "guest").await;
        assert_eq!(shown["delta"], piece);
    }

    let line = line_of(&chain.hub, &call).await;
    assert_eq!(of(&line, "agent"), [TEAM, "server", "laptop"]);
    let shown = chain.hub.cli.run(&["show", &call]).await.ok().out;
    for above in &line[1..] {
        // A task's id differs from the id of its first call; a live call has no task.
        let call = above["call"].as_str().or(above["id"].as_str());
        let agent = above["agent"].as_str();
        let above = format!("{}, call {}", agent.unwrap(), call.unwrap());
        assert!(shown.contains(&above), "{above:?} is not in {shown}");
    }

    speech.ends().await;
    chain.crew.may_end();
    root.hears_to_the_end(AMEN).await;
    let said = chain.crew.shows("ASSISTANT_COMPLETE", "lead").await;
    let whole = format!("one two\nthree — dréi \"four\"\n{AMEN}");
    assert_eq!(said["content"], whole);
    chain.crew.shows_rest().await;
    chain.hub.until_quiet().await;
}

#[tokio::test]
async fn the_command_line_is_a_root_like_any_other() {
    let mut chain = Chain::start().await;
    let mut call = chain.hub.cli.start(&["call", "laptop", QUESTION]);
    let (_, mut speech) = chain.is_asked().await;
    for line in ["one", "two"] {
        speech.says(&format!("{line}\n")).await;
        assert_eq!(call.line().await.as_deref(), Some(line));
    }
    speech.ends().await;
    chain.crew.may_end();
    assert_eq!(call.end().await.ok().out, AMEN);
}

/// The server's call has no parent then; everything else still holds.
#[tokio::test]
async fn a_server_that_does_not_pass_on_for_which_call_it_calls_ends_the_line_of_parents() {
    let mut chain = Chain::with(Manners::Forgets).await;
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (call, mut speech) = chain.is_asked().await;
    speech.says("one\n").await;
    root.hears("one\n").await;
    let line = line_of(&chain.hub, &call).await;
    assert_eq!(of(&line, "agent"), [TEAM]);
    speech.ends().await;
    chain.crew.may_end();
    root.hears_to_the_end(AMEN).await;
}
