//! The forms of cards, word by word. That signatures of published programs fit them is judged where keys are known.

use serde_json::{Value, json};

use super::*;

fn values(card: &Value, generation: Generation) -> Vec<Value> {
    let forms = forms(&card.to_string(), generation);
    let read = |form: &String| serde_json::from_str(form).unwrap();
    forms.iter().map(read).collect()
}

/// A card as servers write it that add the old fields to a card of version 1.0.
fn card() -> Value {
    json!({
        "name": "Écho",
        "description": "",
        "version": "1.0",
        "supportedInterfaces": [{"url": "http://h", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "x": 1}],
        "capabilities": {"streaming": false, "extendedAgentCard": true, "stateTransitionHistory": false, "extensions": [
            {"uri": "urn:x", "required": false, "params": {"a": false, "odd name \"": 1.0}},
            {"uri": "urn:y", "required": true},
        ]},
        "securitySchemes": {"the \"key\"": {
            "httpAuthSecurityScheme": {"scheme": "bearer"}, "type": "http", "scheme": "bearer",
        }},
        "securityRequirements": [{"schemes": {"b": {}}}],
        "security": [{"b": []}],
        "skills": [{"id": "s", "tags": [], "security": [{"b": ["r"]}], "securityRequirements": [{"schemes": {"b": {"list": ["r"]}}}]}],
        "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC",
        "url": "http://h",
        "x-unknown": {"a": 1},
        "signatures": [{"protected": "p", "signature": "s"}],
    })
}

#[test]
fn no_form_has_the_signatures() {
    for generation in [Generation::Old, Generation::New] {
        for form in values(&card(), generation) {
            assert_eq!(form.get("signatures"), None, "{form}");
            assert_eq!(form["version"], "1.0", "{form}");
        }
    }
}

#[test]
fn a_form_has_the_whole_card() {
    let mut whole = card();
    whole.as_object_mut().unwrap().remove("signatures");
    // As it is written canonically.
    whole["capabilities"]["extensions"][0]["params"]["odd name \""] = json!(1);
    for generation in [Generation::Old, Generation::New] {
        assert!(values(&card(), generation).contains(&whole));
    }
}

#[test]
fn what_signers_of_1_0_know_is_a_form() {
    let expected = json!({
        "name": "Écho",
        "version": "1.0",
        "supportedInterfaces": [{"url": "http://h", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": false, "extendedAgentCard": true, "extensions": [
            {"uri": "urn:x", "params": {"a": false, "odd name \"": 1}},
            {"uri": "urn:y", "required": true},
        ]},
        "securitySchemes": {"the \"key\"": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
        "skills": [{"id": "s", "securityRequirements": [{"schemes": {"b": {"list": ["r"]}}}]}],
    });
    let forms = values(&card(), Generation::New);
    assert!(forms.contains(&expected), "{forms:#?}");
}

#[test]
fn what_the_signer_of_0_3_knows_is_a_form_in_ascii() {
    let expected = json!({
        "name": "Écho",
        "version": "1.0",
        "url": "http://h",
        "capabilities": {"streaming": false, "stateTransitionHistory": false, "extensions": [
            {"uri": "urn:x", "required": false, "params": {"a": false, "odd name \"": 1}},
            {"uri": "urn:y", "required": true},
        ]},
        "securitySchemes": {"the \"key\"": {"scheme": "bearer"}},
        "skills": [{"id": "s", "security": [{"b": ["r"]}]}],
    });
    let forms = forms(&card().to_string(), Generation::Old);
    let is_it = |form: &&String| serde_json::from_str::<Value>(form).unwrap() == expected;
    let spelt: Vec<_> = forms.iter().filter(is_it).collect();
    assert_eq!(spelt.len(), 2, "{forms:#?}");
    assert!(spelt[0].contains("\\u00c9cho") && spelt[1].contains("Écho"));
}

#[test]
fn every_form_says_where_the_agent_is_called_in_the_generation_that_is_used() {
    for form in values(&card(), Generation::New) {
        assert_eq!(form["supportedInterfaces"][0]["url"], "http://h", "{form}");
    }
    for form in values(&card(), Generation::Old) {
        assert_eq!(form["url"], "http://h", "{form}");
    }
}

#[test]
fn underscores_are_read_as_what_they_mean() {
    let card = json!({"name": "a", "supported_interfaces": [{"url": "http://h", "protocol_binding": "JSONRPC"}]});
    let expected = json!({"name": "a", "supportedInterfaces": [{"url": "http://h", "protocolBinding": "JSONRPC"}]});
    assert!(values(&card, Generation::New).contains(&expected));
}

#[test]
fn what_is_ambiguous_has_no_form() {
    for card in [
        "",
        "[]",
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"a","supportedInterfaces":[{"url":"http://good","tenant":"t","tenant":""}]}"#,
    ] {
        for generation in [Generation::Old, Generation::New] {
            // Only what is unknown to a generation can be ambiguous without harm.
            let forms = forms(card, generation);
            assert!(
                forms.iter().all(|form| !form.contains("good")),
                "{card} {forms:?}"
            );
            assert!(
                generation == Generation::Old || forms.is_empty(),
                "{card} {forms:?}"
            );
        }
    }
}
