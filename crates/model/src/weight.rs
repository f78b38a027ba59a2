//! Weights: the memory that model values take, in bytes. Queues, budgets and limits count weights.

use crate::{Json, Part};

/// Weight of an event, an input or an end besides its text: about its own size in memory.
pub const ITEM_OVERHEAD: usize = 64;

pub(crate) fn text_weight(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

pub(crate) fn json_weight(json: &Option<Json>) -> usize {
    json.as_ref().map_or(0, |json| json.get().len())
}

/// Sums the weights of `parts`. The holder of the list counts the overhead of the first part; each further
/// part costs [`ITEM_OVERHEAD`], even if it is empty.
pub(crate) fn parts_weight(parts: &[Part]) -> usize {
    let own: usize = parts.iter().map(Part::weight).sum();
    own + ITEM_OVERHEAD * parts.len().saturating_sub(1)
}
