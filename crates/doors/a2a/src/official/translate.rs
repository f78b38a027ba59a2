//! Pure functions between the wire model and the core's events. No sockets, no hub.
//!
//! The core has no fields for media types of texts, metadata of parts, extensions and unknown fields. The
//! translation stores them in the `extra` of the core's message, answer or artifact, and restores them for
//! peers of this protocol. The options of a request are stored there too, for remote servers.

use std::collections::HashSet;

use jackfield_core::hub::Parent;
use jackfield_model as event;
use jackfield_model::{ArtifactExtra, Ask, AskKind, CallId, Json};
use jackfield_wire::json::{self, RawMembers};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::snapshot::is_reply;
use crate::wire::{
    official::{
        error::A2aError,
        model::{Artifact, Extra, Message, Part, PartContent, Raw, Role},
    },
    write::{MembersOut, Texts},
};

/// Member of `metadata` with the id of the parent call, on whose behalf a message is sent.
const PARENT: &str = "jackfield_call";

/// Options that accompany a message in its request.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SendOptions {
    /// Metadata of the request, an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Raw>,
    /// Media types that the caller can read; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) accepted_output_modes: Vec<String>,
    /// Extensions that the caller declares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) extensions: Vec<String>,
}

impl SendOptions {
    fn is_empty(&self) -> bool {
        self.metadata.is_none()
            && self.accepted_output_modes.is_empty()
            && self.extensions.is_empty()
    }

    /// Reads the options from the `extra` of a message or an answer. Callers of other doors have none.
    pub(crate) fn of(extra: Option<&Json>) -> Self {
        A2aExtra::of(extra).asked
    }
}

/// Content of `extra`: fields of a message or artifact that the core does not model.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct A2aExtra {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Metadata. For a message, stored only if the core has the message's metadata merged with the request's.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Raw>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reference_task_ids: Vec<String>,
    #[serde(skip_serializing_if = "Extra::is_empty")]
    fields: Extra,
    /// Further fields of parts, by the index of the part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<(usize, A2aPartExtra)>,
    /// Index and length of each text part of an answer, because the core joins the texts. Empty if the answer
    /// has a single text before all other parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<(usize, usize)>,
    #[serde(skip_serializing_if = "SendOptions::is_empty")]
    asked: SendOptions,
}

/// Fields of a part that the core does not model.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct A2aPartExtra {
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Raw>,
    #[serde(skip_serializing_if = "Extra::is_empty")]
    fields: Extra,
}

impl A2aExtra {
    fn is_empty(&self) -> bool {
        self.description.is_none()
            && self.metadata.is_none()
            && self.extensions.is_empty()
            && self.reference_task_ids.is_empty()
            && self.fields.is_empty()
            && self.parts.is_empty()
            && self.texts.is_empty()
            && self.asked.is_empty()
    }

    fn into_json(self) -> Option<Json> {
        if self.is_empty() {
            return None;
        }
        Json::of(&self).ok()
    }

    /// Reads `extra`. The extra of another door gives an empty value.
    fn of(extra: Option<&Json>) -> Self {
        extra
            .and_then(|json| serde_json::from_str(json.get()).ok())
            .unwrap_or_default()
    }

    fn take_part(&mut self, place: usize) -> A2aPartExtra {
        let found = self.parts.iter().position(|(at, _)| *at == place);
        found.map_or_else(A2aPartExtra::default, |at| self.parts.swap_remove(at).1)
    }
}

/// Translates a caller's message for the agent.
pub(super) fn message_from(message: Message, asked: SendOptions) -> event::Message {
    let (message, kept) = split_message(message, asked);
    event::Message {
        extra: kept.into_json(),
        ..message
    }
}

/// Splits a message into the core's message and the content of `extra`. Agents of other doors know a single
/// kind of metadata, so the result has the metadata of the message merged with the request's.
fn split_message(message: Message, asked: SendOptions) -> (event::Message, A2aExtra) {
    let mut metadata = message.metadata;
    let mut kept = A2aExtra {
        extensions: message.extensions,
        reference_task_ids: message.reference_task_ids,
        fields: message.extra,
        asked,
        ..A2aExtra::default()
    };
    if let Some(besides) = &kept.asked.metadata {
        let both = merged(metadata.as_deref(), besides);
        kept.metadata = std::mem::replace(&mut metadata, both);
    }
    let parts = parts_from(message.parts, &mut kept);
    let message = event::Message {
        id: Some(message.id),
        parts,
        metadata: metadata.map(Json::from),
        extra: None,
    };
    (message, kept)
}

