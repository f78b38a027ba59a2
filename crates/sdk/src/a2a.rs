//! Agents on your own axum server, without a separate hub: the A2A protocol of the hub in front of an
//! internal hub that lives in this process and stores nothing.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    extract::{Request, State},
    middleware,
};
use futures_util::FutureExt as _;
use jackfield_a2a::{A2aDoor, Cards};
use jackfield_core::{hub::Hub, limits::Limits, store::memory::MemoryStore};
use jackfield_kit::auth::{Gatekeeper, TokenlessAccess};
use jackfield_model::{AgentId, id::InvalidName};
use tokio::task::JoinSet;

use crate::{Agent, InProcess};

/// Why agents cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServeError {
    /// No agents were given.
    #[error("at least one agent, team or workflow is required")]
    Empty,
    /// An invalid agent id.
    #[error(transparent)]
    Id(#[from] InvalidName),
    /// Two agents, teams or workflows have the same id.
    #[error("duplicate id {0:?}")]
    Duplicate(String),
    /// The text is not a valid route prefix.
    #[error("{0:?} is not a prefix of routes: use a path like /a2a, or nothing")]
    Prefix(String),
}

/// Serves agents. A [`Team`](crate::Team) and a [`Workflow`](crate::Workflow) convert into an [`Agent`].
///
/// ```no_run
/// # async fn example(
/// #     agent: jackfield_sdk::Agent,
/// #     team: jackfield_sdk::Team,
/// #     workflow: jackfield_sdk::Workflow,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use jackfield_sdk::a2a;
///
/// let router = a2a::serve([agent, team.into(), workflow.into()]).into_router("/a2a")?;
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:7777").await?;
/// axum::serve(listener, router).await?;
/// # Ok(()) }
/// ```
pub fn serve(agents: impl IntoIterator<Item = Agent>) -> A2aServer {
    A2aServer {
        agents: agents.into_iter().collect(),
        limits: Limits::default(),
        public_url: None,
    }
}

/// An A2A server under construction; see [`serve`].
#[derive(Debug)]
#[must_use = "it serves nobody until it is a router"]
pub struct A2aServer {
    agents: Vec<Agent>,
    limits: Limits,
    public_url: Option<String>,
}

impl A2aServer {
    /// Sets the limits. By default an agent has at most 64 open calls, and a call lasts at most an hour.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the URL under which callers reach the server, without the prefix. Enables A2A cards, at
    /// `{prefix}/agents/{id}/.well-known/agent-card.json`.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Builds a [`Router`] with the routes `{prefix}/message/send` and `{prefix}/message/stream`, to merge
    /// into your own server.
    ///
    /// - The routes have no authentication: your server decides which requests reach them.
    /// - A caller that disconnects drops the handler.
    /// - The first request starts background tasks in its runtime. Dropping the router ends them.
    pub fn into_router(mut self, prefix: &str) -> Result<Router, ServeError> {
        let prefix = checked_prefix(prefix)?;
        self.check_agents()?;
        self.limits.agents_per_owner = self.limits.agents_per_owner.max(self.agents.len());
        let hub = Hub::open(Arc::new(MemoryStore::default()), self.limits)
            .now_or_never()
            .and_then(Result::ok)
            .expect("a store in memory answers at once and does not fail");
        let gatekeeper = Gatekeeper::new(hub.clone(), TokenlessAccess::Everybody);
        let cards = match &self.public_url {
            Some(url) => Cards::at(url).below(prefix),
            None => Cards::default(),
        };
        let door = A2aDoor::new(hub.clone(), gatekeeper).with_cards(cards);
        let behind = Arc::new(A2aServerState {
            hub,
            agents: self.agents,
            running: OnceLock::new(),
        });
        let start = middleware::map_request_with_state(behind, start);
        Ok(jackfield_a2a::router_at(prefix, door).route_layer(start))
    }

    fn check_agents(&self) -> Result<(), ServeError> {
        if self.agents.is_empty() {
            return Err(ServeError::Empty);
        }
        let mut ids = HashSet::new();
        for agent in &self.agents {
            if !ids.insert(AgentId::parse(&agent.id)?) {
                return Err(ServeError::Duplicate(agent.id.clone()));
            }
        }
        Ok(())
    }
}

impl Agent {
    /// Builds the routes of an A2A server with this agent alone, to merge into your own axum server; see
    /// [`A2aServer::into_router`].
    pub fn into_a2a_router(self, prefix: &str) -> Result<Router, ServeError> {
        serve([self]).into_router(prefix)
    }
}

/// Validates a prefix and strips its trailing slash.
fn checked_prefix(prefix: &str) -> Result<&str, ServeError> {
    let trimmed = prefix.strip_suffix('/').unwrap_or(prefix);
    let is_plain = |segment: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        !segment.is_empty() && segment.bytes().all(plain)
    };
    let is_path = match trimmed.strip_prefix('/') {
        Some(path) => path.split('/').all(is_plain),
        None => trimmed.is_empty(),
    };
    if is_path {
        Ok(trimmed)
    } else {
        Err(ServeError::Prefix(prefix.to_owned()))
    }
}

/// State shared by the routes.
#[derive(Debug)]
struct A2aServerState {
    hub: Hub,
    agents: Vec<Agent>,
    running: OnceLock<A2aBackground>,
}

/// Background tasks of the server.
#[derive(Debug)]
struct A2aBackground {
    _agents: Vec<InProcess>,
    _sweeper: JoinSet<()>,
}

/// Starts the background tasks with the first request, where a runtime is certain to exist.
async fn start(State(behind): State<Arc<A2aServerState>>, request: Request) -> Request {
    behind.running.get_or_init(|| behind.run());
    request
}

impl A2aServerState {
    fn run(&self) -> A2aBackground {
        let attach = |agent: &Agent| {
            let attached = agent.clone().attach_to(&self.hub);
            attached.inspect_err(
                |error| tracing::error!(agent = %agent.id, %error, "the agent cannot be served"),
            )
        };
        let agents = self.agents.iter().map(attach).filter_map(Result::ok);
        let mut sweeper = JoinSet::new();
        let hub = self.hub.clone();
        let agents = agents.collect();
        sweeper.spawn(async move { hub.sweep_forever().await });
        A2aBackground {
            _agents: agents,
            _sweeper: sweeper,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_agents_or_with_bad_ids_is_not_made() {
        let refused = |ids: &[&str]| {
            let agents = ids.iter().map(|id| Agent::new(*id));
            serve(agents).into_router("/a2a").unwrap_err().to_string()
        };
        assert_eq!(
            refused(&[]),
            "at least one agent, team or workflow is required"
        );
        assert_eq!(refused(&["a", "b", "a"]), "duplicate id \"a\"");
        assert!(refused(&[""]).starts_with("\"\" is not a valid id: "));
        assert!(refused(&["a", "no spaces"]).starts_with("\"no spaces\" is not a valid id: "));
    }

    #[test]
    fn a_prefix_is_a_plain_path_or_nothing() {
        for (prefix, taken) in [
            ("/a2a", "/a2a"),
            ("/a2a/", "/a2a"),
            ("/agents/v1.0", "/agents/v1.0"),
            ("", ""),
            ("/", ""),
        ] {
            assert_eq!(checked_prefix(prefix), Ok(taken), "{prefix:?}");
        }
        for prefix in [
            "a2a", "//", "/a//b", "/{id}", "/*", "/a b", "/a?b", "http://x",
        ] {
            let refused = Agent::new("a").into_a2a_router(prefix).unwrap_err();
            assert_eq!(refused, ServeError::Prefix(prefix.to_owned()));
        }
    }
}
