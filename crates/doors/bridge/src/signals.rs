//! Signalling for file transfers. Signals from agents to HTTP callers wait here until they are fetched.
//! Signals between agents are passed on at once. `parties.rs` checks who may signal whom. The hub does not
//! interpret signals.
//!
//! [`PendingSignals`] is bounded in every dimension, and pure except for its lock: the time is a parameter.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use jackfield_model::{AgentId, Failure, Offer};
use jackfield_transfer::{
    hub::Transfer,
    signal::{PREPARE_UPLOAD, RELAY, StatusSignal},
};
use jackfield_wire::{
    bridge::{
        downlink::{self, HTTP_CALLER, RtcRelay},
        uplink::RtcSignal,
    },
    observers::{HIDDEN, without_tokens},
};
use parking_lot::Mutex;
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until, timeout_at},
};

use crate::{door::Bridge, link::BridgeLink};

#[cfg(test)]
mod tests;

/// Maximum number of simultaneous transfers of one agent with HTTP callers, as in the original hub.
pub(crate) const MAX_TRANSFERS: usize = 100;
/// Maximum number of waiting signals per transfer, as in the original hub.
pub(crate) const MAX_SIGNALS: usize = 50;
/// Time for which signals wait, counted from the first request of the caller, or before it from the first
/// signal; callers give up after 30 s.
pub(crate) const TTL: Duration = Duration::from_secs(60);
/// Maximum size of one signal: several times the longest session description.
pub(crate) const MAX_SIGNAL: usize = 64 << 10;
/// Maximum number of bytes of all waiting signals of all agents.
pub(crate) const MAX_BYTES: usize = 32 << 20;
/// Longest type of a signal.
const MAX_TYPE: usize = 128;
/// Bytes that a transfer or a signal counts beyond its texts.
const OVERHEAD: usize = 128;

/// A waiting signal.
#[derive(Debug)]
pub(crate) struct PendingSignal {
    pub(crate) signal_type: String,
    pub(crate) payload: Option<Box<RawValue>>,
}

impl PendingSignal {
    fn weight(&self) -> usize {
        let payload = self.payload.as_ref().map_or(0, |raw| raw.get().len());
        OVERHEAD + self.signal_type.len() + payload
    }
}

#[derive(Debug)]
struct SignalBuffer {
    signals: VecDeque<PendingSignal>,
    until: Instant,
    /// Whether a caller has fetched signals; `until` counts from then on.
    is_met: bool,
    /// Notified when a signal arrives.
    notify: Arc<Notify>,
}

impl SignalBuffer {
    fn new(now: Instant) -> Self {
        Self {
            signals: VecDeque::new(),
            until: now + TTL,
            is_met: false,
            notify: Arc::default(),
        }
    }

    fn weight(&self, id: &str) -> usize {
        OVERHEAD
            + id.len()
            + self
                .signals
                .iter()
                .map(PendingSignal::weight)
                .sum::<usize>()
    }
}

#[derive(Debug, Default)]
struct SignalBuffers {
    agents: HashMap<AgentId, HashMap<String, SignalBuffer>>,
    bytes: usize,
}

impl SignalBuffers {
    /// Drops transfers that expired without a fetch, of one agent or of all.
    fn expire(&mut self, agent: Option<&AgentId>, now: Instant) {
        let bytes = &mut self.bytes;
        let mut trim = |transfers: &mut HashMap<String, SignalBuffer>| {
            transfers.retain(|id, transfer| {
                let stays = now < transfer.until;
                if !stays {
                    *bytes -= transfer.weight(id);
                }
                stays
            });
            !transfers.is_empty()
        };
        match agent {
            Some(agent) => {
                if self
                    .agents
                    .get_mut(agent)
                    .is_some_and(|transfers| !trim(transfers))
                {
                    self.agents.remove(agent);
                }
            }
            None => self.agents.retain(|_, transfers| trim(transfers)),
        }
    }

    /// Returns a transfer; creates a missing one if there is room.
    fn transfer(&mut self, agent: &AgentId, id: &str, now: Instant) -> Option<&mut SignalBuffer> {
        self.expire(Some(agent), now);
        let known = self.agents.get(agent);
        if !known.is_some_and(|transfers| transfers.contains_key(id)) {
            if known.is_some_and(|transfers| transfers.len() >= MAX_TRANSFERS)
                || !self.has_room(OVERHEAD + id.len(), now)
            {
                return None;
            }
            self.bytes += OVERHEAD + id.len();
            let transfers = self.agents.entry(agent.clone()).or_default();
            transfers.insert(id.to_owned(), SignalBuffer::new(now));
        }
        self.agents.get_mut(agent)?.get_mut(id)
    }

