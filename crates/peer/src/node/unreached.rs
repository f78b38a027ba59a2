//! Why a connection failed, in one line for people: the library's own errors are nested and name its layers.

use std::{error::Error, io};

use libp2p::{Multiaddr, TransportError, multiaddr::Protocol, swarm::DialError};

use super::StreamOpenError;
use crate::address::is_relayed;

/// Converts a failed dial. Only failures that a second attempt may overcome are told apart.
pub(super) fn open_error(error: &DialError) -> StreamOpenError {
    let was_closed = |(address, error): &(Multiaddr, TransportError<io::Error>)| {
        matches!(dial_failure(address, error), DialFailure::Closed)
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
                .map(|(address, error)| format!("with {address}: {}", dial_failure(address, error)))
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

/// Describes why a relay refused a reservation.
pub(super) fn no_place(error: &io::Error) -> String {
    relay_failure(&whole(error)).to_string()
}

/// Why an address does not lead to a peer. The text is for people.
#[derive(Debug, thiserror::Error)]
enum DialFailure {
    #[error("no transport leads there")]
    NoTransport,
    #[error("nobody listens there")]
    Refused,
    #[error("nobody answers there in time")]
    TimedOut,
    #[error("no way leads there")]
    NoRoute,
    #[error("its name cannot be resolved")]
    Unresolved,
    #[error(transparent)]
    Relay(RelayFailure),
    /// The other side closed the connection, as opposed to sending something unreadable.
    #[error(
        "the connection is closed there at once: a peer takes no more for now, or what is there does not speak libp2p; \
         a hub's libp2p port is one above its HTTP port"
    )]
    Closed,
    #[error(
        "what answers there does not speak libp2p; a hub's libp2p port is one above its HTTP port"
    )]
    OtherProtocol,
    #[error("{0}")]
    Other(String),
}

/// Why a relay does not lead to a peer, or refuses a reservation. The text is for people.
#[derive(Debug, thiserror::Error)]
enum RelayFailure {
    #[error("the peer has no place at this relay: it is not connected with it")]
    NoReservation,
    #[error("the relay does not reach the peer")]
    Unreached,
    #[error("the relay gives nothing more for now, or nothing to this peer")]
    Exhausted,
    #[error("the relay refuses it")]
    Refused,
    #[error("the relay does not allow it")]
    NotAllowed,
    #[error("it is no relay")]
    NoRelay,
    #[error("the connection with the relay ended, or never was")]
    Ended,
    #[error("{0}")]
    Other(String),
}

// The two functions below are the only ones that read English. The library wraps the errors of the operating system
// and of its own layers in private types, so that their texts are the only sign. Everything else uses the two enums.

/// Classifies the error of a dialled address.
fn dial_failure(address: &Multiaddr, error: &TransportError<io::Error>) -> DialFailure {
    let error = match error {
        TransportError::MultiaddrNotSupported(_) => return DialFailure::NoTransport,
        TransportError::Other(error) => error,
    };
    let words = whole(error);
    let said = words.to_ascii_lowercase();
    let is_said = |any: &[&str]| any.iter().any(|it| said.contains(it));
    let is_named = |part: Protocol<'_>| {
        matches!(
            part,
            Protocol::Dns(_) | Protocol::Dns4(_) | Protocol::Dns6(_) | Protocol::Dnsaddr(_)
        )
    };
    let is_tcp = |part: Protocol<'_>| matches!(part, Protocol::Tcp(_));
    if is_said(&["connection refused"]) {
        DialFailure::Refused
    } else if is_said(&["timeout", "timed out"]) {
        DialFailure::TimedOut
    } else if is_said(&["unreachable", "no route to host"]) {
        DialFailure::NoRoute
    } else if is_said(&["resolve"]) && address.iter().any(is_named) {
        DialFailure::Unresolved
    } else if is_relayed(address) {
        DialFailure::Relay(relay_failure(&words))
    } else if !address.iter().any(is_tcp) {
        // QUIC has its own error, since no other protocol answers there.
        DialFailure::Other(one_line(&words))
    } else if is_said(&[
        "eof",
        "end of file",
        "reset by peer",
        "broken pipe",
        "closed",
    ]) {
        DialFailure::Closed
    } else {
        DialFailure::OtherProtocol
    }
}

/// Classifies the error of a relay.
fn relay_failure(words: &str) -> RelayFailure {
    let said = words.to_ascii_lowercase();
    if said.contains("no reservation") {
        RelayFailure::NoReservation
    } else if said.contains("failed to connect to destination") {
        RelayFailure::Unreached
    } else if said.contains("resource limit") {
        RelayFailure::Exhausted
    } else if said.contains("refused") {
        RelayFailure::Refused
    } else if said.contains("denied permission") {
        RelayFailure::NotAllowed
    } else if said.contains("does not support") {
        RelayFailure::NoRelay
    } else if said.contains("cancel") {
        RelayFailure::Ended
    } else {
        RelayFailure::Other(one_line(words))
    }
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
