//! [`Call`]: one request on its way to an agent, with two pipes and two handles. The agent's connection holds a [`AgentHandle`], the caller an [`CallerHandle`]. `Call::finish` is the only way to end a call; a call ends once.

mod agent_handle;
mod asks;
mod caller_handle;

use std::{
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use self::asks::CallAsks;
pub(crate) use self::caller_handle::LiveItem;
pub use self::{
    agent_handle::AgentHandle,
    asks::Approval,
    caller_handle::{CallerHandle, Replies, Reply},
};
use jackfield_model::{
    AgentId, Answer, Ask, CallId, End, Event, Failure, Input, Json, Message, Reason, RequestId,
    SessionId, TaskId,
};

use crate::{
    agent::Share,
    budget::BudgetLease,
    chain::Chain,
    clock::{Clock, Progress},
    entry::Entry,
    hub::Right,
    observer::Observers,
    pipe::{Levels, Pipe, Pushed},
    principal::Principal,
    resolver::CallContext,
    shared::Shared,
    tap::Sight,
};

/// Largest end that reaches its reader however much else is unread: as much as a pipe leases at once.
const SMALL_END: usize = 64 << 10;

/// Reader of a call's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    /// The caller's connection. Losing the connection cancels the call.
    Live,
    /// A task, which writes the reply to its log. Only a cancel, a clock or the agent ends the call.
    Durable,
}

/// Progress of an open call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The call waits for its agent to come online.
    Waiting,
    /// The call waits for its turn: the agent takes one call per session at a time.
    Queued,
    /// The agent has the call.
    Working,
}

/// One request on its way to an agent.
#[derive(Debug)]
pub struct Call {
    /// Id of the call, made by the hub.
    pub id: CallId,
    /// Principal that makes the call.
    pub principal: Principal,
    /// Door of the caller.
    pub door: &'static str,
    /// Agent that works on the call.
    pub target: AgentId,
    /// Id that the caller named: [`Call::target`], or an id that stands for the target.
    pub addressed: AgentId,
    /// Session, as the caller names it.
    pub session: SessionId,
    /// Session, as the agent sees it.
    pub agent_session: SessionId,
    /// Request id, as the agent sees it.
    pub request: RequestId,
    /// Message of the caller.
    pub message: Message,
    /// Whether more of the message follows in the input pipe.
    pub streamed: bool,
    /// Reader of the reply.
    pub life: Life,
    /// Task of a durable call.
    pub task: Option<TaskId>,
    /// Agents that the call came through.
    pub chain: Chain,
    /// Trace of the caller, passed on to the agent.
    pub traceparent: Option<String>,
    pub(crate) input: Pipe<Input, ()>,
    pub(crate) reply: Pipe<Event, End>,
    pub(crate) clock: Mutex<Clock>,
    /// Set when the call shows activity, cleared by the sweeper. Saves reading a clock per chunk.
    pub(crate) touched: AtomicBool,
    /// Number of open questions of this call and its descendants.
    pub(crate) suspended: AtomicU32,
    pub(crate) asks: Mutex<CallAsks>,
    pub(crate) entry: Arc<Entry>,
    right: Right,
    pub(crate) shared: Arc<Shared>,
    pub(crate) made: Instant,
    /// Request id that the caller chose. The agent may know the request by [`Call::request`] instead.
    pub(crate) wanted: Option<RequestId>,
    parent: Option<Weak<Call>>,
    /// Observers of the call; most calls have none.
    pub(crate) observers: Option<Box<Observers>>,
    /// Context that the hub's resolver attached to the call.
    context: Option<Arc<dyn CallContext>>,
    /// Calls that named this call as their parent. `None` once this call was cancelled or failed, and the
    /// children with it.
    children: Mutex<Option<Vec<Weak<Call>>>>,
    turn: AtomicU64,
    /// Whether the last process of the hub sent the call, and this process resumed it.
    is_resumed: bool,
    /// Door-specific handle for finding the remote work after a restart of the hub.
    handle: OnceLock<Json>,
    /// Handle of the turn before, if the agent waited for this message.
    handle_before: Option<Json>,
    answered: AtomicBool,
    /// Number of keepalives that the agent sent.
    pulses: AtomicU64,
    /// Number of the agent's last frame that is in the log.
    acked: AtomicU64,
    ended: AtomicBool,
    /// Wakes the `Delivery` of a durable call: the call got its turn, or was returned.
    pub(crate) placed: Notify,
    /// Share of the owner's account that the message takes while the call exists.
    held: BudgetLease,
    /// Span of the call in the log at level `debug`: its id, caller and agent, never its content.
    span: tracing::Span,
}

