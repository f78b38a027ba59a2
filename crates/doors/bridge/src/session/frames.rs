//! Frames of a registered agent: pieces and ends of its answers, heartbeats, and requests to other agents.

use std::{
    borrow::Cow,
    sync::{Arc, Weak},
};

use jackfield_core::hub::{Parent, Request, Wanted};
use jackfield_model::{AgentId, CallId, End, Failure, Json, Message, Reason, RequestId, SessionId};
use jackfield_wire::{
    bridge::{
        BridgeErrorCode, MalformedFrame, Uplink,
        downlink::{self, HubError},
        parse,
        uplink::{CallAgent, DiscoverAgents, Heartbeat, RtcSignal, TYPES},
    },
    echo,
    read::FieldError,
};

use super::{
    AgentFeed, BridgeAgentSession,
    pauses::{SessionPauses, ambiguous_end},
    unreadable,
};
use crate::{
    DOOR,
    agent_call::error_frame,
    failure::{code, failure_of_agent},
    lineage::AnsweredRequest,
    parties::{self, SignalRefusal},
    served_request::{EndResult, SequenceError, ServedRequest},
    translate::{end_from_done, entry_from_view, event_from_artifact, is_empty_end},
};

/// Default and maximum number of agents in the answer to `discover_agents`.
const DISCOVERED: (usize, usize) = (20, 200);

impl BridgeAgentSession {
    pub(super) fn on_frame(&mut self, text: &str) {
        match parse(text, self.bridge.max_depth) {
            Ok(uplink) => self.on_uplink(uplink, text.len()),
            Err(malformed) => self.on_malformed(&malformed),
        }
    }

    fn on_uplink(&mut self, uplink: Uplink<'_>, size: usize) {
        match uplink {
            Uplink::Chunk(chunk) => {
                let piece = RequestFrame::new("chunk", &chunk.request_id, chunk.seq, size);
                let max = self.bridge.max_chunk;
                self.on_piece(piece, |served| served.chunk(&chunk, max));
            }
            Uplink::Artifact(artifact) => {
                let piece = RequestFrame::new("artifact", &artifact.request_id, artifact.seq, size);
                match event_from_artifact(&artifact) {
                    Ok(event) => self.on_piece(piece, |served| served.event(event, artifact.seq)),
                    Err(wrong) => self.on_malformed(
                        &piece.malformed(FieldError::invalid(&wrong.field, wrong.problem)),
                    ),
                }
            }
            Uplink::Ask(ask) => {
                let piece = RequestFrame::new("ask", &ask.request_id, ask.seq, size);
                self.on_piece(piece, |served| served.ask(&ask));
            }
            Uplink::Done(done) => {
                let piece = RequestFrame::new("done", &done.request_id, done.seq, size);
                let max = self.line.limits().message.0;
                self.on_end(piece, |served, pauses| {
                    if is_empty_end(&done) && pauses.is_ambiguous_end(served.call()) {
                        return End::Failed(ambiguous_end());
                    }
                    end_from_done(&done, (served.streamed_bytes() > 0).then_some(max))
                });
            }
            Uplink::Error(error) => {
                let piece = RequestFrame::new("error", &error.request_id, error.seq, size);
                let failure = || failure_of_agent(&error.code, &error.message);
                self.on_end(piece, |_, _| End::Failed(failure()));
            }
            Uplink::Heartbeat(heartbeat) => self.on_heartbeat(heartbeat),
            Uplink::DiscoverAgents(discover) => self.on_discover(&discover),
            Uplink::CallAgent(call) => self.on_call(&call),
            Uplink::RtcSignal(signal) => self.on_signal(&signal),
            Uplink::Register(_) => {
                let text = "register: this connection has registered already";
                self.on_unknown_type("register", text.to_owned());
            }
            Uplink::Unknown(kind) => {
                let text = format!("unknown type; agents send {}", TYPES.join(", "));
                self.on_unknown_type(&kind, text);
            }
        }
    }

