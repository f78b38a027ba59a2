//! Body of a request, read in two steps as in the original: first the types, then the values in a fixed
//! order. The first error is reported.

use std::borrow::Cow;

use jackfield_wire::{
    echo,
    json::{MAX_DEPTH, RawMember},
    read::{self, FieldError, FieldErrorKind, OpenObject},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    MAX_PARTS,
    part::{SeedPart, SeedPartIn},
    refusal::{SeedCode, SeedRefusal, SeedRequestId},
};

/// JSON-RPC version.
const VERSION: &str = "2.0";

/// Accepted methods. Both are valid at both routes: the route decides the form of the answer.
const METHODS: [&str; 2] = ["message/send", "message/stream"];

/// Conditions for a body from outside of the body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'h> {
    /// Largest nesting depth.
    pub max_depth: usize,
    /// Agent in the header.
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

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeedRole {
    /// Caller.
    User,
    /// Agent.
    Agent,
}

/// Valid request.
#[derive(Debug, Clone)]
pub(crate) struct SeedRequest<'a> {
    /// Id of the request, which the answer repeats.
    pub id: SeedRequestId,
    /// Message with its agent.
    pub message: SeedMessage<'a>,
    /// Fields of `params` other than the message.
    pub extra: Vec<RawMember<'a>>,
}

/// Message for an agent.
#[derive(Debug, Clone)]
pub(crate) struct SeedMessage<'a> {
    /// Message id, chosen by the caller.
    pub id: Cow<'a, str>,
    /// Author of the message. The hub ignores the role.
    #[cfg_attr(not(test), expect(dead_code, reason = "only its value is checked"))]
    pub role: SeedRole,
    /// Id of the called agent, team or workflow.
    pub agent_id: Cow<'a, str>,
    /// Context id of an existing conversation.
    pub context_id: Option<Cow<'a, str>>,
    /// Text, files and data; at least one part.
    pub parts: Vec<SeedPart<'a>>,
    /// Unknown fields, including `metadata`.
    pub extra: Vec<RawMember<'a>>,
    /// Message as written, for the history of the task.
    pub raw: &'a RawValue,
}

impl<'a> SeedRequest<'a> {
    /// Reads a body.
    pub(crate) fn parse(body: &'a [u8], rules: &Rules<'a>) -> Result<Self, SeedRefusal> {
        let text = std::str::from_utf8(body)
            .map_err(|error| SeedRefusal::unreadable(format!("the body is not UTF-8: {error}")))?;
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        RequestDraft::read(text, rules.max_depth)?.check(rules)
    }

    /// Refuses files whose bytes are not base64. The original checks files last, after finding the agent.
    pub(crate) fn check_files(&self) -> Result<(), SeedRefusal> {
        for part in &self.message.parts {
            if let SeedPart::File(file) = part {
                let refused =
                    |message| SeedRefusal::new(self.id.clone(), SeedCode::InvalidParams, message);
                file.check_bytes().map_err(refused)?;
            }
        }
        Ok(())
    }
}

/// Body with correct types.
#[derive(Debug, Deserialize)]
struct BodyIn<'a> {
    jsonrpc: Option<Cow<'a, str>>,
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<OpenObject<'a, ParamsIn<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
struct ParamsIn<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// Message with correct types.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeedMessageIn<'a> {
    message_id: Option<Cow<'a, str>>,
    role: Option<Cow<'a, str>>,
    agent_id: Option<Cow<'a, str>>,
    context_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parts: Option<Vec<SeedPartIn<'a>>>,
}

/// Request with correct types and unchecked values.
#[derive(Debug)]
struct RequestDraft<'a> {
    jsonrpc: Cow<'a, str>,
    method: Cow<'a, str>,
    id: SeedRequestId,
    message: Option<(&'a RawValue, OpenObject<'a, SeedMessageIn<'a>>)>,
    extra: Vec<RawMember<'a>>,
}

impl<'a> RequestDraft<'a> {
    fn read(text: &'a str, max_depth: usize) -> Result<Self, SeedRefusal> {
        let body = read::read::<BodyIn<'a>>(text, max_depth);
        let draft = body.and_then(Self::of);
        draft.map_err(|misread| refuse_misread(text, max_depth, &misread))
    }

    fn of(body: BodyIn<'a>) -> Result<Self, FieldError> {
        let id = match body.id {
            None => SeedRequestId::default(),
            Some(raw) => SeedRequestId::of(raw)
                .ok_or_else(|| FieldError::invalid("id", "must be a string or a number"))?,
        };
        let params = body.params.unwrap_or_default();
        let message = params.known.message.map(|raw| {
            let message = read::read_part(raw);
            let message = message.map_err(|misread| misread.within("params.message"));
            message.map(|message| (raw, message))
        });
        Ok(RequestDraft {
            jsonrpc: body.jsonrpc.unwrap_or_default(),
            method: body.method.unwrap_or_default(),
            id,
            message: message.transpose()?,
            extra: params.rest,
        })
    }

