//! The loop of one agent's connection: registering, working on calls, calling other agents, and leaving.

mod acks;
mod frames;
mod lost;
mod pauses;
mod profile;
mod register;
mod resume;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use jackfield_core::{
    call::AgentHandle, entry::Entry, hub::Attached, principal::Principal, tap::Direction,
};
use jackfield_kit::{
    mailbox::MAILBOX,
    ws::WsError,
    ws_connection::{WsConnection, WsConnectionEnd, WsConnectionEvent},
};
use jackfield_model::{Failure, Reason};
use jackfield_wire::bridge::{
    BridgeErrorCode, MalformedFrame, RegisterRefusal,
    downlink::{self, HubError},
};
use rustc_hash::FxHashMap;
use tokio::time::{Instant, timeout_at};

use self::{acks::PendingAcks, lost::LostConnection, pauses::SessionPauses};
use crate::{
    DOOR,
    door::Bridge,
    lineage::Lineage,
    link::{BridgeLink, BridgeMail},
    served_request::{ServedRequest, cancel_frame},
    signals::for_observers,
};

/// Error text for a binary frame.
const BINARY: &str = "binary frame; send JSON as a text frame";

/// A source whose data the connection writes to its agent.
#[derive(Debug)]
enum AgentFeed {
    /// Further input of a call that the agent works on, by request.
    Input(String),
    /// The reply to a call that the agent made, by its id.
    Reply(Arc<str>),
}

/// The state of a registered connection.
#[derive(Debug)]
struct BridgeRegistration {
    attached: Attached,
    link: Arc<BridgeLink>,
    /// [`Principal`] of the connection, acting as its agent.
    principal: Principal,
    lineage: Arc<Lineage>,
    /// Number of the connection in its [`Lineage`].
    reader: u64,
}

impl BridgeRegistration {
    fn entry(&self) -> &Arc<Entry> {
        self.attached.entry()
    }
}

/// The session of one agent's connection, on top of a [`WsConnection`].
#[derive(Debug)]
pub(crate) struct BridgeAgentSession {
    bridge: Arc<Bridge>,
    line: WsConnection,
    /// Agent id in the URL, which `register` must repeat.
    url_id: Option<String>,
    registered: Option<Box<BridgeRegistration>>,
    flows: FxHashMap<u32, AgentFeed>,
    /// Calls that the agent works on, by request.
    served: HashMap<String, ServedRequest>,
    /// Whether the agent was told to stop a call: a frame without a request id may be about the stopped call.
    has_stopped: bool,
    /// Items that a resumed connection writes before its mail.
    first: VecDeque<BridgeMail>,
    acks: PendingAcks,
    /// Requests delayed ([`SessionPauses`]) because the previous request of their session ended just now; only for
    /// agents without
    /// `meta`.
    pauses: SessionPauses,
    /// Maximum size of a frame from the agent.
    frame_max: usize,
}

impl BridgeAgentSession {
    /// Creates the session of an unregistered connection.
    pub(crate) fn new(bridge: Arc<Bridge>, line: WsConnection, url_id: Option<String>) -> Self {
        let pauses = SessionPauses::new(bridge.limits.session_pause.0);
        let frame_max = line.limits().frame.0;
        Self {
            bridge,
            line,
            url_id,
            registered: None,
            flows: FxHashMap::default(),
            served: HashMap::new(),
            has_stopped: false,
            first: VecDeque::new(),
            acks: PendingAcks::default(),
            pauses,
            frame_max,
        }
    }

    /// Runs the connection until its end. By reference, because a task that takes a session by value holds it
    /// twice.
    pub(crate) async fn run(&mut self) {
        let leave = self.run_until_end().await;
        self.leave(leave);
        self.line.close(leave).await;
    }

    async fn run_until_end(&mut self) -> WsConnectionEnd {
        loop {
            let left = match self.next().await {
                None => {
                    self.on_due();
                    None
                }
                Some(step) => self.on_step(step).await,
            };
            if let Some(leave) = left.or_else(|| self.take_mail()) {
                return leave;
            }
        }
    }

