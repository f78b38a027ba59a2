//! Cards: as the original writes them in both ways, and made to fit.

use proptest::prelude::*;

use super::*;

/// Where all skills are, as a hub would say it.
const HINT: &str = "hand off GET /agents for all";

fn read(text: &str) -> PeerCard {
    match read_card(text.as_bytes()) {
        Ok(card) => card,
        Err(why) => panic!("{text} was refused: {why:?}"),
    }
}

fn refused(text: &str) -> (u16, String) {
    match read_card(text.as_bytes()) {
        Err(CardError::Fault(fault)) => (fault.code, fault.to_string()),
        other => panic!("{text} was taken for {other:?}"),
    }
}

/// A card whose only skill is this.
fn with(skill: &str) -> String {
    format!(r#"{{"name":"n","skills":[{skill}]}}"#)
}

const ORIGINAL: &str = r#"{
  "name": "travel",
  "version": "0.1.0",
  "description": "Plans trips",
  "skills": [{
    "id": "plan",
    "name": "Plan",
    "description": "Plans a trip",
    "path": "/{goal}",
    "method": "POST",
    "params_schema": {"type": "object", "properties": {"goal": {"type": "string"}}},
    "input_schema": {"type": "object"},
    "output_schema": true
  }]
}"#;

#[test]
fn the_originals_card_is_written_as_it_was_read() {
    let card = read(ORIGINAL);
    assert_eq!(card.name, "travel");
    assert_eq!(card.skills[0].path, "/{goal}");
    assert_eq!(value(&card.to_json()), value(ORIGINAL));
}

