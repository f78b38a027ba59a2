//! The ids of envelopes: UUIDs of version 4, several of them made of one number.

use uuid::{Builder, Uuid};

/// The id at one level of an event, 0 for the outermost envelope. The same event gives the same ids, and those of its
/// levels differ. They differ in the upper bits, so that whoever counts events in the lower ones gets no id twice.
pub(super) fn event_id(event_id: u128, level: usize) -> Uuid {
    const LEVEL_BITS: u32 = 96;
    // Levels are few; only those that no event has would meet again.
    let bits = event_id ^ ((level as u128) << LEVEL_BITS);
    Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
}
