//! The payload of an Agora frame with a query or an answer.
//!
//! The protocol leaves payloads to the agents, so reading is lenient: the text is searched for in all fields
//! that agents are known to use, and a payload of unknown form is passed on as JSON text rather than lost.
//! Between two Agora agents this module is not used; it serves calls that cross to a different protocol.

use jackfield_wire::json::{self, JsonText, RawMember, RawMembers};
use serde::Serialize;
use serde_json::value::RawValue;

/// The payload of a frame for writing.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum FramePayload<'a> {
    /// Ready-made JSON.
    Raw(&'a RawValue),
    /// Only the ids that match a streamed answer to its request.
    Ids {
        /// Id of the answered request.
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<&'a str>,
        /// Id of the session.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<&'a str>,
    },
    /// A query.
    Query(&'a QueryPayload<'a>),
    /// An answer.
    Answer(&'a AnswerPayload<'a>),
}

impl FramePayload<'_> {
    pub(super) fn size_hint(&self) -> usize {
        const META: usize = 192;
        let text = match self {
            FramePayload::Raw(raw) => return raw.get().len(),
            FramePayload::Ids { .. } => None,
            FramePayload::Query(query) => Some(query.body.question),
            FramePayload::Answer(answer) => answer.body.and_then(|body| body.answer),
        };
        META + text.map_or(0, |text| text.size_hint())
    }
}

/// A query of the hub to an agent.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "action", rename = "query")]
pub struct QueryPayload<'a> {
    /// Content of the query.
    pub body: QueryContent<'a>,
    /// Id that the answer must name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// Id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<&'a str>,
}

/// The content of a query.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct QueryContent<'a> {
    /// Text of the question.
    pub question: JsonText<'a>,
    /// Parts of a message with more than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<&'a RawValue>,
    /// Links to the files, for agents that understand only links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachments: Option<&'a RawValue>,
}

/// An answer of the hub; absent fields are omitted.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(tag = "action", rename = "answer")]
pub struct AnswerPayload<'a> {
    /// Content of the answer, unless streamed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<AnswerContent<'a>>,
    /// Id of the answered request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// Id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<&'a str>,
    /// State at the end of the turn: `completed`, `input_required`, `rejected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'a str>,
    /// Files attached to the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachments: Option<&'a RawValue>,
    /// Artifacts produced during the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<&'a RawValue>,
    /// Usage: tokens and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<&'a RawValue>,
    /// Stop reason of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<&'a str>,
    /// Structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a RawValue>,
    /// Question that the agent needs answered before continuing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_required: Option<&'a InputRequired>,
}

/// Text and parts of an answer.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct AnswerContent<'a> {
    /// Full text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<JsonText<'a>>,
    /// Parts of an answer with more than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<&'a RawValue>,
}

/// A question of the agent to its caller.
#[derive(Debug, Clone, Default, Serialize)]
pub struct InputRequired {
    /// Id that the answer must name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Kind of the question: `input` or `approval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Text of the question.
    pub text: String,
    /// JSON schema of an acceptable answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<RawValue>>,
    /// Tool that waits for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl InputRequired {
    /// Reads [`InputRequired`] in the hub's format, a bare question, or `true`.
    fn read(raw: &RawValue) -> Option<Self> {
        if raw.get() == "false" {
            return None;
        }
        let Some(members) = RawMembers::of(raw) else {
            return Some(InputRequired {
                text: json::str_of(raw).unwrap_or_default().into_owned(),
                ..InputRequired::default()
            });
        };
        let owned = |name| members.text(name).map(String::from);
        Some(InputRequired {
            id: owned("id"),
            kind: owned("kind"),
            text: first_text(&members, &["text", "question", "message", "prompt"])
                .map_or_else(String::new, |(_, text)| text),
            schema: members.get("schema").map(ToOwned::to_owned),
            tool: owned("tool"),
        })
    }
}

