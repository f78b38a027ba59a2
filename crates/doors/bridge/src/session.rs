//! The loop of one agent's connection: it registers, works on calls, calls others, and leaves.

mod acks;
mod frames;
mod left;
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
    line::{Leave, Line, Step},
    mailbox::MAILBOX,
    ws::WsError,
};
use jackfield_model::{Failure, Reason};
use jackfield_wire::bridge::{
    ErrorCode, Malformed,
    downlink::{self, HubError},
};
use rustc_hash::FxHashMap;
use tokio::time::{Instant, timeout_at};

use self::{acks::Acks, left::Left, pauses::Pauses};
use crate::{
    DOOR,
    bridge::Bridge,
    lineage::Lineage,
    link::{BridgeLink, Mail},
    served::{Served, cancel_frame},
    signals::for_observers,
};

/// What is said of a binary frame.
const BINARY: &str = "binary frame; send JSON as a text frame";

/// Something that this connection reads and writes out to its agent.
#[derive(Debug)]
enum Flow {
    /// Further input of a call that the agent works on, by its request.
    Input(String),
    /// The reply to a call that the agent made, by its id.
    Reply(Arc<str>),
}

/// A connection that has registered.
#[derive(Debug)]
struct Registered {
    attached: Attached,
    link: Arc<BridgeLink>,
    /// The connection, acting as its agent.
    principal: Principal,
    lineage: Arc<Lineage>,
    /// The connection's number there.
    reader: u64,
}

impl Registered {
    fn entry(&self) -> &Arc<Entry> {
        self.attached.entry()
    }
}

/// One connection of an agent.
#[derive(Debug)]
pub(crate) struct Session {
    bridge: Arc<Bridge>,
    line: Line,
    /// The id in the URL, which `register` must repeat.
    url_id: Option<String>,
    registered: Option<Box<Registered>>,
    flows: FxHashMap<u32, Flow>,
    /// Calls that the agent works on, by request.
    served: HashMap<String, Served>,
    /// Whether the agent was told to stop one: a frame that names no request may be about that.
    has_stopped: bool,
    /// What a connection that resumes has to write before its mail.
    first: VecDeque<Mail>,
    acks: Acks,
    /// Requests that wait because the one before in their session ended just now; of agents without `meta`.
    pauses: Pauses,
    /// The largest frame that is taken from the agent.
    frame_max: usize,
}

