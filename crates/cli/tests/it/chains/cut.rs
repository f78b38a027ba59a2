//! A connection in the middle of the tree is cut for a while, and the peer keeps sending.

use std::time::Duration;

use jackfield_testkit::FaultProxy;
use serde_json::json;

use crate::chains::{
    chain::{Chain, QUESTION},
    root::Root,
    team::CLOSING_TEXT,
};

/// Duration of a laptop's change of network.
const LONG: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_secs(2);

/// Cuts a connection, and lets no new one through.
fn cut(proxy: &FaultProxy) {
    proxy.stall();
    proxy.cut();
}

/// Checks that the root receives the peer's whole answer when the selected connection is cut for
/// `length`.
async fn nothing_is_lost_or_doubled(which: fn(&Chain) -> &FaultProxy, length: Duration) {
    let mut chain = Chain::start().await;
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (_, mut peer_answer) = chain.next_request().await;
    peer_answer.send("before\n").await;
    root.expect_piece("before\n").await;
    cut(which(&chain));
    let mut sent = String::new();
    for number in 0..100 {
        let piece = format!("{number} while it is cut\n");
        peer_answer.send(&piece).await;
        sent += &piece;
    }
    tokio::time::sleep(length).await;
    which(&chain).pass();
    for piece in ["after ", "that\n"] {
        peer_answer.send(piece).await;
        sent += piece;
    }
    peer_answer.ends().await;
    chain.team.may_end();
    root.expect_rest(&(sent + CLOSING_TEXT)).await;
    chain.hub.wait_until_idle().await;
    chain.check_call().await;
}

/// The agent's own connection is resumed. Its outgoing call is durable, since it may wait.
#[tokio::test]
async fn the_laptop_is_cut_off_for_ten_seconds_and_nothing_is_lost_or_doubled() {
    nothing_is_lost_or_doubled(|chain| &chain.laptop.proxy, LONG).await;
}

/// The hub subscribes to the server's task again.
#[tokio::test]
async fn the_server_is_cut_off_from_the_hub_and_nothing_is_lost_or_doubled() {
    nothing_is_lost_or_doubled(|chain| &chain.server.proxy, SHORT).await;
}

/// A handoff can't be resumed: the text so far has arrived, and every caller up to the root gets a failure.
#[tokio::test]
async fn a_peer_that_is_cut_off_fails_the_call_clearly_and_is_called_again_when_it_is_back() {
    let mut chain = Chain::start().await;
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (call, mut peer_answer) = chain.next_request().await;
    peer_answer.send("before\n").await;
    root.expect_piece("before\n").await;
    cut(&chain.peer.proxy);
    let (text, end) = root.rest().await;
    assert_eq!(text, "");
    assert_eq!(
        (&end["type"], &end["code"]),
        (&json!("error"), &json!("adapter_crash")),
        "the command on the laptop ends with what it was told: {end}"
    );
    let message = end["message"].as_str().unwrap();
    assert!(message.contains("disconnected before it finished"), "{end}");
    assert_eq!(chain.hub.call(&call).await["state"], "failed");
    peer_answer.until_hung_up().await;
    chain.hub.wait_until_idle().await;
    chain.peer.proxy.pass();
    chain.hub.until_online(&[&chain.peer.id]).await;
    chain.check_call().await;
}
