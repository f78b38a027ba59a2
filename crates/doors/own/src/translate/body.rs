//! Request bodies and their conversion into core types. Reading is strict: unknown fields are refused.

use std::collections::BTreeMap;

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};
use jackfield_core::{
    agent::{Keep, Settings, Share},
    call::Patience,
    units::Span,
};
use jackfield_kit::{api::invalid, json::StrictObject};
use jackfield_model::{
    Answer, Failure, File, FileSource, Json, Message, Owner, Part, RequestId, SessionId,
};
use jackfield_wire::bridge::{FREE_CLIENT_ID_RULE, is_free_client_id};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::span::SpanBody;

/// Base64 decoder for files. Accepts any trailing bits of the last character, as some programs write them.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// [`Part`] as written by callers, read strictly.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartBody {
    /// Text.
    Text(String),
    /// File.
    File(StrictObject<FileBody>),
    /// Structured data.
    Data(Json),
}

/// [`File`] as written by callers: with either `uri` or `bytes`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileBody {
    name: Option<String>,
    mime: Option<String>,
    uri: Option<String>,
    bytes: Option<String>,
}

/// Call of an agent: the message, and the limits for the answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCall)]
pub struct CallBody {
    /// Text of the message. Give `text`, `parts` or both.
    pub text: Option<String>,
    /// Texts, files and data, appended after `text`.
    #[schema(value_type = Option<Vec<Part>>, min_items = 1)]
    pub parts: Option<Vec<PartBody>>,
    /// Session of an existing conversation: 1 to 256 bytes. Defaults to a new conversation.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")]
    pub session: Option<SessionId>,
    /// Request id assigned by the caller: 1 to 256 bytes. Unique among open requests.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")]
    pub request_id: Option<RequestId>,
    /// Makes the call durable: the call continues when the caller disconnects, and can be read again.
    #[serde(default)]
    pub keep: bool,
    /// Makes the call durable if the agent can resume it or the hub can find it again (dialled A2A servers).
    /// Such a call survives connection losses and a restart of the hub. Without a reader, the call is
    /// cancelled after 30 s.
    #[serde(default)]
    pub keep_if_resumable: bool,
    /// Responds as soon as the call is stored. Implies `keep`.
    #[serde(default)]
    pub detach: bool,
    /// Maximum time to wait for the agent to come online. Implies `keep`.
    pub wait_online: Option<SpanBody>,
    /// Maximum duration of the call.
    pub timeout: Option<SpanBody>,
    /// Maximum silence of the agent.
    pub idle: Option<SpanBody>,
    /// Whether to stream the answer (the default) or to respond with the complete answer.
    #[serde(default = "yes")]
    pub stream: bool,
    /// Additional data for the agent, passed on if the agent's protocol supports it.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Json>,
    /// Message id assigned by the caller: 1 to 256 bytes.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")]
    pub message_id: Option<RequestId>,
    /// Requests the resulting files: a capable agent offers the files at the end, as `file_transfer_offer`.
    #[serde(default)]
    pub with_files: bool,
    /// Client id by which an agent with a folder separates files: 1 to 128 of `A-Z a-z 0-9 . _ -`, not
    /// beginning with a dot or with `agent.`. A calling agent without a client id is a client of its own.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"
    )]
    pub client_id: Option<String>,
}

fn yes() -> bool {
    true
}

impl CallBody {
    /// Builds the [`Message`] of the call.
    pub fn message(&mut self) -> Result<Message, Failure> {
        let mut parts: Vec<_> = self.text.take().map(Part::Text).into_iter().collect();
        parts.extend(parts_from_body(self.parts.take().unwrap_or_default())?);
        if parts.is_empty() {
            return Err(invalid(
                "field \"text\" or \"parts\" is needed: what should the agent be told?",
            ));
        }
        if self
            .metadata
            .as_ref()
            .is_some_and(|json| !json.get().starts_with('{'))
        {
            return Err(invalid("field \"metadata\" must be an object"));
        }
        Ok(Message {
            id: self.message_id.take().map(|id| id.to_string()),
            parts,
            metadata: self.metadata()?,
            extra: None,
        })
    }

    /// Returns the metadata for the agent: the caller's metadata, plus the file options under their bridge
    /// names.
    fn metadata(&mut self) -> Result<Option<Json>, Failure> {
        let client_id = self.client_id.take();
        if client_id
            .as_deref()
            .is_some_and(|id| !is_free_client_id(id))
        {
            return Err(invalid(format!(
                "field \"client_id\" {FREE_CLIENT_ID_RULE}"
            )));
        }
        let metadata = self.metadata.take();
        if client_id.is_none() && !self.with_files {
            return Ok(metadata);
        }
        let unreadable = |_| invalid("field \"metadata\" must be an object");
        let metadata = metadata.as_ref().map_or("{}", Json::get);
        let mut members: BTreeMap<String, Json> =
            serde_json::from_str(metadata).map_err(unreadable)?;
        if let Some(client_id) = client_id {
            let client_id = Json::of(&client_id).map_err(unreadable)?;
            members.insert("client_id".to_owned(), client_id);
        }
        if self.with_files {
            let with_files = Json::of(&true).map_err(unreadable)?;
            members.insert("with_files".to_owned(), with_files);
        }
        Json::of(&members).map(Some).map_err(unreadable)
    }

    /// Returns whether the call continues when its caller disconnects.
    pub fn is_durable(&self) -> bool {
        self.keep || self.detach || self.wait_online.is_some()
    }

    /// Returns the time limits of the call as [`Patience`].
    pub fn patience(&self) -> Patience {
        Patience {
            idle: self.idle.map(|span| span.0),
            absolute: self.timeout.map(|span| span.0),
        }
    }
}

