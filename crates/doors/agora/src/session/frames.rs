//! What a registered peer sends to others: relayed to Agora agents, made into calls for agents of other doors, or
//! taken as the answer to a call.

use jackfield_core::{
    call::Asking,
    entry::Entry,
    event::Message,
    failure::{Failure, Reason},
    hub::{Parent, Request},
    id::{AgentId, CallId, RequestId, SessionId},
};
use jackfield_wire::agora::{Relay, RelayKind, Uplink, downlink, parse_with, query_of};
use std::sync::Arc;

use super::{Flow, Leave, Session};
use crate::{
    DOOR,
    lane::Lane,
    link::{AgoraLink, Mail},
    outgoing::{Outgoing, State},
    translate::{
        CALL_PREFIX, Thread, answer_from_payload, malformed_frame, message_from_query, refusal,
    },
};

/// The longest stream id: it is kept while the stream is open, and comes back whole in errors.
const MAX_STREAM_ID: usize = 128;

impl Session {
    pub(super) async fn on_frame(&mut self, text: &str) -> Option<Leave> {
        match parse_with(text, &self.agora.wire_limits) {
            Ok(Uplink::Relay(relay)) => self.on_relay(&relay),
            Ok(Uplink::Register(register)) => self.on_register(register).await,
            Ok(Uplink::List(list)) => self.on_list(&list),
            Ok(Uplink::Ping) => self.queue(&downlink::pong()),
            Err(malformed) => {
                self.agora.hub.metrics().refused(DOOR);
                let frame = malformed_frame(&malformed);
                self.queue(&frame);
            }
        }
        None
    }

    fn on_relay(&mut self, relay: &Relay<'_>) {
        if let Err(failure) = self.route(relay) {
            let frame = refusal(relay, &failure);
            self.queue(&frame);
        }
    }

    /// Where a frame goes: the address of a call, an Agora agent, or an agent of another door.
    fn route(&mut self, relay: &Relay<'_>) -> Result<(), Failure> {
        let Some(registered) = &self.registered else {
            let text = "register first: send {\"type\":\"register\",\"id\":…}";
            return Err(Failure::new(Reason::Unauthorized, text));
        };
        if relay
            .stream_id
            .as_ref()
            .is_some_and(|id| id.len() > MAX_STREAM_ID)
        {
            let text = format!("field \"stream_id\" may have at most {MAX_STREAM_ID} bytes");
            return Err(Failure::new(Reason::Invalid, text));
        }
        if let Some(lane) = self.lanes.get(&*relay.to)
            && lane.is_current()
        {
            return relay_by(&lane.clone(), registered.link.id.as_str(), relay);
        }
        if relay.to.starts_with(CALL_PREFIX) {
            return self.answer_call(relay);
        }
        self.find_way(relay)
    }

    /// Looks up an agent, checks that it may be called, and remembers the way if it is an Agora agent.
    fn find_way(&mut self, relay: &Relay<'_>) -> Result<(), Failure> {
        let Some(registered) = &self.registered else {
            return Ok(());
        };
        if let Some(stale) = self.lanes.remove(&*relay.to) {
            stale.sender_left(registered.link.id.as_str());
        }
        // UUIDs are one id in either case; anything that is no id is nobody's.
        let to = AgentId::parse(&relay.to).map_err(|_| Failure::no_such_agent(&relay.to))?;
        let entry = self.agora.hub.find(&registered.principal, to.as_str())?;
        let generation = entry.generation();
        let link = entry.link();
        let Some(receiver) = link.as_deref().and_then(AgoraLink::behind) else {
            return self.call_other_door(relay, &entry);
        };
        let shared = self.agora.hub.shared();
        let lane = Lane::open(
            &registered.link,
            &receiver,
            &entry,
            generation,
            &self.gate,
            shared,
        )
        .ok_or_else(Failure::agent_offline)?;
        self.lanes.insert(Box::from(&*relay.to), lane.clone());
        relay_by(&lane, registered.link.id.as_str(), relay)
    }

    /// A frame about a call that this agent works on.
    fn answer_call(&mut self, relay: &Relay<'_>) -> Result<(), Failure> {
        let Some((address, (served, key))) = self.served.remove_entry(&*relay.to) else {
            // What comes after the end of a call is dropped; the agent may not have heard of the end yet.
            return match CallId::parse(&relay.to[CALL_PREFIX.len()..]) {
                Some(_) => Ok(()),
                None => Err(Failure::new(Reason::NotFound, "no such call")),
            };
        };
        match served.take(relay) {
            Ok(Some(served)) => {
                self.served.insert(address, (served, key));
                Ok(())
            }
            Ok(None) => {
                self.flows.remove(&key);
                Ok(())
            }
            Err((served, failure)) => {
                self.served.insert(address, (served, key));
                Err(failure)
            }
        }
    }

