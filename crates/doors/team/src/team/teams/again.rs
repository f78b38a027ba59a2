//! Restoring the placement of a durable call: after a restart of the hub, or in the next turn of its task.

use super::place::Placing;
use crate::team::{KeptSeat, event::Caller, registry::Registry, seat::Belonging, tree::Place};

impl Registry {
    /// Places a call at the stored positions of its task. Skips removed teams. If the agent no longer holds
    /// the position, the call belongs to the run as a call from outside the team.
    pub(super) fn sit_again(&self, placing: &mut Placing, kept: &[KeptSeat]) {
        for kept in kept {
            let Some(team) = self.get(kept.team.as_str()) else {
                continue;
            };
            if placing.is_on(&team.stage) {
                continue;
            }
            let is_it = |place: &Place| {
                let names = place.path.iter().map(|node| &*node.name);
                names.eq(kept.path.iter().map(String::as_str))
                    && Some(&*place.name) == kept.member.as_deref()
                    && place.agent == placing.agent
            };
            match self.tree(&team.id).places().into_iter().find(is_it) {
                Some(place) => placing.sit(&team.stage, place, false),
                None => placing.runs.push(Belonging {
                    stage: team.stage.clone(),
                    from: kept.path.iter().map(|name| name.as_str().into()).collect(),
                    member: None,
                    caller: Caller::of_key(&kept.caller),
                }),
            }
        }
    }
}
