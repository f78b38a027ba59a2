//! One request on its way to an agent, with its two pipes, and its two ends: [`Serving`] is the agent's, [`Asking`]
//! the caller's. `Call::finish` is the only way a call ends, and it ends once.

mod asking;
mod asks;
mod serving;

use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use self::asks::Asks;
pub use self::{
    asking::{Asking, Replies, Reply},
    asks::{Approval, WAITS_FOR_OWNER},
    serving::Serving,
};
use jackfield_model::{
    AgentId, Answer, Ask, CallId, End, Event, Failure, Input, Json, Message, Offer, Reason,
    RequestId, SessionId, TaskId,
};

use crate::{
    agent::Share,
    budget::Held,
    chain::Chain,
    clock::{Clock, Progress},
    entry::Entry,
    files::Files,
    hub::Right,
    observer::Observers,
    pipe::{Levels, Pipe, Pushed},
    principal::Principal,
    resolver::CallContext,
    shared::Shared,
    tap::Sight,
};

/// An end up to this size always reaches its reader, however much else is unread: as much as a pipe leases at once.
const SMALL_END: usize = 64 << 10;

/// Who reads a call's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    /// The caller's socket; losing it cancels the call.
    Live,
    /// A task, which writes it down; only a cancel, a clock or the agent ends it.
    Kept,
}

/// Where an open call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It waits for its agent to come online.
    Waiting,
    /// It waits for its turn: the agent takes one call of a conversation at a time.
    Queued,
    /// The agent has it.
    Working,
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
    /// Who works on it.
    pub target: AgentId,
    /// Whom the caller named: the same, or an id that stands for it.
    pub addressed: AgentId,
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
    right: Right,
    pub(crate) shared: Arc<Shared>,
    pub(crate) made: Instant,
    /// The caller's own id of the request, which the agent may know by another.
    pub(crate) wanted: Option<RequestId>,
    parent: Option<Weak<Call>>,
    /// Who observes it; most calls have nobody.
    pub(crate) observers: Option<Box<Observers>>,
    /// What the hub's resolver attached to it.
    context: Option<Arc<dyn CallContext>>,
    /// The calls that named this one as their parent; nothing once it was cancelled or has failed, and they with it.
    children: Mutex<Option<Vec<Weak<Call>>>>,
    turn: AtomicU64,
    /// It was sent by the hub's last process, and this one took it up.
    is_taken_up: bool,
    /// By what the agent's door finds the work again after a restart of the hub.
    handle: OnceLock<Json>,
    /// The same of the turn before, if its agent waited for this message.
    handle_before: Option<Json>,
    /// The files that have a link, for its owner; made when the first one is needed.
    files: OnceLock<Arc<Files>>,
    answered: AtomicBool,
    /// How often the agent said that it is alive.
    pulses: AtomicU64,
    /// The agent's number of its last frame that is in the log.
    acked: AtomicU64,
    ended: AtomicBool,
    /// What the message takes of the owner's account, as long as somebody has the call.
    held: Held,
}

/// What is known of a call that the agent got before the hub was restarted.
#[derive(Debug, Clone, Default)]
pub(crate) struct TakenUp {
    pub(crate) has_reply: bool,
    /// The agent's number of its last frame that was kept.
    pub(crate) received: u64,
    pub(crate) handle: Option<Json>,
    pub(crate) asks: Vec<Ask>,
    pub(crate) answers: Vec<(String, Answer)>,
}

/// What makes a call besides its pipes; the hub fills it in.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) id: CallId,
    pub(crate) principal: Principal,
    pub(crate) right: Right,
    pub(crate) held: Held,
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
    /// It was allowed before the restart.
    pub(crate) is_allowed: bool,
    pub(crate) taken_up: Option<TakenUp>,
    pub(crate) handle_before: Option<Json>,
    pub(crate) observers: Option<Box<Observers>>,
    pub(crate) context: Option<Arc<dyn CallContext>>,
}

