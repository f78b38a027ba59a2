//! Pure functions between Agora's frames and the core's types. No sockets, no hub.

mod files;
mod said;
mod thread;

use jackfield_core::call::Call;
use jackfield_kit::line::Goodbye;
use jackfield_model::{Answer, CallId, Chunk, ChunkKind, Failure, Json, Message, Part, Reason};
use jackfield_wire::{
    echo,
    json::{Members, Text},
};
use serde_json::value::RawValue;

use self::files::{files_from_raw, raw_from_files};
pub(crate) use self::{
    said::{Then, said_in, said_in_opening},
    thread::Thread,
};
use crate::wire::{
    CALL_PREFIX, ErrorFrame, Fault, Malformed, Opening, Payload, Query, QueryBody, QueryPayload,
    Relay, RelayKind, answer_of, downlink, opening_of, query_of,
};

/// The address by which an agent answers a call of another door.
pub(crate) fn call_address(id: CallId) -> String {
    format!("{CALL_PREFIX}{id}")
}

/// The code of a frame that could not be read.
pub(crate) fn malformed_frame(malformed: &Malformed) -> String {
    let reason = match malformed.fault {
        Fault::Syntax | Fault::Invalid => Reason::Invalid,
        Fault::Unsupported => Reason::Unsupported,
        Fault::TooLarge => Reason::TooLarge,
    };
    malformed.to_frame(reason.name())
}

/// The failure of a call whose agent sent a frame about it that was refused.
pub(crate) fn unreadable(why: &str) -> Failure {
    let text = format!("a frame of the agent cannot be read: {why}");
    Failure::new(Reason::Agent("internal_error".to_owned()), text)
}

/// The failure of a call whose agent closed its connection and said why.
pub(crate) fn failure_from_goodbye(goodbye: &Goodbye, call: &Call) -> Failure {
    let Goodbye { code, reason } = goodbye;
    let mut failure = call.left();
    let text = failure.text.to_mut();
    text.push_str(&format!(": it closed the connection with {code}"));
    if !reason.is_empty() {
        text.push_str(&format!(" {reason:?}"));
    }
    failure
}

/// A failure that answers a frame: names its type, whom it was for, its stream and its request. What the peer wrote is
/// repeated up to a length that its ids have, so that an answer does not outgrow its frame.
pub(crate) fn refusal(relay: &Relay<'_>, failure: &Failure, field: Option<&str>) -> String {
    let request_id = relay.any_request_id();
    downlink::error(&ErrorFrame {
        to: Some(echo(&relay.to).into()),
        stream_id: relay.stream_id.as_deref().map(echo).map(Into::into),
        request_id: request_id.as_deref().map(echo).map(Into::into),
        frame_type: Some(relay.kind.name().into()),
        field: field.map(Into::into),
        ..ErrorFrame::new(failure.reason.name(), &failure.text)
    })
}

/// The words of a relayed frame, for people who watch.
pub(crate) fn words_of(relay: &Relay<'_>) -> String {
    match relay.kind {
        RelayKind::SendChunk | RelayKind::ReplyChunk => {
            relay.chunk_text().map(String::from).unwrap_or_default()
        }
        RelayKind::Send => query_of(relay.payload).text,
        RelayKind::Reply if relay.stream => {
            let answer = relay.payload.map(opening_of);
            answer.and_then(|answer| answer.text).unwrap_or_default()
        }
        RelayKind::Reply | RelayKind::ReplyEnd => {
            let answer = relay.payload.map(answer_of);
            answer.and_then(|answer| answer.text).unwrap_or_default()
        }
        RelayKind::Error => relay.message().map(String::from).unwrap_or_default(),
        RelayKind::SendEnd | RelayKind::Cancel => String::new(),
    }
}

/// A message for an agent of another door, out of a `send`.
pub(crate) fn message_from_query(query: Query) -> Message {
    let mut parts = Vec::new();
    if !query.text.is_empty() {
        parts.push(Part::Text(query.text));
    }
    if let Some(raw) = query.parts {
        parts.extend(parts_from_raw(&raw));
    }
    // Whoever gives both names its files twice, as we do.
    let has_files = parts.iter().any(|part| matches!(part, Part::File(_)));
    if let Some(raw) = query.attachments.filter(|_| !has_files) {
        parts.extend(attachments_from_raw(&raw));
    }
    Message {
        id: None,
        parts,
        metadata: query.metadata.map(Json::from),
        extra: None,
    }
}