    async fn on_step(&mut self, step: WsConnectionEvent) -> Option<WsConnectionEnd> {
        match step {
            WsConnectionEvent::Text(text) => self.on_text(&text).await,
            WsConnectionEvent::Binary => {
                self.on_binary();
                None
            }
            WsConnectionEvent::Rang(MAILBOX) => None,
            WsConnectionEvent::Rang(key) => {
                self.write_feed(key);
                None
            }
            WsConnectionEvent::Look => None,
            WsConnectionEvent::Broken(error) => Some(self.on_broken(&error)),
            WsConnectionEvent::Over(leave) => Some(leave),
        }
    }

    /// Waits for the next [`WsConnectionEvent`]; returns `None` if acknowledgements or a delayed request are due first.
    async fn next(&mut self) -> Option<WsConnectionEvent> {
        // A busy socket takes no request. Once the socket is free, `WsConnection::next` returns, and the request is
        // taken with the mail.
        let request = self.pauses.due().filter(|_| !self.line.is_busy());
        match self.acks.due().into_iter().chain(request).min() {
            None => Some(self.line.next().await),
            Some(due) if due <= Instant::now() => None,
            Some(due) => timeout_at(due, self.line.next()).await.ok(),
        }
    }

    /// Sends the acknowledgements that are due. Delayed requests are taken with the mail.
    fn on_due(&mut self) {
        if self.acks.due().is_some_and(|due| due <= Instant::now()) {
            self.write_acks();
        }
    }

    /// Sends the pending [`PendingAcks`], after which the agent may drop its frames.
    fn write_acks(&mut self) {
        for (request, seq) in self.acks.take() {
            self.queue(&downlink::ack(request.as_str(), seq));
        }
    }

    /// Answers a binary frame with an error. No published client sends binary frames, but the sender would
    /// wait for an answer.
    fn on_binary(&mut self) {
        self.bridge.hub.metrics().refused(DOOR);
        self.queue(&downlink::error(&HubError {
            code: BridgeErrorCode::InvalidMessage.name().into(),
            message: BINARY.into(),
            ..HubError::default()
        }));
    }

    /// Ends the connection after an error of the agent. Waiting callers get the reason as a [`Failure`].
    fn on_broken(&mut self, error: &WsError) -> WsConnectionEnd {
        self.bridge.hub.metrics().refused(DOOR);
        if let WsError::TooLarge { limit, .. } = error {
            let text = format!(
                "the agent sent a frame larger than {limit} bytes, and its connection was closed; an agent should send a \
                 large answer as chunks"
            );
            for (_, served) in self.served.drain() {
                let reason = Reason::Agent("internal_error".to_owned());
                served.fail(Failure::new(reason, text.clone()));
            }
        }
        error.into()
    }

    /// Raises the frame limit for an agent that streamed `streamed_bytes` bytes of text, because its end may repeat all
    /// of them.
    fn raise_frame_limit(&mut self, said: usize) {
        let frame = self.line.limits().frame.0;
        let max = self.bridge.limits.frame_of_end.0;
        if said + frame / 2 <= self.frame_max {
            return;
        }
        // Some more than needed now, so that few chunks change the limit.
        let larger = (said + frame).min(max);
        if larger > self.frame_max {
            self.frame_max = larger;
            self.line.set_max_frame(larger);
        }
    }

    /// Lowers the frame limit to the needs of the agent's open requests.
    fn lower_frame_limit(&mut self) {
        let frame = self.line.limits().frame.0;
        if self.frame_max > frame {
            self.frame_max = frame;
            self.line.set_max_frame(frame);
            let said = self
                .served
                .values()
                .map(ServedRequest::streamed_bytes)
                .max();
            self.raise_frame_limit(said.unwrap_or(0));
        }
    }

