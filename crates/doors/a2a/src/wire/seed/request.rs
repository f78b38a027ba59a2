//! The body of a request, read in two steps like the original does it: first all types must be right, then the values
//! are checked in a fixed order, and the first mistake is the one that is told.

use std::borrow::Cow;

use jackfield_wire::echo;
use jackfield_wire::json::{self, MAX_DEPTH, Member, Members};
use serde_json::value::RawValue;

use super::{
    MAX_PARTS,
    fields::{Fields, Unreadable},
    part::{self, Part},
    refusal::{Code, Id, Refusal},
};

/// The only version of JSON-RPC.
const VERSION: &str = "2.0";

/// Either one is taken at either route: the route decides how the answer comes.
const METHODS: [&str; 2] = ["message/send", "message/stream"];

/// What a body is judged by, besides itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'h> {
    /// How deep it may be nested.
    pub max_depth: usize,
    /// The agent that the header names.
    pub agent: Option<&'h str>,
}

impl Default for Rules<'_> {
    fn default() -> Self {
        Rules {
            max_depth: MAX_DEPTH,
            agent: None,
        }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A user, or whoever asks.
    User,
    /// An agent.
    Agent,
}

/// A request that is right.
#[derive(Debug, Clone)]
pub(crate) struct Request<'a> {
    /// Its id, which the answer repeats.
    pub id: Id,
    /// What is said, and to whom.
    pub message: Message<'a>,
    /// The fields of `params` besides the message.
    pub extra: Vec<Member<'a>>,
}

/// What is said, and to whom.
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    /// The caller's id of it.
    pub id: Cow<'a, str>,
    /// Who speaks. The hub does not care: a request is a request.
    #[cfg_attr(not(test), expect(dead_code, reason = "only its value is checked"))]
    pub role: Role,
    /// Who is asked: an agent, a team or a workflow.
    pub agent_id: Cow<'a, str>,
    /// The conversation, if there is one already.
    pub context_id: Option<Cow<'a, str>>,
    /// The words, files and data; at least one.
    pub parts: Vec<Part<'a>>,
    /// The fields that the interface does not know, `metadata` among them.
    pub extra: Vec<Member<'a>>,
    /// The whole as it was written, for the history of the task.
    pub raw: &'a RawValue,
}

impl<'a> Request<'a> {
    /// Reads a body.
    pub(crate) fn parse(body: &'a [u8], rules: &Rules<'a>) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(body)
            .map_err(|error| Refusal::unreadable(format!("the body is not UTF-8: {error}")))?;
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        if json::depth_exceeds(text, rules.max_depth) {
            let message = format!(
                "invalid request: nested deeper than {} levels",
                rules.max_depth
            );
            return Err(Refusal::new(Id::default(), Code::InvalidRequest, message));
        }
        Draft::read(text)?.check(rules)
    }

    /// Refuses files whose bytes are not base64. The original looks at them last, when it knows that the agent exists.
    pub(crate) fn check_files(&self) -> Result<(), Refusal> {
        for part in &self.message.parts {
            if let Part::File(file) = part {
                let refused = |message| Refusal::new(self.id.clone(), Code::InvalidParams, message);
                file.check_bytes().map_err(refused)?;
            }
        }
        Ok(())
    }
}

/// A body whose types are right.
#[derive(Debug)]
struct Draft<'a> {
    jsonrpc: Cow<'a, str>,
    method: Cow<'a, str>,
    id: Id,
    message: Option<MessageDraft<'a>>,
    extra: Vec<Member<'a>>,
}

#[derive(Debug)]
struct MessageDraft<'a> {
    id: Cow<'a, str>,
    role: Cow<'a, str>,
    agent_id: Cow<'a, str>,
    context_id: Option<Cow<'a, str>>,
    parts: Vec<part::Draft<'a>>,
    extra: Vec<Member<'a>>,
    raw: &'a RawValue,
}

