//! State that survives a reconnect: the requests in progress and the data to resume them.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    ops::Bound,
    task::{Context, Poll},
    time::Duration,
};

use jackfield_wire::bridge::{
    Downlink,
    downlink::{self, HubError, Registered},
    extension, parse_downlink,
    uplink::{self, AnswerProgress, Heartbeat, ResumeState},
};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::{
    calls::PeerCalls,
    request::{NextOutput, OpenRequest},
    translate,
};
use crate::{
    Agent,
    agent::{OutputSupport, SignalQueue},
};

/// Attempts to reconnect within the hub's grace period.
const ATTEMPTS: u32 = 4;

/// Frames that one request sends before the next request's turn.
const TURN: u32 = 16;

/// An agent's attachment to a hub, across any number of connections.
#[derive(Debug)]
pub(super) struct BridgeSession<'a> {
    agent: &'a Agent,
    since: Instant,
    /// Resume data; without it no request survives a lost connection.
    back: Option<BridgeResume>,
    abilities: OutputSupport,
    requests: BTreeMap<String, OpenRequest>,
    calls: PeerCalls,
    /// Frames that belong to no request; sent first.
    notes: VecDeque<Utf8Bytes>,
    /// Outgoing signals about file transfers.
    signals: SignalQueue,
    turn: SendTurn,
}

/// Resume data of the hub.
#[derive(Debug)]
struct BridgeResume {
    /// Token to present on reconnect.
    token: String,
    /// How long the hub waits for a reconnect.
    grace: Duration,
}

/// The request whose turn it is, and its remaining frames.
#[derive(Debug, Default)]
struct SendTurn {
    request: String,
    left: u32,
}

impl<'a> BridgeSession<'a> {
    pub(super) fn new(agent: &'a Agent) -> Self {
        Self {
            agent,
            since: Instant::now(),
            back: None,
            abilities: OutputSupport::default(),
            requests: BTreeMap::new(),
            calls: PeerCalls::default(),
            notes: VecDeque::new(),
            signals: SignalQueue::default(),
            turn: SendTurn::default(),
        }
    }

