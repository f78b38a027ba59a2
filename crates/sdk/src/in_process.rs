//! How an agent is reached by a hub of the same process: it is a link of that hub, and no socket lies between. One task
//! takes the calls out of the inbox, one serves each of them (`served`).

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

/// The door that such agents come through, for people and metrics.
const DOOR: &str = "local";

/// An agent that is attached to a hub of this process. Dropping it detaches the agent: its calls fail, and its handlers
/// are dropped where they wait.
#[derive(Debug)]
pub struct InProcess {
    // First, so that callers hear that the agent is gone, and not that it gave up each of their calls.
    _attached: Attached,
    inbox: Arc<Inbox>,
    _serving: JoinSet<()>,
}

impl Agent {
    /// Attaches to a hub of this process, as an agent of the owner `local`. Handlers run in the runtime in which this is
    /// called.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub fn attach_to(self, hub: &Hub) -> Result<InProcess, Error> {
        self.attach_as(hub, &Principal::local())
    }

    /// Like [`attach_to`](Self::attach_to), as an agent of somebody else.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub fn attach_as(self, hub: &Hub, principal: &Principal) -> Result<InProcess, Error> {
        let id = AgentId::parse(&self.id).map_err(|error| Error::Refused {
            status: 0,
            code: "invalid".to_owned(),
            message: error.to_string(),
        })?;
        // There is no line that could be cut.
        let (inbox, delivered) = Inbox::new(DOOR, hub.limits(), true);
        let profile = translate::profile_of(&self);
        let attached = hub
            .agents()
            .attach(principal, &id, profile, inbox.clone(), false)
            .map_err(refused)?;
        let desk = Arc::new(served::Desk {
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
        message: failure.text.into_owned(),
    }
}

impl InProcess {
    /// Resolves when the hub has ended it for good: replaced (4001), revoked (4002) or stopping (1001).
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

async fn serve_all(desk: Arc<served::Desk>, mut delivered: mpsc::Receiver<AgentHandle>) {
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
