//! Which request of the platform's is which call or task. Requests are known by the platform's own ids, which the agent
//! may have been given others for. What is forgotten here is looked up in the store.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};

use jackfield_core::{call::Call, store::TaskFilter, task::Task};
use jackfield_model::{AgentId, RequestId, TaskId};
use parking_lot::Mutex;

use crate::{api::problem::Problem, bridge::Bridge};

/// How many tasks are remembered by their request; older ones are looked up in the store.
const REMEMBERED: usize = 10_000;

/// From how many agents on those without an open call are looked for.
const MANY_AGENTS: usize = 1 << 10;

type Key = (AgentId, RequestId);
type Calls = Vec<(RequestId, Weak<Call>)>;

/// The platform's requests.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// Open calls, and some that have ended since. As many as an agent may have open, and a few.
    calls: Mutex<HashMap<AgentId, Calls>>,
    tasks: Mutex<Remembered>,
}

#[derive(Debug, Default)]
struct Remembered {
    by_request: HashMap<Key, TaskId>,
    /// The oldest first.
    order: VecDeque<(Key, TaskId)>,
}

fn is_open((_, call): &(RequestId, Weak<Call>)) -> bool {
    call.upgrade().is_some_and(|call| !call.is_ended())
}

impl Open {
    /// A call was opened.
    pub(crate) fn add(&self, agent: &AgentId, request: &RequestId, call: &Arc<Call>) {
        let mut all = self.calls.lock();
        // Agents come and go; those that nobody asks about any more are forgotten now and then.
        if all.len() >= MANY_AGENTS && all.len().is_power_of_two() {
            all.retain(|_, calls| calls.iter().any(is_open));
        }
        let calls = all.entry(agent.clone()).or_default();
        calls.retain(is_open);
        calls.push((request.clone(), Arc::downgrade(call)));
    }

    /// A task was begun.
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

    /// The open calls of the platform's at an agent.
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

    /// The task of a request: the newest, if there was more than one.
    pub(crate) async fn find(
        &self,
        bridge: &Bridge,
        agent: &AgentId,
        request: &RequestId,
    ) -> Result<Option<Arc<Task>>, Problem> {
        let known = (agent.clone(), request.clone());
        let known = self.tasks.lock().by_request.get(&known).copied();
        let id = match known {
            Some(id) => Some(id),
            None => look_up(bridge, agent, request).await?,
        };
        let Some(id) = id else { return Ok(None) };
        let task = bridge.hub.tasks().find(&bridge.platform, id).await.ok();
        // The platform may see other principals' tasks, but these are not its requests.
        Ok(task.filter(|task| task.record().principal == bridge.platform.key()))
    }
}

async fn look_up(
    bridge: &Bridge,
    agent: &AgentId,
    request: &RequestId,
) -> Result<Option<TaskId>, Problem> {
    let filter = TaskFilter {
        agent: Some(agent.clone()),
        request: Some(request.clone()),
        limit: 1,
        ..TaskFilter::default()
    };
    let found = bridge.hub.tasks().list(&bridge.platform, filter).await?;
    Ok(found.first().map(|record| record.id))
}