    /// Queues a frame for the agent.
    fn queue(&mut self, frame: &str) {
        if self.bridge.hub.taps().want_frames() {
            self.show(Direction::Out, frame);
        }
        self.line.queue(frame);
    }

    fn show(&self, direction: Direction, frame: &str) {
        if let Some(registered) = &self.registered {
            let taps = self.bridge.hub.taps();
            taps.see_frame(registered.entry(), direction, || {
                for_observers(frame).into()
            });
        }
    }

    fn write_feed(&mut self, key: u32) {
        match self.flows.get(&key) {
            // The flow ended before its notification was handled.
            None => {}
            Some(AgentFeed::Input(request)) => {
                let mut frames = Vec::new();
                if let Some(served) = self.served.get(request) {
                    served.input_frames(&mut frames);
                }
                for frame in frames {
                    self.queue(&frame);
                }
            }
            Some(AgentFeed::Reply(call_id)) => {
                let call_id = call_id.clone();
                if self.write_reply(&call_id) {
                    self.flows.remove(&key);
                }
            }
        }
    }

    /// Writes the available reply to a call that the agent made. Returns `true` once the reply is over.
    fn write_reply(&mut self, call_id: &Arc<str>) -> bool {
        let Some(registered) = &self.registered else {
            return true;
        };
        let (lineage, reader) = (registered.lineage.clone(), registered.reader);
        lineage.read(reader, call_id, |frame| self.queue(frame))
    }

    /// Starts reading the reply to a call that the agent made on this connection or on a previous one.
    fn read_reply(&mut self, call_id: Arc<str>) {
        let key = self.line.new_key();
        let (ready_handle, gate) = (self.line.ready_handle(key), self.line.gate().clone());
        if let Some(registered) = &self.registered {
            let lineage = &registered.lineage;
            lineage.listen(registered.reader, &call_id, ready_handle, gate);
            self.flows.insert(key, AgentFeed::Reply(call_id));
        }
    }

    /// Takes mail while the socket accepts frames: the rest stays in the mailbox, where it is counted.
    fn take_mail(&mut self) -> Option<WsConnectionEnd> {
        loop {
            let link = self.registered.as_ref()?.link.clone();
            if let Some(why) = link.mailbox.closing() {
                return Some(why.into());
            }
            if self.line.is_busy() {
                return None;
            }
            if let Some(serving) = self.pauses.take() {
                self.send(serving, &link);
                continue;
            }
            let first = self.first.pop_front();
            match first.or_else(|| link.take())? {
                BridgeMail::Call(serving) => {
                    if let Some(serving) = self.pauses.hold(serving) {
                        self.send(serving, &link);
                    }
                }
                BridgeMail::Cancel(call) => {
                    // A delayed call is dropped: the agent never saw it.
                    self.pauses.withdraw(call.id);
                    let request = call.request.as_str();
                    // An agent that has answered meanwhile has nothing to stop.
                    let is_open = |served: &ServedRequest| served.call().id == call.id;
                    if self.served.get(request).is_some_and(is_open) {
                        self.stop(request);
                    }
                }
                BridgeMail::Ack(call, seq) => {
                    let newer = self.served.get(call.request.as_str());
                    // Not if a newer call reuses the request id: the agent would take the acknowledgement for
                    // the newer call.
                    if newer.is_none_or(|newer| newer.call().id == call.id) {
                        self.acks.add(&call.request, seq, 0);
                        if call.is_ended() {
                            self.write_acks();
                        }
                    }
                }
                BridgeMail::Frame(frame) => self.queue(&frame),
            }
        }
    }

    /// Sends a call to the agent.
    fn send(&mut self, serving: AgentHandle, link: &BridgeLink) {
        let links = self.bridge.links.clone();
        let served = self.serve(serving, link);
        let frame = served.message(link.extensions, &links);
        self.queue(&frame);
    }

