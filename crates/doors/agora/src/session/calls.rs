//! Frames for agents of other doors: they open calls, go on with them and cancel them.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use jackfield_core::{
    entry::Entry,
    event::Message,
    failure::{Failure, Reason},
    hub::{Parent, Request},
    id::{RequestId, SessionId},
};
use jackfield_wire::agora::{Query, Relay, RelayKind, query_of};

use super::{
    Flow, Session,
    frames::{Refused, offline},
};
use crate::{
    DOOR,
    link::Mail,
    outgoing::{Outgoing, State, ended},
    translate::{Thread, answer_from_payload, message_from_query},
};

impl Session {
    /// A frame for an agent of another door, or one that is offline.
    pub(super) fn call_other_door(
        &mut self,
        relay: &Relay<'_>,
        entry: &Arc<Entry>,
    ) -> Result<(), Refused> {
        let stream_id = relay.stream_id.as_deref();
        match relay.kind {
            RelayKind::Send => self.start_call(relay, entry),
            RelayKind::SendChunk => {
                let key = self.open_call(entry, stream_id)?;
                self.go_on(key, &relay.chunk_text().unwrap_or_default())
            }
            RelayKind::SendEnd => {
                let key = self.open_call(entry, stream_id)?;
                self.complete(key)
            }
            RelayKind::Cancel => {
                let key = self.open_call(entry, stream_id.or(relay.request_id.as_deref()))?;
                self.cancel_call(key);
                Ok(())
            }
            RelayKind::Reply | RelayKind::ReplyChunk | RelayKind::ReplyEnd | RelayKind::Error => {
                if entry.link().is_none() {
                    return Err(offline());
                }
                let text =
                    "this agent sent you nothing to reply to; reply to the `from` of a message";
                Err(Refused::field("to", Failure::new(Reason::Invalid, text)))
            }
        }
    }

    fn start_call(&mut self, relay: &Relay<'_>, entry: &Arc<Entry>) -> Result<(), Refused> {
        if self.is_answer_to_ask(relay, entry)? {
            return Ok(());
        }
        let query = query_of(relay.payload);
        let own_request = relay.request_id.as_deref().map(str::to_owned);
        let thread = Thread {
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
            return self.send_and_forget(request, thread).map_err(Into::into);
        }
        if names.iter().any(|name| self.outgoing.contains_key(name)) {
            let text = "a call with this stream_id or request_id is open already; use a new id";
            return Err(Failure::new(Reason::Conflict, text).into());
        }
        let joins = relay.stream && !entry.link().is_some_and(|link| link.takes_streamed_input());
        let key = self.line.new_key();
        if joins {
            // The agent is looked up again when the message is complete; that it is there now is checked at once.
            entry.link().ok_or_else(offline)?;
            let outgoing = Outgoing::new(thread, State::Joining(Box::new(request), String::new()));
            self.check_joining(outgoing.joining_weight())?;
            self.joining += outgoing.joining_weight();
            self.flows.insert(key, Flow::Reply(Box::new(outgoing)));
        } else {
            request.streamed = relay.stream;
            let asking = self.agora.hub.call(request)?;
            let outgoing = Outgoing::new(thread, State::Open(asking, relay.stream));
            self.flows.insert(key, Flow::Reply(Box::new(outgoing)));
            self.listen(key);
        }
        self.outgoing
            .extend(names.into_iter().map(|name| (name, key)));
        Ok(())
    }

    /// The call that a `send` asks for.
    fn request(
        &self,
        query: Query,
        thread: &Thread,
        entry: &Arc<Entry>,
    ) -> Result<Option<Request>, Refused> {
        let Some(registered) = &self.registered else {
            return Ok(None);
        };
        let invalid = |field: &'static str| {
            let text =
                format!("field {field:?} must have 1 to 256 bytes, none a control character");
            Refused::field(field, Failure::new(Reason::Invalid, text))
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
        request.request = request_id("request_id", &thread.request_id)?;
        if let Some(parent) = request_id("payload.parent_request_id", &query.parent_request_id)? {
            request.parent = Parent::Request(parent);
        }
        request.message = message_from_query(query);
        Ok(Some(request))
    }

    /// Takes a `send` that answers a question of an open call; false if it is none.
    fn is_answer_to_ask(&mut self, relay: &Relay<'_>, entry: &Arc<Entry>) -> Result<bool, Refused> {
        let Some((ask_id, answer)) = relay.payload.and_then(answer_from_payload) else {
            return Ok(false);
        };
        let request_id = relay.any_request_id();
        let id = relay.stream_id.as_deref().or(request_id.as_deref());
        let key = self.open_call(entry, id)?;
        if let (Some(Flow::Reply(outgoing)), Some(registered)) =
            (self.flows.get(&key), &self.registered)
        {
            let State::Open(asking, _) = &outgoing.state else {
                return Err(unknown_stream());
            };
            let (principal, call) = (&registered.principal, asking.call().id);
            self.agora.hub.answer(principal, call, &ask_id, answer)?;
        }
        Ok(true)
    }

