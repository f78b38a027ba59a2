//! What stands inside the payload of an Agora frame when it is a query or an answer.
//!
//! The protocol leaves payloads to the agents, so reading is generous: the text is taken from wherever agents are
//! known to put it, and a payload of an unknown shape is passed on as JSON text rather than lost. Between two Agora
//! agents nothing of this is used; it serves calls that cross to another protocol.

use jackfield_wire::json::{self, Member, Members, Text};
use serde::Serialize;
use serde_json::value::RawValue;

/// The payload of a frame that is written.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum Payload<'a> {
    /// JSON that is there already.
    Raw(&'a RawValue),
    /// Only the ids by which a streamed answer is matched to its request.
    Ids {
        /// The request that is answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<&'a str>,
        /// The conversation it belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<&'a str>,
    },
    /// A question.
    Query(&'a QueryPayload<'a>),
    /// An answer.
    Answer(&'a AnswerPayload<'a>),
}

impl Payload<'_> {
    pub(super) fn size_hint(&self) -> usize {
        const META: usize = 192;
        let text = match self {
            Payload::Raw(raw) => return raw.get().len(),
            Payload::Ids { .. } => None,
            Payload::Query(query) => Some(query.body.question),
            Payload::Answer(answer) => answer.body.and_then(|body| body.answer),
        };
        META + text.map_or(0, |text| text.size_hint())
    }
}

/// A question as the hub puts it to an agent.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "action", rename = "query")]
pub struct QueryPayload<'a> {
    /// What is asked.
    pub body: QueryBody<'a>,
    /// The id under which the answer is awaited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// The conversation it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<&'a str>,
}

/// What is asked.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct QueryBody<'a> {
    /// The question.
    pub question: Text<'a>,
    /// The message's parts, when it is more than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<&'a RawValue>,
    /// Links to its files, for agents that know only links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachments: Option<&'a RawValue>,
}

/// An answer as the hub gives it; what is `None` is left out.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(tag = "action", rename = "answer")]
pub struct AnswerPayload<'a> {
    /// The answer itself, unless it was streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<AnswerBody<'a>>,
    /// The request that is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// The conversation it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<&'a str>,
    /// How the turn ended: `completed`, `input_required`, `rejected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'a str>,
    /// Files that come with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachments: Option<&'a RawValue>,
    /// What was produced on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<&'a RawValue>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<&'a RawValue>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<&'a str>,
    /// A structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a RawValue>,
    /// What the agent needs to know before it can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_required: Option<&'a InputRequired>,
}

/// The words and parts of an answer.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct AnswerBody<'a> {
    /// The whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Text<'a>>,
    /// The answer's parts, when it is more than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<&'a RawValue>,
}

