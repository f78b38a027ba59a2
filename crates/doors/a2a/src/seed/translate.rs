//! Pure functions between the wire types and the core's types. No sockets, no hub.

use std::{borrow::Cow, collections::HashSet};

use jackfield_core::{call::Call, hub::Parent};
use jackfield_model as event;
use jackfield_model::{CallId, Json, Message, RequestId, SessionId};
use jackfield_wire::json::{self, RawMember, RawMembers};
use jiff::Timestamp;
use uuid::Uuid;

use crate::wire::{
    seed::{
        SeedCode, SeedData, SeedFile, SeedFileSource, SeedPart, SeedRefusal, SeedRequest,
        task::SeedReply,
    },
    write::{MembersOut, to_json},
};

/// Media type of a file without a type; the protocol requires a media type.
const ANY_BYTES: &str = "application/octet-stream";
const JSON: &str = "application/json";

/// Member of `metadata` with the id of the parent call, on whose behalf a message is sent.
const PARENT: &str = "jackfield_call";

/// Translates a caller's message for the agent.
pub(super) fn message_from(
    request: &SeedRequest<'_>,
    max_depth: usize,
) -> Result<Message, SeedRefusal> {
    request.check_files()?;
    let id = &request.message.id;
    RequestId::parse(id).map_err(|error| invalid(request, &format!("messageId: {error}")))?;
    let parts = request.message.parts.iter();
    Ok(Message {
        id: Some(id.to_string()),
        parts: parts.map(|part| part_from_wire(part, max_depth)).collect(),
        metadata: metadata_from(request),
        extra: None,
    })
}

/// Returns the conversation; `None` starts a new conversation.
pub(super) fn session_from(request: &SeedRequest<'_>) -> Result<Option<SessionId>, SeedRefusal> {
    let context = request.message.context_id.as_deref();
    context
        .map(SessionId::parse)
        .transpose()
        .map_err(|error| invalid(request, &format!("contextId: {error}")))
}

/// Returns the parent call, if the message's metadata names a call.
pub(super) fn parent_from(request: &SeedRequest<'_>) -> Result<Parent, SeedRefusal> {
    let metadata = metadata_in(&request.message.extra);
    let Some(raw) = metadata.and_then(|members| members.get(PARENT)) else {
        return Ok(Parent::Unsaid);
    };
    let id = json::str_of(raw).and_then(|id| CallId::parse(&id));
    let id = id.ok_or_else(|| invalid(request, "metadata.jackfield_call: not the id of a call"));
    id.map(Parent::Call)
}

fn invalid(request: &SeedRequest<'_>, problem: &str) -> SeedRefusal {
    let message = format!("invalid message: {problem}");
    SeedRefusal::new(request.id.clone(), SeedCode::InvalidParams, message)
}

fn part_from_wire(part: &SeedPart<'_>, max_depth: usize) -> event::Part {
    match part {
        SeedPart::Text(text) => event::Part::Text(text.to_string()),
        SeedPart::File(file) => event::Part::File(file_from_wire(file)),
        // JSON is data in other protocols too. Other content becomes text, as agents of the original receive
        // it.
        SeedPart::Data(data) => match json_of(data, max_depth) {
            Some(json) => event::Part::Data(json),
            None => event::Part::Text(data.content.to_string()),
        },
    }
}

fn file_from_wire(file: &SeedFile<'_>) -> event::File {
    let source = match &file.source {
        SeedFileSource::Uri(uri) => event::FileSource::Uri(uri.to_string()),
        SeedFileSource::Bytes(bytes) => {
            event::FileSource::Bytes(bytes.replace(['\r', '\n'], "").into())
        }
    };
    event::File {
        name: file.name.as_deref().map(str::to_owned),
        mime: Some(file.mime_type.to_string()),
        source,
    }
}

