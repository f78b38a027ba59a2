//! The state that connections of one program hand on when they resume each other: the calls made by the
//! program, the frames written of their replies, and the answered requests. A connection that cannot be
//! resumed has a [`Lineage`] of its own.
//!
//! A call made by the program continues as long as the program may reconnect. Frames of its reply have no
//! numbers, but arrive in order, so an agent can count them. An agent that reports its count in
//! `register.resume.calls` gets the missing frames again, and a call with lost frames fails: no frame is lost
//! silently or doubled. An agent that does not count gets no frame again that was written to its old
//! connection.

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
use jackfield_kit::files::Files;
use jackfield_model::{AgentId, Failure, Reason};
use jackfield_wire::bridge::uplink::CallProgress;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

pub(crate) use self::answered::AnsweredRequest;
use self::{answered::AnsweredHistory, tail::ReplyTail};
use crate::{
    agent_call::{AgentCall, error_frame},
    link::BridgeLink,
};

/// The shared state of connections that resume each other.
#[derive(Debug)]
pub(crate) struct Lineage {
    /// Hash of the resume token; `None` if the connections cannot be resumed.
    token: Option<String>,
    state: Mutex<LineageState>,
    /// Notified when a new connection takes over, or none will.
    moved: Notify,
}

#[derive(Debug, Default)]
struct LineageState {
    /// Number of the current connection. Operations of older connections are ignored.
    reader: u64,
    /// Calls that the agent made.
    calls: HashMap<Arc<str>, AgentCall>,
    tail: ReplyTail,
    answered: AnsweredHistory,
    /// Calls that the agent worked on when its connection was lost.
    parked: Vec<Arc<Call>>,
}

/// The state that a new connection takes over.
#[derive(Debug, Default)]
pub(crate) struct Takeover {
    /// Number of the connection.
    pub(crate) reader: u64,
    /// Calls whose replies the connection reads from now on.
    pub(crate) calls: Vec<Arc<str>>,
    /// Frames that the connection writes again.
    pub(crate) frames: Vec<String>,
    /// Calls that the agent worked on when its connection was lost.
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

    /// Hands the state to a new connection. `listed` holds the agent's frame counts for its calls, if the
    /// agent counts.
    fn take_over(&self, listed: Option<&[CallProgress<'_>]>) -> Takeover {
        let mut state = self.state.lock();
        state.reader += 1;
        let (frames, unwanted) = listed.map_or_else(Default::default, |listed| state.sort(listed));
        let found = Takeover {
            reader: state.reader,
            calls: state.calls.keys().cloned().collect(),
            frames,
            parked: std::mem::take(&mut state.parked),
        };
        drop(state);
        self.moved.notify_waiters();
        // Dropping them cancels the calls.
        drop(unwanted);
        found
    }

    /// Waits until a new connection has taken over from `reader`, or none will.
    pub(crate) async fn superseded(&self, reader: u64) {
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

    /// Ends the lineage: the calls that the agent made are cancelled.
    fn close(&self) {
        let mut state = self.state.lock();
        let reader = state.reader + 1;
        let over = std::mem::replace(
            &mut *state,
            LineageState {
                reader,
                ..LineageState::default()
            },
        );
        drop(state);
        self.moved.notify_waiters();
        drop(over);
    }

    /// Stores the calls that the agent worked on when its connection was lost.
    pub(crate) fn park(&self, reader: u64, calls: Vec<Arc<Call>>) {
        if let Some(mut state) = self.as_reader(reader) {
            state.parked = calls;
        }
    }

    fn as_reader(&self, reader: u64) -> Option<parking_lot::MutexGuard<'_, LineageState>> {
        let state = self.state.lock();
        (state.reader == reader).then_some(state)
    }
}

/// Calls that the agent made.
impl Lineage {
    /// Returns whether the agent has an open call with this id.
    pub(crate) fn has_call(&self, call_id: &str) -> bool {
        self.state.lock().calls.contains_key(call_id)
    }

