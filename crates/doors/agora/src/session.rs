//! The loop of one connection, both ways: frames in, frames out, the mailbox, and the pipes that the
//! connection reads. The [`WsConnection`] below owns the socket and its clocks.

mod calls;
mod frames;
mod register;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use jackfield_core::{
    budget::Budget, entry::Entry, hub::Attached, principal::Principal, tap::Direction,
};
use jackfield_kit::{
    mailbox::MAILBOX,
    ws::{TextFrames, WsError},
    ws_connection::{WsConnection, WsConnectionEnd, WsConnectionEvent},
};
use jackfield_model::{AgentId, End};
use jackfield_wire::observers::without_tokens;
use rustc_hash::FxHashMap;

use crate::{
    DOOR,
    awaited::AwaitedAnswers,
    door::Agora,
    inbound_call::{InboundCall, cancel_frame},
    link::{AgoraLink, AgoraMail},
    outbound_call::OutboundCall,
    route::{RelayRoute, RelayedFrames},
    translate::failure_from_close,
};

/// Bytes that one flow may write before the next one is served.
const FLOW_BATCH: usize = 16 << 10;

/// A source whose data the connection writes to its peer.
#[derive(Debug)]
enum PeerFeed {
    /// Frames of a different Agora connection.
    Lane(Arc<RelayRoute>),
    /// Further input of a call that the agent works on, by the address of the call.
    Input(String),
    /// The reply to a call that the agent made.
    Reply(Box<OutboundCall>),
}

/// The state of a registered connection.
#[derive(Debug)]
struct AgoraRegistration {
    attached: Attached,
    link: Arc<AgoraLink>,
    /// [`Principal`] of the connection, acting as its agent.
    principal: Principal,
    /// [`Budget`] of the owner's open calls and messages.
    account: Arc<Budget>,
}

impl AgoraRegistration {
    fn entry(&self) -> &Arc<Entry> {
        self.attached.entry()
    }
}

/// One Agora connection.
pub(crate) struct AgoraSession {
    agora: Arc<Agora>,
    line: WsConnection,
    registered: Option<Box<AgoraRegistration>>,
    flows: FxHashMap<u32, PeerFeed>,
    /// Routes ([`RelayRoute`]) to other Agora agents, by agent id.
    lanes: HashMap<Box<str>, Arc<RelayRoute>>,
    /// Route of the last relayed frame, with its key in `lanes`.
    recent: Option<(Box<str>, Arc<RelayRoute>)>,
    /// Whether frames were relayed by the `recent` route since its receiver was last woken.
    is_unwoken: bool,
    /// Calls that the agent works on, by address, with the key of their input.
    served: HashMap<String, (InboundCall, u32)>,
    /// Open calls of the agent to other doors: the key of the flow, by agent and id of the stream or request.
    outgoing: HashMap<(AgentId, Box<str>), u32>,
    /// Answers to messages of the agent without an id, see [`AwaitedAnswers`].
    awaited: Option<Box<AwaitedAnswers>>,
    /// Bytes of the messages being joined for agents of other doors.
    joining: usize,
}

impl AgoraSession {
    pub(crate) fn new(agora: Arc<Agora>, line: WsConnection) -> Self {
        Self {
            agora,
            line,
            registered: None,
            flows: FxHashMap::default(),
            lanes: HashMap::new(),
            recent: None,
            is_unwoken: false,
            served: HashMap::new(),
            outgoing: HashMap::new(),
            awaited: None,
            joining: 0,
        }
    }

    /// Runs the connection until its end. By reference, because a task that takes a session by value holds it
    /// twice.
    pub(crate) async fn run(&mut self) {
        let leave = self.run_until_end().await;
        self.leave();
        self.line.close(leave).await;
    }

