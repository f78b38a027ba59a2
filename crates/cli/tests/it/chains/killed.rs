//! The hub is killed in the middle of a tree, and restarted with the same data and address (docs/promises.md,
//! Restarts).
//!
//! - Calls of agents that support resuming continue: the laptop's work for the root, the coordinator's for the server.
//! - The hub finds its task at the A2A server again.
//! - The call at the peer fails: it can't be resumed, and no message is ever sent twice.

use serde_json::json;

use crate::chains::{
    chain::{Chain, QUESTION},
    root::Root,
    team::CLOSING_TEXT,
};

#[tokio::test]
async fn a_root_whose_hub_is_killed_is_told_clearly_and_the_next_call_works() {
    let mut chain = Chain::start().await;
    let mut root = Root::durable(&chain.hub, QUESTION).await;
    let (_, mut peer_answer) = chain.next_request().await;
    peer_answer.send("one\n").await;
    root.expect_piece("one\n").await;
    let mut chain = chain.kill_hub().await;
    let mut root = root.resume(&chain.hub).await;
    let (text, end) = root.rest().await;
    assert_eq!(text, "one\n");
    assert_eq!(
        (&end["type"], &end["code"]),
        (&json!("error"), &json!("adapter_crash")),
        "the command on the laptop ends with what it was told: {end}"
    );
    assert!(
        end["message"]
            .as_str()
            .unwrap()
            .contains("does not know (all of) this call any more"),
        "what the coordinator heard of the peer comes up to the root: {end}"
    );
    peer_answer.until_hung_up().await;
    let (state, text) = chain.server.ended().await;
    assert_eq!((&*state, &*text), ("TASK_STATE_FAILED", "one\n"));
    chain.hub.wait_until_idle().await;
    chain.check_call().await;
}

/// The peer is done: only the coordinator's closing text is missing.
#[tokio::test]
async fn all_that_is_left_of_the_tree_goes_on_after_the_kill_up_to_the_root() {
    let mut chain = Chain::start().await;
    let mut root = Root::durable(&chain.hub, QUESTION).await;
    let (_, mut peer_answer) = chain.next_request().await;
    peer_answer.send("one\n").await;
    root.expect_piece("one\n").await;
    peer_answer.send("two\n").await;
    root.expect_piece("two\n").await;
    peer_answer.ends().await;
    let mut chain = chain.kill_hub().await;
    chain.team.may_end();
    let (state, text) = chain.server.ended().await;
    assert_eq!(
        (&*state, text),
        ("TASK_STATE_COMPLETED", format!("one\ntwo\n{CLOSING_TEXT}"))
    );
    let (text, end) = root.resume(&chain.hub).await.rest().await;
    assert_eq!(
        (text, &end["type"]),
        (format!("one\ntwo\n{CLOSING_TEXT}"), &json!("done")),
        "{end}"
    );
    chain.hub.wait_until_idle().await;
    chain.check_call().await;
}