/// State of a call that the agent got before the hub was restarted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resumed {
    pub(crate) has_reply: bool,
    /// Number of the agent's last frame that is in the log.
    pub(crate) received: u64,
    pub(crate) handle: Option<Json>,
    pub(crate) asks: Vec<Ask>,
    pub(crate) answers: Vec<(String, Answer)>,
}

/// Fields of a new [`Call`], except its pipes. The hub fills them in.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) id: CallId,
    pub(crate) principal: Principal,
    pub(crate) right: Right,
    pub(crate) held: BudgetLease,
    pub(crate) door: &'static str,
    pub(crate) addressed: AgentId,
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
    /// Whether the call was admitted before a restart of the hub.
    pub(crate) is_allowed: bool,
    pub(crate) resumed: Option<Resumed>,
    pub(crate) handle_before: Option<Json>,
    pub(crate) observers: Option<Box<Observers>>,
    pub(crate) context: Option<Arc<dyn CallContext>>,
}

impl Call {
    pub(crate) fn new(draft: Draft, entry: Arc<Entry>, shared: Arc<Shared>) -> Arc<Self> {
        let levels = Levels::from(&shared.limits);
        let is_resumed = draft.resumed.is_some();
        let has_reply = draft.resumed.as_ref().is_some_and(|call| call.has_reply);
        let acked = draft.resumed.as_ref().map_or(0, |call| call.received);
        let span = tracing::debug_span!(
            parent: None,
            "call",
            call = %draft.id,
            from = draft.principal.label(),
            to = %entry.id,
            protocol = draft.door,
        );
        let call = Arc::new(Self {
            span,
            id: draft.id,
            principal: draft.principal,
            door: draft.door,
            target: entry.id.clone(),
            addressed: draft.addressed,
            session: draft.session,
            agent_session: draft.agent_session,
            request: draft.request,
            message: draft.message,
            streamed: draft.streamed,
            life: draft.life,
            task: draft.task,
            chain: draft.chain,
            traceparent: draft.traceparent,
            input: Pipe::new(levels, draft.held.budget().clone()),
            reply: Pipe::new(levels, draft.held.budget().clone()),
            held: draft.held,
            clock: Mutex::new(draft.clock),
            touched: AtomicBool::new(false),
            suspended: AtomicU32::new(0),
            asks: Mutex::default(),
            entry,
            right: draft.right,
            shared,
            made: Instant::now(),
            wanted: draft.wanted,
            parent: draft.parent.as_ref().map(Arc::downgrade),
            observers: draft.observers,
            context: draft.context,
            children: Mutex::new(Some(Vec::new())),
            turn: AtomicU64::new(0),
            is_resumed,
            handle: OnceLock::new(),
            handle_before: draft.handle_before,
            answered: AtomicBool::new(has_reply),
            pulses: AtomicU64::new(0),
            acked: AtomicU64::new(acked),
            ended: AtomicBool::new(false),
            placed: Notify::new(),
        });
        if let Some(resumed) = draft.resumed {
            call.reply.go_on_after(resumed.received);
            if let Some(handle) = resumed.handle {
                call.handle.get_or_init(|| handle);
            }
            call.restore_asks(resumed.asks, resumed.answers);
        }
        call.trace(format_args!("opened"));
        call
    }

    /// Returns the span of the call, for the tasks that work on the call. Disabled above level `debug`.
    pub fn span(&self) -> &tracing::Span {
        &self.span
    }

    /// Writes a step of the call to the log at level `debug`.
    pub(crate) fn trace(&self, step: fmt::Arguments<'_>) {
        tracing::debug!(parent: &self.span, "{step}");
    }

    /// Notes that the agent has the call from `now` on.
    pub(crate) fn mark_sent(&self, now: Instant) {
        self.clock.lock().enter(Progress::Sent, now);
        self.trace(format_args!("sent to the agent"));
    }

    /// Whether the call has ended.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Returns the progress of the call.
    pub fn standing(&self) -> Standing {
        match self.clock.lock().progress {
            Progress::Waiting => Standing::Waiting,
            Progress::Queued => Standing::Queued,
            Progress::Placed | Progress::Sent => Standing::Working,
        }
    }