#[test]
fn schemas_are_read_under_both_names_and_written_under_one() {
    let card = read(&ORIGINAL.replace("_schema", "_model"));
    assert_eq!(value(&card.to_json()), value(ORIGINAL));
    let both = with(
        r#"{"id":"a","path":"/a","input_schema":{"a":1},"input_model":{"b":1},"params_schema":null,"params_model":{"c":1}}"#,
    );
    let skill = &read(&both).skills[0];
    assert_eq!(skill.input_schema.as_deref().unwrap().get(), r#"{"a":1}"#);
    assert_eq!(skill.params_schema.as_deref().unwrap().get(), r#"{"c":1}"#);
}

#[test]
fn what_is_missing_is_filled_in_and_what_is_unknown_is_left_out() {
    let card = read(
        r#"{"name":"n","url":"x","skills":[{"id":"a","path":"a"},{"name":"B","path":"/b","method":"get","tags":[]}]}"#,
    );
    assert_eq!(
        card.to_json(),
        r#"{"name":"n","version":"","description":"","skills":[{"id":"a","name":"a","description":"","path":"a","method":"POST"},{"id":"B","name":"B","description":"","path":"/b","method":"GET"}]}"#
    );
    assert!(read(r#"{"name":"n"}"#).skills.is_empty());
}

#[test]
fn an_error_instead_of_a_card_is_told_as_such() {
    let Err(CardError::Error(error)) = read_card(br#"{"error":"timeout","code":504}"#) else {
        panic!("no error");
    };
    assert_eq!(error, PeerErrorBody::new("timeout", 504));
}

#[test]
fn cards_that_are_none_are_refused_by_field() {
    for (text, sentence) in [
        ("", "the body is empty"),
        ("[]", "the body must be an object"),
        ("{}", r#"field "name" is required"#),
        (r#"{"name":" "}"#, r#"field "name" is required"#),
        (r#"{"name":7}"#, r#"field "name" must be a string"#),
        (
            r#"{"name":"n","skills":{}}"#,
            r#"field "skills" must be an array"#,
        ),
    ] {
        assert_eq!(refused(text), (400, sentence.to_owned()), "{text}");
    }
}

#[test]
fn a_skill_that_cannot_be_read_is_passed_over_and_remarked_on_and_the_others_can_be_called() {
    let long = format!(r#"{{"id":"{}","path":"/a"}}"#, "x".repeat(MAX_NAME + 1));
    for (skill, sentence) in [
        ("7", r#"field "skills[1]" must be an object"#),
        (
            r#"{"path":"/a"}"#,
            r#"field "skills[1].id" is required, or "name" instead of it"#,
        ),
        (r#"{"id":"a"}"#, r#"field "skills[1].path" is required"#),
        (
            r#"{"id":"a","path":"/a","input_schema":[]}"#,
            r#"field "skills[1].input_schema" must be a JSON schema"#,
        ),
        (
            r#"{"id":"a","path":"/a","output_model":"x"}"#,
            r#"field "skills[1].output_model" must be a JSON schema"#,
        ),
        (&long, r#"field "skills[1].id" has more than 256 bytes"#),
    ] {
        let good = |id: &str| format!(r#"{{"id":"{id}","path":"/{id}"}}"#);
        let card = read(&with(&format!("{},{skill},{}", good("one"), good("two"))));
        let ids: Vec<_> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
        assert_eq!(ids, ["one", "two"], "{skill}");
        let remark = format!("{sentence}: this skill is passed over");
        assert_eq!(card.remarks(), [remark], "{skill}");
    }
    let none = read(&with("7"));
    assert!(none.skills.is_empty());
    assert_eq!(none.remarks().len(), 1, "why there are none says enough");
}

#[test]
fn a_card_is_bounded_in_bytes_skills_and_texts() {
    let skills = |count| vec![r#"{"id":"a","path":"/a"}"#; count].join(",");
    assert_eq!(read(&with(&skills(MAX_SKILLS))).skills.len(), MAX_SKILLS);
    let more = read(&with(&skills(MAX_SKILLS + 9)));
    assert_eq!(more.skills.len(), MAX_SKILLS);
    assert_eq!(
        more.remarks(),
        [r#"field "skills" has 73 entries: only the first 64 are taken"#]
    );
    let endless = read(&with(&vec!["7"; 20_000].join(",")));
    assert_eq!(endless.remarks().len(), MAX_SKILLS + 1);
    let large = format!(r#"{{"name":"{}"}}"#, "x".repeat(MAX_CARD));
    assert_eq!(
        refused(&large),
        (413, "the body has more than 65536 bytes".into())
    );
    let long = "é".repeat(5000);
    let card = read(&format!(
        r#"{{"name":"{long}","version":"{long}","description":"{long}"}}"#
    ));
    assert_eq!(card.name.len(), MAX_NAME);
    assert_eq!(card.version.len(), MAX_NAME);
    assert_eq!(card.description.len(), MAX_DESCRIPTION);
    let deep = with(&format!(
        r#"{{"id":"a","path":"/a","input_schema":{{"a":{}}}}}"#,
        nested(70)
    ));
    assert_eq!(refused(&deep).0, 400);
}

/// A card with this many skills, whose schemas and descriptions have the given sizes.
fn card(skills: usize, schema: usize, description: usize) -> PeerCard {
    let skill = |at| PeerSkill {
        id: format!("skill-{at}"),
        name: format!("Skill {at}"),
        description: "ö".repeat(description / 2),
        path: format!("/agents/agent-{at}/run"),
        method: "POST".into(),
        input_schema: (schema > 0).then(|| raw(&format!("{{\"a\":\"{}\"}}", "x".repeat(schema)))),
        ..PeerSkill::default()
    };
    PeerCard {
        name: "hub".into(),
        version: "1".into(),
        description: "A hub.".into(),
        skills: (0..skills).map(skill).collect(),
        ..PeerCard::default()
    }
}

#[test]
fn a_card_that_fits_is_not_touched() {
    let card = card(10, 100, 100);
    assert_eq!(card.fit(MAX_WRITTEN_CARD, HINT), card.to_json());
}

#[test]
fn the_largest_schemas_go_first() {
    let mut card = card(4, 3000, 20);
    card.skills[2].output_schema = Some(raw(&format!("{{\"a\":\"{}\"}}", "y".repeat(9000))));
    let fitted = read(&card.fit(MAX_WRITTEN_CARD, HINT));
    let has_schema: Vec<_> = fitted
        .skills
        .iter()
        .map(|skill| skill.input_schema.is_some())
        .collect();
    assert_eq!(has_schema, [true, true, false, true]);
    assert_eq!(fitted.description, "A hub.");
    assert_eq!(fitted.skills[2].description, card.skills[2].description);
}

#[test]
fn then_descriptions_are_shortened_and_no_skill_is_lost() {
    let fitted = read(&card(40, 500, 1000).fit(MAX_WRITTEN_CARD, HINT));
    assert_eq!(fitted.skills.len(), 40);
    assert!(
        fitted
            .skills
            .iter()
            .all(|skill| skill.input_schema.is_none())
    );
    let description = &fitted.skills[0].description;
    assert!(description.ends_with('…') && description.len() <= 256);
    assert_eq!(fitted.description, "A hub.");
}

#[test]
fn then_skills_are_left_out_from_the_end_and_the_card_says_where_they_are() {
    let mut card = card(64, 500, 1000);
    for skill in &mut card.skills {
        skill.path.push_str(&"/x".repeat(150));
    }
    let fitted = read(&card.fit(MAX_WRITTEN_CARD, HINT));
    let kept = fitted.skills.len();
    assert!((30..64).contains(&kept), "{kept}");
    assert_eq!(fitted.skills[kept - 1].id, format!("skill-{}", kept - 1));
    assert_eq!(
        fitted.description,
        format!("({} more skills: {HINT})", 64 - kept)
    );
}

#[test]
fn skills_that_readers_would_refuse_are_left_out_though_there_is_room() {
    let fitted = read(&card(65, 0, 0).fit(MAX_CARD, HINT));
    assert_eq!(fitted.skills.len(), MAX_SKILLS);
    assert_eq!(fitted.description, format!("A hub. (1 more skill: {HINT})"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_card_fits_and_stays_json(
        name in any::<String>(),
        description in any::<String>(),
        skills in 0usize..100,
        schema in 0usize..300,
        length in 0usize..600,
        max in 2usize..20_000,
    ) {
        let card = PeerCard { name, description, ..card(skills, schema, length) };
        let fitted = card.fit(max, HINT);
        prop_assert!(fitted.len() <= max);
        prop_assert!(serde_json::from_str::<Value>(&fitted).is_ok());
        prop_assert_eq!(&card.fit(max, HINT), &fitted);
    }
}

#[test]
fn what_nobody_could_call_is_remarked_on() {
    let skill = |path: &str, method: &str| {
        let card = format!(
            r#"{{"name":"x","skills":[{{"id":"a","path":"/ok/{{x}}"}},{{"id":"b","path":"{path}","method":"{method}"}}]}}"#
        );
        read_card(card.as_bytes()).unwrap().remarks()
    };
    assert!(skill("/time/12:30", "get").is_empty());
    assert_eq!(
        skill("/a", "FETCH"),
        [r#"skill "b": field "method" must be GET, POST, PUT, PATCH or DELETE"#]
    );
    assert_eq!(
        skill("/a/:city", "POST"),
        [
            r#"skill "b": field "path" has ":city", which is taken as it is written: a gap is {city}"#
        ]
    );
    let none = read_card(br#"{"name":"x","skills":[]}"#).unwrap();
    assert!(none.remarks()[0].contains("no agent"));
}