/// Converts the [`Part`]s of a message or an answer.
pub fn parts_from_body(parts: Vec<PartBody>) -> Result<Vec<Part>, Failure> {
    let part = |(index, part)| {
        Ok(match part {
            PartBody::Text(text) => Part::Text(text),
            PartBody::Data(json) => Part::Data(json),
            PartBody::File(StrictObject(file)) => Part::File(file_from_body(file, index)?),
        })
    };
    parts.into_iter().enumerate().map(part).collect()
}

fn file_from_body(file: FileBody, index: usize) -> Result<File, Failure> {
    let source = match (file.uri, file.bytes) {
        (Some(uri), None) if !uri.is_empty() => FileSource::Uri(uri),
        (None, Some(bytes)) if BASE64.decode(&bytes).is_ok() => FileSource::Bytes(bytes.into()),
        (None, Some(_)) => {
            return Err(invalid(format!(
                "field \"parts[{index}].file.bytes\" must be base64 with padding"
            )));
        }
        _ => {
            return Err(invalid(format!(
                "field \"parts[{index}].file\" needs either \"uri\" or \"bytes\""
            )));
        }
    };
    Ok(File {
        name: file.name,
        mime: file.mime,
        source,
    })
}

/// Answer to a question of an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Answer)]
pub struct AnswerRequest {
    /// Id of the question. Also accepted as `id`, the name used in the question.
    #[serde(alias = "id")]
    pub ask_id: String,
    /// Text of the answer. Also accepted as `text`, the name used in the question.
    #[serde(alias = "text")]
    pub content: Option<String>,
    /// Files and data.
    #[schema(value_type = Option<Vec<Part>>)]
    pub parts: Option<Vec<PartBody>>,
    /// Decision on an approval.
    pub approved: Option<bool>,
    /// Reason for the decision.
    pub reason: Option<String>,
}

impl AnswerRequest {
    /// Returns the id of the question and the [`Answer`] for the agent.
    pub fn answer(self) -> Result<(String, Answer), Failure> {
        if self.content.is_none() && self.parts.is_none() && self.approved.is_none() {
            return Err(invalid(
                "field \"content\", \"parts\" or \"approved\" is needed: what is the answer?",
            ));
        }
        let answer = Answer {
            content: self.content,
            parts: parts_from_body(self.parts.unwrap_or_default())?,
            approved: self.approved,
            reason: self.reason,
            ..Answer::default()
        };
        Ok((self.ask_id, answer))
    }
}

/// Changes of an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentChange)]
pub struct AgentBody {
    /// Owners who may also see and call the agent.
    pub share: Option<Share>,
    /// Settings to change. Fields left out stay unchanged.
    #[schema(value_type = Option<SettingsBody>)]
    pub settings: Option<StrictObject<SettingsBody>>,
}

/// Changes of an agent's settings.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SettingsChange)]
pub struct SettingsBody {
    /// Extent of the agent's durable calls to store on disk.
    store: Option<Keep>,
    /// Whether callers may also answer approval requests.
    approvals_to_caller: Option<bool>,
    /// Whether other agents may call the agent.
    allow_a2a: Option<bool>,
    /// Maximum number of calls from other agents per hour; null removes the limit.
    #[serde(default, deserialize_with = "present_or_null")]
    #[schema(value_type = Option<u64>, maximum = 4294967295u32)]
    calls_per_hour: Option<Option<u32>>,
    /// Maximum silence of a call to the agent; null restores the hub's default.
    #[serde(default, deserialize_with = "present_or_null")]
    #[schema(value_type = Option<SpanBody>)]
    idle: Option<Option<SpanBody>>,
    /// Maximum duration of a call to the agent; null restores the hub's default.
    #[serde(default, deserialize_with = "present_or_null")]
    #[schema(value_type = Option<SpanBody>)]
    absolute: Option<Option<SpanBody>>,
}

/// Distinguishes null from a missing field.
fn present_or_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}

impl SettingsBody {
    /// Applies the changes to `settings`.
    pub fn applied_to(self, mut settings: Settings) -> Settings {
        let span = |span: Option<SpanBody>| span.map(|span| Span(span.0));
        settings.store = self.store.unwrap_or(settings.store);
        settings.approvals_to_caller = self
            .approvals_to_caller
            .unwrap_or(settings.approvals_to_caller);
        settings.allow_a2a = self.allow_a2a.unwrap_or(settings.allow_a2a);
        settings.calls_per_hour = self.calls_per_hour.unwrap_or(settings.calls_per_hour);
        settings.idle = self.idle.map_or(settings.idle, span);
        settings.absolute = self.absolute.map_or(settings.absolute, span);
        settings
    }
}

/// Token to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TokenRequest)]
pub struct NewTokenBody {
    /// Display name.
    #[schema(min_length = 1, max_length = 128)]
    pub name: String,
    /// Owner of the token.
    pub owner: Owner,
    /// Scopes beyond the rights of an owner: `agent:PATTERN`, `call:PATTERN`, `watch:PATTERN`, `metrics`,
    /// `admin`.
    #[schema(value_type = Vec<ScopeText>)]
    pub scopes: Vec<String>,
    /// Lifetime of the token.
    pub expires: Option<SpanBody>,
}

/// Scope as text.
#[derive(Debug, ToSchema)]
#[schema(as = Scope, pattern = "^(admin|metrics|(agent|call|watch):.+)$")]
#[allow(dead_code, reason = "describes a text that the core checks")]
pub struct ScopeText(String);

#[cfg(test)]
mod tests;
