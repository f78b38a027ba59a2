//! [`Driver`], the interface between the hub's side and one kind of local agent.

use std::{fmt, pin::Pin};

use jackfield_sdk::{AgentFailure, Skill};

use crate::{DriverOutput, Turn};

/// Future of a driver's work on a [`Turn`]. Dropping it cancels the turn and must end every process started for
/// the turn.
pub type DriverFuture<'a> = Pin<Box<dyn Future<Output = Result<(), AgentFailure>> + Send + 'a>>;

/// An agent's description of itself ([`Driver::self_description`]). The operator's settings take precedence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SelfDescription {
    /// Display name.
    pub name: Option<String>,
    /// Description of the agent's purpose.
    pub description: Option<String>,
    /// The agent's own version.
    pub version: Option<String>,
    /// The agent's skills.
    pub skills: Vec<Skill>,
}

/// A kind of local agent.
pub trait Driver: fmt::Debug + Send + Sync + 'static {
    /// Returns the name of this kind: `claude`, `exec`, …
    fn kind(&self) -> &'static str;

    /// Checks whether turns can work at all. Called before the agent attaches, to report a missing command at
    /// once.
    fn check(&self) -> DriverFuture<'_>;

    /// Returns the agent's description of itself, as found by [`check`](Self::check).
    fn self_description(&self) -> SelfDescription {
        SelfDescription::default()
    }

    /// Carries out one [`Turn`]. Failure codes are the bridge's: `adapter_crash` if the agent died or sent
    /// invalid output, `timeout`, `agent_busy`, `invalid_message`; any other code is the agent's own.
    fn work(&self, turn: Turn, voice: DriverOutput) -> DriverFuture<'_>;
}