impl Call {
    pub(crate) fn new(draft: Draft, entry: Arc<Entry>, shared: Arc<Shared>) -> Arc<Self> {
        let levels = Levels::from(&shared.limits);
        let is_taken_up = draft.taken_up.is_some();
        let has_reply = draft.taken_up.as_ref().is_some_and(|call| call.has_reply);
        let acked = draft.taken_up.as_ref().map_or(0, |call| call.received);
        let call = Arc::new(Self {
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
            is_taken_up,
            handle: OnceLock::new(),
            handle_before: draft.handle_before,
            files: OnceLock::new(),
            answered: AtomicBool::new(has_reply),
            pulses: AtomicU64::new(0),
            acked: AtomicU64::new(acked),
            ended: AtomicBool::new(false),
        });
        if let Some(taken_up) = draft.taken_up {
            call.reply.go_on_after(taken_up.received);
            if let Some(handle) = taken_up.handle {
                call.handle.get_or_init(|| handle);
            }
            call.restore_asks(taken_up.asks, taken_up.answers);
        }
        call
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Where it stands.
    pub fn standing(&self) -> Standing {
        match self.clock.lock().progress {
            Progress::Waiting => Standing::Waiting,
            Progress::Queued => Standing::Queued,
            Progress::Placed | Progress::Sent => Standing::Working,
        }
    }

    /// Fails if the caller may not reach the agent any more, which is shared like this. Takes no lock of the agent's.
    pub(crate) fn check_right(&self, share: &Share) -> Result<(), Failure> {
        self.right.check(&self.principal, &self.entry, share)
    }

    /// Ends a call that waits for its agent and whose caller may not reach that any more. False if the caller still may.
    pub(crate) fn end_without_right(self: &Arc<Self>) -> bool {
        match self.check_right(&self.entry.share()) {
            Ok(()) => false,
            Err(failure) => {
                self.finish(End::Failed(failure), true);
                true
            }
        }
    }

    /// Whether the agent has it.
    pub(crate) fn is_sent(&self) -> bool {
        self.clock.lock().progress == Progress::Sent
    }

    /// The agent's number of its last frame that was taken in, 0 if none was: what a resuming agent need not repeat. It
    /// may still be lost with this process; what the agent may forget is told by [`crate::agent::Link::acked`].
    pub fn received(&self) -> u64 {
        self.reply.received()
    }

    /// The agent's number of its last frame of a kept call that is in the log, 0 if none is; see
    /// [`crate::agent::Link::acked`], which a connection misses that was not there at the time.
    pub fn acked(&self) -> u64 {
        self.acked.load(Ordering::Acquire)
    }

    /// What the agent sent up to this number is in the log, or nobody wants it there. Its connection is told, if there
    /// is one; one that comes later asks.
    pub(crate) fn ack(self: &Arc<Self>, seq: u64) {
        self.acked.store(seq, Ordering::Release);
        if let Some(link) = self.entry.link() {
            link.acked(self, seq);
        }
    }

    /// Whether the agent said anything, numbered or not. If so it got the message, which is never written again.
    pub fn has_reply(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// How often the agent said that it is alive: see [`Serving::pulse`].
    pub fn pulses(&self) -> u64 {
        self.pulses.load(Ordering::Relaxed)
    }

    /// By what the agent's door finds the work again after a restart of the hub, if it can: see [`Serving::note`].
    pub fn handle(&self) -> Option<&Json> {
        self.handle.get()
    }

    /// What the agent's door noted in the turn before, if the agent waited for this message: the work may go on there.
    pub fn handle_before(&self) -> Option<&Json> {
        self.handle_before.as_ref()
    }

    /// Whether an agent that comes back, to this hub or to the next one, may go on with it, or its door finds it again.
    pub(crate) fn may_be_resumed(&self) -> bool {
        let is_found = self.handle().is_some();
        self.life == Life::Kept && self.is_sent() && self.entry.may_be_resumed(is_found)
    }

    /// Why it fails if its agent does not come back to it.
    pub(crate) fn lost(&self) -> Failure {
        if self.is_taken_up && self.turn.load(Ordering::Acquire) == 0 {
            return Failure::hub_restarted();
        }
        self.left()
    }

    /// The agent is gone: while it was working, or before anybody could know that it was.
    pub fn left(&self) -> Failure {
        match self.has_reply() {
            true => Failure::agent_left(),
            false => Failure::agent_left_unheard(),
        }
    }

    /// The files that have a link, for doors whose protocol knows only links.
    pub fn files(&self) -> &Arc<Files> {
        let owner = &self.principal.owner;
        self.files.get_or_init(|| self.shared.files.of(owner))
    }

    /// The agent that works on it.
    pub fn agent(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// What the hub's [`Resolver`](crate::resolver::Resolver) attached to it.
    pub fn context(&self) -> Option<&Arc<dyn CallContext>> {
        self.context.as_ref()
    }

    /// Cancels it, for somebody who may. The agent is told at once. False if it had ended already.
    pub fn cancel(self: &Arc<Self>) -> bool {
        self.finish(End::Cancelled, true)
    }

    /// The call that it was made for, if known.
    pub fn parent(&self) -> Option<Arc<Call>> {
        self.parent.as_ref().and_then(Weak::upgrade)
    }

    /// By what it is found later: the task that keeps it, or its own id.
    pub fn task_id(&self) -> TaskId {
        self.task.unwrap_or_else(|| self.id.into())
    }

    /// A sign of life of the agent's line that is no event, such as a heartbeat.
    pub fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    /// Ends the call; only the first end counts. `tell_agent` sends the agent a cancel, for ends that it did not make.
    pub(crate) fn finish(self: &Arc<Self>, end: End, tell_agent: bool) -> bool {
        self.finish_numbered(end, tell_agent, 0)
    }

    /// Ends the call with the agent's own number of the end; 0 if it has none.
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
        if let End::Done(done) = &end
            && let Some(offer) = &done.file_transfer_offer
        {
            self.note_offer(offer);
        }
        let told = self.observers.is_some().then(|| end.clone());
        self.reply.end_marked(end, discard, seq);
        // Nothing can be pushed any more: what was, is observed.
        if let (Some(observers), Some(end)) = (&self.observers, told) {
            observers.tell(|observer| observer.ended(self, &end));
        }
        self.shared.calls.lock().remove(&self.id);
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

    /// The end, or a failure in its place if it is large and the caller's owner holds as much unread as it may.
    fn within_share(&self, end: End) -> End {
        let weight = end.weight();
        if weight <= SMALL_END || self.held.budget().has_room(weight) {
            return end;
        }
        self.shared.metrics.overrun();
        End::Failed(self.unread())
    }

    /// Whose the offered transfer is has to be known before anybody hears of it. What is no offer that can be meant is
    /// passed on all the same, but nobody can fetch it through the hub.
    fn note_offer(&self, offer: &Json) {
        let Some(offer) = Offer::read(offer.get()) else {
            tracing::debug!(call = %self.id, agent = %self.target, "an offer of files that cannot be meant");
            return;
        };
        let transfers = &self.shared.transfers;
        let (agent, called) = (&self.target, &self.addressed);
        transfers.offered(agent, called, &self.principal, offer, Instant::now());
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
        Serving::new(self.clone(), self.next_turn())
    }

    /// The connection that served the call is gone, but the call is not: what that one still does is refused.
    pub(crate) fn next_turn(&self) -> u64 {
        let turn = self.turn.fetch_add(1, Ordering::AcqRel) + 1;
        self.reply.written_by(None, turn);
        turn
    }
}

impl Call {
    /// The reader does not keep up and the writer could not be paced.
    pub(crate) fn overrun(self: &Arc<Self>) {
        self.shared.metrics.overrun();
        self.finish(End::Failed(self.unread()), true);
    }

    /// Why it fails if too much of it is unread.
    fn unread(&self) -> Failure {
        match self.life {
            Life::Live => Failure::new(
                Reason::SlowReader,
                "the caller did not read the reply fast enough",
            ),
            Life::Kept => Failure::new(
                Reason::Internal,
                "the hub's store did not keep up with the reply",
            ),
        }
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

/// How long a caller gives its call, where it says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patience {
    /// Without a sign of life.
    pub idle: Option<Duration>,
    /// In all.
    pub absolute: Option<Duration>,
}
