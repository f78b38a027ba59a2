//! An agent whose part the test plays.

use std::sync::Arc;

use jackfield_core::{
    agent::{Closing, Link, Profile},
    call::{AgentHandle, Call},
    entry::Entry,
    hub::{Attached, Hub},
    principal::Principal,
};
use jackfield_model::{AgentId, CallId};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::soon;

/// How an agent is attached.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// The door that it came through.
    pub door: &'static str,
    /// Whether its line shows signs of life all the time.
    pub is_lively: bool,
    /// Whether it cannot tell the requests of a session apart.
    pub one_call_per_session: bool,
}

#[derive(Debug)]
struct Mailbox {
    calls: Sender<AgentHandle>,
    cancels: Sender<CallId>,
    closes: Sender<Closing>,
    manner: Manner,
}

impl Link for Mailbox {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        self.calls
            .try_send(call)
            .map_err(mpsc::error::TrySendError::into_inner)
    }

    fn cancel(&self, call: &Arc<Call>) {
        self.cancels.try_send(call.id).ok();
    }

    fn close(&self, why: Closing) {
        self.closes.try_send(why).ok();
    }

    fn alive(&self, _: &Call) -> bool {
        self.manner.is_lively
    }

    fn door(&self) -> &'static str {
        self.manner.door
    }

    fn one_call_per_session(&self) -> bool {
        self.manner.one_call_per_session
    }
}

/// An agent whose part the test plays. Dropping it hangs up.
#[derive(Debug)]
pub struct Scripted {
    attached: Option<Attached>,
    delivered: Receiver<AgentHandle>,
    cancelled: Receiver<CallId>,
    closed: Receiver<Closing>,
}

impl Scripted {
    /// Attaches an agent of the principal's.
    pub fn attach(
        hub: &Hub,
        principal: &Principal,
        id: &str,
        profile: Profile,
        manner: Manner,
    ) -> Self {
        let (calls, delivered) = mpsc::channel(16);
        let (cancels, cancelled) = mpsc::channel(16);
        let (closes, closed) = mpsc::channel(16);
        let link = Arc::new(Mailbox {
            calls,
            cancels,
            closes,
            manner,
        });
        let id = AgentId::parse(id).unwrap();
        let attached = hub.agents().attach(principal, &id, profile, link, false);
        Self {
            attached: Some(attached.unwrap()),
            delivered,
            cancelled,
            closed,
        }
    }

    /// How the hub knows it, while it is attached.
    pub fn entry(&self) -> &Arc<Entry> {
        self.attached.as_ref().unwrap().entry()
    }

    /// Hangs up.
    pub fn leave(&mut self) {
        self.attached = None;
    }

    /// The next call that is written to it.
    pub async fn next_call(&mut self) -> AgentHandle {
        soon(self.delivered.recv()).await.unwrap()
    }

    /// Whether no call has been written to it.
    pub fn has_nothing_to_do(&self) -> bool {
        self.delivered.is_empty()
    }

    /// The next call that it is told to stop.
    pub async fn next_cancel(&mut self) -> CallId {
        soon(self.cancelled.recv()).await.unwrap()
    }

    /// Why it is told to go.
    pub async fn next_close(&mut self) -> Closing {
        soon(self.closed.recv()).await.unwrap()
    }
}
