//! What a client gets of a response: the object, its output items, and the events of a stream.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

use jackfield_kit::sse::SseFrame;

use super::{TokenUsage, WaitsFor};

/// The state of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResponseStatus {
    Queued,
    InProgress,
    Completed,
    /// Ended, with an output that lacks something.
    Incomplete,
    Failed,
    Cancelled,
}

impl ResponseStatus {
    /// Whether the response has ended.
    pub(crate) fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::InProgress => false,
            Self::Completed | Self::Incomplete | Self::Failed | Self::Cancelled => true,
        }
    }

    /// Returns the event that ends a stream in this state. The protocol has none for a cancel.
    pub(crate) fn event(self) -> &'static str {
        match self {
            Self::Queued => "response.queued",
            Self::InProgress => "response.in_progress",
            Self::Completed => "response.completed",
            Self::Incomplete => "response.incomplete",
            Self::Failed => "response.failed",
            Self::Cancelled => "response.cancelled",
        }
    }
}

/// A response.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResponseObject<'a> {
    pub(crate) id: &'a str,
    pub(crate) object: &'static str,
    pub(crate) created_at: i64,
    pub(crate) status: ResponseStatus,
    pub(crate) background: bool,
    pub(crate) error: Option<&'a ResponseError>,
    pub(crate) incomplete_details: Option<IncompleteDetails>,
    pub(crate) instructions: Option<&'a str>,
    pub(crate) max_output_tokens: Option<u64>,
    #[schema(value_type = Object)]
    pub(crate) metadata: &'a RawValue,
    pub(crate) model: &'a str,
    pub(crate) output: &'a [OutputItem],
    pub(crate) parallel_tool_calls: bool,
    pub(crate) previous_response_id: Option<&'a str>,
    #[schema(value_type = Object)]
    pub(crate) reasoning: Value,
    pub(crate) store: bool,
    pub(crate) temperature: Option<f64>,
    #[schema(value_type = Object)]
    pub(crate) text: Value,
    pub(crate) tool_choice: &'static str,
    #[schema(value_type = [Object; 0])]
    pub(crate) tools: [(); 0],
    pub(crate) top_p: Option<f64>,
    pub(crate) truncation: &'static str,
    pub(crate) usage: Option<ResponseUsage>,
    pub(crate) user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jackfield: Option<WaitsFor>,
}

/// Why the output of a response lacks something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct IncompleteDetails {
    reason: &'static str,
}

impl IncompleteDetails {
    /// The output is larger than a response may be, or is no longer stored.
    pub(crate) const TOO_LONG: Self = Self {
        reason: "max_output_tokens",
    };
}

/// Why a response failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ResponseError {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// An item of a response's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "type")]
pub(crate) enum OutputItem {
    /// The agent's thinking, and lines on its status.
    #[serde(rename = "reasoning")]
    Reasoning {
        id: String,
        summary: Vec<SummaryText>,
    },
    /// The answer.
    #[serde(rename = "message")]
    Message {
        id: String,
        role: &'static str,
        status: &'static str,
        content: Vec<OutputText>,
    },
    /// A tool that the agent ran itself. Not a tool call of the protocol, which clients would run.
    #[serde(rename = "jackfield:tool_call")]
    Tool {
        id: String,
        name: String,
        status: &'static str,
        arguments: String,
        output: String,
    },
}

impl OutputItem {
    /// Returns the id of the item.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Reasoning { id, .. } | Self::Message { id, .. } | Self::Tool { id, .. } => id,
        }
    }
}

/// A text of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct OutputText {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    #[schema(value_type = [Object; 0])]
    pub(crate) annotations: [(); 0],
    #[schema(value_type = [Object; 0])]
    pub(crate) logprobs: [(); 0],
}

impl OutputText {
    pub(crate) fn new(text: String) -> Self {
        Self {
            kind: "output_text",
            text,
            annotations: [],
            logprobs: [],
        }
    }
}

/// A text of the agent's thinking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct SummaryText {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

impl SummaryText {
    pub(crate) fn new(text: String) -> Self {
        Self {
            kind: "summary_text",
            text,
        }
    }
}

/// Tokens that a response took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ResponseUsage {
    pub(crate) input_tokens: u64,
    pub(crate) input_tokens_details: InputDetails,
    pub(crate) output_tokens: u64,
    pub(crate) output_tokens_details: OutputDetails,
    pub(crate) total_tokens: u64,
}

impl From<TokenUsage> for ResponseUsage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.prompt_tokens,
            input_tokens_details: InputDetails::default(),
            output_tokens: usage.completion_tokens,
            output_tokens_details: OutputDetails::default(),
            total_tokens: usage.total_tokens,
        }
    }
}

/// Details that agents do not tell; clients expect them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct InputDetails {
    cached_tokens: u64,
}

/// Details that agents do not tell; clients expect them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct OutputDetails {
    reasoning_tokens: u64,
}

/// An event of a stream. Fields that the kind of event does not have are left out.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct StreamEvent<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) sequence_number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response: Option<&'a ResponseObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<&'a OutputItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) part: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<&'a str>,
    /// Always empty; on events of text, where clients expect the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<[Object; 0]>)]
    pub(crate) logprobs: Option<[(); 0]>,
}

/// The event of a stream that breaks off. It has no number: the response itself may go on.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename = "error")]
pub(crate) struct StreamError {
    pub(crate) code: String,
    pub(crate) message: String,
    /// Path of the wrong field of the request.
    pub(crate) param: Option<String>,
}

impl StreamError {
    /// Returns the frame of the event.
    pub(crate) fn frame(&self) -> SseFrame {
        let data = serde_json::to_vec(self).unwrap_or_default();
        SseFrame::data(data).with_event("error")
    }
}

impl StreamEvent<'_> {
    /// Returns the frame of the event.
    pub(crate) fn frame(&self) -> SseFrame {
        let data = serde_json::to_vec(self).unwrap_or_default();
        SseFrame::data(data).with_event(self.kind)
    }
}
