//! Event feed of a team for its viewers. Each event is numbered once and stored in a ring that viewers read
//! by cursor.
//!
//! Appending an event costs a lock and a push, regardless of the number of viewers. The ring retains events
//! for slow viewers up to a limit. Beyond the limit, a slow viewer receives a [`MissedEvents`] range instead of the
//! lost events.

mod frames;
mod reader;
mod ring;
mod statuses;

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use jackfield_core::{call::Call, principal::Principal, task::IdempotencyKey};
use jackfield_model::{AgentId, Ask, CallId};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use self::{frames::RecentFrames, ring::EventRing, statuses::TeamStatuses};
pub use self::{
    reader::{FeedItem, FeedReader, ReplayStart, ViewerId},
    ring::MissedEvents,
    statuses::{PendingQuestion, QuestionContent},
};
use super::event::{
    AgentStatus, CallerKey, EventBody, MemberEvent, SubTeam, TeamStatus, ToolInvocation,
};
use crate::TeamLimits;

/// Number of answers from viewers to remember, in case a viewer sends an answer again.
const ANSWERS: usize = 64;

/// Activation of a team.
#[derive(Debug, PartialEq, Eq)]
pub struct TeamRun {
    /// Id of the run.
    pub id: Arc<str>,
    /// Version of the team within the run, starting at 1. Each change of the team increments the version.
    pub version: u32,
    /// Start time.
    pub started_at: Timestamp,
    /// High bits of all event ids of the run.
    base: u128,
}

impl TeamRun {
    fn new() -> Self {
        let id = Uuid::now_v7();
        Self {
            id: format!("run_{}", id.simple()).into(),
            version: 1,
            started_at: Timestamp::now(),
            // The low 62 bits stay free: for the sequence number, and below the number for the nesting levels
            // of an event.
            base: Uuid::new_v4().as_u128() & !((1 << 62) - 1),
        }
    }

    fn event_id(&self, sequence: u64) -> u128 {
        self.base | (u128::from(sequence) << 8)
    }
}

/// Numbered event of a [`EventFeed`].
#[derive(Debug)]
pub struct FeedEvent {
    /// [`TeamRun`] of the event.
    pub run: Arc<TeamRun>,
    /// Sequence number in the run, starting at 1.
    pub sequence: u64,
    /// Time of the event.
    pub at: Timestamp,
    /// Unique id. The lowest eight bits are zero, for writers that need several ids per event.
    pub id: u128,
    /// Teams on the path to the source of the event, outermost first. Empty for events of the team itself.
    pub path: Arc<[SubTeam]>,
    /// Content of the event.
    pub body: Arc<EventBody>,
    /// Caller at the root of the call chain that produced the event, if any.
    caller: Option<CallerKey>,
    weight: usize,
    rendered: OnceLock<Box<str>>,
}

impl FeedEvent {
    /// Returns the event as written by the door. The first viewer that needs the text renders it with
    /// `write`; the event caches the text for all viewers.
    pub fn rendered(&self, write: impl FnOnce(&Self) -> String) -> &str {
        self.rendered.get_or_init(|| write(self).into_boxed_str())
    }

    /// Returns whether the event stems from a call that `principal` may act for.
    fn is_visible_to(&self, principal: &Principal) -> bool {
        let caller = self.caller.as_ref();
        caller.is_some_and(|caller| caller.is(principal))
    }
}

/// State shared by all [`EventFeed`]s of a hub.
#[derive(Debug, Default)]
pub(crate) struct FeedPool {
    /// Bytes held by all rings together.
    held: AtomicUsize,
    next_viewer: AtomicU64,
}

impl FeedPool {
    /// Returns the bytes held by all rings together.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn new_viewer(&self) -> u64 {
        self.next_viewer.fetch_add(1, Ordering::Relaxed)
    }
}

/// Event feed of a team, or of a single agent.
#[derive(Debug)]
pub struct EventFeed {
    /// Id of the team or agent.
    pub(crate) of: AgentId,
    pool: Arc<FeedPool>,
    sizes: FeedSizes,
    state: Mutex<FeedState>,
    /// A leaf lock; never held while an event is encoded.
    frames: Mutex<RecentFrames>,
}

#[derive(Debug, Clone, Copy)]
struct FeedSizes {
    /// Maximum bytes to retain for slow viewers.
    ring: usize,
    /// Bytes to retain for viewers that join or reconnect.
    tail: usize,
    /// Bytes to retain per feed while all feeds together exceed `total`.
    least: usize,
    /// Soft limit for the bytes of all feeds together.
    total: usize,
}

