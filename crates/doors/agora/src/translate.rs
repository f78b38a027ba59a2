//! Pure functions between Agora's frames and the types of the core. No sockets, no hub.

mod files;
mod reply;
mod reply_writer;

use jackfield_core::call::Call;
use jackfield_kit::{files::Files, ws_connection::PeerClose};
use jackfield_model::{Answer, CallId, Chunk, ChunkKind, Failure, Json, Message, Part, Reason};
use jackfield_wire::{
    echo,
    json::{JsonText, RawMembers},
};
use serde_json::value::RawValue;

use self::files::{files_from_raw, raw_from_files};
pub(crate) use self::{
    reply::{EndOrAsk, opening_content, reply_content},
    reply_writer::ReplyFrameWriter,
};
use crate::wire::{
    CALL_PREFIX, ErrorFrame, FrameError, FrameFault, FramePayload, Opening, ParsedQuery,
    QueryContent, QueryPayload, Relay, RelayKind, answer_of, downlink, opening_of, query_of,
};

/// Returns the address to which an agent replies for a call from a different door.
pub(crate) fn call_address(id: CallId) -> String {
    format!("{CALL_PREFIX}{id}")
}

/// Returns the `error` frame for a [`FrameError`] frame.
pub(crate) fn malformed_frame(malformed: &FrameError) -> String {
    let reason = match malformed.fault {
        FrameFault::Syntax | FrameFault::Invalid => Reason::Invalid,
        FrameFault::Unsupported => Reason::Unsupported,
        FrameFault::TooLarge => Reason::TooLarge,
    };
    malformed.to_frame(reason.name())
}

/// Returns the failure of a call whose agent sent an invalid frame about the call.
pub(crate) fn unreadable(why: &str) -> Failure {
    let text = format!("a frame of the agent cannot be read: {why}");
    Failure::new(Reason::Agent("internal_error".to_owned()), text)
}

/// Returns the failure of a call whose agent closed its connection with a reason ([`PeerClose`]).
pub(crate) fn failure_from_close(goodbye: &PeerClose, call: &Call) -> Failure {
    let PeerClose { code, reason } = goodbye;
    let mut failure = call.left();
    let text = failure.text.to_mut();
    text.push_str(&format!(": it closed the connection with {code}"));
    if !reason.is_empty() {
        text.push_str(&format!(" {reason:?}"));
    }
    failure
}

/// Returns the `error` frame that refuses a [`Relay`]: with its type, receiver, stream and request. Values of
/// the peer are truncated to the length of an id, so that the error does not outgrow the frame.
pub(crate) fn refusal_frame(relay: &Relay<'_>, failure: &Failure, field: Option<&str>) -> String {
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

/// Returns the text of a relayed frame, for viewers.
pub(crate) fn text_of(relay: &Relay<'_>) -> String {
    match relay.kind {
        RelayKind::SendChunk | RelayKind::ReplyChunk => {
            relay.chunk_text().map(String::from).unwrap_or_default()
        }
        RelayKind::Send => query_of(relay.payload()).text,
        RelayKind::Reply if relay.stream => {
            let answer = relay.payload().map(opening_of);
            answer.and_then(|answer| answer.text).unwrap_or_default()
        }
        RelayKind::Reply | RelayKind::ReplyEnd => {
            let answer = relay.payload().map(answer_of);
            answer.and_then(|answer| answer.text).unwrap_or_default()
        }
        RelayKind::Error => relay.message().map(String::from).unwrap_or_default(),
        RelayKind::SendEnd | RelayKind::Cancel => String::new(),
    }
}

/// Converts a `send` into a [`Message`] for an agent of a different door.
pub(crate) fn message_from_query(query: ParsedQuery) -> Message {
    let mut parts = Vec::new();
    if !query.text.is_empty() {
        parts.push(Part::Text(query.text));
    }
    if let Some(raw) = query.parts {
        parts.extend(parts_from_raw(&raw));
    }
    // A sender that gives both lists the same files twice, as the hub does.
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

/// Reads parts in the hub's format; keeps an unknown format whole as data.
fn parts_from_raw(raw: &RawValue) -> Vec<Part> {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| vec![Part::Data(raw.to_owned().into())])
}

/// Reads the files of a message; keeps an unknown format whole as data.
fn attachments_from_raw(raw: &RawValue) -> Vec<Part> {
    let files = files_from_raw(raw);
    if files.is_empty() && !matches!(raw.get(), "[]" | "null") {
        return vec![Part::Data(raw.to_owned().into())];
    }
    files.into_iter().map(Part::File).collect()
}

fn raw_from<T: serde::Serialize>(items: &[T]) -> Option<Box<RawValue>> {
    // Serializing plain types does not fail; if it did, the items would have to be left out.
    if items.is_empty() {
        None
    } else {
        serde_json::value::to_raw_value(items).ok()
    }
}

/// Returns the `message` frame that delivers a [`Call`] from a different door to an Agora agent; `links` provides URLs for
/// files given as bytes.
pub(crate) fn frame_from_call(call: &Call, address: &str, links: &Files) -> String {
    let words = call.message.joined_text();
    let rest: Vec<&Part> = call
        .message
        .parts
        .iter()
        .filter(|part| !matches!(part, Part::Text(_)))
        .collect();
    let parts = raw_from(&rest);
    let attachments = raw_from_files(call.message.files(), links);
    let payload = QueryPayload {
        body: QueryContent {
            question: JsonText::from(words.as_str()),
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
            payload: Some(FramePayload::Query(&payload)),
            caller: Some(call.principal.label()),
            metadata: call.message.metadata.as_ref().map(Json::raw),
            ..Opening::default()
        },
    )
}

/// Returns the `message` frame that delivers the [`Answer`] to an agent's question.
pub(crate) fn frame_from_answer(
    call: &Call,
    address: &str,
    ask_id: &str,
    answer: &Answer,
) -> String {
    #[derive(serde::Serialize)]
    struct AnswerFields<'a> {
        action: &'static str,
        ask_id: &'a str,
        request_id: &'a str,
        session_id: &'a str,
        body: &'a Answer,
    }
    let body = AnswerFields {
        action: "answer",
        ask_id,
        request_id: call.request.as_str(),
        session_id: call.agent_session.as_str(),
        body: answer,
    };
    let raw = serde_json::value::to_raw_value(&body).ok();
    let opening = Opening {
        payload: raw.as_deref().map(FramePayload::Raw),
        caller: Some(call.principal.label()),
        ..Opening::default()
    };
    downlink::message(address, &opening)
}

/// Reads the answer to a question from a `send` whose payload has an `ask_id`.
pub(crate) fn answer_from_payload(payload: &RawValue) -> Option<(String, Answer)> {
    let members = RawMembers::of(payload)?;
    let ask_id = members.text("ask_id")?.into_owned();
    let body = members
        .get("body")
        .and_then(RawMembers::of)
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
    // A decision needs no text. For all other answers the text is searched for; without any, the whole
    // payload becomes the text.
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

/// Converts a `reply_chunk` into a [`Chunk`]. An unknown kind becomes text, because it is part of the agent's
/// reply.
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
