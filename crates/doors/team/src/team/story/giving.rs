//! What a tool gives, joined piece by piece until it is whole: its result, or why it failed.

use std::sync::Arc;

use super::{Telling, joined::Joined, tool::Tool, tools::filled};

/// What the result of a tool that failed begins with. No protocol of agents has a field for it; those that have the
/// agents' own word for it write this before the text.
const FAILED: &str = "[error] ";

/// A result that is being joined.
#[derive(Debug)]
pub(super) struct Giving {
    /// The id of its tool.
    pub(super) id: Arc<str>,
    /// Whether the agent says by id whose result it is; what comes without is then no more of it.
    pub(super) is_by_id: bool,
    joined: Joined,
}

impl Giving {
    pub(super) fn new(id: Arc<str>, is_by_id: bool) -> Self {
        Self {
            id,
            is_by_id,
            joined: Joined::default(),
        }
    }

    /// A piece of it; no more than `max` bytes are held.
    pub(super) fn add(&mut self, piece: &str, max: usize) {
        self.joined
            .add(piece, max.saturating_sub(self.joined.len()));
    }

    /// It is whole: its tool is over.
    pub(super) fn end(self, tool: &mut Tool, tell: &mut impl FnMut(Telling)) {
        if !self.joined.starts_with(FAILED) {
            tool.succeed(self.joined.into_result(), tell);
            return;
        }
        let text = self.joined.into_text();
        let why = filled(text.strip_prefix(FAILED)).unwrap_or("it does not say why");
        tool.fail(why.to_owned(), tell);
    }
}
