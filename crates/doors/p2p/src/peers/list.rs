//! What a peer is as agents of the hub: by its card, or by the list of another hub.

use jackfield_core::agent;
use jackfield_model::AgentId;
use jackfield_peer::{
    PeerId,
    agent_id::{agent_id, with_suffix},
    inquire,
    node::Node,
    wire::{PeerCard, PeerSkill},
};
use serde::Deserialize;

use super::profile;

/// One agent that a peer brings.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    /// Its id here: what it is called there, and whose it is.
    pub(super) id: AgentId,
    /// What it says of itself.
    pub(super) profile: agent::Profile,
    /// How it is asked.
    pub(super) way: Way,
}

/// How an agent of a peer is asked.
#[derive(Debug, Clone)]
pub(super) enum Way {
    /// By one of the skills of its card.
    Skills(Vec<PeerSkill>),
    /// At this path of a hub.
    Hub(String),
}

/// An agent in the list of a hub.
#[derive(Debug, Deserialize)]
struct Entry {
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
struct List {
    agents: Vec<Entry>,
}

impl Listed {
    /// A peer that is an agent itself. Nothing if no id can be made of its name, or it can do nothing.
    pub(super) fn of_card(peer: PeerId, card: PeerCard) -> Option<Self> {
        if card.skills.is_empty() {
            return None;
        }
        let skills = card.skills.iter().map(|skill| agent::Skill {
            id: skill.id.clone(),
            name: Some(skill.name.clone()).filter(|text| !text.is_empty()),
            description: Some(skill.description.clone()).filter(|text| !text.is_empty()),
        });
        Some(Self {
            id: agent_id(&card.name, peer)?,
            profile: profile(peer, &card.name, &card.description, skills.collect()),
            way: Way::Skills(card.skills),
        })
    }

    fn of_entry(peer: PeerId, entry: Entry) -> Option<Self> {
        // An agent that its hub got from elsewhere is that one's to show.
        if !entry.online || entry.id.contains('@') {
            return None;
        }
        let skills = entry.skills.into_iter().map(|id| agent::Skill {
            id,
            ..agent::Skill::default()
        });
        Some(Self {
            id: with_suffix(&entry.id, peer)?,
            profile: profile(peer, &entry.name, &entry.description, skills.collect()),
            way: Way::Hub(entry.path),
        })
    }
}

/// The agents of another hub, as far as we may know them.
pub(super) async fn fetch(node: &Node, peer: PeerId) -> Result<Vec<Listed>, String> {
    let answer = inquire::fetch(node, peer, &[], "/agents").await;
    let answer = answer.map_err(|failure| failure.to_string())?;
    let list: List = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    let listed = list.agents.into_iter();
    let listed = listed.filter_map(|entry| Listed::of_entry(peer, entry));
    Ok(listed.collect())
}