    fn has_room(&mut self, weight: usize, now: Instant) -> bool {
        if self.bytes + weight > MAX_BYTES {
            self.expire(None, now);
        }
        self.bytes + weight <= MAX_BYTES
    }
}

/// Signals from agents to HTTP callers that wait to be fetched.
#[derive(Debug, Default)]
pub(crate) struct PendingSignals(Mutex<SignalBuffers>);

impl PendingSignals {
    /// Adds an [`RtcSignal`] from an agent to an HTTP caller. Returns `false` and drops the signal if there
    /// is no room.
    pub(crate) fn push(&self, agent: &AgentId, signal: &RtcSignal<'_>, now: Instant) -> bool {
        let waiting = PendingSignal {
            signal_type: signal.signal_type.to_string(),
            payload: signal.payload.map(ToOwned::to_owned),
        };
        let weight = waiting.weight();
        let mut buffers = self.0.lock();
        if weight > MAX_SIGNAL || !buffers.has_room(weight, now) {
            return false;
        }
        let transfer = buffers.transfer(agent, &signal.transfer_id, now);
        let Some(transfer) = transfer.filter(|transfer| transfer.signals.len() < MAX_SIGNALS)
        else {
            return false;
        };
        transfer.signals.push_back(waiting);
        transfer.notify.notify_one();
        buffers.bytes += weight;
        true
    }

    /// Returns and removes the waiting signals for an HTTP caller.
    pub(crate) fn take(&self, agent: &AgentId, transfer: &str, now: Instant) -> Vec<PendingSignal> {
        let mut buffers = self.0.lock();
        let Some(transfer) = buffers.transfer(agent, transfer, now) else {
            return Vec::new();
        };
        if !transfer.is_met {
            transfer.is_met = true;
            transfer.until = now + TTL;
        }
        let taken = std::mem::take(&mut transfer.signals);
        buffers.bytes -= taken.iter().map(PendingSignal::weight).sum::<usize>();
        taken.into()
    }

    /// Waits until `until` for signals of a known transfer, then returns and removes them. Polling keeps the
    /// transfer from expiring.
    pub(crate) async fn wait(
        &self,
        agent: &AgentId,
        transfer: &str,
        until: Instant,
    ) -> Vec<PendingSignal> {
        loop {
            let now = Instant::now();
            let taken = self.take(agent, transfer, now);
            if !taken.is_empty() || now >= until {
                return taken;
            }
            match self.prolong(agent, transfer, now) {
                Some(notify) => drop(timeout_at(until, notify.notified()).await),
                // There is no room for the transfer now.
                None => sleep_until(until).await,
            }
        }
    }

    fn prolong(&self, agent: &AgentId, transfer: &str, now: Instant) -> Option<Arc<Notify>> {
        let mut buffers = self.0.lock();
        let transfer = buffers.transfer(agent, transfer, now)?;
        transfer.until = now + TTL;
        Some(transfer.notify.clone())
    }

    /// Drops the signals of a transfer.
    pub(crate) fn forget(&self, agent: &AgentId, transfer: &str) {
        let mut buffers = self.0.lock();
        let Some(transfers) = buffers.agents.get_mut(agent) else {
            return;
        };
        if let Some(removed) = transfers.remove(transfer) {
            let is_last = transfers.is_empty();
            buffers.bytes -= removed.weight(transfer);
            if is_last {
                buffers.agents.remove(agent);
            }
        }
    }

    /// Drops all transfers of an agent that went offline.
    pub(crate) fn clear(&self, agent: &AgentId) {
        let mut buffers = self.0.lock();
        if let Some(transfers) = buffers.agents.remove(agent) {
            let weight = |(id, transfer): (&String, &SignalBuffer)| transfer.weight(id);
            buffers.bytes -= transfers.iter().map(weight).sum::<usize>();
        }
    }
}

/// A signal from the hub, or from a caller via the hub, to the agent of a transfer.
#[derive(Debug, Default)]
pub(crate) struct SignalToAgent<'a> {
    pub(crate) signal_type: &'a str,
    pub(crate) payload: Option<&'a RawValue>,
    pub(crate) client_id: Option<&'a str>,
    pub(crate) ice_servers: Option<&'a RawValue>,
}

/// Sends a signal to the agent of a transfer, on behalf of the HTTP caller.
pub(crate) fn send_to_transfer(
    bridge: &Bridge,
    transfer: &Transfer,
    word: &SignalToAgent<'_>,
) -> Result<(), Failure> {
    send_to_agent(bridge, &transfer.agent, &transfer.offer.transfer_id, word)
}

