//! Why no connection was made, in one line for people: the library says it in nested words that name its own layers.

use std::{error::Error, io};

use libp2p::{Multiaddr, TransportError, multiaddr::Protocol, swarm::DialError};

use crate::address::is_relayed;

/// Why none of the addresses led to the peer, as the end of a sentence that begins with "cannot connect".
pub(super) fn told(error: &DialError) -> String {
    match error {
        DialError::WrongPeerId { obtained, address } => {
            format!("with {address}: another peer answers there: {obtained}")
        }
        DialError::LocalPeerId { address } => format!("with {address}: it leads back here"),
        DialError::Transport(tried) => {
            let mut lines: Vec<_> = tried
                .iter()
                .map(|(address, error)| format!("with {address}: {}", by_transport(address, error)))
                .collect();
            lines.dedup();
            lines.join("; ")
        }
        DialError::Denied { cause } => format!("it is refused here: {}", one_line(&whole(cause))),
        DialError::NoAddresses | DialError::DialPeerConditionFalse(_) | DialError::Aborted => {
            one_line(&error.to_string())
        }
    }
}

fn by_transport(address: &Multiaddr, error: &TransportError<io::Error>) -> String {
    let error = match error {
        TransportError::MultiaddrNotSupported(_) => return "no transport leads there".to_owned(),
        TransportError::Other(error) => error,
    };
    // The library wraps what the system says in types of its own, so that only its words are left.
    let words = whole(error);
    let said = words.to_ascii_lowercase();
    let is_said = |any: &[&str]| any.iter().any(|it| said.contains(it));
    let is_named = |part: Protocol<'_>| {
        matches!(
            part,
            Protocol::Dns(_) | Protocol::Dns4(_) | Protocol::Dns6(_) | Protocol::Dnsaddr(_)
        )
    };
    let is_direct_tcp =
        address.iter().any(|part| matches!(part, Protocol::Tcp(_))) && !is_relayed(address);
    if is_said(&["connection refused"]) {
        "nobody listens there".to_owned()
    } else if is_said(&["timeout", "timed out"]) {
        "nobody answers there in time".to_owned()
    } else if is_said(&["unreachable", "no route to host"]) {
        "no way leads there".to_owned()
    } else if is_said(&["resolve"]) && address.iter().any(is_named) {
        "its name cannot be resolved".to_owned()
    } else if is_direct_tcp {
        // A relay that was reached has a reason of its own, and so has QUIC, which nobody else answers.
        "what answers there does not speak libp2p; a hub's libp2p port is one above its HTTP port"
            .to_owned()
    } else {
        one_line(&words)
    }
}

/// All that an error and its sources say.
fn whole(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = source.source();
    }
    words
}

/// The same words without line breaks.
pub(super) fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
