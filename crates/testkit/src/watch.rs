//! [`AgentWatch`]: waits for events of the hub instead of sleeping.

use jackfield_core::{
    principal::Principal,
    tap::{Sight, TapFilter, Watching},
};
use jackfield_model::AgentId;

use crate::{SOON, TestHub};

impl TestHub {
    /// Watches the events of an agent from now on.
    pub fn watch(&self, id: &str) -> AgentWatch {
        let filter = TapFilter {
            agent: Some(AgentId::parse(id).expect("an id")),
            ..TapFilter::default()
        };
        AgentWatch(self.hub().taps().watch(Principal::local(), filter))
    }
}

/// The events of one agent.
#[derive(Debug)]
pub struct AgentWatch(Watching);

impl AgentWatch {
    /// Waits until the agent is online.
    pub async fn until_online(&mut self) {
        self.until(|sight| matches!(sight, Sight::Online(_))).await;
    }

    /// Waits until the hub has noticed that the agent is offline.
    pub async fn until_offline(&mut self) {
        self.until(|sight| matches!(sight, Sight::Offline)).await;
    }

    /// Waits until a call at the agent has ended.
    pub async fn until_ended(&mut self) {
        self.until(|sight| matches!(sight, Sight::Ended(_))).await;
    }

    async fn until(&mut self, is_it: impl Fn(&Sight) -> bool) {
        let seen = async { while !is_it(&self.0.next().await.sight) {} };
        tokio::time::timeout(SOON, seen)
            .await
            .expect("it did not happen in time");
    }
}
