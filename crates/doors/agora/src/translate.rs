//! Pure functions between Agora's frames and the core's types. No sockets, no hub.

use std::borrow::Cow;

use jackfield_core::{
    call::Call,
    event::{
        Answer, Artifact, Ask, AskKind, Chunk, ChunkKind, Done, DoneState, End, Event, File,
        FileSource, Json, Message, Part,
    },
    failure::{Failure, Reason},
    files::Files,
    id::{CallId, MAX_PEER_ID},
};
use jackfield_wire::{
    agora::{
        self, AnswerPayload, CALL_PREFIX, ErrorFrame, InputRequired, Malformed, Opening, Payload,
        Query, QueryPayload, Relay, RelayKind, downlink,
    },
    json::{Members, Text},
};
use serde_json::value::RawValue;

/// The address by which an agent answers a call of another door.
pub(crate) fn call_address(id: CallId) -> String {
    format!("{CALL_PREFIX}{id}")
}

/// The code of a frame that could not be read.
pub(crate) fn malformed_frame(malformed: &Malformed) -> String {
    let reason = match malformed.fault {
        agora::Fault::Syntax | agora::Fault::Invalid => Reason::Invalid,
        agora::Fault::Unsupported => Reason::Unsupported,
        agora::Fault::TooLarge => Reason::TooLarge,
    };
    malformed.to_frame(reason.name())
}

/// The failure of a call whose agent sent a frame about it that was refused.
pub(crate) fn unreadable(why: &str) -> Failure {
    let text = format!("a frame of the agent cannot be read: {why}");
    Failure::new(Reason::Agent("internal_error".to_owned()), text)
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

fn echo(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_PEER_ID)]
}

