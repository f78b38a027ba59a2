//! The `register` frame: how an agent registers, and how it resumes after a lost connection (extension
//! `resume`). A version is only read here: [`BridgeVersion::is_supported`] decides about it, [`BridgeVersion::refusal`]
//! is the error message.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::super::VERSION;
use crate::echo;
use crate::json;
use crate::read::{or_default, texts, word};

/// The registration of an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "register")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Register<'a> {
    /// The wanted agent id, not checked here.
    #[serde(borrow)]
    pub agent_id: Cow<'a, str>,
    /// The token that authenticates the owner.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub token: Option<Cow<'a, str>>,
    /// The protocol version of the agent.
    #[serde(default = "BridgeVersion::missing")]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub bridge_version: BridgeVersion<'a>,
    /// The type of the agent: a model, a framework, a tool.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub agent_type: Option<Cow<'a, str>>,
    /// The tags of the agent, used in discovery.
    #[serde(default, deserialize_with = "texts")]
    pub capabilities: Vec<Cow<'a, str>>,
    /// The agent's name for people (Jackfield's own field).
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<Cow<'a, str>>,
    /// The agent's description (Jackfield's own field).
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<Cow<'a, str>>,
    /// The agent's further profile (extension `meta`), as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub profile: Option<&'a RawValue>,
    /// The extensions that the agent supports (Jackfield's own field), see
    /// [`extension`](super::super::extension).
    #[serde(
        default,
        deserialize_with = "texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<Cow<'a, str>>,
    /// The state of the lost connection (Jackfield's own field).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeState<'a>>,
}

/// The state of an agent's lost connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResumeState<'a> {
    /// The resume token that the hub gave to the lost connection.
    #[serde(borrow)]
    pub token: Cow<'a, str>,
    /// The requests that the agent is still working on.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub open: Vec<AnswerProgress<'a>>,
    /// The unfinished calls of the agent; absent from agents that do not count received frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<CallProgress<'a>>>,
}

/// Progress of an answer, as sent by the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AnswerProgress<'a> {
    /// The answered request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// Sequence number of the last sent frame; 0 if none.
    #[serde(default, deserialize_with = "or_default")]
    pub sent: u64,
}

/// Progress of the reply to a call that the agent made, as received by the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallProgress<'a> {
    /// The id of the call.
    #[serde(borrow)]
    pub call_id: Cow<'a, str>,
    /// Number of received frames with this id, on all connections of the agent together.
    #[serde(default, deserialize_with = "or_default")]
    pub got: u64,
}

/// The protocol version that an agent states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeVersion<'a> {
    number: Option<u32>,
    /// The version as written by the agent; `None` if absent.
    text: Option<Cow<'a, str>>,
}

impl BridgeVersion<'_> {
    /// Returns the version as a number, if it starts with a number.
    pub fn number(&self) -> Option<u32> {
        self.number
    }

    /// Returns the version as written by the agent, for people.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns whether the agent stated no version.
    pub fn is_missing(&self) -> bool {
        self.text.is_none()
    }

    /// Returns whether the version is one of the published versions.
    pub fn is_supported(&self) -> bool {
        matches!(self.number, Some(1..=VERSION))
    }

    /// Returns the error message for an unsupported version, in the words of the original hub. An agent
    /// without a version learns the allowed values.
    pub fn refusal(&self) -> String {
        match &self.text {
            Some(text) => format!("Unsupported protocol version {text}, expected {VERSION}"),
            None => "register: field \"bridge_version\" is missing; write 1 or 2".to_owned(),
        }
    }

    /// Returns the version of an agent that stated none.
    fn missing() -> Self {
        BridgeVersion {
            number: None,
            text: None,
        }
    }
}

/// Clients send a string or a number; the original hub uses the leading digits.
impl<'de: 'a, 'a> Deserialize<'de> for BridgeVersion<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        // Arrays and objects never start with a digit.
        let text = json::str_of(raw).unwrap_or_else(|| raw.get().into());
        let number = leading_number(&text);
        let text = match echo(&text) {
            short if short.len() < text.len() => short.to_owned().into(),
            _ => text,
        };
        Ok(BridgeVersion {
            number,
            text: Some(text),
        })
    }
}

impl Serialize for BridgeVersion<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

impl Default for BridgeVersion<'_> {
    /// Returns the version that Jackfield's agents speak.
    fn default() -> Self {
        BridgeVersion::from(VERSION)
    }
}

impl From<u32> for BridgeVersion<'_> {
    fn from(number: u32) -> Self {
        BridgeVersion {
            number: Some(number),
            text: Some(number.to_string().into()),
        }
    }
}

/// A version is a number, or a text that begins with one.
#[cfg(feature = "schema")]
impl utoipa::PartialSchema for BridgeVersion<'_> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::Integer, Type::String]))
            .pattern(Some("^[12]"))
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for BridgeVersion<'_> {}
