//! Mapping of the platform's requests to calls and tasks. Requests are identified by the platform's own ids;
//! the agent may have been given different ones. Entries evicted here are looked up in the store.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};

use jackfield_core::{call::Call, store::TaskFilter, task::Task};
use jackfield_model::{AgentId, RequestId, TaskId};
use parking_lot::Mutex;

use crate::{api::problem::RelayApiError, door::Bridge};

/// Number of tasks remembered by request; older ones are looked up in the store.
const REMEMBERED: usize = 10_000;

/// Number of agents above which those without an open call are removed.
const MANY_AGENTS: usize = 1 << 10;

type AgentRequestKey = (AgentId, RequestId);
type OpenCalls = Vec<(RequestId, Weak<Call>)>;

/// Requests of the platform.
#[derive(Debug, Default)]
pub(crate) struct PlatformRequests {
    /// Open calls, and some that have ended since: slightly more than an agent may have open.
    calls: Mutex<HashMap<AgentId, OpenCalls>>,
    tasks: Mutex<RequestTaskIndex>,
}

#[derive(Debug, Default)]
struct RequestTaskIndex {
    by_request: HashMap<AgentRequestKey, TaskId>,
    /// Remembered tasks, oldest first.
    order: VecDeque<(AgentRequestKey, TaskId)>,
}

fn is_open((_, call): &(RequestId, Weak<Call>)) -> bool {
    call.upgrade().is_some_and(|call| !call.is_ended())
}

impl PlatformRequests {
    /// Adds an open [`Call`].
    pub(crate) fn add(&self, agent: &AgentId, request: &RequestId, call: &Arc<Call>) {
        let mut all = self.calls.lock();
        // Agents come and go; those without open calls are removed from time to time.
        if all.len() >= MANY_AGENTS && all.len().is_power_of_two() {
            all.retain(|_, calls| calls.iter().any(is_open));
        }
        let calls = all.entry(agent.clone()).or_default();
        calls.retain(is_open);
        calls.push((request.clone(), Arc::downgrade(call)));
    }

    /// Adds a started [`Task`].
    pub(crate) fn keep(&self, agent: &AgentId, request: &RequestId, task: &Arc<Task>) {
        if let Some(call) = task.call() {
            self.add(agent, request, &call);
        }
        let key = (agent.clone(), request.clone());
        let mut tasks = self.tasks.lock();
        tasks.by_request.insert(key.clone(), task.id);
        tasks.order.push_back((key, task.id));
        if tasks.order.len() > REMEMBERED
            && let Some((key, id)) = tasks.order.pop_front()
            && tasks.by_request.get(&key) == Some(&id)
        {
            tasks.by_request.remove(&key);
        }
    }

    /// Returns the platform's open calls to an agent.
    pub(crate) fn of(&self, agent: &AgentId) -> Vec<(RequestId, Arc<Call>)> {
        let mut all = self.calls.lock();
        let Some(calls) = all.get_mut(agent) else {
            return Vec::new();
        };
        calls.retain(is_open);
        let open = calls
            .iter()
            .filter_map(|(id, call)| Some((id.clone(), call.upgrade()?)));
        let open: Vec<_> = open.collect();
        if open.is_empty() {
            all.remove(agent);
        }
        open
    }

    /// Returns the [`Task`] of a request; the newest, if several match.
    pub(crate) async fn find(
        &self,
        bridge: &Bridge,
        agent: &AgentId,
        request: &RequestId,
    ) -> Result<Option<Arc<Task>>, RelayApiError> {
        let known = (agent.clone(), request.clone());
        let known = self.tasks.lock().by_request.get(&known).copied();
        let id = match known {
            Some(id) => Some(id),
            None => look_up(bridge, agent, request).await?,
        };
        let Some(id) = id else { return Ok(None) };
        let task = bridge.hub.tasks().find(&bridge.platform, id).await.ok();
        // The platform may see tasks of other principals, but they are not its requests.
        Ok(task.filter(|task| task.record().principal == bridge.platform.key()))
    }
}

async fn look_up(
    bridge: &Bridge,
    agent: &AgentId,
    request: &RequestId,
) -> Result<Option<TaskId>, RelayApiError> {
    let filter = TaskFilter {
        agent: Some(agent.clone()),
        request: Some(request.clone()),
        limit: 1,
        ..TaskFilter::default()
    };
    let found = bridge.hub.tasks().list(&bridge.platform, filter).await?;
    Ok(found.first().map(|record| record.id))
}
