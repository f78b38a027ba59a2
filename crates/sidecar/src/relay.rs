//! A relay of the sidecar. Once the agent's card was fetched, the sidecar holds a reservation there and keeps
//! the connection; a hub that is the relay makes the agent one of its own.

use std::sync::Arc;

use jackfield_peer::{
    Multiaddr,
    address::peer_of,
    node::{Node, ReservationState},
};
use tokio::sync::watch;

use super::status::{SidecarStatus, until_seen};
use crate::endpoint::EndpointState;

/// Holds a reservation at a relay, and reports its state. Ends with the node.
pub(super) async fn hold(
    node: Node,
    relay: Multiaddr,
    index: usize,
    mut sight: watch::Receiver<EndpointState>,
    tell: Arc<watch::Sender<SidecarStatus>>,
) {
    if !until_seen(&mut sight).await {
        return;
    }
    if let Some(peer) = peer_of(&relay) {
        node.keep(peer);
    }
    // The address was checked when the sidecar started.
    let Ok(place) = node.reserve(relay) else {
        return;
    };
    let mut states = place.watch();
    let mut losses = 0;
    loop {
        let state = states.borrow_and_update().clone();
        match state {
            ReservationState::Lost(_) => losses += 1,
            // The next loss is reported.
            ReservationState::Held => losses = 1,
            // These states are certain, and reported at once.
            ReservationState::Unreached(_) | ReservationState::NoRelay => losses = 2,
            ReservationState::Asking => {}
        }
        let is_first_try = losses == 1 && state != ReservationState::Held;
        // Asking again after a loss is not reported. Neither is the first refusal: a hub may refuse before it
        // has read the peer's card.
        if state != ReservationState::Asking && !is_first_try {
            tell.send_if_modified(|status| {
                let Some((_, had)) = status.relays.get_mut(index) else {
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
