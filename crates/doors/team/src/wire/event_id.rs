//! Ids of envelopes: UUIDs of version 4, several derived from a single number.

use uuid::{Builder, Uuid};

/// Returns the id of a level of an event; level 0 is the outermost envelope. The same event yields the same
/// ids. Levels differ in the upper bits, so counting events in the lower bits yields no duplicates.
pub(super) fn event_id(event_id: u128, level: usize) -> Uuid {
    const LEVEL_BITS: u32 = 96;
    // Levels are few. Only unused levels could collide.
    let bits = event_id ^ ((level as u128) << LEVEL_BITS);
    Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
}
