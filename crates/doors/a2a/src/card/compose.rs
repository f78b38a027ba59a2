//! Pure functions from the hub's knowledge of its agents to their cards.

use std::collections::HashSet;

use jackfield_core::{agent::Profile, entry::AgentView};
use jackfield_model::{AgentId, Skill};
use serde::Serialize;
use serde_json::value::to_raw_value;

use super::{
    DoorSite, DoorTerms,
    extra_fields::{ExtraCardFields, ExtraSkillFields},
};
use crate::wire::{
    card::{A2aCard, Binding, CardExtension, CardSkill, Interface, Provider},
    official::A2aVersion,
};

/// URI of the extension in an extended card: the agent's presence and owner.
const PRESENCE: &str = "urn:jackfield:presence";
/// Version of agents that declare none.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Input media types of agents that declare none: any.
const ANY_INPUT: [&str; 3] = ["text/plain", "application/json", "*/*"];
/// Output media types of agents that declare none.
const ANY_OUTPUT: [&str; 3] = ["text/plain", "application/json", "application/octet-stream"];

/// Name of a hub in its own card.
const HUB_NAME: &str = "Jackfield";
/// Start of the description in a hub's own card.
const HUB_IS: &str = "A switchboard for AI agents. Each skill is an agent";

/// Returns true if name and description are from the card of a hub.
pub(crate) fn is_of_hub(name: &str, description: &str) -> bool {
    name == HUB_NAME && description.starts_with(HUB_IS)
}

/// Builds the [`A2aCard`] of an agent.
pub(super) fn agent_card(site: &DoorSite, view: &AgentView, terms: DoorTerms) -> A2aCard {
    let profile = &view.profile;
    let name = name_of(view).to_owned();
    let description = description_of(view);
    let besides = ExtraCardFields::of(profile);
    let mut skills: Vec<_> = profile
        .skills
        .iter()
        .enumerate()
        .filter_map(|(place, skill)| skill_of(view, skill, besides.skill(place)))
        .collect();
    if skills.is_empty() {
        skills.push(CardSkill {
            id: view.id.to_string(),
            name: name.clone(),
            description: description.clone(),
            tags: tags(view, "general"),
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        });
    }
    let known = profile.extensions.iter().enumerate();
    let known = known.map(|(place, extension)| CardExtension {
        uri: extension.uri.clone(),
        description: extension
            .description
            .clone()
            .filter(|text| !text.is_empty()),
        required: extension.required,
        params: besides.params(place),
    });
    let blank = blank(site, terms);
    A2aCard {
        name,
        description,
        version: said(profile.version.as_deref())
            .unwrap_or(VERSION)
            .to_owned(),
        // An agent id contains only characters that are valid in a path.
        interfaces: interfaces(
            site,
            &format!("{}/agents/{}", site.base(), view.id),
            Some(view.id.as_str()),
        ),
        extensions: known.collect(),
        input_modes: modes(&profile.input_modes, &ANY_INPUT),
        output_modes: modes(&profile.output_modes, &ANY_OUTPUT),
        skills,
        provider: besides.provider().or_else(|| blank.provider.clone()),
        documentation_url: besides.documentation_url,
        ..blank
    }
}

/// Builds the extended card of an agent, with its presence, door and owner.
pub(super) fn extended_card(site: &DoorSite, view: &AgentView, terms: DoorTerms) -> A2aCard {
    let mut card = agent_card(site, view, terms);
    #[derive(Serialize)]
    struct PresenceParams<'a> {
        id: &'a str,
        online: bool,
        since: String,
        door: &'a str,
        owner: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        r#type: Option<&'a str>,
    }
    let presence = PresenceParams {
        id: view.id.as_str(),
        online: view.online,
        since: view.since.to_string(),
        door: view.door.as_str(),
        owner: view.owner.as_str(),
        r#type: said(view.profile.agent_type.as_deref()),
    };
    card.extensions.push(CardExtension {
        uri: PRESENCE.to_owned(),
        description: Some("Where the agent is, and whose it is.".to_owned()),
        required: false,
        params: to_raw_value(&presence).ok(),
    });
    card
}

/// Builds the hub's own card, whose skills are agents.
pub(super) fn hub_card(site: &DoorSite, agents: &[AgentView], terms: DoorTerms) -> A2aCard {
    let mut skills: Vec<_> = agents
        .iter()
        .map(|view| CardSkill {
            id: view.id.to_string(),
            name: name_of(view).to_owned(),
            description: description_of(view),
            tags: tags(view, "agent"),
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        })
        .collect();
    if skills.is_empty() {
        skills.push(CardSkill {
            id: "switchboard".to_owned(),
            name: "Switchboard".to_owned(),
            description: "Passes requests on to agents; none is here that you may call.".to_owned(),
            tags: vec!["switchboard".to_owned()],
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        });
    }
    let base = site.base();
    A2aCard {
        name: HUB_NAME.to_owned(),
        description: format!(
            "{HUB_IS}: name its id as the tenant of a request, or call it at \
             {base}/agents/ID, where its own card is."
        ),
        version: VERSION.to_owned(),
        interfaces: interfaces(site, &base, None),
        input_modes: all_modes(agents, &ANY_INPUT, |profile| &profile.input_modes),
        output_modes: all_modes(agents, &ANY_OUTPUT, |profile| &profile.output_modes),
        skills,
        ..blank(site, terms)
    }
}

