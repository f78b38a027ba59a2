//! One request on its way to an agent, with its two pipes, and its two ends: [`Serving`] is the agent's, [`Asking`]
//! the caller's. `Call::finish` is the only way a call ends, and it ends once.

mod asks;

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use self::asks::Asks;
use crate::{
    bell::{Bell, Rope},
    chain::Chain,
    clock::{Clock, Stage},
    entry::Entry,
    event::{Ask, End, Event, Input, Message},
    failure::{Failure, Reason},
    gate::Gate,
    id::{AgentId, CallId, RequestId, SessionId, TaskId},
    pipe::{Item, Levels, Pipe, Pushed},
    principal::Principal,
    shared::Shared,
    tap::Sight,
};

/// Who reads a call's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    /// The caller's socket; losing it cancels the call.
    Live,
    /// A task, which writes it down; only a cancel, a clock or the agent ends it.
    Kept,
}

/// One request on its way to an agent.
#[derive(Debug)]
pub struct Call {
    /// The hub's id of it.
    pub id: CallId,
    /// Who calls.
    pub principal: Principal,
    /// The door the caller came through.
    pub door: &'static str,
    /// Who is called.
    pub target: AgentId,
    /// The conversation, as the caller names it.
    pub session: SessionId,
    /// The conversation, as the agent sees it.
    pub agent_session: SessionId,
    /// The request, as the agent sees it.
    pub request: RequestId,
    /// What the caller says.
    pub message: Message,
    /// Whether more of the message follows in the input pipe.
    pub streamed: bool,
    /// Who reads the reply.
    pub life: Life,
    /// The task it belongs to, if kept.
    pub task: Option<TaskId>,
    /// Through which agents it came.
    pub chain: Chain,
    /// The caller's trace, passed on.
    pub traceparent: Option<String>,
    pub(crate) input: Pipe<Input, ()>,
    pub(crate) reply: Pipe<Event, End>,
    pub(crate) clock: Mutex<Clock>,
    /// Something happened since the sweeper last looked; saves reading a clock per chunk.
    pub(crate) touched: AtomicBool,
    /// How many asks of this call and of its descendants are open.
    pub(crate) suspended: AtomicU32,
    pub(crate) asks: Mutex<Asks>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) made: Instant,
    /// The caller's own id of the request, which the agent may know by another.
    pub(crate) wanted: Option<RequestId>,
    parent: Option<Weak<Call>>,
    /// The calls that named this one as their parent; nothing once it was cancelled or has failed, and they with it.
    children: Mutex<Option<Vec<Weak<Call>>>>,
    turn: AtomicU64,
    answered: AtomicBool,
    ended: AtomicBool,
}

/// What makes a call besides its pipes; the hub fills it in.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) id: CallId,
    pub(crate) principal: Principal,
    pub(crate) door: &'static str,
    pub(crate) session: SessionId,
    pub(crate) agent_session: SessionId,
    pub(crate) request: RequestId,
    pub(crate) wanted: Option<RequestId>,
    pub(crate) message: Message,
    pub(crate) streamed: bool,
    pub(crate) life: Life,
    pub(crate) task: Option<TaskId>,
    pub(crate) chain: Chain,
    pub(crate) traceparent: Option<String>,
    pub(crate) parent: Option<Arc<Call>>,
    pub(crate) clock: Clock,
}

