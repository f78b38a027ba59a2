//! [`Request`]: what a door asks of the hub, and how it becomes a [`Call`]: session, parent, chain, clocks. [`CallRegistry`](super::CallRegistry) and [`TaskRegistry`](crate::task::TaskRegistry) take requests.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::Right;
use jackfield_model::{
    AgentId, CallId, Failure, Json, Message, Owner, Reason, RequestId, SessionId, TaskId,
};

use crate::{
    budget::BudgetLease,
    call::{Call, Draft, Life, Patience, Resumed},
    chain::Chain,
    clock::{Clock, Progress},
    entry::Entry,
    limits::Limits,
    observer::{CallObserver, Observers},
    outbox::{Callback, Follower},
    principal::{Principal, Who},
    resolver::{CallContext, Hint},
    task::IdempotencyKey,
};

/// The call that a request is made for.
#[derive(Debug, Clone, Default)]
pub enum Parent {
    /// Unknown: the only open call of the calling agent, if there is exactly one.
    #[default]
    Unsaid,
    /// The call with this id.
    Call(CallId),
    /// The request with this id at the calling agent.
    Request(RequestId),
}

/// A request to call an agent. "Durable only" fields are ignored by live calls.
#[derive(Debug, Clone)]
pub struct Request {
    /// Principal that calls, as the connection proved it.
    pub principal: Principal,
    /// Door of the caller.
    pub door: &'static str,
    /// Agent to call.
    pub target: AgentId,
    /// Session; a new one if absent.
    pub session: Option<SessionId>,
    /// Request id that the caller chose.
    pub request: Option<RequestId>,
    /// Message of the caller.
    pub message: Message,
    /// Whether more of the message follows.
    pub streamed: bool,
    /// Call that the request is made for.
    pub parent: Parent,
    /// Timeouts that the caller chose.
    pub patience: Patience,
    /// Longest wait for the agent to come online; durable only.
    pub wait_online: Option<Duration>,
    /// Trace of the caller.
    pub traceparent: Option<String>,
    /// Number of calls since the first caller, if the caller is another hub.
    pub hops: usize,
    /// Callback for the end of the task; durable only.
    pub callback: Option<Callback>,
    /// Followers to add to the task; durable only.
    pub followers: Vec<Follower>,
    /// Idempotency key; durable only. A repeated request is not carried out again.
    pub once: Option<IdempotencyKey>,
    /// Longest time without any reader; durable only. The call is cancelled after that.
    pub unread: Option<Duration>,
    /// Data of the request for the hub's [`Resolver`](crate::resolver::Resolver), set by the resolver's own
    /// door only: the resolver, and not the hub, then decides whether the request may reach its target.
    pub hint: Option<Hint>,
}

impl Request {
    /// Creates a plain request.
    pub fn new(
        principal: Principal,
        door: &'static str,
        target: AgentId,
        message: Message,
    ) -> Self {
        Self {
            principal,
            door,
            target,
            session: None,
            request: None,
            message,
            streamed: false,
            parent: Parent::default(),
            patience: Patience::default(),
            wait_online: None,
            traceparent: None,
            hops: 0,
            callback: None,
            followers: Vec::new(),
            once: None,
            unread: None,
            hint: None,
        }
    }

    /// Fails if the message is larger than [`Limits::message`].
    pub(crate) fn check_size(&self, limits: &Limits) -> Result<(), Failure> {
        let limit = limits.message;
        if self.message.weight() <= limit.0 {
            return Ok(());
        }
        let text = format!("a message may have at most {limit}");
        Err(Failure::new(Reason::TooLarge, text))
    }

    pub(super) fn draft(
        self,
        id: CallId,
        (entry, attached): (&Entry, ResolverParts),
        (right, held): (Right, BudgetLease),
        origin: Origin,
        options: &CallOptions,
        limits: &Limits,
    ) -> Result<Draft, Failure> {
        let CallOptions { life, task, .. } = *options;
        let session = self.session.unwrap_or_else(|| id.into());
        let chain = origin.chain().step(&entry.id, limits)?;
        let deadline = origin
            .explicit()
            .and_then(|parent| parent.clock.lock().latest_end());
        let clock = clock(
            life,
            self.patience,
            self.wait_online,
            deadline,
            entry,
            limits,
        );
        Ok(Draft {
            id,
            agent_session: agent_session(
                options.speaker.as_ref().unwrap_or(&self.principal),
                &session,
            ),
            session,
            request: id.into(),
            wanted: self.request,
            principal: self.principal,
            right,
            held,
            door: self.door,
            addressed: self.target,
            message: self.message,
            streamed: self.streamed,
            life,
            task,
            chain,
            traceparent: self.traceparent,
            parent: origin.into_parent(),
            clock,
            is_allowed: options.is_allowed,
            resumed: options.resumed.clone(),
            handle_before: options.handle_before.clone(),
            observers: Observers::new(attached.observers),
            context: attached.context,
        })
    }
}

