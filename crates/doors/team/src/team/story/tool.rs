//! State of a tool call: its segment receives input, approval may be requested, the tool runs, the tool
//! finishes.
//!
//! The state never moves back: viewers keep the state of a tool monotonic and ignore events that break the
//! order.

use std::sync::Arc;

use jackfield_model::Json;

use super::{Telling, joined::Joined};
use crate::team::event::{Invocation, MemberEvent, SegmentKind};

/// Progress of a [`Tool`] call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The segment is open and receives input.
    Writing,
    /// Approval was requested and is pending.
    Asked,
    /// The tool runs.
    Running,
    /// The tool returned a result, failed or was denied.
    Over,
}

/// Reason for showing a [`Tool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The agent reported the start of the tool.
    Begun,
    /// The agent requested approval before the start of the tool.
    AskedFirst,
    /// Placeholder without a real tool. Shows a question or status lines that belong to no tool.
    Stand,
}

/// Error message for a tool without a reported result. Whether the tool succeeded is unknown.
const UNREPORTED: &str = "the agent did not report a result";

/// Way to close a [`Tool`] without a result.
#[derive(Debug, Clone, Copy)]
pub(super) enum Closing<'a> {
    /// The agent is done, or started too many other tools.
    Unreported,
    /// The call ended for the given reason.
    Broken(&'a str),
}

/// Tool call.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) of: Invocation,
    /// Id assigned by the agent.
    pub(super) given: Option<Arc<str>>,
    pub(super) origin: Origin,
    pub(super) phase: Phase,
    /// Whether the approval request contained the complete arguments. Later input then adds no information.
    pub(super) is_told_whole: bool,
    /// Input received while the segment is open.
    input: Joined,
    /// Arguments for the start of the tool, held while approval is pending.
    arguments: Option<Json>,
}

impl Tool {
    pub(super) fn new(of: Invocation, given: Option<Arc<str>>, origin: Origin) -> Self {
        Self {
            of,
            given,
            origin,
            phase: Phase::Writing,
            is_told_whole: false,
            input: Joined::default(),
            arguments: None,
        }
    }

    /// Returns the number of bytes held for arguments.
    pub(super) fn weight(&self) -> usize {
        let arguments = self.arguments.as_ref().map_or(0, |json| json.get().len());
        self.input.len() + arguments
    }

    /// Appends input to the open segment. Shows the complete piece, but stores at most `room` bytes.
    pub(super) fn write(&mut self, piece: &str, room: usize, tell: &mut impl FnMut(Telling)) {
        if piece.is_empty() {
            return;
        }
        self.input.add(piece, room);
        tell(Telling::Event(MemberEvent::SegmentContent {
            id: self.of.id.clone(),
            kind: SegmentKind::ToolCall,
            delta: piece.to_owned(),
        }));
    }

    /// Ends the segment and starts the tool, if the segment is still open.
    pub(super) fn run(&mut self, tell: &mut impl FnMut(Telling)) {
        if self.phase == Phase::Writing {
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
        tell: &mut impl FnMut(Telling),
    ) {
        let written = std::mem::take(&mut self.input).into_arguments();
        self.end_segment(written.clone().or_else(|| Some(shown.clone())), tell);
        self.is_told_whole = arguments.is_some();
        if self.origin != Origin::Stand {
            self.arguments = arguments.cloned().or(written);
        }
        self.phase = Phase::Asked;
        tell(Telling::Event(MemberEvent::ApprovalRequested {
            of: self.of.clone(),
            arguments: shown.clone(),
            text,
        }));
    }

    /// Marks the tool as approved, or the question as answered.
    pub(super) fn approve(&mut self, reason: Option<String>, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Running;
        tell(Telling::Event(MemberEvent::Approved {
            of: self.of.clone(),
            reason,
        }));
    }

    /// Marks the tool as denied.
    pub(super) fn deny(&mut self, reason: String, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Over;
        self.arguments = None;
        tell(Telling::Event(MemberEvent::Denied {
            of: self.of.clone(),
            reason,
        }));
    }

    /// Marks the tool as running.
    pub(super) fn start(&mut self, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Running;
        tell(Telling::Event(MemberEvent::ToolStarted {
            of: self.of.clone(),
            arguments: self.arguments.take(),
        }));
    }

    /// Marks the tool as running because its result arrives. An unanswered approval request is obsolete.
    pub(super) fn come_back(&mut self, tell: &mut impl FnMut(Telling)) {
        match self.phase {
            Phase::Writing => self.run(tell),
            Phase::Asked => self.start(tell),
            Phase::Running | Phase::Over => {}
        }
    }

    /// Finishes the tool with a result.
    pub(super) fn succeed(&mut self, result: Option<Json>, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Over;
        let of = self.of.clone();
        tell(Telling::Event(MemberEvent::ToolSucceeded { of, result }));
    }

    /// Finishes the tool with an error reported by the agent.
    pub(super) fn fail(&mut self, error: String, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Over;
        let of = self.of.clone();
        tell(Telling::Event(MemberEvent::ToolFailed { of, error }));
    }

    /// Closes the tool without a result.
    pub(super) fn close(&mut self, closing: Closing<'_>, tell: &mut impl FnMut(Telling)) {
        match (self.phase, closing) {
            (Phase::Over, _) => {}
            (Phase::Asked, Closing::Unreported) => self.deny("not answered".to_owned(), tell),
            (Phase::Asked, Closing::Broken(why)) => self.deny(why.to_owned(), tell),
            (Phase::Writing | Phase::Running, Closing::Unreported) => {
                self.run(tell);
                match self.origin {
                    // The question was answered, or all status lines were shown.
                    Origin::Stand => self.succeed(None, tell),
                    Origin::Begun | Origin::AskedFirst => self.fail(UNREPORTED.to_owned(), tell),
                }
            }
            (Phase::Writing | Phase::Running, Closing::Broken(why)) => {
                self.run(tell);
                self.fail(why.to_owned(), tell);
            }
        }
    }

    fn end_segment(&self, arguments: Option<Json>, tell: &mut impl FnMut(Telling)) {
        tell(Telling::Event(MemberEvent::SegmentEnd {
            id: self.of.id.clone(),
            tool: Some(self.of.tool.clone()),
            arguments,
        }));
    }
}
