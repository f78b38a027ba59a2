//! Cards as published servers write them, and cards that nobody should write.

use proptest::prelude::*;

use super::*;

/// What a card offers, each as `binding version url`, with the generation that says so.
fn offers(card: &str) -> Vec<(Generation, String)> {
    let card = ForeignCard::read(card).unwrap();
    let offers = card.offers.iter();
    offers
        .map(|offer| {
            let version = offer.version().map_or("?", A2aVersion::name);
            let binding = offer.binding().map_or("?", Binding::name);
            (
                offer.generation,
                format!("{binding} {version} {}", offer.url),
            )
        })
        .collect()
}

fn old(offers: &[&str]) -> Vec<(Generation, String)> {
    offers
        .iter()
        .map(|offer| (Generation::Old, (*offer).to_owned()))
        .collect()
}

fn new(offers: &[&str]) -> Vec<(Generation, String)> {
    offers
        .iter()
        .map(|offer| (Generation::New, (*offer).to_owned()))
        .collect()
}

#[test]
fn a_card_of_version_0_2_is_called_as_0_3() {
    // As servers of the Python SDK 0.2 serve it at the old path.
    let card = r#"{"authentication":{"schemes":["public"]},"capabilities":{"streaming":true},
        "defaultInputModes":["text"],"defaultOutputModes":["text"],"description":"Just a hello world agent",
        "name":"Hello World Agent","skills":[{"description":"just returns hello world","examples":["hi","hello world"],
        "id":"hello_world","name":"Returns hello world","tags":["hello world"]}],
        "url":"http://localhost:9999/","version":"1.0.0"}"#;
    assert_eq!(offers(card), old(&["JSONRPC 0.3 http://localhost:9999/"]));
    let read = ForeignCard::read(card).unwrap();
    assert_eq!(read.name, "Hello World Agent");
    assert_eq!(read.input_modes, ["text"]);
    assert_eq!(read.skills[0].id, "hello_world");
    assert!(read.streams);

    let later = r#"{"name":"a","protocolVersion":"0.2.6","url":"http://h/"}"#;
    assert_eq!(offers(later), old(&["JSONRPC 0.3 http://h/"]));
}

#[test]
fn a_card_of_version_0_3_offers_its_url_and_what_stands_beside_it() {
    // The Python SDK 0.3.26.
    let card = r#"{"additionalInterfaces":[{"transport":"HTTP+JSON","url":"http://127.0.0.1:41241"}],
        "capabilities":{"extensions":[{"params":{"a":1},"required":false,"uri":"urn:x"}],
        "stateTransitionHistory":false,"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":[],
        "description":"Says it.","name":"Écho 😀","preferredTransport":"JSONRPC","protocolVersion":"0.3.0",
        "provider":{"organization":"O","url":"http://o"},"security":[{"b":[]}],
        "securitySchemes":{"b":{"scheme":"bearer","type":"http"}},
        "skills":[{"description":"d","id":"s","name":"S","tags":[]}],"url":"http://127.0.0.1:41241/","version":"1.0"}"#;
    let expected = [
        "JSONRPC 0.3 http://127.0.0.1:41241/",
        "HTTP+JSON 0.3 http://127.0.0.1:41241",
    ];
    assert_eq!(offers(card), old(&expected));
    let read = ForeignCard::read(card).unwrap();
    assert_eq!(read.extensions[0].uri, "urn:x");
    assert!(!read.extensions[0].required);
    assert!(read.signatures.is_empty());

    // Samples of the JavaScript SDK 0.3 list the first place again, and gRPC.
    let card = r#"{"name":"Movie Agent","description":"d","url":"http://localhost:41241/","protocolVersion":"0.3.0",
        "version":"0.0.2","capabilities":{"streaming":true,"pushNotifications":false,"stateTransitionHistory":true},
        "defaultInputModes":["text"],"defaultOutputModes":["text","task-status"],"skills":[],
        "supportsAuthenticatedExtendedCard":false,"preferredTransport":"GRPC","additionalInterfaces":[
        {"url":"localhost:50051","transport":"GRPC"},{"url":"http://localhost:41241/","transport":"JSONRPC"}]}"#;
    let expected = [
        "GRPC 0.3 http://localhost:41241/",
        "GRPC 0.3 localhost:50051",
        "JSONRPC 0.3 http://localhost:41241/",
    ];
    assert_eq!(offers(card), old(&expected));
}

