//! What viewers say: a message to a member, a stop, a decision on a tool call.

use jackfield_wire::{
    echo,
    read::{Misread, blank_is_absent, read},
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::value::RawValue;

use super::fault::coded;
use super::read::{Word, object};
use super::{Fault, Limits, code};

/// What a viewer says. A target is a member's name or its route key; without one the coordinator is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientMessage {
    /// Sends a message to a member.
    SendMessage {
        /// The text of the message.
        content: String,
        /// The member.
        target: Option<String>,
        /// Files that belong to the message.
        context_file_paths: Vec<String>,
        /// Images that belong to the message.
        image_urls: Vec<String>,
        /// The viewer's own id of the message, if the viewer wants to know what becomes of it.
        message_id: Option<String>,
    },
    /// Stops the members that work.
    StopGeneration {
        /// Stops this member only.
        target: Option<String>,
    },
    /// Approves or denies a tool call.
    Decide {
        /// Whether the call is approved.
        approve: bool,
        /// The call that is decided on.
        decision: Decision,
    },
}

/// Which tool call was decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The id of the call.
    pub invocation_id: String,
    /// The member that asked. A token's member counts more than the one beside the token.
    pub target: Option<String>,
    /// The run that the token was given in.
    pub run: Option<String>,
    /// Why the viewer decided so.
    pub reason: Option<String>,
}

/// A message of any type.
#[derive(Deserialize)]
struct Frame<'a> {
    r#type: Word,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// Reads one message.
pub fn read_client_message(text: &str, limits: &Limits) -> Result<ClientMessage, Fault> {
    let frame: Frame<'_> = object(read(text, limits.max_depth)?)?;
    let decide = |approve, payload| {
        read_decision(payload).map(|decision| ClientMessage::Decide { approve, decision })
    };
    let message = match (&*frame.r#type.0, frame.payload) {
        ("SEND_MESSAGE", Some(payload)) => read_message(payload).map_err(Fault::from),
        ("STOP_GENERATION", None) => Ok(ClientMessage::StopGeneration { target: None }),
        ("STOP_GENERATION", Some(payload)) => match object::<Target>(payload) {
            Ok(target) => Ok(ClientMessage::StopGeneration {
                target: target.named(),
            }),
            Err(misread) => Err(misread.into()),
        },
        ("APPROVE_TOOL", Some(payload)) => decide(true, payload),
        ("DENY_TOOL", Some(payload)) => decide(false, payload),
        ("SEND_MESSAGE" | "APPROVE_TOOL" | "DENY_TOOL", None) => {
            return Err(Misread::missing("payload").into());
        }
        (other, _) => return Err(unknown(other)),
    };
    message.map_err(|fault| fault.within("payload"))
}

/// The viewer's own id of a message that cannot be read otherwise, as far as the id can.
pub fn message_id(text: &str, limits: &Limits) -> Option<String> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        payload: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Payload {
        #[serde(default, deserialize_with = "blank_is_absent")]
        message_id: Option<String>,
    }
    let message: Named<'_> = object(read(text, limits.max_depth).ok()?).ok()?;
    let payload: Payload = object(message.payload?).ok()?;
    payload.message_id
}

fn unknown(message_type: &str) -> Fault {
    let problem = format!(
        "must be SEND_MESSAGE, STOP_GENERATION, APPROVE_TOOL or DENY_TOOL, not \"{}\"",
        echo(message_type).escape_debug()
    );
    coded(code::UNKNOWN_MESSAGE_TYPE)(Misread::invalid("type", problem))
}

/// The member that a payload names, in any of its spellings. The last one is that of the hub's own API.
#[derive(Deserialize)]
struct Target {
    #[serde(default, deserialize_with = "blank_is_absent")]
    member_route_key: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    target_member_name: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    agent_name: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    target: Option<String>,
}

impl Target {
    fn named(self) -> Option<String> {
        let name = self.member_route_key.or(self.target_member_name);
        name.or(self.agent_name).or(self.target)
    }
}

