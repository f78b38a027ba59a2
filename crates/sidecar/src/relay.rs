//! A relay of the sidecar: once the agent was seen, a connection that is kept, so that a hub that is the relay makes it an
//! agent of its own, and a place there.

use std::sync::Arc;

use jackfield_peer::{
    Multiaddr,
    address::peer_of,
    node::{Node, ReservationState},
};
use tokio::sync::watch;

use super::standing::{Standing, until_seen};
use crate::endpoint::Sight;

/// Holds a place at a relay, and tells how it stands with it. Ends with the node.
pub(super) async fn hold(
    node: Node,
    relay: Multiaddr,
    index: usize,
    mut sight: watch::Receiver<Sight>,
    tell: Arc<watch::Sender<Standing>>,
) {
    if !until_seen(&mut sight).await {
        return;
    }
    if let Some(peer) = peer_of(&relay) {
        node.keep(peer);
    }
    // Whether it is an address of a relay was checked when the sidecar was opened.
    let Ok(place) = node.reserve(relay) else {
        return;
    };
    let mut states = place.watch();
    let mut losses = 0;
    loop {
        let state = states.borrow_and_update().clone();
        match state {
            ReservationState::Lost(_) => losses += 1,
            // The next loss is news.
            ReservationState::Held => losses = 1,
            // What is clear at once is told at once.
            ReservationState::Unreached(_) | ReservationState::NoRelay => losses = 2,
            ReservationState::Asking => {}
        }
        let is_first_try = losses == 1 && state != ReservationState::Held;
        // Being asked again is no news to whoever knows that it was lost. And a hub may refuse the first time, before it
        // has looked at the card by which it knows its guests.
        if state != ReservationState::Asking && !is_first_try {
            tell.send_if_modified(|standing| {
                let Some((_, had)) = standing.relays.get_mut(index) else {
                    return false;
                };
                let is_new = *had != state;
                *had = state;
                is_new
            });
        }
        if states.changed().await.is_err() {
            return;
        }
    }
}
