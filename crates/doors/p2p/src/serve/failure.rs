//! What a peer is told when something goes wrong: the core's failures in the codes of DESIGN 8, in one exhaustive match.

use jackfield_core::failure::{Failure, Reason};
use jackfield_wire::p2p::{ErrorBody, Fault};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The peer is told this.
    Told(ErrorBody),
    /// Somebody cancelled the call: the stream is reset.
    Cancelled,
}

impl Trouble {
    /// Something that no failure of the core is about, such as a method.
    pub(crate) fn coded(code: u16, text: impl Into<String>) -> Self {
        Self::Told(ErrorBody::new(text, code))
    }
}

/// The code of a failure; none if the stream is reset instead.
fn code(reason: &Reason) -> Option<u16> {
    Some(match reason {
        Reason::Invalid | Reason::Unsupported => 400,
        Reason::TooLarge => 413,
        Reason::Unauthorized => 401,
        Reason::NotFound | Reason::SessionUnknown => 404,
        Reason::Busy | Reason::RateLimited | Reason::Loop => 429,
        Reason::Conflict => 409,
        Reason::Timeout => 504,
        Reason::Offline | Reason::Stopping | Reason::Crashed | Reason::Agent(_) => 502,
        Reason::SlowReader | Reason::Internal => 500,
        Reason::Cancelled => return None,
    })
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match code(&failure.reason) {
            Some(code) => Self::coded(code, failure.text),
            None => Self::Cancelled,
        }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Told(fault.to_body())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_codes_of_the_design() {
        for (name, wanted) in [
            ("invalid", 400),
            ("unsupported", 400),
            ("too_large", 413),
            ("unauthorized", 401),
            ("not_found", 404),
            ("session_unknown", 404),
            ("offline", 502),
            ("stopping", 502),
            ("busy", 429),
            ("rate_limited", 429),
            ("loop", 429),
            ("conflict", 409),
            ("timeout", 504),
            ("crashed", 502),
            ("an_agents_own", 502),
            ("slow_reader", 500),
            ("internal", 500),
        ] {
            assert_eq!(code(&Reason::from_name(name)), Some(wanted), "{name}");
        }
        assert_eq!(code(&Reason::Cancelled), None, "the stream is reset");
    }
}