/// Merges the members of two objects. For equal names, the member of `first` wins.
fn merged(first: Option<&RawValue>, second: &RawValue) -> Option<Raw> {
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    for metadata in [first, Some(second)].into_iter().flatten() {
        let members = RawMembers::of(metadata).unwrap_or_default();
        let new = members
            .iter()
            .filter(|member| seen.insert(member.name.clone()));
        all.extend(new.cloned());
    }
    // The inputs were parsed as JSON before, so writing cannot fail.
    to_raw_value(&MembersOut(&all)).ok()
}

/// Translates a caller's message into the answer to `ask`.
pub(super) fn answer_from(ask: &Ask, message: Message, asked: SendOptions) -> event::Answer {
    let (message, mut kept) = split_message(message, asked);
    let words = message.joined_text();
    let places = message.parts.iter().enumerate();
    kept.texts = places
        .filter_map(|(place, part)| match part {
            event::Part::Text(text) => Some((place, text.len())),
            event::Part::File(_) | event::Part::Data(_) => None,
        })
        .collect();
    // A single leading text is the default and needs no index.
    if kept.texts == [(0, words.len())] && !words.is_empty() {
        kept.texts.clear();
    }
    let others: Vec<_> = message
        .parts
        .into_iter()
        .filter(|part| !matches!(part, event::Part::Text(_)))
        .collect();
    event::Answer {
        id: message.id,
        metadata: message.metadata,
        extra: kept.into_json(),
        approved: match ask.kind {
            AskKind::Approval => Some(is_yes(&words, &others)),
            AskKind::Input => None,
        },
        reason: None,
        content: Some(words).filter(|words| !words.is_empty()),
        parts: others,
    }
}

/// Returns true if an answer approves: by one of the accepted words, or by data with `approved`.
fn is_yes(words: &str, parts: &[event::Part]) -> bool {
    const YES: [&str; 7] = ["yes", "y", "ok", "approve", "approved", "allow", "true"];
    let said = parts.iter().find_map(|part| match part {
        event::Part::Data(data) => RawMembers::of(data.raw())?
            .get("approved")
            .map(RawValue::get),
        event::Part::Text(_) | event::Part::File(_) => None,
    });
    match said {
        Some(said) => said == "true",
        None => {
            let word = words
                .trim()
                .trim_end_matches(['.', '!'])
                .to_ascii_lowercase();
            YES.contains(&word.as_str())
        }
    }
}

/// Returns the parent call, if the message's metadata names a call.
pub(super) fn parent_from(metadata: Option<&Raw>) -> Result<Parent, A2aError> {
    let members = metadata.and_then(|raw| RawMembers::of(raw));
    let Some(raw) = members.as_ref().and_then(|members| members.get(PARENT)) else {
        return Ok(Parent::Unsaid);
    };
    let id = json::str_of(raw).and_then(|id| CallId::parse(&id));
    let id = id.ok_or_else(|| {
        A2aError::field(
            "message.metadata.jackfield_call",
            "this is not the id of a call",
        )
    });
    id.map(Parent::Call)
}

fn parts_from(parts: Vec<Part>, kept: &mut A2aExtra) -> Vec<event::Part> {
    let mut out = Vec::with_capacity(parts.len());
    for (place, part) in parts.into_iter().enumerate() {
        let (content, rest) = part_from(part);
        out.push(content);
        if let Some(rest) = rest {
            kept.parts.push((place, rest));
        }
    }
    out
}

