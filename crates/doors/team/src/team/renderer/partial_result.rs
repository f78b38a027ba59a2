//! Result of a tool, collected in pieces: the output or the error message.

use std::sync::Arc;

use super::{RenderedStep, bounded_text::BoundedText, tool::TrackedTool, tools::filled};

/// Prefix of a failed tool's result. No agent protocol has a field for tool failures; adapters whose agents
/// report failures write the prefix before the text.
const FAILED: &str = "[error] ";

/// Partial result of a [`TrackedTool`].
#[derive(Debug)]
pub(super) struct PartialResult {
    /// Id of the tool call.
    pub(super) id: Arc<str>,
    /// Whether the agent names the tool call in each piece. If so, pieces without an id do not belong to the
    /// result.
    pub(super) is_by_id: bool,
    joined: BoundedText,
}

impl PartialResult {
    pub(super) fn new(id: Arc<str>, is_by_id: bool) -> Self {
        Self {
            id,
            is_by_id,
            joined: BoundedText::default(),
        }
    }

    /// Appends a piece. Holds at most `max` bytes.
    pub(super) fn add(&mut self, piece: &str, max: usize) {
        self.joined
            .add(piece, max.saturating_sub(self.joined.len()));
    }

    /// Finishes the tool with the collected result.
    pub(super) fn end(self, tool: &mut TrackedTool, tell: &mut impl FnMut(RenderedStep)) {
        if !self.joined.starts_with(FAILED) {
            tool.succeed(self.joined.into_result(), tell);
            return;
        }
        let text = self.joined.into_text();
        let why = filled(text.strip_prefix(FAILED)).unwrap_or("it does not say why");
        tool.fail(why.to_owned(), tell);
    }
}
