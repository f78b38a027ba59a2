//! What callers send: request bodies, read strictly (a field that we do not know is refused), and what the core makes
//! of them.

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
use jackfield_kit::{api::invalid, json::Object};
use jackfield_model::{
    Answer, Failure, File, FileSource, Json, Message, Owner, Part, RequestId, SessionId,
};
use jackfield_wire::bridge::{FREE_CLIENT_ID, is_free_client_id};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::{KeepView, span::SpanBody};

/// Files as people and other programs write them: the last bits of the last character may be anything.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// A [`Part`] as callers write it, read strictly.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartBody {
    /// Text.
    Text(String),
    /// A file.
    File(Object<FileBody>),
    /// Structured data.
    Data(Json),
}

/// A [`File`] as callers write it: with either `uri` or `bytes`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileBody {
    name: Option<String>,
    mime: Option<String>,
    uri: Option<String>,
    bytes: Option<String>,
}

/// What the caller says, and how long they wait for the answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCall)]
pub struct CallBody {
    /// Words; `text`, `parts` or both.
    pub text: Option<String>,
    /// Words, files and data; they come after `text`.
    #[schema(value_type = Option<Vec<Part>>, min_items = 1)]
    pub parts: Option<Vec<PartBody>>,
    /// The conversation to go on with: 1 to 256 bytes. A new one if absent.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")]
    pub session: Option<SessionId>,
    /// The caller's own id of the request: 1 to 256 bytes. It may be open once.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")]
    pub request_id: Option<RequestId>,
    /// Keeps the call: it goes on when the caller leaves, and can be read again.
    #[serde(default)]
    pub keep: bool,
    /// Keeps the call where the agent can resume it or the hub finds it again (dialled A2A servers), so that it survives cuts
    /// and a restart of the hub. It is cancelled after 30 s without a reader.
    #[serde(default)]
    pub keep_if_resumable: bool,
    /// Answers as soon as the call is kept, and implies `keep`.
    #[serde(default)]
    pub detach: bool,
    /// How long the call may wait for its agent to come online; implies `keep`.
    pub wait_online: Option<SpanBody>,
    /// How long the call may last.
    pub timeout: Option<SpanBody>,
    /// How long the agent may be silent.
    pub idle: Option<SpanBody>,
    /// Answers as it comes (the default), or all at once.
    #[serde(default = "yes")]
    pub stream: bool,
    /// What else the agent should know; passed on where its protocol can.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Json>,
    /// The caller's own id of the message: 1 to 256 bytes.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")]
    pub message_id: Option<RequestId>,
    /// Asks for the files that come of it: an agent that can offers them at the end, as `file_transfer_offer`.
    #[serde(default)]
    pub with_files: bool,
    /// Whose files an agent with a folder keeps apart: 1 to 128 of `A-Z a-z 0-9 . _ -`, not beginning with a dot or with
    /// `agent.`. Agents that call and name none are clients of their own.
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
    /// What is said.
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

    /// What else the agent is told: the caller's own words, and what it says of files in the words of the bridge.
    fn metadata(&mut self) -> Result<Option<Json>, Failure> {
        let client_id = self.client_id.take();
        if client_id
            .as_deref()
            .is_some_and(|id| !is_free_client_id(id))
        {
            return Err(invalid(format!("field \"client_id\" {FREE_CLIENT_ID}")));
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

    /// Whether the call is to go on when its caller leaves.
    pub fn is_kept(&self) -> bool {
        self.keep || self.detach || self.wait_online.is_some()
    }

    /// How long the caller gives it.
    pub fn patience(&self) -> Patience {
        Patience {
            idle: self.idle.map(|span| span.0),
            absolute: self.timeout.map(|span| span.0),
        }
    }
}

/// The parts of a message or an answer.
pub fn parts_from_body(parts: Vec<PartBody>) -> Result<Vec<Part>, Failure> {
    let part = |(index, part)| {
        Ok(match part {
            PartBody::Text(text) => Part::Text(text),
            PartBody::Data(json) => Part::Data(json),
            PartBody::File(Object(file)) => Part::File(file_from_body(file, index)?),
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

/// The answer to a question of an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Answer)]
pub struct AnswerBody {
    /// The question's id; `id`, as the question itself has it, will do.
    #[serde(alias = "id")]
    pub ask_id: String,
    /// The words; `text`, as the question itself has it, will do.
    #[serde(alias = "text")]
    pub content: Option<String>,
    /// Files and data.
    #[schema(value_type = Option<Vec<Part>>)]
    pub parts: Option<Vec<PartBody>>,
    /// Yes or no, to an approval.
    pub approved: Option<bool>,
    /// Why.
    pub reason: Option<String>,
}

impl AnswerBody {
    /// What the agent is told.
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

/// Who besides its owner may see and call an agent.
#[derive(Debug, ToSchema)]
#[schema(as = Share, rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the core's type")]
pub enum ShareBody {
    /// Nobody.
    Nobody,
    /// These owners.
    With(Vec<OwnerName>),
    /// Everybody on this hub.
    Everyone,
}

/// The name of an owner.
#[derive(Debug, ToSchema)]
#[schema(as = Owner, pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
#[allow(dead_code, reason = "describes the core's type")]
pub struct OwnerName(String);

/// What to change of an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentChange)]
pub struct AgentBody {
    /// Who else may see and call it.
    #[schema(value_type = Option<ShareBody>)]
    pub share: Option<Share>,
    /// What to set for it; what is not named stays.
    #[schema(value_type = Option<SettingsBody>)]
    pub settings: Option<Object<SettingsBody>>,
}

/// What to set for an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SettingsChange)]
pub struct SettingsBody {
    /// How much of its kept calls is written to disk.
    #[schema(value_type = Option<KeepView>)]
    store: Option<Keep>,
    /// Whether its approval asks go to the caller too.
    approvals_to_caller: Option<bool>,
    /// Whether other agents may call it.
    allow_a2a: Option<bool>,
    /// How many calls of other agents it takes within an hour; null: any number.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>, maximum = 4294967295u32)]
    calls_per_hour: Option<Option<u32>>,
    /// How long a call of it may be silent; null: as the hub has it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SpanBody>)]
    idle: Option<Option<SpanBody>>,
    /// How long a call of it may last; null: as the hub has it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SpanBody>)]
    absolute: Option<Option<SpanBody>>,
}

/// Tells null from nothing.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(d: D) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}

impl SettingsBody {
    /// The settings after the change.
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

/// A token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TokenRequest)]
pub struct TokenBody {
    /// A name for people.
    #[schema(min_length = 1, max_length = 128)]
    pub name: String,
    /// Whose it is.
    #[schema(value_type = OwnerName)]
    pub owner: Owner,
    /// What it may do besides what an owner may: `agent:PATTERN`, `call:PATTERN`, `watch:PATTERN`, `metrics`, `admin`.
    #[schema(value_type = Vec<ScopeText>)]
    pub scopes: Vec<String>,
    /// After what time it stops working by itself.
    pub expires: Option<SpanBody>,
}

/// One scope as it is written.
#[derive(Debug, ToSchema)]
#[schema(as = Scope, pattern = "^(admin|metrics|(agent|call|watch):.+)$")]
#[allow(dead_code, reason = "describes a text that the core checks")]
pub struct ScopeText(String);

#[cfg(test)]
mod tests;
