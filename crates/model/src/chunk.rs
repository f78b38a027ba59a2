//! [`Chunk`]: a piece of a reply, either text, reasoning, a tool call or a status line.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::Message;
use crate::{
    Json,
    weight::{json_weight, text_weight},
};

/// The kind of content in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum ChunkKind {
    /// The answer itself.
    #[default]
    Text,
    /// The agent's reasoning.
    Thinking,
    /// A tool call begins.
    ToolStart,
    /// Input of a tool call.
    ToolInput,
    /// Result of a tool call.
    ToolResult,
    /// What the agent is doing.
    Status,
}

impl ChunkKind {
    /// All kinds, in the order of declaration.
    pub const ALL: [Self; 6] = [
        Self::Text,
        Self::Thinking,
        Self::ToolStart,
        Self::ToolInput,
        Self::ToolResult,
        Self::Status,
    ];

    /// Returns the name of the kind, the same in every protocol that has kinds.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::ToolStart => "tool_start",
            Self::ToolInput => "tool_input",
            Self::ToolResult => "tool_result",
            Self::Status => "status",
        }
    }

    /// Parses a kind from its [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Who a call waits for, on a status [`Chunk`] of the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum WaitingFor {
    /// The owner of the agent, who has to approve a step.
    Owner,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Chunk {
    /// The kind of content in the chunk.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub kind: ChunkKind,
    /// The text.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub text: String,
    /// The tool's name, on tool chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub tool_name: Option<String>,
    /// The id of the tool call that the chunk belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub tool_call_id: Option<String>,
    /// Who the call waits for, on a status line of the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub waiting_for: Option<WaitingFor>,
    /// Fields of the agent's protocol that this model does not know, as in [`Message::extra`]. Chunks with
    /// different `extra` are not merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub extra: Option<Json>,
}

impl Chunk {
    /// Creates a chunk of the answer's text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Creates a status line.
    pub fn status(text: impl Into<String>) -> Self {
        Self {
            kind: ChunkKind::Status,
            text: text.into(),
            ..Self::default()
        }
    }

    /// Returns whether `next` may be appended to this chunk. Both must have the same kind and the same tool
    /// call. [`ChunkKind::ToolStart`] and [`ChunkKind::Status`] never merge, because each is a unit of its
    /// own.
    pub fn can_merge(&self, next: &Self) -> bool {
        self.kind == next.kind
            && matches!(
                self.kind,
                ChunkKind::Text
                    | ChunkKind::Thinking
                    | ChunkKind::ToolInput
                    | ChunkKind::ToolResult
            )
            && self.tool_call_id == next.tool_call_id
            && self.tool_name == next.tool_name
            && self.extra == next.extra
    }

    /// Returns the size of the chunk in bytes.
    pub fn weight(&self) -> usize {
        let tool = text_weight(&self.tool_name) + text_weight(&self.tool_call_id);
        self.text.len() + tool + json_weight(&self.extra)
    }
}
