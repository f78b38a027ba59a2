//! The states of agents and of teams, in both of their spellings.

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentStatus {
    /// It has not begun.
    Uninitialized,
    /// It is starting.
    Bootstrapping,
    /// It has nothing to do.
    Idle,
    /// It has got a message.
    ProcessingUserInput,
    /// It waits for its model.
    AwaitingLlmResponse,
    /// Its model speaks.
    AnalyzingLlmResponse,
    /// It waits until somebody approves a tool call.
    AwaitingToolApproval,
    /// Somebody denied a tool call.
    ToolDenied,
    /// A tool runs.
    ExecutingTool,
    /// A tool has run.
    ProcessingToolResult,
    /// It is stopping.
    ShuttingDown,
    /// It has stopped.
    ShutdownComplete,
    /// It failed.
    Error,
}

impl AgentStatus {
    /// All of them.
    pub const ALL: [AgentStatus; 13] = [
        Self::Uninitialized,
        Self::Bootstrapping,
        Self::Idle,
        Self::ProcessingUserInput,
        Self::AwaitingLlmResponse,
        Self::AnalyzingLlmResponse,
        Self::AwaitingToolApproval,
        Self::ToolDenied,
        Self::ExecutingTool,
        Self::ProcessingToolResult,
        Self::ShuttingDown,
        Self::ShutdownComplete,
        Self::Error,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uninitialized => "uninitialized",
            Self::Bootstrapping => "bootstrapping",
            Self::Idle => "idle",
            Self::ProcessingUserInput => "processing_user_input",
            Self::AwaitingLlmResponse => "awaiting_llm_response",
            Self::AnalyzingLlmResponse => "analyzing_llm_response",
            Self::AwaitingToolApproval => "awaiting_tool_approval",
            Self::ToolDenied => "tool_denied",
            Self::ExecutingTool => "executing_tool",
            Self::ProcessingToolResult => "processing_tool_result",
            Self::ShuttingDown => "shutting_down",
            Self::ShutdownComplete => "shutdown_complete",
            Self::Error => "error",
        }
    }

    /// Reads a name, in either case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|status| status.name().eq_ignore_ascii_case(name))
    }
}

/// What a team is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TeamStatus {
    /// It is not ready yet.
    Starting,
    /// Nobody in it works.
    Idle,
    /// Somebody in it works.
    Running,
    /// It was halted.
    Paused,
    /// It failed.
    Error,
    /// It is stopping, or has stopped.
    ShuttingDown,
}

impl TeamStatus {
    /// All of them.
    pub const ALL: [TeamStatus; 6] = [
        Self::Starting,
        Self::Idle,
        Self::Running,
        Self::Paused,
        Self::Error,
        Self::ShuttingDown,
    ];

    /// Its name in envelopes.
    pub fn seed_name(self) -> &'static str {
        match self {
            Self::Starting => "STARTING",
            Self::Idle => "IDLE",
            Self::Running => "RUNNING",
            Self::Paused => "PAUSED",
            Self::Error => "ERROR",
            Self::ShuttingDown => "SHUTTING_DOWN",
        }
    }

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
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        if is("uninitialized") {
            return Some(Self::Starting);
        }
        if is("shutdown_complete") {
            return Some(Self::ShuttingDown);
        }
        Self::ALL
            .into_iter()
            .find(|status| is(status.seed_name()) || is(status.wire_name()))
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
