//! What a door asks of the hub, and how it becomes a call: session, parent, chain, clocks.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{Hub, Right};
use jackfield_model::{
    AgentId, CallId, Failure, Json, Message, Owner, RequestId, SessionId, TaskId,
};

use crate::{
    budget::Held,
    call::{Call, Draft, Life, Patience, TakenUp},
    chain::Chain,
    clock::{Clock, Progress},
    entry::Entry,
    limits::Limits,
    observer::{CallObserver, Observers},
    outbox::{Callback, Follower},
    principal::{Principal, Who},
    resolver::{CallContext, Hint},
    task::Once,
};

/// For which call a request is made.
#[derive(Debug, Clone, Default)]
pub enum Parent {
    /// Not said: the only open call of the calling agent, if there is just one.
    #[default]
    Unsaid,
    /// The call with this id.
    Call(CallId),
    /// The request with this id at the calling agent.
    Request(RequestId),
}

/// What a door asks of the hub.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who calls, as the connection proved it.
    pub principal: Principal,
    /// The door they came through.
    pub door: &'static str,
    /// Who is called.
    pub target: AgentId,
    /// The conversation; a new one if absent.
    pub session: Option<SessionId>,
    /// The caller's own id of the request.
    pub request: Option<RequestId>,
    /// What they say.
    pub message: Message,
    /// Whether more of the message follows.
    pub streamed: bool,
    /// For which call it is made.
    pub parent: Parent,
    /// How long they give it.
    pub patience: Patience,
    /// How long it may wait for the agent to come online; kept calls only.
    pub wait_online: Option<Duration>,
    /// Their trace.
    pub traceparent: Option<String>,
    /// How many calls it is from the first caller already, as a caller that is another hub says; nothing else tells it.
    pub hops: usize,
    /// Whom to tell when the task is over; kept calls only.
    pub callback: Option<Callback>,
    /// Whom to tell of every change of the task, besides those whom it tells already; kept calls only.
    pub followers: Vec<Follower>,
    /// By what a repetition of this request is known; kept calls only. One that is repeated is not carried out again.
    pub once: Option<Once>,
    /// How long it goes on without any reader; kept calls only. After that it is cancelled.
    pub unread: Option<Duration>,
    /// What the door of the hub's [`Resolver`](crate::resolver::Resolver) tells it of this request. No other door sets it:
    /// the resolver, and not the hub, then decides whether the request may reach its target.
    pub hint: Option<Hint>,
}

impl Request {
    /// A plain request.
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

    pub(super) fn draft(
        self,
        id: CallId,
        (entry, attached): (&Entry, Attachment),
        (right, held): (Right, Held),
        origin: Origin,
        start: &Start,
        limits: &Limits,
    ) -> Result<Draft, Failure> {
        let Start { life, task, .. } = *start;
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
                start.speaker.as_ref().unwrap_or(&self.principal),
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
            is_allowed: start.is_allowed,
            taken_up: start.taken_up.clone(),
            handle_before: start.handle_before.clone(),
            observers: Observers::new(attached.observers),
            context: attached.context,
        })
    }
}

/// What the resolver attaches to a call.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) observers: Vec<Box<dyn CallObserver>>,
    pub(super) context: Option<Arc<dyn CallContext>>,
}

/// What the hub itself decides of a call.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) life: Life,
    /// A new one if absent.
    pub(crate) id: Option<CallId>,
    pub(crate) task: Option<TaskId>,
    /// It was allowed before the restart.
    pub(crate) is_allowed: bool,
    /// The agent got it before the restart.
    pub(crate) taken_up: Option<TakenUp>,
    /// What the agent's door noted in the turn before.
    pub(crate) handle_before: Option<Json>,
    /// Whose conversation it is, if not the caller's.
    pub(crate) speaker: Option<Principal>,
    /// What the resolver kept with its task.
    pub(crate) context: BTreeMap<String, Json>,
}

impl Start {
    /// A call of this life, made now.
    pub(crate) fn new(life: Life) -> Self {
        Self {
            life,
            id: None,
            task: None,
            is_allowed: false,
            taken_up: None,
            handle_before: None,
            speaker: None,
            context: BTreeMap::new(),
        }
    }
}

/// Where a request comes from.
#[derive(Debug)]
pub(super) enum Origin {
    /// The caller named the call it is made for, which passes on deadline and cancel too.
    Explicit(Arc<Call>),
    /// The calling agent has just one open call.
    Only(Arc<Call>),
    /// Nothing is known but, for agents, how deep they may be.
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

impl Hub {
    /// Where a request comes from. A parent that has ended, or is not the caller's to name, counts as not said.
    pub(super) fn origin_of(&self, request: &Request) -> Origin {
        let caller = match &request.principal.who {
            Who::Agent(id) => self.0.agents.read().get(id).cloned(),
            Who::Person | Who::Platform | Who::Peer(_) => None,
        };
        let named = match &request.parent {
            Parent::Unsaid => None,
            Parent::Request(id) => caller
                .as_ref()
                .and_then(|caller| caller.open_call(id.as_str())),
            Parent::Call(id) => self.0.shared.calls.lock().get(id).cloned(),
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
}

/// Longer than anybody waits, and short enough to be added to any time.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Sessions of the platform and of `local` reach the agent unchanged; others' as a hash, so that two callers never
/// share an agent's memory. A session that looks like such a hash is hashed whoever names it: it could be another owner's.
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

/// How many hex digits the hash of a session has.
const HASHED: usize = 32;

/// In upper case too: an agent may name a folder after a session, and some systems do not tell the cases apart.
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
        Life::Kept => (limits.idle_kept, limits.absolute_kept, limits.ask_kept),
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