/// Returns the fields that all cards of a hub share.
fn blank(site: &DoorSite, terms: DoorTerms) -> A2aCard {
    A2aCard {
        name: String::new(),
        description: String::new(),
        version: String::new(),
        interfaces: Vec::new(),
        provider: Some(Provider {
            organization: "Jackfield".to_owned(),
            url: site.url.clone(),
        }),
        documentation_url: None,
        icon_url: None,
        pushes: terms.pushes,
        extensions: Vec::new(),
        needs_token: terms.needs_token,
        input_modes: Vec::new(),
        output_modes: Vec::new(),
        skills: Vec::new(),
        signatures: Vec::new(),
    }
}

/// Returns the interfaces of an agent or the hub, newest version first, because readers take the first
/// interface that they understand.
fn interfaces(site: &DoorSite, url: &str, agent: Option<&str>) -> Vec<Interface> {
    let at = |binding, version| Interface {
        url: url.to_owned(),
        binding,
        version,
        tenant: None,
    };
    let mut interfaces = vec![
        at(Binding::JsonRpc, A2aVersion::V10),
        at(Binding::HttpJson, A2aVersion::V10),
    ];
    // gRPC has no paths, so the tenant names the agent.
    interfaces.extend(site.grpc.as_ref().map(|target| Interface {
        url: target.clone(),
        binding: Binding::Grpc,
        version: A2aVersion::V10,
        tenant: agent.map(str::to_owned),
    }));
    interfaces.push(at(Binding::JsonRpc, A2aVersion::V03));
    interfaces.push(at(Binding::HttpJson, A2aVersion::V03));
    // Version 0.3 has no tenant: a client that knows only the card reaches the agent that is meant without one.
    let default = site.default_agent.as_ref().map(AgentId::as_str);
    if agent.is_none_or(|agent| default == Some(agent)) {
        interfaces.extend(site.grpc.as_ref().map(|target| Interface {
            url: target.clone(),
            binding: Binding::Grpc,
            version: A2aVersion::V03,
            tenant: None,
        }));
    }
    interfaces
}

fn skill_of(view: &AgentView, skill: &Skill, besides: ExtraSkillFields) -> Option<CardSkill> {
    let id = said(Some(&skill.id))?;
    let name = said(skill.name.as_deref()).unwrap_or(id);
    Some(CardSkill {
        id: id.to_owned(),
        name: name.to_owned(),
        description: said(skill.description.as_deref())
            .unwrap_or(name)
            .to_owned(),
        tags: match besides.tags.is_empty() {
            true => tags(view, id),
            false => besides.tags,
        },
        examples: besides.examples,
        input_modes: besides.input_modes,
        output_modes: besides.output_modes,
    })
}

/// Returns the search tags of a skill: its own tag and the agent's type.
fn tags(view: &AgentView, own: &str) -> Vec<String> {
    let made_with = said(view.profile.agent_type.as_deref()).filter(|kind| *kind != own);
    [Some(own), made_with]
        .into_iter()
        .flatten()
        .map(str::to_owned)
        .collect()
}

fn name_of(view: &AgentView) -> &str {
    said(Some(&view.profile.name)).unwrap_or(view.id.as_str())
}

fn description_of(view: &AgentView) -> String {
    match said(view.profile.description.as_deref()) {
        Some(text) => text.to_owned(),
        None => format!("{}, an agent reached through Jackfield.", name_of(view)),
    }
}

fn modes(said: &[String], otherwise: &[&str]) -> Vec<String> {
    let said: Vec<_> = said
        .iter()
        .filter(|mode| !mode.is_empty())
        .cloned()
        .collect();
    if said.is_empty() {
        return otherwise.iter().map(ToString::to_string).collect();
    }
    said
}

/// Returns the media types of the hub: any, and the types that agents declare, because some readers compare
/// exact names.
fn all_modes(
    agents: &[AgentView],
    any: &[&str],
    of: impl Fn(&Profile) -> &[String],
) -> Vec<String> {
    let mut known: HashSet<&str> = any.iter().copied().collect();
    let said = agents.iter().flat_map(|view| of(&view.profile));
    let new = said.filter(|mode| !mode.is_empty() && known.insert(mode.as_str()));
    any.iter()
        .map(ToString::to_string)
        .chain(new.cloned())
        .collect()
}

/// Returns a text unless blank.
fn said(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}
