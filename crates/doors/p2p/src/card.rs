//! How the hub and its agents introduce themselves to peers: pure functions from an [`AgentView`] to a card.
//!
//! In the hub's card each agent is a skill; an agent's own card has the agent's skills. Every path is written
//! out, so that a peer that copies it into a request needs no parameters. Only agents behind HTTP have paths
//! with parameters.

use jackfield_core::entry::AgentView;
use jackfield_peer::{
    card::{VERSION, fitting},
    wire::{MAX_WRITTEN_CARD, Method, PathParam, PathParams, PeerCard, PeerSkill, path},
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::DOOR;

/// Last segment of the path to an agent without a particular skill.
const ASK: &str = "ask";
/// Hint where a peer finds the skills that did not fit into the hub's card.
const HINT: &str = "hand off GET /agents for all of them";

/// An agent behind HTTP, with its own card.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpAgent<'a> {
    pub(crate) id: &'a str,
    pub(crate) card: &'a PeerCard,
    /// Whether the agent is reachable now.
    pub(crate) is_here: bool,
}

/// Writes the hub's own card, cut to a size that every peer reads.
pub(crate) fn hub_card<'a>(
    name: &str,
    agents: &[AgentView],
    behind: impl Iterator<Item = HttpAgent<'a>>,
    takes_goals: bool,
) -> String {
    let mut skills: Vec<_> = agents.iter().filter_map(agent_as_skill).collect();
    let here = behind.filter(|it| it.is_here);
    skills.extend(here.flat_map(|HttpAgent { id, card, .. }| {
        let skills = card.skills.iter();
        skills.map(move |skill| PeerSkill {
            id: format!("{id}/{}", skill.id),
            path: below(id, &skill.path),
            ..skill.clone()
        })
    }));
    if takes_goals {
        skills.insert(0, goal_skill());
    }
    let card = PeerCard {
        name: name.to_owned(),
        version: VERSION.to_owned(),
        description: "A switchboard for AI agents. Each skill is an agent; GET /agents/ID/card shows what it can do."
            .to_owned(),
        skills,
        ..PeerCard::default()
    };
    card.fit(MAX_WRITTEN_CARD, HINT)
}

/// Writes the hub's card for a peer that may call no agent.
pub(crate) fn closed_card(name: &str) -> String {
    let card = PeerCard {
        name: name.to_owned(),
        version: VERSION.to_owned(),
        description: "A switchboard for AI agents. It takes handoffs from allowed peers only."
            .to_owned(),
        ..PeerCard::default()
    };
    card.fit(MAX_WRITTEN_CARD, HINT)
}

/// Writes the card of an agent of the hub.
pub(crate) fn agent_card(view: &AgentView) -> String {
    let profile = &view.profile;
    let mut skills: Vec<_> = agent_as_skill(view).into_iter().collect();
    skills.extend(profile.skills.iter().filter_map(|skill| {
        let name = said(skill.name.as_deref()).unwrap_or(&skill.id);
        Some(PeerSkill {
            id: skill.id.clone(),
            name: name.to_owned(),
            description: said(skill.description.as_deref())
                .unwrap_or(name)
                .to_owned(),
            path: skill_path(view.id.as_str(), &skill.id)?,
            ..plain_skill()
        })
    }));
    let card = PeerCard {
        name: name_of(view).to_owned(),
        version: said(profile.version.as_deref())
            .unwrap_or(VERSION)
            .to_owned(),
        description: description_of(view).to_owned(),
        skills,
        ..PeerCard::default()
    };
    fitting(&card)
}

/// Writes the card of an agent behind HTTP, with its paths at this hub.
pub(crate) fn behind_card(id: &str, card: &PeerCard) -> String {
    let mut card = card.clone();
    for skill in &mut card.skills {
        skill.path = below(id, &skill.path);
    }
    fitting(&card)
}

/// Writes the short list of all agents, from which another hub attaches them.
pub(crate) fn agent_list<'a>(
    agents: &[AgentView],
    behind: impl Iterator<Item = HttpAgent<'a>>,
) -> String {
    #[derive(Serialize)]
    struct PeerAgentList<'a> {
        agents: Vec<ListedAgent<'a>>,
    }
    let mut agents: Vec<_> = agents.iter().map(ListedAgent::agent).collect();
    agents.extend(behind.map(|HttpAgent { id, card, is_here }| ListedAgent {
        description: &card.description,
        skills: card.skills.iter().map(|skill| &*skill.id).collect(),
        ..ListedAgent::new(id, &card.name, is_here)
    }));
    // Texts always serialize.
    serde_json::to_string(&PeerAgentList { agents }).unwrap_or_default()
}