impl Call {
    pub(crate) fn new(draft: Draft, entry: Arc<Entry>, shared: Arc<Shared>) -> Arc<Self> {
        let levels = Levels::from(&shared.limits);
        Arc::new(Self {
            id: draft.id,
            principal: draft.principal,
            door: draft.door,
            target: entry.id.clone(),
            session: draft.session,
            agent_session: draft.agent_session,
            request: draft.request,
            message: draft.message,
            streamed: draft.streamed,
            life: draft.life,
            task: draft.task,
            chain: draft.chain,
            traceparent: draft.traceparent,
            input: Pipe::new(levels, shared.budget.clone()),
            reply: Pipe::new(levels, shared.budget.clone()),
            clock: Mutex::new(draft.clock),
            touched: AtomicBool::new(false),
            suspended: AtomicU32::new(0),
            asks: Mutex::default(),
            entry,
            shared,
            made: Instant::now(),
            wanted: draft.wanted,
            parent: draft.parent.as_ref().map(Arc::downgrade),
            children: Mutex::new(Some(Vec::new())),
            turn: AtomicU64::new(0),
            answered: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        })
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Whether the agent has it.
    pub(crate) fn is_sent(&self) -> bool {
        self.clock.lock().stage == Stage::Sent
    }

    /// The call that it was made for, if known.
    pub fn parent(&self) -> Option<Arc<Call>> {
        self.parent.as_ref().and_then(Weak::upgrade)
    }

    /// A sign of life of the agent's line that is no event, such as a heartbeat.
    pub fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    /// Ends the call; only the first end counts. `tell_agent` sends the agent a cancel, for ends that it did not make.
    pub(crate) fn finish(self: &Arc<Self>, end: End, tell_agent: bool) -> bool {
        if self.ended.swap(true, Ordering::AcqRel) {
            return false;
        }
        let discard = match &end {
            End::Done(_) => false,
            End::Cancelled => true,
            End::Failed(failure) => failure.reason == Reason::SlowReader,
        };
        let spreads = !matches!(end, End::Done(_));
        let agent_door = self.entry.door();
        self.shared.metrics.call_ended(
            self.door,
            agent_door,
            self.life,
            end.label(),
            self.made.elapsed(),
        );
        if self.shared.taps.are_watched() {
            self.shared.taps.see(
                &self.target,
                self.entry.owner(),
                Some(self.id),
                Sight::Ended(end.clone()),
            );
        }
        self.close_asks();
        self.input.end((), true);
        self.reply.end(end, discard);
        self.shared.calls.lock().remove(&self.id);
        self.entry.release(self, tell_agent);
        if spreads {
            let children = self.children.lock().take();
            for child in children.into_iter().flatten() {
                if let Some(child) = child.upgrade() {
                    child.finish(End::Cancelled, true);
                }
            }
        }
        true
    }

    /// Makes `child` end when this call is cancelled or fails. False if that has happened already.
    pub(crate) fn adopt(&self, child: &Arc<Call>) -> bool {
        let mut children = self.children.lock();
        let Some(children) = &mut *children else {
            return false;
        };
        children.retain(|child| child.upgrade().is_some_and(|child| !child.is_ended()));
        children.push(Arc::downgrade(child));
        true
    }

    /// Hands the call to a (new) connection of its agent. What the previous one still pushes is refused by its number.
    pub(crate) fn serve(self: &Arc<Self>) -> Serving {
        Serving {
            call: self.clone(),
            turn: self.next_turn(),
            armed: true,
        }
    }

    /// The connection that served the call is gone, but the call is not: what that one still does is refused.
    pub(crate) fn next_turn(&self) -> u64 {
        let turn = self.turn.fetch_add(1, Ordering::AcqRel) + 1;
        self.reply.written_by(None, turn);
        turn
    }
}

/// The agent's end of a call. Dropping it without an end means that the agent is gone.
#[derive(Debug)]
pub struct Serving {
    call: Arc<Call>,
    turn: u64,
    armed: bool,
}

impl Serving {
    /// The call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// Lets the connection's gate show that this reply is full.
    pub fn gated(&self, gate: Arc<Gate>) {
        self.call.reply.written_by(Some(gate), self.turn);
    }

    /// Says something to the caller. A caller that overran loses the call here and now.
    pub fn push(&self, event: Event) -> Pushed {
        let weight = event.weight();
        let seen = self.call.shared.taps.are_watched().then(|| event.clone());
        let pushed = self.call.reply.push_as(Some(self.turn), event);
        self.note(pushed, weight, seen);
        pushed
    }

    /// Asks, which suspends the call until it is answered. An approval is the agent's owner's to give: the caller only
    /// hears that it is waited for, unless the owner said otherwise. An ask that is repeated, as after a resume, is
    /// the same ask.
    pub fn ask(&self, ask: Ask) -> Pushed {
        // Whoever may approve sees the ask through a tap, even where the caller only hears why it waits.
        let seen = Event::Ask(ask.clone());
        let weight = seen.weight();
        let Some(pushed) = self.call.open_ask(ask, self.turn) else {
            return Pushed::Room;
        };
        let is_watched = self.call.shared.taps.are_watched();
        self.note(pushed, weight, is_watched.then_some(seen));
        pushed
    }

    /// What follows from a push. Only what is in is a sign of life, is counted and is seen by observers.
    fn note(&self, pushed: Pushed, weight: usize, seen: Option<Event>) {
        let call = &*self.call;
        match pushed {
            Pushed::Room | Pushed::Full => {
                call.touch();
                if !call.answered.load(Ordering::Relaxed)
                    && !call.answered.swap(true, Ordering::Relaxed)
                {
                    let after = call.made.elapsed();
                    call.shared.metrics.first_event(call.door, after);
                }
                call.shared.metrics.event(weight);
                if let Some(event) = seen {
                    let owner = call.entry.owner();
                    let sight = Sight::Event(event);
                    call.shared
                        .taps
                        .see(&call.target, owner, Some(call.id), sight);
                }
            }
            Pushed::Ended => call.shared.metrics.late_event(),
            Pushed::Overrun => self.call.overrun(),
        }
    }

    /// The caller's further input.
    pub fn input(&self) -> &Pipe<Input, ()> {
        &self.call.input
    }

    /// Ends the call as the agent says. False if it had ended already.
    pub fn finish(mut self, end: End) -> bool {
        self.armed = false;
        self.is_current() && self.call.finish(end, false)
    }

