//! What a registered agent sends: pieces and ends of its answers, signs of life, questions for others.

use jackfield_core::{
    event::Message,
    failure::{Failure, Reason},
    hub::{Parent, Request, Wanted},
    id::{AgentId, CallId, RequestId, SessionId},
};
use jackfield_wire::bridge::{
    Malformed, Uplink,
    downlink::{self, HTTP_CALLER, HubError},
    parse,
    uplink::{CallAgent, DiscoverAgents, Heartbeat, RtcSignal},
};

use tokio::time::Instant;

use super::{Flow, Session, malformed_end};
use crate::{
    DOOR,
    calling::{Calling, error_frame},
    failure::code,
    signals,
    translate::entry_from_view,
};

/// How many agents `discover_agents` lists if it does not say, and at most.
const DISCOVERED: (usize, usize) = (20, 200);

impl Session {
    pub(super) fn on_frame(&mut self, text: &str) {
        let limits = self.bridge.wire_limits;
        match parse(text, &limits) {
            Ok(uplink) => self.on_uplink(uplink),
            Err(malformed) => self.on_malformed(&malformed),
        }
    }

    fn on_uplink(&mut self, uplink: Uplink<'_>) {
        match uplink {
            // A frame about a request that is not (or no longer) this agent's is counted and ignored: the protocol
            // has no frame to say it.
            Uplink::Chunk(chunk) => match self.served.get(&*chunk.request_id) {
                Some(served) => served.chunk(&chunk),
                None => self.bridge.hub.metrics().refused(DOOR),
            },
            Uplink::Artifact(artifact) => match self.served.get(&*artifact.request_id) {
                Some(served) => served.artifact(&artifact),
                None => self.bridge.hub.metrics().refused(DOOR),
            },
            Uplink::Ask(ask) => match self.served.get(&*ask.request_id) {
                Some(served) => served.ask(&ask),
                None => self.bridge.hub.metrics().refused(DOOR),
            },
            Uplink::Done(done) => {
                if let Some(served) = self.release(&done.request_id) {
                    served.done(&done);
                }
            }
            Uplink::Error(error) => {
                if let Some(served) = self.release(&error.request_id) {
                    served.error(&error);
                }
            }
            Uplink::Heartbeat(heartbeat) => self.on_heartbeat(heartbeat),
            Uplink::DiscoverAgents(discover) => self.on_discover(&discover),
            Uplink::CallAgent(call) => self.on_call(&call),
            Uplink::RtcSignal(signal) => self.on_signal(&signal),
            // As the original does, so that older and newer agents keep working.
            Uplink::Register(_) | Uplink::Unknown(_) => self.bridge.hub.metrics().refused(DOOR),
        }
    }

    fn release(&mut self, request: &str) -> Option<crate::served::Served> {
        let served = self.served.remove(request);
        match &served {
            Some(served) => drop(self.flows.remove(&served.key)),
            None => self.bridge.hub.metrics().refused(DOOR),
        }
        served
    }

    /// Says what was wrong. An end that cannot be read is an end all the same, and a call that cannot be read fails.
    fn on_malformed(&mut self, malformed: &Malformed) {
        self.bridge.hub.metrics().refused(DOOR);
        let kind = malformed.frame_type.as_deref();
        if matches!(kind, Some("done" | "error"))
            && let Some(request) = malformed.request_id.as_deref()
            && let Some(served) = self.release(request)
        {
            served.fail(malformed_end(&malformed.problem));
        }
        if kind == Some("call_agent")
            && let Some(call_id) = malformed.call_id.as_deref()
        {
            let failure = Failure::new(Reason::Invalid, malformed.to_string());
            self.queue(&error_frame(call_id, &failure));
            return;
        }
        self.queue(&malformed.to_frame());
    }

    fn on_heartbeat(&mut self, heartbeat: Heartbeat) {
        if let Some(registered) = &self.registered {
            self.bridge
                .note_heartbeat(&registered.link.id, heartbeat.active_sessions);
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
        let mut views = self.bridge.hub.discover(
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
            self.queue(&error_frame(&call_id, &failure));
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
        if self.calling.contains_key(call_id) {
            return Err(Failure::new(
                Reason::Conflict,
                "a call with this call_id is open already",
            ));
        }
        let message = Message::text(call.task_description.as_ref());
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
        let asking = self.bridge.hub.call(request)?;
        let key = self.new_key();
        asking.gated(self.line.gate().clone());
        asking.listen(self.line.rope(key));
        self.calling.insert(call_id.to_owned(), key);
        self.flows.insert(
            key,
            Flow::Reply(Box::new(Calling::new(call_id.to_owned(), asking))),
        );
        Ok(())
    }

    fn on_signal(&mut self, signal: &RtcSignal<'_>) {
        let Some(registered) = &self.registered else {
            return;
        };
        let from = &registered.link.id;
        let is_passed_on = if signal.target_agent_id == HTTP_CALLER {
            self.bridge.signals.push(from, signal, Instant::now())
        } else {
            signals::relay(&self.bridge.hub, &registered.principal, from, signal).is_ok()
        };
        if !is_passed_on {
            let failure = Failure::agent_offline();
            let error = downlink::error(&HubError {
                code: code(&failure.reason).name().into(),
                message: failure.text.as_ref().into(),
                field: Some("target_agent_id".into()),
                frame_type: Some("rtc_signal".into()),
                ..HubError::default()
            });
            self.queue(&error);
        }
    }
}
