//! Frames of a peer for other agents: relayed to Agora agents, turned into calls for agents of other doors,
//! or handled as the answer to a call.

use std::{pin::Pin, sync::Arc};

use jackfield_core::{entry::Entry, tap::Direction};
use jackfield_model::{AgentId, CallId, End, Failure, Reason};

use super::{AgoraSession, PeerFeed};
use crate::{
    DOOR,
    inbound_call::cancel_frame,
    link::AgoraLink,
    route::{NOT_READ, RelayRoute, RouteEnd, RouteError, is_answer},
    translate::{malformed_frame, refusal_frame, text_of, unreadable},
    wire::{AgoraUplink, CALL_PREFIX, Relay, RelayKind, downlink, parse_with},
};

/// Longest stream id. The id is stored while the stream is open, and returned unshortened in errors.
const MAX_STREAM_ID: usize = 128;
/// Hint for a reply to an unknown agent: the sender has probably answered the `caller`.
const REPLY_TO_FROM: &str = "; reply to the `from` of a message";
/// Number of routes above which stale routes are removed, each time the number has doubled.
const MANY_LANES: usize = 64;

/// A `register` in progress.
type RegisterFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A refused frame: the [`Failure`], and the wrong field.
#[derive(Debug)]
pub(super) struct FrameRefusal {
    pub(super) failure: Failure,
    pub(super) field: Option<&'static str>,
}

impl FrameRefusal {
    pub(super) fn field(field: &'static str, failure: Failure) -> Self {
        Self {
            failure,
            field: Some(field),
        }
    }
}

impl From<Failure> for FrameRefusal {
    fn from(failure: Failure) -> Self {
        let field = (failure.reason == Reason::Offline).then_some("to");
        Self { failure, field }
    }
}

impl AgoraSession {
    /// Handles a frame. Only registering waits; boxed, so that an idle connection reserves no memory for the
    /// future.
    pub(super) fn on_text<'a>(&'a mut self, text: &'a str) -> Option<RegisterFuture<'a>> {
        if self.agora.hub.taps().want_frames() {
            self.show_frame(Direction::In, text);
        }
        match parse_with(text, &self.agora.wire_limits) {
            Ok(AgoraUplink::Relay(relay)) => self.on_relay(&relay),
            Ok(AgoraUplink::Register(register)) => {
                self.wake_receiver();
                return Some(Box::pin(self.on_register(register)));
            }
            Ok(AgoraUplink::List(list)) => self.on_list(&list),
            Ok(AgoraUplink::Ping) => self.queue(&downlink::pong()),
            Err(malformed) => {
                self.agora.hub.metrics().refused(DOOR);
                let frame = malformed_frame(&malformed);
                self.queue(&frame);
                if let Some(to) = &malformed.to {
                    self.fail_answer(to, &malformed.to_string());
                }
            }
        }
        None
    }

    fn on_relay(&mut self, relay: &Relay<'_>) {
        if let Err(FrameRefusal { failure, field }) = self.route(relay) {
            let frame = refusal_frame(relay, &failure, field);
            self.queue(&frame);
            self.fail_answer(
                &relay.to,
                &format!("{}: {}", relay.kind.name(), failure.text),
            );
        }
    }

    /// Fails a call after a refused frame about it, and asks the agent to stop. Without the frame the answer
    /// would look complete, or never end.
    fn fail_answer(&mut self, address: &str, why: &str) {
        if let Some((served, key)) = self.served.remove(address) {
            self.flows.remove(&key);
            let cancel = cancel_frame(served.serving().call());
            served.finish(End::Failed(unreadable(why)));
            self.queue(&cancel);
        }
    }

    /// Routes a frame to the address of a call, an Agora agent, or an agent of a different door.
    fn route(&mut self, relay: &Relay<'_>) -> Result<(), FrameRefusal> {
        let Some(registered) = &self.registered else {
            let text = "register first: send {\"type\":\"register\",\"id\":…}";
            return Err(Failure::new(Reason::Unauthorized, text).into());
        };
        if relay
            .stream_id
            .as_ref()
            .is_some_and(|id| id.len() > MAX_STREAM_ID)
        {
            let text = format!("field \"stream_id\" may have at most {MAX_STREAM_ID} bytes");
            return Err(FrameRefusal::field(
                "stream_id",
                Failure::new(Reason::Invalid, text),
            ));
        }
        // A message in progress continues, as calls do.
        if relay.kind == RelayKind::Send {
            registered.account.check()?;
        }
        self.choose_recent(&relay.to);
        if let Some((to, lane)) = &self.recent
            && **to == *relay.to
            && lane.is_current()
        {
            self.is_unwoken = true;
            match lane.relay(relay) {
                Err(RouteError::Ended) => {}
                result => return self.after_relay(lane, relay, result),
            }
        }
        if relay.to.starts_with(CALL_PREFIX) {
            return self.answer_call(relay);
        }
        self.find_route(relay)
    }

    /// Makes the route to an agent the most recent one, if frames were relayed to the agent before. Wakes the
    /// receiver of the route that was the most recent one before.
    fn choose_recent(&mut self, to: &str) {
        if self.recent.as_ref().is_none_or(|(last, _)| **last != *to)
            && let Some(lane) = self.lanes.get(to).cloned()
        {
            self.set_recent(to, lane);
        }
    }

    fn set_recent(&mut self, to: &str, lane: Arc<RelayRoute>) {
        self.wake_receiver();
        self.recent = Some((to.into(), lane));
    }