    /// The connection could not take it, so that the agent never saw the call: it may be handed over again.
    pub(crate) fn undo(mut self) {
        self.armed = false;
    }

    fn is_current(&self) -> bool {
        self.call.turn.load(Ordering::Acquire) == self.turn
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if self.armed && self.is_current() {
            self.call.finish(End::Failed(Failure::agent_left()), false);
        }
    }
}

impl Call {
    /// The reader does not keep up and the writer could not be paced.
    pub(crate) fn overrun(self: &Arc<Self>) {
        self.shared.metrics.overrun();
        let failure = match self.life {
            Life::Live => Failure::new(
                Reason::SlowReader,
                "the caller did not read the reply fast enough",
            ),
            Life::Kept => Failure::new(
                Reason::Internal,
                "the hub's store did not keep up with the reply",
            ),
        };
        self.finish(End::Failed(failure), true);
    }

    /// The agent does not read its input and the caller could not be paced.
    pub(crate) fn flooded(self: &Arc<Self>) {
        self.shared.metrics.overrun();
        let failure = Failure::new(
            Reason::SlowReader,
            "the agent did not read its input fast enough",
        );
        self.finish(End::Failed(failure), true);
    }

    /// Says something to the agent.
    fn hand_in(self: &Arc<Self>, input: Input) -> Pushed {
        self.touch();
        let pushed = self.input.push(input);
        if pushed == Pushed::Overrun {
            self.flooded();
        }
        pushed
    }
}

/// The caller's end of a call. Dropping it cancels the call.
#[derive(Debug)]
pub struct Asking {
    call: Arc<Call>,
}

impl Asking {
    pub(crate) fn new(call: Arc<Call>) -> Self {
        Self { call }
    }

    /// The call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// Who is rung when there is something to read.
    pub fn listen(&self, rope: Rope) {
        self.call.reply.listen(rope);
    }

    /// Lets the connection's gate show that this input is full.
    pub fn gated(&self, gate: Arc<Gate>) {
        self.call.input.written_by(Some(gate), 0);
    }

    /// Moves about `max` bytes of the reply into `events`; then the end, once.
    pub fn take(&self, events: &mut Vec<Event>, max: usize) -> Option<End> {
        self.call.reply.take(events, max)
    }

    /// Says more to the agent.
    pub fn say(&self, input: Input) -> Pushed {
        self.call.hand_in(input)
    }

    /// Cancels the call.
    pub fn cancel(self) {
        drop(self);
    }

    /// Reads the reply as it comes.
    pub fn replies(self) -> Replies {
        let bell = Bell::new();
        self.listen(bell.rope(0));
        Replies {
            asking: self,
            bell,
            ready: Vec::new().into_iter(),
            end: None,
            over: false,
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.call.is_ended() {
            self.call.finish(End::Cancelled, true);
        }
    }
}

/// What comes out of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The agent said something.
    Event(Event),
    /// The call is over.
    End(End),
}

/// How much is moved out of a pipe at once by readers that handle one event at a time.
const BATCH: usize = 64 << 10;

/// Reads one call's reply. Dropping it cancels the call.
#[derive(Debug)]
pub struct Replies {
    asking: Asking,
    bell: Arc<Bell>,
    ready: std::vec::IntoIter<Event>,
    end: Option<End>,
    over: bool,
}

impl Replies {
    /// The caller's end.
    pub fn asking(&self) -> &Asking {
        &self.asking
    }

    /// The next event, at last the end, then nothing. Cancel-safe.
    pub async fn next(&mut self) -> Option<Reply> {
        loop {
            if let Some(reply) = self.ready() {
                return Some(reply);
            }
            if self.over {
                return None;
            }
            self.bell.wait(&mut Vec::new()).await;
            let mut events = Vec::new();
            self.end = self.asking.take(&mut events, BATCH);
            self.ready = events.into_iter();
        }
    }

    /// What is there already, without waiting.
    pub fn ready(&mut self) -> Option<Reply> {
        if let Some(event) = self.ready.next() {
            return Some(Reply::Event(event));
        }
        self.end.take().map(|end| {
            self.over = true;
            Reply::End(end)
        })
    }

    /// Waits for the end and joins the text on the way.
    pub async fn finish(mut self) -> (String, End) {
        let mut text = String::new();
        while let Some(reply) = self.next().await {
            match reply {
                Reply::Event(Event::Chunk(chunk))
                    if chunk.kind == crate::event::ChunkKind::Text =>
                {
                    text.push_str(&chunk.text)
                }
                Reply::Event(_) => {}
                Reply::End(end) => return (text, end),
            }
        }
        (text, End::Cancelled)
    }
}

/// How long a caller gives its call, where it says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patience {
    /// Without a sign of life.
    pub idle: Option<Duration>,
    /// In all.
    pub absolute: Option<Duration>,
}