/// A question back to the caller.
#[derive(Debug, Clone, Default, Serialize)]
pub struct InputRequired {
    /// The id an answer must name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is asked for: `input` or `approval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The question.
    pub text: String,
    /// The JSON schema of an acceptable answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<RawValue>>,
    /// The tool that waits for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl InputRequired {
    /// Reads the object we write, but also a bare question or `true`.
    fn read(raw: &RawValue) -> Option<Self> {
        if raw.get() == "false" {
            return None;
        }
        let Some(members) = Members::of(raw) else {
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

/// An answer, taken from whatever payload an agent sent.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The text, if there is any; JSON if the payload's shape is unknown.
    pub text: Option<String>,
    /// The answer's parts.
    pub parts: Option<Box<RawValue>>,
    /// Files that come with it.
    pub attachments: Option<Box<RawValue>>,
    /// What was produced on the way.
    pub artifacts: Option<Box<RawValue>>,
    /// What it cost.
    pub usage: Option<Box<RawValue>>,
    /// Why the model stopped.
    pub stop_reason: Option<String>,
    /// How the turn ended.
    pub state: Option<String>,
    /// A structured result, unless it already is the text.
    pub result: Option<Box<RawValue>>,
    /// A question back to the caller.
    pub input_required: Option<InputRequired>,
    /// The request that is answered.
    pub request_id: Option<String>,
}

impl Answer {
    /// Whether there is more in it than ids.
    pub fn says_something(&self) -> bool {
        let raw = [
            &self.parts,
            &self.attachments,
            &self.artifacts,
            &self.result,
        ];
        self.text.is_some() || self.input_required.is_some() || raw.into_iter().any(Option::is_some)
    }
}

/// Where agents put the text of an answer, best first.
pub(super) const ANSWER_KEYS: [&str; 7] = [
    "answer", "text", "content", "result", "message", "response", "question",
];

/// Where the opening of a streamed answer has words of it: the same, but not where it may only repeat what was asked.
const OPENING_KEYS: [&str; 6] = ["answer", "text", "content", "result", "message", "response"];

/// What in an answer is no text: it has its own place or only serves matching.
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

/// Reads an answer out of a payload of any shape.
pub fn answer_of(payload: &RawValue) -> Answer {
    let mut answer = answer_under(&ANSWER_KEYS, payload);
    if answer.text.is_none() {
        answer.text = match Members::of(payload) {
            Some(outer) => {
                let is_known = |name: &str| name == "result" || ANSWER_META.contains(&name);
                has_content(&outer, is_known).then(|| json::compact(payload))
            }
            None => plain_text(payload),
        };
    }
    answer
}

/// Reads what the opening of a streamed answer says already. What else it has is about the stream, and no words of it.
pub fn opening_of(payload: &RawValue) -> Answer {
    let opening = answer_under(&OPENING_KEYS, payload);
    match opening.input_required {
        // Here a question is what the agent asks.
        Some(_) => answer_under(&ANSWER_KEYS, payload),
        None => opening,
    }
}

/// Reads an answer whose text is a string, the payload itself or under one of these keys.
fn answer_under(keys: &[&'static str], payload: &RawValue) -> Answer {
    let Some(outer) = Members::of(payload) else {
        return Answer {
            text: json::str_of(payload).map(String::from),
            ..Answer::default()
        };
    };
    let body = outer.get("body");
    let inner = body.and_then(Members::of).unwrap_or_default();
    let found = first_text(&outer, keys)
        .or_else(|| first_text(&inner, keys))
        .or_else(|| Some(("body", body.and_then(json::str_of)?.into_owned())));
    let is_result_the_text = matches!(found, Some(("result", _)));
    let text = found.map(|(_, text)| text);
    let raw = |name| outer.get(name).or_else(|| inner.get(name));
    let owned = |name| raw(name).map(ToOwned::to_owned);
    let string = |name| raw(name).and_then(json::str_of).map(String::from);
    Answer {
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

/// A question, taken from whatever payload an agent sent.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The question; JSON if the payload's shape is unknown, empty if there is none.
    pub text: String,
    /// The message's parts.
    pub parts: Option<Box<RawValue>>,
    /// Files that come with it.
    pub attachments: Option<Box<RawValue>>,
    /// The conversation it belongs to.
    pub session_id: Option<String>,
    /// The id under which the answer is awaited.
    pub request_id: Option<String>,
    /// The call on whose behalf it is asked.
    pub parent_request_id: Option<String>,
    /// What is wanted; `query` for a plain question.
    pub action: Option<String>,
    /// Whatever else the caller attached.
    pub metadata: Option<Box<RawValue>>,
}

/// Where agents put the text of a question, best first.
const QUERY_KEYS: [&str; 6] = ["question", "text", "content", "message", "prompt", "task"];

/// What in a question is no text: it has its own place or only serves matching.
const QUERY_META: [&str; 7] = [
    "action",
    "request_id",
    "session_id",
    "parent_request_id",
    "parts",
    "attachments",
    "metadata",
];

/// Reads a question out of a payload of any shape; ids alone are no question.
pub fn query_of(payload: Option<&RawValue>) -> Query {
    let Some(payload) = payload else {
        return Query::default();
    };
    let Some(outer) = Members::of(payload) else {
        return Query {
            text: plain_text(payload).unwrap_or_default(),
            ..Query::default()
        };
    };
    let body = outer.get("body");
    let inner = body.and_then(Members::of).unwrap_or_default();
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
    Query {
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

/// The text of a payload that is no object.
fn plain_text(payload: &RawValue) -> Option<String> {
    if json::is_null(payload) {
        return None;
    }
    let text = json::str_of(payload).map(String::from);
    text.or_else(|| Some(json::compact(payload)))
}

/// The first of the named members that is a string.
fn first_text<'k>(members: &Members<'_>, names: &[&'k str]) -> Option<(&'k str, String)> {
    names
        .iter()
        .find_map(|name| Some((*name, members.text(name)?.into_owned())))
}

/// Whether a payload says anything besides what `is_known`, in its body or beside it.
fn has_content(outer: &Members<'_>, is_known: impl Fn(&str) -> bool) -> bool {
    let is_unknown = |member: &Member<'_>| !is_known(&member.name) && !json::is_null(member.value);
    let is_said_in_body = |body: &RawValue| match Members::of(body) {
        Some(inner) => inner.iter().any(is_unknown),
        None => true,
    };
    outer
        .iter()
        .any(|member| member.name != "body" && is_unknown(member))
        || outer.get("body").is_some_and(is_said_in_body)
}
