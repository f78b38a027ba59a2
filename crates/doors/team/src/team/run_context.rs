//! Runs that a call belongs to. Calls made by the agent inherit the runs. The runs are stored with the call's
//! task: after a restart of the hub, or when the task continues, the events appear in the same feeds as
//! before.

use jackfield_core::resolver::CallContext;
use jackfield_model::{AgentId, Json};
use serde::{Deserialize, Serialize};

use super::feed_observer::RunMembership;

/// Stored form of a [`RunMembership`]: a team that a durable call was made for, and the position in the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredMembership {
    /// Id of the team.
    pub(crate) team: AgentId,
    /// Names along the path to the team of the last member, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) path: Vec<String>,
    /// Name of the member in the innermost team. `None` if the agent is not a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<String>,
    /// Caller at the root of the call chain: [`jackfield_core::principal::Principal::key`].
    pub(crate) caller: String,
}

impl StoredMembership {
    /// Reads the memberships stored with a task.
    pub(crate) fn read(kept: &Json) -> Vec<Self> {
        serde_json::from_str(kept.get()).unwrap_or_else(|error| {
            tracing::warn!(%error, "the runs of a task cannot be read; it is not shown in them");
            Vec::new()
        })
    }
}

/// Runs that a call belongs to; at least one.
#[derive(Debug)]
pub(crate) struct RunContext(pub(crate) Box<[RunMembership]>);

impl RunContext {
    pub(crate) fn new(runs: Vec<RunMembership>) -> Option<Self> {
        (!runs.is_empty()).then(|| Self(runs.into()))
    }
}

impl CallContext for RunContext {
    fn kept(&self) -> Option<Json> {
        let kept = self.0.iter().map(|run| StoredMembership {
            team: run.feed.of.clone(),
            path: run.from.iter().map(ToString::to_string).collect(),
            member: run.member.as_ref().map(ToString::to_string),
            caller: run.caller.key().to_owned(),
        });
        Json::of(&kept.collect::<Vec<_>>()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seats_of_a_call_read_back_as_they_were_kept() {
        let membership = |path: &[&str], member: Option<&str>| StoredMembership {
            team: AgentId::parse("shop").unwrap(),
            path: path.iter().map(ToString::to_string).collect(),
            member: member.map(str::to_owned),
            caller: "ann/agent/lead".into(),
        };
        let memberships = [
            membership(&[], Some("lead")),
            membership(&["back end", "db"], Some("d\u{e9}")),
            membership(&["db"], None),
        ];
        assert_eq!(
            StoredMembership::read(&Json::of(&memberships).unwrap()),
            memberships
        );
        // What another program wrote is no reason not to go on with the task.
        let unknown = Json::parse(r#"{"team": "shop"}"#).unwrap();
        assert_eq!(StoredMembership::read(&unknown), []);
    }
}
