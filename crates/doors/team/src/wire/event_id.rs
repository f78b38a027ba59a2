//! The ids of envelopes: UUIDs of version 4, several of them made of one number.

/// The id of one envelope, ready to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventId([u8; 36]);

impl EventId {
    /// The id at one level of an event, 0 for the outermost envelope. The same event gives the same ids, and those of its
    /// levels differ. They differ in the upper bits, so that whoever counts events in the lower ones gets no id twice.
    pub(super) fn at(event_id: u128, level: usize) -> Self {
        const LEVEL_BITS: u32 = 96;
        const VERSION: u128 = 4 << 76;
        const VARIANT: u128 = 2 << 62;
        const FIXED: u128 = 0xf << 76 | 3 << 62;
        const HEX: &[u8; 16] = b"0123456789abcdef";
        // Levels are few; only those that no event has would meet again.
        let level = (level as u128) << LEVEL_BITS;
        let bits = (event_id ^ level) & !FIXED | VERSION | VARIANT;
        let mut text = [b'-'; 36];
        let mut at = 0;
        for byte in bits.to_be_bytes() {
            if matches!(at, 8 | 13 | 18 | 23) {
                at += 1;
            }
            text[at] = HEX[usize::from(byte >> 4)];
            text[at + 1] = HEX[usize::from(byte & 15)];
            at += 2;
        }
        EventId(text)
    }

    /// Its text.
    pub(super) fn as_str(&self) -> &str {
        // Only ASCII is in it.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}