    /// A frame for an agent of another door, or one that is offline.
    fn call_other_door(&mut self, relay: &Relay<'_>, entry: &Arc<Entry>) -> Result<(), Failure> {
        let stream_id = relay.stream_id.as_deref();
        match relay.kind {
            RelayKind::Send => self.start_call(relay, entry),
            RelayKind::SendChunk => {
                let text = relay.chunk_text().unwrap_or_default();
                let max = self.agora.hub.limits().message.0;
                let result = self.open_call(relay, stream_id)?.1.say(&text, max);
                if result.is_err() {
                    self.drop_call(relay, stream_id);
                }
                result
            }
            RelayKind::SendEnd => {
                let (key, outgoing) = self.open_call(relay, stream_id)?;
                let Some(request) = outgoing.complete()? else {
                    return Ok(());
                };
                match self.agora.hub.call(request) {
                    Ok(asking) => {
                        self.bind(key, asking, false);
                        Ok(())
                    }
                    Err(failure) => {
                        self.drop_call(relay, stream_id);
                        Err(failure)
                    }
                }
            }
            RelayKind::Cancel => {
                let request_id = relay.request_id.as_deref();
                let matched = if stream_id.is_some() {
                    stream_id
                } else {
                    request_id
                };
                let (key, _) = self.open_call(relay, matched)?;
                if let Some(Flow::Reply(outgoing)) = self.flows.get(&key)
                    && let State::Open(asking, _) = &outgoing.state
                    && let Some(registered) = &self.registered
                {
                    // The end of the call comes back through its pipe.
                    return self
                        .agora
                        .hub
                        .cancel(&registered.principal, asking.call().id);
                }
                self.drop_call(relay, matched);
                Ok(())
            }
            RelayKind::Reply | RelayKind::ReplyChunk | RelayKind::ReplyEnd | RelayKind::Error => {
                let text =
                    "this agent sent you nothing to reply to; reply to the `from` of a message";
                Err(Failure::new(Reason::Invalid, text))
            }
        }
    }

    fn start_call(&mut self, relay: &Relay<'_>, entry: &Arc<Entry>) -> Result<(), Failure> {
        if let Some(payload) = relay.payload
            && let Some((ask_id, answer)) = answer_from_payload(payload)
        {
            let request_id = relay.any_request_id();
            let matched = relay.stream_id.as_deref().or(request_id.as_deref());
            let call = match &self.open_call(relay, matched)?.1.state {
                State::Open(asking, _) => asking.call().id,
                State::Joining(..) => return Err(unknown_stream()),
            };
            let Some(registered) = &self.registered else {
                return Ok(());
            };
            return self
                .agora
                .hub
                .answer(&registered.principal, call, &ask_id, answer);
        }
        let Some(registered) = &self.registered else {
            return Ok(());
        };
        let query = query_of(relay.payload);
        let caller = registered.link.id.clone();
        let invalid = |field: &str| {
            Failure::new(
                Reason::Invalid,
                format!("field {field:?} must have 1 to 256 bytes"),
            )
        };
        let request_id = relay
            .request_id
            .clone()
            .map(String::from)
            .or_else(|| query.request_id.clone());
        let session_id = query.session_id.clone();
        let session = session_id
            .clone()
            .unwrap_or_else(|| format!("{caller}:{}", entry.id));
        let mut request = Request::new(
            registered.principal.clone(),
            DOOR,
            entry.id.clone(),
            Message::default(),
        );
        request.session =
            Some(SessionId::parse(&session).map_err(|_| invalid("payload.session_id"))?);
        if let Some(id) = &request_id {
            request.request =
                Some(RequestId::parse(id).map_err(|_| invalid("payload.request_id"))?);
        }
        if let Some(id) = &query.parent_request_id {
            request.parent = Parent::Request(
                RequestId::parse(id).map_err(|_| invalid("payload.parent_request_id"))?,
            );
        }
        request.message = message_from_query(query);
        let Some(stream_id) = relay.stream_id.as_deref().or(request_id.as_deref()) else {
            self.send_and_forget(request);
            return Ok(());
        };
        let keys = self.call_keys(relay, request_id.as_deref());
        if keys.iter().any(|key| self.outgoing.contains_key(key)) {
            let text = "a call with this stream_id or request_id is open already; use a new id";
            return Err(Failure::new(Reason::Conflict, text));
        }
        let thread = Thread {
            from: relay.to.to_string(),
            stream_id: relay
                .stream_id
                .as_deref()
                .map_or_else(|| stream_id.to_owned(), str::to_owned),
            request_id,
            session_id,
        };
        let joins = relay.stream && !entry.link().is_some_and(|link| link.takes_streamed_input());
        let key = self.new_key();
        if joins {
            // The agent is looked up again when the message is complete; that it is there now is checked at once.
            entry.link().ok_or_else(Failure::agent_offline)?;
            let outgoing = Outgoing::new(thread, State::Joining(Box::new(request), String::new()));
            self.flows.insert(key, Flow::Reply(Box::new(outgoing)));
        } else {
            request.streamed = relay.stream;
            let asking = self.agora.hub.call(request)?;
            let outgoing = Outgoing::new(thread, State::Open(asking, relay.stream));
            self.flows.insert(key, Flow::Reply(Box::new(outgoing)));
            self.listen(key);
        }
        self.outgoing
            .extend(keys.into_iter().map(|name| (name, key)));
        Ok(())
    }