/// An answer, read from a payload of any form.
#[derive(Debug, Clone, Default)]
pub struct ParsedAnswer {
    /// Text, if there is any; JSON for a payload of unknown form.
    pub text: Option<String>,
    /// Parts of the answer.
    pub parts: Option<Box<RawValue>>,
    /// Files attached to the answer.
    pub attachments: Option<Box<RawValue>>,
    /// Artifacts produced during the call.
    pub artifacts: Option<Box<RawValue>>,
    /// Usage: tokens and cost.
    pub usage: Option<Box<RawValue>>,
    /// Stop reason of the model.
    pub stop_reason: Option<String>,
    /// State at the end of the turn.
    pub state: Option<String>,
    /// Structured result, unless already used as the text.
    pub result: Option<Box<RawValue>>,
    /// Question to the caller.
    pub input_required: Option<InputRequired>,
    /// Id of the answered request.
    pub request_id: Option<String>,
}

impl ParsedAnswer {
    /// Returns whether the answer contains more than ids.
    pub fn carries_content(&self) -> bool {
        let raw = [
            &self.parts,
            &self.attachments,
            &self.artifacts,
            &self.result,
        ];
        self.text.is_some() || self.input_required.is_some() || raw.into_iter().any(Option::is_some)
    }
}

/// Fields that may hold the text of an answer, best first.
pub(super) const ANSWER_KEYS: [&str; 7] = [
    "answer", "text", "content", "result", "message", "response", "question",
];

/// Fields that may hold text in the opening of a streamed answer: like `ANSWER_KEYS`, without the field that
/// may only repeat the query.
const OPENING_KEYS: [&str; 6] = ["answer", "text", "content", "result", "message", "response"];

/// Fields of an answer that hold no text: they have a separate meaning or serve only for matching.
const ANSWER_META: [&str; 13] = [
    "action",
    "ask_id",
    "request_id",
    "session_id",
    "parent_request_id",
    "parts",
    "attachments",
    "artifacts",
    "usage",
    "stop_reason",
    "state",
    "input_required",
    "metadata",
];

/// Reads an [`ParsedAnswer`] from a payload of any form.
pub fn answer_of(payload: &RawValue) -> ParsedAnswer {
    let mut answer = answer_under(&ANSWER_KEYS, payload);
    if answer.text.is_none() {
        answer.text = match RawMembers::of(payload) {
            Some(outer) => {
                let is_known = |name: &str| name == "result" || ANSWER_META.contains(&name);
                has_content(&outer, is_known).then(|| json::compact(payload))
            }
            None => plain_text(payload),
        };
    }
    answer
}

/// Reads the text in the opening of a streamed answer. Further fields of the opening describe the stream and
/// are no text.
pub fn opening_of(payload: &RawValue) -> ParsedAnswer {
    let opening = answer_under(&OPENING_KEYS, payload);
    match opening.input_required {
        // In an opening, `question` is a question of the agent.
        Some(_) => answer_under(&ANSWER_KEYS, payload),
        None => opening,
    }
}

