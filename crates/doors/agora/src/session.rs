//! The loop of one connection, both ways: frames in, frames out, the mailbox, the pipes it reads, its clocks.
//! One `select!` whose arms call named methods; one flush per batch.

mod calls;
mod clocks;
mod frames;
mod register;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use jackfield_core::{
    agent::Closing,
    bell::Bell,
    entry::Entry,
    gate::{Gate, Reading},
    hub::Attached,
    id::AgentId,
    metrics::Connected,
    principal::Principal,
    tap::{Direction, Sight},
};
use jackfield_kit::{
    io::Io,
    socket::Hangup,
    ws::{Incoming, Turn, Ws, WsError},
};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use self::clocks::Clocks;
use crate::{
    DOOR,
    lane::{Lane, RawFrame},
    link::{AgoraLink, Mail},
    outgoing::Outgoing,
    serve::Agora,
    served::{Served, cancel_frame},
};

/// The key of the mailbox on the bell; flows count from 1.
const MAILBOX: u32 = 0;
/// Frames are queued for the socket up to this much, then flushed before more is taken from the pipes.
const QUEUE_HIGH: usize = 64 << 10;
/// How much one flow may put out before the next one has its turn.
const FLOW_BATCH: usize = 16 << 10;
/// How many frames are handled before the answers to them are flushed.
const READ_BATCH: usize = 64;
/// How long the last frames of a closing connection may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// Something that this connection reads and writes out to its peer.
#[derive(Debug)]
enum Flow {
    /// Frames of another Agora connection.
    Lane(Arc<Lane>),
    /// Further input of a call that the agent works on, by its address.
    Input(String),
    /// The reply to a call that the agent made.
    Reply(Box<Outgoing>),
}

/// A connection that has registered.
#[derive(Debug)]
struct Registered {
    attached: Attached,
    link: Arc<AgoraLink>,
    /// The connection, acting as its agent.
    principal: Principal,
}

impl Registered {
    fn entry(&self) -> &Arc<Entry> {
        self.attached.entry()
    }
}

/// One connection.
pub(crate) struct Session {
    agora: Arc<Agora>,
    ws: Ws<Io>,
    hangup: Option<Hangup>,
    /// The token of the upgrade request.
    token: Option<Box<str>>,
    _connected: Connected,
    bell: Arc<Bell>,
    gate: Arc<Gate>,
    registered: Option<Box<Registered>>,
    /// What rang and was not yet served.
    ready: VecDeque<u32>,
    flows: FxHashMap<u32, Flow>,
    next_key: u32,
    /// Ways to other Agora agents, by their id.
    lanes: HashMap<Box<str>, Arc<Lane>>,
    /// Calls that the agent works on, by address, with the key of their input.
    served: HashMap<String, (Served, u32)>,
    /// Open calls of the agent to other doors: the flow, by agent and stream or request.
    outgoing: HashMap<(AgentId, Box<str>), u32>,
    /// What the messages weigh that are being joined for agents of other doors.
    joining: usize,
    clocks: Clocks,
}

/// Why the loop ends.
enum Leave {
    /// The peer is gone.
    Gone,
    /// We close, with this code and reason.
    Close(u16, &'static str),
}

impl Session {
    pub(crate) fn new(
        agora: Arc<Agora>,
        ws: Ws<Io>,
        hangup: Option<Hangup>,
        token: Option<Box<str>>,
    ) -> Self {
        let connected = agora.hub.metrics().connection(DOOR);
        let clocks = Clocks::new(Instant::now(), agora.hub.limits());
        Self {
            agora,
            ws,
            hangup,
            token,
            _connected: connected,
            bell: Bell::new(),
            gate: Arc::default(),
            registered: None,
            ready: VecDeque::new(),
            flows: FxHashMap::default(),
            next_key: MAILBOX,
            lanes: HashMap::new(),
            served: HashMap::new(),
            outgoing: HashMap::new(),
            joining: 0,
            clocks,
        }
    }

    /// Runs the connection until it ends. By reference: a task that takes a session by value holds it twice.
    pub(crate) async fn run(&mut self) {
        let leave = self.turn_until_over().await;
        self.part();
        if let Leave::Close(code, reason) = leave {
            self.ws.queue_close(code, reason);
            self.ws.finish(FAREWELL).await;
        }
    }

