//! Editing of single fields in a JSON text, leaving all other bytes unchanged.

use std::ops::Range;

use serde_json::value::RawValue;

use jackfield_wire::json::RawMembers;

/// Insert position of new fields in their object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertAt {
    First,
    Last,
}

/// Edits of a JSON text, applied together by [`Splice::finish`].
#[derive(Debug)]
pub(super) struct Splice<'a> {
    whole: &'a str,
    /// Byte ranges with their replacements.
    edits: Vec<(Range<usize>, String)>,
}

impl<'a> Splice<'a> {
    /// Starts editing `whole`, without edits.
    pub(super) fn of(whole: &'a RawValue) -> Self {
        Splice {
            whole: whole.get(),
            edits: Vec::new(),
        }
    }

    /// Sets fields of `object`, a part of the whole text. Values are JSON. Existing fields are replaced in
    /// place.
    pub(super) fn set(&mut self, object: &'a RawValue, fields: &[(&str, String)], end: InsertAt) {
        let members = RawMembers::of(object).unwrap_or_default();
        let mut added = String::new();
        for (name, value) in fields {
            let before = self.edits.len();
            for member in members.iter().filter(|member| member.name == *name) {
                let range = self.range_of(member.value.get());
                self.edits.push((range, value.clone()));
            }
            if self.edits.len() == before {
                if !added.is_empty() {
                    added.push(',');
                }
                added.push('"');
                added.push_str(name);
                added.push_str("\":");
                added.push_str(value);
            }
        }
        if added.is_empty() {
            return;
        }
        let Range { start, end: stop } = self.range_of(object.get());
        let has_members = members.iter().next().is_some();
        let at = match end {
            InsertAt::First => {
                if has_members {
                    added.push(',');
                }
                start + 1
            }
            InsertAt::Last => {
                if has_members {
                    added.insert(0, ',');
                }
                stop - 1
            }
        };
        self.edits.push((at..at, added));
    }

    /// Returns the edited text.
    pub(super) fn finish(mut self) -> String {
        self.edits.sort_by_key(|(range, _)| range.start);
        let added = self.edits.iter().map(|(_, text)| text.len());
        let mut out = String::with_capacity(self.whole.len() + added.sum::<usize>());
        let mut kept_to = 0;
        for (range, text) in &self.edits {
            out.push_str(&self.whole[kept_to..range.start]);
            out.push_str(text);
            kept_to = range.end;
        }
        out.push_str(&self.whole[kept_to..]);
        out
    }

    /// Returns the byte range of `part` in the whole text. `part` borrows from the whole, so its address
    /// gives the range.
    fn range_of(&self, part: &str) -> Range<usize> {
        let start = part.as_ptr().addr() - self.whole.as_ptr().addr();
        start..start + part.len()
    }
}