    /// Adds a call to those that the agent works on, as [`ServedRequest`].
    fn serve(&mut self, serving: AgentHandle, link: &BridgeLink) -> &ServedRequest {
        let key = self.line.new_key();
        serving.gated(self.line.gate().clone());
        serving.input().listen(self.line.ready_handle(key));
        let request = serving.call().request.to_string();
        self.flows.insert(key, AgentFeed::Input(request.clone()));
        let served = ServedRequest::new(serving, key, link.extensions);
        self.served.entry(request).insert_entry(served).into_mut()
    }

    /// Removes a call from those that the agent works on.
    fn release(&mut self, request: &str) -> Option<ServedRequest> {
        let served = self.served.remove(request)?;
        self.flows.remove(&served.key);
        self.acks.forget(request);
        let link = self.registered.as_ref().map(|registered| &registered.link);
        if link.is_some_and(|link| !link.extensions.meta) {
            self.pauses.note_end(&served.call().agent_session);
        }
        self.lower_frame_limit();
        Some(served)
    }

    /// Removes a call, and tells the agent to stop.
    fn stop(&mut self, request: &str) -> Option<ServedRequest> {
        let served = self.release(request)?;
        self.has_stopped = true;
        self.queue(&cancel_frame(served.call()));
        Some(served)
    }

    /// Refuses a connection: one frame, then the close.
    fn refuse(&mut self, text: &str, refusal: RegisterRefusal) -> WsConnectionEnd {
        self.bridge.hub.metrics().refused(DOOR);
        tracing::info!(agent = self.url_id.as_deref(), why = text, "agent refused");
        self.line.queue(&downlink::refused(text));
        WsConnectionEnd::Close(1008, refusal.close_reason())
    }

    /// Leaves the hub. Callers and agents with open calls to this connection are notified, unless the agent
    /// may reconnect.
    fn leave(&mut self, leave: WsConnectionEnd) {
        let Some(registered) = self.registered.take() else {
            return;
        };
        let BridgeRegistration {
            mut attached,
            link,
            principal,
            lineage,
            reader,
        } = *registered;
        let may_come_back = link.extensions.resume && lost::may_resume(leave);
        attached.set_resumable(may_come_back);
        let entry = attached.entry().clone();
        // Detached first, so that a resumable disconnect keeps the calls.
        drop(attached);
        let mail = link.mailbox.shut();
        let cancelled = mail.iter().filter_map(|mail| match mail {
            BridgeMail::Cancel(call) => Some(call.clone()),
            BridgeMail::Call(_) | BridgeMail::Ack(..) | BridgeMail::Frame(_) => None,
        });
        let served = self.served.values().map(|served| served.call().clone());
        lineage.park(reader, served.chain(cancelled).collect());
        self.flows.clear();
        self.served.clear();
        self.first.clear();
        self.pauses.clear();
        let is_elsewhere = entry.link().is_some_and(|link| link.door() != DOOR);
        let left = LostConnection {
            bridge: self.bridge.clone(),
            id: link.id.clone(),
            generation: entry.generation(),
            entry,
            lineage,
            reader,
            revoked: principal.grant.revoked.clone(),
        };
        if may_come_back && !is_elsewhere {
            let grace = self.bridge.hub.limits().resume_grace.0;
            self.bridge.tasks.spawn(left.wait(grace));
        } else {
            left.end();
        }
    }

    async fn on_text(&mut self, text: &str) -> Option<WsConnectionEnd> {
        if self.bridge.hub.taps().want_frames() {
            self.show(Direction::In, text);
        }
        if self.registered.is_none() {
            return self.on_first(text).await;
        }
        self.on_frame(text);
        None
    }
}

/// Returns the [`Failure`] of a call with an unreadable frame in its answer.
fn unreadable(malformed: &MalformedFrame) -> Failure {
    Failure::new(
        Reason::Agent("internal_error".to_owned()),
        format!("a frame of the agent cannot be read: {malformed}"),
    )
}
