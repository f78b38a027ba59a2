//! Failures in the codes of the protocol, in one exhaustive match (the codes stand in docs/promises.md), and
//! back: the failure that an error of a peer means here.
//!
//! One code stands for several failures. Frames therefore carry the name of the failure where the code says
//! less: hubs talk in frames, and a failure stays the same through any number of hubs. A plain body has only
//! the two members that all peers know.

use jackfield_model::{Failure, Reason};

use crate::wire::{PeerErrorBody, PeerInputError};

/// Longest accepted name of a failure in bytes; our own have at most 15.
const MAX_NAME: usize = 64;

/// Prefix of a peer's words, so that readers do not take them for ours. For people only: programs act on the reason.
const PEER_SAYS: &str = "the peer says: ";

/// The original's code for an agent behind HTTP that cannot be reached.
const AWAY: u16 = 504;

/// Why a handoff has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoffError {
    /// The peer gets this error.
    Reported(PeerErrorBody),
    /// The call was cancelled: the stream is reset.
    Cancelled,
}

impl HandoffError {
    /// Creates an error that no [`Reason`] describes, such as a wrong method.
    pub fn with_code(code: u16, text: impl Into<String>) -> Self {
        Self::Reported(PeerErrorBody::new(text, code))
    }

    /// Creates the error of an agent that is not there, with the code of the original. The original has the
    /// same code for a late agent.
    pub fn away(text: impl Into<String>) -> Self {
        Self::Reported(PeerErrorBody {
            reason: Some(Reason::Offline.name().to_owned()),
            ..PeerErrorBody::new(text, AWAY)
        })
    }

    /// Returns the [`Failure`] that an error of a peer means here: by its name if that fits the code, else by the
    /// code.
    pub fn received(error: &PeerErrorBody) -> Failure {
        let named = error.reason.as_deref().filter(|name| is_name(name));
        let named = named.map(Reason::from_name);
        let named = named.filter(|reason| {
            let is_away = *reason == Reason::Offline && error.code == AWAY;
            is_away || code(reason) == Some(error.code)
        });
        let reason = named.unwrap_or_else(|| reason_by_code(error.code));
        // The prefix stands once, through any number of hubs. Only the text shows whether another hub has added it: the
        // protocol has no field for that.
        let text = match error.text.starts_with(PEER_SAYS) {
            true => error.text.clone(),
            false => format!("{PEER_SAYS}{}", error.text),
        };
        Failure::new(reason, text)
    }
}

/// Returns whether a text may be the name of a failure; sentences may not.
fn is_name(text: &str) -> bool {
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-' | b'.');
    text.len() <= MAX_NAME && text.bytes().all(fits)
}

/// Returns the [`Reason`] that a code without a name means.
fn reason_by_code(code: u16) -> Reason {
    match code {
        400 | 405 => Reason::Invalid,
        401 | 403 => Reason::Unauthorized,
        404 => Reason::NotFound,
        409 => Reason::Conflict,
        413 => Reason::TooLarge,
        429 => Reason::Busy,
        502 => Reason::Offline,
        504 => Reason::Timeout,
        _ => Reason::Agent("peer_error".into()),
    }
}

/// Returns the code of a [`Reason`]; `None` if the stream is reset instead.
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

impl From<Failure> for HandoffError {
    fn from(failure: Failure) -> Self {
        match code(&failure.reason) {
            Some(code) => Self::Reported(PeerErrorBody {
                // Where the code says it all, the error has only the members that all peers know.
                reason: (failure.reason != reason_by_code(code))
                    .then(|| failure.reason.name().to_owned()),
                ..PeerErrorBody::new(failure.text, code)
            }),
            None => Self::Cancelled,
        }
    }
}

impl From<PeerInputError> for HandoffError {
    fn from(fault: PeerInputError) -> Self {
        Self::Reported(fault.to_body())
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::{PeerAnswer, frame::FrameWriter, read_answer};

    use super::*;

    #[test]
    fn failures_have_the_codes_that_the_promises_name() {
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

    /// How an error looks in a frame.
    fn framed(error: &PeerErrorBody) -> String {
        let mut line = String::new();
        FrameWriter::default().error(error, &mut line);
        line
    }

    fn heard(json: &str) -> Failure {
        match read_answer(json.as_bytes()) {
            PeerAnswer::Error(error) => HandoffError::received(&error),
            PeerAnswer::Body(_) => panic!("{json} is an error"),
        }
    }

    #[test]
    fn a_failure_passes_a_hub_unchanged() {
        for name in [
            "invalid",
            "unsupported",
            "too_large",
            "unauthorized",
            "not_found",
            "session_unknown",
            "offline",
            "stopping",
            "busy",
            "rate_limited",
            "loop",
            "conflict",
            "timeout",
            "crashed",
            "an_agents_own",
            "slow_reader",
            "internal",
        ] {
            let failure = Failure::new(Reason::from_name(name), "the peer says: so it is");
            let HandoffError::Reported(error) = HandoffError::from(failure.clone()) else {
                panic!("{name} is told");
            };
            assert_eq!(heard(&framed(&error)), failure);
        }
    }

    #[test]
    fn an_error_without_a_name_or_with_one_that_does_not_fit_its_code_means_what_the_code_says() {
        for (json, reason) in [
            (r#"{"error":"x","code":429}"#, "busy"),
            (r#"{"error":"x","code":504}"#, "timeout"),
            (r#"{"error":"x","code":418}"#, "peer_error"),
            (r#"{"error":"x","code":429,"reason":"not_found"}"#, "busy"),
            (
                r#"{"error":"x","code":500,"reason":"disk_full"}"#,
                "peer_error",
            ),
            (r#"{"error":"x","code":504,"reason":"offline"}"#, "offline"),
            (
                r#"{"error":"x","code":502,"reason":"cancelled"}"#,
                "offline",
            ),
            (
                r#"{"error":"x","code":502,"reason":"it is down"}"#,
                "offline",
            ),
        ] {
            let failure = heard(json);
            assert_eq!(failure.reason.name(), reason, "{json}");
            assert_eq!(failure.text, "the peer says: x");
        }
    }

    #[test]
    fn a_plain_error_has_two_members_and_a_frame_a_reason_where_they_do_not_say_it_all() {
        for (reason, body, in_frame) in [
            (Reason::Offline, r#"{"error":"x","code":502}"#, ""),
            (
                Reason::Crashed,
                r#"{"error":"x","code":502}"#,
                r#","reason":"crashed""#,
            ),
        ] {
            let HandoffError::Reported(error) = HandoffError::from(Failure::new(reason, "x"))
            else {
                panic!("it is told");
            };
            assert_eq!(error.to_json(), body);
            let frame = format!(r#"{{"type":"error","error":"x","code":502{in_frame}}}"#);
            assert_eq!(framed(&error).trim_end(), frame);
        }
    }
}
