//! The runs of teams that a kept call belongs to, as they are written down with its task: after a restart of the hub, or
//! when the task goes on, what is done is shown where it was before.

use jackfield_model::AgentId;
use serde::{Deserialize, Serialize};

use crate::call::Call;

/// A team that a kept call was made for, and the place in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSeat {
    /// The team.
    pub team: AgentId,
    /// The names on the way to the team within it in which the last member sat, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The name there of the member that works on it; nothing if the agent is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Whose call led to it: [`crate::principal::Principal::key`].
    pub caller: String,
}

impl KeptSeat {
    /// Those of a call.
    pub(crate) fn of(call: &Call) -> Vec<Self> {
        let kept = call.runs.iter().map(|run| Self {
            team: run.stage.of.clone(),
            path: run.from.iter().map(ToString::to_string).collect(),
            member: run.member.as_ref().map(ToString::to_string),
            caller: run.caller.key().to_owned(),
        });
        kept.collect()
    }
}
