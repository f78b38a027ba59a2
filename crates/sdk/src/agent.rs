//! Being an agent: what it is called and what it does with a message. How it is reached is in `bridge`, `in_process` and
//! `a2a`.

mod ask;
mod failure;
mod message;
mod output;
mod peer;
mod profile;
mod reply;
mod signal;
mod work;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

pub(crate) use self::{
    ask::OpenAsk,
    output::{End, Output, Said},
    peer::{Calling, Feed, Looking},
    profile::Profile,
    reply::Abilities,
    signal::Signals,
    work::Work,
};
pub use self::{
    ask::{Answer, Approval, PendingApproval, Question},
    failure::Failure,
    message::Message,
    peer::{Peer, PeerCall, PeerCallBuilder},
    profile::{Extension, Skill},
    reply::{Reply, ReplyError},
    signal::{Signal, SignalError, Signaller},
};
use crate::{Address, Backoff, Error, HandlerError, bridge};

/// How long to wait before a cut connection is made again, at first and at most. Short at first: callers wait.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

type Handled = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>>;
type Handler = Arc<dyn Fn(Message, Reply) -> Handled + Send + Sync>;
type SignalHandler = Arc<dyn Fn(Signal, Signaller) + Send + Sync>;
type CutListener = Arc<dyn Fn(&Error, Duration) + Send + Sync>;
type MoveListener = Arc<dyn Fn(&Address) + Send + Sync>;

/// An agent. Give it [`on_message`](Agent::on_message) and [`run`](Agent::run) it.
#[derive(Clone)]
pub struct Agent {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) agent_type: Option<String>,
    pub(crate) profile: Profile,
    handler: Option<Handler>,
    signals: Option<SignalHandler>,
    cut: Option<CutListener>,
    moved: Option<MoveListener>,
    address: Option<Address>,
    backoff: Backoff,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("id", &self.id)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent with this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            description: None,
            agent_type: None,
            profile: Profile::default(),
            handler: None,
            signals: None,
            cut: None,
            moved: None,
            address: None,
            backoff: Backoff::new(WAITS.0, WAITS.1),
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A name for people.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// What it is made with.
    pub fn agent_type(mut self, agent_type: impl Into<String>) -> Self {
        self.agent_type = Some(agent_type.into());
        self
    }

    /// Something it can do; call it once for each.
    pub fn skill(mut self, skill: impl Into<Skill>) -> Self {
        self.profile.skills.push(skill.into());
        self
    }

    /// Its own version.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.profile.version = Some(version.into());
        self
    }

    /// A media type that it takes; call it once for each. Without one it takes any.
    pub fn input_mode(mut self, media_type: impl Into<String>) -> Self {
        self.profile.input_modes.push(media_type.into());
        self
    }

    /// A media type that it answers in; call it once for each.
    pub fn output_mode(mut self, media_type: impl Into<String>) -> Self {
        self.profile.output_modes.push(media_type.into());
        self
    }

    /// A protocol extension that it knows; call it once for each.
    pub fn extension(mut self, extension: impl Into<Extension>) -> Self {
        self.profile.extensions.push(extension.into());
        self
    }

    /// The hub to attach to, instead of the one the environment names.
    pub fn hub(mut self, address: Address) -> Self {
        self.address = Some(address);
        self
    }

    /// How long to wait between attempts to connect.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Who is told when there is no connection to the hub: why, and how long until the next attempt.
    pub fn on_cut(mut self, listener: impl Fn(&Error, Duration) + Send + Sync + 'static) -> Self {
        self.cut = Some(Arc::new(listener));
        self
    }

    /// Who is told when the hub was found at another address, before the agent connects there
    /// ([`Address::with_discovery`]).
    pub fn on_moved(mut self, listener: impl Fn(&Address) + Send + Sync + 'static) -> Self {
        self.moved = Some(Arc::new(listener));
        self
    }

    pub(crate) fn tell_moved(&self, address: &Address) {
        if let Some(moved) = &self.moved {
            moved(address);
        }
    }

    pub(crate) fn tell_cut(&self, error: &Error, wait: Duration) {
        if let Some(cut) = &self.cut {
            cut(error, wait);
        }
    }

    /// What it does with a message: it says things through the reply, and the reply ends when the handler returns.
    /// An error ends it as a failure, with a code if it is a [`Failure`]; so does a panic. A cancelled call drops the
    /// handler where it waits. Several messages are worked on at once.
    pub fn on_message<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(Message, Reply) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.handler = Some(Arc::new(move |message, reply| {
            Box::pin(handler(message, reply))
        }));
        self
    }

    /// Who hears what callers say about transfers of files ([`Reply::offer_files`]), and answers by the signaller, then or
    /// later. It is called on the agent's connection, so it hands the work to somebody else and returns at once. Only agents
    /// that [`run`](Self::run) hear signals: in a hub of the same process, and over A2A, there are none.
    pub fn on_signal(
        mut self,
        handler: impl Fn(Signal, Signaller) + Send + Sync + 'static,
    ) -> Self {
        self.signals = Some(Arc::new(handler));
        self
    }

    pub(crate) fn hear(&self, signal: Signal, signaller: Signaller) {
        let Some(handler) = &self.signals else {
            return;
        };
        let heard = std::panic::AssertUnwindSafe(|| handler(signal, signaller));
        if std::panic::catch_unwind(heard).is_err() {
            tracing::error!(agent = %self.id, "the handler of signals panicked");
        }
    }

    /// Attaches to the hub and answers until the hub ends it for good (replaced, revoked, refused); connects again
    /// after anything else. Handlers go on through a cut, and nothing they say is lost or said twice. To stop it, drop
    /// the future.
    pub async fn run(self) -> Result<(), Error> {
        self.run_with(|| {}).await
    }

    /// Like [`run`](Self::run); `attached` is called each time the hub has confirmed the agent.
    pub async fn run_with(self, attached: impl FnMut() + Send) -> Result<(), Error> {
        self.run_until(std::future::pending(), attached).await
    }

    /// Like [`run_with`](Self::run_with), until `stop` resolves. Then the agent says goodbye, so that nobody waits for it
    /// to come back as after a cut; what it was working on fails as offline.
    pub async fn run_until(
        self,
        stop: impl Future<Output = ()> + Send,
        attached: impl FnMut() + Send,
    ) -> Result<(), Error> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => Address::from_env()?,
        };
        let backoff = self.backoff.clone();
        bridge::run(&self, &address, backoff, attached, stop).await
    }
}