    async fn run_until_end(&mut self) -> WsConnectionEnd {
        loop {
            // Most frames of a batch need no waiting, and skip its cost.
            let step = match self.line.try_next() {
                Some(step) => step,
                None => {
                    self.wake_receiver();
                    self.line.next().await
                }
            };
            let left = match step {
                WsConnectionEvent::Text(text) => {
                    if let Some(registering) = self.on_text(&text) {
                        registering.await;
                    }
                    None
                }
                WsConnectionEvent::Binary => {
                    self.refuse_binary();
                    None
                }
                WsConnectionEvent::Rang(MAILBOX) => self.take_mail(),
                WsConnectionEvent::Rang(key) => {
                    self.write_feed(key);
                    None
                }
                WsConnectionEvent::Look => {
                    self.check_stalled_routes();
                    None
                }
                WsConnectionEvent::Broken(error) => Some(self.on_error(&error)),
                WsConnectionEvent::Over(leave) => Some(leave),
            };
            if let Some(leave) = left {
                return leave;
            }
        }
    }

    fn on_error(&mut self, error: &WsError) -> WsConnectionEnd {
        self.agora.hub.metrics().refused(DOOR);
        if matches!(error, WsError::TooLarge { .. }) {
            self.send_error("too_large", &format!("{error}; the connection is closed"));
        }
        error.into()
    }

    /// Queues a frame for the peer.
    fn queue(&mut self, frame: &str) {
        if self.agora.hub.taps().want_frames() {
            self.show_frame(Direction::Out, frame);
        }
        self.line.queue(frame);
    }

    /// Queues a batch of frames for the peer.
    fn queue_frames(&mut self, frames: &TextFrames) {
        if self.agora.hub.taps().want_frames() {
            let texts = frames.texts();
            texts.for_each(|frame| self.show_frame(Direction::Out, frame));
        }
        self.line.queue_frames(frames);
    }

    /// Wakes the receiver of the frames that were relayed since the last wait, if there are any: two sessions
    /// that woke each other without a frame would never rest.
    fn wake_receiver(&mut self) {
        if std::mem::take(&mut self.is_unwoken)
            && let Some((_, lane)) = &self.recent
        {
            lane.wake_receiver();
        }
    }

    fn show_frame(&self, direction: Direction, frame: &str) {
        if let Some(registered) = &self.registered {
            let taps = self.agora.hub.taps();
            taps.see_frame(registered.entry(), direction, || {
                without_tokens(frame).into()
            });
        }
    }

    /// Writes the data of a flow, up to its share.
    fn write_feed(&mut self, key: u32) {
        let mut frames = Vec::new();
        let over = match self.flows.get_mut(&key) {
            // The flow ended before its notification was handled.
            None => return,
            Some(PeerFeed::Lane(lane)) => {
                let mut raw = Vec::new();
                let told = lane.pipe.take(&mut raw, FLOW_BATCH);
                for RelayedFrames(frames) in raw {
                    self.queue_frames(&frames);
                }
                let over = told.is_some();
                frames.extend(told.into_iter().flatten());
                over
            }
            Some(PeerFeed::Input(address)) => {
                if let Some((served, _)) = self.served.get(address) {
                    served.input_frames(&mut frames);
                }
                false
            }
            Some(PeerFeed::Reply(outgoing)) => {
                outgoing.reply_frames(&self.agora.files, &mut frames)
            }
        };
        for frame in frames {
            self.queue(&frame);
        }
        if over {
            self.drop_flow(key);
        }
    }

    fn drop_flow(&mut self, key: u32) {
        if let Some(PeerFeed::Reply(outgoing)) = self.flows.remove(&key) {
            self.joining -= outgoing.joining_weight();
            self.outgoing.retain(|_, flow| *flow != key);
        }
    }

    /// Takes mail while the socket accepts frames: the rest stays in the mailbox, where it is counted.
    fn take_mail(&mut self) -> Option<WsConnectionEnd> {
        loop {
            let mailbox = &self.registered.as_ref()?.link.mailbox;
            if let Some(why) = mailbox.closing() {
                return Some(why.into());
            }
            if self.line.is_busy() {
                return None;
            }
            let mail = mailbox.take()?;
            self.handle_mail(mail);
        }
    }