    /// Fails if the caller may not reach the agent any more, given the agent's `share`. Takes no lock of the
    /// agent.
    pub(crate) fn check_right(&self, share: &Share) -> Result<(), Failure> {
        self.right.check(&self.principal, &self.entry, share)
    }

    /// Ends a call that waits for its agent if the caller may not reach the agent any more. Returns false if
    /// the caller still may.
    pub(crate) fn end_without_right(self: &Arc<Self>) -> bool {
        match self.check_right(&self.entry.share()) {
            Ok(()) => false,
            Err(failure) => {
                self.finish(End::Failed(failure), true);
                true
            }
        }
    }

    /// Whether the agent has the call.
    pub(crate) fn is_sent(&self) -> bool {
        self.clock.lock().progress == Progress::Sent
    }

    /// Returns the number of the agent's last received frame, 0 if none: a resuming agent need not repeat
    /// frames up to this number. Received frames may still be lost with this process;
    /// [`Link::acked`](crate::agent::Link::acked) reports which frames the agent may forget.
    pub fn received(&self) -> u64 {
        self.reply.received()
    }

    /// Returns the number of the agent's last frame in the log of a durable call, 0 if none. For connections
    /// that came too late for [`Link::acked`](crate::agent::Link::acked).
    pub fn acked(&self) -> u64 {
        self.acked.load(Ordering::Acquire)
    }

    /// Notes that all frames up to `seq` are in the log, or need not be, and tells the agent's connection. A
    /// later connection reads [`Call::acked`].
    pub(crate) fn ack(self: &Arc<Self>, seq: u64) {
        self.acked.store(seq, Ordering::Release);
        if let Some(link) = self.entry.link() {
            link.acked(self, seq);
        }
    }

