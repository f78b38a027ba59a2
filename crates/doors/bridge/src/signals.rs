//! Signalling of file transfers: what agents say to HTTP callers waits here until it is fetched; what they say to each
//! other goes straight on. The hub only passes signals on; the files go from peer to peer.
//!
//! [`Signals`] is bounded in every direction, and pure but for its lock: the time is told to it.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use jackfield_core::{failure::Failure, hub::Hub, id::AgentId, principal::Principal};
use jackfield_wire::bridge::{
    downlink::{self, RtcRelay},
    uplink::RtcSignal,
};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::link::BridgeLink;

#[cfg(test)]
mod tests;

/// Transfers of one agent with HTTP callers at a time; as the original hub has it.
pub(crate) const MAX_TRANSFERS: usize = 100;
/// Signals of one transfer that wait to be fetched; as the original hub has it.
pub(crate) const MAX_SIGNALS: usize = 50;
/// How long signals wait after the first exchange, or before it; callers give up after 30 s.
pub(crate) const TTL: Duration = Duration::from_secs(60);
/// One signal: several times the longest session description.
pub(crate) const MAX_SIGNAL: usize = 64 << 10;
/// All signals that wait, of all agents.
pub(crate) const MAX_BYTES: usize = 32 << 20;
/// What a transfer or a signal takes besides its texts.
const OVERHEAD: usize = 128;

/// A signal that waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) signal_type: String,
    pub(crate) payload: Option<Box<RawValue>>,
}

impl Waiting {
    fn weight(&self) -> usize {
        let payload = self.payload.as_ref().map_or(0, |raw| raw.get().len());
        OVERHEAD + self.signal_type.len() + payload
    }
}

#[derive(Debug)]
struct Transfer {
    signals: VecDeque<Waiting>,
    until: Instant,
    /// A caller was here: the time runs from then.
    is_met: bool,
}

impl Transfer {
    fn new(now: Instant) -> Self {
        Self {
            signals: VecDeque::new(),
            until: now + TTL,
            is_met: false,
        }
    }

    fn weight(&self, id: &str) -> usize {
        OVERHEAD + id.len() + self.signals.iter().map(Waiting::weight).sum::<usize>()
    }
}

#[derive(Debug, Default)]
struct Buffers {
    agents: HashMap<AgentId, HashMap<String, Transfer>>,
    bytes: usize,
}

impl Buffers {
    /// Forgets what nobody fetched in time, of one agent or of all.
    fn expire(&mut self, agent: Option<&AgentId>, now: Instant) {
        let bytes = &mut self.bytes;
        let mut trim = |transfers: &mut HashMap<String, Transfer>| {
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

    /// The transfer, made if there is room for it.
    fn transfer(&mut self, agent: &AgentId, id: &str, now: Instant) -> Option<&mut Transfer> {
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
            transfers.insert(id.to_owned(), Transfer::new(now));
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

/// What agents said to HTTP callers and nobody fetched yet.
#[derive(Debug, Default)]
pub(crate) struct Signals(Mutex<Buffers>);

impl Signals {
    /// An agent said something to an HTTP caller. False if there is no room for it; it is dropped then.
    pub(crate) fn push(&self, agent: &AgentId, signal: &RtcSignal<'_>, now: Instant) -> bool {
        let waiting = Waiting {
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
        buffers.bytes += weight;
        true
    }

    /// An HTTP caller is here and takes what waits for it.
    pub(crate) fn take(&self, agent: &AgentId, transfer: &str, now: Instant) -> Vec<Waiting> {
        let mut buffers = self.0.lock();
        let Some(transfer) = buffers.transfer(agent, transfer, now) else {
            return Vec::new();
        };
        if !transfer.is_met {
            transfer.is_met = true;
            transfer.until = now + TTL;
        }
        let taken = std::mem::take(&mut transfer.signals);
        buffers.bytes -= taken.iter().map(Waiting::weight).sum::<usize>();
        taken.into()
    }

    /// An agent went offline: its transfers went with it.
    pub(crate) fn clear(&self, agent: &AgentId) {
        let mut buffers = self.0.lock();
        if let Some(transfers) = buffers.agents.remove(agent) {
            let weight = |(id, transfer): (&String, &Transfer)| transfer.weight(id);
            buffers.bytes -= transfers.iter().map(weight).sum::<usize>();
        }
    }
}

/// Passes a signal of an agent on to another one, which it may call. The sender is stamped, never believed.
pub(crate) fn relay(
    hub: &Hub,
    principal: &Principal,
    from: &AgentId,
    signal: &RtcSignal<'_>,
) -> Result<(), Failure> {
    let frame = downlink::rtc_signal_relay(&RtcRelay {
        transfer_id: signal.transfer_id.clone(),
        from_agent_id: from.as_str().into(),
        signal_type: signal.signal_type.clone(),
        payload: signal.payload,
        client_id: None,
        ice_servers: None,
        extra: signal.extra.clone(),
    });
    post(hub, principal, &signal.target_agent_id, frame)
}

/// Puts a frame into the connection of an agent of this door; agents of other doors have no use for signals.
pub(crate) fn post(
    hub: &Hub,
    principal: &Principal,
    to: &str,
    frame: String,
) -> Result<(), Failure> {
    // As everywhere, a UUID is the same in either case.
    let id = AgentId::parse(to).map_err(|_| Failure::no_such_agent(to))?;
    let link = hub.find(principal, id.as_str())?.link();
    let link = link.and_then(|link| BridgeLink::behind(&*link));
    match link {
        Some(link) => link.post_frame(frame),
        None => Err(Failure::agent_offline()),
    }
}
