//! Selection of a skill from a peer's card: by name, or the best match for a goal. A hub's card lists its
//! agents as skills; the skills of each agent need a further request.

use jackfield_peer::wire::{PeerCard, PeerSkill, read_card};
use jackfield_peer::{inquire::fetch, node::Node};
use jackfield_sdk::encode;
use serde_json::Value;

use super::peer::ResolvedPeer;
use crate::output::{items, text};

/// Path of a hub's list of agents.
const AGENTS: &str = "/agents";

/// Criterion for a skill.
#[derive(Debug)]
pub(super) enum SkillQuery {
    /// A skill with this id or name.
    Skill(String),
    /// A skill for a goal, from a peer that was found by the goal.
    Goal {
        goal: String,
        /// Name from the registry: of the peer, or of the skill in a hub's card.
        name: String,
    },
}

/// Returns the [`PeerSkill`] that matches, or the reason why there is none.
pub(super) async fn skill(
    node: &Node,
    peer: &ResolvedPeer,
    card: &PeerCard,
    wanted: &SkillQuery,
) -> Result<PeerSkill, String> {
    match wanted {
        SkillQuery::Goal { goal, name } => {
            let named = named(&card.skills, name).or_else(|| best(&card.skills, goal));
            named
                .cloned()
                .ok_or_else(|| "its card shows no skills".to_owned())
        }
        SkillQuery::Skill(skill) => match named(&card.skills, skill) {
            Some(named) => Ok(named.clone()),
            None if is_hub(card) => of_agent(node, peer, skill).await,
            None => Err(format!("its card has no skill {skill:?}")),
        },
    }
}

/// Returns whether the [`PeerCard`]'s skills are agents of a hub.
fn is_hub(card: &PeerCard) -> bool {
    let mut paths = card.skills.iter().map(|skill| &skill.path);
    paths.any(|path| path.starts_with("/agents/"))
}

/// Finds the skill of a hub's agent.
async fn of_agent(node: &Node, peer: &ResolvedPeer, skill: &str) -> Result<PeerSkill, String> {
    let ask = async |path: &str| {
        let answer = fetch(node, peer.id, &peer.addresses, path).await;
        answer.map_err(|failure| failure.text.into_owned())
    };
    let list: Value = serde_json::from_slice(&ask(AGENTS).await?)
        .map_err(|error| format!("its list of agents cannot be read: {error}"))?;
    let has_it = |agent: &&Value| {
        let mut skills = items(agent, "skills").iter().filter_map(Value::as_str);
        agent["online"] == true && skills.any(|had| had.eq_ignore_ascii_case(skill))
    };
    let agent = items(&list, "agents").iter().find(has_it);
    let agent = agent.ok_or_else(|| format!("none of its agents has the skill {skill:?}"))?;
    let path = format!("{AGENTS}/{}/card", encode(text(agent, "id")));
    let card = read_card(&ask(&path).await?);
    let card = card.map_err(|_| format!("the card at {path} cannot be read"))?;
    let named = named(&card.skills, skill);
    named
        .cloned()
        .ok_or_else(|| format!("the card at {path} has no skill {skill:?}"))
}

fn named<'a>(skills: &'a [PeerSkill], name: &str) -> Option<&'a PeerSkill> {
    let is = |had: &str| had.eq_ignore_ascii_case(name);
    skills.iter().find(|skill| is(&skill.id) || is(&skill.name))
}

/// Returns the skill that contains most words of the goal; of equal ones the first, since cards start with
/// the main skill.
fn best<'a>(skills: &'a [PeerSkill], goal: &str) -> Option<&'a PeerSkill> {
    let goal = goal.to_lowercase();
    let words: Vec<_> = goal
        .split(|letter: char| !letter.is_alphanumeric())
        .collect();
    let score = |skill: &PeerSkill| {
        let told = format!("{} {} {}", skill.id, skill.name, skill.description).to_lowercase();
        // Short words occur in every text.
        let said = words.iter().filter(|word| word.chars().count() > 3);
        said.filter(|word| told.contains(**word)).count()
    };
    skills.iter().rev().max_by_key(|skill| score(skill))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skills() -> Vec<PeerSkill> {
        let skill = |id: &str, description: &str| PeerSkill {
            id: id.to_owned(),
            name: format!("The {id}"),
            description: description.to_owned(),
            ..PeerSkill::default()
        };
        vec![
            skill("ask", "Anything at all."),
            skill("translate", "Translates a text into another language."),
            skill("count", "Counts the words of a text."),
        ]
    }

    #[test]
    fn a_skill_is_known_by_id_and_name_in_any_case() {
        let skills = skills();
        for name in ["translate", "TRANSLATE", "the Translate"] {
            assert_eq!(named(&skills, name).unwrap().id, "translate", "{name}");
        }
        assert!(named(&skills, "trans").is_none());
    }

    #[test]
    fn a_goal_gets_the_skill_with_most_of_its_words_else_the_first() {
        let skills = skills();
        for (goal, id) in [
            ("another language, please", "translate"),
            ("how many words are there?", "count"),
            ("tea", "ask"),
            ("", "ask"),
        ] {
            assert_eq!(best(&skills, goal).unwrap().id, id, "{goal}");
        }
        assert!(best(&[], "tea").is_none());
    }
}
