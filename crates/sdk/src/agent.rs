//! [`Agent`] with its description and its handlers. The ways to reach an agent are in `bridge`, `in_process`
//! and `a2a`.

mod ask;
mod failure;
mod message;
mod output;
mod peer;
mod profile;
mod reply;
mod signal;
mod work;

use jackfield_model::{Extension, Skill};
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

pub(crate) use self::{
    ask::OpenAsk,
    output::{AgentOutput, HandlerEnd, QueuedOutput},
    peer::{PeerCallRequest, PeerDiscovery, PeerReplySender},
    profile::ProfileDetails,
    reply::OutputSupport,
    signal::SignalQueue,
    work::HandlerTask,
};
pub use self::{
    ask::{CallerAnswer, CallerQuestion, PendingApproval, ToolApproval},
    failure::AgentFailure,
    message::Message,
    peer::{PeerCall, PeerCallBuilder, PeerInfo},
    reply::{Reply, ReplyError},
    signal::{CallerSignal, SignalError, Signaller},
};
use crate::{Backoff, Error, HandlerError, HubAddress, bridge};

/// First and longest wait before a reconnect. The first is short because callers are waiting.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

type HandlerFuture = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>>;
type Handler = Arc<dyn Fn(Message, Reply) -> HandlerFuture + Send + Sync>;
type SignalHandler = Arc<dyn Fn(CallerSignal, Signaller) + Send + Sync>;
type DisconnectListener = Arc<dyn Fn(&Error, Duration) + Send + Sync>;
type MoveListener = Arc<dyn Fn(&HubAddress) + Send + Sync>;

/// An agent. Set its handler with [`on_message`](Agent::on_message), then [`run`](Agent::run) the agent.
#[derive(Clone)]
pub struct Agent {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) agent_type: Option<String>,
    pub(crate) profile: ProfileDetails,
    handler: Option<Handler>,
    signals: Option<SignalHandler>,
    cut: Option<DisconnectListener>,
    moved: Option<MoveListener>,
    address: Option<HubAddress>,
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
    /// Creates an agent with this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            description: None,
            agent_type: None,
            profile: ProfileDetails::default(),
            handler: None,
            signals: None,
            cut: None,
            moved: None,
            address: None,
            backoff: Backoff::new(WAITS.0, WAITS.1),
        }
    }

    /// Returns the agent's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sets the display name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the description of the agent's purpose.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the agent's type: the framework or product it is made with.
    pub fn agent_type(mut self, agent_type: impl Into<String>) -> Self {
        self.agent_type = Some(agent_type.into());
        self
    }

    /// Adds a skill. Call once per skill.
    pub fn skill(mut self, skill: impl Into<Skill>) -> Self {
        self.profile.skills.push(skill.into());
        self
    }

    /// Sets the agent's own version.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.profile.version = Some(version.into());
        self
    }

    /// Adds an accepted media type. Call once per type. An agent without input modes accepts any type.
    pub fn input_mode(mut self, media_type: impl Into<String>) -> Self {
        self.profile.input_modes.push(media_type.into());
        self
    }

    /// Adds a media type of the agent's replies. Call once per type.
    pub fn output_mode(mut self, media_type: impl Into<String>) -> Self {
        self.profile.output_modes.push(media_type.into());
        self
    }

    /// Adds a supported protocol extension. Call once per extension.
    pub fn extension(mut self, extension: impl Into<Extension>) -> Self {
        self.profile.extensions.push(extension.into());
        self
    }

    /// Sets the hub to attach to, instead of the hub in the environment ([`HubAddress::from_env`]).
    pub fn hub(mut self, address: HubAddress) -> Self {
        self.address = Some(address);
        self
    }

    /// Sets the waits between attempts to connect.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets a listener for lost or failed connections. The listener receives the error and the wait until the
    /// next attempt.
    pub fn on_disconnect(
        mut self,
        listener: impl Fn(&Error, Duration) + Send + Sync + 'static,
    ) -> Self {
        self.cut = Some(Arc::new(listener));
        self
    }

    /// Sets a listener for a hub that was found at a new address. Called before the agent connects there
    /// ([`HubAddress::with_discovery`]).
    pub fn on_moved(mut self, listener: impl Fn(&HubAddress) + Send + Sync + 'static) -> Self {
        self.moved = Some(Arc::new(listener));
        self
    }

    pub(crate) fn notify_moved(&self, address: &HubAddress) {
        if let Some(moved) = &self.moved {
            moved(address);
        }
    }

    pub(crate) fn notify_disconnected(&self, error: &Error, wait: Duration) {
        if let Some(cut) = &self.cut {
            cut(error, wait);
        }
    }

    /// Sets the message handler. The handler replies through [`Reply`]; the reply ends when the handler
    /// returns.
    ///
    /// - An error ends the reply as a failure, with the code of a [`AgentFailure`]. A panic ends it as a failure
    ///   too.
    /// - Cancelling the call drops the handler at its current await point.
    /// - Several messages are handled concurrently.
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

    /// Sets the handler for signals of callers about file transfers ([`Reply::offer_files`]). The handler
    /// answers with the [`Signaller`], at once or later. It runs on the agent's connection, so move the work
    /// to a task and return immediately.
    ///
    /// Only agents that [`run`](Self::run) receive signals. Agents in a hub of the same process, and agents
    /// over A2A, receive none.
    pub fn on_signal(
        mut self,
        handler: impl Fn(CallerSignal, Signaller) + Send + Sync + 'static,
    ) -> Self {
        self.signals = Some(Arc::new(handler));
        self
    }

    pub(crate) fn handle_signal(&self, signal: CallerSignal, signaller: Signaller) {
        let Some(handler) = &self.signals else {
            return;
        };
        let heard = std::panic::AssertUnwindSafe(|| handler(signal, signaller));
        if std::panic::catch_unwind(heard).is_err() {
            tracing::error!(agent = %self.id, "the handler of signals panicked");
        }
    }

    /// Attaches to the hub and answers calls until the hub ends the agent's attachment for good (replaced,
    /// revoked, refused). Reconnects after any other error. Handlers keep running while the connection is
    /// lost, and their output is neither lost nor repeated. To stop the agent, drop the future.
    pub async fn run(self) -> Result<(), Error> {
        self.run_with(|| {}).await
    }

    /// Like [`run`](Self::run), and calls `attached` each time the hub has confirmed the agent.
    pub async fn run_with(self, attached: impl FnMut() + Send) -> Result<(), Error> {
        self.run_until(std::future::pending(), attached).await
    }

    /// Like [`run_with`](Self::run_with), until `stop` resolves. The agent then detaches, so the hub does not
    /// wait for a reconnect; calls still in progress fail as offline.
    pub async fn run_until(
        self,
        stop: impl Future<Output = ()> + Send,
        attached: impl FnMut() + Send,
    ) -> Result<(), Error> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => HubAddress::from_env()?,
        };
        let backoff = self.backoff.clone();
        bridge::run(&self, &address, backoff, attached, stop).await
    }
}
