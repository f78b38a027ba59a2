//! The [`Hub`]: opens the store, and gives access to the owners of the hub's state.
//!
//! | owner | what it owns |
//! |---|---|
//! | [`Hub::agents`] | [`AgentRegistry`]: the agents, who may see and call them, attaching, changing, forgetting |
//! | [`Hub::calls`] | [`CallRegistry`]: opening calls; finding, cancelling and answering open ones |
//! | [`Hub::tasks`] | [`TaskRegistry`]: durable calls, their delivery, their log and their followers |
//! | [`Hub::tokens`] | [`Tokens`]: tokens and what they allow |
//! | [`Hub::taps`] | [`Taps`]: observers of agents |
//! | [`Hub::callbacks`] | [`Callbacks`]: callbacks of tasks |
//!
//! Tasks use calls and agents, calls use agents, and never the other way round. The hub itself only starts, sweeps and stops
//! them all. Doors call it; it calls nothing but links. The order of its locks stands in `docs/architecture.md`, "Locks".

mod agents;
mod attach;
mod calls;
mod request;
mod right;
mod sweeper;

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout, timeout_at};

use self::sweeper::TICK;
pub use self::{
    agents::{AgentRegistry, Wanted},
    attach::Attached,
    calls::CallRegistry,
    request::{Parent, Request},
    right::{Access, may_call, may_see},
};
pub(crate) use self::{
    request::{CallOptions, LONGEST},
    right::Right,
};
use jackfield_model::{Failure, Reason};

use crate::{
    limits::Limits,
    metrics::Metrics,
    observer::HubObserver,
    outbox::Callbacks,
    resolver::Resolver,
    shared::Shared,
    store::{Store, StoreError},
    tap::Taps,
    task::{LiveTasks, TaskRegistry},
    token::Tokens,
};

/// Time for the store, besides the grace, when the hub stops.
const STOP_WRITES: Duration = Duration::from_secs(5);
/// Time for callers to read how their calls ended, before their connections are closed.
const STOP_READS: Duration = Duration::from_secs(1);

/// The hub. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    agents: Arc<AgentRegistry>,
    calls: Arc<CallRegistry>,
    tasks: TaskRegistry,
    tokens: Arc<Tokens>,
    resolver: Option<Arc<dyn Resolver>>,
}

impl Hub {
    /// Opens a hub on a store: loads agents and tokens, and resumes unfinished tasks.
    pub async fn open(store: Arc<dyn Store>, limits: Limits) -> Result<Self, StoreError> {
        Self::open_resolved(store, limits, None).await
    }

    /// Opens a hub that asks a resolver where calls are opened.
    pub async fn open_with(
        store: Arc<dyn Store>,
        limits: Limits,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, StoreError> {
        Self::open_resolved(store, limits, Some(resolver)).await
    }

    async fn open_resolved(
        store: Arc<dyn Store>,
        limits: Limits,
        resolver: Option<Arc<dyn Resolver>>,
    ) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::new(limits));
        let agents = store.load_agents().await?;
        let tokens = Arc::new(Tokens::new(store.clone(), store.load_tokens().await?));
        let agents = AgentRegistry::new(shared.clone(), store.clone(), resolver.clone(), agents);
        let agents = Arc::new(agents);
        let live_tasks = Arc::new(LiveTasks::default());
        let calls = Arc::new(CallRegistry::new(agents.clone(), live_tasks.clone()));
        let tasks = TaskRegistry::new(
            store.clone(),
            shared.clone(),
            (agents.clone(), calls.clone(), tokens.clone()),
            live_tasks,
        );
        if let Some(resolver) = &resolver {
            resolver.opened(&agents);
        }
        tasks.reopen_unfinished().await?;
        Ok(Self(Arc::new(Inner {
            shared,
            agents,
            calls,
            tasks,
            tokens,
            resolver,
        })))
    }

    /// Returns the owner of the agents.
    pub fn agents(&self) -> &AgentRegistry {
        &self.0.agents
    }

    /// Returns the owner of the open calls.
    pub fn calls(&self) -> &CallRegistry {
        &self.0.calls
    }

    /// Returns the owner of the durable calls.
    pub fn tasks(&self) -> &TaskRegistry {
        &self.0.tasks
    }

    /// Returns the owner of the tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    /// Returns the observers of agents.
    pub fn taps(&self) -> &Arc<Taps> {
        &self.0.shared.taps
    }

    /// Returns the callbacks of durable calls.
    pub fn callbacks(&self) -> &Callbacks {
        self.0.tasks.callbacks()
    }

    /// Adds an observer of all calls and agents.
    pub fn observe(&self, observer: Arc<dyn HubObserver>) {
        self.0.shared.observers.add(observer);
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.0.shared.limits
    }

    /// Returns the counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.0.shared.metrics
    }

    /// Returns the state that calls and doors share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    fn resolver(&self) -> Option<&Arc<dyn Resolver>> {
        self.0.resolver.as_ref()
    }

    /// Looks at the clocks until dropped. Run exactly one per hub.
    pub async fn sweep_forever(&self) {
        sweeper::run(self).await;
    }

    /// Looks at the clocks once.
    pub fn sweep(&self, now: Instant) {
        sweeper::sweep(self, now);
    }

    /// Whether the hub stops and takes no more calls.
    pub fn is_stopping(&self) -> bool {
        self.0.shared.is_stopping()
    }

    /// Takes no more calls, gives the open ones `grace`, then ends them and closes every agent's connection. Durable calls
    /// of agents that may resume them are left to the next hub.
    pub async fn stop(&self, grace: Duration) {
        let Inner { shared, tasks, .. } = &*self.0;
        shared.set_stopping();
        if let Some(resolver) = self.resolver() {
            resolver.stopping();
        }
        self.wait_for_calls(Instant::now() + grace).await;
        tasks.stop_deliveries();
        self.calls().end_all();
        tasks.stop(grace + STOP_WRITES).await;
        shared.readers.close();
        // Slower readers learn from the close of their connection that the hub stops.
        timeout(STOP_READS, shared.readers.wait()).await.ok();
        self.agents().close_all();
    }

    /// Waits until no open call is worked on any more, at the latest until `until`.
    async fn wait_for_calls(&self, until: Instant) {
        loop {
            // Before the look, so that no end is missed between the two.
            let ended = self.0.shared.ended.notified();
            let now = Instant::now();
            if now >= until || self.calls().awaited() == 0 {
                return;
            }
            // A call that begins to wait for its agent does not end: a later look finds it, as with clocks.
            timeout_at(until.min(now + TICK), ended).await.ok();
        }
    }
}

/// Failure of requests that come while the hub stops.
pub fn stopping() -> Failure {
    Failure::new(
        Reason::Stopping,
        "the hub is stopping; try again in a moment",
    )
}

/// Failure of calls that a stopping hub ends. Callers may read it when the hub is up again.
pub(crate) fn stopped() -> Failure {
    Failure::new(
        Reason::Stopping,
        "the hub was stopped before the call was over; call again",
    )
}

#[cfg(test)]
mod tests;