impl Session {
    /// A connection that has said nothing, or only its first frame.
    pub(crate) fn new(bridge: Arc<Bridge>, line: Line, url_id: Option<String>) -> Self {
        let pauses = Pauses::new(line.limits().session_pause.0);
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
            acks: Acks::default(),
            pauses,
            frame_max,
        }
    }

    /// Runs the connection until it ends. By reference: a task that takes a session by value holds it twice.
    pub(crate) async fn run(&mut self) {
        let leave = self.turn_until_over().await;
        self.part(leave);
        self.line.part(leave).await;
    }

    async fn turn_until_over(&mut self) -> Leave {
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

    async fn on_step(&mut self, step: Step) -> Option<Leave> {
        match step {
            Step::Text(text) => self.on_text(&text).await,
            Step::Binary => {
                self.on_binary();
                None
            }
            Step::Rang(MAILBOX) => None,
            Step::Rang(key) => {
                self.pump(key);
                None
            }
            Step::Look => None,
            Step::Broken(error) => Some(self.on_broken(&error)),
            Step::Over(leave) => Some(leave),
        }
    }

    /// What happens next; nothing if acks or a request are due before anything happens.
    async fn next(&mut self) -> Option<Step> {
        // A busy socket takes no request; when it is free, the line steps on and the request is taken with the mail.
        let request = self.pauses.due().filter(|_| !self.line.is_busy());
        match self.acks.due().into_iter().chain(request).min() {
            None => Some(self.line.next().await),
            Some(due) if due <= Instant::now() => None,
            Some(due) => timeout_at(due, self.line.next()).await.ok(),
        }
    }

    /// Does what is due. Requests are taken with the mail.
    fn on_due(&mut self) {
        if self.acks.due().is_some_and(|due| due <= Instant::now()) {
            self.write_acks();
        }
    }

    /// Tells the agent what it may forget.
    fn write_acks(&mut self) {
        for (request, seq) in self.acks.take() {
            self.queue(&downlink::ack(request.as_str(), seq));
        }
    }

    /// No published client sends binary frames. Whoever does waits for an answer, so it is told.
    fn on_binary(&mut self) {
        self.bridge.hub.metrics().refused(DOOR);
        self.queue(&downlink::error(&HubError {
            code: ErrorCode::InvalidMessage.name().into(),
            message: BINARY.into(),
            ..HubError::default()
        }));
    }

    /// The connection ends by the agent's fault. Whoever waits for it hears what that was.
    fn on_broken(&mut self, error: &WsError) -> Leave {
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

    /// Takes larger frames from an agent that said so much text: its end may repeat all of it.
    fn make_room_for_end(&mut self, said: usize) {
        let limits = self.line.limits();
        let (frame, max) = (limits.frame.0, limits.frame_of_end.0);
        if said + frame / 2 <= self.frame_max {
            return;
        }
        // Some more than is needed now, so that few chunks change it.
        let larger = (said + frame).min(max);
        if larger > self.frame_max {
            self.frame_max = larger;
            self.line.take_frames_up_to(larger);
        }
    }

    /// Takes no larger frames than the agent's open requests need.
    fn take_room_back(&mut self) {
        let frame = self.line.limits().frame.0;
        if self.frame_max > frame {
            self.frame_max = frame;
            self.line.take_frames_up_to(frame);
            let said = self.served.values().map(Served::said).max();
            self.make_room_for_end(said.unwrap_or(0));
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

    fn pump(&mut self, key: u32) {
        match self.flows.get(&key) {
            // It ended before its ring was heard.
            None => {}
            Some(Flow::Input(request)) => {
                let mut frames = Vec::new();
                if let Some(served) = self.served.get(request) {
                    served.input_frames(&mut frames);
                }
                for frame in frames {
                    self.queue(&frame);
                }
            }
            Some(Flow::Reply(call_id)) => {
                let call_id = call_id.clone();
                if self.write_reply(&call_id) {
                    self.flows.remove(&key);
                }
            }
        }
    }

    /// Writes what there is of the reply to a call that the agent made. True once it is over.
    fn write_reply(&mut self, call_id: &Arc<str>) -> bool {
        let Some(registered) = &self.registered else {
            return true;
        };
        let (lineage, reader) = (registered.lineage.clone(), registered.reader);
        lineage.read(reader, call_id, |frame| self.queue(frame))
    }

    /// Reads the reply to a call that the agent made, now or on a connection before.
    fn read_reply(&mut self, call_id: Arc<str>) {
        let key = self.line.new_key();
        let (rope, gate) = (self.line.rope(key), self.line.gate().clone());
        if let Some(registered) = &self.registered {
            let lineage = &registered.lineage;
            lineage.listen(registered.reader, &call_id, rope, gate);
            self.flows.insert(key, Flow::Reply(call_id));
        }
    }

    /// Takes mail as long as the socket takes frames: what an agent does not read stays where it is counted.
    fn take_mail(&mut self) -> Option<Leave> {
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
                Mail::Call(serving) => {
                    if let Some(serving) = self.pauses.hold(serving) {
                        self.send(serving, &link);
                    }
                }
                Mail::Cancel(call) => {
                    // One that was held back is dropped: the agent never saw it.
                    self.pauses.withdraw(call.id);
                    let request = call.request.as_str();
                    // An agent that has answered meanwhile has nothing to stop.
                    let is_open = |served: &Served| served.call().id == call.id;
                    if self.served.get(request).is_some_and(is_open) {
                        self.stop(request);
                    }
                }
                Mail::Ack(call, seq) => {
                    let newer = self.served.get(call.request.as_str());
                    // Not if the request bears an id that is used again: it would be taken for an ack of that one.
                    if newer.is_none_or(|newer| newer.call().id == call.id) {
                        self.acks.add(&call.request, seq, 0);
                        if call.is_ended() {
                            self.write_acks();
                        }
                    }
                }
                Mail::Frame(frame) => self.queue(&frame),
            }
        }
    }

    /// Brings a call to the agent.
    fn send(&mut self, serving: AgentHandle, link: &BridgeLink) {
        let served = self.serve(serving, link);
        let frame = served.message(link.extensions);
        self.queue(&frame);
    }

    /// Takes a call among those the agent works on.
    fn serve(&mut self, serving: AgentHandle, link: &BridgeLink) -> &Served {
        let key = self.line.new_key();
        serving.gated(self.line.gate().clone());
        serving.input().listen(self.line.rope(key));
        let request = serving.call().request.to_string();
        self.flows.insert(key, Flow::Input(request.clone()));
        let served = Served::new(serving, key, link.extensions);
        self.served.entry(request).insert_entry(served).into_mut()
    }

    /// The agent works on a call no more.
    fn release(&mut self, request: &str) -> Option<Served> {
        let served = self.served.remove(request)?;
        self.flows.remove(&served.key);
        self.acks.forget(request);
        let link = self.registered.as_ref().map(|registered| &registered.link);
        if link.is_some_and(|link| !link.extensions.meta) {
            self.pauses.note_end(&served.call().agent_session);
        }
        self.take_room_back();
        Some(served)
    }

    /// The agent shall work on a call no more.
    fn stop(&mut self, request: &str) -> Option<Served> {
        let served = self.release(request)?;
        self.has_stopped = true;
        self.queue(&cancel_frame(served.call()));
        Some(served)
    }

    /// Refuses a connection: one frame, then the close.
    fn refuse(&mut self, text: &str, reason: &'static str) -> Leave {
        self.bridge.hub.metrics().refused(DOOR);
        tracing::info!(agent = self.url_id.as_deref(), why = text, "agent refused");
        self.line.queue(&downlink::refused(text));
        Leave::Close(1008, reason)
    }

    /// Leaves: whoever had something open with this connection is told, unless the agent may come back.
    fn part(&mut self, leave: Leave) {
        let Some(registered) = self.registered.take() else {
            return;
        };
        let Registered {
            mut attached,
            link,
            principal,
            lineage,
            reader,
        } = *registered;
        let may_come_back = link.extensions.resume && left::may_come_back(leave);
        attached.set_resumable(may_come_back);
        let entry = attached.entry().clone();
        // The agent goes first, so that a resumable leave keeps its calls.
        drop(attached);
        let mail = link.mailbox.shut();
        let cancelled = mail.iter().filter_map(|mail| match mail {
            Mail::Cancel(call) => Some(call.clone()),
            Mail::Call(_) | Mail::Ack(..) | Mail::Frame(_) => None,
        });
        let served = self.served.values().map(|served| served.call().clone());
        lineage.park(reader, served.chain(cancelled).collect());
        self.flows.clear();
        self.served.clear();
        self.first.clear();
        self.pauses.clear();
        let is_elsewhere = entry.link().is_some_and(|link| link.door() != DOOR);
        let left = Left {
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

    async fn on_text(&mut self, text: &str) -> Option<Leave> {
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

/// Why a call fails whose answer is not what the agent said.
fn unreadable(malformed: &Malformed) -> Failure {
    Failure::new(
        Reason::Agent("internal_error".to_owned()),
        format!("a frame of the agent cannot be read: {malformed}"),
    )
}
