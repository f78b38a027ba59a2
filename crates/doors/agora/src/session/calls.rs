//! Frames for agents of other doors: they open, continue and cancel calls.

use std::{
    borrow::Cow,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use jackfield_core::{
    entry::Entry,
    hub::{Parent, Request},
};
use jackfield_model::{Failure, Message, Reason, RequestId, SessionId};
use jackfield_wire::json::{self, RawMembers};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::{
    AgoraSession, PeerFeed,
    frames::{FrameRefusal, offline},
};
use crate::{
    DOOR,
    link::AgoraMail,
    outbound_call::{OutboundCall, OutboundState, ended},
    translate::{ReplyFrameWriter, answer_from_payload, message_from_query},
    wire::{ParsedQuery, Relay, RelayKind, query_of},
};

impl AgoraSession {
    /// Handles a frame for an agent that is offline or belongs to a different door.
    pub(super) fn call_other_door(
        &mut self,
        relay: &Relay<'_>,
        entry: &Arc<Entry>,
    ) -> Result<(), FrameRefusal> {
        match relay.kind {
            RelayKind::Send => self.start_call(relay, entry),
            RelayKind::SendChunk => {
                let key = self.open_call(entry, relay)?;
                self.append_chunk(key, &relay.chunk_text().unwrap_or_default())
            }
            RelayKind::SendEnd => {
                let key = self.open_call(entry, relay)?;
                self.complete(key)
            }
            RelayKind::Cancel => {
                let key = self.open_call(entry, relay)?;
                self.cancel_call(key);
                Ok(())
            }
            RelayKind::Reply | RelayKind::ReplyChunk | RelayKind::ReplyEnd | RelayKind::Error => {
                if entry.link().is_none() {
                    return Err(offline());
                }
                let text =
                    "this agent sent you nothing to reply to; reply to the `from` of a message";
                Err(FrameRefusal::field(
                    "to",
                    Failure::new(Reason::Invalid, text),
                ))
            }
        }
    }

    fn start_call(&mut self, relay: &Relay<'_>, entry: &Arc<Entry>) -> Result<(), FrameRefusal> {
        // An offline agent may be an Agora agent, whose payloads the hub does not interpret.
        if entry.link().is_some() {
            check_ids(relay.payload())?;
        }
        if self.is_answer_to_ask(relay, entry)? {
            return Ok(());
        }
        let query = query_of(relay.payload());
        let own_request = relay.request_id.as_deref().map(str::to_owned);
        let thread = ReplyFrameWriter {
            from: entry.id.to_string(),
            stream_id: relay.stream_id.as_deref().map(str::to_owned),
            request_id: own_request.or_else(|| query.request_id.clone()),
            session_id: query.session_id.clone(),
        };
        let Some(mut request) = self.request(query, &thread, entry)? else {
            return Ok(());
        };
        let ids = thread.stream_id.iter().chain(&thread.request_id);
        let names: Vec<_> = ids
            .map(|id| (entry.id.clone(), Box::from(id.as_str())))
            .collect();
        if names.is_empty() {
            return self.send_unnamed(request, thread).map_err(Into::into);
        }
        if let Some(key) = names.iter().find_map(|name| self.outgoing.get(name)) {
            return Err(self.id_in_use(*key));
        }
        let joins = relay.stream && !entry.link().is_some_and(|link| link.takes_streamed_input());
        let key = self.line.new_key();
        if joins {
            // The agent is looked up again when the message is complete, but must be online already.
            entry.link().ok_or_else(offline)?;
            let outgoing = OutboundCall::new(
                thread,
                OutboundState::Joining(Box::new(request), String::new()),
                self.agora.hub.limits().message.0,
            );
            self.check_joining(outgoing.joining_weight())?;
            self.joining += outgoing.joining_weight();
            self.flows.insert(key, PeerFeed::Reply(Box::new(outgoing)));
        } else {
            request.streamed = relay.stream;
            let asking = self.agora.hub.calls().open(request)?;
            let outgoing = OutboundCall::new(
                thread,
                OutboundState::Open(asking, relay.stream),
                self.agora.hub.limits().message.0,
            );
            self.flows.insert(key, PeerFeed::Reply(Box::new(outgoing)));
            self.listen(key);
        }
        self.outgoing
            .extend(names.into_iter().map(|name| (name, key)));
        Ok(())
    }

    /// Returns the refusal of a `send` with an id that is in use. If the open call waits for an answer, the
    /// sender probably meant to answer.
    fn id_in_use(&self, key: u32) -> FrameRefusal {
        let conflict = |text: String| Failure::new(Reason::Conflict, text);
        let asked = match (self.flows.get(&key), &self.registered) {
            (Some(PeerFeed::Reply(outgoing)), Some(registered)) => {
                outgoing.open_ask(&registered.principal)
            }
            _ => None,
        };
        match asked {
            Some(id) => {
                let text =
                    format!("this call waits for an answer: add \"ask_id\": {id:?} to \"payload\"");
                FrameRefusal::field("payload.ask_id", conflict(text))
            }
            None => {
                let text = "a call with this stream_id or request_id is open already; use a new id";
                conflict(text.to_owned()).into()
            }
        }
    }

    /// Builds the [`Request`] for a `send`.
    fn request(
        &self,
        query: ParsedQuery,
        thread: &ReplyFrameWriter,
        entry: &Arc<Entry>,
    ) -> Result<Option<Request>, FrameRefusal> {
        let Some(registered) = &self.registered else {
            return Ok(None);
        };
        let invalid = |field: &'static str| {
            let text =
                format!("field {field:?} must have 1 to 256 bytes, none a control character");
            FrameRefusal::field(field, Failure::new(Reason::Invalid, text))
        };
        let request_id = |field: &'static str, id: &Option<String>| {
            id.as_deref()
                .map(|id| RequestId::parse(id).map_err(|_| invalid(field)))
                .transpose()
        };
        let (principal, target) = (registered.principal.clone(), entry.id.clone());
        let mut request = Request::new(principal, DOOR, target, Message::default());
        let pair = || format!("{}:{}", registered.link.id, entry.id);
        let session = thread.session_id.clone().unwrap_or_else(pair);
        request.session =
            Some(SessionId::parse(&session).map_err(|_| invalid("payload.session_id"))?);
        let field = if query.request_id == thread.request_id {
            "payload.request_id"
        } else {
            "request_id"
        };
        request.request = request_id(field, &thread.request_id)?;
        if let Some(parent) = request_id("payload.parent_request_id", &query.parent_request_id)? {
            request.parent = Parent::Request(parent);
        }
        request.message = message_from_query(query);
        Ok(Some(request))
    }

    /// Handles a `send` that answers a question of an open call; returns `false` for any other `send`.
    fn is_answer_to_ask(
        &mut self,
        relay: &Relay<'_>,
        entry: &Arc<Entry>,
    ) -> Result<bool, FrameRefusal> {
        let Some((ask_id, answer)) = relay.payload().and_then(answer_from_payload) else {
            return Ok(false);
        };
        let key = self.open_call(entry, relay)?;
        if let (Some(PeerFeed::Reply(outgoing)), Some(registered)) =
            (self.flows.get(&key), &self.registered)
        {
            let OutboundState::Open(asking, _) = &outgoing.state else {
                return Err(unknown(call_name(relay).0));
            };
            let (principal, call) = (&registered.principal, asking.call().id);
            let answered = self
                .agora
                .hub
                .calls()
                .answer(principal, call, &ask_id, answer);
            answered.map_err(|failure| {
                let is_body = failure.reason == Reason::Invalid;
                let field = if is_body {
                    "payload.body"
                } else {
                    "payload.ask_id"
                };
                FrameRefusal::field(field, failure)
            })?;
        }
        Ok(true)
    }

    /// Appends text to a streamed message.
    fn append_chunk(&mut self, key: u32, text: &str) -> Result<(), FrameRefusal> {
        let max = self.agora.hub.limits().message.0;
        let Some(PeerFeed::Reply(outgoing)) = self.flows.get_mut(&key) else {
            return Ok(());
        };
        let is_joining = outgoing.joining_weight() > 0;
        let result = outgoing.append_text(text, max).map_err(in_stream);
        if !is_joining {
            return result;
        }
        if result.is_ok() {
            self.joining += text.len();
        }
        let result = result.and_then(|()| self.check_joining(0));
        if result.is_err() {
            self.drop_flow(key);
        }
        result
    }

    /// Completes a streamed message. If the message was being joined, the call is made now.
    fn complete(&mut self, key: u32) -> Result<(), FrameRefusal> {
        let Some(PeerFeed::Reply(outgoing)) = self.flows.get_mut(&key) else {
            return Ok(());
        };
        let weight = outgoing.joining_weight();
        let Some(request) = outgoing.complete().map_err(in_stream)? else {
            return Ok(());
        };
        match self.agora.hub.calls().open(request) {
            Ok(asking) => {
                self.joining -= weight;
                outgoing.state = OutboundState::Open(asking, false);
                self.listen(key);
                Ok(())
            }
            Err(failure) => {
                // The joined text has moved into the request; the rest of the weight is released with the
                // flow.
                self.joining -= weight - outgoing.joining_weight();
                self.drop_flow(key);
                Err(failure.into())
            }
        }
    }

    fn cancel_call(&mut self, key: u32) {
        let Some(PeerFeed::Reply(outgoing)) = self.flows.get(&key) else {
            return;
        };
        match (&outgoing.state, &self.registered) {
            (OutboundState::Open(asking, _), Some(registered)) => {
                // The end returns through the pipe of the call: this cancel, or a different end that was
                // faster.
                let call = asking.call().id;
                self.agora
                    .hub
                    .calls()
                    .cancel(&registered.principal, call)
                    .ok();
            }
            _ => {
                let cancelled = Failure::new(Reason::Cancelled, "the call was cancelled");
                let frame = outgoing.thread.failed(&cancelled);
                self.drop_flow(key);
                self.queue(&frame);
            }
        }
    }

    /// Refuses more text once the messages being joined reach the size of one message together. They have no
    /// pipe that could be full.
    fn check_joining(&self, more: usize) -> Result<(), FrameRefusal> {
        let max = self.agora.hub.limits().message.0;
        if self.joining + more <= max {
            return Ok(());
        }
        let text = format!("messages that wait for their end hold {max} bytes; end one first");
        Err(Failure::new(Reason::Busy, text).into())
    }

    /// Returns the key of the open call that a frame continues.
    fn open_call(&self, entry: &Arc<Entry>, relay: &Relay<'_>) -> Result<u32, FrameRefusal> {
        let (field, id) = call_name(relay);
        let name = id.as_deref().map(|id| (entry.id.clone(), Box::from(id)));
        match name.as_ref().and_then(|name| self.outgoing.get(name)) {
            Some(key) => Ok(*key),
            None if entry.link().is_none() => Err(offline()),
            None if name.is_none() => {
                let text = format!("field {field:?} is missing: which call is answered?");
                Err(FrameRefusal::field(
                    field,
                    Failure::new(Reason::Invalid, text),
                ))
            }
            None => Err(unknown(field)),
        }
    }

    fn listen(&self, key: u32) {
        if let Some(PeerFeed::Reply(outgoing)) = self.flows.get(&key)
            && let OutboundState::Open(asking, _) = &outgoing.state
        {
            asking.gated(self.line.gate().clone());
            asking.listen(self.line.ready_handle(key));
        }
    }

    /// Starts a durable task for a message without an id, so that the message survives the connection. The
    /// sender gets the answer while the connection lasts.
    fn send_unnamed(&mut self, request: Request, thread: ReplyFrameWriter) -> Result<(), Failure> {
        let Some(registered) = &self.registered else {
            return Ok(());
        };
        let awaited = self.awaited.get_or_insert_default();
        awaited.check()?;
        let (hub, link) = (self.agora.hub.clone(), registered.link.clone());
        let starting = hub.clone();
        let mut task = Box::pin(async move { starting.tasks().start(request).await });
        let (begun, beginning) = oneshot::channel();
        let files = self.agora.files.clone();
        awaited.wait(beginning, thread.clone(), (hub, files), link.clone());
        // The first poll opens or refuses the call: here and now, so that messages keep their order. The rest
        // waits for the store, and the next poll registers a real waker.
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(result) = pin!(&mut task).poll(&mut context) {
            // The receiver may be gone with the connection.
            return result.map(|task| drop(begun.send(task)));
        }
        self.agora.tasks.spawn(async move {
            match task.await {
                Ok(task) => drop(begun.send(task)),
                // A sender that is gone needs no notice.
                Err(failure) => drop(link.mailbox.post(AgoraMail::Frame(thread.failed(&failure)))),
            }
        });
        Ok(())
    }
}

