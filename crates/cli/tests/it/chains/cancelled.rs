//! Cancelling a call tree at its root cancels every call in it at once, each in its own protocol.

use rustix::process::Signal;

use crate::chains::{
    chain::{Chain, QUESTION},
    peer::PeerAnswer,
    root::Root,
    server::ContextHandling,
};

/// Checks the cancellation of all four: the laptop by the bridge's `cancel`, the server by `CancelTask`, the
/// coordinator by `cancel` with the team's viewers seeing an idle team, the peer by the end of its stream.
async fn check_all_cancelled(mut chain: Chain, peer_answer: PeerAnswer) {
    chain.laptop.until_cancelled().await;
    chain.server.is_cancelled().await;
    chain.team.until_stopped().await;
    peer_answer.until_hung_up().await;
    chain.team.wait_until_team_idle().await;
    chain.hub.wait_until_idle().await;
    // The cancelled tree leaves no calls behind.
    chain.check_call().await;
}

/// Starts a tree, and returns its root after the first piece.
async fn begun(chain: &mut Chain) -> (Root, PeerAnswer) {
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (_, mut peer_answer) = chain.next_request().await;
    peer_answer.send("one\n").await;
    root.expect_piece("one\n").await;
    (root, peer_answer)
}

#[tokio::test]
async fn a_cancel_at_the_root_is_told_to_everybody_and_leaves_nothing_open() {
    let mut chain = Chain::start().await;
    let (mut root, peer_answer) = begun(&mut chain).await;
    root.cancel(&chain.hub).await;
    check_all_cancelled(chain, peer_answer).await;
}

#[tokio::test]
async fn a_root_that_hangs_up_ends_everything_that_was_done_for_it() {
    let mut chain = Chain::start().await;
    let (root, peer_answer) = begun(&mut chain).await;
    drop(root);
    check_all_cancelled(chain, peer_answer).await;
}

#[tokio::test]
async fn ctrl_c_at_the_command_line_is_told_to_everybody() {
    let mut chain = Chain::start().await;
    let mut call = chain.hub.cli.start(&["call", "laptop", QUESTION]);
    let (_, mut peer_answer) = chain.next_request().await;
    peer_answer.send("one\n").await;
    assert_eq!(call.line().await.as_deref(), Some("one"));
    call.signal(Signal::INT);
    call.end().await.code(130);
    check_all_cancelled(chain, peer_answer).await;
}

/// The hub can't know the calls of a server that drops the call context, but the server can.
#[tokio::test]
async fn a_cancel_goes_on_through_a_server_that_only_cancels_what_it_began_itself() {
    let mut chain = Chain::with(ContextHandling::DropsContext).await;
    let (mut root, peer_answer) = begun(&mut chain).await;
    root.cancel(&chain.hub).await;
    check_all_cancelled(chain, peer_answer).await;
}