    /// Checks the values, in the order of the original.
    fn check(self, rules: &Rules<'a>) -> Result<SeedRequest<'a>, SeedRefusal> {
        let refuse = |code: SeedCode, message: Cow<'static, str>| {
            Err(SeedRefusal::new(self.id.clone(), code, message))
        };
        if self.jsonrpc != VERSION {
            let got = echo(&self.jsonrpc);
            let message = format!("invalid jsonrpc version: expected '{VERSION}', got '{got}'");
            return refuse(SeedCode::InvalidRequest, message.into());
        }
        if !METHODS.contains(&&*self.method) {
            let ([send, stream], got) = (METHODS, echo(&self.method));
            let message = format!("invalid method: expected '{send}' or '{stream}', got '{got}'");
            return refuse(SeedCode::MethodNotFound, message.into());
        }
        if matches!(self.id, SeedRequestId::Unknown) {
            return refuse(SeedCode::InvalidRequest, "request id is required".into());
        }
        let Some((raw, message)) = self.message else {
            return refuse(SeedCode::InvalidRequest, NO_MESSAGE_ID.into());
        };
        match SeedMessage::check(raw, message, rules) {
            Err(problem) => refuse(SeedCode::InvalidRequest, problem),
            Ok(message) => Ok(SeedRequest {
                id: self.id,
                message,
                extra: self.extra,
            }),
        }
    }
}

/// Creates the error for an unreadable body.
#[cold]
fn refuse_misread(text: &str, max_depth: usize, misread: &FieldError) -> SeedRefusal {
    match misread.mistake {
        FieldErrorKind::TooDeep => {
            let message = format!("invalid request: nested deeper than {max_depth} levels");
            SeedRefusal::new(SeedRequestId::default(), SeedCode::InvalidRequest, message)
        }
        FieldErrorKind::Invalid if misread.field().is_none() && text.starts_with('[') => {
            let message = "invalid request: batches are not supported, send one request at a time";
            SeedRefusal::new(SeedRequestId::default(), SeedCode::InvalidRequest, message)
        }
        FieldErrorKind::Invalid if misread.field().is_none() => {
            SeedRefusal::unreadable("the body must be an object".into())
        }
        FieldErrorKind::Syntax => SeedRefusal::unreadable(format!("the body {}", misread.problem)),
        FieldErrorKind::Missing | FieldErrorKind::Twice | FieldErrorKind::Invalid => {
            SeedRefusal::unreadable(misread.to_string())
        }
    }
}

const NO_MESSAGE_ID: &str = "invalid message: messageId is required";

impl<'a> SeedMessage<'a> {
    /// Checks the values of a message, in the order of the original.
    fn check(
        raw: &'a RawValue,
        message: OpenObject<'a, SeedMessageIn<'a>>,
        rules: &Rules<'a>,
    ) -> Result<Self, Cow<'static, str>> {
        let OpenObject {
            known: message,
            rest: extra,
        } = message;
        let given = |text: Option<Cow<'a, str>>| text.filter(|text| !text.is_empty());
        let id = given(message.message_id).ok_or(NO_MESSAGE_ID)?;
        let role = match &*message.role.unwrap_or_default() {
            "user" => SeedRole::User,
            "agent" => SeedRole::Agent,
            other => {
                return Err(format!(
                    "invalid message: invalid role: expected 'user' or 'agent', got '{}'",
                    echo(other)
                )
                .into());
            }
        };
        let agent_id = given(message.agent_id).or(rules.agent.map(Cow::Borrowed));
        // Message from the seed; the code of the original has "invalid message".
        let agent_id = agent_id.ok_or("Invalid request: agentId is required")?;
        let drafts = message.parts.unwrap_or_default();
        if drafts.is_empty() {
            return Err("invalid message: at least one message part is required".into());
        }
        if drafts.len() > MAX_PARTS {
            return Err(
                format!("invalid message: at most {MAX_PARTS} message parts are allowed").into(),
            );
        }
        let mut parts = Vec::with_capacity(drafts.len());
        for (index, part) in drafts.into_iter().enumerate() {
            parts.push(part.check().map_err(|reason| {
                format!("invalid message: invalid part at index {index}: {reason}")
            })?);
        }
        Ok(SeedMessage {
            id,
            role,
            agent_id,
            context_id: given(message.context_id),
            parts,
            extra,
            raw,
        })
    }
}