/// The payload of `SEND_MESSAGE`, beside its [`Target`].
#[derive(Deserialize)]
struct Message {
    content: String,
    context_file_paths: Option<Vec<String>>,
    #[serde(rename = "contextFilePaths")]
    camel_file_paths: Option<Vec<String>>,
    image_urls: Option<Vec<String>>,
    #[serde(rename = "imageUrls")]
    camel_image_urls: Option<Vec<String>>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    message_id: Option<String>,
}

fn read_message(payload: &RawValue) -> Result<ClientMessage, Misread> {
    let message: Message = object(payload)?;
    let target: Target = object(payload)?;
    let (files, images) = (message.camel_file_paths, message.camel_image_urls);
    let files = one_of("contextFilePaths", files, message.context_file_paths)?;
    let images = one_of("imageUrls", images, message.image_urls)?;
    Ok(ClientMessage::SendMessage {
        content: message.content,
        target: target.named(),
        context_file_paths: files.unwrap_or_default(),
        image_urls: images.unwrap_or_default(),
        message_id: message.message_id,
    })
}

/// The value of a field that has two spellings, of which only one may be used.
fn one_of<T>(name: &str, camel: Option<T>, snake: Option<T>) -> Result<Option<T>, Misread> {
    match (camel, snake) {
        (Some(_), Some(_)) => Err(Misread::twice(name)),
        (camel, snake) => Ok(camel.or(snake)),
    }
}

/// The payload of a decision, beside its [`Target`].
#[derive(Deserialize)]
struct Decided<'a> {
    #[serde(borrow)]
    approval_token: Option<&'a RawValue>,
    #[serde(borrow, rename = "approvalToken")]
    camel_token: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    invocation_id: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    reason: Option<String>,
}

fn read_decision(payload: &RawValue) -> Result<Decision, Fault> {
    let decided: Decided<'_> = object(payload)?;
    let target: Target = object(payload)?;
    let snake = decided.approval_token.map(|raw| ("approval_token", raw));
    let camel = decided.camel_token.map(|raw| ("approvalToken", raw));
    let Some((name, token)) = one_of("approvalToken", camel, snake)? else {
        let missing = || Misread::invalid("invocation_id", "is required, or \"approval_token\"");
        let missing = || coded(code::APPROVAL_TOKEN_REQUIRED)(missing());
        return Ok(Decision {
            invocation_id: decided.invocation_id.ok_or_else(missing)?,
            target: target.named(),
            run: None,
            reason: decided.reason,
        });
    };
    let invalid = coded(code::INVALID_APPROVAL_TOKEN);
    let token: Token = object(token).map_err(|misread| invalid(misread.within(name)))?;
    if decided
        .invocation_id
        .is_some_and(|id| id != token.invocation_id.0)
    {
        return Err(invalid(Misread::invalid(name, "is of another invocation")));
    }
    Ok(Decision {
        invocation_id: token.invocation_id.0,
        target: Some(token.target_member_name.0),
        run: Some(token.team_run_id.0),
        reason: decided.reason,
    })
}

/// The token that the hub wrote beside a request for approval.
#[derive(Deserialize)]
struct Token {
    #[serde(alias = "teamRunId")]
    team_run_id: Word,
    #[serde(alias = "invocationId")]
    invocation_id: Word,
    #[serde(alias = "targetMemberName")]
    target_member_name: Word,
    // The hub has one version of each, but a token in which they are no numbers was not written by it.
    #[serde(
        default,
        rename = "run_version",
        alias = "runVersion",
        deserialize_with = "number"
    )]
    _run_version: Option<u64>,
    #[serde(
        default,
        rename = "invocation_version",
        alias = "invocationVersion",
        deserialize_with = "number"
    )]
    _invocation_version: Option<u64>,
}

/// A whole number from 0, or one in a string.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(raw) = Option::<&RawValue>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let number = raw.get().trim_matches('"').parse();
    number
        .map(Some)
        .map_err(|_| D::Error::custom("must be a whole number from 0"))
}
