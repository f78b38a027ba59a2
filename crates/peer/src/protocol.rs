//! The names of the protocols as libp2p negotiates them. Callers open streams by them, `serve_peers` accepts them.

use libp2p::StreamProtocol;

use crate::wire::{PROTOCOL_CARD, PROTOCOL_HANDOFF, PROTOCOL_HANDOFF_STREAM};

/// The protocol of cards.
pub const CARD: StreamProtocol = StreamProtocol::new(PROTOCOL_CARD);
/// The protocol of handoffs.
pub const HANDOFF: StreamProtocol = StreamProtocol::new(PROTOCOL_HANDOFF);
/// The protocol of handoffs that are answered in frames.
pub const HANDOFF_STREAM: StreamProtocol = StreamProtocol::new(PROTOCOL_HANDOFF_STREAM);
