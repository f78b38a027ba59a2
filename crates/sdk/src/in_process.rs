//! Attaches an [`Agent`] to a hub in the same process, as a link of the hub and without a socket. One task
//! receives the calls from the inbox; each call has a task of its own (`served`).

mod calls;
mod served;
mod translate;

use std::sync::Arc;

use jackfield_core::{
    agent::Closing,
    call::AgentHandle,
    hub::{Attached, Hub},
    inbox::Inbox,
    principal::Principal,
};
use jackfield_model::{AgentId, Failure};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{Agent, Error};

/// Protocol name of in-process agents, for people and metrics.
const DOOR: &str = "local";

/// Handle of an agent attached to a hub in this process. Dropping the handle detaches the agent: its calls
/// fail, and its handlers are dropped at their current await points.
#[derive(Debug)]
pub struct InProcess {
    // Dropped first, so that callers see the agent as gone instead of each call as abandoned.
    _attached: Attached,
    inbox: Arc<Inbox>,
    _serving: JoinSet<()>,
}

impl Agent {
    /// Attaches the agent to a hub in this process, as an agent of the owner `local`. Handlers run in the
    /// current runtime.
    ///
    /// # Panics
    ///
    /// Panics outside of a Tokio runtime.
    pub fn attach_to(self, hub: &Hub) -> Result<InProcess, Error> {
        self.attach_as(hub, &Principal::local())
    }

    /// Like [`attach_to`](Self::attach_to), as an agent of the given [`Principal`].
    ///
    /// # Panics
    ///
    /// Panics outside of a Tokio runtime.
    pub fn attach_as(self, hub: &Hub, principal: &Principal) -> Result<InProcess, Error> {
        let id = AgentId::parse(&self.id).map_err(|error| Error::Refused {
            status: 0,
            code: "invalid".to_owned(),
            cause: None,
            field: None,
            message: error.to_string(),
        })?;
        // Always alive: an in-process agent has no connection to lose.
        let (inbox, delivered) = Inbox::new(DOOR, hub.limits(), true);
        let profile = translate::profile_of(&self);
        let attached = hub
            .agents()
            .attach(principal, &id, profile, inbox.clone(), false)
            .map_err(refused)?;
        let desk = Arc::new(served::InProcessAgent {
            hub: hub.clone(),
            principal: principal.as_agent(id),
            agent: self,
        });
        let mut serving = JoinSet::new();
        serving.spawn(serve_all(desk, delivered));
        Ok(InProcess {
            _attached: attached,
            inbox,
            _serving: serving,
        })
    }
}

fn refused(failure: Failure) -> Error {
    Error::Refused {
        status: 0,
        code: failure.reason.name().to_owned(),
        cause: failure.cause.map(|cause| cause.name().to_owned()),
        field: None,
        message: failure.text.into_owned(),
    }
}

impl InProcess {
    /// Resolves when the hub has ended the attachment for good: replaced (4001), revoked (4002) or stopping
    /// (1001). Returns [`Error::Closed`].
    pub async fn closed(&self) -> Error {
        let (code, reason) = match self.inbox.closed().await {
            Closing::Replaced => (4001, "a newer connection of this agent took over"),
            Closing::Revoked => (4002, "the token was revoked, or the agent was removed"),
            Closing::Stopping => (1001, "the hub is stopping"),
        };
        Error::Closed {
            code,
            reason: reason.to_owned(),
        }
    }
}

async fn serve_all(desk: Arc<served::InProcessAgent>, mut delivered: mpsc::Receiver<AgentHandle>) {
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            call = delivered.recv() => match call {
                Some(serving) => drop(served.spawn(served::serve(desk.clone(), serving))),
                None => return,
            },
            Some(_) = served.join_next() => {}
        }
    }
}