    /// More of a message.
    fn go_on(&mut self, key: u32, text: &str) -> Result<(), Refused> {
        let max = self.agora.hub.limits().message.0;
        let Some(Flow::Reply(outgoing)) = self.flows.get_mut(&key) else {
            return Ok(());
        };
        let is_joining = outgoing.joining_weight() > 0;
        let result = outgoing.say(text, max).map_err(in_stream);
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

    /// The message is complete: if it was being joined, the call is made now.
    fn complete(&mut self, key: u32) -> Result<(), Refused> {
        let Some(Flow::Reply(outgoing)) = self.flows.get_mut(&key) else {
            return Ok(());
        };
        let weight = outgoing.joining_weight();
        let Some(request) = outgoing.complete().map_err(in_stream)? else {
            return Ok(());
        };
        match self.agora.hub.call(request) {
            Ok(asking) => {
                self.joining -= weight;
                outgoing.state = State::Open(asking, false);
                self.listen(key);
                Ok(())
            }
            Err(failure) => {
                // What it was joined from is in the request; its weight goes with the flow.
                self.joining -= weight - outgoing.joining_weight();
                self.drop_flow(key);
                Err(failure.into())
            }
        }
    }

    fn cancel_call(&mut self, key: u32) {
        let Some(Flow::Reply(outgoing)) = self.flows.get(&key) else {
            return;
        };
        match (&outgoing.state, &self.registered) {
            (State::Open(asking, _), Some(registered)) => {
                // The end comes back through the pipe of the call: this one, or another that was faster.
                let call = asking.call().id;
                self.agora.hub.cancel(&registered.principal, call).ok();
            }
            _ => {
                let cancelled = Failure::new(Reason::Cancelled, "the call was cancelled");
                let frame = outgoing.thread.failed(&cancelled);
                self.drop_flow(key);
                self.queue(&frame);
            }
        }
    }

    /// Messages that are being joined are no pipe that could be full: together they may weigh as much as one message.
    fn check_joining(&self, more: usize) -> Result<(), Refused> {
        let max = self.agora.hub.limits().message.0;
        if self.joining + more <= max {
            return Ok(());
        }
        let text = format!("messages that wait for their end hold {max} bytes; end one first");
        Err(Failure::new(Reason::Busy, text).into())
    }

    /// The flow of an open call, by its stream or request.
    fn open_call(&self, entry: &Arc<Entry>, id: Option<&str>) -> Result<u32, Refused> {
        let name = id.map(|id| (entry.id.clone(), Box::from(id)));
        match name.and_then(|name| self.outgoing.get(&name)) {
            Some(key) => Ok(*key),
            None if entry.link().is_none() => Err(offline()),
            None => Err(unknown_stream()),
        }
    }

    fn listen(&self, key: u32) {
        if let Some(Flow::Reply(outgoing)) = self.flows.get(&key)
            && let State::Open(asking, _) = &outgoing.state
        {
            asking.gated(self.line.gate().clone());
            asking.listen(self.line.rope(key));
        }
    }

    /// A message that nobody waits for: kept, so that it is not lost with this connection.
    fn send_and_forget(&self, request: Request, thread: Thread) -> Result<(), Failure> {
        let Some(registered) = &self.registered else {
            return Ok(());
        };
        let (hub, link) = (self.agora.hub.clone(), registered.link.clone());
        let mut task = Box::pin(async move { hub.start_task(request).await.map(drop) });
        // The first step opens the call, or refuses it: here and now, so that messages keep their order. The rest
        // waits for the store; whoever polls next sets a waker of its own.
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(result) = pin!(&mut task).poll(&mut context) {
            return result;
        }
        self.agora.tasks.spawn(async move {
            if let Err(failure) = task.await {
                // A sender that is gone does not want to know.
                drop(link.mailbox.post(Mail::Frame(thread.failed(&failure))));
            }
        });
        Ok(())
    }
}

fn unknown_stream() -> Refused {
    in_stream(ended())
}

fn in_stream(failure: Failure) -> Refused {
    let field = if failure.reason == Reason::TooLarge {
        "chunk"
    } else {
        "stream_id"
    };
    Refused::field(field, failure)
}
