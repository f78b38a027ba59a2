//! The events that tell of output items: each has its number, and those that the reader has are left out.

use serde_json::Value;

use super::ItemList;
use crate::wire::{OutputItem, StreamEvent};

impl ItemList {
    /// Tells of a piece of text. The positions are those of [`ItemList::text`].
    pub(super) fn delta(
        &mut self,
        event: StreamEvent<'_>,
        index: usize,
        text: &str,
        pos: Option<u64>,
        end: u64,
    ) {
        let number = self.numbers.content(end);
        // What belongs to a single position may have several pieces, which have numbers before its last.
        let number = if pos.is_some() {
            number
        } else {
            self.numbers.next()
        };
        if !self.wants(number) {
            return;
        }
        let text = match pos {
            Some(pos) => self.numbers.unread(text, pos),
            None => text,
        };
        let event = StreamEvent {
            sequence_number: number,
            output_index: Some(index),
            item_id: Some(self.items[index].id()),
            delta: Some(text),
            ..event
        };
        self.frames.push_back(event.frame());
    }

    /// Tells that an item begins or ends.
    pub(super) fn item_event(&mut self, kind: &'static str, index: usize) {
        let number = self.numbers.next();
        if self.wants(number) {
            let event = StreamEvent {
                kind,
                sequence_number: number,
                output_index: Some(index),
                item: Some(&self.items[index]),
                ..StreamEvent::default()
            };
            self.frames.push_back(event.frame());
        }
    }

    /// Tells that the only part of an item begins or ends.
    pub(super) fn part_event(&mut self, kind: &'static str, index: usize, part: Value) {
        let event = StreamEvent {
            part: Some(part),
            ..StreamEvent::default()
        };
        self.inner_event(kind, index, event);
    }

    /// Tells the whole text of the only part of an item.
    pub(super) fn text_event(&mut self, kind: &'static str, index: usize, text: &str) {
        let is_answer = matches!(self.items[index], OutputItem::Message { .. });
        let event = StreamEvent {
            text: Some(text),
            logprobs: is_answer.then_some([]),
            ..StreamEvent::default()
        };
        self.inner_event(kind, index, event);
    }

    /// Tells of the only part of an item.
    fn inner_event(&mut self, kind: &'static str, index: usize, event: StreamEvent<'_>) {
        let number = self.numbers.next();
        if !self.wants(number) {
            return;
        }
        let item = &self.items[index];
        let is_answer = matches!(item, OutputItem::Message { .. });
        let event = StreamEvent {
            kind,
            sequence_number: number,
            output_index: Some(index),
            item_id: Some(item.id()),
            content_index: is_answer.then_some(0),
            summary_index: (!is_answer).then_some(0),
            ..event
        };
        self.frames.push_back(event.frame());
    }
}
