//! Conversion of a published envelope into a [`Claim`].

use crate::{
    team::teams::{Claim, Said},
    wire,
};

/// Returns the claim of an envelope.
pub(super) fn of<'a>(envelope: &'a wire::Published<'_>) -> Claim<'a> {
    Claim {
        teams: envelope.team_ids.iter().map(Option::as_deref).collect(),
        nodes: envelope.nodes.iter().map(|name| &**name).collect(),
        said: match &envelope.said {
            wire::Said::Team { new } => Said::Team(*new),
            wire::Said::Agent {
                name,
                agent_id,
                status,
            } => Said::Member {
                name,
                agent: agent_id.as_deref(),
                status: *status,
            },
            wire::Said::TaskPlan => Said::Board,
        },
    }
}
