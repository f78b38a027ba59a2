//! [`Scripted`]: an agent in the process of the hub, whose calls the test answers step by step.

use std::sync::Arc;

use jackfield_core::{
    agent::{Closing, Link, Profile},
    call::{AgentHandle, Call},
    entry::Entry,
    hub::{Attached, Hub},
    principal::Principal,
};
use jackfield_model::{AgentId, CallId, End, Event, Skill};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::soon;

/// Largest number of calls that wait for the test: as many as the hub opens at one agent.
const PENDING: usize = 64;

/// The properties of an agent's [`Link`].
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// The door of the agent.
    pub door: &'static str,
    /// Whether the connection shows signs of life all the time.
    pub is_lively: bool,
    /// Whether the agent cannot tell the requests of a session apart.
    pub one_call_per_session: bool,
    /// Whether the agent takes messages that are still being written.
    pub takes_streamed_input: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            door: "local",
            is_lively: true,
            one_call_per_session: false,
            takes_streamed_input: false,
        }
    }
}

/// An agent that is not attached yet: of `local`, with an empty profile, if the test says nothing else.
#[derive(Debug)]
#[must_use]
pub struct AgentBuilder<'a> {
    hub: &'a Hub,
    id: String,
    principal: Principal,
    profile: Profile,
    manner: Manner,
}

impl<'a> AgentBuilder<'a> {
    /// Creates a builder for an agent with this id.
    pub fn new(hub: &'a Hub, id: &str) -> Self {
        Self {
            hub,
            id: id.to_owned(),
            principal: Principal::local(),
            profile: Profile::default(),
            manner: Manner::default(),
        }
    }

    /// Attaches the agent for this principal.
    pub fn of(mut self, principal: &Principal) -> Self {
        self.principal = principal.clone();
        self
    }

    /// Gives the agent a profile.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Gives the agent the name `Agent ID` and one skill.
    pub fn named(mut self, skill: Skill) -> Self {
        self.profile.name = format!("Agent {}", self.id);
        self.profile.skills = vec![skill];
        self
    }

    /// Attaches the agent through this door.
    pub fn door(mut self, door: &'static str) -> Self {
        self.manner.door = door;
        self
    }

    /// Replaces the properties of the link.
    pub fn manner(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }

    /// Attaches the agent.
    pub fn attach(self) -> Scripted {
        Scripted::attach(
            self.hub,
            &self.principal,
            &self.id,
            self.profile,
            self.manner,
        )
    }
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

    fn takes_streamed_input(&self) -> bool {
        self.manner.takes_streamed_input
    }
}

/// An attached agent whose calls the test answers. Dropping it detaches the agent.
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
        let (calls, delivered) = mpsc::channel(PENDING);
        let (cancels, cancelled) = mpsc::channel(PENDING);
        let (closes, closed) = mpsc::channel(PENDING);
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

/// Answers a call with a text.
pub fn answer_text(call: AgentHandle, text: &str) {
    call.push(Event::text(text));
    call.finish(End::done());
}
