//! A connection in the middle of the tree is cut for a while, and the peer keeps sending.

use std::time::Duration;

use jackfield_testkit::FaultProxy;
use serde_json::json;

use crate::chains::{
    chain::{Chain, QUESTION},
    crew::AMEN,
    root::Root,
};

/// Duration of a laptop's change of network.
const LONG: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_secs(2);

/// Cuts a connection, and lets no new one through.
fn cut(line: &FaultProxy) {
    line.stall();
    line.cut();
}

/// Checks that the root receives the peer's whole answer when the selected connection is cut for
/// `length`.
async fn nothing_is_lost_or_doubled(which: fn(&Chain) -> &FaultProxy, length: Duration) {
    let mut chain = Chain::start().await;
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (_, mut speech) = chain.is_asked().await;
    speech.says("before\n").await;
    root.hears("before\n").await;
    cut(which(&chain));
    let mut said = String::new();
    for number in 0..100 {
        let piece = format!("{number} while it is cut\n");
        speech.says(&piece).await;
        said += &piece;
    }
    tokio::time::sleep(length).await;
    which(&chain).pass();
    for piece in ["after ", "that\n"] {
        speech.says(piece).await;
        said += piece;
    }
    speech.ends().await;
    chain.crew.may_end();
    root.hears_to_the_end(&(said + AMEN)).await;
    chain.hub.until_quiet().await;
    chain.works().await;
}

/// The agent's own connection is resumed. Its outgoing call is durable, since it may wait.
#[tokio::test]
async fn the_laptop_is_cut_off_for_ten_seconds_and_nothing_is_lost_or_doubled() {
    nothing_is_lost_or_doubled(|chain| &chain.laptop.line, LONG).await;
}

/// The hub subscribes to the server's task again.
#[tokio::test]
async fn the_server_is_cut_off_from_the_hub_and_nothing_is_lost_or_doubled() {
    nothing_is_lost_or_doubled(|chain| &chain.server.line, SHORT).await;
}

/// A handoff can't be resumed: the text so far has arrived, and every caller up to the root gets a failure.
#[tokio::test]
async fn a_peer_that_is_cut_off_fails_the_call_clearly_and_is_called_again_when_it_is_back() {
    let mut chain = Chain::start().await;
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (call, mut speech) = chain.is_asked().await;
    speech.says("before\n").await;
    root.hears("before\n").await;
    cut(&chain.guest.line);
    let (said, end) = root.rest().await;
    assert_eq!(said, "");
    assert_eq!(
        (&end["type"], &end["code"]),
        (&json!("error"), &json!("adapter_crash")),
        "the command on the laptop ends with what it was told: {end}"
    );
    let told = end["message"].as_str().unwrap();
    assert!(told.contains("disconnected before it finished"), "{end}");
    assert_eq!(chain.hub.call(&call).await["state"], "failed");
    speech.until_hung_up().await;
    chain.hub.until_quiet().await;
    chain.guest.line.pass();
    chain.hub.until_online(&[&chain.guest.id]).await;
    chain.works().await;
}
