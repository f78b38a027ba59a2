//! Statuses of agents and teams, in both spellings.

use serde::{
    Deserialize, Deserializer, Serialize,
    de::value::{Error, StrDeserializer},
};

/// Status of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// Not started.
    Uninitialized,
    /// Starting.
    Bootstrapping,
    /// Without work.
    Idle,
    /// Message received.
    ProcessingUserInput,
    /// Waiting for the model.
    AwaitingLlmResponse,
    /// The model streams its answer.
    AnalyzingLlmResponse,
    /// Waiting for approval of a tool call.
    AwaitingToolApproval,
    /// A tool call was denied.
    ToolDenied,
    /// A tool runs.
    ExecutingTool,
    /// A tool has run.
    ProcessingToolResult,
    /// Stopping.
    ShuttingDown,
    /// Stopped.
    ShutdownComplete,
    /// Failed.
    Error,
}

impl AgentStatus {
    /// Returns the status of an agent without work.
    pub(crate) fn at_rest(is_online: bool) -> Self {
        match is_online {
            true => Self::Idle,
            false => Self::Uninitialized,
        }
    }

    /// Parses a name in either case.
    pub fn from_name(name: &str) -> Option<Self> {
        read(&name.to_ascii_lowercase())
    }
}

/// Status of a team. Serialized with the names of envelopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TeamStatus {
    /// Not ready yet.
    #[serde(alias = "UNINITIALIZED", alias = "BOOTSTRAPPING")]
    Starting,
    /// No member works.
    Idle,
    /// A member works.
    #[serde(alias = "PROCESSING")]
    Running,
    /// Paused.
    Paused,
    /// Failed.
    Error,
    /// Stopping or stopped.
    #[serde(alias = "SHUTDOWN_COMPLETE")]
    ShuttingDown,
}

impl TeamStatus {
    /// Returns the name in the flattened stream. Uses only names known to the published web client, so
    /// `Paused` becomes `idle`.
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Starting => "bootstrapping",
            Self::Idle | Self::Paused => "idle",
            Self::Running => "processing",
            Self::Error => "error",
            Self::ShuttingDown => "shutting_down",
        }
    }

    /// Parses a name of either spelling, in either case.
    pub fn from_name(name: &str) -> Option<Self> {
        read(&name.to_ascii_uppercase())
    }

    /// Parses like [`from_name`](Self::from_name), for `#[serde(deserialize_with)]`.
    pub(super) fn deserialize_name<'de, D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
    {
        let name = String::deserialize(deserializer)?.to_ascii_uppercase();
        Self::deserialize(StrDeserializer::new(&name))
    }

    /// Converts the status name of an outside runtime for the flattened stream.
    ///
    /// Names known to the web client change only in case: the client distinguishes more statuses than
    /// [`TeamStatus`].
    pub(super) fn flat_name(name: &str) -> String {
        let name = name.to_ascii_lowercase();
        match Self::from_name(&name) {
            Some(status @ (Self::Starting | Self::Running | Self::Paused))
                if name != "uninitialized" =>
            {
                status.wire_name().to_owned()
            }
            _ => name,
        }
    }
}

fn read<'a, T: Deserialize<'a>>(name: &'a str) -> Option<T> {
    T::deserialize(StrDeserializer::<Error>::new(name)).ok()
}
