//! Errors of one attempt to transfer an archive, with their meaning for the next attempt.

use std::time::Duration;

use jackfield_connect::through_hub::RelayError;
use jackfield_files::{ChannelError, PartError, TransferError};
use jackfield_sdk::{Backoff, Error};

use crate::{
    exit::{self, About, Code, Stop},
    output,
};

/// Maximum number of attempts in a row without progress.
const FRUITLESS: u32 = 5;
/// Maximum number of attempts in total.
const TRIES: u32 = 50;
/// Shortest and longest wait between attempts.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(8));

/// Error of an attempt.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection was lost: the next attempt may resume.
    Cut(Stop),
    /// No direct connection is possible.
    NoWay(String),
    /// The hub or the agent refused. The partial archive may be useful later.
    Refused(Stop),
    /// The hub knows no such transfer of this user: this id will never work.
    Unknown(Stop),
    /// The data do not match the offer, and are useless.
    Bad(Stop),
}

impl Trouble {
    /// Builds [`Trouble::Cut`] for a lost connection.
    pub(super) fn cut(why: impl std::fmt::Display) -> Self {
        Self::Cut(Stop {
            code: Code::Failed,
            text: why.to_string(),
            next: None,
        })
    }

    /// Builds [`Trouble::Bad`] for data that must be refused.
    fn bad(text: impl std::fmt::Display) -> Self {
        Self::Bad(Stop::new(
            Code::Agent,
            format!("the files are refused: {text}"),
            "nothing was unpacked; call the agent again, or ask its owner",
        ))
    }

    /// Builds [`Trouble::Refused`] with the agent's reason.
    pub(super) fn said(reason: &str) -> Self {
        Self::Refused(Stop::new(
            Code::Agent,
            format!("the agent says: {}", output::clean(reason)),
            "jackfield call AGENT TEXT --with-files packs them again",
        ))
    }
}

/// Builds the [`Stop`] for an impossible direct connection, when no other route is allowed.
pub(super) fn no_way(why: &str) -> Stop {
    Stop {
        code: Code::Failed,
        text: format!("no direct connection to the agent: {why}"),
        next: None,
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        if let Error::Unreachable { source, .. } = &error
            && exit::answers(&**source)
        {
            // The hub accepted the connection, which was lost before the response.
            return Self::Cut(Stop::from_hub(&Error::Broken, About::Agent));
        }
        let is_passing = match error.code() {
            // An offline agent may return.
            Some("offline" | "busy") => true,
            _ => error.is_passing(),
        };
        match &error {
            Error::Refused {
                status: 403, code, ..
            } if code == "unauthorized" => {
                return Self::Unknown(Stop::new(
                    Code::Auth,
                    error.to_string(),
                    "only the caller may download the files of an agent, for one hour, so this transfer is removed here: \
                     jackfield call AGENT TEXT --with-files downloads them again",
                ));
            }
            // An agent that did not connect for the relay never will.
            Error::Refused { code, .. } if code == "timeout" => {
                return Self::Refused(Stop::new(
                    Code::Timeout,
                    error.to_string(),
                    "agents of jackfield connect support both routes; --via direct tries without the hub",
                ));
            }
            _ => {}
        }
        match is_passing {
            true => Self::Cut(Stop::from_hub(&error, About::Agent)),
            false => Self::Refused(Stop::from_hub(&error, About::Agent)),
        }
    }
}

impl From<ChannelError> for Trouble {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Cut(why) | ChannelError::NoWay(why) | ChannelError::Signal(why) => {
                Self::NoWay(why)
            }
        }
    }
}

impl From<PartError> for Trouble {
    fn from(error: PartError) -> Self {
        match error {
            PartError::InUse => Self::cut("another command is downloading the same files"),
            PartError::Io(_) => Self::Refused(Stop::new(
                Code::Failed,
                error.to_string(),
                "fix this and try again",
            )),
            error => Self::bad(error),
        }
    }
}

impl From<TransferError> for Trouble {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Channel(_) | TransferError::Silent => Self::cut(error),
            TransferError::Part(error) => error.into(),
            TransferError::Archive(_) | TransferError::Protocol(_) => Self::bad(error),
        }
    }
}

impl From<RelayError> for Trouble {
    fn from(error: RelayError) -> Self {
        match error {
            RelayError::Hub(error) => error.into(),
            RelayError::Part(error) => error.into(),
        }
    }
}

/// Counter of attempts.
#[derive(Debug)]
pub(super) struct Tries {
    backoff: Backoff,
    fruitless: u32,
    all: u32,
}

impl Default for Tries {
    fn default() -> Self {
        Self {
            backoff: Backoff::new(WAITS.0, WAITS.1),
            fruitless: 0,
            all: 0,
        }
    }
}

impl Tries {
    /// Returns the wait before the next attempt; `None` to give up.
    pub(super) fn next(&mut self, came_further: bool) -> Option<Duration> {
        if came_further {
            self.fruitless = 0;
            self.backoff.reset();
        }
        self.fruitless += 1;
        self.all += 1;
        (self.fruitless < FRUITLESS && self.all < TRIES).then(|| self.backoff.next_wait())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_that_came_further_is_followed_by_as_many_as_the_first() {
        let mut tries = Tries::default();
        for _ in 1..FRUITLESS {
            assert!(tries.next(false).is_some());
        }
        assert_eq!(tries.next(false), None);
        assert!(tries.next(true).is_some());
        let further = (0..TRIES).take_while(|_| tries.next(true).is_some());
        assert!(further.count() < TRIES as usize, "but not for ever");
    }
}