fn json_of(data: &SeedData<'_>, max_depth: usize) -> Option<Json> {
    let kind = data.mime_type.split(';').next().unwrap_or_default().trim();
    let is_json = is_json(kind) && !json::depth_exceeds(data.content.trim(), max_depth);
    is_json.then(|| Json::parse(&data.content).ok()).flatten()
}

/// Returns true if a media type, without parameters, is a JSON type.
pub(crate) fn is_json(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    kind == JSON || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Returns the members of the field `metadata`, if present and an object.
fn metadata_in<'a>(extra: &[RawMember<'a>]) -> Option<RawMembers<'a>> {
    let metadata = extra.iter().find(|member| member.name == "metadata");
    metadata.and_then(|member| RawMembers::of(member.value))
}

/// Collects metadata for the agent: the members of `metadata`, and the unknown fields by name, first of the
/// message and then of the params. For equal names, the first member wins.
fn metadata_from(request: &SeedRequest<'_>) -> Option<Json> {
    let (mut seen, mut kept) = (HashSet::new(), Vec::new());
    for extra in [&request.message.extra, &request.extra] {
        let metadata = metadata_in(extra);
        let others = extra
            .iter()
            .filter(|member| metadata.is_none() || member.name != "metadata");
        let named = metadata.iter().flat_map(RawMembers::iter).chain(others);
        let new = named.filter(|member| seen.insert(member.name.clone()));
        kept.extend(new.cloned());
    }
    if kept.is_empty() {
        return None;
    }
    // The members were parsed as JSON before, so parsing cannot fail.
    Json::parse(&to_json(&MembersOut(&kept))).ok()
}

/// Translates an agent's parts into the wire types.
pub(super) fn parts_to_wire(parts: &[event::Part]) -> Vec<SeedPart<'_>> {
    // The protocol has no empty texts.
    let says_something =
        |part: &&event::Part| !matches!(part, event::Part::Text(text) if text.is_empty());
    let said = parts.iter().filter(says_something);
    said.map(part_to_wire).collect()
}

fn part_to_wire(part: &event::Part) -> SeedPart<'_> {
    match part {
        event::Part::Text(text) => SeedPart::Text(text.into()),
        event::Part::File(file) => SeedPart::File(file_to_wire(file)),
        event::Part::Data(json) => SeedPart::Data(SeedData {
            content: json.get().into(),
            mime_type: JSON.into(),
            name: None,
        }),
    }
}

fn file_to_wire(file: &event::File) -> SeedFile<'_> {
    let mime = file.mime.as_deref().filter(|mime| !mime.is_empty());
    SeedFile {
        source: match &file.source {
            event::FileSource::Uri(uri) => SeedFileSource::Uri(uri.into()),
            event::FileSource::Bytes(bytes) => SeedFileSource::Bytes((&**bytes).into()),
        },
        mime_type: mime.unwrap_or(ANY_BYTES).into(),
        name: file.name.as_deref().map(Cow::Borrowed),
    }
}

/// Ids of a call, in the caller's form.
#[derive(Debug)]
pub(super) struct SeedIds {
    /// Task id, derived from the call id.
    pub(super) task: String,
    /// Context id: the conversation.
    pub(super) context: String,
    /// Agent id.
    pub(super) agent: String,
}

impl SeedIds {
    /// Takes the ids from a call.
    pub(super) fn of(call: &Call) -> Self {
        Self {
            task: format!("task-{}", call.id),
            context: call.session.to_string(),
            agent: call.addressed.to_string(),
        }
    }

    /// Builds a reply and passes the reply to `write`.
    pub(super) fn reply<T>(
        &self,
        parts: &[event::Part],
        write: impl FnOnce(&SeedReply<'_>) -> T,
    ) -> T {
        write(&SeedReply {
            message_id: &format!("msg-{}", Uuid::new_v4()),
            agent_id: &self.agent,
            context_id: &self.context,
            parts: &parts_to_wire(parts),
            timestamp: &format!("{:.0}", Timestamp::now()),
        })
    }
}

#[cfg(test)]
mod tests;
