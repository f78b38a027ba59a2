//! Invites: what is asked for, the ticket, and what is given for it.

use std::{fmt, time::Duration};

use jackfield_kit::api::invalid;
use jackfield_model::{AgentId, Failure, Owner};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::OwnerName;

/// What an agent is if nobody says: the kind that the published client of the bridge starts.
const DEFAULT_TYPE: &str = "claude";
/// The longest kind of agent.
const TYPE_MAX: usize = 64;

/// An invite to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewInvite)]
pub struct InviteBody {
    /// The agent that may be registered with it.
    pub agent: String,
    /// What kind of agent it is to be; `claude` if not given.
    #[serde(rename = "type")]
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = "^[A-Za-z0-9._-]+$",
        nullable = false
    )]
    kind: Option<String>,
    /// Whose the agent will be, if its id is new; only admins may name another than themselves.
    #[schema(value_type = Option<OwnerName>, nullable = false)]
    pub owner: Option<Owner>,
}

impl InviteBody {
    /// What kind of agent it is to be. It stands in commands that people copy, so that it may hold nothing else.
    pub fn agent_type(&self) -> Result<String, Failure> {
        let kind = self.kind.as_deref().unwrap_or(DEFAULT_TYPE);
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=TYPE_MAX).contains(&kind.len()) && kind.bytes().all(is_safe) {
            return Ok(kind.to_owned());
        }
        let text = format!("field \"type\" must have 1 to {TYPE_MAX} of A-Z a-z 0-9 . _ -");
        Err(invalid(text))
    }
}

/// An invite.
#[derive(Serialize, ToSchema)]
#[schema(as = Invite)]
pub struct InviteView {
    /// The agent that may be registered with it.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Whose that agent is, or will be.
    #[schema(value_type = String)]
    owner: Owner,
    /// Where it is taken, once: for `connect --setup`.
    url: String,
    /// The fingerprint of the hub's CA, or of its certificate if the CA is not sent along, if no public CA signed it: for
    /// `connect --ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^sha256:[0-9a-f]{64}$", nullable = false)]
    ca: Option<String>,
    /// When it stops working.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl InviteView {
    /// An invite that is good for so long from now.
    pub fn new(
        agent: AgentId,
        owner: Owner,
        url: String,
        ca: Option<String>,
        lifetime: Duration,
    ) -> Self {
        let now = Timestamp::now();
        Self {
            agent,
            owner,
            url,
            ca,
            expires_at: now.checked_add(lifetime).unwrap_or(now),
        }
    }
}

impl fmt::Debug for InviteView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InviteView")
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

/// What an agent needs to attach, with the names of the Agent Mesh platform.
#[derive(Serialize, ToSchema)]
#[schema(as = Setup)]
pub struct SetupView {
    /// The agent.
    agent_id: String,
    /// Its token, which may register this agent and no other.
    token: String,
    /// What kind of agent it is to be.
    agent_type: String,
    /// The hub's WebSocket.
    bridge_url: String,
}

impl SetupView {
    /// For a hub at this address.
    pub fn new(agent: &AgentId, agent_type: String, token: String, base: &str) -> Self {
        let rest = base.strip_prefix("http").unwrap_or(base);
        Self {
            agent_id: agent.to_string(),
            token,
            agent_type,
            // http becomes ws, https becomes wss.
            bridge_url: format!("ws{rest}/ws"),
        }
    }
}

impl fmt::Debug for SetupView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetupView")
            .field("agent_id", &self.agent_id)
            .finish_non_exhaustive()
    }
}
