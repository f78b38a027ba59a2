//! Why a try to move an archive did not work, and what that means for the next one.

use std::time::Duration;

use jackfield_connect::through_hub::RelayError;
use jackfield_files::{ChannelError, PartError, TransferError};
use jackfield_sdk::{Backoff, Error};

use crate::{
    exit::{self, About, Code, Stop},
    output,
};

/// How often in a row nothing more may come.
const FRUITLESS: u32 = 5;
/// How often it is tried in all.
const TRIES: u32 = 50;
/// How long to wait between tries, at first and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(8));

/// Why a try did not work.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It was cut: the next try may go on.
    Cut(Stop),
    /// There is no direct way.
    NoWay(String),
    /// The hub or the agent says no. What came before may be of use some other time.
    Refused(Stop),
    /// The hub knows of no such transfer of ours: it will not come under this id.
    Unknown(Stop),
    /// What came is not what was offered: it is of no use to anybody.
    Bad(Stop),
}

impl Trouble {
    /// The way is gone.
    pub(super) fn cut(why: impl std::fmt::Display) -> Self {
        Self::Cut(Stop {
            code: Code::Failed,
            text: why.to_string(),
            next: None,
        })
    }

    /// What came cannot be taken.
    fn bad(text: impl std::fmt::Display) -> Self {
        Self::Bad(Stop::new(
            Code::Agent,
            format!("the files are refused: {text}"),
            "nothing was unpacked; call the agent again, or ask its owner",
        ))
    }

    /// What the agent gives as its reason.
    pub(super) fn said(reason: &str) -> Self {
        Self::Refused(Stop::new(
            Code::Agent,
            format!("the agent says: {}", output::clean(reason)),
            "jackfield call AGENT TEXT --with-files packs them anew",
        ))
    }
}

/// There is no direct way, and no other may be taken.
pub(super) fn no_way(why: &str) -> Stop {
    Stop {
        code: Code::Failed,
        text: format!("no direct way to the agent: {why}"),
        next: None,
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        if let Error::Unreachable { source, .. } = &error
            && exit::answers(&**source)
        {
            // It was there, and is cut off before it could say a word.
            return Self::Cut(Stop::from_hub(&Error::Broken, About::Agent));
        }
        let is_passing = match error.code() {
            // An agent that is away comes back.
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
                    "only who called the agent may have its files, for an hour, so this transfer is forgotten here: \
                     jackfield call AGENT TEXT --with-files fetches them anew",
                ));
            }
            // An agent that does not come with its ticket never will.
            Error::Refused { code, .. } if code == "timeout" => {
                return Self::Refused(Stop::new(
                    Code::Timeout,
                    error.to_string(),
                    "agents of jackfield connect can do both; --via direct tries without the hub",
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
            PartError::InUse => Self::cut("another command receives the same files just now"),
            PartError::Io(_) => Self::Refused(Stop::new(
                Code::Failed,
                error.to_string(),
                "try again when that is mended",
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

/// How often it may still be tried.
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
    /// How long to wait before the next try; nothing if there should be none.
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
