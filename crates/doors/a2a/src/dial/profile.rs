//! What a remote is to the hub, from what its card says.

use jackfield_core::agent::{Extension, Profile, Skill};
use jackfield_wire::a2a::card::ForeignCard;

/// The longest text that is taken over, in bytes; the card itself is kept whole elsewhere.
const MAX_WORDS: usize = 4096;
/// How many entries of a list are taken over.
const MAX_LISTED: usize = 256;
/// What the agent is made with, as far as the hub can tell.
const AGENT_TYPE: &str = "a2a";

/// The profile of the agent that a card speaks of.
pub(super) fn profile_from_card(card: &ForeignCard) -> Profile {
    let skills = card.skills.iter().map(|skill| Skill {
        id: words(&skill.id),
        name: maybe(skill.name.as_deref()),
        description: maybe(skill.description.as_deref()),
    });
    let extensions = card.extensions.iter().map(|extension| Extension {
        uri: words(&extension.uri),
        description: maybe(extension.description.as_deref()),
        required: extension.required,
    });
    let modes = |modes: &[String]| -> Vec<String> {
        let modes = modes.iter().take(MAX_LISTED);
        modes.map(|mode| words(mode)).collect()
    };
    Profile {
        name: words(&card.name),
        description: maybe(card.description.as_deref()),
        agent_type: Some(AGENT_TYPE.to_owned()),
        skills: skills.take(MAX_LISTED).collect(),
        endpoint: None,
        version: maybe(card.version.as_deref()),
        input_modes: modes(&card.input_modes),
        output_modes: modes(&card.output_modes),
        extensions: extensions.take(MAX_LISTED).collect(),
    }
}

fn maybe(text: Option<&str>) -> Option<String> {
    text.map(words)
}

/// As much of a text as is taken over.
fn words(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_WORDS)].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_card_says_becomes_the_profile() {
        let card = json!({
            "name": "Dice", "description": "Rolls dice.", "version": "2.0.1",
            "url": "https://dice.example",
            "capabilities": {"extensions": [
                {"uri": "urn:a", "description": "A", "required": true},
                {"uri": "urn:b"},
            ]},
            "defaultInputModes": ["text/plain", "image/png"],
            "defaultOutputModes": ["application/json"],
            "skills": [
                {"id": "roll", "name": "Roll", "description": "Rolls one.", "tags": ["x"]},
                {"name": "Only a name"},
                {"description": "neither"},
            ],
        });
        let card = ForeignCard::read(&card.to_string()).unwrap();
        let expected = json!({
            "name": "Dice", "description": "Rolls dice.", "agent_type": "a2a", "version": "2.0.1",
            "skills": [
                {"id": "roll", "name": "Roll", "description": "Rolls one."},
                {"id": "Only a name", "name": "Only a name"},
            ],
            "input_modes": ["text/plain", "image/png"],
            "output_modes": ["application/json"],
            "extensions": [
                {"uri": "urn:a", "description": "A", "required": true},
                {"uri": "urn:b"},
            ],
        });
        assert_eq!(
            serde_json::to_value(profile_from_card(&card)).unwrap(),
            expected
        );
    }

    #[test]
    fn a_boundless_card_becomes_a_bounded_profile() {
        let skill = json!({"id": "é".repeat(MAX_WORDS)});
        let card = json!({
            "name": "x".repeat(MAX_WORDS + 1),
            "skills": vec![skill; MAX_LISTED + 1],
        });
        let card = ForeignCard::read(&card.to_string()).unwrap();
        let profile = profile_from_card(&card);
        assert_eq!(profile.name.len(), MAX_WORDS);
        assert_eq!(profile.skills.len(), MAX_LISTED);
        assert_eq!(profile.skills[0].id, "é".repeat(MAX_WORDS / 2));
    }
}