/// The words of a relayed frame, for people who watch.
pub(crate) fn words_of(relay: &Relay<'_>) -> String {
    match relay.kind {
        RelayKind::SendChunk | RelayKind::ReplyChunk => {
            relay.chunk_text().map(String::from).unwrap_or_default()
        }
        RelayKind::Send => agora::query_of(relay.payload).text,
        RelayKind::Reply | RelayKind::ReplyEnd => {
            let answer = relay.payload.map(agora::answer_of);
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
        question: Text::from(words.as_str()),
        parts: parts.as_deref(),
        attachments: attachments.as_deref(),
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
    let said = || {
        agora::answer_of(payload)
            .text
            .filter(|_| approved.is_none())
    };
    let answer = Answer {
        content: body.text("content").map(String::from).or_else(said),
        parts: parts.map(parts_from_raw).unwrap_or_default(),
        approved,
        reason: reason.map(String::from),
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
    }
}

/// What the payload of a `reply` or `reply_end` says: events that come first, then the end or a question.
pub(crate) struct Said {
    pub(crate) events: Vec<Event>,
    pub(crate) then: Then,
}

/// What comes after the events of a payload.
pub(crate) enum Then {
    /// The agent is done.
    Done(End),
    /// The agent asks.
    Ask(Ask),
}

/// Reads what an agent says at the end, or in its one answer. Text that was said in chunks before (not `with_text`)
/// becomes the result instead of an event.
pub(crate) fn said_in(payload: Option<&RawValue>, with_text: bool) -> Said {
    let Some(payload) = payload else {
        return Said {
            events: Vec::new(),
            then: Then::Done(End::done()),
        };
    };
    let mut answer = agora::answer_of(payload);
    if let Some(ask) = &mut answer.input_required {
        // The question may stand where answers do.
        if ask.text.is_empty() {
            ask.text = answer.text.take().unwrap_or_default();
        } else if answer.text.as_ref() == Some(&ask.text) {
            answer.text = None;
        }
    }
    let mut events = Vec::new();
    let mut repeated = None;
    if with_text {
        events.extend(answer.text.filter(|text| !text.is_empty()).map(Event::text));
    } else {
        repeated = answer.text;
    }
    if let Some(raw) = answer.artifacts {
        events.extend(artifacts_from_raw(&raw).into_iter().map(Event::Artifact));
    }
    if let Some(raw) = answer.parts {
        events.push(Event::Artifact(Artifact {
            id: "parts".to_owned(),
            name: None,
            parts: parts_from_raw(&raw),
            append: false,
            last: true,
            extra: None,
        }));
    }
    if let Some(ask) = answer.input_required {
        return Said {
            events,
            then: Then::Ask(ask_from_wire(ask)),
        };
    }
    let state = match answer.state.as_deref() {
        Some("input_required" | "input-required") => DoneState::InputRequired,
        Some("rejected") => DoneState::Rejected,
        _ => DoneState::Completed,
    };
    let done = Done {
        state,
        result: answer.result.map(|raw| raw.get().to_owned()).or(repeated),
        attachments: answer
            .attachments
            .map(|raw| files_from_raw(&raw))
            .unwrap_or_default(),
        usage: answer.usage.map(Json::from),
        stop_reason: answer.stop_reason,
        ..Done::default()
    };
    Said {
        events,
        then: Then::Done(End::Done(Box::new(done))),
    }
}

fn artifacts_from_raw(raw: &RawValue) -> Vec<Artifact> {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| {
        let parts = vec![Part::Data(raw.to_owned().into())];
        vec![Artifact {
            id: "artifacts".to_owned(),
            name: None,
            parts,
            append: false,
            last: true,
            extra: None,
        }]
    })
}

fn ask_from_wire(ask: InputRequired) -> Ask {
    let kind = if ask.kind.as_deref() == Some("approval") {
        AskKind::Approval
    } else {
        AskKind::Input
    };
    Ask {
        id: ask.id.unwrap_or_else(|| CallId::new().to_string()),
        kind,
        text: ask.text,
        tool_name: ask.tool,
        tool_call_id: None,
        arguments: None,
        schema: ask.schema.map(Json::from),
    }
}

/// Files as Agora and the bridge write them: `{name, url, type}`, with `bytes` where there is no address.
fn files_from_raw(raw: &RawValue) -> Vec<File> {
    let Some(elements) = jackfield_wire::json::elements(raw) else {
        return Vec::new();
    };
    let file = |raw: &RawValue| {
        let members = Members::of(raw)?;
        let text = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| members.text(name))
                .map(String::from)
        };
        let (name, mime) = (text(&["name"]), text(&["type", "mime", "mimeType"]));
        Some(match text(&["url", "uri"]) {
            Some(url) => File::at(url, name, mime),
            None => File {
                name,
                mime,
                source: FileSource::Bytes(text(&["bytes"])?.into()),
            },
        })
    };
    elements.into_iter().filter_map(file).collect()
}

/// The same as we write them: every file is a link.
fn raw_from_files<'a>(
    files: impl IntoIterator<Item = &'a File>,
    links: &Files,
) -> Option<Box<RawValue>> {
    #[derive(serde::Serialize)]
    struct Wire<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        url: Cow<'a, str>,
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        mime: Option<&'a str>,
    }
    let wire: Vec<_> = files
        .into_iter()
        .map(|file| Wire {
            name: file.name.as_deref(),
            url: links.url(file),
            mime: file.mime.as_deref(),
        })
        .collect();
    raw_from(&wire)
}

/// Whom the frames of a reply are from, and what they are matched by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Thread {
    /// The agent that was called.
    pub(crate) from: String,
    /// The caller's id of the request.
    pub(crate) request_id: Option<String>,
    /// The caller's conversation.
    pub(crate) session_id: Option<String>,
    /// The caller's stream. A caller that has none gets a streamed reply under the id of its request.
    pub(crate) stream_id: Option<String>,
}

impl Thread {
    /// The stream of a reply.
    fn reply_stream(&self) -> Option<&str> {
        self.stream_id.as_deref().or(self.request_id.as_deref())
    }