#[derive(Debug)]
struct FeedState {
    run: Option<Arc<TeamRun>>,
    sequence: u64,
    ring: EventRing,
    standing: TeamStatuses,
    calls: Vec<FeedCall>,
    /// Recent messages that were answers, by the key of the sender.
    answers: VecDeque<(String, IdempotencyKey)>,
    /// Time of the last ended call or of the last event without a call. A run does not end while a call is
    /// open.
    moved: Instant,
    is_closed: bool,
}

/// Open [`Call`] shown in a feed.
#[derive(Debug)]
struct FeedCall {
    id: CallId,
    call: Weak<Call>,
    route: Arc<str>,
    caller: CallerKey,
}

/// Position of a [`Call`] in a feed: the member in the tree, and the caller that sees the events.
#[derive(Debug, Clone)]
pub(crate) struct CallPosition {
    pub(crate) path: Arc<[SubTeam]>,
    pub(crate) name: Arc<str>,
    pub(crate) route: Arc<str>,
    pub(crate) agent: AgentId,
    pub(crate) caller: CallerKey,
}

impl EventFeed {
    pub(crate) fn new(of: AgentId, pool: Arc<FeedPool>, limits: &TeamLimits) -> Arc<Self> {
        let sizes = FeedSizes {
            ring: limits.ring.0,
            tail: limits.tail.0,
            least: limits.tail.0 / 16,
            total: limits.rings.0,
        };
        Arc::new(Self {
            of,
            pool,
            sizes,
            state: Mutex::new(FeedState {
                run: None,
                sequence: 0,
                ring: EventRing::default(),
                standing: TeamStatuses::default(),
                calls: Vec::new(),
                answers: VecDeque::new(),
                moved: Instant::now(),
                is_closed: false,
            }),
            frames: Mutex::default(),
        })
    }

    /// Returns the current [`TeamRun`], if any, and the number of its last event.
    pub fn run(&self) -> Option<(Arc<TeamRun>, u64)> {
        let state = self.state.lock();
        state.run.clone().map(|run| (run, state.sequence))
    }

    /// Returns the current [`TeamRun`], or starts a new run.
    pub(crate) fn activate(&self) -> Arc<TeamRun> {
        self.state.lock().activate()
    }

    /// Returns whether current or later viewers could see an event appended now: a run or a viewer exists.
    pub(crate) fn is_active(&self) -> bool {
        let state = self.state.lock();
        state.run.is_some() || state.ring.has_viewers()
    }

    /// Appends an event that no call of the hub produced. Returns its sequence number.
    pub(crate) fn append_event(&self, path: &Arc<[SubTeam]>, body: Arc<EventBody>) -> u64 {
        let mut state = self.state.lock();
        state.moved = Instant::now();
        if let EventBody::Team { new, .. } = &*body {
            state.standing.set_team(path, *new);
        }
        self.append(&mut state, path.clone(), body, None)
    }

    fn append(
        &self,
        state: &mut FeedState,
        path: Arc<[SubTeam]>,
        body: Arc<EventBody>,
        caller: Option<CallerKey>,
    ) -> u64 {
        let run = state.activate();
        state.sequence += 1;
        let weight = weight(&body);
        let told = FeedEvent {
            id: run.event_id(state.sequence),
            run,
            sequence: state.sequence,
            at: Timestamp::now(),
            path,
            body,
            caller,
            weight,
            rendered: OnceLock::new(),
        };
        let is_tight = self.pool.held() > self.sizes.total;
        let tail = if is_tight {
            self.sizes.least
        } else {
            self.sizes.tail
        };
        let told = Arc::new(told);
        state.standing.attach_event(&told);
        state.ring.push(told);
        let freed = state.ring.trim(tail, self.sizes.ring);
        self.pool.held.fetch_add(weight, Ordering::Relaxed);
        self.pool.held.fetch_sub(freed, Ordering::Relaxed);
        state.sequence
    }

    /// Returns the frame of an event, encoded by `encode` unless another reader did so lately.
    fn frame(&self, told: &FeedEvent, encode: impl FnOnce(&FeedEvent) -> Bytes) -> Bytes {
        if let Some(frame) = self.frames.lock().get(told.id) {
            return frame;
        }
        let frame = encode(told);
        self.frames.lock().add(told.id, frame.clone());
        frame
    }

