//! Being an agent: what it is called, what it does with a message, and the life of its connection.

mod connection;
mod reply;

use std::{future::Future, pin::Pin, sync::Arc};

pub use self::reply::Reply;
use crate::{Address, Backoff, Error, HandlerError};

/// What somebody says to the agent.
#[derive(Debug, Clone)]
pub struct Message {
    /// The words.
    pub text: String,
    /// Who calls: an agent's id or an owner's name, as the hub knows it.
    pub caller: Option<String>,
    /// The conversation it belongs to: the same for each message of it.
    pub session: Option<String>,
    /// The id of this request.
    pub request_id: Option<String>,
    /// Files and data that came with the words, as JSON.
    pub parts: Option<serde_json::Value>,
    /// What the caller's protocol said besides.
    pub metadata: Option<serde_json::Value>,
}

type Handled = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>>;
type Handler = Arc<dyn Fn(Message, Reply) -> Handled + Send + Sync>;

/// An agent. Give it [`on_message`](Agent::on_message) and [`run`](Agent::run) it.
#[derive(Clone)]
pub struct Agent {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) agent_type: Option<String>,
    pub(crate) skills: Vec<String>,
    pub(crate) handler: Option<Handler>,
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
            skills: Vec::new(),
            handler: None,
            address: None,
            backoff: Backoff::default(),
        }
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
    pub fn skill(mut self, skill: impl Into<String>) -> Self {
        self.skills.push(skill.into());
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

    /// What it does with a message: it says things through the reply, and the reply ends when the handler returns.
    /// An error ends it as a failure. A cancelled call drops the handler where it waits.
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

    /// Attaches to the hub and answers until the hub ends it for good (replaced, revoked, refused); connects again
    /// after anything else. To stop it, drop the future.
    pub async fn run(self) -> Result<(), Error> {
        self.run_with(|| {}).await
    }

    /// Like [`run`](Self::run); `attached` is called each time the hub has confirmed the agent.
    pub async fn run_with(self, mut attached: impl FnMut() + Send) -> Result<(), Error> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => Address::from_env()?,
        };
        let mut backoff = self.backoff.clone();
        loop {
            let error = match connection::run(&self, &address, &mut attached).await {
                Ok(never) => match never {},
                Err(connection::Ended {
                    error,
                    was_attached,
                }) => {
                    if was_attached {
                        backoff.reset();
                    }
                    error
                }
            };
            if !error.is_passing() {
                return Err(error);
            }
            let wait = backoff.next_wait();
            tracing::debug!(agent = %self.id, %error, ?wait, "not connected; trying again");
            tokio::time::sleep(wait).await;
        }
    }
}
