//! State of a tool call: its segment receives input, approval may be requested, the tool runs, the tool
//! finishes.
//!
//! The state never moves back: viewers keep the state of a tool monotonic and ignore events that break the
//! order.

use std::sync::Arc;

use jackfield_model::Json;

use super::{RenderedStep, bounded_text::BoundedText};
use crate::team::event::{MemberEvent, SegmentKind, ToolInvocation};

/// Progress of a [`TrackedTool`] call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolPhase {
    /// The segment is open and receives input.
    Writing,
    /// Approval was requested and is pending.
    Asked,
    /// The tool runs.
    Running,
    /// The tool returned a result, failed or was denied.
    Over,
}

/// Reason for showing a [`TrackedTool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolOrigin {
    /// The agent reported the start of the tool.
    Begun,
    /// The agent requested approval before the start of the tool.
    AskedFirst,
    /// Placeholder without a real tool. Shows a question or status lines that belong to no tool.
    Stand,
}

/// Error message for a tool without a reported result. Whether the tool succeeded is unknown.
const UNREPORTED: &str = "the agent did not report a result";

/// Way to close a [`TrackedTool`] without a result.
#[derive(Debug, Clone, Copy)]
pub(super) enum ToolClosing<'a> {
    /// The agent is done, or started too many other tools.
    Unreported,
    /// The call ended for the given reason.
    Broken(&'a str),
}

/// Tool call.
#[derive(Debug)]
pub(super) struct TrackedTool {
    pub(super) of: ToolInvocation,
    /// Id assigned by the agent.
    pub(super) given: Option<Arc<str>>,
    pub(super) origin: ToolOrigin,
    pub(super) phase: ToolPhase,
    /// Whether the approval request contained the complete arguments. Later input then adds no information.
    pub(super) is_told_whole: bool,
    /// Input received while the segment is open.
    input: BoundedText,
    /// Arguments for the start of the tool, held while approval is pending.
    arguments: Option<Json>,
}

impl TrackedTool {
    pub(super) fn new(of: ToolInvocation, given: Option<Arc<str>>, origin: ToolOrigin) -> Self {
        Self {
            of,
            given,
            origin,
            phase: ToolPhase::Writing,
            is_told_whole: false,
            input: BoundedText::default(),
            arguments: None,
        }
    }

    /// Returns the number of bytes held for arguments.
    pub(super) fn weight(&self) -> usize {
        let arguments = self.arguments.as_ref().map_or(0, |json| json.get().len());
        self.input.len() + arguments
    }

    /// Appends input to the open segment. Shows the complete piece, but stores at most `room` bytes.
    pub(super) fn write(&mut self, piece: &str, room: usize, tell: &mut impl FnMut(RenderedStep)) {
        if piece.is_empty() {
            return;
        }
        self.input.add(piece, room);
        tell(RenderedStep::Event(MemberEvent::SegmentContent {
            id: self.of.id.clone(),
            kind: SegmentKind::ToolCall,
            delta: piece.to_owned(),
        }));
    }

    /// Ends the segment and starts the tool, if the segment is still open.
    pub(super) fn run(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        if self.phase == ToolPhase::Writing {
            let arguments = std::mem::take(&mut self.input).into_arguments();
            self.end_segment(arguments.clone(), tell);
            self.arguments = arguments;
            self.start(tell);
        }
    }

    /// Requests approval with the message `text`. `arguments` come from the question; `shown` replaces
    /// missing arguments.
    pub(super) fn ask(
        &mut self,
        arguments: Option<&Json>,
        shown: &Json,
        text: String,
        tell: &mut impl FnMut(RenderedStep),
    ) {
        let written = std::mem::take(&mut self.input).into_arguments();
        self.end_segment(written.clone().or_else(|| Some(shown.clone())), tell);
        self.is_told_whole = arguments.is_some();
        if self.origin != ToolOrigin::Stand {
            self.arguments = arguments.cloned().or(written);
        }
        self.phase = ToolPhase::Asked;
        tell(RenderedStep::Event(MemberEvent::ApprovalRequested {
            of: self.of.clone(),
            arguments: shown.clone(),
            text,
        }));
    }

    /// Marks the tool as approved, or the question as answered.
    pub(super) fn approve(&mut self, reason: Option<String>, tell: &mut impl FnMut(RenderedStep)) {
        self.phase = ToolPhase::Running;
        tell(RenderedStep::Event(MemberEvent::Approved {
            of: self.of.clone(),
            reason,
        }));
    }

    /// Marks the tool as denied.
    pub(super) fn deny(&mut self, reason: String, tell: &mut impl FnMut(RenderedStep)) {
        self.phase = ToolPhase::Over;
        self.arguments = None;
        tell(RenderedStep::Event(MemberEvent::Denied {
            of: self.of.clone(),
            reason,
        }));
    }

    /// Marks the tool as running.
    pub(super) fn start(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        self.phase = ToolPhase::Running;
        tell(RenderedStep::Event(MemberEvent::ToolStarted {
            of: self.of.clone(),
            arguments: self.arguments.take(),
        }));
    }

    /// Marks the tool as running because its result arrives. An unanswered approval request is obsolete.
    pub(super) fn come_back(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        match self.phase {
            ToolPhase::Writing => self.run(tell),
            ToolPhase::Asked => self.start(tell),
            ToolPhase::Running | ToolPhase::Over => {}
        }
    }

    /// Finishes the tool with a result.
    pub(super) fn succeed(&mut self, result: Option<Json>, tell: &mut impl FnMut(RenderedStep)) {
        self.phase = ToolPhase::Over;
        let of = self.of.clone();
        tell(RenderedStep::Event(MemberEvent::ToolSucceeded {
            of,
            result,
        }));
    }

    /// Finishes the tool with an error reported by the agent.
    pub(super) fn fail(&mut self, error: String, tell: &mut impl FnMut(RenderedStep)) {
        self.phase = ToolPhase::Over;
        let of = self.of.clone();
        tell(RenderedStep::Event(MemberEvent::ToolFailed { of, error }));
    }

    /// Closes the tool without a result.
    pub(super) fn close(&mut self, closing: ToolClosing<'_>, tell: &mut impl FnMut(RenderedStep)) {
        match (self.phase, closing) {
            (ToolPhase::Over, _) => {}
            (ToolPhase::Asked, ToolClosing::Unreported) => {
                self.deny("not answered".to_owned(), tell)
            }
            (ToolPhase::Asked, ToolClosing::Broken(why)) => self.deny(why.to_owned(), tell),
            (ToolPhase::Writing | ToolPhase::Running, ToolClosing::Unreported) => {
                self.run(tell);
                match self.origin {
                    // The question was answered, or all status lines were shown.
                    ToolOrigin::Stand => self.succeed(None, tell),
                    ToolOrigin::Begun | ToolOrigin::AskedFirst => {
                        self.fail(UNREPORTED.to_owned(), tell)
                    }
                }
            }
            (ToolPhase::Writing | ToolPhase::Running, ToolClosing::Broken(why)) => {
                self.run(tell);
                self.fail(why.to_owned(), tell);
            }
        }
    }

    fn end_segment(&self, arguments: Option<Json>, tell: &mut impl FnMut(RenderedStep)) {
        tell(RenderedStep::Event(MemberEvent::SegmentEnd {
            id: self.of.id.clone(),
            tool: Some(self.of.tool.clone()),
            arguments,
        }));
    }
}