#[test]
fn agnos_card_is_full_of_nulls_and_names_a_method() {
    // Agno 3.1.10.
    let card = r#"{"additionalInterfaces":null,"capabilities":{"extensions":null,"pushNotifications":false,
        "stateTransitionHistory":false,"streaming":true},"defaultInputModes":["text"],"defaultOutputModes":["text"],
        "description":"","documentationUrl":null,"iconUrl":null,"name":"Basic Agent","preferredTransport":"JSONRPC",
        "protocolVersion":"0.3.0","provider":null,"security":null,"securitySchemes":null,"signatures":null,
        "skills":[{"description":"","examples":["search","ok"],"id":"basic","inputModes":null,"name":"Basic Agent",
        "outputModes":["application/json"],"security":null,"tags":["agno"]}],"supportsAuthenticatedExtendedCard":false,
        "url":"http://testserver/a2a/agents/basic/v1/message:stream","version":"1.0.0"}"#;
    let expected = ["JSONRPC 0.3 http://testserver/a2a/agents/basic/v1/message:stream"];
    assert_eq!(offers(card), old(&expected));
    let read = ForeignCard::read(card).unwrap();
    assert_eq!(read.description, None);
    assert_eq!(read.skills[0].description, None);
    assert!(read.streams && read.signatures.is_empty());
}

#[test]
fn a_card_of_version_1_0_has_a_list() {
    // Google ADK 2.13.
    let adk = r#"{"name":"dice_agent","description":"Rolls dice.","supportedInterfaces":[{"url":"http://localhost:8001",
        "protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"version":"0.0.1","capabilities":{"streaming":true},
        "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
        "skills":[{"id":"dice_agent","name":"model","description":"Rolls dice.","tags":["llm"]}]}"#;
    assert_eq!(offers(adk), new(&["JSONRPC 1.0 http://localhost:8001"]));

    // The JavaScript SDK 1.3.0 writes what is empty too.
    let js = r#"{"name":"JS agent","description":"d","supportedInterfaces":[{"url":"http://localhost:41241/a2a/rest",
        "protocolBinding":"HTTP+JSON","tenant":"","protocolVersion":"1.0"}],"version":"1","securitySchemes":{},
        "capabilities":{"extensions":[]},"signatures":[]}"#;
    assert_eq!(
        offers(js),
        new(&["HTTP+JSON 1.0 http://localhost:41241/a2a/rest"])
    );
    let read = ForeignCard::read(js).unwrap();
    assert_eq!(read.offers[0].tenant, None);
    assert!(!read.streams);
}