impl<'a> Draft<'a> {
    fn read(text: &'a str) -> Result<Self, Refusal> {
        let members = match serde_json::from_str::<Members<'a>>(text) {
            Ok(members) => members,
            Err(error) if error.is_data() => return Err(no_object(text)),
            Err(error) => return Err(Refusal::unreadable(error.to_string())),
        };
        let body = Fields::new(members);
        Self::of(&body).map_err(|unreadable| Refusal::unreadable(unreadable.detail()))
    }

    fn of(body: &Fields<'a>) -> Result<Self, Unreadable> {
        let id = match body.raw("id")? {
            None => Id::default(),
            Some(raw) => {
                Id::of(raw).ok_or_else(|| Unreadable::new("id", "must be a string or a number"))?
            }
        };
        let params = body.object("params")?.unwrap_or_default();
        let message = params
            .raw("message")
            .and_then(|raw| raw.map(MessageDraft::read).transpose())
            .map_err(|unreadable| unreadable.within("params"))?;
        Ok(Draft {
            jsonrpc: body.word("jsonrpc")?,
            method: body.word("method")?,
            id,
            message,
            extra: params.rest(&["message"]),
        })
    }

    /// The values, in the order of the original.
    fn check(self, rules: &Rules<'a>) -> Result<Request<'a>, Refusal> {
        let refuse = |code: Code, message: Cow<'static, str>| {
            Err(Refusal::new(self.id.clone(), code, message))
        };
        if self.jsonrpc != VERSION {
            let got = echo(&self.jsonrpc);
            let message = format!("invalid jsonrpc version: expected '{VERSION}', got '{got}'");
            return refuse(Code::InvalidRequest, message.into());
        }
        if !METHODS.contains(&&*self.method) {
            let ([send, stream], got) = (METHODS, echo(&self.method));
            let message = format!("invalid method: expected '{send}' or '{stream}', got '{got}'");
            return refuse(Code::MethodNotFound, message.into());
        }
        if matches!(self.id, Id::Unknown) {
            return refuse(Code::InvalidRequest, "request id is required".into());
        }
        let Some(message) = self.message else {
            return refuse(Code::InvalidRequest, MessageDraft::NO_ID.into());
        };
        match message.check(rules) {
            Err(problem) => refuse(Code::InvalidRequest, problem),
            Ok(message) => Ok(Request {
                id: self.id,
                message,
                extra: self.extra,
            }),
        }
    }
}

/// The refusal of a body that is JSON but no object.
#[cold]
fn no_object(text: &str) -> Refusal {
    // The parser stopped at the first bracket; what follows it may be no JSON at all.
    let is_batch = text.starts_with('[') && serde_json::from_str::<&RawValue>(text).is_ok();
    if is_batch {
        let message = "invalid request: batches are not supported, send one request at a time";
        return Refusal::new(Id::default(), Code::InvalidRequest, message);
    }
    Refusal::unreadable("the body must be an object".into())
}

impl<'a> MessageDraft<'a> {
    const NO_ID: &'static str = "invalid message: messageId is required";

    /// Reads the message in `params`.
    fn read(raw: &'a RawValue) -> Result<Self, Unreadable> {
        let fields = Fields::of(raw, "message")?;
        Self::of(&fields, raw).map_err(|unreadable| unreadable.within("message"))
    }

    fn of(fields: &Fields<'a>, raw: &'a RawValue) -> Result<Self, Unreadable> {
        let parts = fields.list("parts")?;
        // One more than there may be, so that the check sees it.
        let parts = parts.into_iter().take(MAX_PARTS + 1).enumerate();
        let parts = parts.map(|(index, raw)| part::Draft::read(raw, &format!("parts[{index}]")));
        let known = ["messageId", "role", "agentId", "contextId", "parts"];
        Ok(MessageDraft {
            id: fields.word("messageId")?,
            role: fields.word("role")?,
            agent_id: fields.word("agentId")?,
            context_id: fields.text("contextId")?,
            parts: parts.collect::<Result<_, _>>()?,
            extra: fields.rest(&known),
            raw,
        })
    }

    fn check(self, rules: &Rules<'a>) -> Result<Message<'a>, Cow<'static, str>> {
        if self.id.is_empty() {
            return Err(Self::NO_ID.into());
        }
        let role = match &*self.role {
            "user" => Role::User,
            "agent" => Role::Agent,
            other => {
                return Err(format!(
                    "invalid message: invalid role: expected 'user' or 'agent', got '{}'",
                    echo(other)
                )
                .into());
            }
        };
        let agent_id = Some(self.agent_id).filter(|agent| !agent.is_empty());
        let agent_id = agent_id.or(rules.agent.map(Cow::Borrowed));
        // The seed's own words; the original's code says "invalid message".
        let agent_id = agent_id.ok_or("Invalid request: agentId is required")?;
        if self.parts.is_empty() {
            return Err("invalid message: at least one message part is required".into());
        }
        if self.parts.len() > MAX_PARTS {
            return Err(
                format!("invalid message: at most {MAX_PARTS} message parts are allowed").into(),
            );
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        for (index, part) in self.parts.into_iter().enumerate() {
            parts.push(part.check().map_err(|reason| {
                format!("invalid message: invalid part at index {index}: {reason}")
            })?);
        }
        Ok(Message {
            id: self.id,
            role,
            agent_id,
            context_id: self.context_id.filter(|context| !context.is_empty()),
            parts,
            extra: self.extra,
            raw: self.raw,
        })
    }
}
