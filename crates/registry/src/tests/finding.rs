//! Searches by skill, by name and by words.

use super::*;

fn card(skill: &str, description: &str) -> PeerCard {
    let text = serde_json::json!({
        "name": "from the card",
        "description": "An agent.",
        "skills": [{"id": skill, "name": skill, "description": description, "path": "/x"}],
    });
    let raw = serde_json::value::to_raw_value(&text).unwrap();
    PeerCard::from_value(&raw).unwrap()
}

fn full() -> Registry {
    let registry = registry();
    let plain = Peer::new().registration("poet", &["Poem", "song"]);
    let translator = Registration {
        card: Some(card(
            "translate",
            "Translates documents into French and German.",
        )),
        agent_name: None,
        ..Peer::new().registration("x", &[])
    };
    let planner = Registration {
        card: Some(card("plan", "Plans trips: flights, hotels, documents.")),
        ..Peer::new().registration("planner", &["plan"])
    };
    for new in [plain, translator, planner] {
        registry.register(&new, Claimant::Peer).unwrap();
    }
    registry
}

#[test]
fn a_skill_is_found_by_id_in_either_case_and_by_the_card() {
    let registry = full();
    let with = |skill: &str| {
        registry.find(&PeerQuery {
            skill: Some(skill.to_owned()),
            ..PeerQuery::default()
        })
    };
    assert_eq!(names(&with("poem")), ["poet"]);
    assert_eq!(names(&with("TRANSLATE")), ["from the card"]);
    assert!(with("poems").is_empty(), "a skill is meant exactly");
}

#[test]
fn words_find_who_has_most_of_them_first() {
    let registry = full();
    let found = registry.find(&PeerQuery::goal(
        "please translate my documents into French",
    ));
    assert_eq!(names(&found), ["from the card", "planner"]);
    assert_eq!(
        names(&registry.find(&PeerQuery::goal("translation"))),
        ["from the card"]
    );
    assert_eq!(names(&registry.find(&PeerQuery::goal("poems"))), ["poet"]);
    assert!(registry.find(&PeerQuery::goal("bake a cake")).is_empty());
    assert!(registry.find(&PeerQuery::goal("?!")).is_empty());
    // Only the beginning of a very long goal is searched.
    let endless = "lorem ".repeat(5_000) + "translate";
    assert!(registry.find(&PeerQuery::goal(&endless)).is_empty());
}

#[test]
fn a_peer_without_a_name_has_that_of_its_card_or_is_refused() {
    let registry = registry();
    let nameless = Registration {
        agent_name: None,
        ..Peer::new().registration("x", &[])
    };
    let refused = registry.register(&nameless, Claimant::Peer).unwrap_err();
    assert!(refused.text.contains("agent_name"));
    let broken = Peer::new().registration("two\nlines", &[]);
    assert!(registry.register(&broken, Claimant::Peer).is_err());
}
