//! Messages of viewers: a message to a member, a stop, or a decision on a tool call.

use jackfield_wire::{
    echo,
    read::{FieldError, blank_is_absent, read},
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::value::RawValue;

use super::fault::coded;
use super::read::{NonBlankText, object};
use super::{EnvelopeLimits, MessageFault, code};

/// Message of a viewer. A target is a member's name or route key, and defaults to the coordinator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientMessage {
    /// Message to a member.
    SendMessage {
        /// Text of the message.
        content: String,
        /// Recipient.
        target: Option<String>,
        /// Files that belong to the message.
        context_file_paths: Vec<String>,
        /// Images that belong to the message.
        image_urls: Vec<String>,
        /// Id assigned by the viewer. With an id, the viewer receives the result.
        message_id: Option<String>,
    },
    /// Stop of working members.
    StopGeneration {
        /// Member to stop. Defaults to all members.
        target: Option<String>,
    },
    /// Approval or denial of a tool call.
    Decide {
        /// Whether the tool call is approved.
        approve: bool,
        /// Decided tool call.
        decision: ToolDecision,
    },
}

/// Tool call of a [`ClientMessage::Decide`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDecision {
    /// Id of the tool call.
    pub invocation_id: String,
    /// Asking member. The member in a token takes precedence over the field beside the token.
    pub target: Option<String>,
    /// Run of the token.
    pub run: Option<String>,
    /// Reason of the viewer.
    pub reason: Option<String>,
}

/// Message of any type.
#[derive(Deserialize)]
struct ClientFrame<'a> {
    r#type: NonBlankText,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// Reads a [`ClientMessage`].
pub fn read_client_message(
    text: &str,
    limits: &EnvelopeLimits,
) -> Result<ClientMessage, MessageFault> {
    let frame: ClientFrame<'_> = object(read(text, limits.max_depth)?)?;
    let decide = |approve, payload| {
        read_decision(payload).map(|decision| ClientMessage::Decide { approve, decision })
    };
    let message = match (&*frame.r#type.0, frame.payload) {
        ("SEND_MESSAGE", Some(payload)) => read_message(payload).map_err(MessageFault::from),
        ("STOP_GENERATION", None) => Ok(ClientMessage::StopGeneration { target: None }),
        ("STOP_GENERATION", Some(payload)) => match object::<TargetFields>(payload) {
            Ok(target) => Ok(ClientMessage::StopGeneration {
                target: target.named(),
            }),
            Err(misread) => Err(misread.into()),
        },
        ("APPROVE_TOOL", Some(payload)) => decide(true, payload),
        ("DENY_TOOL", Some(payload)) => decide(false, payload),
        ("SEND_MESSAGE" | "APPROVE_TOOL" | "DENY_TOOL", None) => {
            return Err(FieldError::missing("payload").into());
        }
        (other, _) => return Err(unknown(other)),
    };
    message.map_err(|fault| fault.within("payload"))
}

/// Reads the viewer's message id from an otherwise unreadable message, if possible.
pub fn message_id(text: &str, limits: &EnvelopeLimits) -> Option<String> {
    #[derive(Deserialize)]
    struct PayloadFrame<'a> {
        #[serde(borrow)]
        payload: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct MessageIdPayload {
        #[serde(default, deserialize_with = "blank_is_absent")]
        message_id: Option<String>,
    }
    let message: PayloadFrame<'_> = object(read(text, limits.max_depth).ok()?).ok()?;
    let payload: MessageIdPayload = object(message.payload?).ok()?;
    payload.message_id
}

fn unknown(message_type: &str) -> MessageFault {
    let problem = format!(
        "must be SEND_MESSAGE, STOP_GENERATION, APPROVE_TOOL or DENY_TOOL, not \"{}\"",
        echo(message_type).escape_debug()
    );
    coded(code::UNKNOWN_MESSAGE_TYPE)(FieldError::invalid("type", problem))
}

