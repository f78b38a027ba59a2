//! Conversion of a published envelope into a [`EnvelopeClaim`].

use crate::{
    team::teams::{ClaimedSource, EnvelopeClaim},
    wire,
};

/// Returns the claim of an envelope.
pub(super) fn of<'a>(envelope: &'a wire::PublishedEnvelope<'_>) -> EnvelopeClaim<'a> {
    EnvelopeClaim {
        teams: envelope.team_ids.iter().map(Option::as_deref).collect(),
        nodes: envelope.nodes.iter().map(|name| &**name).collect(),
        said: match &envelope.said {
            wire::PublishedSource::Team { new } => ClaimedSource::Team(*new),
            wire::PublishedSource::Agent {
                name,
                agent_id,
                status,
            } => ClaimedSource::Member {
                name,
                agent: agent_id.as_deref(),
                status: *status,
            },
            wire::PublishedSource::TaskPlan => ClaimedSource::Board,
        },
    }
}
