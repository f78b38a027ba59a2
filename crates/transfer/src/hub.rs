//! The hub's part of a transfer: [`Transfers`] knows whose a transfer is, [`ArchiveRelays`] connects the two parties of
//! an archive that passes through the hub. Signals and HTTP routes belong to the door that offers them.

mod pipe;
mod registry;
mod relays;

pub use self::{
    pipe::{ArchiveReceiver, ArchiveSender, pipe},
    registry::{Toward, Transfer, Transfers, not_yours},
    relays::{AgentSide, ArchiveRelays, TicketWait},
};
