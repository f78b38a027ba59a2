//! How much memory a noun takes, in bytes: what queues, budgets and limits count.

use crate::{Json, Part};

/// What an event, an input or an end weighs besides its text: about its own size in memory.
pub const ITEM_OVERHEAD: usize = 64;

pub(crate) fn text_weight(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

pub(crate) fn json_weight(json: &Option<Json>) -> usize {
    json.as_ref().map_or(0, |json| json.get().len())
}

/// Sums the weights of `parts`. The overhead of the first part is counted by whatever holds the list; each further part
/// costs memory, even if it is empty.
pub(crate) fn parts_weight(parts: &[Part]) -> usize {
    let own: usize = parts.iter().map(Part::weight).sum();
    own + ITEM_OVERHEAD * parts.len().saturating_sub(1)
}
