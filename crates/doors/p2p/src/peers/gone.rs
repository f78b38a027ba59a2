//! Agents of peers that do not come back. While their peer is away they are listed as offline; after a day they are
//! forgotten, unless somebody wants them. Peers are free to come with new names, so that there is no end of them
//! otherwise.

use std::collections::HashSet;

use jackfield_core::{entry::AgentView, hub::Wanted, principal::Principal};
use jackfield_peer::PeerId;
use jiff::{SignedDuration, Timestamp};

use super::Peers;
use crate::DOOR;

/// How long an agent may be away.
const AWAY: SignedDuration = SignedDuration::from_hours(24);

impl Peers {
    /// Forgets the agents that are away too long. Never those of a peer that is kept, nor those that
    /// [`AgentRegistry::forget_evictable`](jackfield_core::hub::AgentRegistry::forget_evictable) spares.
    pub(super) fn forget_gone(&self, now: Timestamp) {
        let known = &self.0.known;
        let hub = &self.0.hub;
        let owner = self.0.reception.terms().owner.clone();
        // Nobody comes meanwhile.
        let here = self.0.here.lock();
        let mut have_agents = HashSet::new();
        for agent in hub
            .agents()
            .discover(&Principal::admin(owner), &Wanted::default())
        {
            let Some(peer) = peer_of(&agent) else {
                continue;
            };
            if here.contains_key(&peer) {
                known.seen(peer, now);
            }
            let away_since = if here.contains_key(&peer) {
                agent.since
            } else {
                // After a restart, `since` knows no better than that the agent was not here since then.
                agent.since.min(known.last_seen(peer, now))
            };
            let is_gone =
                !agent.online && !known.is_kept(peer) && now.duration_since(away_since) >= AWAY;
            // The receipt is nobody's: what is not forgotten now is forgotten the next time.
            if is_gone && hub.agents().forget_evictable(&agent.id).is_some() {
                tracing::info!(agent = %agent.id, %peer, "forgotten: its peer did not come back");
            } else {
                have_agents.insert(peer);
            }
        }
        known.forget_seen(&have_agents);
    }
}

/// The peer that brought an agent, if one did.
fn peer_of(agent: &AgentView) -> Option<PeerId> {
    let endpoint = agent.profile.endpoint.as_deref();
    let peer = endpoint
        .filter(|_| agent.door == DOOR)?
        .strip_prefix("/p2p/")?;
    peer.parse().ok()
}

#[cfg(test)]
mod tests;