fn part_from(part: Part) -> (event::Part, Option<A2aPartExtra>) {
    let Part {
        content,
        mut media_type,
        mut filename,
        metadata,
        extra: fields,
    } = part;
    let content = match content {
        PartContent::Text(text) => event::Part::Text(text),
        PartContent::Data(data) => event::Part::Data(data.into()),
        PartContent::Bytes(bytes) => event::Part::File(event::File {
            name: filename.take(),
            mime: media_type.take(),
            source: event::FileSource::Bytes(bytes.into()),
        }),
        PartContent::Url(url) => event::Part::File(event::File::from_url(
            url,
            filename.take(),
            media_type.take(),
        )),
    };
    let is_more =
        media_type.is_some() || filename.is_some() || metadata.is_some() || !fields.is_empty();
    let rest = is_more.then_some(A2aPartExtra {
        media_type,
        filename,
        metadata,
        fields,
    });
    (content, rest)
}

/// Translates a caller's message back into the wire model.
pub(crate) fn message_to(message: event::Message, fallback_id: String) -> Message {
    let mut kept = A2aExtra::of(message.extra.as_ref());
    let parts = parts_to(message.parts, &mut kept);
    // If the request had metadata too, the message's own metadata is stored separately.
    let metadata = match &kept.asked.metadata {
        Some(_) => kept.metadata,
        None => message.metadata.map(|json| json.raw().to_owned()),
    };
    Message {
        metadata,
        extensions: kept.extensions,
        reference_task_ids: kept.reference_task_ids,
        extra: kept.fields,
        ..Message::new(message.id.unwrap_or(fallback_id), Role::User, parts)
    }
}

/// Translates a caller's answer back into the wire model.
pub(crate) fn answer_to(answer: event::Answer, fallback_id: String) -> Message {
    let mut words = answer.content.or(answer.reason);
    if words.is_none() {
        let verdict = answer.approved.map(|yes| if yes { "yes" } else { "no" });
        words = verdict.map(str::to_owned);
    }
    let texts = A2aExtra::of(answer.extra.as_ref()).texts;
    let message = event::Message {
        id: answer.id,
        parts: join_parts(words, answer.parts, &texts),
        metadata: answer.metadata,
        extra: answer.extra,
    };
    message_to(message, fallback_id)
}

/// Rebuilds the parts of an answer: the joined text before all other parts, or each text at its original
/// index.
fn join_parts(
    words: Option<String>,
    others: Vec<event::Part>,
    texts: &[(usize, usize)],
) -> Vec<event::Part> {
    let mut parts = others;
    if texts.is_empty() {
        parts.splice(0..0, words.map(event::Part::Text));
        return parts;
    }
    let mut rest = words.as_deref().unwrap_or_default();
    for (place, length) in texts {
        let (text, after) = rest.split_at_checked(*length).unwrap_or((rest, ""));
        rest = after.strip_prefix('\n').unwrap_or(after);
        let place = (*place).min(parts.len());
        parts.insert(place, event::Part::Text(text.to_owned()));
    }
    parts
}

/// Content of a chunk's `extra`: the artifact, without parts, in which an agent of this protocol sent a piece
/// of text.
#[derive(Debug, Serialize, Deserialize)]
struct ChunkArtifact {
    artifact: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "A2aExtra::is_empty")]
    kept: A2aExtra,
}

/// Returns the artifact, without parts, that a piece of the agent's text belongs to, if recorded.
pub(crate) fn chunk_artifact(chunk: &event::Chunk) -> Option<Artifact> {
    let voice: ChunkArtifact = serde_json::from_str(chunk.extra.as_ref()?.get()).ok()?;
    Some(Artifact {
        id: voice.artifact,
        name: voice.name,
        description: voice.kept.description,
        parts: Vec::new(),
        metadata: voice.kept.metadata,
        extensions: voice.kept.extensions,
        extra: voice.kept.fields,
    })
}

/// Translates text in an artifact of a remote agent into a chunk. The text artifact of another hub (see
/// [`is_reply`]) is not recorded as an artifact.
pub(crate) fn chunk_of(text: String, artifact: &Artifact) -> event::Chunk {
    let voice = ChunkArtifact {
        artifact: artifact.id.clone(),
        name: artifact.name.clone(),
        kept: A2aExtra {
            description: artifact.description.clone(),
            metadata: artifact.metadata.clone(),
            extensions: artifact.extensions.clone(),
            fields: artifact.extra.clone(),
            ..A2aExtra::default()
        },
    };
    let is_reply = is_reply(&voice.artifact) && voice.kept.is_empty();
    event::Chunk {
        extra: Json::of(&voice).ok().filter(|_| !is_reply),
        ..event::Chunk::text(text)
    }
}

