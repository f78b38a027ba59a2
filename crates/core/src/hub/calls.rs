//! [`CallRegistry`]: opens calls, finds, cancels and answers those that are open. Doors reach it by
//! [`Hub::calls`](super::Hub::calls).
//!
//! Who delivers a call to its agent:
//!
//! - [`CallRegistry::open`] opens a live call. The agent's [`Entry`] delivers it at once, or when the agent is free.
//! - `CallRegistry::open_as` opens the call of a task, too. The entry only gives a durable call its turn (`Progress::Placed`);
//!   the task's `Delivery` (`task/delivery.rs`) writes that it is sent, and then delivers it.
//!
//! A reply does not pass through here: it goes from socket to socket by the pipe of its [`Call`]. The table of open calls is
//! a leaf lock of [`Shared`], since a call removes itself from it when it ends.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    AgentRegistry, Right, may_call,
    request::{CallOptions, Origin, Parent, Request, ResolverParts},
    stopped, stopping,
};
use jackfield_model::{AgentId, Answer, CallId, End, Failure, Json, Reason, TaskId};

use crate::{
    call::{Call, CallerHandle, Life},
    chain::Chain,
    clock::Progress,
    entry::Entry,
    principal::{Principal, Who},
    resolver::{Resolution, Resolver, Unresolved},
    shared::Shared,
    task::LiveTasks,
};

/// The open calls of a hub.
#[derive(Debug)]
pub struct CallRegistry {
    shared: Arc<Shared>,
    agents: Arc<AgentRegistry>,
    resolver: Option<Arc<dyn Resolver>>,
    /// Tasks that log the answers to questions of their calls.
    live_tasks: Arc<LiveTasks>,
}

impl CallRegistry {
    pub(super) fn new(agents: Arc<AgentRegistry>, live_tasks: Arc<LiveTasks>) -> Self {
        Self {
            shared: agents.shared.clone(),
            resolver: agents.resolver.clone(),
            agents,
            live_tasks,
        }
    }

    /// Opens a live call. The returned handle is the only reader of the reply; dropping it cancels the call.
    pub fn open(&self, request: Request) -> Result<CallerHandle, Failure> {
        let options = CallOptions::new(Life::Live);
        self.open_as(request, &options).map(CallerHandle::new)
    }

    /// Opens a live call, or the call of a task. A durable call is not delivered here: see the head of this file.
    pub(crate) fn open_as(
        &self,
        request: Request,
        options: &CallOptions,
    ) -> Result<Arc<Call>, Failure> {
        let shared = &self.shared;
        if shared.is_stopping() {
            return Err(stopping());
        }
        request.check_size(&shared.limits)?;
        let account = shared.budget.account(&request.principal.owner);
        let weight = request.message.weight();
        // A request that was accepted before a restart is not refused after it.
        let held = if options.is_allowed {
            account.hold(weight)
        } else {
            account.take(weight)?
        };
        let may = |entry: &Arc<Entry>| match (&self.resolver, &request.hint) {
            _ if options.is_allowed => true,
            (Some(resolver), Some(_)) => resolver.admits(&request, entry),
            _ => may_call(&request.principal, entry),
        };
        let addressed = self
            .agents
            .get(request.target.as_str())
            .filter(may)
            .ok_or_else(|| Failure::no_such_agent(request.target.as_str()))?;
        // After a restart the parent is unknown; the call was no loop when it was accepted.
        let origin = if options.is_allowed {
            Origin::Root(Chain::default())
        } else {
            self.origin_of(&request)
        };
        let explicit = origin.explicit().cloned();
        let id = options.id.unwrap_or_else(CallId::new);
        let Resolution {
            serve_at,
            observers,
            context,
            right,
        } = match &self.resolver {
            None => Resolution::default(),
            Some(resolver) => {
                let unresolved = Unresolved {
                    call: id,
                    request: &request,
                    addressed: &addressed,
                    parent: origin.parent(),
                    kept: options.context.get(resolver.name()),
                };
                resolver.resolve(&self.agents, &unresolved)?
            }
        };
        let entry = serve_at.unwrap_or_else(|| addressed.clone());
        let right = Right {
            addressed,
            extra: right,
        };
        let attached = ResolverParts { observers, context };
        let served = (&*entry, attached);
        let draft = request.draft(id, served, (right, held), origin, options, &shared.limits)?;
        let call = entry.open(draft)?;
        // A stop that ran meanwhile may have missed this call.
        if shared.is_stopping() {
            call.finish(End::Failed(stopped()), true);
            return Err(stopping());
        }
        if let Some(parent) = explicit
            && !parent.adopt(&call)
        {
            call.finish(End::Cancelled, true);
        }
        Ok(call)
    }

    /// Finds out for which call a request is made. A parent that has ended, or that the caller may not name, is ignored.
    fn origin_of(&self, request: &Request) -> Origin {
        let caller = match &request.principal.who {
            Who::Agent(id) => self.agents.get(id.as_str()),
            Who::Person | Who::Platform | Who::Peer(_) => None,
        };
        let named = match &request.parent {
            Parent::Unsaid => None,
            Parent::Request(id) => caller
                .as_ref()
                .and_then(|caller| caller.open_call(id.as_str())),
            Parent::Call(id) => self.get(*id),
        };
        let is_theirs = |call: &Arc<Call>| match &request.principal.who {
            Who::Agent(id) => call.target == *id,
            // A child process of the agent, calling as its owner.
            Who::Person | Who::Platform | Who::Peer(_) => {
                request.principal.may_act_for(call.entry.owner().as_str())
            }
        };
        if let Some(call) = named.filter(is_theirs) {
            return Origin::Explicit(call);
        }
        let Some(caller) = caller else {
            return Origin::Root(Chain::root(None, request.hops));
        };
        let mut open = caller.sent_calls();
        match open.len() {
            1 => Origin::Only(open.remove(0)),
            _ => {
                let hops = open.iter().map(|call| call.chain.hops()).max().unwrap_or(0);
                Origin::Root(Chain::root(Some(&caller.id), hops))
            }
        }
    }

