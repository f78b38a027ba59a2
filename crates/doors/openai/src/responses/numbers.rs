//! Sequence numbers of the events of a response. They are computed from positions in the task's log, so that a reader
//! that comes back gets the same numbers, even if the log has merged rows of text meanwhile.
//!
//! Each position has [`SLOTS`] numbers. The events before the content of a row (items that begin and end) have the first
//! numbers of the row's position. The content itself has the last number before the position after the row. A piece of
//! text that is a longer one by now is cut where the reader has stopped.

/// Numbers per position. Few events belong to one row; those beyond share the last number.
const SLOTS: u64 = 64;

/// Numbers the events of a response.
#[derive(Debug)]
pub(crate) struct SequenceNumbers {
    /// First position of the response.
    start: u64,
    /// Position of the current row.
    pos: u64,
    slot: u64,
    /// Number of the last event that the reader has.
    after: Option<u64>,
}

impl SequenceNumbers {
    pub(crate) fn new(start: u64, after: Option<u64>) -> Self {
        Self {
            start,
            pos: start,
            slot: 0,
            after,
        }
    }

    /// Begins a row.
    pub(crate) fn begin_row(&mut self, pos: u64) {
        // The events that begin the response stand before its first row.
        if pos != self.start {
            self.slot = 0;
        }
        self.pos = pos;
    }

    /// Returns the number of an event before the content of the row.
    pub(crate) fn next(&mut self) -> u64 {
        let slot = self.slot.min(SLOTS - 2);
        self.slot += 1;
        self.pos.saturating_mul(SLOTS).saturating_add(slot)
    }

    /// Returns the number of the content of a row that ends at `end`, and of what follows it.
    pub(crate) fn content(&self, end: u64) -> u64 {
        end.saturating_mul(SLOTS) - 1
    }

    /// Returns whether the reader lacks an event.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        self.after.is_none_or(|after| number > after)
    }

    /// Returns whether an event is the last one that the reader has.
    pub(crate) fn is_last_known(&self, number: u64) -> bool {
        self.after == Some(number)
    }

    /// Returns the part of a row's text that the reader lacks. The row begins at `pos`, and each byte is a position.
    pub(crate) fn unread<'a>(&self, text: &'a str, pos: u64) -> &'a str {
        let Some(after) = self.after else {
            return text;
        };
        let reached = (after.saturating_add(1)) / SLOTS;
        let had = usize::try_from(reached.saturating_sub(pos)).unwrap_or(usize::MAX);
        &text[text.floor_char_boundary(had.min(text.len()))..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_from_zero_and_stay_the_same_when_rows_are_merged() {
        // A message of one position, then text of 3 and of 4 bytes.
        let mut live = SequenceNumbers::new(0, None);
        let begun = [live.next(), live.next()];
        live.begin_row(1);
        let opened = [live.next(), live.next()];
        let first = live.content(4);
        live.begin_row(4);
        let second = live.content(8);
        live.begin_row(8);
        let closed = live.next();
        let end = live.content(9);
        let all = [
            begun[0], begun[1], opened[0], opened[1], first, second, closed, end,
        ];
        assert_eq!(all[..2], [0, 1]);
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        // The same text as one row, for a reader that has had the first piece.
        let mut again = SequenceNumbers::new(0, Some(first));
        again.begin_row(1);
        assert!(!again.is_new(again.pos * SLOTS));
        assert!(again.is_new(again.content(8)));
        assert_eq!(again.unread("onetwo!", 1), "two!");
        let opening = SequenceNumbers::new(0, Some(opened[1]));
        assert_eq!(opening.unread("onetwo!", 1), "onetwo!");
    }

    #[test]
    fn a_row_with_many_events_keeps_to_its_numbers() {
        let mut numbers = SequenceNumbers::new(0, None);
        numbers.begin_row(3);
        let last = (0..1000).map(|_| numbers.next()).last().unwrap();
        assert!(last < numbers.content(4));
    }
}
