//! What the connections of one program hand on to each other when they resume: the calls that it made, what was written
//! of their replies, and the requests that it answered. A connection that cannot be resumed has a lineage of its own.
//!
//! A call that the program made goes on as long as somebody may come back for it. Frames of its reply have no numbers, but
//! arrive in order, so that an agent can count them: one that says in `register.resume.calls` how many it got is written
//! the others again, and a call of which some are no longer there fails. Nothing is lost in silence then, and nothing
//! doubled. To an agent that does not count, nothing is repeated that was written to its old connection.

mod answered;
mod tail;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jackfield_core::{
    call::{Call, CallerHandle},
    gate::Gate,
    hub::Attached,
    ready::ReadyHandle,
};
use jackfield_model::{AgentId, Failure, Reason};
use jackfield_wire::bridge::uplink::Got;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

pub(crate) use self::answered::Answered;
use self::{answered::Ring, tail::Tail};
use crate::{
    calling::{Calling, error_frame},
    link::BridgeLink,
};

/// What the connections of one program hand on to each other.
#[derive(Debug)]
pub(crate) struct Lineage {
    /// The hash of the token that they show; nothing if they cannot resume.
    token: Option<String>,
    state: Mutex<State>,
    /// Another connection reads, or none will.
    moved: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the connection that reads and writes now. What others do comes too late.
    reader: u64,
    /// Calls that the agent made.
    calls: HashMap<Arc<str>, Calling>,
    tail: Tail,
    answered: Ring,
    /// Calls that the agent worked on when its connection was lost.
    parked: Vec<Arc<Call>>,
}

/// What a connection finds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Its number.
    pub(crate) reader: u64,
    /// The calls whose replies it reads from now on.
    pub(crate) calls: Vec<Arc<str>>,
    /// What it writes again of them.
    pub(crate) frames: Vec<String>,
    /// What the agent worked on when its connection was lost.
    pub(crate) parked: Vec<Arc<Call>>,
}

impl Lineage {
    fn new(token: Option<String>) -> Arc<Self> {
        Arc::new(Self {
            token,
            state: Mutex::default(),
            moved: Notify::new(),
        })
    }

    /// A connection takes over. `listed` is what its agent got of the calls that it made, if it counts.
    fn take_over(&self, listed: Option<&[Got<'_>]>) -> Found {
        let mut state = self.state.lock();
        state.reader += 1;
        let (frames, unwanted) = listed.map_or_else(Default::default, |listed| state.sort(listed));
        let found = Found {
            reader: state.reader,
            calls: state.calls.keys().cloned().collect(),
            frames,
            parked: std::mem::take(&mut state.parked),
        };
        drop(state);
        self.moved.notify_waiters();
        // Which cancels them.
        drop(unwanted);
        found
    }

    /// Resolves when another connection has taken over from this one, or nobody will.
    pub(crate) async fn moved_on(&self, reader: u64) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if self.state.lock().reader != reader {
                return;
            }
            moved.await;
        }
    }

    /// Nobody goes on with it: the calls that the agent made are cancelled.
    fn cut_off(&self) {
        let mut state = self.state.lock();
        let reader = state.reader + 1;
        let over = std::mem::replace(
            &mut *state,
            State {
                reader,
                ..State::default()
            },
        );
        drop(state);
        self.moved.notify_waiters();
        drop(over);
    }

    /// The agent's connection was lost while it worked on these.
    pub(crate) fn park(&self, reader: u64, calls: Vec<Arc<Call>>) {
        if let Some(mut state) = self.of(reader) {
            state.parked = calls;
        }
    }

    fn of(&self, reader: u64) -> Option<parking_lot::MutexGuard<'_, State>> {
        let state = self.state.lock();
        (state.reader == reader).then_some(state)
    }
}

/// Calls that the agent made.
impl Lineage {
    /// Whether the agent has a call of this id open.
    pub(crate) fn has_call(&self, call_id: &str) -> bool {
        self.state.lock().calls.contains_key(call_id)
    }

    /// The agent made a call. One that comes on a connection that was taken over from is dropped, and so cancelled.
    pub(crate) fn add(&self, reader: u64, call_id: &Arc<str>, asking: CallerHandle) {
        if let Some(mut state) = self.of(reader) {
            state.tail.forget(call_id);
            let calling = Calling::new(call_id.clone(), asking);
            state.calls.insert(call_id.clone(), calling);
        }
    }

    /// Who is rung when there is something to read of a call, and whose gate shows that its input is full.
    pub(crate) fn listen(&self, reader: u64, call_id: &str, rope: ReadyHandle, gate: Arc<Gate>) {
        if let Some(state) = self.of(reader)
            && let Some(calling) = state.calls.get(call_id)
        {
            calling.listen(rope, gate);
        }
    }