/// Returns the id by which a frame names an open call, and the field of that id.
fn call_name<'r>(relay: &'r Relay<'_>) -> (&'static str, Option<Cow<'r, str>>) {
    match (&relay.stream_id, &relay.request_id) {
        (Some(id), _) => ("stream_id", Some(Cow::Borrowed(id))),
        (None, Some(id)) => ("request_id", Some(Cow::Borrowed(id))),
        (None, None) => ("payload.request_id", relay.payload_request_id()),
    }
}

/// Ids allowed in a payload, with their names in error messages.
const PAYLOAD_IDS: [(&str, &str); 4] = [
    ("request_id", "payload.request_id"),
    ("session_id", "payload.session_id"),
    ("parent_request_id", "payload.parent_request_id"),
    ("ask_id", "payload.ask_id"),
];

/// Refuses an id that is not a string. Otherwise the id would be overlooked, and its sender would wait for an
/// answer in vain.
fn check_ids(payload: Option<&RawValue>) -> Result<(), FrameRefusal> {
    let members = payload.and_then(RawMembers::of).unwrap_or_default();
    let is_wrong = |name| members.get(name).is_some_and(|raw| !json::is_string(raw));
    match PAYLOAD_IDS.into_iter().find(|(name, _)| is_wrong(name)) {
        Some((_, field)) => {
            let text = format!("field {field:?} must be a string");
            Err(FrameRefusal::field(
                field,
                Failure::new(Reason::Invalid, text),
            ))
        }
        None => Ok(()),
    }
}

fn unknown(field: &'static str) -> FrameRefusal {
    FrameRefusal::field(field, ended(field))
}

fn in_stream(failure: Failure) -> FrameRefusal {
    let field = if failure.reason == Reason::TooLarge {
        "chunk"
    } else {
        "stream_id"
    };
    FrameRefusal::field(field, failure)
}