/// Parts of a call that come from the resolver.
#[derive(Debug)]
pub(super) struct ResolverParts {
    pub(super) observers: Vec<Box<dyn CallObserver>>,
    pub(super) context: Option<Arc<dyn CallContext>>,
}

/// Parts of a call that come from the hub itself.
#[derive(Debug, Clone)]
pub(crate) struct CallOptions {
    pub(crate) life: Life,
    /// Id of the call; a new one if absent.
    pub(crate) id: Option<CallId>,
    pub(crate) task: Option<TaskId>,
    /// Whether the call was admitted before a restart of the hub.
    pub(crate) is_allowed: bool,
    /// State of a call that the agent got before a restart of the hub.
    pub(crate) resumed: Option<Resumed>,
    /// Door-specific handle of the turn before.
    pub(crate) handle_before: Option<Json>,
    /// Principal whose session it is, if not the caller.
    pub(crate) speaker: Option<Principal>,
    /// Context that the resolver stored with the task.
    pub(crate) context: BTreeMap<String, Json>,
}

impl CallOptions {
    /// Returns the options of a new call.
    pub(crate) fn new(life: Life) -> Self {
        Self {
            life,
            id: None,
            task: None,
            is_allowed: false,
            resumed: None,
            handle_before: None,
            speaker: None,
            context: BTreeMap::new(),
        }
    }
}

/// Origin of a request.
#[derive(Debug)]
pub(super) enum Origin {
    /// The caller named the parent, which passes on its deadline and its cancel too.
    Explicit(Arc<Call>),
    /// The only open call of the calling agent.
    Only(Arc<Call>),
    /// No parent; for agents, with the deepest chain that is possible.
    Root(Chain),
}

impl Origin {
    fn chain(&self) -> &Chain {
        match self {
            Self::Explicit(call) | Self::Only(call) => &call.chain,
            Self::Root(chain) => chain,
        }
    }

    pub(super) fn explicit(&self) -> Option<&Arc<Call>> {
        if let Self::Explicit(call) = self {
            Some(call)
        } else {
            None
        }
    }

    pub(super) fn parent(&self) -> Option<&Arc<Call>> {
        match self {
            Self::Explicit(call) | Self::Only(call) => Some(call),
            Self::Root(_) => None,
        }
    }

    fn into_parent(self) -> Option<Arc<Call>> {
        match self {
            Self::Explicit(call) | Self::Only(call) => Some(call),
            Self::Root(_) => None,
        }
    }
}

/// Longer than any wait, and short enough to be added to any time.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Returns the session that the agent sees. Sessions of the platform and of `local` stay unchanged; others
/// are hashed, so that two callers never share an agent's memory. A session that looks like such a hash is
/// always hashed: it could be another owner's.
fn agent_session(principal: &Principal, session: &SessionId) -> SessionId {
    let is_unchanged = principal.who == Who::Platform || principal.owner == Owner::local();
    if is_unchanged && !looks_hashed(session) {
        return session.clone();
    }
    let digest = Sha256::new()
        .chain_update(principal.key())
        .chain_update([0])
        .chain_update(session.as_str())
        .finalize();
    let hex: String = digest
        .iter()
        .take(HASHED / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    SessionId::parse(&hex).expect("32 hex digits are a valid id")
}

/// Hex digits of a session's hash.
const HASHED: usize = 32;

/// In upper case too: an agent may name a folder after a session, and some systems ignore the case.
fn looks_hashed(session: &SessionId) -> bool {
    let text = session.as_str();
    text.len() == HASHED && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn clock(
    life: Life,
    patience: Patience,
    wait_online: Option<Duration>,
    deadline: Option<Instant>,
    entry: &Entry,
    limits: &Limits,
) -> Clock {
    let now = Instant::now();
    let settings = entry.settings();
    let (idle, absolute, ask) = match life {
        Life::Live => (limits.idle_live, limits.absolute_live, limits.ask_live),
        Life::Durable => (limits.idle_kept, limits.absolute_kept, limits.ask_kept),
    };
    Clock {
        progress: Progress::Waiting,
        since: now,
        last_sign: now,
        last_look: now,
        ask_since: None,
        wait_until: wait_online.map(|span| now + span.min(LONGEST)),
        deadline,
        idle: patience
            .idle
            .or(settings.idle.map(|span| span.0))
            .unwrap_or(idle.0)
            .min(LONGEST),
        absolute: patience
            .absolute
            .or(settings.absolute.map(|span| span.0))
            .unwrap_or(absolute.0)
            .min(LONGEST),
        ask: ask.0,
        queue: limits.queue_wait.0,
    }
}