#[test]
fn a_card_of_both_generations_offers_the_places_of_both() {
    // LangGraph's API 0.16 has the old `url` without a version.
    let langgraph = r#"{"name":"agent","description":"d","url":"http://h:2024/a2a/8ad","supportedInterfaces":[
        {"url":"http://h:2024/a2a/8ad","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":
        {"streaming":true,"pushNotifications":false,"stateTransitionHistory":false,"extensions":[]},"version":"0.16.7"}"#;
    let mut expected = new(&["JSONRPC 1.0 http://h:2024/a2a/8ad"]);
    expected.extend(old(&["JSONRPC 0.3 http://h:2024/a2a/8ad"]));
    assert_eq!(offers(langgraph), expected);

    // The Python SDK 1.3.0 adds the old fields to its own.
    let python = r#"{"name":"a","supportedInterfaces":[
        {"url":"http://h/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
        {"url":"http://h","protocolBinding":"HTTP+JSON","tenant":"t","protocolVersion":"1.0"},
        {"url":"http://h/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],
        "preferredTransport":"JSONRPC","protocolVersion":"0.3","url":"http://h/rpc"}"#;
    let mut expected = new(&[
        "JSONRPC 1.0 http://h/rpc",
        "HTTP+JSON 1.0 http://h",
        "JSONRPC 0.3 http://h/rpc",
    ]);
    expected.extend(old(&["JSONRPC 0.3 http://h/rpc"]));
    assert_eq!(offers(python), expected);
    let read = ForeignCard::read(python).unwrap();
    assert_eq!(read.offers[1].tenant.as_deref(), Some("t"));
}

#[test]
fn names_may_be_spelt_with_underscores() {
    let card = r#"{"name":"a","supported_interfaces":[{"url":"http://h","protocol_binding":"jsonrpc",
        "protocol_version":"1.0.0"}],"default_input_modes":["text/plain"],"url":"http://h/old",
        "preferred_transport":"HTTP+JSON","protocol_version":"0.3.0","additional_interfaces":[{"url":"http://h/rest"}]}"#;
    let mut expected = new(&["JSONRPC 1.0 http://h"]);
    expected.extend(old(&[
        "HTTP+JSON 0.3 http://h/old",
        "JSONRPC 0.3 http://h/rest",
    ]));
    assert_eq!(offers(card), expected);
    assert_eq!(ForeignCard::read(card).unwrap().input_modes, ["text/plain"]);

    let both =
        r#"{"name":"a","input_modes":[],"default_input_modes":["b"],"defaultInputModes":["a"]}"#;
    assert_eq!(ForeignCard::read(both).unwrap().input_modes, ["a"]);
}

#[test]
fn drafts_of_1_0_say_the_version_once_for_all() {
    let draft = r#"{"name":"a","protocolVersion":"1.0","supportedInterfaces":[{"url":"http://h","transport":"HTTP+JSON"}]}"#;
    assert_eq!(offers(draft), new(&["HTTP+JSON 1.0 http://h"]));
    let old_style = r#"{"name":"a","protocolVersion":"1.0","url":"http://h"}"#;
    assert_eq!(offers(old_style), old(&["JSONRPC 1.0 http://h"]));
}

#[test]
fn versions_are_read_as_far_as_they_can_be_spoken() {
    for (version, expected) in [
        ("0.2.5", Some(A2aVersion::V03)),
        ("0.3", Some(A2aVersion::V03)),
        ("v0.3.0", Some(A2aVersion::V03)),
        ("1", Some(A2aVersion::V10)),
        ("1.0.1", Some(A2aVersion::V10)),
        ("1.1", Some(A2aVersion::V10)),
        ("0.4", None),
        ("2.0", None),
        ("", None),
        ("latest", None),
        ("1.x", None),
    ] {
        let offer = OfferedInterface {
            url: "http://h".into(),
            binding: "JSONRPC".into(),
            version: version.into(),
            tenant: None,
            generation: Generation::New,
        };
        assert_eq!(offer.version(), expected, "{version}");
    }
}

#[test]
fn what_is_of_the_wrong_type_counts_as_absent() {
    let card = r#"{"name":"a","description":7,"version":{},"url":["x"],"supportedInterfaces":{"url":"http://h"},
        "additionalInterfaces":[7,{"transport":"JSONRPC"},{"url":"http://h","transport":9}],"capabilities":[],
        "defaultInputModes":"text","skills":[null,"x",{"id":1},{"id":"","name":""}],"signatures":["x",{"protected":"p"}]}"#;
    assert_eq!(offers(card), old(&["JSONRPC 0.3 http://h"]));
    let read = ForeignCard::read(card).unwrap();
    assert_eq!((read.description, read.version), (None, None));
    assert!(read.skills.is_empty() && read.input_modes.is_empty() && !read.streams);
    // That there are signatures is not lost, be they of no use.
    let protected: Vec<_> = read
        .signatures
        .iter()
        .map(|it| it.protected.as_str())
        .collect();
    assert_eq!(protected, ["", "p"]);
}

