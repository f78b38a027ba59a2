//! Permissions for signals: only the two parties of a transfer may signal each other. About a transfer
//! unknown to the hub (expired, or offered in an invalid way) only the platform may signal, as in the
//! original hub; the agent decides about such a signal.

use jackfield_core::principal::Principal;
use jackfield_model::{AgentId, Failure, Reason};
use jackfield_transfer::{hub::not_yours, signal::PREPARE_UPLOAD};
use jackfield_wire::bridge::{
    downlink::{self, HTTP_CALLER, RtcRelay},
    uplink::RtcSignal,
};
use tokio::time::Instant;

use crate::{
    client,
    door::Bridge,
    signals::{self, announced_offer, check_type},
};

/// A refused signal: the [`Failure`], and the wrong field.
#[derive(Debug)]
pub(crate) struct SignalRefusal {
    pub(crate) failure: Failure,
    pub(crate) field: &'static str,
}

impl SignalRefusal {
    fn by(field: &'static str) -> impl FnOnce(Failure) -> Self {
        move |failure| Self { failure, field }
    }
}

/// Passes on an [`RtcSignal`] of an agent. The hub sets the sender and ignores the agent's own statement.
pub(crate) fn pass_on(
    bridge: &Bridge,
    principal: &Principal,
    from: &AgentId,
    signal: &RtcSignal<'_>,
) -> Result<(), SignalRefusal> {
    if let Err(why) = check_type(&signal.signal_type, true) {
        let failure = Failure::new(Reason::Invalid, why);
        return Err(SignalRefusal::by("signal_type")(failure));
    }
    if signal.target_agent_id == HTTP_CALLER {
        // The owner of the transfer is checked when the signal is fetched.
        let is_in = bridge.signals.push(from, signal, Instant::now());
        let full = || Failure::new(Reason::Busy, "too many signals wait to be fetched");
        let pushed = is_in.then_some(()).ok_or_else(full);
        return pushed.map_err(SignalRefusal::by("target_agent_id"));
    }
    // As everywhere, a UUID matches in either case.
    let to = AgentId::parse(&signal.target_agent_id);
    let to = to.map_err(|_| Failure::no_such_agent(&signal.target_agent_id));
    let to = to.map_err(SignalRefusal::by("target_agent_id"))?;
    if signal.signal_type == PREPARE_UPLOAD {
        return announce(bridge, principal, from, &to, signal);
    }
    let to = other_party(bridge, principal, from, to, &signal.transfer_id);
    let to = to.map_err(SignalRefusal::by("transfer_id"))?;
    post(bridge, from, &to, signal, None)
}

/// Returns the addressed agent, if it and the sender are the two parties of a transfer.
fn other_party(
    bridge: &Bridge,
    principal: &Principal,
    from: &AgentId,
    to: AgentId,
    transfer: &str,
) -> Result<AgentId, Failure> {
    let (book, now) = (&bridge.transfers, Instant::now());
    let served = book.find(from, transfer, now);
    if served.is_some_and(|it| it.agent == *from && it.peer.as_ref() == Some(&to)) {
        return Ok(to);
    }
    let made = book.of_caller(principal, &to, transfer, now)?;
    Ok(made.agent.clone())
}

/// Announces an archive from an agent to a different agent, which the sender may call.
fn announce(
    bridge: &Bridge,
    principal: &Principal,
    from: &AgentId,
    to: &AgentId,
    signal: &RtcSignal<'_>,
) -> Result<(), SignalRefusal> {
    let called = bridge.hub.agents().find(principal, to.as_str());
    called.map_err(SignalRefusal::by("target_agent_id"))?;
    let Some(offer) = announced_offer(&signal.transfer_id, signal.payload) else {
        let text = "field \"payload\" must be the text of an offer of this transfer";
        return Err(SignalRefusal::by("payload")(Failure::new(
            Reason::Invalid,
            text,
        )));
    };
    let book = &bridge.transfers;
    let announced = book.announced(to, principal, offer, Instant::now());
    let transfer = announced.map_err(SignalRefusal::by("transfer_id"))?;
    let posted = post(bridge, from, to, signal, Some(client::of_agent(from)));
    if posted.is_err() {
        book.withdraw(&transfer);
    }
    posted
}

fn post(
    bridge: &Bridge,
    from: &AgentId,
    to: &AgentId,
    signal: &RtcSignal<'_>,
    client_id: Option<String>,
) -> Result<(), SignalRefusal> {
    let frame = downlink::rtc_signal_relay(&RtcRelay {
        transfer_id: signal.transfer_id.clone(),
        from_agent_id: from.as_str().into(),
        signal_type: signal.signal_type.clone(),
        payload: signal.payload,
        client_id: client_id.map(Into::into),
        ice_servers: None,
        extra: signal.extra.clone(),
    });
    signals::post(bridge, to, frame).map_err(SignalRefusal::by("target_agent_id"))
}

/// Returns the agent that the platform signals about a transfer: one of a transfer of the platform, or of a
/// transfer unknown to the hub.
pub(crate) fn for_platform(
    bridge: &Bridge,
    agent: AgentId,
    transfer: &str,
) -> Result<AgentId, Failure> {
    match bridge.transfers.find(&agent, transfer, Instant::now()) {
        Some(known) if known.is_of(&bridge.platform) => Ok(known.agent.clone()),
        Some(_) => Err(not_yours()),
        None => Ok(agent),
    }
}