    fn handle_mail(&mut self, mail: AgoraMail) {
        match mail {
            AgoraMail::Call(serving) => {
                let (served, frame) = InboundCall::new(serving, &self.agora.files);
                served.serving().gated(self.line.gate().clone());
                let key = self.line.new_key();
                let address = served.address().to_owned();
                served.serving().input().listen(self.line.ready_handle(key));
                self.flows.insert(key, PeerFeed::Input(address.clone()));
                self.served.insert(address, (served, key));
                self.queue(&frame);
            }
            AgoraMail::Cancel(call) => {
                // An agent that has answered meanwhile has nothing to stop.
                let address = crate::translate::call_address(call.id);
                if let Some((_, key)) = self.served.remove(&address) {
                    self.flows.remove(&key);
                    self.queue(&cancel_frame(&call));
                }
            }
            AgoraMail::Lane(lane) => {
                let key = self.line.new_key();
                lane.pipe.listen(self.line.ready_handle(key));
                self.flows.insert(key, PeerFeed::Lane(lane));
            }
            AgoraMail::Frame(frame) => self.queue(&frame),
            AgoraMail::Answer(frame, turn) => {
                self.queue(&frame);
                drop(turn);
            }
        }
    }

    /// Leaves the hub, and notifies all callers and agents with open calls or streams to this connection.
    fn leave(&mut self) {
        let Some(registered) = self.registered.take() else {
            return;
        };
        tracing::info!(agent = %registered.link.id, "agent left");
        // Waiting callers get the reason of the close frame, if it has one.
        if let Some(goodbye) = self.line.peer_close().filter(|it| it.has_reason()) {
            for (served, _) in std::mem::take(&mut self.served).into_values() {
                let failure = failure_from_close(goodbye, served.serving().call());
                served.finish(End::Failed(failure));
            }
        }
        // Detached first, so that no new route to the agent is opened.
        drop(registered.attached);
        let rest = registered.link.mailbox.shut();
        self.recent = None;
        for lane in std::mem::take(&mut self.lanes).into_values() {
            lane.sender_left();
        }
        for flow in std::mem::take(&mut self.flows).into_values() {
            if let PeerFeed::Lane(lane) = flow {
                lane.receiver_left();
            }
        }
        for mail in rest {
            if let AgoraMail::Lane(lane) = mail {
                lane.receiver_left();
            }
        }
        self.served.clear();
        self.outgoing.clear();
        self.awaited = None;
        self.joining = 0;
    }
}

impl Drop for AgoraSession {
    /// Notifies the other agents even if the session is dropped midway, as at the end of the shutdown
    /// timeout.
    fn drop(&mut self) {
        self.leave();
    }
}

impl AgoraSession {
    /// Gives up routes whose receiver has taken no frame for too long. The receiver's own session closes a
    /// stuck socket; this check covers receivers that take a byte now and then.
    fn check_stalled_routes(&self) {
        let limits = self.agora.hub.limits();
        let looks = u32::try_from(limits.pipe_stalled.0.as_secs())
            .unwrap_or(u32::MAX)
            .max(1);
        let stalled = self.lanes.values().filter(|lane| lane.is_stalled(looks));
        stalled.for_each(|_| self.agora.hub.metrics().overrun());
    }

    fn refuse_binary(&mut self) {
        self.agora.hub.metrics().refused(DOOR);
        self.send_error(
            "unsupported",
            "binary frames are not part of this protocol; send JSON in text frames",
        );
    }

    fn send_error(&mut self, code: &str, message: &str) {
        use crate::wire::{ErrorFrame, downlink};
        let frame = downlink::error(&ErrorFrame::new(code, message));
        self.queue(&frame);
    }
}