#[test]
fn what_counts_as_absent_is_named() {
    let card = r#"{"name":"a","capabilities":{"streaming":"yes"},"defaultInputModes":"text/plain",
        "skills":["s",{"id":1},{"name":"good"}],"supportedInterfaces":[{"url":"/rpc"},{"name":"x"}]}"#;
    assert_eq!(
        ForeignCard::read(card).unwrap().dropped,
        [
            "capabilities.streaming must be true or false",
            "defaultInputModes must be a list of strings",
            "skills[0] must be an object",
            "skills[1].id is required",
            "supportedInterfaces[1].url is required",
        ]
    );
    let good = r#"{"name":"a","capabilities":null,"skills":[],"defaultInputModes":["text/plain"]}"#;
    assert!(ForeignCard::read(good).unwrap().dropped.is_empty());
}

#[test]
fn a_card_wants_credentials_if_no_way_in_is_open_to_everybody() {
    for (fields, wants) in [
        ("", false),
        (r#","securityRequirements":[]"#, false),
        (r#","securitySchemes":{"b":{}}"#, false),
        (
            r#","securityRequirements":[{"schemes":{"b":{"list":[]}}}]"#,
            true,
        ),
        (r#","security":[{"b":[]}]"#, true),
        (r#","security":[{"b":[]},{}]"#, false),
        (r#","securityRequirements":[{"schemes":{}}]"#, false),
    ] {
        let card = format!(r#"{{"name":"a"{fields}}}"#);
        let card = ForeignCard::read(&card).unwrap();
        assert_eq!(card.wants_credentials, wants, "{fields}");
    }
}

#[test]
fn what_is_no_card_is_refused_by_the_name_of_its_fault() {
    for (text, expected) in [
        (
            "",
            "it is not JSON: EOF while parsing a value at line 1 column 0",
        ),
        (
            "<html>",
            "it is not JSON: expected value at line 1 column 1",
        ),
        ("[]", "it is not a JSON object"),
        ("\"card\"", "it is not a JSON object"),
        ("{}", "name is required"),
        (r#"{"name":null}"#, "name is required"),
        (r#"{"name":7}"#, "name must be a string"),
        (r#"{"name":" "}"#, "name must not be empty"),
    ] {
        assert_eq!(
            ForeignCard::read(text).unwrap_err().to_string(),
            expected,
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".*") {
        drop(ForeignCard::read(&text));
    }

    #[test]
    fn no_value_makes_the_reader_panic(card in card()) {
        let text = card.to_string();
        let read = ForeignCard::read(&text);
        let name = card["name"].as_str().is_some_and(|name| !name.trim().is_empty());
        prop_assert_eq!(read.is_ok(), name);
        for offer in read.map(|card| card.offers).unwrap_or_default() {
            prop_assert!(!offer.to_string().is_empty());
            prop_assert!(offer.binding().is_none_or(|it| it.name().eq_ignore_ascii_case(&offer.binding)));
            prop_assert!(offer.version().is_none_or(|_| offer.version.contains(['0', '1'])));
        }
        for generation in [Generation::Old, Generation::New] {
            drop(super::super::forms(&text, generation));
        }
    }
}

/// Objects whose members have the names of cards and any value.
fn card() -> impl Strategy<Value = serde_json::Value> {
    let names = prop::sample::select(vec![
        "name",
        "url",
        "protocolVersion",
        "protocol_version",
        "preferredTransport",
        "supportedInterfaces",
        "additionalInterfaces",
        "transport",
        "protocolBinding",
        "tenant",
        "capabilities",
        "streaming",
        "extensions",
        "uri",
        "required",
        "skills",
        "id",
        "signatures",
        "protected",
        "signature",
        "securitySchemes",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "[ -~é\u{0}]{0,8}".prop_map(Into::into),
        prop::sample::select(vec!["1.0", "0.3", "JSONRPC", "http://h/"]).prop_map(Into::into),
    ];
    let value = leaf.prop_recursive(4, 64, 8, {
        let names = names.clone();
        move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
                prop::collection::vec((names.clone(), inner), 0..6).prop_map(object),
            ]
        }
    });
    prop::collection::vec((names, value), 0..8).prop_map(object)
}

fn object(members: Vec<(&'static str, serde_json::Value)>) -> serde_json::Value {
    let members = members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    serde_json::Value::Object(members.collect())
}