    /// Handles an unknown frame type. The original hub ignores such a frame. This hub ignores it too, but
    /// answers with an error: after a typo the agent would wait for ever.
    fn on_unknown_type(&mut self, frame_type: &str, text: String) {
        self.bridge.hub.metrics().refused(DOOR);
        self.queue(&downlink::error(&HubError {
            code: BridgeErrorCode::InvalidMessage.name().into(),
            message: text.into(),
            field: Some("type".into()),
            frame_type: Some(echo(frame_type).into()),
            ..HubError::default()
        }));
    }

    /// Assigns a frame to its request. A frame without a request id belongs to the only open request. Not
    /// after a cancel, because the frame could be about the cancelled request: text for one caller must not
    /// reach a different caller.
    fn with_request<'a>(&mut self, mut piece: RequestFrame<'a>) -> Option<RequestFrame<'a>> {
        if piece.request.is_empty() {
            let Some(only) = self.only_request().filter(|_| !self.has_stopped) else {
                self.on_malformed(&piece.malformed(FieldError::missing("request_id")));
                return None;
            };
            piece.request = Cow::Owned(only);
        }
        Some(piece)
    }

    /// Returns the request that the agent works on, if there is exactly one.
    fn only_request(&self) -> Option<String> {
        let mut requests = self.served.keys();
        requests
            .next()
            .filter(|_| requests.next().is_none())
            .cloned()
    }

    /// Handles a [`RequestFrame`] of an answer.
    fn on_piece(
        &mut self,
        piece: RequestFrame<'_>,
        take: impl FnOnce(&mut ServedRequest) -> Result<Option<u64>, SequenceError>,
    ) {
        let Some(piece) = self.with_request(piece) else {
            return;
        };
        let Some(served) = self.served.get_mut(&*piece.request) else {
            self.on_unknown(&piece);
            return;
        };
        match take(served) {
            Ok(None) => {}
            Ok(Some(seq)) => self.acks.add(served.request(), seq, piece.size),
            Err(wrong) => {
                self.on_bad_number(&piece, &wrong);
                return;
            }
        }
        let said = served.streamed_bytes();
        self.raise_frame_limit(said);
    }

    /// Handles a [`RequestFrame`] that ends an answer.
    fn on_end(
        &mut self,
        piece: RequestFrame<'_>,
        end: impl FnOnce(&ServedRequest, &SessionPauses) -> End,
    ) {
        let Some(piece) = self.with_request(piece) else {
            return;
        };
        let Some(served) = self.served.get(&*piece.request) else {
            self.on_unknown(&piece);
            return;
        };
        let number = match served.number(piece.seq) {
            Ok(number) => number,
            Err(wrong) => {
                self.on_bad_number(&piece, &wrong);
                return;
            }
        };
        // Before the call is released, which starts the next pause.
        let end = end(served, &self.pauses);
        let Some(served) = self.release(&piece.request) else {
            return;
        };
        let (call, request) = (served.call().clone(), served.request().clone());
        let mut reading = Arc::downgrade(&call);
        match served.end(end, number) {
            EndResult::Over => {}
            // Counted like all frames after the end. For the agent the request is over as usual, and no
            // caller reads the answer.
            EndResult::Late => {
                self.bridge.hub.metrics().late_event();
                reading = Weak::new();
            }
            EndResult::Repeated(served) => {
                self.flows
                    .insert(served.key, AgentFeed::Input(request.to_string()));
                self.served.insert(request.to_string(), served);
                return;
            }
        }
        if let Some(seq) = number {
            let answered = AnsweredRequest {
                request,
                seq,
                call: reading,
            };
            self.ack_end(&answered);
            if let Some(registered) = &self.registered {
                let reader = registered.reader;
                registered.lineage.note_answered(reader, answered);
            }
        }
    }

    /// Acknowledges an [`AnsweredRequest`] request, unless the log must store the end first.
    fn ack_end(&mut self, answered: &AnsweredRequest) {
        if answered.is_kept() {
            self.acks.add(&answered.request, answered.seq, 0);
            self.write_acks();
        }
    }

    /// Handles a frame about a request that does not (or no longer) belong to the agent: counts and ignores
    /// it, because the protocol has no frame for a reply. A repeated frame of an answered request is
    /// acknowledged again: the agent does not know that the first one arrived.
    fn on_unknown(&mut self, piece: &RequestFrame<'_>) {
        let lineage = self
            .registered
            .as_ref()
            .map(|registered| &registered.lineage);
        let answered = lineage.and_then(|lineage| lineage.answered(&piece.request));
        let is_before =
            |answered: &AnsweredRequest| piece.seq.is_some_and(|seq| seq <= answered.seq);
        match answered.filter(is_before) {
            Some(answered) => self.ack_end(&answered),
            None => self.bridge.hub.metrics().refused(DOOR),
        }
    }

    /// Handles a missing frame or a missing number ([`SequenceError`]). The caller would get an incomplete answer
    /// without noticing. Therefore the call fails, and the agent is told the reason and to stop.
    fn on_bad_number(&mut self, piece: &RequestFrame<'_>, wrong: &SequenceError) {
        self.bridge.hub.metrics().refused(DOOR);
        let malformed = piece.malformed(FieldError::invalid("seq", wrong.to_string()));
        self.queue(&malformed.to_frame());
        if let Some(served) = self.stop(&piece.request) {
            let text = format!("the agent's answer has a gap: {malformed}");
            let reason = Reason::Agent("internal_error".to_owned());
            served.fail(Failure::new(reason, text));
        }
    }

    /// Answers a malformed frame with an error, and fails the affected call:
    ///
    /// - An unreadable end still ends its request, and an unreadable `call_agent` fails its call.
    /// - A call with a missing piece fails: the caller could not tell the answer from a complete one. After a
    ///   lost question the agent would wait for ever for its answer.
    /// - A frame without a readable request id affects the only open request. With several open requests the
    ///   affected one is unknown, and all continue.
    fn on_malformed(&mut self, malformed: &MalformedFrame) {
        self.bridge.hub.metrics().refused(DOOR);
        let kind = malformed.frame_type.as_deref();
        if let Some(kind @ ("chunk" | "artifact" | "ask" | "done" | "error")) = kind {
            let named = malformed.request_id.as_deref().map(str::to_owned);
            let named = named.filter(|request| !request.is_empty());
            let request = named.or_else(|| self.only_request()).unwrap_or_default();
            let served = match kind {
                "done" | "error" => self.release(&request),
                _ => self.stop(&request),
            };
            if let Some(served) = served {
                served.fail(unreadable(malformed));
            }
        }
        if kind == Some("call_agent")
            && let Some(call_id) = malformed.call_id.as_deref()
        {
            let failure = Failure::new(Reason::Invalid, malformed.to_string());
            self.refuse_call(call_id, &failure);
            return;
        }
        self.queue(&malformed.to_frame());
    }

    fn on_heartbeat(&mut self, heartbeat: Heartbeat) {
        if let Some(registered) = &self.registered {
            self.bridge
                .note_heartbeat(&registered.link.id, heartbeat.active_sessions);
        }
        if let Some(registered) = &self.registered {
            registered.lineage.trim(registered.reader);
        }
        for served in self.served.values() {
            served.serving().pulse();
        }
    }

    fn on_discover(&mut self, discover: &DiscoverAgents<'_>) {
        let Some(registered) = &self.registered else {
            return;
        };
        let skills = discover
            .capability
            .iter()
            .map(ToString::to_string)
            .collect();
        let mut views = self.bridge.hub.agents().discover(
            &registered.principal,
            &Wanted {
                skills,
                online: false,
            },
        );
        let limit = discover
            .limit
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(DISCOVERED.0);
        views.truncate(limit.min(DISCOVERED.1));
        let entries: Vec<_> = views.iter().map(entry_from_view).collect();
        let frame = downlink::discover_agents_result(&entries);
        self.queue(&frame);
    }

    fn on_call(&mut self, call: &CallAgent<'_>) {
        let call_id = call
            .call_id
            .as_deref()
            .map_or_else(|| CallId::new().to_string(), str::to_owned);
        if let Err(failure) = self.call(call, &call_id) {
            self.refuse_call(&call_id, &failure);
        }
    }

    fn refuse_call(&mut self, call_id: &str, failure: &Failure) {
        let frame = error_frame(call_id, failure);
        self.queue(&frame);
        if let Some(registered) = &self.registered {
            let reader = registered.reader;
            registered.lineage.refused(reader, call_id, frame);
        }
    }

    fn call(&mut self, call: &CallAgent<'_>, call_id: &str) -> Result<(), Failure> {
        let Some(registered) = &self.registered else {
            return Ok(());
        };
        let invalid = |field: &str| {
            Failure::new(
                Reason::Invalid,
                format!("field {field:?} is not a valid id"),
            )
        };
        let target =
            AgentId::parse(&call.target_agent_id).map_err(|_| invalid("target_agent_id"))?;
        if registered.lineage.has_call(call_id) {
            return Err(Failure::new(
                Reason::Conflict,
                "a call with this call_id is open already",
            ));
        }
        let mut message = Message::text(call.task_description.as_ref());
        if call.with_files {
            message.metadata = Json::parse(r#"{"with_files":true}"#).ok();
        }
        let mut request = Request::new(registered.principal.clone(), DOOR, target, message);
        request.request = Some(RequestId::parse(call_id).map_err(|_| invalid("call_id"))?);
        let session = call
            .session_id
            .as_deref()
            .map_or_else(|| format!("a2a-{call_id}"), str::to_owned);
        request.session = Some(SessionId::parse(&session).map_err(|_| invalid("session_id"))?);
        if let Some(parent) = &call.parent_request_id {
            request.parent = Parent::Request(
                RequestId::parse(parent).map_err(|_| invalid("parent_request_id"))?,
            );
        }
        let asking = self.bridge.hub.calls().open(request)?;
        let call_id = Arc::from(call_id);
        let reader = registered.reader;
        registered
            .lineage
            .add(reader, &call_id, asking, &self.bridge.links);
        self.read_reply(call_id);
        Ok(())
    }

    fn on_signal(&mut self, signal: &RtcSignal<'_>) {
        let Some(registered) = &self.registered else {
            return;
        };
        let (principal, from) = (&registered.principal, &registered.link.id);
        let passed_on = parties::pass_on(&self.bridge, principal, from, signal);
        if let Err(SignalRefusal { failure, field }) = passed_on {
            let error = downlink::error(&HubError {
                code: code(&failure.reason).into(),
                message: failure.text.as_ref().into(),
                field: Some(field.into()),
                frame_type: Some("rtc_signal".into()),
                ..HubError::default()
            });
            self.queue(&error);
        }
    }
}

/// The metadata of a frame about a request.
struct RequestFrame<'a> {
    frame_type: &'static str,
    /// Id of the request; empty if missing.
    request: Cow<'a, str>,
    seq: Option<u64>,
    /// Size of the frame in bytes.
    size: usize,
}

impl<'a> RequestFrame<'a> {
    /// Returns a [`MalformedFrame`] error about the frame.
    fn malformed(&self, misread: FieldError) -> MalformedFrame {
        MalformedFrame {
            misread,
            frame_type: Some(self.frame_type.into()),
            request_id: Some(&*self.request)
                .filter(|id| !id.is_empty())
                .map(Into::into),
            call_id: None,
        }
    }

    fn new(frame_type: &'static str, request: &'a str, seq: Option<u64>, size: usize) -> Self {
        Self {
            frame_type,
            request: Cow::Borrowed(request),
            seq,
            size,
        }
    }
}