    pub(super) fn agent(&self) -> &'a Agent {
        self.agent
    }

    /// Builds the first frame of a connection. `token` authenticates the agent's owner.
    pub(super) fn register(&self, token: Option<&str>) -> Utf8Bytes {
        let open = self.requests.iter().map(|(id, request)| AnswerProgress {
            request_id: id.into(),
            sent: request.last(),
        });
        let resume = self.back.as_ref().map(|back| ResumeState {
            token: back.token.as_str().into(),
            open: open.collect(),
            calls: Some(self.calls.progress()),
        });
        translate::register(self.agent, token, resume).into()
    }

    /// Handles the hub's confirmation. Drops each request that the hub does not resume.
    pub(super) fn registered(&mut self, registered: &Registered<'_>) {
        let has = |name: &str| registered.extensions.iter().any(|known| known == name);
        self.abilities = OutputSupport {
            artifacts: has(extension::ARTIFACTS),
            asks: has(extension::INPUT),
        };
        let resumed = registered.resume.as_ref();
        let resumed = resumed.filter(|_| has(extension::RESUME));
        self.back = resumed.map(|resumed| BridgeResume {
            token: resumed.token.to_string(),
            grace: Duration::from_millis(resumed.grace_ms),
        });
        let open = resumed.into_iter().flat_map(|resumed| &resumed.open);
        let open: HashMap<&str, u64> = open.map(|open| (&*open.request_id, open.have)).collect();
        self.requests.retain(|id, request| match open.get(&**id) {
            Some(have) => {
                request.resume(*have);
                true
            }
            None => false,
        });
        self.notes = self
            .calls
            .resume(|parent| self.requests.contains_key(parent));
        self.signals.set_attached(true);
    }

    /// Handles a lost connection. Without resume data, drops all requests.
    pub(super) fn on_disconnected(&mut self) {
        self.signals.set_attached(false);
        if self.back.is_none() {
            self.requests.clear();
        }
    }

    /// Returns the longest wait between attempts to reconnect, if requests are in progress: short enough for
    /// [`ATTEMPTS`] attempts within the grace period.
    pub(super) fn reconnect_wait_limit(&self) -> Option<Duration> {
        let back = self.back.as_ref()?;
        (!self.requests.is_empty()).then_some(back.grace / ATTEMPTS)
    }

    /// Queues a heartbeat, unless earlier notes are still unsent.
    pub(super) fn queue_heartbeat(&mut self) {
        if !self.notes.is_empty() {
            return;
        }
        let sessions: HashSet<_> = self.requests.values().map(OpenRequest::session).collect();
        let uptime = self.since.elapsed().as_millis();
        let heartbeat = uplink::heartbeat(Heartbeat {
            active_sessions: sessions.len() as u64,
            uptime_ms: u64::try_from(uptime).unwrap_or(u64::MAX),
        });
        self.notes.push_back(heartbeat.into());
    }

    /// Polls the next frame to send. Requests take turns, so that no request starves the rest.
    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Utf8Bytes> {
        if let Some(note) = self.notes.pop_front() {
            return Poll::Ready(note);
        }
        if let Poll::Ready(signal) = self.signals.poll_frame(cx) {
            return Poll::Ready(signal.into());
        }
        let Poll::Ready(next) = self.poll_requests(cx) else {
            return Poll::Pending;
        };
        let id = &self.turn.request;
        Poll::Ready(match next {
            NextOutput::Call(calling) => self.calls.call(calling, id),
            NextOutput::Discover(looking) => self.calls.discover(looking),
            NextOutput::Frame(frame) => {
                if self.requests.get(id).is_some_and(OpenRequest::is_over) {
                    self.requests.remove(id);
                }
                frame
            }
        })
    }

    /// Polls the requests in turn; `self.turn` names the request of the result.
    fn poll_requests(&mut self, cx: &mut Context<'_>) -> Poll<NextOutput> {
        let numbered = self.back.is_some();
        if self.turn.left > 0
            && let Some(request) = self.requests.get_mut(&self.turn.request)
            && let Poll::Ready(next) = request.poll_next(cx, numbered)
        {
            self.turn.left -= 1;
            return Poll::Ready(next);
        }
        let last = std::mem::take(&mut self.turn.request);
        let after = (Bound::Excluded(&*last), Bound::Unbounded);
        let before = (Bound::Unbounded, Bound::Included(&*last));
        for bounds in [after, before] {
            for (id, request) in self.requests.range_mut::<str, _>(bounds) {
                if let Poll::Ready(next) = request.poll_next(cx, numbered) {
                    self.turn = SendTurn {
                        request: id.clone(),
                        left: TURN - 1,
                    };
                    return Poll::Ready(next);
                }
            }
        }
        self.turn.request = last;
        Poll::Pending
    }

    /// Handles a frame of the hub.
    pub(super) fn handle_frame(&mut self, text: &str) {
        let frame = match parse_downlink(text) {
            Ok(frame) => frame,
            Err(error) => {
                tracing::debug!(agent = %self.agent.id, %error, "a frame of the hub cannot be read");
                return;
            }
        };
        match frame {
            Downlink::Message(message) => self.begin(message),
            Downlink::Cancel(cancel) => drop(self.requests.remove(&*cancel.request_id)),
            Downlink::Ack(ack) => self.acked(&ack.request_id, ack.seq),
            Downlink::Answer(answer) => {
                if let Some(request) = self.requests.get_mut(&*answer.request_id) {
                    let ask_id = answer.ask_id.clone();
                    request.answer(&ask_id, translate::answer(answer));
                }
            }
            Downlink::CallAgentChunk(chunk) => self.calls.chunk(chunk),
            Downlink::CallAgentDone(done) => self.calls.done(&done),
            Downlink::CallAgentError(error) => self.calls.failed(error),
            Downlink::DiscoverAgentsResult(entries) => self.calls.discovered(entries),
            Downlink::Error(error) => self.refused(&error),
            Downlink::RtcSignalRelay(relay) => {
                let signal = translate::signal(relay);
                self.agent.handle_signal(signal, self.signals.signaller());
            }
            // Repeated, or not for the SDK.
            Downlink::Registered(_) | Downlink::Refused(_) | Downlink::Unknown(_) => {}
        }
    }

    fn begin(&mut self, message: downlink::Message<'_>) {
        // The hub repeats a message if unsure whether it arrived.
        if self.requests.contains_key(&*message.request_id) {
            return;
        }
        let message = translate::message_from(message);
        let (id, session) = (message.request_id.clone(), message.session.clone());
        let work = self.agent.work_on(message, self.abilities);
        let request = OpenRequest::new(id.clone(), session, work);
        self.requests.insert(id, request);
    }

    /// Handles a frame that the hub refused. Without the frame the reply would be incomplete, so the request
    /// fails.
    fn refused(&mut self, error: &HubError<'_>) {
        tracing::warn!(agent = %self.agent.id, code = %error.code, message = %error.message, "the hub refused a frame");
        let numbered = self.back.is_some();
        if let Some(id) = error.request_id.as_deref()
            && let Some(request) = self.requests.get_mut(id)
            && !request.fail(&error.message, numbered)
        {
            self.requests.remove(id);
        }
    }

    fn acked(&mut self, id: &str, seq: u64) {
        if let Some(request) = self.requests.get_mut(id) {
            request.acked(seq);
            if request.is_over() {
                self.requests.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
