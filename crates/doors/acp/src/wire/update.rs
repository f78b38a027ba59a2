//! Updates of a session (`session/update`), by which an editor follows a prompt.

use jackfield_model::Json;
use serde::Serialize;

use super::{ContentBlock, notification};

/// An update.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub(crate) enum SessionUpdate {
    UserMessageChunk {
        content: ContentBlock,
    },
    AgentMessageChunk {
        content: ContentBlock,
    },
    AgentThoughtChunk {
        content: ContentBlock,
    },
    ToolCall(ToolCall),
    ToolCallUpdate(ToolCallUpdate),
    /// For editors that show notices.
    Notice {
        severity: &'static str,
        title: String,
    },
}

impl SessionUpdate {
    /// Creates a piece of the answer.
    pub(crate) fn message(content: ContentBlock) -> Self {
        Self::AgentMessageChunk { content }
    }

    /// Creates a piece of reasoning.
    pub(crate) fn thought(text: impl Into<String>) -> Self {
        let content = ContentBlock::text(text);
        Self::AgentThoughtChunk { content }
    }

    /// Writes the notification for a session.
    pub(crate) fn frame(&self, session: &str) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            session_id: &'a str,
            update: &'a SessionUpdate,
        }
        let params = Params {
            session_id: session,
            update: self,
        };
        notification("session/update", &params)
    }
}

/// Start of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCall {
    pub(crate) tool_call_id: String,
    pub(crate) title: String,
    pub(crate) status: ToolStatus,
}

/// News of a tool call. Each field replaces what was said before.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCallUpdate {
    pub(crate) tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ToolStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) content: Vec<ToolContent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_input: Option<Json>,
}

/// State of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolStatus {
    /// Waits for approval.
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// Output of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ToolContent {
    Content { content: ContentBlock },
}

impl ToolContent {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Content {
            content: ContentBlock::text(text),
        }
    }
}
