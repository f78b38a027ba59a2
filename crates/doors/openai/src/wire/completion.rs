//! What a client gets of a chat completion: the whole object, or chunks.

use serde::Serialize;
use utoipa::ToSchema;

/// A whole chat completion.
#[derive(Debug, Serialize)]
pub(crate) struct ChatCompletion<'a> {
    pub(crate) id: &'a str,
    pub(crate) object: &'static str,
    pub(crate) created: i64,
    pub(crate) model: &'a str,
    pub(crate) choices: [Choice; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<TokenUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jackfield: Option<WaitsFor>,
}

/// The only choice of a chat completion.
#[derive(Debug, Serialize)]
pub(crate) struct Choice {
    pub(crate) index: u32,
    pub(crate) message: SaidMessage,
    pub(crate) logprobs: Option<()>,
    pub(crate) finish_reason: &'static str,
}

/// What the agent said.
#[derive(Debug, Serialize)]
pub(crate) struct SaidMessage {
    pub(crate) role: &'static str,
    pub(crate) content: String,
    pub(crate) refusal: Option<()>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reasoning_content: String,
}

/// A piece of a streamed chat completion.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatChunk<'a> {
    pub(crate) id: &'a str,
    pub(crate) object: &'static str,
    pub(crate) created: i64,
    pub(crate) model: &'a str,
    pub(crate) choices: &'a [ChunkChoice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<TokenUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jackfield: Option<WaitsFor>,
}

/// The only choice of a chunk.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChunkChoice<'a> {
    pub(crate) index: u32,
    pub(crate) delta: Delta<'a>,
    pub(crate) finish_reason: Option<&'static str>,
}

/// What a chunk adds.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
pub(crate) struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<&'a str>,
}

/// Tokens that an answer took, as far as the agent tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct TokenUsage {
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    pub(crate) total_tokens: u64,
}

/// Tells programs that an answer ends with a question. Not in OpenAI's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct WaitsFor {
    waits_for: &'static str,
}

impl WaitsFor {
    /// The agent waits for the next message of the conversation.
    pub(crate) const ANSWER: Self = Self {
        waits_for: "answer",
    };
}
