//! JSON of invites: the request, the ticket, and the setup returned for a ticket.

use std::{fmt, time::Duration};

use jackfield_kit::api::invalid;
use jackfield_model::{AgentId, Failure, Owner};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Default agent type: the type started by the published client of the bridge.
const DEFAULT_TYPE: &str = "claude";
/// Maximum length of an agent type, in bytes.
const TYPE_MAX: usize = 64;

/// Invite to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewInvite)]
pub struct InviteBody {
    /// Agent to register with the invite.
    pub agent: String,
    /// Type of the agent. Defaults to `claude`.
    #[serde(rename = "type")]
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = "^[A-Za-z0-9._-]+$",
        nullable = false
    )]
    kind: Option<String>,
    /// Owner of the agent, if its id is new. Only admins may name an owner other than themselves.
    #[schema(nullable = false)]
    pub owner: Option<Owner>,
}

impl InviteBody {
    /// Returns the type of the agent. Allows only safe characters, because people copy the type in commands.
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

/// Invite.
#[derive(Serialize, ToSchema)]
#[schema(as = Invite)]
pub struct InviteView {
    /// Agent to register with the invite.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Current or future owner of the agent.
    #[schema(value_type = String)]
    owner: Owner,
    /// Address for redeeming the invite once: for `connect --setup`.
    url: String,
    /// Fingerprint of the hub's CA (or of its certificate if the CA is not sent along), unless signed by a
    /// public CA: for `connect --ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^sha256:[0-9a-f]{64}$", nullable = false)]
    ca: Option<String>,
    /// Expiry time.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl InviteView {
    /// Creates an invite that expires after `lifetime`.
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

/// Data for connecting an agent, with field names of the Agent Mesh platform.
#[derive(Serialize, ToSchema)]
#[schema(as = Setup)]
pub struct SetupView {
    /// Agent id.
    agent_id: String,
    /// Token of the agent, valid for registering the agent only.
    token: String,
    /// Type of the agent.
    agent_type: String,
    /// WebSocket address of the hub.
    bridge_url: String,
}

impl SetupView {
    /// Creates the setup for a hub at the address `base`.
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
