//! Agent profile from a remote's card.

use jackfield_core::agent::Profile;
use jackfield_model::{Extension, Skill};

use crate::card::ExtraCardFields;
use crate::wire::card::ForeignCard;

/// Longest text in a profile, in bytes; the complete card is stored separately.
const MAX_WORDS: usize = 4096;
/// Largest number of entries per list.
const MAX_LISTED: usize = 256;
/// Agent type of all remotes.
const AGENT_TYPE: &str = "a2a";

/// Builds the profile of the agent that a card describes.
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
        extra: ExtraCardFields::of_card(card),
    }
}

fn maybe(text: Option<&str>) -> Option<String> {
    text.map(words)
}

/// Truncates a text to [`MAX_WORDS`].
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
                {"uri": "urn:b", "params": {"k": [1]}},
            ]},
            "documentationUrl": "https://docs.example/dice",
            "provider": {"organization": "Acme", "url": "https://acme.example"},
            "defaultInputModes": ["text/plain", "image/png"],
            "defaultOutputModes": ["application/json"],
            "skills": [
                {"id": "roll", "name": "Roll", "description": "Rolls one.", "tags": ["x", 7],
                 "examples": ["roll a d20"], "inputModes": ["text/plain"], "outputModes": ["text/csv"]},
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
            "extra": {
                "documentation_url": "https://docs.example/dice",
                "provider": ["Acme", "https://acme.example"],
                "skills": [[0, {
                    "tags": ["x"], "examples": ["roll a d20"],
                    "input_modes": ["text/plain"], "output_modes": ["text/csv"],
                }]],
                "params": [[1, {"k": [1]}]],
            },
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

    #[test]
    fn what_a_card_says_besides_is_taken_over_only_if_it_is_short_and_harmless() {
        let extra = |card: serde_json::Value| {
            let card = ForeignCard::read(&card.to_string()).unwrap();
            let extra = profile_from_card(&card).extra;
            extra.map(|extra| serde_json::from_str::<serde_json::Value>(extra.get()).unwrap())
        };
        let deep = format!("{}1{}", "[".repeat(99), "]".repeat(99));
        let deep: serde_json::Value = serde_json::from_str(&deep).unwrap();
        let long = "x".repeat(MAX_WORDS + 1);
        let strange = json!({
            "name": "x",
            "documentationUrl": "javascript:alert(1)",
            "provider": {"organization": "Acme", "url": "file:///etc/passwd"},
            "capabilities": {"extensions": [
                {"uri": "urn:a", "params": {"deep": deep}},
                {"uri": "urn:b", "params": {"long": long}},
                {"uri": "urn:c", "params": [1]},
            ]},
            "skills": [{"id": "s", "tags": [long]}],
        });
        assert_eq!(extra(strange), None);
        let many = json!({"name": "x", "skills": [{"id": "s", "tags": vec!["t"; MAX_LISTED + 1]}]});
        let tags = &extra(many).unwrap()["skills"][0][1]["tags"];
        assert_eq!(tags.as_array().unwrap().len(), MAX_LISTED);
        let example = "x".repeat(MAX_WORDS);
        let vast = json!({"name": "x", "skills": [{"id": "s", "examples": vec![example; 99]}]});
        assert_eq!(extra(vast), None, "too much in all");
    }
}
