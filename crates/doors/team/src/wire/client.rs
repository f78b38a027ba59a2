//! What viewers say: a message to a member, a stop, a decision on a tool call.

use std::borrow::Cow;

use super::fields::{self, Fields, list, number, text};
use super::{Fault, Limits, code};
use jackfield_wire::echo;

/// What a viewer says. A target is a member's name or its route key; without one the coordinator is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientMessage {
    /// A message to a member.
    SendMessage {
        /// What it says.
        content: String,
        /// To whom.
        target: Option<String>,
        /// Files that belong to it.
        context_file_paths: Vec<String>,
        /// Images that belong to it.
        image_urls: Vec<String>,
        /// What the viewer calls it, if it wants to hear what becomes of it.
        message_id: Option<String>,
    },
    /// Whoever works stops.
    StopGeneration {
        /// Only this member.
        target: Option<String>,
    },
    /// A tool call is approved or denied.
    Decide {
        /// Which of both.
        approve: bool,
        /// What it is about.
        decision: Decision,
    },
}

/// Which tool call was decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Which call.
    pub invocation_id: String,
    /// The member that asked; what the token says of it counts more than what stands beside it.
    pub target: Option<String>,
    /// The run that the token was given in.
    pub run: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// Reads one message.
pub fn read_client_message(text: &str, limits: &Limits) -> Result<ClientMessage, Fault> {
    let message = Fields::of(fields::value(text, limits)?)?;
    let message_type = message.require_word("type")?;
    let approve = match &*message_type {
        "SEND_MESSAGE" => {
            let payload = message.require_object("payload")?;
            return read_send(&payload).map_err(|fault| fault.within("payload"));
        }
        "STOP_GENERATION" => {
            let payload = message.read("payload", Fields::of)?.unwrap_or_default();
            let target = target(&payload).map_err(|fault| fault.within("payload"))?;
            return Ok(ClientMessage::StopGeneration { target });
        }
        "APPROVE_TOOL" => true,
        "DENY_TOOL" => false,
        other => return Err(unknown(other)),
    };
    let payload = message.require_object("payload")?;
    let decision = read_decision(&payload).map_err(|fault| fault.within("payload"))?;
    Ok(ClientMessage::Decide { approve, decision })
}

/// What the viewer calls a message, as far as that can be read where the message cannot.
pub fn message_id(text: &str, limits: &Limits) -> Option<String> {
    let message = Fields::of(fields::value(text, limits).ok()?).ok()?;
    let payload = message.require_object("payload").ok()?;
    let id = payload.word("message_id").ok()?;
    id.map(Cow::into_owned)
}

fn unknown(message_type: &str) -> Fault {
    let name = echo(message_type);
    let problem = format!(
        "is no type that viewers send: \"{}\"; use SEND_MESSAGE, STOP_GENERATION, APPROVE_TOOL or DENY_TOOL",
        name.escape_debug()
    );
    Fault::at("type", problem).coded(code::UNKNOWN_MESSAGE_TYPE)
}

fn read_send(payload: &Fields<'_>) -> Result<ClientMessage, Fault> {
    let texts = |camel, snake| {
        let name = payload.spelling(camel, snake)?;
        let texts = payload.read(name, |raw| list(raw, |raw| text(raw).map(Cow::into_owned)));
        Ok::<_, Fault>(texts?.unwrap_or_default())
    };
    Ok(ClientMessage::SendMessage {
        content: payload.require_text("content")?.into_owned(),
        target: target(payload)?,
        context_file_paths: texts("contextFilePaths", "context_file_paths")?,
        image_urls: texts("imageUrls", "image_urls")?,
        message_id: payload.word("message_id")?.map(Cow::into_owned),
    })
}

/// The member that is meant: by its route key, else by its name. The last spelling is that of the hub's own API.
fn target(payload: &Fields<'_>) -> Result<Option<String>, Fault> {
    let names = [
        "member_route_key",
        "target_member_name",
        "agent_name",
        "target",
    ];
    for name in names {
        if let Some(target) = payload.word(name)? {
            return Ok(Some(target.into_owned()));
        }
    }
    Ok(None)
}

fn read_decision(payload: &Fields<'_>) -> Result<Decision, Fault> {
    let name = payload.spelling("approvalToken", "approval_token")?;
    let token = payload.read(name, |raw| Token::read(&Fields::of(raw)?));
    let token = token.map_err(|fault| fault.coded(code::INVALID_APPROVAL_TOKEN))?;
    let invocation_id = payload.word("invocation_id")?.map(Cow::into_owned);
    let reason = payload.word("reason")?.map(Cow::into_owned);
    let target = target(payload)?;
    let Some(token) = token else {
        let problem = "is required, or \"approval_token\"";
        let missing = || Fault::at("invocation_id", problem).coded(code::APPROVAL_TOKEN_REQUIRED);
        return Ok(Decision {
            invocation_id: invocation_id.ok_or_else(missing)?,
            target,
            run: None,
            reason,
        });
    };
    if invocation_id.is_some_and(|id| id != token.invocation_id) {
        let fault = Fault::at("approval_token", "is of another invocation");
        return Err(fault.coded(code::INVALID_APPROVAL_TOKEN));
    }
    Ok(Decision {
        invocation_id: token.invocation_id,
        target: Some(token.target),
        run: Some(token.run),
        reason,
    })
}

/// What the hub gave along with a request for approval.
struct Token {
    run: String,
    invocation_id: String,
    target: String,
}

impl Token {
    fn read(token: &Fields<'_>) -> Result<Self, Fault> {
        let word = |camel, snake| {
            let name = token.spelling(camel, snake)?;
            token.require_word(name).map(Cow::into_owned)
        };
        // The hub counts neither, but what is no number does not come from it.
        for (camel, snake) in [
            ("runVersion", "run_version"),
            ("invocationVersion", "invocation_version"),
        ] {
            token.read(token.spelling(camel, snake)?, number)?;
        }
        Ok(Token {
            run: word("teamRunId", "team_run_id")?,
            invocation_id: word("invocationId", "invocation_id")?,
            target: word("targetMemberName", "target_member_name")?,
        })
    }
}
