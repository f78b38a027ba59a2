//! [`OutputItem`], output of a local agent, independent of the agent's own format.

use serde_json::Value;

/// An output item of a local agent. Plain data: drivers produce items from lines, and tests compare them.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputItem {
    /// A piece of the reply's text.
    Text(String),
    /// A piece of the agent's reasoning.
    Thinking(String),
    /// A status line.
    Status(String),
    /// Start of a tool call.
    ToolStart {
        /// Name of the tool.
        name: String,
        /// Id that links input and result to this call.
        id: String,
    },
    /// Input of a tool call.
    ToolInput {
        /// Id of the tool call.
        id: String,
        /// A piece of the input.
        text: String,
    },
    /// Result of a tool call.
    ToolResult {
        /// Id of the tool call.
        id: String,
        /// The result; starts with `[error] ` if the tool failed.
        text: String,
    },
    /// The agent's own id of the conversation. Stored, so that the next turn can continue, even after a
    /// restart.
    Session(String),
    /// Usage (cost) of the turn, in the agent's own terms.
    Usage(Value),
    /// Reason why the model stopped.
    StopReason(String),
}

impl OutputItem {
    /// Creates the result of a failed tool call, with the prefix known to the hub and its viewers.
    pub(crate) fn tool_failed(id: impl Into<String>, why: &str) -> Self {
        Self::ToolResult {
            id: id.into(),
            text: format!("[error] {why}"),
        }
    }
}