    /// Adds a call ([`Asking`]) of the agent. A call on a connection that was taken over is dropped, and so
    /// cancelled.
    pub(crate) fn add(&self, reader: u64, call_id: &Arc<str>, asking: CallerHandle, links: &Files) {
        if let Some(mut state) = self.as_reader(reader) {
            state.tail.forget(call_id);
            let calling = AgentCall::new(call_id.clone(), asking, links);
            state.calls.insert(call_id.clone(), calling);
        }
    }

    /// Sets the handle to notify about the reply of a call, and the gate to close when the call's input is
    /// full.
    pub(crate) fn listen(
        &self,
        reader: u64,
        call_id: &str,
        ready_handle: ReadyHandle,
        gate: Arc<Gate>,
    ) {
        if let Some(state) = self.as_reader(reader)
            && let Some(calling) = state.calls.get(call_id)
        {
            calling.listen(ready_handle, gate);
        }
    }

    /// Writes the available reply of a call. Returns `true` once the call is over.
    pub(crate) fn read(
        &self,
        reader: u64,
        call_id: &Arc<str>,
        mut write: impl FnMut(&str),
    ) -> bool {
        let Some(mut state) = self.as_reader(reader) else {
            return true;
        };
        let LineageState { calls, tail, .. } = &mut *state;
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

    /// Records the error frame of a call that was refused.
    pub(crate) fn refused(&self, reader: u64, call_id: &str, frame: String) {
        if self.token.is_some()
            && let Some(mut state) = self.as_reader(reader)
            && !state.calls.contains_key(call_id)
        {
            state.tail.forget(call_id);
            state.tail.push(&call_id.into(), 1, frame, Instant::now());
        }
    }

    /// Drops frames old enough to have arrived.
    pub(crate) fn trim(&self, reader: u64) {
        if let Some(mut state) = self.as_reader(reader) {
            state.tail.trim(Instant::now());
        }
    }
}

impl LineageState {
    /// Returns the frames to write again, and each [`AgentCall`] that ends here: calls that the agent does not
    /// know (any more), and calls with lost frames.
    fn sort(&mut self, listed: &[CallProgress<'_>]) -> (Vec<String>, Vec<AgentCall>) {
        let mut lost = HashSet::new();
        for CallProgress { call_id, got } in listed {
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
    /// Records an [`AnsweredRequest`] request.
    pub(crate) fn note_answered(&self, reader: u64, answered: AnsweredRequest) {
        if self.token.is_some()
            && let Some(mut state) = self.as_reader(reader)
        {
            state.answered.push(answered);
        }
    }

    /// Returns the last [`AnsweredRequest`] request with this id.
    pub(crate) fn answered(&self, request: &str) -> Option<AnsweredRequest> {
        self.state.lock().answered.find(request).cloned()
    }
}

/// The [`Lineage`] of each agent of the door whose connection may be resumed.
#[derive(Debug, Default)]
pub(crate) struct Lineages(Mutex<HashMap<AgentId, Arc<Lineage>>>);

impl Lineages {
    /// Returns the lineage of a newly registered connection, and the state to take over. A connection that
    /// resumes gets the previous lineage if the hub still knows it. Otherwise it gets a new one, which ends
    /// the previous one. Returns `None` if a newer connection holds the agent.
    pub(crate) fn join(
        &self,
        attached: &Attached,
        link: &Arc<BridgeLink>,
        token: Option<String>,
        listed: Option<&[CallProgress<'_>]>,
    ) -> Option<(Arc<Lineage>, Takeover)> {
        let id = &link.id;
        let mut lineages = self.0.lock();
        // Under the lock, so that of two connections the newer one wins here too.
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
            ended.close();
        }
        Some((lineage, found))
    }

    /// Ends a lineage after its last connection. Returns `false` if a newer connection has taken over.
    pub(crate) fn end(&self, id: &AgentId, lineage: &Arc<Lineage>, reader: u64) -> bool {
        let mut lineages = self.0.lock();
        // Under the lock: a connection that takes over now has found the lineage, or no longer finds it.
        if lineage.as_reader(reader).is_none() {
            return false;
        }
        if lineages
            .get(id)
            .is_some_and(|kept| Arc::ptr_eq(kept, lineage))
        {
            lineages.remove(id);
        }
        drop(lineages);
        lineage.close();
        true
    }
}
