//! What an address leads to: the remotes that could be added from there. Discovery adds none of them.

use jackfield_model::AgentId;
use serde::Serialize;
use utoipa::ToSchema;

use super::{DialTarget, Dialler, RemoteView};

/// Remotes at an address, in the order of the server.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = DiscoveredRemotes)]
pub struct Discovery {
    /// Protocol by which the hub asked.
    pub protocol: &'static str,
    /// Address that was asked, as the operator gave it.
    pub url: String,
    /// Kind of the server, if it is known to have several agents, such as `Agno AgentOS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub server: Option<&'static str>,
    /// Remotes at the address.
    pub remotes: Vec<DiscoveredRemote>,
    /// True if the server lists more agents than the hub looks at.
    pub truncated: bool,
    /// What to do about agents that cannot be added.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hint: Option<&'static str>,
}

/// A remote that could be added.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DiscoveredRemote {
    /// Address to add the remote by.
    pub url: String,
    /// Id of the remote's agent: the one that it has, or a free one that suits its name. Absent if the protocol
    /// chooses no ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub id: Option<AgentId>,
    /// Name of the remote.
    pub name: String,
    /// Description of the remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub description: Option<String>,
    /// Version and binding of the protocol that the remote speaks, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub speaks: Option<String>,
    /// Whether the remote can be added.
    pub state: DiscoveredState,
    /// Why the remote cannot be added.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
}

/// Whether a discovered remote can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveredState {
    /// It can be added.
    New,
    /// It was added before, by the same address.
    Added,
    /// It cannot be added as it is.
    Unusable,
}

impl Discovery {
    /// Returns the discovery for a protocol whose addresses name one remote each: the target itself.
    pub fn of_target<D: Dialler + ?Sized>(dialler: &D, target: &DialTarget) -> Self {
        let known = dialler.find(&target.address);
        Self {
            protocol: dialler.protocol().door(),
            url: target.address.clone(),
            server: None,
            remotes: vec![DiscoveredRemote {
                url: target.address.clone(),
                id: known.as_ref().and_then(agent_of),
                name: target.address.clone(),
                description: None,
                speaks: None,
                state: match known {
                    Some(_) => DiscoveredState::Added,
                    None => DiscoveredState::New,
                },
                error: None,
            }],
            truncated: false,
            hint: None,
        }
    }
}

fn agent_of(remote: &RemoteView) -> Option<AgentId> {
    remote.agents.first().cloned()
}