    /// The frame that begins a streamed reply.
    pub(crate) fn opening(&self) -> String {
        let payload = Payload::Ids {
            request_id: self.request_id.as_deref(),
            session_id: self.session_id.as_deref(),
        };
        let opening = Opening {
            stream_id: self.reply_stream(),
            stream: true,
            payload: Some(payload),
            ..Opening::default()
        };
        downlink::reply(&self.from, &opening)
    }

    /// A piece of a streamed reply.
    pub(crate) fn chunk(&self, chunk: &Chunk) -> String {
        let wire = agora::Chunk {
            text: Text::from(chunk.text.as_str()),
            kind: (chunk.kind != ChunkKind::Text).then(|| chunk.kind.name()),
            tool_name: chunk.tool_name.as_deref(),
            tool_call_id: chunk.tool_call_id.as_deref(),
        };
        downlink::reply_chunk(&self.from, self.reply_stream().unwrap_or_default(), wire)
    }

    /// A question: it says what is wanted, and the stream stays open.
    pub(crate) fn ask(&self, ask: &Ask) -> String {
        let kind = match ask.kind {
            AskKind::Input => "input",
            AskKind::Approval => "approval",
        };
        let input_required = InputRequired {
            id: Some(ask.id.clone()),
            kind: Some(kind.to_owned()),
            text: ask.text.clone(),
            schema: ask.schema.as_ref().map(|json| json.raw().to_owned()),
            tool: ask.tool_name.clone(),
        };
        let payload = AnswerPayload {
            request_id: self.request_id.as_deref(),
            session_id: self.session_id.as_deref(),
            input_required: Some(&input_required),
            ..AnswerPayload::default()
        };
        self.one_reply(&payload)
    }

    /// A `reply` that is no stream. It names the caller's, which may have no request to match it by.
    fn one_reply(&self, payload: &AnswerPayload<'_>) -> String {
        let opening = Opening {
            stream_id: self.stream_id.as_deref(),
            payload: Some(Payload::Answer(payload)),
            ..Opening::default()
        };
        downlink::reply(&self.from, &opening)
    }

    /// The end of a reply: of its stream if one was `opened`, else the one `reply`. A result that was streamed (the
    /// agent `spoke`) is not repeated; `links` are for files that are bytes.
    pub(crate) fn done(
        &self,
        done: &Done,
        artifacts: &[Artifact],
        links: &Files,
        opened: bool,
        spoke: bool,
    ) -> String {
        let state = match done.state {
            DoneState::Completed => None,
            DoneState::InputRequired => Some("input_required"),
            DoneState::Rejected => Some("rejected"),
        };
        let artifacts = raw_from(artifacts);
        let attachments = raw_from_files(&done.attachments, links);
        let answer = match done.result.as_deref() {
            _ if spoke => None,
            None if opened => None,
            result => Some(result.unwrap_or_default()),
        };
        let payload = AnswerPayload {
            answer: answer.map(Text::from),
            request_id: self.request_id.as_deref(),
            session_id: self.session_id.as_deref(),
            state,
            attachments: attachments.as_deref(),
            artifacts: artifacts.as_deref(),
            usage: done.usage.as_ref().map(Json::raw),
            stop_reason: done.stop_reason.as_deref(),
            ..AnswerPayload::default()
        };
        if !opened {
            return self.one_reply(&payload);
        }
        let stream_id = self.reply_stream().unwrap_or_default();
        downlink::reply_end(&self.from, stream_id, Some(Payload::Answer(&payload)))
    }

    /// The failure of a reply.
    pub(crate) fn failed(&self, failure: &Failure) -> String {
        downlink::error(&ErrorFrame {
            from: Some(self.from.as_str().into()),
            to: Some(self.from.as_str().into()),
            stream_id: self.reply_stream().map(Into::into),
            request_id: self.request_id.as_deref().map(Into::into),
            ..ErrorFrame::new(failure.reason.name(), &failure.text)
        })
    }
}
