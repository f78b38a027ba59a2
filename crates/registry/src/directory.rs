//! Search results of the registry: peers, and the hub's agents that peers reach by a handoff to the hub.

use jackfield_core::{entry::AgentView, principal::Principal};
use jackfield_model::Skill;
use jackfield_peer::wire::registry::{
    Entry,
    find::{FoundAgent, FoundTool},
};

use super::{PeerQuery, RegisteredPeer, RegistryService, find::SearchSubject};

impl RegistryService {
    /// Returns the hub's agents that peers reach and the caller may know.
    pub(super) fn agents(&self, principal: &Principal) -> Vec<AgentView> {
        let mut agents = (self.hub_peer.agents)();
        agents.retain(|view| {
            let found = self.hub.agents().find(principal, view.id.as_str());
            found.is_ok()
        });
        agents
    }

    /// Returns the [`Entry`] of the hub itself, if the hub has an address.
    pub(super) fn own_entry(&self, agents: &[AgentView]) -> Option<Entry> {
        let addresses = (self.hub_peer.addresses)();
        if addresses.is_empty() {
            return None;
        }
        let mut capabilities: Vec<String> = Vec::new();
        for view in agents {
            let skills = view.profile.skills.iter().map(|skill| skill.id.as_str());
            for skill in [view.id.as_str()].into_iter().chain(skills) {
                if !capabilities.iter().any(|had| had == skill) {
                    capabilities.push(skill.to_owned());
                }
            }
        }
        Some(Entry {
            peer_id: self.hub_peer.peer_id.clone(),
            agent_name: Some(self.hub_peer.name.clone()),
            addresses,
            capabilities,
            registered_at: None,
            expires_at: None,
        })
    }

    /// Returns matching agents, the best first: peers, and agents of the hub.
    pub(super) fn found_agents(
        &self,
        principal: &Principal,
        sought: &PeerQuery,
    ) -> Vec<FoundAgent> {
        let peers = self.registry.find(sought).into_iter().map(|registered| {
            let score = sought.score(&SearchSubject::from(&registered));
            (score, found_peer(&registered))
        });
        let endpoint = (self.hub_peer.addresses)().into_iter().next();
        let agents = endpoint.map(|endpoint| {
            let agents = self.agents(principal).into_iter().filter_map(|view| {
                let score = sought.score(&SearchSubject::from(&view))?;
                Some((Some(score), self.found_agent(&view, &endpoint)))
            });
            agents.collect::<Vec<_>>()
        });
        let mut found: Vec<_> = peers.chain(agents.into_iter().flatten()).collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().map(|(_, agent)| agent).collect()
    }

    fn found_agent(&self, view: &AgentView, endpoint: &str) -> FoundAgent {
        let profile = &view.profile;
        FoundAgent {
            name: view.id.to_string(),
            description: profile
                .description
                .clone()
                .unwrap_or_else(|| profile.name.clone()),
            version: profile.version.clone().unwrap_or_default(),
            endpoint: endpoint.to_owned(),
            peer_id: self.hub_peer.peer_id.clone(),
        }
    }

    /// Returns matching skills, the best first: of peers that showed a card, and of agents of the hub.
    pub(super) fn found_tools(&self, principal: &Principal, sought: &PeerQuery) -> Vec<FoundTool> {
        let mut found = Vec::new();
        let mut judge = |subject: SearchSubject<'_>, tool: FoundTool| {
            found.extend(sought.score(&subject).map(|score| (score, tool)));
        };
        for registered in self.registry.find(&PeerQuery::default()) {
            let Some(card) = &registered.card else {
                continue;
            };
            for skill in &card.skills {
                let subject = SearchSubject {
                    name: &skill.id,
                    skills: vec![&skill.name],
                    texts: vec![&skill.description],
                };
                let schema = skill.input_schema.clone();
                judge(
                    subject,
                    FoundTool {
                        name: skill.id.clone(),
                        description: skill.description.clone(),
                        version: card.version.clone(),
                        parameters: schema.or_else(|| skill.params_schema.clone()),
                    },
                );
            }
        }
        for view in self.agents(principal) {
            for Skill {
                id,
                name,
                description,
            } in &view.profile.skills
            {
                let subject = SearchSubject {
                    name: id,
                    skills: name.iter().map(String::as_str).collect(),
                    texts: description.iter().map(String::as_str).collect(),
                };
                let told = description.as_ref().or(name.as_ref()).unwrap_or(id);
                judge(
                    subject,
                    FoundTool {
                        name: id.clone(),
                        description: told.clone(),
                        version: view.profile.version.clone().unwrap_or_default(),
                        parameters: None,
                    },
                );
            }
        }
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().map(|(_, tool)| tool).collect()
    }
}

fn found_peer(registered: &RegisteredPeer) -> FoundAgent {
    let card = registered.card.as_deref();
    FoundAgent {
        name: registered.name.clone(),
        description: card
            .map(|card| card.description.clone())
            .unwrap_or_default(),
        version: card.map(|card| card.version.clone()).unwrap_or_default(),
        endpoint: registered
            .addresses
            .first()
            .map(ToString::to_string)
            .unwrap_or_default(),
        peer_id: registered.peer.to_string(),
    }
}

impl<'a> From<&'a AgentView> for SearchSubject<'a> {
    fn from(view: &'a AgentView) -> Self {
        let profile = &view.profile;
        let skills = profile.skills.iter();
        let named = |skill: &'a Skill| [Some(&skill.id), skill.name.as_ref()];
        let told = skills
            .clone()
            .filter_map(|skill| skill.description.as_deref());
        let texts = [Some(profile.name.as_str()), profile.description.as_deref()];
        Self {
            name: view.id.as_str(),
            skills: skills
                .flat_map(named)
                .flatten()
                .map(String::as_str)
                .collect(),
            texts: texts.into_iter().flatten().chain(told).collect(),
        }
    }
}