    /// Writes what there is of a reply. True once the call is over.
    pub(crate) fn read(
        &self,
        reader: u64,
        call_id: &Arc<str>,
        mut write: impl FnMut(&str),
    ) -> bool {
        let Some(mut state) = self.of(reader) else {
            return true;
        };
        let State { calls, tail, .. } = &mut *state;
        let Some(calling) = calls.get_mut(call_id) else {
            return true;
        };
        let mut frames = Vec::new();
        let is_over = calling.reply_frames(&mut frames);
        let now = Instant::now();
        for frame in frames {
            write(&frame);
            calling.written += 1;
            if self.token.is_some() {
                tail.push(call_id, calling.written, frame, now);
            }
        }
        let over = is_over.then(|| calls.remove(call_id));
        drop(state);
        drop(over);
        is_over
    }

    /// A call came to nothing before it was one: this frame says so.
    pub(crate) fn refused(&self, reader: u64, call_id: &str, frame: String) {
        if self.token.is_some()
            && let Some(mut state) = self.of(reader)
            && !state.calls.contains_key(call_id)
        {
            state.tail.forget(call_id);
            state.tail.push(&call_id.into(), 1, frame, Instant::now());
        }
    }

    /// Forgets frames that have arrived, as far as anybody can tell.
    pub(crate) fn trim(&self, reader: u64) {
        if let Some(mut state) = self.of(reader) {
            state.tail.trim(Instant::now());
        }
    }
}

impl State {
    /// What has to be written again, and the calls that come to their end here: those that the agent does not know (any
    /// more), and those of which something is lost.
    fn sort(&mut self, listed: &[Got<'_>]) -> (Vec<String>, Vec<Calling>) {
        let mut lost = HashSet::new();
        for Got { call_id, got } in listed {
            let open = self.calls.get(&**call_id).map(|calling| calling.written);
            let written = open.or_else(|| self.tail.last_of(call_id));
            let is_whole = written == Some(*got) || self.tail.has(call_id, got.saturating_add(1));
            if !is_whole {
                lost.insert(&**call_id);
            }
        }
        let got: HashMap<&str, u64> = listed
            .iter()
            .map(|listed| (&*listed.call_id, listed.got))
            .filter(|(id, _)| !lost.contains(id))
            .collect();
        let unwanted = self.calls.extract_if(|id, _| !got.contains_key(&**id));
        let unwanted = unwanted.map(|(_, calling)| calling).collect();
        self.tail
            .retain(|id, number| got.get(id).is_some_and(|got| number > *got));
        let text = "the hub does not know (all of) this call any more: it never came, or was cut off for too long";
        let failure = Failure::new(Reason::SessionUnknown, text);
        let mut frames = self.tail.frames();
        frames.extend(lost.into_iter().map(|id| error_frame(id, &failure)));
        (frames, unwanted)
    }
}

/// Requests that the agent answered.
impl Lineage {
    /// The agent ended a request with its frame of this number.
    pub(crate) fn note_answered(&self, reader: u64, answered: Answered) {
        if self.token.is_some()
            && let Some(mut state) = self.of(reader)
        {
            state.answered.push(answered);
        }
    }

    /// How the agent ended the last request of this id.
    pub(crate) fn answered(&self, request: &str) -> Option<Answered> {
        self.state.lock().answered.find(request).cloned()
    }
}

/// The lineage of each agent of this door whose connection may be resumed.
#[derive(Debug, Default)]
pub(crate) struct Lineages(Mutex<HashMap<AgentId, Arc<Lineage>>>);

impl Lineages {
    /// The lineage of a connection that has just registered, and what it finds there: that of the one before if it resumes
    /// and this hub still knows it, a new one if not, which ends the one before. Nothing if a newer connection has the agent.
    pub(crate) fn join(
        &self,
        attached: &Attached,
        link: &Arc<BridgeLink>,
        token: Option<String>,
        listed: Option<&[Got<'_>]>,
    ) -> Option<(Arc<Lineage>, Found)> {
        let id = &link.id;
        let mut lineages = self.0.lock();
        // Under the lock, so that of two connections the newer one has the last word here too.
        let held = attached.entry().link()?;
        if !BridgeLink::behind(&*held).is_some_and(|held| Arc::ptr_eq(&held, link)) {
            return None;
        }
        let before = lineages.remove(id);
        let (lineage, ended) = match before {
            Some(before) if attached.resumes() && before.token == token => (before, None),
            before => (Lineage::new(token), before),
        };
        if lineage.token.is_some() {
            lineages.insert(id.clone(), lineage.clone());
        }
        let found = lineage.take_over(listed);
        drop(lineages);
        if let Some(ended) = ended {
            ended.cut_off();
        }
        Some((lineage, found))
    }

    /// Nobody comes after this connection. False if somebody has come.
    pub(crate) fn end(&self, id: &AgentId, lineage: &Arc<Lineage>, reader: u64) -> bool {
        let mut lineages = self.0.lock();
        // Under the lock: whoever takes over now has found it there, or finds it no more.
        if lineage.of(reader).is_none() {
            return false;
        }
        if lineages
            .get(id)
            .is_some_and(|kept| Arc::ptr_eq(kept, lineage))
        {
            lineages.remove(id);
        }
        drop(lineages);
        lineage.cut_off();
        true
    }
}
