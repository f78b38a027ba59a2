//! The signatures of cards, checked as verifiers do: from what stands in the card and in the set of keys alone.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jackfield_a2a::Cards;
use jackfield_core::agent::Profile;
use reqwest::Method;
use serde_json::{Value, json};
use serde_json_canonicalizer::to_string as canonical;

use crate::card::harness::{A2aHub, ECHO, HUB, SITE, key};

/// Checks that one of the signatures of a card is over this text, with the key that the hub publishes.
async fn is_signed(hub: &A2aHub, card: &Value, text: &str) -> bool {
    let keys = hub.get("/.well-known/jwks.json").await;
    assert!(
        keys.headers()["cache-control"]
            .to_str()
            .unwrap()
            .contains("max-age")
    );
    let keys: Value = serde_json::from_str(&keys.text().await.unwrap()).unwrap();
    let key = &keys["keys"][0];
    let number = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap()).unwrap();
    let point = [vec![4], number("x"), number("y")].concat();
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    let payload = URL_SAFE_NO_PAD.encode(text);
    let fits = |signature: &Value| {
        let protected = signature["protected"].as_str().unwrap();
        let header = URL_SAFE_NO_PAD.decode(protected).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        let expected = json!({
            "alg": "ES256",
            "typ": "JOSE",
            "kid": key["kid"],
            "jku": format!("{SITE}/.well-known/jwks.json"),
        });
        assert_eq!(header, expected);
        let bytes = URL_SAFE_NO_PAD.decode(signature["signature"].as_str().unwrap());
        let signed = format!("{protected}.{payload}");
        public.verify(signed.as_bytes(), &bytes.unwrap()).is_ok()
    };
    card["signatures"].as_array().unwrap().iter().any(fits)
}

/// Takes members out of an object in a card, if it is there.
fn prune(card: &mut Value, object: &str, names: &[&str]) {
    if let Some(object) = card.pointer_mut(object).and_then(Value::as_object_mut) {
        object.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// What verifiers leave out that drop what is empty, from the inside out.
fn drop_empty(value: &mut Value) {
    fn is_full(value: &Value) -> bool {
        !matches!(value, Value::Null)
            && value.as_str() != Some("")
            && value.as_array().is_none_or(|elements| !elements.is_empty())
            && value.as_object().is_none_or(|members| !members.is_empty())
    }
    if let Some(elements) = value.as_array_mut() {
        elements.iter_mut().for_each(drop_empty);
        elements.retain(is_full);
    }
    if let Some(members) = value.as_object_mut() {
        members.values_mut().for_each(drop_empty);
        members.retain(|_, member| is_full(member));
    }
}

/// As Python writes JSON: what is not printable ASCII is escaped.
fn python_ascii(json: &str) -> String {
    let escape = |c: char| match c {
        ' '..='~' => c.to_string(),
        _ => {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units);
            units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
    };
    json.chars().map(escape).collect()
}

#[tokio::test]
async fn every_kind_of_verifier_finds_a_signature_over_what_it_reads() {
    for trusts_everyone in [true, false] {
        let hub = A2aHub::start_with(trusts_everyone, Cards::at(SITE).signed_by(key())).await;
        let profile = Profile {
            name: "Écho \u{7f} 😀".into(),
            ..Profile::default()
        };
        let ann = hub.owner("ann").await;
        let _echo = hub.attach_for(&ann, "echo", profile);
        let token = hub.token("ann", &[]).await;
        for path in [ECHO, HUB] {
            let response = hub
                .ask(Method::GET, path)
                .bearer_auth(&token)
                .send()
                .await
                .unwrap();
            let card: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();

            // As it is written.
            let mut plain = card.clone();
            prune(&mut plain, "", &["signatures"]);
            let whole = canonical(&plain).unwrap();
            assert!(is_signed(&hub, &card, &whole).await, "{path}");
            let changed = whole.replace("Jackfield", "Jackfeild");
            assert!(!is_signed(&hub, &card, &changed).await, "{path}");

            // What verifiers of version 1.0 know of it; the published SDKs drop what is empty.
            let mut new = plain.clone();
            let old_fields = [
                "protocolVersion",
                "url",
                "preferredTransport",
                "additionalInterfaces",
                "supportsAuthenticatedExtendedCard",
                "security",
            ];
            prune(&mut new, "", &old_fields);
            prune(&mut new, "/capabilities", &["stateTransitionHistory"]);
            let scheme = "/securitySchemes/bearer";
            prune(&mut new, scheme, &["type", "scheme", "description"]);
            for is_dropped in [false, true] {
                if is_dropped {
                    drop_empty(&mut new);
                }
                let text = canonical(&new).unwrap();
                assert!(is_signed(&hub, &card, &text).await, "{path} {is_dropped}");
            }

            // What the SDK of version 0.3 knows of it, without its own defaults, in its own spelling.
            let mut old = plain;
            let new_fields = [
                "supportedInterfaces",
                "securityRequirements",
                "protocolVersion",
                "preferredTransport",
            ];
            prune(&mut old, "", &new_fields);
            prune(&mut old, "/capabilities", &["extendedAgentCard"]);
            prune(&mut old, scheme, &["type", "httpAuthSecurityScheme"]);
            drop_empty(&mut old);
            let old = canonical(&old).unwrap();
            assert!(is_signed(&hub, &card, &python_ascii(&old)).await, "{path}");
        }
    }
}

#[tokio::test]
async fn the_keys_are_public_and_stay_the_same_with_the_secret() {
    let open = A2aHub::start().await;
    let guarded = A2aHub::start_with(false, Cards::at(SITE).signed_by(key())).await;
    let path = "/.well-known/jwks.json";
    let keys = open.get(path).await.text().await.unwrap();
    assert_eq!(guarded.get(path).await.text().await.unwrap(), keys);
    assert!(!keys.contains("\"d\""), "{keys}");
    let without = A2aHub::start_with(true, Cards::at(SITE)).await;
    assert_eq!(
        without.get(path).await.text().await.unwrap(),
        r#"{"keys":[]}"#
    );
}
