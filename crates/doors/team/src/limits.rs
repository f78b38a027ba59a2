//! The limits of teams, each with its reason. They are configurable under `[teams]`.

use jackfield_core::units::{Size, Span};
use serde::{Deserialize, Serialize};

/// The limits of teams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TeamLimits {
    /// Bytes that a team's run keeps for lagging viewers; beyond that they miss events. Enough for a burst of
    /// 100,000.
    pub ring: Size,
    /// Bytes that a team's run keeps for new and returning viewers: some thousand events.
    pub tail: Size,
    /// Bytes of all runs together beyond which each keeps only a little.
    pub rings: Size,
    /// Time without activity after which a team's run is over and forgotten.
    pub rest: Span,
    /// Largest number of members per team.
    pub members: usize,
    /// Largest number of tasks on a team's board.
    pub tasks: usize,
}

impl Default for TeamLimits {
    fn default() -> Self {
        Self {
            ring: Size::mib(192),
            tail: Size::mib(4),
            rings: Size::mib(512),
            rest: Span::secs(600),
            members: 64,
            tasks: 1000,
        }
    }
}
