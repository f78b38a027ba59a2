//! Agents of peers that do not return. While their peer is away they are listed as offline; after a day they
//! are removed, unless somebody needs them. Peers may return under new names forever, so the list would grow
//! without bound.

use std::collections::HashSet;

use jackfield_core::{entry::AgentView, hub::Wanted, principal::Principal};
use jackfield_peer::PeerId;
use jiff::{SignedDuration, Timestamp};

use super::PeerTracker;
use crate::DOOR;

/// Longest absence of an agent.
const AWAY: SignedDuration = SignedDuration::from_hours(24);

impl PeerTracker {
    /// Removes agents that are away too long, except those of a kept peer and those that
    /// [`AgentRegistry::forget_evictable`](jackfield_core::hub::AgentRegistry::forget_evictable) spares.
    pub(super) fn forget_gone(&self, now: Timestamp) {
        let known = &self.0.known;
        let hub = &self.0.hub;
        let owner = self.0.host.terms().owner.clone();
        // The lock keeps peers from being tracked meanwhile.
        let tracked = self.0.tracked.lock();
        let mut have_agents = HashSet::new();
        for agent in hub
            .agents()
            .discover(&Principal::admin(owner), &Wanted::default())
        {
            let Some(peer) = peer_of(&agent) else {
                continue;
            };
            if tracked.contains_key(&peer) {
                known.seen(peer, now);
            }
            let away_since = if tracked.contains_key(&peer) {
                agent.since
            } else {
                // After a restart, `since` is the start of the hub at best.
                agent.since.min(known.last_seen(peer, now))
            };
            let is_gone =
                !agent.online && !known.is_kept(peer) && now.duration_since(away_since) >= AWAY;
            // The receipt is dropped: an agent that is not removed now is removed by the next sweep.
            if is_gone && hub.agents().forget_evictable(&agent.id).is_some() {
                tracing::info!(agent = %agent.id, %peer, "forgotten: its peer did not come back");
            } else {
                have_agents.insert(peer);
            }
        }
        known.forget_seen(&have_agents);
    }
}

/// Returns the peer that brought an agent, if one did.
fn peer_of(agent: &AgentView) -> Option<PeerId> {
    let endpoint = agent.profile.endpoint.as_deref();
    let peer = endpoint
        .filter(|_| agent.door == DOOR)?
        .strip_prefix("/p2p/")?;
    peer.parse().ok()
}

#[cfg(test)]
mod tests;
