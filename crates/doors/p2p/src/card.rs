//! How the hub and its agents introduce themselves to peers: pure functions from what the hub knows of an agent to a card.
//!
//! In the hub's card each agent is a skill. In an agent's own card its skills are. Every path is written out, so that a
//! peer that copies it into a request needs no parameters; only agents behind HTTP have paths with places to fill.

use jackfield_core::entry::AgentView;
use jackfield_peer::{
    card::{VERSION, fitting},
    wire::{MAX_WRITTEN_CARD, Method, PathParam, PathParams, PeerCard, PeerSkill, path},
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::DOOR;

/// The last segment of the path that leads to an agent, whatever the skill.
const ASK: &str = "ask";
/// Where a peer finds what did not fit into the hub's card.
const HINT: &str = "hand off GET /agents for all of them";

/// An agent behind HTTP, with its own card.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind<'a> {
    pub(crate) id: &'a str,
    pub(crate) card: &'a PeerCard,
    /// Whether it is there now.
    pub(crate) is_here: bool,
}

/// The hub's own card, as small as peers need it that read once.
pub(crate) fn hub_card<'a>(
    name: &str,
    agents: &[AgentView],
    behind: impl Iterator<Item = Behind<'a>>,
    takes_goals: bool,
) -> String {
    let mut skills: Vec<_> = agents.iter().filter_map(agent_as_skill).collect();
    let here = behind.filter(|it| it.is_here);
    skills.extend(here.flat_map(|Behind { id, card, .. }| {
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

/// What a peer sees that may call nobody here.
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

/// The card of an agent of the hub.
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

/// The card of an agent behind HTTP, with paths as they are here.
pub(crate) fn behind_card(id: &str, card: &PeerCard) -> String {
    let mut card = card.clone();
    for skill in &mut card.skills {
        skill.path = below(id, &skill.path);
    }
    fitting(&card)
}

/// All agents, in short: what a hub reads to make them its own.
pub(crate) fn agent_list<'a>(
    agents: &[AgentView],
    behind: impl Iterator<Item = Behind<'a>>,
) -> String {
    #[derive(Serialize)]
    struct List<'a> {
        agents: Vec<Listed<'a>>,
    }
    let mut agents: Vec<_> = agents.iter().map(Listed::agent).collect();
    agents.extend(behind.map(|Behind { id, card, is_here }| Listed {
        description: &card.description,
        skills: card.skills.iter().map(|skill| &*skill.id).collect(),
        ..Listed::new(id, &card.name, is_here)
    }));
    // Texts cannot fail to be written.
    serde_json::to_string(&List { agents }).unwrap_or_default()
}

/// An agent in the list of all.
#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    online: bool,
    path: String,
    card: String,
    skills: Vec<&'a str>,
}

impl<'a> Listed<'a> {
    fn new(id: &'a str, name: &'a str, online: bool) -> Self {
        Listed {
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
        Listed {
            description: description_of(view),
            skills: skills.map(|skill| &*skill.id).collect(),
            ..Self::new(view.id.as_str(), name_of(view), view.online)
        }
    }
}

/// Whether peers may know of an agent. What another hub brought along is its own to show: passed on, two hubs would
/// show each other the same agents over and over.
pub(crate) fn is_shown(view: &AgentView) -> bool {
    !(view.door == DOOR && view.id.as_str().contains('@'))
}

/// Which skill of an agent a path below it means.
pub(crate) enum Meant<'a> {
    /// None in particular.
    Any,
    /// This one.
    Skill(&'a str),
    /// The agent has no such path.
    Nothing,
}

/// What the rest of a path, after the agent, means.
pub(crate) fn meant<'a>(view: &'a AgentView, rest: &str) -> Meant<'a> {
    let id = view.id.as_str();
    let whole = below(id, rest);
    let mut skills = view.profile.skills.iter();
    let skill = skills.find(|skill| {
        skill_path(id, &skill.id).is_some_and(|template| path::matches(&template, &whole))
    });
    match skill {
        Some(skill) => Meant::Skill(&skill.id),
        None if matches!(rest, "/" | "/ask") => Meant::Any,
        None => Meant::Nothing,
    }
}

/// The agent as one skill of the hub; none if no path can lead to it.
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

/// What is handed to the hub itself, by the path that the original's agents have.
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

/// A skill that takes and gives what agents do: words, or an object.
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

/// A JSON schema that is written out.
fn schema(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The path of a skill, encoded; none where the id is such that no path can lead to it.
fn skill_path(agent: &str, skill: &str) -> Option<String> {
    let params = PathParams::from([("skill".to_owned(), PathParam::from(skill))]);
    let path = path::expand(&below(agent, "{skill}"), &params).ok()?;
    // `card` is taken: the agent is asked for such a skill by its words.
    let is_skill = matches!(path::route(&path), Ok(path::PeerRoute::Agent { .. }));
    is_skill.then_some(path)
}

/// A path below an agent. Ids have only characters that may stand in a path.
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