/// Translates an artifact of a remote agent, or a piece of an artifact.
pub(crate) fn artifact_from(artifact: Artifact, append: bool, last: bool) -> event::Artifact {
    let mut kept = A2aExtra {
        description: artifact.description,
        metadata: artifact.metadata,
        extensions: artifact.extensions,
        fields: artifact.extra,
        ..A2aExtra::default()
    };
    let parts = parts_from(artifact.parts, &mut kept);
    let extra = kept.into_json();
    event::Artifact {
        id: artifact.id,
        name: artifact.name,
        parts,
        append,
        last,
        extra: extra.as_ref().and_then(ArtifactExtra::read).map(Box::new),
    }
}

/// Translates an agent's artifact into an [`Artifact`] of the wire model.
pub(crate) fn artifact_to(artifact: event::Artifact) -> Artifact {
    let extra = artifact.extra.as_ref().and_then(|extra| extra.to_json());
    let mut kept = A2aExtra::of(extra.as_ref());
    let parts = parts_to(artifact.parts, &mut kept);
    Artifact {
        id: artifact.id,
        name: artifact.name,
        description: kept.description,
        parts,
        metadata: kept.metadata,
        extensions: kept.extensions,
        extra: kept.fields,
    }
}

fn parts_to(parts: Vec<event::Part>, kept: &mut A2aExtra) -> Vec<Part> {
    let parts = parts.into_iter().enumerate();
    parts
        .map(|(place, part)| part_to(part, kept.take_part(place)))
        .collect()
}

fn part_to(part: event::Part, kept: A2aPartExtra) -> Part {
    let part = match part {
        event::Part::Text(text) => Part::text(text),
        event::Part::Data(json) => Part::new(PartContent::Data(json.raw().to_owned())),
        event::Part::File(file) => file_to(file),
    };
    Part {
        media_type: part.media_type.or(kept.media_type),
        filename: part.filename.or(kept.filename),
        metadata: kept.metadata,
        extra: kept.fields,
        ..part
    }
}

/// Translates a file into a [`Part`].
pub(super) fn file_to(file: event::File) -> Part {
    let content = match file.source {
        event::FileSource::Bytes(bytes) => PartContent::Bytes(bytes.to_string()),
        event::FileSource::Uri(uri) => PartContent::Url(uri),
    };
    Part {
        media_type: file.mime,
        filename: file.name,
        ..Part::new(content)
    }
}