    /// The names under which a call is found again: its agent with its stream, and with its request.
    fn call_keys(&self, relay: &Relay<'_>, request_id: Option<&str>) -> Vec<(Box<str>, Box<str>)> {
        let ids = relay.stream_id.as_deref().into_iter().chain(request_id);
        let mut keys: Vec<_> = ids
            .map(|id| (Box::from(&*relay.to), Box::from(id)))
            .collect();
        keys.dedup();
        keys
    }

    fn open_call(
        &mut self,
        relay: &Relay<'_>,
        id: Option<&str>,
    ) -> Result<(u32, &mut Outgoing), Failure> {
        let id = id.ok_or_else(unknown_stream)?;
        let key = *self
            .outgoing
            .get(&(Box::from(&*relay.to), Box::from(id)))
            .ok_or_else(unknown_stream)?;
        match self.flows.get_mut(&key) {
            Some(Flow::Reply(outgoing)) => Ok((key, outgoing)),
            _ => Err(unknown_stream()),
        }
    }

    fn drop_call(&mut self, relay: &Relay<'_>, id: Option<&str>) {
        if let Ok((key, _)) = self.open_call(relay, id) {
            self.flows.remove(&key);
            self.outgoing.retain(|_, flow| *flow != key);
        }
    }

    fn bind(&mut self, key: u32, asking: Asking, more: bool) {
        if let Some(Flow::Reply(outgoing)) = self.flows.get_mut(&key) {
            outgoing.state = State::Open(asking, more);
        }
        self.listen(key);
    }

    fn listen(&self, key: u32) {
        if let Some(Flow::Reply(outgoing)) = self.flows.get(&key)
            && let State::Open(asking, _) = &outgoing.state
        {
            asking.gated(self.gate.clone());
            asking.listen(self.bell.rope(key));
        }
    }

    /// A message that nobody waits for: kept, so that it is not lost with this connection.
    fn send_and_forget(&self, request: Request) {
        let Some(registered) = &self.registered else {
            return;
        };
        let (hub, link) = (self.agora.hub.clone(), registered.link.clone());
        self.agora.tasks.spawn(async move {
            let to = request.target.to_string();
            if let Err(failure) = hub.start_task(request).await {
                let thread = Thread {
                    from: to,
                    ..Thread::default()
                };
                // A sender that is gone does not want to know.
                drop(link.post(Mail::Frame(thread.failed(&failure))));
            }
        });
    }
}

fn unknown_stream() -> Failure {
    let text = "field \"stream_id\": this stream was never started or has already ended";
    Failure::new(Reason::Invalid, text)
}

fn relay_by(lane: &Arc<Lane>, from: &str, relay: &Relay<'_>) -> Result<(), Failure> {
    lane.relay(from, relay).map_err(|reason| match reason {
        Reason::SlowReader => {
            lane.overrun(from);
            Failure::new(
                Reason::SlowReader,
                "the receiver does not read fast enough; frames were dropped",
            )
        }
        Reason::Busy => Failure::new(
            Reason::Busy,
            "too many open streams to this agent; end some first",
        ),
        other => Failure::new(other, "the agent disconnected"),
    })
}
