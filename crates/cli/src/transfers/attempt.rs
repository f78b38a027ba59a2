//! Errors of one attempt to transfer an archive, with their meaning for the next attempt.

use std::time::Duration;

use jackfield_connect::through_hub::RelayError;
use jackfield_sdk::{Backoff, Error};
use jackfield_transfer::{ChannelError, PartError, TransferError};

use crate::{
    exit::{self, CliError, ErrorSubject, ExitKind},
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
pub(super) enum AttemptError {
    /// The connection was lost: the next attempt may resume.
    Cut(CliError),
    /// No direct connection is possible.
    NoWay(String),
    /// The hub or the agent refused. The partial archive may be useful later.
    Refused(CliError),
    /// The hub knows no such transfer of this user: this id will never work.
    Unknown(CliError),
    /// The data do not match the offer, and are useless.
    Bad(CliError),
}

impl AttemptError {
    /// Builds [`AttemptError::Cut`] for a lost connection.
    pub(super) fn cut(why: impl std::fmt::Display) -> Self {
        Self::Cut(CliError {
            code: ExitKind::Failed,
            text: why.to_string(),
            next: None,
        })
    }

    /// Builds [`AttemptError::Bad`] for data that must be refused.
    fn bad(text: impl std::fmt::Display) -> Self {
        Self::Bad(CliError::new(
            ExitKind::Agent,
            format!("the files are refused: {text}"),
            "nothing was unpacked; call the agent again, or ask its owner",
        ))
    }

    /// Builds [`AttemptError::Refused`] with the agent's reason.
    pub(super) fn said(reason: &str) -> Self {
        Self::Refused(CliError::new(
            ExitKind::Agent,
            format!("the agent says: {}", output::clean(reason)),
            "jackfield call AGENT TEXT --with-files packs them again",
        ))
    }
}

/// Builds the [`CliError`] for an impossible direct connection, when no other route is allowed.
pub(super) fn no_direct_connection(why: &str) -> CliError {
    CliError {
        code: ExitKind::Failed,
        text: format!("no direct connection to the agent: {why}"),
        next: None,
    }
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        if let Error::Unreachable { source, .. } = &error
            && exit::is_not_http(&**source)
        {
            // The hub accepted the connection, which was lost before the response.
            return Self::Cut(CliError::from_hub(&Error::Broken, ErrorSubject::Agent));
        }
        let is_passing = match error.code() {
            // An offline agent may return.
            Some("offline" | "busy") => true,
            _ => error.is_retryable(),
        };
        match &error {
            Error::Refused {
                status: 403, code, ..
            } if code == "unauthorized" => {
                return Self::Unknown(CliError::new(
                    ExitKind::Auth,
                    error.to_string(),
                    "only the caller may download the files of an agent, for one hour, so this transfer is removed here: \
                     jackfield call AGENT TEXT --with-files downloads them again",
                ));
            }
            // An agent that did not connect for the relay never will.
            Error::Refused { code, .. } if code == "timeout" => {
                return Self::Refused(CliError::new(
                    ExitKind::Timeout,
                    error.to_string(),
                    "agents of jackfield connect support both routes; --via direct tries without the hub",
                ));
            }
            _ => {}
        }
        match is_passing {
            true => Self::Cut(CliError::from_hub(&error, ErrorSubject::Agent)),
            false => Self::Refused(CliError::from_hub(&error, ErrorSubject::Agent)),
        }
    }
}

impl From<ChannelError> for AttemptError {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Cut(why) | ChannelError::NoRoute(why) | ChannelError::Signal(why) => {
                Self::NoWay(why)
            }
        }
    }
}

impl From<PartError> for AttemptError {
    fn from(error: PartError) -> Self {
        match error {
            PartError::InUse => Self::cut("another command is downloading the same files"),
            PartError::Io(_) => Self::Refused(CliError::new(
                ExitKind::Failed,
                error.to_string(),
                "fix this and try again",
            )),
            error => Self::bad(error),
        }
    }
}

impl From<TransferError> for AttemptError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Channel(_) | TransferError::Silent => Self::cut(error),
            TransferError::Part(error) => error.into(),
            TransferError::Archive(_) | TransferError::Protocol(_) => Self::bad(error),
        }
    }
}

impl From<RelayError> for AttemptError {
    fn from(error: RelayError) -> Self {
        match error {
            RelayError::Hub(error) => error.into(),
            RelayError::Part(error) => error.into(),
        }
    }
}

/// Counter of attempts.
#[derive(Debug)]
pub(super) struct AttemptCounter {
    backoff: Backoff,
    fruitless: u32,
    all: u32,
}

impl Default for AttemptCounter {
    fn default() -> Self {
        Self {
            backoff: Backoff::new(WAITS.0, WAITS.1),
            fruitless: 0,
            all: 0,
        }
    }
}

impl AttemptCounter {
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
        let mut tries = AttemptCounter::default();
        for _ in 1..FRUITLESS {
            assert!(tries.next(false).is_some());
        }
        assert_eq!(tries.next(false), None);
        assert!(tries.next(true).is_some());
        let further = (0..TRIES).take_while(|_| tries.next(true).is_some());
        assert!(further.count() < TRIES as usize, "but not for ever");
    }
}
