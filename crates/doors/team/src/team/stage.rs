//! Where a team's run is shown: every event is numbered once, here, and kept in a ring that viewers read by cursor. An
//! event costs the one who makes it a lock and a push, whoever watches; a viewer that lags holds back what it has not
//! read up to a limit, and is told what it missed beyond that.

mod ring;
mod standing;
mod viewing;

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use jackfield_core::{call::Call, limits::Limits, principal::Principal, task::IdempotencyKey};
use jackfield_model::{AgentId, Ask, CallId};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

pub use self::{
    ring::Missed,
    standing::{Asked, Pending},
    viewing::{Seen, Since, ViewerId, Viewing},
};
use self::{ring::Ring, standing::Standing};
use super::event::{AgentStatus, Body, Caller, Invocation, MemberEvent, Node, TeamStatus};

/// How many answers of viewers are remembered, in case that they are sent again.
const ANSWERS: usize = 64;

/// One activation of a team.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: Arc<str>,
    /// How often the team was changed within it, from 1 on.
    pub version: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// What the ids of its events begin with.
    base: u128,
}

impl Run {
    fn new() -> Self {
        let id = Uuid::now_v7();
        Self {
            id: format!("run_{}", id.simple()).into(),
            version: 1,
            started_at: Timestamp::now(),
            // Room for the numbers of events, and below them for the levels of each.
            base: Uuid::new_v4().as_u128() & !((1 << 62) - 1),
        }
    }

    fn event_id(&self, sequence: u64) -> u128 {
        self.base | (u128::from(sequence) << 8)
    }
}

/// One event of a run.
#[derive(Debug)]
pub struct Told {
    /// The run.
    pub run: Arc<Run>,
    /// Its number in the run, from 1 on.
    pub sequence: u64,
    /// When it came.
    pub at: Timestamp,
    /// An id that no other has; the lowest eight bits are free for those who need several.
    pub id: u128,
    /// The teams on the way to where it happened, outermost first; none if in the team itself.
    pub path: Arc<[Node]>,
    /// What it is about.
    pub body: Arc<Body>,
    /// Whose call led to it, if one did.
    caller: Option<Caller>,
    weight: usize,
    rendered: OnceLock<Box<str>>,
}

impl Told {
    /// The event as the door writes it, made by the first viewer that wants it and kept for the others.
    pub fn rendered(&self, write: impl FnOnce(&Self) -> String) -> &str {
        self.rendered.get_or_init(|| write(self).into_boxed_str())
    }

    /// Whether it came of a call that the principal may act for.
    fn is_of(&self, principal: &Principal) -> bool {
        let caller = self.caller.as_ref();
        caller.is_some_and(|caller| caller.is(principal))
    }
}

/// What all stages of a hub share.
#[derive(Debug, Default)]
pub(crate) struct Theatre {
    /// The bytes in all rings together.
    held: AtomicUsize,
    next_viewer: AtomicU64,
}

impl Theatre {
    /// The bytes in all rings together.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn new_viewer(&self) -> u64 {
        self.next_viewer.fetch_add(1, Ordering::Relaxed)
    }
}

/// Where a team's run, or what one agent does, is shown.
#[derive(Debug)]
pub struct Stage {
    /// The team, or the agent.
    pub(crate) of: AgentId,
    theatre: Arc<Theatre>,
    sizes: Sizes,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// What is kept for viewers that lag.
    ring: usize,
    /// What is kept for viewers that come (back).
    tail: usize,
    /// What is kept when all stages together hold too much.
    least: usize,
    /// What all stages together may hold before that.
    total: usize,
}

#[derive(Debug)]
struct State {
    run: Option<Arc<Run>>,
    sequence: u64,
    ring: Ring,
    standing: Standing,
    calls: Vec<Seated>,
    /// The last messages that were answers, by who said them.
    answers: VecDeque<(String, IdempotencyKey)>,
    /// When the last call ended, or something came that no call did: as long as one is open, nothing rests.
    moved: Instant,
    is_closed: bool,
}

/// An open call on a stage.
#[derive(Debug)]
struct Seated {
    id: CallId,
    call: Weak<Call>,
    route: Arc<str>,
    caller: Caller,
}

/// Where on a stage something happens.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    pub(crate) path: Arc<[Node]>,
    pub(crate) name: Arc<str>,
    pub(crate) route: Arc<str>,
    pub(crate) agent: AgentId,
    pub(crate) caller: Caller,
}

impl Stage {
    pub(crate) fn new(of: AgentId, theatre: Arc<Theatre>, limits: &Limits) -> Arc<Self> {
        let sizes = Sizes {
            ring: limits.team_ring.0,
            tail: limits.team_tail.0,
            least: limits.team_tail.0 / 16,
            total: limits.team_rings.0,
        };
        Arc::new(Self {
            of,
            theatre,
            sizes,
            state: Mutex::new(State {
                run: None,
                sequence: 0,
                ring: Ring::default(),
                standing: Standing::default(),
                calls: Vec::new(),
                answers: VecDeque::new(),
                moved: Instant::now(),
                is_closed: false,
            }),
        })
    }

