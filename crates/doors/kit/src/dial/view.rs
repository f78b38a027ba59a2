//! A remote in the form of the API: what all protocols tell, and the details of its protocol.

use std::collections::BTreeMap;

use jackfield_model::{AgentId, Owner};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A remote that the hub dials. Further fields are the protocol's own.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Remote)]
pub struct RemoteView {
    /// Id of the remote: its agent's id if the remote is one agent, else an id of its protocol.
    pub id: String,
    /// Protocol by which the hub dials.
    pub protocol: &'static str,
    /// Address as the operator gave it.
    pub url: String,
    /// Owner of the remote; absent if only administrators see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub owner: Option<Owner>,
    /// True if the remote is in the hub's configuration file.
    pub configured: bool,
    /// State of the remote.
    pub state: RemoteState,
    /// Last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<RemoteErrorView>,
    /// Agents of this hub that the remote is or brings.
    #[schema(value_type = Vec<String>)]
    pub agents: Vec<AgentId>,
    /// Details of the protocol.
    #[serde(flatten)]
    pub details: BTreeMap<String, Value>,
}

/// State of a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemoteState {
    /// The first attempt is running.
    Trying,
    /// The remote can be called.
    Online,
    /// The remote is unreachable; the hub retries.
    Offline,
    /// The operator must act; the hub retries all the same.
    Refused,
}

/// Error with its time.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = RemoteError)]
pub struct RemoteErrorView {
    /// Error message.
    pub message: String,
    /// Time of the error.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

impl RemoteView {
    /// Returns a remote that is reached for the first time, without agents.
    pub fn new(protocol: &'static str, id: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            protocol,
            url: url.into(),
            owner: None,
            configured: false,
            state: RemoteState::Trying,
            error: None,
            agents: Vec::new(),
            details: BTreeMap::new(),
        }
    }

    /// Adds the details of the protocol: the fields of an object. Fields that every remote has are left out.
    #[must_use]
    pub fn with_details(mut self, details: &impl Serialize) -> Self {
        let details = serde_json::to_value(details);
        if let Ok(Value::Object(details)) = details {
            let is_common = |key: &str| {
                matches!(
                    key,
                    "id" | "protocol"
                        | "url"
                        | "owner"
                        | "configured"
                        | "state"
                        | "error"
                        | "agents"
                )
            };
            self.details = details
                .into_iter()
                .filter(|(key, _)| !is_common(key))
                .collect();
        }
        self
    }
}
