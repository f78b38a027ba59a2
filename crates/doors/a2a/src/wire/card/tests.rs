//! Cards as their readers want them, word by word, and the texts that are signed.

use serde_json::{Value, json};

use super::*;

fn card() -> A2aCard {
    let interface = |url: &str, binding, version, tenant: Option<&str>| Interface {
        url: url.into(),
        binding,
        version,
        tenant: tenant.map(Into::into),
    };
    let base = "https://hub.example.com/a2a/agents/echo";
    A2aCard {
        name: "Écho".into(),
        description: "Says it again.".into(),
        version: "2.1.0".into(),
        interfaces: vec![
            interface(base, Binding::JsonRpc, A2aVersion::V10, None),
            interface(
                "hub.example.com:443",
                Binding::Grpc,
                A2aVersion::V10,
                Some("echo"),
            ),
            interface(base, Binding::JsonRpc, A2aVersion::V03, None),
            interface(base, Binding::HttpJson, A2aVersion::V03, None),
        ],
        provider: Some(Provider {
            organization: "Jackfield".into(),
            url: "https://hub.example.com".into(),
        }),
        documentation_url: None,
        icon_url: None,
        pushes: true,
        extensions: Vec::new(),
        needs_token: false,
        input_modes: vec!["text/plain".into()],
        output_modes: vec!["text/plain".into()],
        skills: vec![CardSkill {
            id: "repeat".into(),
            name: "Repeat".into(),
            description: "Repeats.".into(),
            tags: vec!["repeat".into()],
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        }],
        signatures: Vec::new(),
    }
}

fn value(card: &A2aCard, reader: CardAudience) -> Value {
    serde_json::from_str(&card.to_json(reader)).unwrap()
}

/// What both generations call the same.
fn shared() -> Value {
    json!({
        "name": "Écho",
        "description": "Says it again.",
        "version": "2.1.0",
        "provider": {"organization": "Jackfield", "url": "https://hub.example.com"},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "repeat", "name": "Repeat", "description": "Repeats.", "tags": ["repeat"]}],
    })
}

fn merged(mut into: Value, from: &Value) -> Value {
    let from = from.as_object().unwrap().clone();
    into.as_object_mut().unwrap().extend(from);
    into
}

fn only_v10() -> Value {
    let url = "https://hub.example.com/a2a/agents/echo";
    json!({
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "hub.example.com:443", "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "echo"},
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": true, "pushNotifications": true, "extendedAgentCard": true},
    })
}

fn only_v03() -> Value {
    let url = "https://hub.example.com/a2a/agents/echo";
    json!({
        "protocolVersion": "0.3.0",
        "url": url,
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [
            {"url": url, "transport": "JSONRPC"},
            {"url": url, "transport": "HTTP+JSON"},
        ],
        "supportsAuthenticatedExtendedCard": true,
        "capabilities": {"streaming": true, "pushNotifications": true, "stateTransitionHistory": false},
    })
}

#[test]
fn a_reader_of_one_version_gets_nothing_of_the_other() {
    let card = card();
    let v10 = value(&card, CardAudience::Of(A2aVersion::V10));
    assert_eq!(v10, merged(shared(), &only_v10()));
    let v03 = value(&card, CardAudience::Of(A2aVersion::V03));
    assert_eq!(v03, merged(shared(), &only_v03()));
}

#[test]
fn a_card_for_anybody_has_the_fields_of_both() {
    let mut expected = merged(merged(shared(), &only_v10()), &only_v03());
    expected["capabilities"]["extendedAgentCard"] = json!(true);
    assert_eq!(value(&card(), CardAudience::Any), expected);
}

#[test]
fn the_token_is_asked_for_in_both_spellings_under_one_name() {
    let card = A2aCard {
        needs_token: true,
        ..card()
    };
    let text = "A token of this hub, as Authorization: Bearer TOKEN.";
    let inner = json!({"scheme": "bearer", "description": text});
    let v10 = json!({"httpAuthSecurityScheme": inner});
    let v03 = json!({"type": "http", "scheme": "bearer", "description": text});
    let requirement_v10 = json!([{"schemes": {"bearer": {}}}]);
    let requirement_v03 = json!([{"bearer": []}]);

    let any = value(&card, CardAudience::Any);
    let both = merged(v03.clone(), &v10);
    assert_eq!(any["securitySchemes"], json!({"bearer": both}));
    assert_eq!(any["securityRequirements"], requirement_v10);
    assert_eq!(any["security"], requirement_v03);

    let strict = value(&card, CardAudience::Of(A2aVersion::V10));
    assert_eq!(strict["securitySchemes"], json!({"bearer": v10}));
    assert_eq!(strict["securityRequirements"], requirement_v10);
    assert_eq!(strict.get("security"), None);

    let old = value(&card, CardAudience::Of(A2aVersion::V03));
    assert_eq!(old["securitySchemes"], json!({"bearer": v03}));
    assert_eq!(old["security"], requirement_v03);
    assert_eq!(old.get("securityRequirements"), None);
}

