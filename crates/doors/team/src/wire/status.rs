//! The states of agents and of teams, in both of their spellings.

use serde::{
    Deserialize, Deserializer, Serialize,
    de::value::{Error, StrDeserializer},
};

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// The agent has not begun.
    Uninitialized,
    /// The agent is starting.
    Bootstrapping,
    /// The agent has nothing to do.
    Idle,
    /// The agent has got a message.
    ProcessingUserInput,
    /// The agent waits for its model.
    AwaitingLlmResponse,
    /// The model streams its answer.
    AnalyzingLlmResponse,
    /// The agent waits until somebody approves a tool call.
    AwaitingToolApproval,
    /// Somebody denied a tool call.
    ToolDenied,
    /// A tool runs.
    ExecutingTool,
    /// A tool has run.
    ProcessingToolResult,
    /// The agent is stopping.
    ShuttingDown,
    /// The agent has stopped.
    ShutdownComplete,
    /// The agent failed.
    Error,
}

impl AgentStatus {
    /// The status of an agent that has nothing to do.
    pub(crate) fn at_rest(is_online: bool) -> Self {
        match is_online {
            true => Self::Idle,
            false => Self::Uninitialized,
        }
    }

    /// Reads a name, in either case.
    pub fn from_name(name: &str) -> Option<Self> {
        read(&name.to_ascii_lowercase())
    }
}

/// What a team is doing. Serialized by the names of envelopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TeamStatus {
    /// The team is not ready yet.
    #[serde(alias = "UNINITIALIZED", alias = "BOOTSTRAPPING")]
    Starting,
    /// No member works.
    Idle,
    /// A member works.
    #[serde(alias = "PROCESSING")]
    Running,
    /// The team was halted.
    Paused,
    /// The team failed.
    Error,
    /// The team is stopping, or has stopped.
    #[serde(alias = "SHUTDOWN_COMPLETE")]
    ShuttingDown,
}

impl TeamStatus {
    /// Its name in the flattened stream: those that the published web client knows, where nothing is paused.
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Starting => "bootstrapping",
            Self::Idle | Self::Paused => "idle",
            Self::Running => "processing",
            Self::Error => "error",
            Self::ShuttingDown => "shutting_down",
        }
    }

    /// Reads a name of either spelling, in either case.
    pub fn from_name(name: &str) -> Option<Self> {
        read(&name.to_ascii_uppercase())
    }

    /// For `#[serde(deserialize_with)]`: the same as [`from_name`](Self::from_name).
    pub(super) fn deserialize_name<'de, D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
    {
        let name = String::deserialize(deserializer)?.to_ascii_uppercase();
        Self::deserialize(StrDeserializer::new(&name))
    }

    /// How a name that somebody else used for a team's state is written in the flattened stream.
    ///
    /// Only names that the web client does not know change more than their case: it tells more states apart than we do.
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