    /// Whether the agent sent anything, numbered or not. If so, the agent has the message, which is never
    /// delivered again.
    pub fn has_reply(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Returns the number of keepalives that the agent sent: see [`AgentHandle::pulse`].
    pub fn pulses(&self) -> u64 {
        self.pulses.load(Ordering::Relaxed)
    }

    /// Returns the door-specific handle for finding the remote work after a restart of the hub: see
    /// [`AgentHandle::note`].
    pub fn handle(&self) -> Option<&Json> {
        self.handle.get()
    }

    /// Returns the handle of the turn before, if the agent waited for this message: the remote work may
    /// continue there.
    pub fn handle_before(&self) -> Option<&Json> {
        self.handle_before.as_ref()
    }

    /// Whether the agent may resume the call after a reconnect to this hub or the next one, or the agent's
    /// door finds the work again.
    pub(crate) fn may_be_resumed(&self) -> bool {
        let is_found = self.handle().is_some();
        self.life == Life::Durable && self.is_sent() && self.entry.may_be_resumed(is_found)
    }

    /// Returns the failure of a call whose agent did not come back.
    pub(crate) fn lost(&self) -> Failure {
        if self.is_resumed && self.turn.load(Ordering::Acquire) == 0 {
            return Failure::hub_restarted();
        }
        self.left()
    }

    /// Returns the failure of a call whose agent left: while working, or before its first event.
    pub fn left(&self) -> Failure {
        match self.has_reply() {
            true => Failure::agent_left(),
            false => Failure::agent_left_silent(),
        }
    }

    /// Returns the agent that works on the call.
    pub fn agent(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Returns the context that the hub's [`Resolver`](crate::resolver::Resolver) attached to the call.
    pub fn context(&self) -> Option<&Arc<dyn CallContext>> {
        self.context.as_ref()
    }

    /// Cancels the call without checking any right. The agent is told at once. Returns false if the call had
    /// ended already.
    pub fn cancel(self: &Arc<Self>) -> bool {
        self.finish(End::Cancelled, true)
    }

    /// Returns the call that this call was made for, if known.
    pub fn parent(&self) -> Option<Arc<Call>> {
        self.parent.as_ref().and_then(Weak::upgrade)
    }

    /// Returns the id for finding the call later: that of its task, or its own.
    pub fn task_id(&self) -> TaskId {
        self.task.unwrap_or_else(|| self.id.into())
    }

    /// Notes a sign of life from the agent's connection that is no event, such as a heartbeat.
    pub fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    /// Ends the call; only the first end counts. `tell_agent` sends the agent a cancel, for ends that the
    /// agent did not make.
    pub(crate) fn finish(self: &Arc<Self>, end: End, tell_agent: bool) -> bool {
        self.finish_numbered(end, tell_agent, 0)
    }

    /// Ends the call with the agent's own number of the end frame; 0 if unnumbered.
    fn finish_numbered(self: &Arc<Self>, end: End, tell_agent: bool, seq: u64) -> bool {
        if self.ended.swap(true, Ordering::AcqRel) {
            return false;
        }
        let end = self.within_share(end);
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
        tracing::info!(
            parent: None,
            call = %self.id,
            from = self.principal.label(),
            to = %self.target,
            protocol = self.door,
            agent_protocol = agent_door,
            seconds = self.made.elapsed().as_secs_f32(),
            end = end.label(),
            "call ended"
        );
        let (taps, owner) = (&self.shared.taps, self.entry.owner());
        let ended = || Sight::Ended(end.clone());
        taps.see(&self.target, owner, Some(self.id), ended);
        self.close_asks();
        self.input.end((), true);
        self.shared
            .observers
            .tell(|observer| observer.ending(self, &end));
        let told = self.observers.is_some().then(|| end.clone());
        self.reply.end_marked(end, discard, seq);
        // The pipe is closed: observers have seen every accepted event.
        if let (Some(observers), Some(end)) = (&self.observers, told) {
            observers.tell(|observer| observer.ended(self, &end));
        }
        self.shared.open_calls.lock().remove(&self.id);
        self.entry.release(self, tell_agent);
        self.shared.ended.notify_waiters();
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

    /// Returns `end`, or a failure if `end` is large and the caller's owner holds as much unread data as
    /// allowed.
    fn within_share(&self, end: End) -> End {
        let weight = end.weight();
        if weight <= SMALL_END || self.held.budget().has_room(weight) {
            return end;
        }
        self.shared.metrics.overrun();
        End::Failed(self.unread())
    }

    /// Makes `child` end when this call is cancelled or fails. Returns false if this call was cancelled or
    /// failed already.
    pub(crate) fn adopt(&self, child: &Arc<Call>) -> bool {
        let mut children = self.children.lock();
        let Some(children) = &mut *children else {
            return false;
        };
        children.retain(|child| child.upgrade().is_some_and(|child| !child.is_ended()));
        children.push(Arc::downgrade(child));
        true
    }

    /// Hands the call to a new connection of its agent. Events of the previous connection are refused by the
    /// connection's number.
    pub(crate) fn serve(self: &Arc<Self>) -> AgentHandle {
        AgentHandle::new(self.clone(), self.next_turn())
    }

    /// Invalidates the connection that served the call, without ending the call: further events of that
    /// connection are refused.
    pub(crate) fn next_turn(&self) -> u64 {
        let turn = self.turn.fetch_add(1, Ordering::AcqRel) + 1;
        self.reply.written_by(None, turn);
        turn
    }
}

impl Call {
    /// Fails the call because its reader does not keep up and the writer could not be paced.
    pub(crate) fn overrun(self: &Arc<Self>) {
        self.shared.metrics.overrun();
        self.finish(End::Failed(self.unread()), true);
    }

    /// Returns the failure of a call with too much unread data.
    fn unread(&self) -> Failure {
        match self.life {
            Life::Live => Failure::new(
                Reason::SlowReader,
                "the caller did not read the reply fast enough",
            ),
            Life::Durable => Failure::new(
                Reason::Internal,
                "the hub's store did not keep up with the reply",
            ),
        }
    }

    /// Fails the call because the agent does not read its input and the caller could not be paced.
    pub(crate) fn flooded(self: &Arc<Self>) {
        self.shared.metrics.overrun();
        let failure = Failure::new(
            Reason::SlowReader,
            "the agent did not read its input fast enough",
        );
        self.finish(End::Failed(failure), true);
    }

    /// Sends input to the agent.
    fn hand_in(self: &Arc<Self>, input: Input) -> Pushed {
        self.touch();
        let pushed = self.input.push(input);
        if pushed == Pushed::Overrun {
            self.flooded();
        }
        pushed
    }
}

/// Timeouts that a caller chooses for its call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patience {
    /// Longest time without a sign of life.
    pub idle: Option<Duration>,
    /// Longest total time.
    pub absolute: Option<Duration>,
}