    /// The run, if there is one, and the number of its last event.
    pub fn run(&self) -> Option<(Arc<Run>, u64)> {
        let state = self.state.lock();
        state.run.clone().map(|run| (run, state.sequence))
    }

    /// The run; a new one begins if there is none.
    pub(crate) fn activate(&self) -> Arc<Run> {
        self.state.lock().activate()
    }

    /// Whether somebody would see or could still see what is told here.
    pub(crate) fn is_active(&self) -> bool {
        let state = self.state.lock();
        state.run.is_some() || state.ring.has_viewers()
    }

    /// Shows something that no call of the hub did.
    pub(crate) fn tell(&self, path: &Arc<[Node]>, body: Arc<Body>) -> u64 {
        let mut state = self.state.lock();
        state.moved = Instant::now();
        if let Body::Team { new, .. } = &*body {
            state.standing.set_team(path, *new);
        }
        self.append(&mut state, path.clone(), body, None)
    }

    fn append(
        &self,
        state: &mut State,
        path: Arc<[Node]>,
        body: Arc<Body>,
        caller: Option<Caller>,
    ) -> u64 {
        let run = state.activate();
        state.sequence += 1;
        let weight = weight(&body);
        let told = Told {
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
        let is_tight = self.theatre.held() > self.sizes.total;
        let tail = if is_tight {
            self.sizes.least
        } else {
            self.sizes.tail
        };
        let told = Arc::new(told);
        state.standing.shown(&told);
        state.ring.push(told);
        let freed = state.ring.trim(tail, self.sizes.ring);
        self.theatre.held.fetch_add(weight, Ordering::Relaxed);
        self.theatre.held.fetch_sub(freed, Ordering::Relaxed);
        state.sequence
    }

    /// A call of a member begins.
    pub(crate) fn enter(&self, call: &Arc<Call>, spot: &Spot) {
        let mut state = self.state.lock();
        state.calls.push(Seated {
            id: call.id,
            call: Arc::downgrade(call),
            route: spot.route.clone(),
            caller: spot.caller.clone(),
        });
        let begun = state.standing.enter(spot);
        self.show_teams(&mut state, spot, begun, TeamStatus::Running);
    }

    /// A call of a member has ended, and all that it did was shown.
    pub(crate) fn leave(&self, call: CallId, spot: &Spot) {
        let mut state = self.state.lock();
        state.moved = Instant::now();
        state.calls.retain(|seated| seated.id != call);
        state.standing.forget_asks(call);
        let ended = state.standing.leave(spot);
        self.show_teams(&mut state, spot, ended, TeamStatus::Idle);
    }

    fn show_teams(
        &self,
        state: &mut State,
        spot: &Spot,
        changed: Vec<(usize, Option<TeamStatus>)>,
        new: TeamStatus,
    ) {
        for (length, old) in changed {
            let body = Body::Team {
                new,
                old,
                error: None,
            };
            let path = spot.path[..length].into();
            self.append(state, path, Arc::new(body), Some(spot.caller.clone()));
        }
    }

    /// A member does something.
    pub(crate) fn show(&self, spot: &Spot, body: &Arc<Body>) {
        let mut state = self.state.lock();
        self.append(
            &mut state,
            spot.path.clone(),
            body.clone(),
            Some(spot.caller.clone()),
        );
    }

    /// A call of a member says how that one is doing, which is shown if it is new.
    pub(crate) fn show_status(
        &self,
        spot: &Spot,
        new: AgentStatus,
        tool: Option<&Arc<str>>,
        error: Option<&String>,
    ) {
        let mut state = self.state.lock();
        if let Some(event) = state.standing.change(spot, new, tool, error) {
            let body = spot.does(event);
            let caller = Some(spot.caller.clone());
            self.append(&mut state, spot.path.clone(), body, caller);
        }
    }

    /// A member's call asks something that a viewer may answer.
    pub(crate) fn ask(&self, spot: &Spot, call: &Arc<Call>, asked: Asked, ask: &Ask) {
        let mut state = self.state.lock();
        let told = state.ring.segment(spot, &asked.of.id);
        state.standing.ask(Pending {
            route: spot.route.clone(),
            told,
            asked,
            call: Arc::downgrade(call),
            call_id: call.id,
            ask: ask.id.clone(),
            kind: ask.kind,
            caller: spot.caller.clone(),
        });
    }

    /// It was answered.
    pub(crate) fn answered(&self, call: CallId, of: &Invocation) {
        self.state.lock().standing.answered(call, of);
    }

    /// What this one said was the answer that a member waited for.
    pub(crate) fn note_answer(&self, by: &Principal, said: IdempotencyKey) {
        let answers = &mut self.state.lock().answers;
        if answers.len() == ANSWERS {
            answers.pop_front();
        }
        answers.push_back((by.key(), said));
    }

    /// Whether it was, lately.
    pub(crate) fn was_answer(&self, by: &Principal, said: &IdempotencyKey) -> bool {
        let by = by.key();
        let state = self.state.lock();
        let mut answers = state.answers.iter();
        answers.any(|(who, answer)| *who == by && answer == said)
    }

    /// The questions that wait for an answer.
    pub(crate) fn pending(&self) -> Vec<Pending> {
        self.state.lock().standing.pending().to_vec()
    }

    /// What the team itself is doing.
    pub(crate) fn status(&self) -> TeamStatus {
        self.state.lock().standing.team()
    }

    /// What a member is doing, as far as it did anything in this run.
    pub(crate) fn member_status(&self, route: &str) -> Option<AgentStatus> {
        self.state.lock().standing.member(route)
    }

    /// A member is none any more.
    pub(crate) fn forget_member(&self, route: &str) {
        self.state.lock().standing.forget_member(route);
    }

    /// An outside runtime says how a member is doing.
    pub(crate) fn note_member(&self, route: &Arc<str>, status: AgentStatus) {
        self.state.lock().standing.set_member(route, status);
    }

    /// An outside runtime says how a team is doing.
    pub(crate) fn note_team(&self, path: &[Node], status: TeamStatus) {
        self.state.lock().standing.set_team(path, status);
    }

    /// The hub stops: the team is told, and nothing in it becomes idle after this. Only if there is a run.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        state.standing.stop();
        if state.run.is_none() {
            return;
        }
        let old = state.standing.set_team(&[], TeamStatus::ShuttingDown);
        let body = Body::Team {
            new: TeamStatus::ShuttingDown,
            old,
            error: None,
        };
        self.append(&mut state, [].into(), Arc::new(body), None);
    }

