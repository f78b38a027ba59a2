//! The seam for ids that stand for more than one attached agent: [`Resolver`]. A hub has at most one, given to
//! [`Hub::open_with`]. The hub itself knows agents and calls only; what a reserved id stands for, who else may reach an
//! agent through it, and who observes the calls, the resolver says.
//!
//! The walk of a call that a resolver has to do with:
//!
//! 1. A door calls [`Hub::call`] or [`Hub::start_task`] with the id that its caller named. The hub finds the [`Entry`] of this
//!    id and checks that the caller may call it. If the resolver's own door made the request and put a
//!    [hint](Request::hint) into it, the hub asks [`Resolver::admits`] instead.
//! 2. [`Resolver::resolve`] gets the request, the entry, the call that the request is made for, and what was kept with its
//!    task. It returns a [`Resolution`]: the agent to open the call at, the observers, the context and the extra right.
//! 3. The call is opened at that agent: the same pipes, questions, clocks and resuming as for any call. Its
//!    [`addressed`](crate::call::Call::addressed) is the id that the caller named, its [`target`](crate::call::Call::target)
//!    the agent.
//! 4. Before the agent gets the call, which may be much later, the hub checks the caller's right again, and asks the
//!    [`DeliveryRight`].
//! 5. Whatever the agent says goes by the pipe to the caller, and synchronously to the
//!    [observers](crate::observer::CallObserver).
//! 6. A call that the agent makes for this one is resolved with this one as its parent: the resolver reads the parent's
//!    [context](crate::call::Call::context) and gives the new call its own.
//! 7. If the call is kept, [`CallContext::kept`] is written with its task, under the resolver's name. After a restart, and
//!    when the task goes on with another message, `resolve` gets it back.

use std::{any::Any, sync::Arc};

use jackfield_model::{AgentId, CallId, Failure, Json};
use tokio::time::Instant;

use crate::{
    call::Call,
    entry::Entry,
    hub::{Access, Hub, Request, may_call},
    observer::CallObserver,
    principal::Principal,
};

/// What a resolver's own door tells the resolver of a request. The hub does not look at it.
pub type Hint = Arc<dyn Any + Send + Sync>;

/// Decides at which agent a call is opened, and who observes it.
///
/// All methods return at once.
///
/// - Methods that get the [`Hub`] may use it, but open, answer and end no call, and forget no agent. They are called under no
///   lock of the hub but that of [`Hub::hold_agents`].
/// - The other methods may be called under locks of the hub, and must not use it.
/// - A resolver holds no lock of its own while it uses the hub.
pub trait Resolver: Send + Sync + std::fmt::Debug {
    /// Its name. What [`CallContext::kept`] returns is kept under it.
    fn name(&self) -> &'static str;

    /// The hub is about to start: it knows its agents, and takes up unfinished tasks next, which are resolved then.
    fn opened(&self, hub: &Hub);

    /// Whether a request may reach the agent that it addresses. Called instead of the hub's own rule, and only for requests
    /// with a [hint](Request::hint), which nobody but the resolver's own door makes.
    fn admits(&self, request: &Request, addressed: &Entry) -> bool {
        may_call(&request.principal, addressed)
    }

    /// Finds out where a call is opened. Called for every call, so it should be quick for those that it has nothing to do
    /// with. A failure refuses the call.
    fn resolve(&self, hub: &Hub, unresolved: &Unresolved<'_>) -> Result<Resolution, Failure>;

    /// The agents behind an id of the resolver's, if the principal may know them, and the id itself.
    fn members(&self, hub: &Hub, principal: &Principal, id: &str) -> Result<Vec<AgentId>, Failure>;

    /// Refuses that a known id is attached or reserved (again), because it is the resolver's.
    fn check_claim(&self, id: &AgentId) -> Result<(), Failure>;

    /// An id is known now that was not before.
    fn introduced(&self, hub: &Hub, id: &AgentId);

    /// Refuses that an agent is forgotten. What it finds holds until the agent is forgotten: see [`Hub::hold_agents`].
    fn check_forget(&self, id: &AgentId, why: Forgetting) -> Result<(), Failure>;

    /// An agent was forgotten because its owner or an admin wants it; nobody has claimed the id since. Not called for
    /// [`Forgetting::Unused`].
    fn forgotten(&self, id: &AgentId);

    /// Called every second.
    fn sweep(&self, now: Instant);

    /// The hub stops: no call is opened any more, and those that are open are given some time.
    fn stopping(&self);
}

/// Why an agent is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgetting {
    /// Its owner or an admin wants it.
    Wanted,
    /// The hub makes room: the agent is away, and nothing at the hub needs it.
    Unused,
}

/// A call that is to be resolved.
#[derive(Debug)]
pub struct Unresolved<'a> {
    /// The id that the call will have.
    pub call: CallId,
    /// What is asked of the hub.
    pub request: &'a Request,
    /// The place of the id that the request names.
    pub addressed: &'a Arc<Entry>,
    /// The call that it is made for, if known.
    pub parent: Option<&'a Arc<Call>>,
    /// What [`CallContext::kept`] returned for an earlier call of the same task.
    pub kept: Option<&'a Json>,
}

/// Where a call is opened, and what the resolver attaches to it. The default opens it at the agent that was named and attaches
/// nothing.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The agent to open the call at, if not the one that was named.
    pub serve_at: Option<Arc<Entry>>,
    /// Who observes the call.
    pub observers: Vec<Box<dyn CallObserver>>,
    /// What calls inherit that are made for this one.
    pub context: Option<Arc<dyn CallContext>>,
    /// What is checked when the agent gets the call, besides the caller's own right.
    pub right: Option<Box<dyn DeliveryRight>>,
}

/// What a resolver attaches to a call, and reads again when a call is made for that one. The hub does not look at it.
pub trait CallContext: Any + Send + Sync + std::fmt::Debug {
    /// What is kept of it with the call's task. Called for kept calls only.
    fn kept(&self) -> Option<Json>;
}

/// What a resolver knows of the right to a call. Checked when the agent gets the call: between the two a call may wait for
/// long, even over a restart. Asked under the lock of the agent that serves the call: takes no lock of that agent, and reads
/// shares by [`Access::share_of`] only.
pub trait DeliveryRight: Send + Sync + std::fmt::Debug {
    /// Whether the call may reach the agent or id that was named although its caller may not call that.
    fn admits(&self, addressed: &Entry, access: &Access<'_>) -> bool;

    /// Fails if the agent that the call was opened at may not work on it any more.
    fn check_served(&self, access: &Access<'_>) -> Result<(), Failure>;
}