/// Builds a metadata object of strings. Absent values are left out; the result is `None` if all values are
/// absent.
pub(super) fn metadata<const N: usize>(members: [(&'static str, Option<&str>); N]) -> Option<Raw> {
    let members = members.into_iter();
    let given = members.filter_map(|(name, value)| Some((name, value?.to_owned())));
    let given: Vec<_> = given.collect();
    let texts = Texts(&given);
    (!texts.is_empty()).then(|| to_raw_value(&texts).ok())?
}

#[cfg(test)]
mod tests {
    use crate::wire::official::A2aVersion;

    use super::*;

    fn raw(text: &str) -> Raw {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn extra(name: &str, value: &str) -> Extra {
        Extra {
            version: Some(A2aVersion::V10),
            fields: vec![(name.into(), raw(value))],
        }
    }

    #[test]
    fn what_the_core_has_no_place_for_comes_out_again() {
        let part = Part {
            media_type: Some("text/markdown".into()),
            metadata: Some(raw(r#"{"a":1}"#)),
            extra: extra("later", "[2]"),
            ..Part::text("*hi*")
        };
        let file = Part {
            media_type: Some("image/png".into()),
            filename: Some("p.png".into()),
            ..Part::new(PartContent::Bytes("aGk=".into()))
        };
        let said = Message {
            metadata: Some(raw(r#"{"m":true}"#)),
            extensions: vec!["urn:x".into()],
            reference_task_ids: vec!["t".into()],
            extra: extra("new", "null"),
            ..Message::new("m-1", Role::User, vec![part, file])
        };
        let core = message_from(said.clone(), SendOptions::default());
        assert_eq!(core.joined_text(), "*hi*");
        // As the store would give it back.
        let core = serde_json::from_str(&serde_json::to_string(&core).unwrap()).unwrap();
        let shown = message_to(core, "other".into());
        assert_eq!(format!("{shown:?}"), format!("{said:?}"));
    }

    #[test]
    fn a_plain_message_keeps_nothing_besides() {
        let message = Message::new("m", Role::User, vec![Part::text("hi")]);
        let core = message_from(message, SendOptions::default());
        assert!(core.extra.is_none() && core.metadata.is_none());
    }

    fn ask(kind: AskKind) -> Ask {
        Ask {
            id: "q".into(),
            kind,
            text: "may I?".into(),
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            schema: None,
        }
    }

    #[test]
    fn what_is_asked_besides_a_message_is_kept_apart_from_it() {
        let said = || Message {
            metadata: Some(raw(r#"{"a":1,"b":2}"#)),
            ..Message::new("m", Role::User, vec![Part::text("hi")])
        };
        let asked = SendOptions {
            metadata: Some(raw(r#"{"b":3,"c":4}"#)),
            accepted_output_modes: vec!["text/csv".into()],
            extensions: vec!["urn:x".into()],
        };
        let core = message_from(said(), asked);
        let merged = core.metadata.as_ref().unwrap();
        assert_eq!(merged.get(), r#"{"a":1,"b":2,"c":4}"#);
        let besides = SendOptions::of(core.extra.as_ref());
        assert_eq!(besides.metadata.unwrap().get(), r#"{"b":3,"c":4}"#);
        assert_eq!(besides.accepted_output_modes, ["text/csv"]);
        assert_eq!(besides.extensions, ["urn:x"]);
        let shown = message_to(core, "other".into());
        assert_eq!(format!("{shown:?}"), format!("{:?}", said()));
    }

    #[test]
    fn an_answer_is_shown_as_the_message_that_it_was() {
        let data = || Part {
            media_type: Some("application/json".into()),
            metadata: Some(raw(r#"{"a":1}"#)),
            ..Part::new(PartContent::Data(raw(r#"{"d":1}"#)))
        };
        let text = |text: &str| Part {
            media_type: Some(format!("text/{text}")),
            ..Part::text(text)
        };
        for parts in [
            vec![text("one")],
            vec![text("one"), data()],
            vec![data()],
            vec![data(), text("one"), data(), text("two\nthree"), text("é")],
            vec![Part::text(""), data(), Part::text("")],
        ] {
            let said = Message {
                metadata: Some(raw(r#"{"m":true}"#)),
                extensions: vec!["urn:x".into()],
                reference_task_ids: vec!["t".into()],
                ..Message::new("m-1", Role::User, parts)
            };
            let answer = answer_from(&ask(AskKind::Input), said.clone(), SendOptions::default());
            // As the store would give it back.
            let answer = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
            let shown = answer_to(answer, "other".into());
            assert_eq!(format!("{shown:?}"), format!("{said:?}"));
        }
    }

    #[test]
    fn an_answer_from_before_they_had_ids_is_still_read() {
        let old = r#"{"content":"that","parts":[{"data":{"d":1}}]}"#;
        let shown = answer_to(serde_json::from_str(old).unwrap(), "other".into());
        assert_eq!((shown.id.as_str(), shown.parts.len()), ("other", 2));
    }

    #[test]
    fn an_approval_is_a_word_or_data() {
        let answer = |kind, parts| {
            let message = Message::new("m", Role::User, parts);
            answer_from(&ask(kind), message, SendOptions::default())
        };
        for (said, approved) in [("Yes.", true), ("approve", true), ("rather not", false)] {
            let heard = answer(AskKind::Approval, vec![Part::text(said)]);
            assert_eq!(heard.approved, Some(approved), "{said}");
        }
        let data = Part::new(PartContent::Data(raw(r#"{"approved":true}"#)));
        let heard = answer(AskKind::Approval, vec![Part::text("well"), data]);
        assert_eq!(heard.approved, Some(true));
        let heard = answer(AskKind::Input, vec![Part::text("yes")]);
        assert_eq!(
            (heard.approved, heard.content.as_deref()),
            (None, Some("yes"))
        );
    }
}