#[test]
fn a_card_without_a_place_for_old_readers_shows_them_the_best_one() {
    let mut card = card();
    card.interfaces.truncate(1);
    let old = value(&card, CardAudience::Of(A2aVersion::V03));
    assert_eq!(old["url"], "https://hub.example.com/a2a/agents/echo");
    assert_eq!(old["additionalInterfaces"].as_array().unwrap().len(), 1);
}

#[test]
fn extensions_say_only_what_there_is_to_say() {
    let mut card = card();
    card.extensions = vec![
        CardExtension {
            uri: "urn:a".into(),
            description: None,
            required: false,
            params: None,
        },
        CardExtension {
            uri: "urn:b".into(),
            description: Some("B".into()),
            required: true,
            params: Some(RawValue::from_string(r#"{"x":false}"#.into()).unwrap()),
        },
    ];
    let expected = json!([
        {"uri": "urn:a"},
        {"uri": "urn:b", "description": "B", "required": true, "params": {"x": false}},
    ]);
    for reader in [
        CardAudience::Any,
        CardAudience::Of(A2aVersion::V03),
        CardAudience::Of(A2aVersion::V10),
    ] {
        assert_eq!(value(&card, reader)["capabilities"]["extensions"], expected);
    }
}

#[test]
fn each_verifier_finds_its_own_form_among_what_is_signed() {
    let card = A2aCard {
        needs_token: true,
        signatures: vec![Signature {
            protected: "p".into(),
            signature: "s".into(),
        }],
        ..card()
    };
    let texts = card.to_sign(CardAudience::Any);
    let values: Vec<Value> = texts
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect();
    let [sdk_v10, plain_v10, sdk_v03, whole] = values.as_slice() else {
        panic!("{texts:#?}");
    };
    for (value, text) in values.iter().zip(&texts) {
        assert_eq!(value.get("signatures"), None, "{text}");
    }
    let mut strict = value(&card, CardAudience::Of(A2aVersion::V10));
    strict.as_object_mut().unwrap().remove("signatures");
    assert_eq!(*plain_v10, strict);
    // A requirement without scopes is empty through and through.
    strict
        .as_object_mut()
        .unwrap()
        .remove("securityRequirements");
    assert_eq!(*sdk_v10, strict);

    let mut old = value(&card, CardAudience::Of(A2aVersion::V03));
    let fields = old.as_object_mut().unwrap();
    for gone in [
        "signatures",
        "security",
        "protocolVersion",
        "preferredTransport",
    ] {
        fields.remove(gone).unwrap();
    }
    let scheme = &mut old["securitySchemes"]["bearer"];
    scheme.as_object_mut().unwrap().remove("type").unwrap();
    assert_eq!(*sdk_v03, old);
    assert!(texts[2].contains(r#""name":"\u00c9cho""#), "{}", texts[2]);

    let mut any = value(&card, CardAudience::Any);
    any.as_object_mut().unwrap().remove("signatures");
    assert_eq!(*whole, any);
    assert!(texts[3].starts_with(r#"{"additionalInterfaces":[{"transport":"#));
}

#[test]
fn a_form_is_signed_once_even_if_several_verifiers_compute_it() {
    assert_eq!(card().to_sign(CardAudience::Of(A2aVersion::V10)).len(), 1);
    assert_eq!(card().to_sign(CardAudience::Of(A2aVersion::V03)).len(), 2);
    assert_eq!(card().to_sign(CardAudience::Any).len(), 3);
}

#[test]
fn headers_and_keys_are_written_as_the_standards_want_them() {
    let header = JwsHeader {
        key: "k",
        keys_url: "https://h/.well-known/jwks.json",
    };
    assert_eq!(
        header.to_json(),
        r#"{"alg":"ES256","typ":"JOSE","kid":"k","jku":"https://h/.well-known/jwks.json"}"#
    );
    let key = PublicKey { x: "X", y: "Y" };
    assert_eq!(
        key.to_json(),
        r#"{"crv":"P-256","kty":"EC","x":"X","y":"Y"}"#
    );
    assert_eq!(
        key.to_set("k"),
        r#"{"keys":[{"crv":"P-256","kty":"EC","x":"X","y":"Y","kid":"k","alg":"ES256","use":"sig"}]}"#
    );
}
