//! Tools of a call: finds the tool of a chunk, and assigns the ids shown to viewers. Bounded: the oldest
//! finished tools are dropped.

use std::{
    collections::VecDeque,
    ops::{Index, IndexMut},
    sync::Arc,
};

use jackfield_model::id::{MAX_NAME, MAX_PEER_ID};

use super::{
    RenderedStep,
    tool::{ToolClosing, ToolOrigin, ToolPhase, TrackedTool},
};
use crate::team::event::{MemberEvent, SegmentKind, ToolInvocation};

/// Maximum number of tracked tools per call. Each is small; the bytes of their arguments are limited
/// separately.
pub(super) const MAX_TOOLS: usize = 256;

/// Tools of a call. An index stays valid until the next [`TrackedTools::begin`].
#[derive(Debug)]
pub(super) struct TrackedTools {
    turn: Arc<str>,
    known: VecDeque<TrackedTool>,
    generated: u64,
    has_forgotten: bool,
}

impl TrackedTools {
    pub(super) fn new(turn: Arc<str>) -> Self {
        Self {
            turn,
            known: VecDeque::new(),
            generated: 0,
            has_forgotten: false,
        }
    }

    /// Starts a tool with a segment of its own. Uses `wanted` as the id if free.
    pub(super) fn begin(
        &mut self,
        wanted: Option<&str>,
        name: &str,
        origin: ToolOrigin,
        tell: &mut impl FnMut(RenderedStep),
    ) -> usize {
        self.make_room(tell);
        let of = ToolInvocation {
            id: self.free_id(wanted),
            tool: name[..name.floor_char_boundary(MAX_NAME)].into(),
        };
        tell(RenderedStep::Event(MemberEvent::SegmentStart {
            id: of.id.clone(),
            kind: SegmentKind::ToolCall,
            tool: Some(of.tool.clone()),
        }));
        let given = wanted.filter(|_| origin != ToolOrigin::Stand);
        let tool = TrackedTool::new(of, given.map(Arc::from), origin);
        self.known.push_back(tool);
        self.known.len() - 1
    }

    /// Finds a tool by the id assigned by the agent: the last unfinished tool, else the last tool.
    pub(super) fn find_by_agent_id(&self, given: &str) -> Option<usize> {
        let is_it = |tool: &TrackedTool| tool.given.as_deref() == Some(given);
        self.last(|tool| is_it(tool) && tool.phase != ToolPhase::Over)
            .or_else(|| self.last(is_it))
    }

    /// Finds the last unfinished tool, preferring tools named `name`.
    pub(super) fn open(&self, name: Option<&str>) -> Option<usize> {
        self.named(name, |tool| tool.phase != ToolPhase::Over)
    }

    /// Finds the last tool that still receives input, preferring tools named `name`.
    pub(super) fn written(&self, name: Option<&str>) -> Option<usize> {
        self.named(name, |tool| tool.phase == ToolPhase::Writing)
    }

    /// Finds the tool or placeholder shown under `id`.
    pub(super) fn find_shown(&self, id: &str) -> Option<usize> {
        self.last(|tool| &*tool.of.id == id)
    }

    /// Returns whether a question is unanswered.
    pub(super) fn is_any_asked(&self) -> bool {
        self.known.iter().any(|tool| tool.phase == ToolPhase::Asked)
    }

    /// Returns the number of bytes held for arguments by all tools.
    pub(super) fn weight(&self) -> usize {
        self.known.iter().map(TrackedTool::weight).sum()
    }

    /// Starts all tools that still receive input.
    pub(super) fn run_all(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        for tool in &mut self.known {
            tool.run(tell);
        }
    }

    /// Closes and drops all tools.
    pub(super) fn close_all(
        &mut self,
        closing: ToolClosing<'_>,
        tell: &mut impl FnMut(RenderedStep),
    ) {
        for mut tool in self.known.drain(..) {
            tool.close(closing, tell);
        }
    }

    fn named(&self, name: Option<&str>, is_meant: impl Fn(&TrackedTool) -> bool) -> Option<usize> {
        let is_meant = |tool: &TrackedTool| tool.origin != ToolOrigin::Stand && is_meant(tool);
        let of_name =
            name.and_then(|name| self.last(|tool| is_meant(tool) && &*tool.of.tool == name));
        of_name.or_else(|| self.last(is_meant))
    }

    fn last(&self, is_it: impl Fn(&TrackedTool) -> bool) -> Option<usize> {
        self.known.iter().rposition(is_it)
    }

    fn make_room(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        if self.known.len() < MAX_TOOLS {
            return;
        }
        let first = |is_it: fn(&TrackedTool) -> bool| self.known.iter().position(is_it);
        // Some agents never report results. In such a case, close the oldest running tool.
        let oldest = first(|tool| tool.phase == ToolPhase::Over)
            .or_else(|| first(|tool| tool.phase != ToolPhase::Asked))
            .unwrap_or(0);
        if let Some(mut tool) = self.known.remove(oldest) {
            tool.close(ToolClosing::Unreported, tell);
            self.has_forgotten = true;
        }
    }

    /// Returns an unused id: `wanted` if possible, else a generated id. Each id is used once. Ids with the
    /// prefix of the turn are reserved for generated ids. After a tool was dropped, the used ids of the agent
    /// are no longer known, and all ids are generated.
    fn free_id(&mut self, wanted: Option<&str>) -> Arc<str> {
        match wanted {
            Some(id)
                if !self.has_forgotten
                    && !id.starts_with(&*self.turn)
                    && self.find_shown(id).is_none() =>
            {
                id.into()
            }
            _ => {
                self.generated += 1;
                format!("{}:tool_{}", self.turn, self.generated).into()
            }
        }
    }
}

impl Index<usize> for TrackedTools {
    type Output = TrackedTool;
    fn index(&self, at: usize) -> &TrackedTool {
        &self.known[at]
    }
}

impl IndexMut<usize> for TrackedTools {
    fn index_mut(&mut self, at: usize) -> &mut TrackedTool {
        &mut self.known[at]
    }
}

/// Returns `id` if viewers can be shown the id. Treats blank and overlong ids as missing.
pub(super) fn usable(id: Option<&str>) -> Option<&str> {
    id.filter(|id| !id.trim().is_empty() && id.len() <= MAX_PEER_ID)
}

/// Trims `words`. Returns `None` for blank text.
pub(super) fn filled(words: Option<&str>) -> Option<&str> {
    words.map(str::trim).filter(|words| !words.is_empty())
}