    /// Looks up an agent, checks the permission to call, and remembers the [`RelayRoute`] to an Agora agent.
    fn find_route(&mut self, relay: &Relay<'_>) -> Result<(), FrameRefusal> {
        self.wake_receiver();
        self.recent = None;
        let Some(registered) = &self.registered else {
            return Ok(());
        };
        let stale = self.lanes.remove(&*relay.to);
        if let Some(stale) = &stale {
            stale.sender_left();
        }
        let nobody = || {
            let mut failure = Failure::no_such_agent(&relay.to);
            if relay.kind.is_reply() {
                failure.text.to_mut().push_str(REPLY_TO_FROM);
            }
            FrameRefusal::field("to", failure)
        };
        // UUIDs match in either case; an invalid id matches no agent.
        let to = AgentId::parse(&relay.to).map_err(|_| nobody())?;
        let found = self
            .agora
            .hub
            .agents()
            .find(&registered.principal, to.as_str());
        let (entry, answers_only) = match found {
            Ok(entry) => (entry, false),
            // The sender of a message can be answered, even if a call to the sender would be refused.
            Err(_) if is_answer(relay.kind) => (self.sender_of(&to).ok_or_else(nobody)?, true),
            Err(_) => return Err(nobody()),
        };
        // The generation first: if the link changes in between, the route is stale from the start.
        let generation = entry.generation();
        let link = entry.link();
        let Some(receiver) = link.as_deref().and_then(AgoraLink::behind) else {
            return self.call_other_door(relay, &entry);
        };
        let sender = RouteEnd {
            entry: registered.entry().clone(),
            link: Arc::downgrade(&registered.link),
        };
        let receiver = RouteEnd {
            entry,
            link: Arc::downgrade(&receiver),
        };
        let shared = self.agora.hub.shared();
        let lane = RelayRoute::open(
            sender,
            receiver,
            generation,
            answers_only,
            stale.as_deref(),
            self.line.gate(),
            shared,
        )
        .ok_or_else(offline)?;
        self.drop_stale_routes();
        let result = lane.relay(relay);
        self.lanes.insert(Box::from(&*relay.to), lane.clone());
        self.set_recent(&relay.to, lane.clone());
        self.is_unwoken = true;
        self.after_relay(&lane, relay, result)
    }

    /// Returns the agent with this id that has an open route to this connection.
    fn sender_of(&self, id: &AgentId) -> Option<Arc<Entry>> {
        self.flows.values().find_map(|flow| match flow {
            PeerFeed::Lane(lane) if lane.sender.entry.id == *id => Some(lane.sender.entry.clone()),
            PeerFeed::Lane(_) | PeerFeed::Input(_) | PeerFeed::Reply(_) => None,
        })
    }

    fn after_relay(
        &self,
        lane: &RelayRoute,
        relay: &Relay<'_>,
        result: Result<(), RouteError>,
    ) -> Result<(), FrameRefusal> {
        let Err(no_way) = result else {
            let (from, to) = (&lane.sender.entry, &lane.receiver.entry);
            let taps = self.agora.hub.taps();
            taps.see_relayed(from, to, relay.kind.name(), || text_of(relay));
            return Ok(());
        };
        Err(match no_way {
            RouteError::Ended => offline(),
            RouteError::Overrun => {
                self.agora.hub.metrics().overrun();
                Failure::new(Reason::SlowReader, NOT_READ).into()
            }
            RouteError::Busy => {
                let text = "too many open streams to this agent; end some first";
                Failure::new(Reason::Busy, text).into()
            }
            RouteError::Late => {
                self.agora.hub.metrics().late_event();
                return Ok(());
            }
            RouteError::AnswersOnly => FrameRefusal::field("to", Failure::no_such_agent(&relay.to)),
        })
    }

    /// Removes routes to agents that have left from time to time, so that stale routes do not pile up.
    fn drop_stale_routes(&mut self) {
        if self.lanes.len() >= MANY_LANES && self.lanes.len().is_power_of_two() {
            self.lanes.retain(|_, lane| {
                let is_current = lane.is_current();
                if !is_current {
                    lane.sender_left();
                }
                is_current
            });
        }
    }

    /// Handles a frame about a call that the agent works on.
    fn answer_call(&mut self, relay: &Relay<'_>) -> Result<(), FrameRefusal> {
        let Some((served, key)) = self.served.get_mut(&*relay.to) else {
            // Frames after the end of a call are dropped; the agent may not know about the end yet.
            return match CallId::parse(&relay.to[CALL_PREFIX.len()..]) {
                Some(call) => {
                    tracing::debug!(%call, kind = relay.kind.name(), "a frame came after the end of its call");
                    self.agora.hub.metrics().late_event();
                    Ok(())
                }
                None => Err(FrameRefusal::field(
                    "to",
                    Failure::new(Reason::NotFound, "no such call"),
                )),
            };
        };
        let taken = served.on_frame(relay);
        if let Some(end) = taken.map_err(|(field, failure)| FrameRefusal::field(field, failure))? {
            let key = *key;
            self.flows.remove(&key);
            if let Some((served, _)) = self.served.remove(&*relay.to) {
                served.finish(end);
            }
        }
        Ok(())
    }
}

pub(super) fn offline() -> FrameRefusal {
    FrameRefusal::field("to", Failure::agent_offline())
}
