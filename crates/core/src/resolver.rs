//! [`Resolver`]: the extension point for ids that stand for more than one attached agent. A hub has at most one, given to [`Hub::open_with`](crate::hub::Hub::open_with). The hub itself knows agents and calls only. The resolver decides what a reserved id stands for, who else may reach an agent through it, and who observes the calls.
//!
//! The way of a call with a resolver:
//!
//! 1. A door calls [`CallRegistry::open`](crate::hub::CallRegistry::open) or
//!    [`TaskRegistry::start`](crate::task::TaskRegistry::start) with the id that its caller named. The hub
//!    finds the [`Entry`] of the id and checks that the caller may call it. If the resolver's own door put a
//!    [hint](Request::hint) into the request, the hub asks [`Resolver::admits`] instead.
//! 2. [`Resolver::resolve`] gets the request, the entry, the parent call, and the context that was stored
//!    with the task. It returns a [`Resolution`]: the agent to open the call at, the observers, the context
//!    and the extra right.
//! 3. The call is opened at that agent: the same pipes, questions, clocks and resuming as for any call.
//!    [`Call::addressed`] is the id that the caller named, [`Call::target`] the agent.
//! 4. At the delivery, which may be much later, the hub checks the caller's right again, and asks the
//!    [`DeliveryRight`].
//! 5. Events of the agent go by the pipe to the caller, and synchronously to the
//!    [observers](crate::observer::CallObserver).
//! 6. A call that the agent makes for this one has this one as its parent: the resolver reads the parent's
//!    [context](Call::context) and gives the new call its own.
//! 7. [`CallContext::kept`] of a durable call is stored with its task, under the resolver's name. After a
//!    restart, and when the task is continued by another message, `resolve` gets it back.

use std::{any::Any, sync::Arc};

use jackfield_model::{AgentId, CallId, Failure, Json};
use tokio::time::Instant;

use crate::{
    call::Call,
    entry::Entry,
    hub::{Access, AgentRegistry, Request, may_call},
    observer::CallObserver,
    principal::Principal,
};

/// Data of a request from the resolver's own door. Opaque to the hub.
pub type Hint = Arc<dyn Any + Send + Sync>;

/// Decides at which agent a call is opened, and who observes it.
///
/// All methods return at once.
///
/// - Methods that get the [`AgentRegistry`] may use it, but must not forget agents. They are called under no
///   lock of the hub but that of [`AgentRegistry::lock_forgetting`].
/// - The other methods may be called under locks of the hub, and must not use the hub.
/// - A resolver holds no lock of its own while it uses the registry.
pub trait Resolver: Send + Sync + std::fmt::Debug {
    /// Returns the name of the resolver, under which [`CallContext::kept`] is stored.
    fn name(&self) -> &'static str;

    /// Called when the hub knows its agents, before it resumes unfinished tasks, which are resolved then.
    fn opened(&self, agents: &AgentRegistry);

    /// Whether a request may reach the addressed agent. Called instead of the hub's own rule, and only for
    /// requests with a [hint](Request::hint), which only the resolver's own door sets.
    fn admits(&self, request: &Request, addressed: &Entry) -> bool {
        may_call(&request.principal, addressed)
    }

    /// Decides where a call is opened. Called for every call, so it should be quick for calls without a team
    /// or the like. A failure refuses the call.
    fn resolve(
        &self,
        agents: &AgentRegistry,
        unresolved: &Unresolved<'_>,
    ) -> Result<Resolution, Failure>;

    /// Returns the agents behind an id of the resolver, and the id itself, if `principal` may know them.
    fn members(
        &self,
        agents: &AgentRegistry,
        principal: &Principal,
        id: &str,
    ) -> Result<Vec<AgentId>, Failure>;

    /// Fails if a known id must not be attached or reserved (again), because it belongs to the resolver.
    fn check_claim(&self, id: &AgentId) -> Result<(), Failure>;

    /// Called when an id becomes known.
    fn introduced(&self, agents: &AgentRegistry, id: &AgentId);

    /// Fails if an agent must not be forgotten. The verdict holds until the agent is forgotten: see
    /// [`AgentRegistry::lock_forgetting`].
    fn check_forget(&self, id: &AgentId, why: Forgetting) -> Result<(), Failure>;

    /// Called when the owner or an admin has forgotten an agent, before the id can be claimed again. Not
    /// called for [`Forgetting::Unused`].
    fn forgotten(&self, id: &AgentId);

    /// Called every second.
    fn sweep(&self, now: Instant);

    /// Called when the hub stops: no call is opened any more, and open calls are within the grace period.
    fn stopping(&self);
}

/// Why an agent is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgetting {
    /// The owner or an admin wants it.
    Wanted,
    /// The hub makes room: the agent is offline, and nothing on the hub needs it.
    Unused,
}

/// A call before [`Resolver::resolve`].
#[derive(Debug)]
pub struct Unresolved<'a> {
    /// Id that the call will have.
    pub call: CallId,
    /// The request.
    pub request: &'a Request,
    /// Entry of the id that the request names.
    pub addressed: &'a Arc<Entry>,
    /// Parent call, if known.
    pub parent: Option<&'a Arc<Call>>,
    /// [`CallContext::kept`] of an earlier call of the same task.
    pub kept: Option<&'a Json>,
}

/// Result of [`Resolver::resolve`]. The default opens the call at the named agent and attaches nothing.
#[derive(Debug, Default)]
pub struct Resolution {
    /// Agent to open the call at, if not the named one.
    pub serve_at: Option<Arc<Entry>>,
    /// Observers of the call.
    pub observers: Vec<Box<dyn CallObserver>>,
    /// Context that calls made for this one inherit.
    pub context: Option<Arc<dyn CallContext>>,
    /// Right that is checked at the delivery, besides the caller's own.
    pub right: Option<Box<dyn DeliveryRight>>,
}

/// Data that a resolver attaches to a call, and reads again for calls that are made for that one. Opaque to
/// the hub.
pub trait CallContext: Any + Send + Sync + std::fmt::Debug {
    /// Returns what is stored with the call's task. Called for durable calls only.
    fn kept(&self) -> Option<Json>;
}

/// Right that a resolver grants to a call, checked at the delivery: a call may wait for long before, even
/// over a restart. Called under the lock of the agent that serves the call: takes no lock of that agent, and
/// reads shares by [`Access::share_of`] only.
pub trait DeliveryRight: Send + Sync + std::fmt::Debug {
    /// Whether the call may reach the named agent or id although its caller may not call that.
    fn admits(&self, addressed: &Entry, access: &Access<'_>) -> bool;

    /// Fails if the agent that the call was opened at may not work on it any more.
    fn check_served(&self, access: &Access<'_>) -> Result<(), Failure>;
}
