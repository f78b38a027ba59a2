//! How an agent introduces itself, and how it comes back after a cut (extension `resume`).
//! A version is only read here: which ones are welcome is [`Version::is_supported`], what to say is [`Version::refusal`].

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::fields::Fields;
use super::super::{Malformed, VERSION};
use crate::echo;
use crate::json::{self, Members};

/// An agent introducing itself.
#[derive(Debug, Clone, Default)]
pub struct Register<'a> {
    /// The id it wants; its form is not checked here.
    pub agent_id: Cow<'a, str>,
    /// What proves its owner.
    pub token: Option<Cow<'a, str>>,
    /// The version it speaks.
    pub bridge_version: Version<'a>,
    /// What it is: a model, a framework, a tool.
    pub agent_type: Option<Cow<'a, str>>,
    /// The tags it can be found by.
    pub capabilities: Vec<Cow<'a, str>>,
    /// A name for people (ours).
    pub name: Option<Cow<'a, str>>,
    /// What it does (ours).
    pub description: Option<Cow<'a, str>>,
    /// What else it says of itself (extension `meta`), as JSON.
    pub profile: Option<&'a RawValue>,
    /// The extensions it understands (ours), see [`extension`](super::super::extension).
    pub extensions: Vec<Cow<'a, str>>,
    /// What it was doing when it was cut off (ours).
    pub resume: Option<Resume<'a>>,
}

/// What an agent was doing when it was cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resume<'a> {
    /// The token that the hub gave the lost connection.
    pub token: Cow<'a, str>,
    /// The requests it is still working on.
    pub open: Vec<Sent<'a>>,
    /// The calls it made whose end it has not seen; absent from agents that do not count what they get.
    pub calls: Option<Vec<Got<'a>>>,
}

/// How much an agent has sent of one answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent<'a> {
    /// The request that is answered.
    pub request_id: Cow<'a, str>,
    /// The number of the last frame it sent; 0 if none.
    pub sent: u64,
}

/// How much an agent has got of the reply to a call that it made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Got<'a> {
    /// The call.
    pub call_id: Cow<'a, str>,
    /// How many frames with this id it got, on all its connections together.
    pub got: u64,
}

/// The version an agent says it speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version<'a> {
    number: Option<u32>,
    /// As the agent wrote it; nothing if it wrote none.
    text: Option<Cow<'a, str>>,
}

impl<'a> Version<'a> {
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

    /// Clients send a string or a number; the original hub takes the digits it starts with.
    fn read(raw: Option<&'a RawValue>) -> Self {
        let Some(raw) = raw else {
            return Version {
                number: None,
                text: None,
            };
        };
        let (number, text) = match json::str_of(raw) {
            Some(text) => (leading_number(&text), text),
            // Of arrays and objects no digits can be the first.
            None => (leading_number(raw.get()), raw.get().into()),
        };
        let text = match echo(&text) {
            short if short.len() < text.len() => short.to_owned().into(),
            _ => text,
        };
        Version {
            number,
            text: Some(text),
        }
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

pub(super) fn read<'a>(fields: &Fields<'a>) -> Result<Register<'a>, Malformed> {
    Ok(Register {
        agent_id: fields.required_text("agent_id")?,
        token: fields.word("token")?,
        bridge_version: Version::read(fields.verbatim("bridge_version")?),
        agent_type: fields.word("agent_type")?,
        capabilities: fields.texts("capabilities")?,
        name: fields.word("name")?,
        description: fields.word("description")?,
        profile: fields.value("profile")?,
        extensions: fields.texts("extensions")?,
        resume: match fields.value("resume")? {
            Some(raw) => Some(
                read_resume(raw)
                    .map_err(|(path, problem)| fields.invalid(&format!("resume{path}"), problem))?,
            ),
            None => None,
        },
    })
}

/// What is wrong with a field: the path to it, and the problem.
type Wrong = (String, &'static str);

fn read_resume(raw: &RawValue) -> Result<Resume<'_>, Wrong> {
    let at = |path: &str| path.to_owned();
    let members = Members::of(raw).ok_or((at(""), "must be an object"))?;
    let token = members.get("token").ok_or((at(".token"), "is missing"))?;
    let counts = |field: &str, id: &str, count: &str| {
        members
            .get(field)
            .map(|raw| read_counts(raw, id, count))
            .transpose()
            .map_err(|(path, problem)| (format!(".{field}{path}"), problem))
    };
    let open = counts("open", "request_id", "sent")?.unwrap_or_default();
    let calls = counts("calls", "call_id", "got")?;
    let sent = |(request_id, sent)| Sent { request_id, sent };
    let got = |(call_id, got)| Got { call_id, got };
    Ok(Resume {
        token: json::str_of(token).ok_or((at(".token"), "must be a string"))?,
        open: open.into_iter().map(sent).collect(),
        calls: calls.map(|calls| calls.into_iter().map(got).collect()),
    })
}

/// Reads a list of ids, each with a count, which is 0 if it is absent.
fn read_counts<'a>(
    raw: &'a RawValue,
    id: &str,
    count: &str,
) -> Result<Vec<(Cow<'a, str>, u64)>, Wrong> {
    let elements = json::elements(raw).ok_or_else(|| (String::new(), "must be an array"))?;
    let entries = elements.into_iter().enumerate().map(|(index, raw)| {
        let wrong = |path: &str, problem| (format!("[{index}]{path}"), problem);
        let members = Members::of(raw).ok_or_else(|| wrong("", "must be an object"))?;
        let count = match members.get(count) {
            None => 0,
            Some(raw) => raw
                .get()
                .parse()
                .map_err(|_| wrong(&format!(".{count}"), "must be a whole number from 0"))?,
        };
        let path = format!(".{id}");
        let id = members.get(id).ok_or_else(|| wrong(&path, "is missing"))?;
        let id = json::str_of(id).ok_or_else(|| wrong(&path, "must be a string"))?;
        Ok((id, count))
    });
    entries.collect()
}
