//! How an agent introduces itself, and how it comes back after a cut (extension `resume`).
//! A version is only read here: which ones are welcome is [`Version::is_supported`], what to say is [`Version::refusal`].

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::super::VERSION;
use crate::echo;
use crate::json;
use crate::read::{or_default, texts, word};

/// An agent introducing itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "register")]
pub struct Register<'a> {
    /// The id it wants; its form is not checked here.
    #[serde(borrow)]
    pub agent_id: Cow<'a, str>,
    /// What proves its owner.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub token: Option<Cow<'a, str>>,
    /// The version it speaks.
    #[serde(default = "Version::missing")]
    pub bridge_version: Version<'a>,
    /// What it is: a model, a framework, a tool.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub agent_type: Option<Cow<'a, str>>,
    /// The tags it can be found by.
    #[serde(default, deserialize_with = "texts")]
    pub capabilities: Vec<Cow<'a, str>>,
    /// A name for people (ours).
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<Cow<'a, str>>,
    /// What it does (ours).
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<Cow<'a, str>>,
    /// What else it says of itself (extension `meta`), as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'a RawValue>,
    /// The extensions it understands (ours), see [`extension`](super::super::extension).
    #[serde(
        default,
        deserialize_with = "texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<Cow<'a, str>>,
    /// What it was doing when it was cut off (ours).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume<'a>>,
}

/// What an agent was doing when it was cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume<'a> {
    /// The token that the hub gave the lost connection.
    #[serde(borrow)]
    pub token: Cow<'a, str>,
    /// The requests it is still working on.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub open: Vec<Sent<'a>>,
    /// The calls it made whose end it has not seen; absent from agents that do not count what they get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<Got<'a>>>,
}

/// How much an agent has sent of one answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent<'a> {
    /// The request that is answered.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// The number of the last frame it sent; 0 if none.
    #[serde(default, deserialize_with = "or_default")]
    pub sent: u64,
}

/// How much an agent has got of the reply to a call that it made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Got<'a> {
    /// The call.
    #[serde(borrow)]
    pub call_id: Cow<'a, str>,
    /// How many frames with this id it got, on all its connections together.
    #[serde(default, deserialize_with = "or_default")]
    pub got: u64,
}

/// The version an agent says it speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version<'a> {
    number: Option<u32>,
    /// As the agent wrote it; nothing if it wrote none.
    text: Option<Cow<'a, str>>,
}

impl Version<'_> {
    /// The version as a number, if it is one.
    pub fn number(&self) -> Option<u32> {
        self.number
    }

    /// The version as the agent wrote it, for people.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether the agent named none.
    pub fn is_missing(&self) -> bool {
        self.text.is_none()
    }

    /// Whether the agent is one of the published ones.
    pub fn is_supported(&self) -> bool {
        matches!(self.number, Some(1..=VERSION))
    }

    /// What an agent of another version is told, in the words of the original hub; who named none learns what to write.
    pub fn refusal(&self) -> String {
        match &self.text {
            Some(text) => format!("Unsupported protocol version {text}, expected {VERSION}"),
            None => "register: field \"bridge_version\" is missing; write 1 or 2".to_owned(),
        }
    }

    /// The agent named none.
    fn missing() -> Self {
        Version {
            number: None,
            text: None,
        }
    }
}

/// Clients send a string or a number; the original hub takes the digits it starts with.
impl<'de: 'a, 'a> Deserialize<'de> for Version<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        // Of arrays and objects no digits can be the first.
        let text = json::str_of(raw).unwrap_or_else(|| raw.get().into());
        let number = leading_number(&text);
        let text = match echo(&text) {
            short if short.len() < text.len() => short.to_owned().into(),
            _ => text,
        };
        Ok(Version {
            number,
            text: Some(text),
        })
    }
}

impl Serialize for Version<'_> {
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

impl Default for Version<'_> {
    /// The version our own agents speak.
    fn default() -> Self {
        Version::from(VERSION)
    }
}

impl From<u32> for Version<'_> {
    fn from(number: u32) -> Self {
        Version {
            number: Some(number),
            text: Some(number.to_string().into()),
        }
    }
}
