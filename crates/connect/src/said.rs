//! What local agents say, whatever their own words for it are.

use serde_json::Value;

/// Something that a local agent says. Pure: drivers make them of lines, and tests compare them.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// A piece of the answer.
    Text(String),
    /// Its reasoning.
    Thinking(String),
    /// What it is doing.
    Status(String),
    /// A tool call begins.
    ToolStart {
        /// The tool.
        name: String,
        /// What joins the rest to it.
        id: String,
    },
    /// Input of a tool call.
    ToolInput {
        /// Which call.
        id: String,
        /// A piece of the input.
        text: String,
    },
    /// What a tool gave.
    ToolResult {
        /// Which call.
        id: String,
        /// The result; that of a tool that failed begins with `[error] `.
        text: String,
    },
    /// What it calls the conversation itself: kept, so that the next turn can go on, after a restart too.
    Session(String),
    /// What the turn cost, in its own terms.
    Usage(Value),
    /// Why the model stopped.
    StopReason(String),
}

impl Said {
    /// That a tool failed, in the words that the hub and its viewers know that by.
    pub(crate) fn tool_failed(id: impl Into<String>, why: &str) -> Self {
        Self::ToolResult {
            id: id.into(),
            text: format!("[error] {why}"),
        }
    }
}
