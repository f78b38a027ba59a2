//! [`Ask`]: a question of an agent, and [`Answer`]: the answer to a question.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::Message;
use crate::{
    Json, Part,
    weight::{json_weight, parts_weight, text_weight},
};

/// The kind of a question, which decides who may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum AskKind {
    /// More input, from the caller.
    Input,
    /// Approval of a tool call, from the owner of the asking agent.
    Approval,
}

impl AskKind {
    /// Returns the name of the kind, the same in every protocol that has kinds.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Approval => "approval",
        }
    }
}

/// A question that suspends the call until the answer arrives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ask {
    /// The question's id within the call: the `ask_id` of the answer.
    pub id: String,
    /// The kind of the question, which decides who may answer.
    pub kind: AskKind,
    /// The text of the question.
    pub text: String,
    /// The tool that needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub tool_name: Option<String>,
    /// The id of the tool call that needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub tool_call_id: Option<String>,
    /// The arguments of the tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Value>))]
    pub arguments: Option<Json>,
    /// The JSON schema of the wanted answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Value>))]
    pub schema: Option<Json>,
}

impl Ask {
    /// Returns the size of the question in bytes.
    pub fn weight(&self) -> usize {
        let tool = text_weight(&self.tool_name) + text_weight(&self.tool_call_id);
        let details = json_weight(&self.arguments) + json_weight(&self.schema);
        self.id.len() + self.text.len() + tool + details
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Answer {
    /// The id that the caller gave to the answer, if the caller's protocol has such ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub id: Option<String>,
    /// The text of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub content: Option<String>,
    /// Files and data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The decision on an approval: true for yes, false for no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub approved: Option<bool>,
    /// The reason for the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub reason: Option<String>,
    /// Metadata of the caller's protocol, as in [`Message::metadata`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub metadata: Option<Json>,
    /// Fields of the caller's protocol that this model does not know, as in [`Message::extra`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub extra: Option<Json>,
}

impl Answer {
    /// Returns the size of the answer in bytes.
    pub fn weight(&self) -> usize {
        let private =
            text_weight(&self.id) + json_weight(&self.metadata) + json_weight(&self.extra);
        text_weight(&self.content) + parts_weight(&self.parts) + text_weight(&self.reason) + private
    }
}