    /// Returns what the resolver wants to be stored of a call with its task.
    pub(crate) fn durable_context(&self, call: &Call) -> BTreeMap<String, Json> {
        let resolver = self.resolver.as_ref();
        let kept = call.context().and_then(|context| context.kept());
        let kept = resolver.zip(kept);
        kept.map(|(resolver, kept)| (resolver.name().to_owned(), kept))
            .into_iter()
            .collect()
    }

    fn get(&self, id: CallId) -> Option<Arc<Call>> {
        self.shared.open_calls.lock().get(&id).cloned()
    }

    /// Returns all open calls, unsorted.
    pub(super) fn all(&self) -> Vec<Arc<Call>> {
        self.shared.open_calls.lock().values().cloned().collect()
    }

    /// Finds an open call that `principal` made.
    pub fn find(&self, principal: &Principal, id: CallId) -> Option<Arc<Call>> {
        self.get(id)
            .filter(|call| principal.may_act_for(&call.principal.key()))
    }

    /// Lists the open calls that wait for an approval of `principal`, whoever made them, oldest first.
    pub fn waiting_for(&self, principal: &Principal) -> Vec<Arc<Call>> {
        let mut calls = self.all();
        calls.retain(|call| !call.decisions(principal).is_empty());
        calls.sort_by_key(|call| call.id);
        calls
    }

    /// Lists the calls that are open at an agent, whoever made them, oldest first: delivered and waiting ones. Only the
    /// agent's owner and admins may list them.
    pub fn at_agent(&self, principal: &Principal, id: &AgentId) -> Result<Vec<Arc<Call>>, Failure> {
        let entry = self.agents.owned(principal, id)?;
        Ok(entry.open_calls())
    }

    /// Cancels a call that `principal` made. The agent is told at once.
    pub fn cancel(&self, principal: &Principal, id: CallId) -> Result<(), Failure> {
        let call = self.find(principal, id);
        let call = call.ok_or_else(|| Failure::new(Reason::NotFound, "no such call is open"))?;
        cancel(&call)
    }

    /// Cancels a call at an agent that `principal` owns, whoever made it, by the id of the call or of its task. The agent
    /// and the caller are told.
    pub fn cancel_at_agent(&self, principal: &Principal, id: TaskId) -> Result<(), Failure> {
        let is_owned = |agent: &AgentId| self.agents.owned(principal, agent).is_ok();
        let call = self
            .all()
            .into_iter()
            .filter(|call| id == TaskId::from(call.id) || call.task == Some(id))
            .find(|call| is_owned(&call.target) || is_owned(&call.addressed));
        let call = call.ok_or_else(|| Failure::new(Reason::NotFound, "no such call is open"))?;
        cancel(&call)
    }

    /// Answers a question of a call: the caller answers requests for input, the owner of the asking agent approvals. The
    /// first answer wins.
    pub fn answer(
        &self,
        principal: &Principal,
        id: CallId,
        ask_id: &str,
        answer: Answer,
    ) -> Result<(), Failure> {
        let call = self.get(id);
        let call =
            call.ok_or_else(|| Failure::new(Reason::NotFound, "no such question is open"))?;
        call.answer(principal, ask_id, answer.clone())?;
        self.live_tasks.answered(&call, ask_id, answer);
        Ok(())
    }

    /// Answers a question of a call for a principal whose right the resolver has checked: an approval in place of the owner
    /// (`for_owner`), or a question as a principal that may answer and can only say yes or no.
    pub fn decide(
        &self,
        principal: &Principal,
        call: &Arc<Call>,
        ask_id: &str,
        answer: Answer,
        for_owner: bool,
    ) -> Result<(), Failure> {
        if for_owner {
            call.answer_approval(ask_id, answer.clone())?;
        } else {
            call.decide(principal, ask_id, answer.clone())?;
        }
        self.live_tasks.answered(call, ask_id, answer);
        Ok(())
    }

    /// Counts the open calls that a stop waits for: those that neither wait for their agent nor are left to the next hub.
    pub fn awaited(&self) -> usize {
        let is_awaited = |call: &&Arc<Call>| {
            call.clock.lock().progress != Progress::Waiting && !call.may_be_resumed()
        };
        self.all().iter().filter(is_awaited).count()
    }

    /// Ends all open calls but those that the next hub goes on with.
    pub(super) fn end_all(&self) {
        let mut calls = self.all();
        // Durable calls that were not sent yet stay in the store and go out after the next start.
        // So do those that were sent, and that their agents may resume.
        calls.retain(|call| call.life == Life::Live || call.is_sent());
        calls.retain(|call| !call.may_be_resumed());
        // Waiting calls end first, so that none of them gets its turn when another one ends.
        calls.sort_by_cached_key(|call| call.is_sent());
        for call in calls {
            call.finish(End::Failed(stopped()), true);
        }
    }
}

fn cancel(call: &Arc<Call>) -> Result<(), Failure> {
    if call.cancel() {
        return Ok(());
    }
    Err(Failure::new(Reason::Conflict, "the call has ended already"))
}
