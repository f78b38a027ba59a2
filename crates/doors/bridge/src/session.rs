//! The loop of one agent's connection: it registers, works on calls, calls others, and leaves.

mod frames;
mod register;

use std::{collections::HashMap, sync::Arc};

use jackfield_core::{
    entry::Entry,
    failure::{Failure, Reason},
    hub::Attached,
    principal::Principal,
    tap::{Direction, Sight},
};
use jackfield_kit::{
    line::{Leave, Line, Step},
    ws::{Utf8Bytes, WsError},
};
use rustc_hash::FxHashMap;

use crate::{
    DOOR,
    bridge::Bridge,
    calling::Calling,
    link::{BridgeLink, Mail},
    served::{Served, cancel_frame},
};

/// The key of the mailbox on the line; flows count from 1.
const MAILBOX: u32 = 0;

/// Something that this connection reads and writes out to its agent.
#[derive(Debug)]
enum Flow {
    /// Further input of a call that the agent works on, by its request.
    Input(String),
    /// The reply to a call that the agent made.
    Reply(Box<Calling>),
}

/// A connection that has registered.
#[derive(Debug)]
struct Registered {
    attached: Attached,
    link: Arc<BridgeLink>,
    /// The connection, acting as its agent.
    principal: Principal,
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
    next_key: u32,
    /// Calls that the agent works on, by request.
    served: HashMap<String, Served>,
    /// Calls that the agent made: the flow, by call id.
    calling: HashMap<String, u32>,
}

impl Session {
    /// A connection that has said nothing, or only its first frame.
    pub(crate) fn new(bridge: Arc<Bridge>, line: Line, url_id: Option<String>) -> Self {
        Self {
            bridge,
            line,
            url_id,
            registered: None,
            flows: FxHashMap::default(),
            next_key: MAILBOX,
            served: HashMap::new(),
            calling: HashMap::new(),
        }
    }

    /// Runs the connection until it ends.
    pub(crate) async fn run(mut self, first: Option<Utf8Bytes>) {
        let leave = self.turn_until_over(first).await;
        self.part();
        let Self { line, .. } = self;
        line.part(leave).await;
    }

    async fn turn_until_over(&mut self, first: Option<Utf8Bytes>) -> Leave {
        let mut next = first.map(Step::Text);
        loop {
            let step = match next.take() {
                Some(step) => step,
                None => self.line.next().await,
            };
            let left = match step {
                Step::Text(text) => self.on_text(&text).await,
                Step::Binary => self.on_binary(),
                Step::Rang(MAILBOX) => None,
                Step::Rang(key) => {
                    self.pump(key);
                    None
                }
                Step::Look => None,
                Step::Broken(error) => Some(self.on_broken(&error)),
                Step::Over(leave) => Some(leave),
            };
            if let Some(leave) = left.or_else(|| self.take_mail()) {
                return leave;
            }
        }
    }

    /// Binary frames of real clients hold the same JSON; one that does not is refused like any other.
    fn on_binary(&mut self) -> Option<Leave> {
        self.bridge.hub.metrics().refused(DOOR);
        if self.registered.is_none() {
            return Some(self.refuse("Invalid JSON", "Invalid JSON"));
        }
        None
    }

    fn on_broken(&mut self, error: &WsError) -> Leave {
        self.bridge.hub.metrics().refused(DOOR);
        error.into()
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
            let entry = registered.entry();
            self.bridge.hub.taps().see(
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

    fn pump(&mut self, key: u32) {
        let mut frames = Vec::new();
        let over = match self.flows.get_mut(&key) {
            // It ended before its ring was heard.
            None => return,
            Some(Flow::Input(request)) => {
                if let Some(served) = self.served.get(request) {
                    served.input_frames(&mut frames);
                }
                false
            }
            Some(Flow::Reply(calling)) => calling.reply_frames(&mut frames),
        };
        for frame in frames {
            self.queue(&frame);
        }
        if over && let Some(Flow::Reply(calling)) = self.flows.remove(&key) {
            self.calling.remove(calling.call_id());
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
            match link.mailbox.take()? {
                Mail::Call(serving) => {
                    let key = self.new_key();
                    let served = Served::new(serving, key);
                    let frame = served.message(link.extensions);
                    self.serve(served);
                    self.queue(&frame);
                }
                Mail::Cancel(call) => {
                    // An agent that has answered meanwhile has nothing to stop.
                    if let Some(served) = self.served.remove(call.request.as_str()) {
                        self.flows.remove(&served.key);
                        self.queue(&cancel_frame(&call));
                    }
                }
                Mail::Ack(call, seq) => {
                    let frame = jackfield_wire::bridge::downlink::ack(call.request.as_str(), seq);
                    self.queue(&frame);
                }
                Mail::Frame(frame) => self.queue(&frame),
            }
        }
    }

    /// Takes a call among those the agent works on.
    fn serve(&mut self, served: Served) {
        served.serving().gated(self.line.gate().clone());
        served.serving().input().listen(self.line.rope(served.key));
        let request = served.serving().call().request.to_string();
        self.flows.insert(served.key, Flow::Input(request.clone()));
        self.served.insert(request, served);
    }

    /// Refuses a connection: one frame, then the close.
    fn refuse(&mut self, text: &str, reason: &'static str) -> Leave {
        self.bridge.hub.metrics().refused(DOOR);
        self.line
            .queue(&jackfield_wire::bridge::downlink::refused(text));
        Leave::Close(1008, reason)
    }

    /// Leaves: whoever had something open with this connection is told.
    fn part(&mut self) {
        let Some(registered) = self.registered.take() else {
            return;
        };
        // The agent goes first, so that a resumable leave keeps its calls.
        let (entry, id) = (registered.entry().clone(), registered.link.id.clone());
        drop(registered.attached);
        if entry.link().is_none() {
            self.bridge.note_left(&id);
        }
        drop(registered.link.mailbox.shut());
        self.flows.clear();
        self.served.clear();
        self.calling.clear();
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

fn malformed_end(problem: &str) -> Failure {
    Failure::new(
        Reason::Agent("internal_error".to_owned()),
        format!("the agent's last frame cannot be read: {problem}"),
    )
}
