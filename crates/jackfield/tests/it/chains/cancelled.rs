//! Cancelling a call tree at its root cancels every call in it at once, each in its own protocol.

use rustix::process::Signal;

use crate::chains::{
    chain::{Chain, QUESTION},
    guest::Speech,
    root::Root,
    server::Manners,
};

/// Checks the cancellation of all four: the laptop by the bridge's `cancel`, the server by `CancelTask`, the
/// coordinator by `cancel` with the team's viewers seeing an idle team, the peer by the end of its stream.
async fn all_are_told(mut chain: Chain, speech: Speech) {
    chain.laptop.until_cancelled().await;
    chain.server.is_cancelled().await;
    chain.crew.until_stopped().await;
    speech.until_hung_up().await;
    chain.crew.shows_rest().await;
    chain.hub.until_quiet().await;
    // The cancelled tree leaves no calls behind.
    chain.works().await;
}

/// Starts a tree, and returns its root after the first piece.
async fn begun(chain: &mut Chain) -> (Root, Speech) {
    let mut root = Root::live(&chain.hub, QUESTION).await;
    let (_, mut speech) = chain.is_asked().await;
    speech.says("one\n").await;
    root.hears("one\n").await;
    (root, speech)
}

#[tokio::test]
async fn a_cancel_at_the_root_is_told_to_everybody_and_leaves_nothing_open() {
    let mut chain = Chain::start().await;
    let (mut root, speech) = begun(&mut chain).await;
    root.cancel(&chain.hub).await;
    all_are_told(chain, speech).await;
}

#[tokio::test]
async fn a_root_that_hangs_up_ends_everything_that_was_done_for_it() {
    let mut chain = Chain::start().await;
    let (root, speech) = begun(&mut chain).await;
    drop(root);
    all_are_told(chain, speech).await;
}

#[tokio::test]
async fn ctrl_c_at_the_command_line_is_told_to_everybody() {
    let mut chain = Chain::start().await;
    let mut call = chain.hub.cli.start(&["call", "laptop", QUESTION]);
    let (_, mut speech) = chain.is_asked().await;
    speech.says("one\n").await;
    assert_eq!(call.line().await.as_deref(), Some("one"));
    call.signal(Signal::INT);
    call.end().await.code(130);
    all_are_told(chain, speech).await;
}

/// The hub can't know the calls of a server that drops the call context, but the server can.
#[tokio::test]
async fn a_cancel_goes_on_through_a_server_that_only_cancels_what_it_began_itself() {
    let mut chain = Chain::with(Manners::Forgets).await;
    let (mut root, speech) = begun(&mut chain).await;
    root.cancel(&chain.hub).await;
    all_are_told(chain, speech).await;
}
