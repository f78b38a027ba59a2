//! The card of one agent, cut to a size that peers read at once. Pure. The sidecar shows such a card as its
//! own, the door shows it below `/agents/ID/card`.

use crate::wire::{MAX_WRITTEN_CARD, PeerCard};

/// Version of an agent that names none.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Hint where a peer finds the skills that did not fit into the card.
const HINT: &str = "ask for them by their names";

/// Writes the card of one agent, cut to the size that every peer reads.
pub fn fitting(card: &PeerCard) -> String {
    card.fit(MAX_WRITTEN_CARD, HINT)
}

/// Writes the card of an agent for a peer that may not call it.
pub fn closed_agent_card(name: &str) -> String {
    fitting(&PeerCard {
        name: name.to_owned(),
        version: VERSION.to_owned(),
        description: "It takes handoffs from allowed peers only.".to_owned(),
        ..PeerCard::default()
    })
}