/// Target member of a payload, in any of its spellings. The last spelling is used by the hub's own API.
#[derive(Deserialize, utoipa::ToSchema)]
pub(super) struct TargetFields {
    #[serde(default, deserialize_with = "blank_is_absent")]
    member_route_key: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    target_member_name: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    agent_name: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    target: Option<String>,
}

impl TargetFields {
    fn named(self) -> Option<String> {
        let name = self.member_route_key.or(self.target_member_name);
        name.or(self.agent_name).or(self.target)
    }
}

/// Payload of `SEND_MESSAGE`, without its [`TargetFields`].
#[derive(Deserialize, utoipa::ToSchema)]
pub(super) struct SendMessagePayload {
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

fn read_message(payload: &RawValue) -> Result<ClientMessage, FieldError> {
    let message: SendMessagePayload = object(payload)?;
    let target: TargetFields = object(payload)?;
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

/// Returns the value of a field with two spellings. Refuses both at once.
fn one_of<T>(name: &str, camel: Option<T>, snake: Option<T>) -> Result<Option<T>, FieldError> {
    match (camel, snake) {
        (Some(_), Some(_)) => Err(FieldError::duplicate(name)),
        (camel, snake) => Ok(camel.or(snake)),
    }
}

/// Payload of a decision, without its [`TargetFields`].
#[derive(Deserialize, utoipa::ToSchema)]
pub(super) struct DecisionPayload<'a> {
    #[serde(borrow)]
    #[schema(value_type = serde_json::Value, required = false)]
    approval_token: Option<&'a RawValue>,
    #[serde(borrow, rename = "approvalToken")]
    #[schema(value_type = serde_json::Value, required = false)]
    camel_token: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    invocation_id: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    reason: Option<String>,
}

fn read_decision(payload: &RawValue) -> Result<ToolDecision, MessageFault> {
    let decided: DecisionPayload<'_> = object(payload)?;
    let target: TargetFields = object(payload)?;
    let snake = decided.approval_token.map(|raw| ("approval_token", raw));
    let camel = decided.camel_token.map(|raw| ("approvalToken", raw));
    let Some((name, token)) = one_of("approvalToken", camel, snake)? else {
        let missing = || FieldError::invalid("invocation_id", "is required, or \"approval_token\"");
        let missing = || coded(code::APPROVAL_TOKEN_REQUIRED)(missing());
        return Ok(ToolDecision {
            invocation_id: decided.invocation_id.ok_or_else(missing)?,
            target: target.named(),
            run: None,
            reason: decided.reason,
        });
    };
    let invalid = coded(code::INVALID_APPROVAL_TOKEN);
    let token: ApprovalTokenIn = object(token).map_err(|misread| invalid(misread.within(name)))?;
    if decided
        .invocation_id
        .is_some_and(|id| id != token.invocation_id.0)
    {
        return Err(invalid(FieldError::invalid(
            name,
            "is of another invocation",
        )));
    }
    Ok(ToolDecision {
        invocation_id: token.invocation_id.0,
        target: Some(token.target_member_name.0),
        run: Some(token.team_run_id.0),
        reason: decided.reason,
    })
}

/// Token that the hub wrote with an approval request.
#[derive(Deserialize)]
struct ApprovalTokenIn {
    #[serde(alias = "teamRunId")]
    team_run_id: NonBlankText,
    #[serde(alias = "invocationId")]
    invocation_id: NonBlankText,
    #[serde(alias = "targetMemberName")]
    target_member_name: NonBlankText,
    // The hub has a single version of each, but a token with non-numeric versions was not written by the hub.
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

/// Reads a whole number from 0, or such a number in a string.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(raw) = Option::<&RawValue>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let number = raw.get().trim_matches('"').parse();
    number
        .map(Some)
        .map_err(|_| D::Error::custom("must be a whole number from 0"))
}