/// Reads an answer whose text is a string: the payload itself, or one of the given fields.
fn answer_under(keys: &[&'static str], payload: &RawValue) -> ParsedAnswer {
    let Some(outer) = RawMembers::of(payload) else {
        return ParsedAnswer {
            text: json::str_of(payload).map(String::from),
            ..ParsedAnswer::default()
        };
    };
    let body = outer.get("body");
    let inner = body.and_then(RawMembers::of).unwrap_or_default();
    let found = first_text(&outer, keys)
        .or_else(|| first_text(&inner, keys))
        .or_else(|| Some(("body", body.and_then(json::str_of)?.into_owned())));
    let is_result_the_text = matches!(found, Some(("result", _)));
    let text = found.map(|(_, text)| text);
    let raw = |name| outer.get(name).or_else(|| inner.get(name));
    let owned = |name| raw(name).map(ToOwned::to_owned);
    let string = |name| raw(name).and_then(json::str_of).map(String::from);
    ParsedAnswer {
        text,
        parts: owned("parts"),
        attachments: owned("attachments"),
        artifacts: owned("artifacts"),
        usage: owned("usage"),
        stop_reason: string("stop_reason"),
        state: string("state"),
        result: owned("result").filter(|_| !is_result_the_text),
        input_required: raw("input_required").and_then(InputRequired::read),
        request_id: string("request_id"),
    }
}

/// A query, read from a payload of any form.
#[derive(Debug, Clone, Default)]
pub struct ParsedQuery {
    /// Text of the query; JSON for a payload of unknown form, empty if there is none.
    pub text: String,
    /// Parts of the message.
    pub parts: Option<Box<RawValue>>,
    /// Files attached to the query.
    pub attachments: Option<Box<RawValue>>,
    /// Id of the session.
    pub session_id: Option<String>,
    /// Id that the answer must name.
    pub request_id: Option<String>,
    /// Id of the parent request, on whose behalf the query is sent.
    pub parent_request_id: Option<String>,
    /// Requested action; `query` for a plain question.
    pub action: Option<String>,
    /// Metadata of the caller.
    pub metadata: Option<Box<RawValue>>,
}

/// Fields that may hold the text of a query, best first.
const QUERY_KEYS: [&str; 6] = ["question", "text", "content", "message", "prompt", "task"];

/// Fields of a query that hold no text: they have a separate meaning or serve only for matching.
const QUERY_META: [&str; 7] = [
    "action",
    "request_id",
    "session_id",
    "parent_request_id",
    "parts",
    "attachments",
    "metadata",
];

/// Reads a [`ParsedQuery`] from a payload of any form; ids alone are no query.
pub fn query_of(payload: Option<&RawValue>) -> ParsedQuery {
    let Some(payload) = payload else {
        return ParsedQuery::default();
    };
    let Some(outer) = RawMembers::of(payload) else {
        return ParsedQuery {
            text: plain_text(payload).unwrap_or_default(),
            ..ParsedQuery::default()
        };
    };
    let body = outer.get("body");
    let inner = body.and_then(RawMembers::of).unwrap_or_default();
    let text = body
        .and_then(json::str_of)
        .map(String::from)
        .or_else(|| first_text(&inner, &QUERY_KEYS).map(|(_, text)| text))
        .or_else(|| first_text(&outer, &QUERY_KEYS).map(|(_, text)| text));
    let text = match text {
        Some(text) => text,
        None if has_content(&outer, |name| QUERY_META.contains(&name)) => json::compact(payload),
        None => String::new(),
    };
    let string = |name| outer.text(name).map(String::from);
    let raw = |name| inner.get(name).or_else(|| outer.get(name));
    let owned = |name| raw(name).map(ToOwned::to_owned);
    ParsedQuery {
        text,
        parts: owned("parts"),
        attachments: owned("attachments"),
        session_id: string("session_id"),
        request_id: string("request_id"),
        parent_request_id: string("parent_request_id"),
        action: string("action"),
        metadata: outer.get("metadata").map(ToOwned::to_owned),
    }
}

/// Returns the text of a payload that is not an object.
fn plain_text(payload: &RawValue) -> Option<String> {
    if json::is_null(payload) {
        return None;
    }
    let text = json::str_of(payload).map(String::from);
    text.or_else(|| Some(json::compact(payload)))
}

/// Returns the first of the named members that is a string.
fn first_text<'k>(members: &RawMembers<'_>, names: &[&'k str]) -> Option<(&'k str, String)> {
    names
        .iter()
        .find_map(|name| Some((*name, members.text(name)?.into_owned())))
}

/// Returns whether a payload has content besides the fields accepted by `is_known`, in its body or beside it.
fn has_content(outer: &RawMembers<'_>, is_known: impl Fn(&str) -> bool) -> bool {
    let is_unknown =
        |member: &RawMember<'_>| !is_known(&member.name) && !json::is_null(member.value);
    let is_said_in_body = |body: &RawValue| match RawMembers::of(body) {
        Some(inner) => inner.iter().any(is_unknown),
        None => true,
    };
    outer
        .iter()
        .any(|member| member.name != "body" && is_unknown(member))
        || outer.get("body").is_some_and(is_said_in_body)
}