    async fn turn_until_over(&mut self) -> Leave {
        let (agora, bell, gate) = (self.agora.clone(), self.bell.clone(), self.gate.clone());
        let stop = agora.tasks.stop_token().clone();
        let timer = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(timer);
        let mut keys = Vec::new();
        loop {
            self.pump();
            let reading = gate.reading();
            let may_read = self.may_read(reading);
            self.set_timer(timer.as_mut(), reading, may_read);
            let left = tokio::select! {
                turn = self.ws.turn(may_read) => self.on_turn(turn).await,
                () = bell.wait(&mut keys), if self.ready.is_empty() => {
                    self.ready.extend(keys.drain(..));
                    None
                }
                () = gate.changed(), if reading != Reading::Free => None,
                () = timer.as_mut() => self.on_timer(reading),
                () = revoked(self.registered.as_deref()) => Some(Leave::Close(4002, "token revoked")),
                () = stop.cancelled() => Some(Leave::Close(1001, "hub is stopping")),
            };
            if let Some(leave) = left {
                return leave;
            }
            if let Some(leave) = self.take_mail() {
                return leave;
            }
        }
    }

    async fn on_turn(&mut self, turn: Turn) -> Option<Leave> {
        let first = match turn {
            Turn::Flushed => return None,
            Turn::Closed => return Some(Leave::Gone),
            Turn::Failed(error) => return Some(self.on_error(&error)),
            Turn::Frame(frame) => frame,
        };
        self.heard();
        let queued = self.ws.queued_bytes();
        let (mut frames, mut bytes) = (0, 0);
        let mut next = Some(first);
        while let Some(frame) = next.take() {
            match frame {
                Incoming::Text(text) => {
                    frames += 1;
                    bytes += text.len();
                    if self.agora.hub.taps().want_frames() {
                        self.show_frame(Direction::In, &text);
                    }
                    if let Some(registering) = self.on_frame(&text) {
                        registering.await;
                    }
                }
                Incoming::Binary(_) => self.refuse_binary(),
                Incoming::Ping(_) | Incoming::Pong(_) => {}
                // `turn` completes the handshake and then says closed.
                Incoming::Close { .. } => break,
            }
            let enough = frames >= READ_BATCH || bytes >= QUEUE_HIGH;
            if enough
                || self.gate.reading() != Reading::Free
                || self.ws.queued_bytes() >= QUEUE_HIGH
            {
                break;
            }
            next = match self.ws.try_next() {
                Some(Ok(frame)) => Some(frame),
                Some(Err(error)) => return Some(self.on_error(&error)),
                None => None,
            };
        }
        self.clocks.read += bytes;
        self.clocks.answered += self.ws.queued_bytes().saturating_sub(queued);
        self.agora.traffic.came_in(frames as u64, bytes as u64);
        None
    }

    fn on_error(&mut self, error: &WsError) -> Leave {
        let Some(code) = error.close_code() else {
            return Leave::Gone;
        };
        self.agora.hub.metrics().refused(DOOR);
        if matches!(error, WsError::TooLarge { .. }) {
            self.say_error("too_large", &format!("{error}; the connection is closed"));
        }
        let reason = match code {
            1009 => "frame too large",
            1007 => "text is not UTF-8",
            _ => "protocol error",
        };
        Leave::Close(code, reason)
    }

    fn heard(&mut self) {
        let now = Instant::now();
        self.clocks.heard(now);
        if let Some(registered) = &self.registered {
            registered.link.sign_of_life(now);
        }
    }

    /// Queues a frame for the peer.
    fn queue(&mut self, frame: &str) {
        self.agora.traffic.went_out(1, frame.len() as u64);
        if self.agora.hub.taps().want_frames() {
            self.show_frame(Direction::Out, frame);
        }
        // A socket that is closing takes no more; its session ends with this turn.
        self.ws.queue_text(frame).ok();
    }

    fn show_frame(&self, direction: Direction, frame: &str) {
        if let Some(registered) = &self.registered {
            let entry = registered.entry();
            self.agora.hub.taps().see(
                &entry.id,
                entry.owner(),
                None,
                Sight::Frame(direction, frame.into()),
            );
        }
    }

    fn new_key(&mut self) -> u32 {
        self.next_key = self.next_key.wrapping_add(1).max(MAILBOX + 1);
        self.next_key
    }

    /// Serves what rang, in turns, until the socket has enough to write.
    fn pump(&mut self) {
        // What a closing socket would drop stays in its pipe, so that its sender is told.
        while self.ws.queued_bytes() < QUEUE_HIGH && !self.ws.is_closing() {
            let Some(key) = self.ready.pop_front() else {
                return;
            };
            if key != MAILBOX {
                self.pump_flow(key);
            }
        }
    }

