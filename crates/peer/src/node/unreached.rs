//! Why a connection failed, in one line for people: the library's own errors are nested and name its layers.

use std::{error::Error, io};

use libp2p::{Multiaddr, TransportError, multiaddr::Protocol, swarm::DialError};

use super::StreamOpenError;
use crate::address::is_relayed;

/// Converts a failed dial. Only failures that a second attempt may overcome are told apart.
pub(super) fn open_error(error: &DialError) -> StreamOpenError {
    let was_closed = |(address, error): &(Multiaddr, TransportError<io::Error>)| match error {
        TransportError::Other(error) => is_direct_tcp(address) && is_closed(&whole(error)),
        TransportError::MultiaddrNotSupported(_) => false,
    };
    match error {
        DialError::Transport(tried) if tried.iter().any(was_closed) => {
            StreamOpenError::TurnedAway(told(error))
        }
        _ => StreamOpenError::Unreachable(told(error)),
    }
}

/// Describes why no address led to the peer, as the end of a sentence that begins with "cannot connect".
fn told(error: &DialError) -> String {
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
    // The library wraps errors of the operating system in private types, so only their text is left.
    let words = whole(error);
    let said = words.to_ascii_lowercase();
    let is_said = |any: &[&str]| any.iter().any(|it| said.contains(it));
    let is_named = |part: Protocol<'_>| {
        matches!(
            part,
            Protocol::Dns(_) | Protocol::Dns4(_) | Protocol::Dns6(_) | Protocol::Dnsaddr(_)
        )
    };
    if is_said(&["connection refused"]) {
        "nobody listens there".to_owned()
    } else if is_said(&["timeout", "timed out"]) {
        "nobody answers there in time".to_owned()
    } else if is_said(&["unreachable", "no route to host"]) {
        "no way leads there".to_owned()
    } else if is_said(&["resolve"]) && address.iter().any(is_named) {
        "its name cannot be resolved".to_owned()
    } else if is_relayed(address) {
        by_relay(&words)
    } else if is_direct_tcp(address) && is_closed(&words) {
        "the connection is closed there at once: a peer takes no more for now, or what is there does not speak libp2p; \
         a hub's libp2p port is one above its HTTP port"
            .to_owned()
    } else if is_direct_tcp(address) {
        // QUIC has its own error, since no other protocol answers there.
        "what answers there does not speak libp2p; a hub's libp2p port is one above its HTTP port"
            .to_owned()
    } else {
        one_line(&words)
    }
}

fn is_direct_tcp(address: &Multiaddr) -> bool {
    let is_tcp = address.iter().any(|part| matches!(part, Protocol::Tcp(_)));
    is_tcp && !is_relayed(address)
}

/// Returns whether the other side closed the connection, as opposed to sending something unreadable.
fn is_closed(words: &str) -> bool {
    let said = words.to_ascii_lowercase();
    let ends = [
        "eof",
        "end of file",
        "reset by peer",
        "broken pipe",
        "closed",
    ];
    ends.iter().any(|it| said.contains(it))
}

/// Describes why a relay refused a reservation.
pub(super) fn no_place(error: &io::Error) -> String {
    by_relay(&whole(error))
}

/// Describes a failure at a relay by the library's words for it.
fn by_relay(words: &str) -> String {
    let told = [
        (
            "no reservation",
            "the peer has no place at this relay: it is not connected with it",
        ),
        (
            "failed to connect to destination",
            "the relay does not reach the peer",
        ),
        (
            "resource limit",
            "the relay gives nothing more for now, or nothing to this peer",
        ),
        ("refused", "the relay refuses it"),
        ("denied permission", "the relay does not allow it"),
        ("does not support", "it is no relay"),
        (
            "cancel",
            "the connection with the relay ended, or never was",
        ),
    ];
    let said = words.to_ascii_lowercase();
    let known = told.iter().find(|(word, _)| said.contains(word));
    known.map_or_else(|| one_line(words), |(_, told)| (*told).to_owned())
}

/// Joins the texts of an error and its sources.
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

/// Returns the text without line breaks.
pub(super) fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
