//! The agents of a peer: from its card, or from the list of another hub.

use jackfield_core::agent::Profile;
use jackfield_model::{AgentId, Skill};
use jackfield_peer::{
    PeerId,
    agent_id::{agent_id, with_suffix},
    inquire,
    node::Node,
    wire::{PeerCard, PeerSkill},
};
use serde::Deserialize;

use super::profile;

/// One agent of a peer.
#[derive(Debug, Clone)]
pub(super) struct RemoteAgent {
    /// Id at this hub: its name there, and the end of the peer id.
    pub(super) id: AgentId,
    /// Profile of the agent.
    pub(super) profile: Profile,
    /// How the agent is called.
    pub(super) way: PeerRoute,
}

/// How an agent of a peer is called.
#[derive(Debug, Clone)]
pub(super) enum PeerRoute {
    /// By one of the skills of its card.
    Skills(Vec<PeerSkill>),
    /// At this path of a hub.
    Hub(String),
}

/// An agent in the list of a hub.
#[derive(Debug, Deserialize)]
struct HubListEntry {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    online: bool,
    path: String,
    #[serde(default)]
    skills: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct HubList {
    agents: Vec<HubListEntry>,
}

impl RemoteAgent {
    /// Returns a peer that is an agent itself; `None` if its name makes no id, or it has no skills.
    pub(super) fn of_card(peer: PeerId, card: PeerCard) -> Option<Self> {
        if card.skills.is_empty() {
            return None;
        }
        let skills = card.skills.iter().map(|skill| Skill {
            id: skill.id.clone(),
            name: Some(skill.name.clone()).filter(|text| !text.is_empty()),
            description: Some(skill.description.clone()).filter(|text| !text.is_empty()),
        });
        Some(Self {
            id: agent_id(&card.name, peer)?,
            profile: profile(peer, &card.name, &card.description, skills.collect()),
            way: PeerRoute::Skills(card.skills),
        })
    }

    fn of_entry(peer: PeerId, entry: HubListEntry) -> Option<Self> {
        // An agent that the hub got from another peer is shown by that peer.
        if !entry.online || entry.id.contains('@') {
            return None;
        }
        let skills = entry.skills.into_iter().map(|id| Skill {
            id,
            ..Skill::default()
        });
        Some(Self {
            id: with_suffix(&entry.id, peer)?,
            profile: profile(peer, &entry.name, &entry.description, skills.collect()),
            way: PeerRoute::Hub(entry.path),
        })
    }
}

/// Fetches the visible agents of another hub.
pub(super) async fn fetch(node: &Node, peer: PeerId) -> Result<Vec<RemoteAgent>, String> {
    let answer = inquire::fetch(node, peer, &[], "/agents").await;
    let answer = answer.map_err(|failure| failure.to_string())?;
    let list: HubList = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    let listed = list.agents.into_iter();
    let listed = listed.filter_map(|entry| RemoteAgent::of_entry(peer, entry));
    Ok(listed.collect())
}
