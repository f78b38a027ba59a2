//! [`FakeAgent`]: an agent of a door that exists only in tests. It runs in the process of the hub, and the test drives it step by step.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use jackfield_core::{
    agent::{Closing, Link, Profile},
    call::{AgentHandle, Call},
    hub::{Attached, Hub, Request},
    principal::Principal,
};
use jackfield_model::{AgentId, CallId, Message};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::SOON;

/// An attached agent whose calls the test answers.
#[derive(Debug)]
pub struct FakeAgent {
    link: Arc<FakeLink>,
    /// The agent's attachment to the hub; dropping it detaches the agent.
    pub attached: Attached,
}

#[derive(Debug, Default)]
struct FakeLink {
    calls: Mutex<VecDeque<AgentHandle>>,
    cancelled: Mutex<Vec<CallId>>,
    closed: Mutex<Option<Closing>>,
    changed: Notify,
    alive: AtomicBool,
    streams: bool,
}

impl Link for FakeLink {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        self.calls.lock().push_back(call);
        self.changed.notify_one();
        Ok(())
    }

    fn cancel(&self, call: &Arc<Call>) {
        self.cancelled.lock().push(call.id);
        self.changed.notify_one();
    }

    fn close(&self, why: Closing) {
        *self.closed.lock() = Some(why);
        self.changed.notify_one();
    }

    fn alive(&self, _: &Call) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    fn door(&self) -> &'static str {
        "local"
    }

    fn takes_streamed_input(&self) -> bool {
        self.streams
    }
}

impl FakeAgent {
    /// Attaches an agent that accepts complete messages only.
    pub fn attach(hub: &Hub, id: &str) -> Self {
        Self::attach_as(hub, &Principal::local(), id, false)
    }

    /// Attaches an agent for a [`Principal`]; with `streams` the agent accepts streamed messages.
    pub fn attach_as(hub: &Hub, principal: &Principal, id: &str, streams: bool) -> Self {
        let link = Arc::new(FakeLink {
            streams,
            ..FakeLink::default()
        });
        let id = AgentId::parse(id).expect("an id");
        let profile = Profile {
            name: id.to_string(),
            ..Profile::default()
        };
        let attached = hub
            .agents()
            .attach(principal, &id, profile, link.clone(), false)
            .expect("the id is free");
        Self { link, attached }
    }

    /// Waits for the next call.
    pub async fn call(&self) -> AgentHandle {
        self.until(|link| link.calls.lock().pop_front()).await
    }

    /// Waits for the next cancelled call, and returns its [`CallId`].
    pub async fn cancelled(&self) -> CallId {
        self.until(|link| link.cancelled.lock().pop()).await
    }

    /// Waits until the link is closed, and returns the reason.
    pub async fn closed(&self) -> Closing {
        self.until(|link| link.closed.lock().take()).await
    }

    async fn until<T>(&self, mut look: impl FnMut(&FakeLink) -> Option<T>) -> T {
        let wait = async {
            loop {
                if let Some(found) = look(&self.link) {
                    return found;
                }
                self.link.changed.notified().await;
            }
        };
        tokio::time::timeout(SOON, wait)
            .await
            .expect("nothing came in time")
    }
}

/// Creates a [`Request`] of the owner `local` through the test door.
pub fn fake_request(target: &str, text: &str) -> Request {
    let target = AgentId::parse(target).expect("an id");
    Request::new(Principal::local(), "local", target, Message::text(text))
}