    fn pump_flow(&mut self, key: u32) {
        let mut frames = Vec::new();
        let over = match self.flows.get_mut(&key) {
            // It ended before its ring was heard.
            None => return,
            Some(Flow::Lane(lane)) => {
                let mut raw = Vec::new();
                let told = lane.pipe.take(&mut raw, FLOW_BATCH);
                for RawFrame(frame) in raw {
                    self.queue(&frame);
                }
                let over = told.is_some();
                frames.extend(told.into_iter().flatten());
                over
            }
            Some(Flow::Input(address)) => {
                if let Some((served, _)) = self.served.get(address) {
                    served.input_frames(&mut frames);
                }
                false
            }
            Some(Flow::Reply(outgoing)) => {
                let max = self.agora.hub.limits().message.0;
                outgoing.reply_frames(&mut frames, max)
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
        if let Some(Flow::Reply(outgoing)) = self.flows.remove(&key) {
            self.joining -= outgoing.joining_weight();
            self.outgoing.retain(|_, flow| *flow != key);
        }
    }

    /// Takes mail as long as the socket takes frames: what a peer does not read stays where it is counted.
    fn take_mail(&mut self) -> Option<Leave> {
        loop {
            let link = &self.registered.as_ref()?.link;
            if let Some(why) = link.closing() {
                return Some(match why {
                    Closing::Replaced => Leave::Close(4001, "replaced by a newer connection"),
                    Closing::Revoked => Leave::Close(4002, "agent removed"),
                    Closing::Stopping => Leave::Close(1001, "hub is stopping"),
                });
            }
            if self.ws.queued_bytes() >= QUEUE_HIGH {
                return None;
            }
            let mail = link.next_mail()?;
            self.open_mail(mail);
        }
    }

    fn open_mail(&mut self, mail: Mail) {
        match mail {
            Mail::Call(serving) => {
                let (served, frame) = Served::new(serving);
                served.serving().gated(self.gate.clone());
                let key = self.new_key();
                let address = served.address().to_owned();
                served.serving().input().listen(self.bell.rope(key));
                self.flows.insert(key, Flow::Input(address.clone()));
                self.served.insert(address, (served, key));
                self.queue(&frame);
            }
            Mail::Cancel(call) => {
                // An agent that has answered meanwhile has nothing to stop.
                let address = crate::translate::call_address(call.id);
                if let Some((_, key)) = self.served.remove(&address) {
                    self.flows.remove(&key);
                    self.queue(&cancel_frame(&call));
                }
            }
            Mail::Lane(lane) => {
                let key = self.new_key();
                lane.pipe.listen(self.bell.rope(key));
                self.flows.insert(key, Flow::Lane(lane));
            }
            Mail::Frame(frame) => self.queue(&frame),
        }
    }

    /// Leaves: whoever had something open with this connection is told.
    fn part(&mut self) {
        let Some(registered) = self.registered.take() else {
            return;
        };
        // The agent goes first, so that nobody opens a new way to it.
        drop(registered.attached);
        let rest = registered.link.shut();
        for lane in std::mem::take(&mut self.lanes).into_values() {
            lane.sender_left();
        }
        for flow in std::mem::take(&mut self.flows).into_values() {
            if let Flow::Lane(lane) = flow {
                lane.receiver_left();
            }
        }
        for mail in rest {
            if let Mail::Lane(lane) = mail {
                lane.receiver_left();
            }
        }
        self.served.clear();
        self.outgoing.clear();
        self.joining = 0;
    }
}

/// Resolves when the token of a registered connection is revoked.
async fn revoked(registered: Option<&Registered>) {
    match registered {
        Some(registered) => registered.principal.grant.revoked.cancelled().await,
        None => std::future::pending().await,
    }
}

impl Drop for Session {
    /// A session that is dropped in the middle (the hub's time to stop is over) still tells everybody.
    fn drop(&mut self) {
        self.part();
    }
}

impl Session {
    fn refuse_binary(&mut self) {
        self.agora.hub.metrics().refused(DOOR);
        self.say_error(
            "unsupported",
            "binary frames are not part of this protocol; send JSON in text frames",
        );
    }

    fn say_error(&mut self, code: &str, message: &str) {
        use jackfield_wire::agora::{ErrorFrame, downlink};
        let frame = downlink::error(&ErrorFrame::new(code, message));
        self.queue(&frame);
    }
}
