//! The pairs of which more, or less, is to be said than of their two columns: two agents of Agora, which the hub relays
//! frame by frame; two peers, which meet without it; and files of A2A, which Agora has a place for.

use super::{Matter, Passage, Protocol};

/// How something passes between two that are a case of their own; nothing for all others.
pub(super) fn passage(caller: Protocol, callee: Protocol, matter: Matter) -> Option<Passage> {
    match (caller, callee) {
        (Protocol::Agora, Protocol::Agora) => relay(matter),
        (Protocol::P2p, Protocol::P2p) => peers(matter),
        (Protocol::Agora, Protocol::A2a) if matter == Matter::Attachment => {
            let text = "in `artifacts` of the payload, bytes as bytes";
            Some(Passage::whole(text))
        }
        _ => None,
    }
}

/// Between two agents of Agora.
fn relay(matter: Matter) -> Option<Passage> {
    Some(match matter {
        Matter::Attachment => Passage::whole("the payload as it is, bytes too"),
        Matter::Ask => Passage::whole("the payload as it is; so is the answer"),
        Matter::CancelByCaller => {
            Passage::whole("`cancel` as it is; what the agent makes of it is its own affair")
        }
        Matter::CallerGone => Passage::folded("`error` `offline`, if a stream is open"),
        Matter::AgentGone => Passage::folded("`error` `offline`, if a stream is open"),
        Matter::Timeout => {
            Passage::not("a plain relay has no clock: both wait as long as they like")
        }
        Matter::OneShot
        | Matter::Streamed
        | Matter::Kinds
        | Matter::AgentError
        | Matter::SlowReader
        | Matter::UnknownAgent
        | Matter::ForeignAgent => return None,
    })
}

/// Between two peers.
fn peers(matter: Matter) -> Option<Passage> {
    match matter {
        Matter::UnknownAgent | Matter::ForeignAgent => None,
        _ => Some(Passage::not(
            "404: peers hand off to each other directly, the hub shows no peer to a peer",
        )),
    }
}