/// Parts as we write them, or somebody's own shape kept whole as data.
fn parts_from_raw(raw: &RawValue) -> Vec<Part> {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| vec![Part::Data(raw.to_owned().into())])
}

/// The files of a message, or somebody's own shape kept whole as data.
fn attachments_from_raw(raw: &RawValue) -> Vec<Part> {
    let files = files_from_raw(raw);
    if files.is_empty() && !matches!(raw.get(), "[]" | "null") {
        return vec![Part::Data(raw.to_owned().into())];
    }
    files.into_iter().map(Part::File).collect()
}

fn raw_from<T: serde::Serialize>(items: &[T]) -> Option<Box<RawValue>> {
    // Serialising our own plain types does not fail; if it did, leaving them out is all one can do.
    if items.is_empty() {
        None
    } else {
        serde_json::value::to_raw_value(items).ok()
    }
}

/// The `message` that brings a call of another door to an Agora agent.
pub(crate) fn frame_from_call(call: &Call, address: &str) -> String {
    let words = call.message.words();
    let rest: Vec<&Part> = call
        .message
        .parts
        .iter()
        .filter(|part| !matches!(part, Part::Text(_)))
        .collect();
    let parts = raw_from(&rest);
    let attachments = raw_from_files(call.message.files(), call.files());
    let payload = QueryPayload {
        body: QueryBody {
            question: Text::from(words.as_str()),
            parts: parts.as_deref(),
            attachments: attachments.as_deref(),
        },
        request_id: Some(call.request.as_str()),
        session_id: Some(call.agent_session.as_str()),
    };
    downlink::message(
        address,
        &Opening {
            stream_id: call.streamed.then_some(address),
            stream: call.streamed,
            payload: Some(Payload::Query(&payload)),
            caller: Some(call.principal.label()),
            metadata: call.message.metadata.as_ref().map(Json::raw),
            ..Opening::default()
        },
    )
}

/// The `message` that brings the answer to an agent's question.
pub(crate) fn frame_from_answer(
    call: &Call,
    address: &str,
    ask_id: &str,
    answer: &Answer,
) -> String {
    #[derive(serde::Serialize)]
    struct Body<'a> {
        action: &'static str,
        ask_id: &'a str,
        request_id: &'a str,
        session_id: &'a str,
        body: &'a Answer,
    }
    let body = Body {
        action: "answer",
        ask_id,
        request_id: call.request.as_str(),
        session_id: call.agent_session.as_str(),
        body: answer,
    };
    let raw = serde_json::value::to_raw_value(&body).ok();
    let opening = Opening {
        payload: raw.as_deref().map(Payload::Raw),
        caller: Some(call.principal.label()),
        ..Opening::default()
    };
    downlink::message(address, &opening)
}

/// An answer to a question, out of a `send` whose payload names it by `ask_id`.
pub(crate) fn answer_from_payload(payload: &RawValue) -> Option<(String, Answer)> {
    let members = Members::of(payload)?;
    let ask_id = members.text("ask_id")?.into_owned();
    let body = members
        .get("body")
        .and_then(Members::of)
        .unwrap_or_default();
    let flag = |name: &str| match body
        .get(name)
        .or_else(|| members.get(name))
        .map(RawValue::get)
    {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => None,
    };
    let parts = body.get("parts").or_else(|| members.get("parts"));
    let reason = body.text("reason").or_else(|| members.text("reason"));
    let approved = flag("approved");
    // A decision is no words; of anything else the words are looked for, and if there are none the payload is said whole.
    let said = || answer_of(payload).text.filter(|_| approved.is_none());
    let answer = Answer {
        content: body.text("content").map(String::from).or_else(said),
        parts: parts.map(parts_from_raw).unwrap_or_default(),
        approved,
        reason: reason.map(String::from),
        ..Answer::default()
    };
    Some((ask_id, answer))
}

/// A piece of an agent's reply, out of a `reply_chunk`. An unknown kind is text: it is still what the agent said.
pub(crate) fn chunk_from_relay(relay: &Relay<'_>) -> Chunk {
    Chunk {
        kind: relay
            .chunk_kind()
            .and_then(|kind| ChunkKind::from_name(&kind))
            .unwrap_or_default(),
        text: relay.chunk_text().map(String::from).unwrap_or_default(),
        tool_name: relay.tool_name().map(String::from),
        tool_call_id: relay.tool_call_id().map(String::from),
        extra: None,
        waiting_for: None,
    }
}