    /// Registers the start of a member's call. Appends status events for teams that start to run.
    pub(crate) fn call_opened(&self, call: &Arc<Call>, position: &CallPosition) {
        let mut state = self.state.lock();
        state.calls.push(FeedCall {
            id: call.id,
            call: Arc::downgrade(call),
            route: position.route.clone(),
            caller: position.caller.clone(),
        });
        let begun = state.standing.call_opened(position);
        self.show_teams(&mut state, position, begun, TeamStatus::Running);
    }

    /// Registers the end of a member's call, after all events of the call. Appends status events for teams
    /// that become idle.
    pub(crate) fn call_ended(&self, call: CallId, position: &CallPosition) {
        let mut state = self.state.lock();
        state.moved = Instant::now();
        state.calls.retain(|seated| seated.id != call);
        state.standing.forget_asks(call);
        let ended = state.standing.call_ended(position);
        self.show_teams(&mut state, position, ended, TeamStatus::Idle);
    }

    fn show_teams(
        &self,
        state: &mut FeedState,
        position: &CallPosition,
        changed: Vec<(usize, Option<TeamStatus>)>,
        new: TeamStatus,
    ) {
        for (length, old) in changed {
            let body = EventBody::Team {
                new,
                old,
                error: None,
            };
            let path = position.path[..length].into();
            self.append(state, path, Arc::new(body), Some(position.caller.clone()));
        }
    }

    /// Appends an event of a member.
    pub(crate) fn append_member_event(&self, position: &CallPosition, body: &Arc<EventBody>) {
        let mut state = self.state.lock();
        self.append(
            &mut state,
            position.path.clone(),
            body.clone(),
            Some(position.caller.clone()),
        );
    }

    /// Updates the status of a member as reported by one of its calls. Appends an event if the status
    /// changed.
    pub(crate) fn update_status(
        &self,
        position: &CallPosition,
        new: AgentStatus,
        tool: Option<&Arc<str>>,
        error: Option<&String>,
    ) {
        let mut state = self.state.lock();
        if let Some(event) = state.standing.change(position, new, tool, error) {
            let body = position.body_of(event);
            let caller = Some(position.caller.clone());
            self.append(&mut state, position.path.clone(), body, caller);
        }
    }

    /// Registers a question of a member's call, for viewers to answer.
    pub(crate) fn ask(
        &self,
        position: &CallPosition,
        call: &Arc<Call>,
        asked: QuestionContent,
        ask: &Ask,
    ) {
        let mut state = self.state.lock();
        let told = state.ring.segment(position, &asked.of.id);
        state.standing.ask(PendingQuestion {
            route: position.route.clone(),
            told,
            asked,
            call: Arc::downgrade(call),
            call_id: call.id,
            ask: ask.id.clone(),
            kind: ask.kind,
            caller: position.caller.clone(),
        });
    }

    /// Removes an answered question.
    pub(crate) fn answered(&self, call: CallId, of: &ToolInvocation) {
        self.state.lock().standing.answered(call, of);
    }

    /// Records a message of `by` that answered a member's question.
    pub(crate) fn note_answer(&self, by: &Principal, said: IdempotencyKey) {
        let answers = &mut self.state.lock().answers;
        if answers.len() == ANSWERS {
            answers.pop_front();
        }
        answers.push_back((by.key(), said));
    }

    /// Returns whether a message recently answered a question; see [`Self::note_answer`].
    pub(crate) fn was_answer(&self, by: &Principal, said: &IdempotencyKey) -> bool {
        let by = by.key();
        let state = self.state.lock();
        let mut answers = state.answers.iter();
        answers.any(|(who, answer)| *who == by && answer == said)
    }

    /// Returns the unanswered questions.
    pub(crate) fn pending(&self) -> Vec<PendingQuestion> {
        self.state.lock().standing.pending().to_vec()
    }

    /// Returns the status of the team itself.
    pub(crate) fn status(&self) -> TeamStatus {
        self.state.lock().standing.team()
    }

    /// Returns the status of a member, if the member was active in the current run.
    pub(crate) fn member_status(&self, route: &str) -> Option<AgentStatus> {
        self.state.lock().standing.member(route)
    }

    /// Drops the status of a removed member.
    pub(crate) fn forget_member(&self, route: &str) {
        self.state.lock().standing.forget_member(route);
    }