/// An agent in the list.
#[derive(Serialize)]
struct ListedAgent<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    online: bool,
    path: String,
    card: String,
    skills: Vec<&'a str>,
}

impl<'a> ListedAgent<'a> {
    fn new(id: &'a str, name: &'a str, online: bool) -> Self {
        ListedAgent {
            id,
            name,
            description: "",
            online,
            path: below(id, ASK),
            card: below(id, "card"),
            skills: Vec::new(),
        }
    }

    fn agent(view: &'a AgentView) -> Self {
        let skills = view.profile.skills.iter();
        ListedAgent {
            description: description_of(view),
            skills: skills.map(|skill| &*skill.id).collect(),
            ..Self::new(view.id.as_str(), name_of(view), view.online)
        }
    }
}

/// Returns whether peers may know of an agent. Agents that another hub brought are left out: passed on, two
/// hubs would show each other the same agents over and over.
pub(crate) fn is_shown(view: &AgentView) -> bool {
    !(view.door == DOOR && view.id.as_str().contains('@'))
}

/// The skill that a path below an agent names.
pub(crate) enum PathTarget<'a> {
    /// No particular skill.
    Any,
    /// The skill with this id.
    Skill(&'a str),
    /// The agent has no such path.
    Nothing,
}

/// Returns the skill that the rest of a path, after the agent, names.
pub(crate) fn path_target<'a>(view: &'a AgentView, rest: &str) -> PathTarget<'a> {
    let id = view.id.as_str();
    let whole = below(id, rest);
    let mut skills = view.profile.skills.iter();
    let skill = skills.find(|skill| {
        skill_path(id, &skill.id).is_some_and(|template| path::matches(&template, &whole))
    });
    match skill {
        Some(skill) => PathTarget::Skill(&skill.id),
        None if matches!(rest, "/" | "/ask") => PathTarget::Any,
        None => PathTarget::Nothing,
    }
}

/// Returns an agent as a skill of the hub; `None` if no path can lead to it.
fn agent_as_skill(view: &AgentView) -> Option<PeerSkill> {
    let skills = view.profile.skills.iter().map(|skill| skill.id.as_str());
    let skills: Vec<_> = skills.collect();
    let mut description = description_of(view).to_owned();
    if !skills.is_empty() {
        description = format!("{description} Skills: {}.", skills.join(", "));
    }
    Some(PeerSkill {
        id: view.id.to_string(),
        name: name_of(view).to_owned(),
        description,
        path: skill_path(view.id.as_str(), ASK)?,
        ..plain_skill()
    })
}

/// Returns the skill for goals handed to the hub itself, by the path of the original's agents.
fn goal_skill() -> PeerSkill {
    let params =
        schema(r#"{"type":"object","properties":{"goal":{"type":"string"}},"required":["goal"]}"#);
    PeerSkill {
        id: "goal".to_owned(),
        name: "Goal".to_owned(),
        description: "Anything, in plain words.".to_owned(),
        path: "/{goal}".to_owned(),
        params_schema: Some(params),
        ..plain_skill()
    }
}

/// Returns a skill with the input and output of agents: text, or an object.
fn plain_skill() -> PeerSkill {
    PeerSkill {
        method: Method::Post.name().to_owned(),
        input_schema: Some(words_or_object()),
        output_schema: Some(words_or_object()),
        ..PeerSkill::default()
    }
}

fn words_or_object() -> Box<RawValue> {
    schema(r#"{"type":["string","object"]}"#)
}

/// Parses a constant JSON schema.
fn schema(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns the encoded path of a skill; `None` if its id cannot stand in a path.
fn skill_path(agent: &str, skill: &str) -> Option<String> {
    let params = PathParams::from([("skill".to_owned(), PathParam::from(skill))]);
    let path = path::expand(&below(agent, "{skill}"), &params).ok()?;
    // `card` is taken: a caller names such a skill in words.
    let is_skill = matches!(path::route(&path), Ok(path::PeerRoute::Agent { .. }));
    is_skill.then_some(path)
}

/// Returns a path below an agent. Ids have only characters that may stand in a path.
fn below(agent: &str, rest: &str) -> String {
    format!("/agents/{agent}/{}", rest.trim_start_matches('/'))
}

fn name_of(view: &AgentView) -> &str {
    said(Some(&view.profile.name)).unwrap_or(view.id.as_str())
}

fn description_of(view: &AgentView) -> &str {
    said(view.profile.description.as_deref()).unwrap_or(name_of(view))
}

fn said(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}
