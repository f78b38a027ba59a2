//! [`Ring`]: the tail of a task's log in memory. The ring numbers items, merges adjacent text, forgets the oldest rows beyond its size, and returns rows from any position, cutting text where a cursor points into it.

use std::collections::VecDeque;

use jackfield_model::Event;
use jiff::Timestamp;

use crate::store::{LogItem, LogRow};

/// Largest merged text in the ring, so that cutting a row copies little.
const MERGED_MAX: usize = 4 << 10;

/// The tail of a task's log.
#[derive(Debug)]
pub(super) struct Ring {
    rows: VecDeque<LogRow>,
    bytes: usize,
    max: usize,
    end: u64,
}

impl Ring {
    pub(super) fn new(end: u64, max: usize) -> Self {
        Self {
            rows: VecDeque::new(),
            bytes: 0,
            max,
            end,
        }
    }

    /// One past the last position.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// First position in the ring.
    pub(super) fn start(&self) -> u64 {
        self.rows.front().map_or(self.end, |row| row.pos)
    }

    /// Numbers items written at the time `at`, keeps them, and returns the rows for the store.
    pub(super) fn number(
        &mut self,
        items: Vec<(LogItem, Option<u64>)>,
        at: Timestamp,
    ) -> Vec<LogRow> {
        let mut out = Vec::with_capacity(items.len());
        for (item, seq) in items {
            let row = LogRow {
                pos: self.end,
                seq,
                at,
                item,
            };
            self.end += row.item.advance();
            out.push(row.clone());
            self.keep(row);
        }
        while self.bytes > self.max && self.rows.len() > 1 {
            if let Some(row) = self.rows.pop_front() {
                self.bytes -= row.item.weight();
            }
        }
        out
    }

    fn keep(&mut self, row: LogRow) {
        if let (Some(last), LogItem::Event(Event::Chunk(next))) = (self.rows.back_mut(), &row.item)
            && let LogItem::Event(Event::Chunk(chunk)) = &mut last.item
            && chunk.can_merge(next)
            && !chunk.text.is_empty()
            && !next.text.is_empty()
            && chunk.text.len() + next.text.len() <= MERGED_MAX
        {
            chunk.text.push_str(&next.text);
            last.seq = row.seq.or(last.seq);
            self.bytes += next.text.len();
            return;
        }
        self.bytes += row.item.weight();
        self.rows.push_back(row);
    }

    /// Returns about `max` bytes of rows from a position on. Empty if the position is no longer, or not yet,
    /// in the ring.
    pub(super) fn read(&self, from: u64, max: usize) -> Vec<LogRow> {
        if from < self.start() {
            return Vec::new();
        }
        let first = self
            .rows
            .partition_point(|row| row.pos + row.item.advance() <= from);
        let mut out = Vec::new();
        let mut bytes = 0;
        for row in self.rows.iter().skip(first) {
            if bytes >= max {
                break;
            }
            bytes += row.item.weight();
            out.push(cut(row.clone(), from));
        }
        out
    }
}

/// Removes what lies before a position from a row: a cursor may point into merged text.
pub(super) fn cut(mut row: LogRow, from: u64) -> LogRow {
    if from <= row.pos {
        return row;
    }
    if let LogItem::Event(Event::Chunk(chunk)) = &mut row.item {
        let wanted = usize::try_from(from - row.pos)
            .unwrap_or(usize::MAX)
            .min(chunk.text.len());
        // Our cursors lie on characters; any other is moved back, so that nothing is lost.
        let at = (0..=wanted)
            .rev()
            .find(|at| chunk.text.is_char_boundary(*at))
            .unwrap_or(0);
        chunk.text.drain(..at);
        row.pos += at as u64;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackfield_model::Chunk;
    use proptest::prelude::*;

    fn text(text: &str) -> (LogItem, Option<u64>) {
        (LogItem::Event(Event::text(text)), None)
    }

    #[test]
    fn a_cursor_inside_merged_text_cuts_it() {
        let mut ring = Ring::new(0, 1 << 20);
        let (first, second) = (Timestamp::UNIX_EPOCH, Timestamp::now());
        ring.number(vec![text("héllo ")], first);
        ring.number(vec![text("world")], second);
        let rows = ring.read(7, 1000);
        assert_eq!(
            rows,
            [LogRow {
                pos: 7,
                seq: None,
                // Merged text has the time of its first piece.
                at: first,
                item: text("world").0
            }]
        );
        assert_eq!(
            ring.read(2, 1000)[0].pos,
            1,
            "a cursor inside a character is moved back"
        );
        assert!(ring.read(12, 1000).is_empty());
    }

    #[test]
    fn the_oldest_goes_first_when_it_is_full() {
        let mut ring = Ring::new(0, 500);
        for n in 0..20 {
            let said = Event::Chunk(Chunk::status(format!("{n:>100}")));
            ring.number(vec![(LogItem::Event(said), None)], Timestamp::UNIX_EPOCH);
        }
        assert!(ring.start() > 10 && ring.end() == 20);
        assert!(ring.read(0, 1000).is_empty());
        assert_eq!(
            ring.read(ring.start(), usize::MAX).len() as u64,
            ring.end() - ring.start()
        );
    }

    proptest! {
        #[test]
        fn from_any_cursor_on_it_reads_what_a_plain_list_would(
            chunks in proptest::collection::vec(("[a-zé]{0,40}", any::<bool>()), 1..60),
            start in 0u64..1000,
            seed in any::<u64>(),
        ) {
            let mut ring = Ring::new(start, 1 << 20);
            // The model: every byte of text and every other item at its own number.
            let mut model: Vec<(u64, String)> = Vec::new();
            for (words, is_status) in &chunks {
                let item = if *is_status { Event::Chunk(Chunk::status(words.clone())) } else { Event::text(words.clone()) };
                let pos = ring.end();
                if *is_status || words.is_empty() {
                    model.push((pos, format!("<{words}>")));
                } else {
                    model.extend(words.char_indices().map(|(at, c)| (pos + at as u64, c.to_string())));
                }
                ring.number(vec![(LogItem::Event(item), None)], Timestamp::UNIX_EPOCH);
            }
            let (from, _) = &model[usize::try_from(seed % model.len() as u64).unwrap()];
            let want: String = model.iter().filter(|(pos, _)| pos >= from).map(|(_, text)| text.as_str()).collect();
            let got: String = ring.read(*from, usize::MAX).into_iter().map(|row| match row.item {
                LogItem::Event(Event::Chunk(chunk)) if chunk.can_merge(&chunk) && !chunk.text.is_empty() => chunk.text,
                LogItem::Event(Event::Chunk(chunk)) => format!("<{}>", chunk.text),
                other => panic!("{other:?}"),
            }).collect();
            prop_assert_eq!(got, want);
        }
    }
}