    /// Sets the status of a member as reported by an outside runtime.
    pub(crate) fn note_member(&self, route: &Arc<str>, status: AgentStatus) {
        self.state.lock().standing.set_member(route, status);
    }

    /// Sets the status of a team as reported by an outside runtime.
    pub(crate) fn note_team(&self, path: &[SubTeam], status: TeamStatus) {
        self.state.lock().standing.set_team(path, status);
    }

    /// Announces the shutdown of the hub to viewers if a run exists. No team becomes idle afterwards.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        state.standing.stop();
        if state.run.is_none() {
            return;
        }
        let old = state.standing.set_team(&[], TeamStatus::ShuttingDown);
        let body = EventBody::Team {
            new: TeamStatus::ShuttingDown,
            old,
            error: None,
        };
        self.append(&mut state, [].into(), Arc::new(body), None);
    }

    /// Increments the version of the current run after a change of the team.
    pub(crate) fn bump_version(&self) {
        let mut state = self.state.lock();
        if let Some(run) = &state.run {
            state.run = Some(Arc::new(TeamRun {
                version: run.version + 1,
                id: run.id.clone(),
                ..**run
            }));
        }
    }

    /// Ends the run if no call is open and no event arrived since `before`. Drops all events of the run.
    pub(crate) fn end_if_idle(&self, before: Instant) {
        let mut state = self.state.lock();
        if state.run.is_some() && state.calls.is_empty() && state.moved < before {
            state.run = None;
            state.sequence = 0;
            state.standing.clear();
            state.answers.clear();
            let freed = state.ring.clear();
            self.pool.held.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    /// Closes the feed of a removed team and wakes all viewers.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.ring.wake_all();
    }

    /// Returns the open calls of agents that lost their position in the tree. `is_there` tests a route key
    /// and an agent.
    pub(crate) fn displaced_calls(
        &self,
        is_there: impl Fn(&str, &AgentId) -> bool,
    ) -> Vec<Arc<Call>> {
        let state = self.state.lock();
        let calls = state.calls.iter();
        let calls = calls.filter_map(|seated| Some((&*seated.route, seated.call.upgrade()?)));
        calls
            .filter(|(route, call)| !is_there(route, &call.target))
            .map(|(_, call)| call)
            .collect()
    }

    /// Returns the open calls at or below `route` (all for `None`) whose caller satisfies `may`.
    pub(crate) fn calls(
        &self,
        route: Option<&str>,
        may: impl Fn(&CallerKey) -> bool,
    ) -> Vec<Arc<Call>> {
        let state = self.state.lock();
        let is_meant = |seated: &&FeedCall| {
            route.is_none_or(|route| is_at_or_below(&seated.route, route)) && may(&seated.caller)
        };
        let calls = state.calls.iter().filter(is_meant);
        calls.filter_map(|seated| seated.call.upgrade()).collect()
    }
}

impl CallPosition {
    /// Wraps an event of the member into a [`EventBody`].
    pub(crate) fn body_of(&self, event: MemberEvent) -> Arc<EventBody> {
        Arc::new(EventBody::Member {
            name: self.name.clone(),
            agent: self.agent.clone(),
            event,
        })
    }

    /// Returns `body` with the name of the member in the current feed. Reuses the [`Arc`] if the member has
    /// the same name.
    pub(crate) fn with_local_name(&self, body: &Arc<EventBody>) -> Arc<EventBody> {
        match &**body {
            EventBody::Member { name, event, .. } if *name != self.name => {
                self.body_of(event.clone())
            }
            _ => body.clone(),
        }
    }
}

/// Returns whether `route` equals `wanted` or lies below the team at `wanted`.
fn is_at_or_below(route: &str, wanted: &str) -> bool {
    route
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl FeedState {
    fn activate(&mut self) -> Arc<TeamRun> {
        let run = self.run.get_or_insert_with(|| Arc::new(TeamRun::new()));
        run.clone()
    }
}

impl Drop for EventFeed {
    fn drop(&mut self) {
        let freed = self.state.get_mut().ring.clear();
        self.pool.held.fetch_sub(freed, Ordering::Relaxed);
    }
}

/// Returns the approximate memory size of an event, including its rendered text.
fn weight(body: &EventBody) -> usize {
    const OWN: usize = 320;
    const RENDERED: usize = 640;
    OWN + RENDERED + 2 * body.text_len()
}

#[cfg(test)]
mod tests;
