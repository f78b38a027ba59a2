//! One call of a tool, as it is told: its segment is written, leave may be asked for, it runs, it is over.
//! It never goes back, since viewers keep a tool's state monotonic and ignore what would.

use std::sync::Arc;

use jackfield_model::Json;

use super::{Telling, joined::Joined};
use crate::team::event::{Invocation, MemberEvent, SegmentKind};

/// How far a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its segment is open.
    Writing,
    /// Leave to use it was asked for and not yet given.
    Asked,
    /// It runs.
    Running,
    /// It gave something, failed, or was denied.
    Over,
}

/// Why it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The agent began it.
    Begun,
    /// The agent asked for leave before it began it.
    AskedFirst,
    /// It is no tool: it only shows a question, or status lines, that belong to none.
    Stand,
}

/// What is said of a tool whose agent is done and never told its result. Nobody knows whether it succeeded.
const UNREPORTED: &str = "the agent did not report a result";

/// How a tool ends that gave nothing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Closing<'a> {
    /// The agent is done, or began too many others.
    Unreported,
    /// With the call, for this reason.
    Broken(&'a str),
}

/// One call of a tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) of: Invocation,
    /// What the agent calls it.
    pub(super) given: Option<Arc<str>>,
    pub(super) origin: Origin,
    pub(super) phase: Phase,
    /// Whether the ask said what it is called with, so that later input is no news.
    pub(super) is_told_whole: bool,
    /// Its input, while it is written.
    input: Joined,
    /// What it is to be called with, while leave is asked for.
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

    /// How many bytes of arguments it holds.
    pub(super) fn weight(&self) -> usize {
        let arguments = self.arguments.as_ref().map_or(0, |json| json.get().len());
        self.input.len() + arguments
    }

    /// A piece of its input, while it is written. Told whole; `room` is for what is kept of it.
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

    /// It runs, if it was still written.
    pub(super) fn run(&mut self, tell: &mut impl FnMut(Telling)) {
        if self.phase == Phase::Writing {
            let arguments = std::mem::take(&mut self.input).into_arguments();
            self.end_segment(arguments.clone(), tell);
            self.arguments = arguments;
            self.start(tell);
        }
    }

    /// Leave is asked for, in the words of `text`: `arguments` are what the ask says, `shown` what stands there if it
    /// says nothing.
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

    /// Leave is given, or the question answered.
    pub(super) fn approve(&mut self, reason: Option<String>, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Running;
        tell(Telling::Event(MemberEvent::Approved {
            of: self.of.clone(),
            reason,
        }));
    }

    /// Leave is not given.
    pub(super) fn deny(&mut self, reason: String, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Over;
        self.arguments = None;
        tell(Telling::Event(MemberEvent::Denied {
            of: self.of.clone(),
            reason,
        }));
    }

    /// Says that it runs.
    pub(super) fn start(&mut self, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Running;
        tell(Telling::Event(MemberEvent::ToolStarted {
            of: self.of.clone(),
            arguments: self.arguments.take(),
        }));
    }

    /// Its result comes, so it runs; an ask that nobody answered is moot.
    pub(super) fn come_back(&mut self, tell: &mut impl FnMut(Telling)) {
        match self.phase {
            Phase::Writing => self.run(tell),
            Phase::Asked => self.start(tell),
            Phase::Running | Phase::Over => {}
        }
    }

    /// It gave something.
    pub(super) fn succeed(&mut self, result: Option<Json>, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Over;
        let of = self.of.clone();
        tell(Telling::Event(MemberEvent::ToolSucceeded { of, result }));
    }

    /// It failed, and said so.
    pub(super) fn fail(&mut self, error: String, tell: &mut impl FnMut(Telling)) {
        self.phase = Phase::Over;
        let of = self.of.clone();
        tell(Telling::Event(MemberEvent::ToolFailed { of, error }));
    }

    /// Nothing more will come of it.
    pub(super) fn close(&mut self, closing: Closing<'_>, tell: &mut impl FnMut(Telling)) {
        match (self.phase, closing) {
            (Phase::Over, _) => {}
            (Phase::Asked, Closing::Unreported) => self.deny("not answered".to_owned(), tell),
            (Phase::Asked, Closing::Broken(why)) => self.deny(why.to_owned(), tell),
            (Phase::Writing | Phase::Running, Closing::Unreported) => {
                self.run(tell);
                match self.origin {
                    // It was answered, or said all there was to say.
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
