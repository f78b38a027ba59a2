//! Restoring the placement of a durable call: after a restart of the hub, or in the next turn of its task.

use super::placement::CallPlacement;
use crate::team::{
    StoredMembership, event::CallerKey, feed_observer::RunMembership, registry::TeamRegistry,
    tree::TreePosition,
};

impl TeamRegistry {
    /// Places a call at the stored positions of its task. Skips removed teams. If the agent no longer holds
    /// the position, the call belongs to the run as a call from outside the team.
    pub(super) fn restore_positions(&self, placing: &mut CallPlacement, kept: &[StoredMembership]) {
        for kept in kept {
            let Some(team) = self.get(kept.team.as_str()) else {
                continue;
            };
            if placing.is_shown_in(&team.feed) {
                continue;
            }
            let is_it = |place: &TreePosition| {
                let names = place.path.iter().map(|node| &*node.name);
                names.eq(kept.path.iter().map(String::as_str))
                    && Some(&*place.name) == kept.member.as_deref()
                    && place.agent == placing.agent
            };
            match self.tree(&team.id).positions().into_iter().find(is_it) {
                Some(place) => placing.add_position(&team.feed, place, false),
                None => placing.runs.push(RunMembership {
                    feed: team.feed.clone(),
                    from: kept.path.iter().map(|name| name.as_str().into()).collect(),
                    member: None,
                    caller: CallerKey::of_key(&kept.caller),
                }),
            }
        }
    }
}