    /// The team was changed: what comes next is of another version of the run.
    pub(crate) fn changed(&self) {
        let mut state = self.state.lock();
        if let Some(run) = &state.run {
            state.run = Some(Arc::new(Run {
                version: run.version + 1,
                id: run.id.clone(),
                ..**run
            }));
        }
    }

    /// Ends a run in which nothing has happened since `before`, and forgets what it showed.
    pub(crate) fn rest(&self, before: Instant) {
        let mut state = self.state.lock();
        if state.run.is_some() && state.calls.is_empty() && state.moved < before {
            state.run = None;
            state.sequence = 0;
            state.standing.rest();
            state.answers.clear();
            let freed = state.ring.clear();
            self.theatre.held.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    /// The team is removed: its viewers are told.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.ring.ring_all();
    }

    /// The open calls here of an agent at a place that it does not have any more.
    pub(crate) fn unseated(&self, is_there: impl Fn(&str, &AgentId) -> bool) -> Vec<Arc<Call>> {
        let state = self.state.lock();
        let calls = state.calls.iter();
        let calls = calls.filter_map(|seated| Some((&*seated.route, seated.call.upgrade()?)));
        calls
            .filter(|(route, call)| !is_there(route, &call.target))
            .map(|(_, call)| call)
            .collect()
    }

    /// The open calls here that lead to `route`, or all of them, and that `may` says may be stopped.
    pub(crate) fn calls(
        &self,
        route: Option<&str>,
        may: impl Fn(&Caller) -> bool,
    ) -> Vec<Arc<Call>> {
        let state = self.state.lock();
        let is_meant = |seated: &&Seated| {
            route.is_none_or(|route| is_at_or_below(&seated.route, route)) && may(&seated.caller)
        };
        let calls = state.calls.iter().filter(is_meant);
        calls.filter_map(|seated| seated.call.upgrade()).collect()
    }
}

impl Spot {
    /// What the member there does, as the stage shows it.
    pub(crate) fn does(&self, event: MemberEvent) -> Arc<Body> {
        Arc::new(Body::Member {
            name: self.name.clone(),
            agent: self.agent.clone(),
            event,
        })
    }

    /// What a member does, under its name here; the same, where it has the same name on another stage.
    pub(crate) fn named_in(&self, body: &Arc<Body>) -> Arc<Body> {
        match &**body {
            Body::Member { name, event, .. } if *name != self.name => self.does(event.clone()),
            _ => body.clone(),
        }
    }
}

/// Whether a route is that of a member, or leads through that of a team.
fn is_at_or_below(route: &str, wanted: &str) -> bool {
    route
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl State {
    fn activate(&mut self) -> Arc<Run> {
        let run = self.run.get_or_insert_with(|| Arc::new(Run::new()));
        run.clone()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let freed = self.state.get_mut().ring.clear();
        self.theatre.held.fetch_sub(freed, Ordering::Relaxed);
    }
}

/// About what an event takes in memory, with its rendering.
fn weight(body: &Body) -> usize {
    const OWN: usize = 320;
    const RENDERED: usize = 640;
    OWN + RENDERED + 2 * body.text_len()
}

#[cfg(test)]
mod tests;