/// Sends a signal to an agent, on behalf of an HTTP caller.
pub(crate) fn send_to_agent(
    bridge: &Bridge,
    agent: &AgentId,
    transfer: &str,
    word: &SignalToAgent<'_>,
) -> Result<(), Failure> {
    let frame = downlink::rtc_signal_relay(&RtcRelay {
        transfer_id: transfer.into(),
        from_agent_id: HTTP_CALLER.into(),
        signal_type: word.signal_type.into(),
        payload: word.payload,
        client_id: word.client_id.map(Into::into),
        ice_servers: word.ice_servers,
        extra: Vec::new(),
    });
    post(bridge, agent, frame)
}

/// Posts a frame to the connection of an agent of this door; agents of other doors do not use signals. The
/// caller of this function checks the permission before: a party of a transfer may answer the other one, even
/// if it may not call it.
pub(crate) fn post(bridge: &Bridge, to: &AgentId, frame: String) -> Result<(), Failure> {
    let link = bridge
        .hub
        .agents()
        .find(&bridge.platform, to.as_str())?
        .link();
    let link = link.and_then(|link| BridgeLink::behind(&*link));
    match link {
        Some(link) => link.post_frame(frame),
        None => Err(Failure::agent_offline()),
    }
}

/// Notifies the caller of a transfer, on behalf of the agent, that the archive was interrupted and why.
/// Without room for the signal, the caller sees only the interruption.
pub(crate) fn notify_interrupted(bridge: &Bridge, transfer: &Transfer, why: &str) {
    let status = StatusSignal::Interrupted(why.to_owned());
    let Ok(payload) = to_raw_value(&status.payload()) else {
        return;
    };
    let signal = RtcSignal {
        transfer_id: transfer.offer.transfer_id.as_str().into(),
        target_agent_id: HTTP_CALLER.into(),
        signal_type: status.signal_type().into(),
        payload: Some(&payload),
        extra: Vec::new(),
    };
    bridge
        .signals
        .push(&transfer.agent, &signal, Instant::now());
}

/// Checks whether callers and agents may send a signal of this type; the error is the reason. Only some may
/// announce an archive.
pub(crate) fn check_type(signal_type: &str, may_announce: bool) -> Result<(), &'static str> {
    match signal_type {
        RELAY => Err("field \"signal_type\": only the hub itself says relay"),
        PREPARE_UPLOAD if !may_announce => {
            Err("field \"signal_type\": announce an archive with POST /v1/agents/{id}/transfers")
        }
        _ if signal_type.is_empty() || signal_type.len() > MAX_TYPE => {
            Err("field \"signal_type\" must have 1 to 128 bytes")
        }
        _ => Ok(()),
    }
}

/// Reads the [`Offer`] in the payload of a `prepare-upload`; returns `None` if the offer is invalid or names
/// a different transfer.
pub(crate) fn announced_offer(transfer: &str, payload: Option<&RawValue>) -> Option<Offer> {
    let text: String = serde_json::from_str(payload?.get()).ok()?;
    Offer::read(&text).filter(|offer| offer.transfer_id == transfer)
}

/// Removes from a frame the parts hidden from observers: tokens, credentials of ICE servers, and valid
/// tickets.
pub(crate) fn for_observers(frame: &str) -> Cow<'_, str> {
    match without_credentials(frame) {
        Cow::Borrowed(frame) => without_tokens(frame),
        Cow::Owned(frame) => without_tokens(&frame).into_owned().into(),
    }
}

fn without_credentials(frame: &str) -> Cow<'_, str> {
    // A backslash may be part of an escape such as `\u005f`, which spells the type or a field differently.
    if !frame.contains("rtc_signal") && !frame.contains('\\') {
        return frame.into();
    }
    let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(frame) else {
        return "a frame that cannot be read".into();
    };
    let kind = members.get("type").and_then(Value::as_str);
    // `rtc_signal` from agents, `rtc_signal_relay` to them.
    if !kind.is_some_and(|kind| kind.starts_with("rtc_signal")) {
        return frame.into();
    }
    let is_ticket = members.get("signal_type").is_some_and(|it| it == RELAY);
    let hidden = ["ice_servers", "payload"];
    for name in hidden.into_iter().take(1 + usize::from(is_ticket)) {
        if let Some(value) = members.get_mut(name) {
            *value = HIDDEN.into();
        }
    }
    Value::Object(members).to_string().into()
}
