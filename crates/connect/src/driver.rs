//! The seam between the hub's side and a kind of local agent.

use std::{fmt, pin::Pin};

use jackfield_sdk::{Failure, Skill};

use crate::{Turn, Voice};

/// A driver at work on a turn. Dropping it means that the turn is cancelled: whatever was started for it must end.
pub type Working<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// What an agent says of itself. What the operator says of it counts more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Introduction {
    /// A name for people.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// What it can do.
    pub skills: Vec<Skill>,
}

/// A kind of local agent.
pub trait Driver: fmt::Debug + Send + Sync + 'static {
    /// What the hub and people call this kind: `claude`, `exec`, …
    fn kind(&self) -> &'static str;

    /// Looks whether turns can work at all, before the agent attaches: a command that does not exist is told at once.
    fn check(&self) -> Working<'_>;

    /// What the agent says of itself, as [`check`](Self::check) found it.
    fn introduction(&self) -> Introduction {
        Introduction::default()
    }

    /// Carries out one turn. Codes of failures are the bridge's: `adapter_crash` if the agent died or spoke nonsense,
    /// `timeout`, `agent_busy`, `invalid_message`; any other is the agent's own.
    fn work(&self, turn: Turn, voice: Voice) -> Working<'_>;
}
