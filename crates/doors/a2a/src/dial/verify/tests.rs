//! Signatures of published programs, of our own hub, and wrong ones.

use jackfield_core::{
    agent::Profile, hub::Hub, limits::Limits, principal::Principal, store::memory::MemoryStore,
};
use jackfield_kit::{
    auth::Gatekeeper,
    outbound::OutboundRules,
    server::Server,
    tasks::Tasks,
    testing::{Manner, SOON, Scripted},
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{net::TcpListener, task::JoinSet};

use super::{super::static_site::StaticSite, *};
use crate::wire::card::ForeignCard;
use crate::{A2aDoor, CardKey, Cards, router};

const JKU: &str = "https://signer.example/jwks.json";

fn outbound() -> Outbound {
    Outbound::new(&OutboundRules::default()).unwrap()
}

/// Judges a card by keys that are known already.
async fn judged(card: &Value, keys: &Value, generation: Generation) -> SignatureCheck {
    let outbound = outbound();
    let typed = Url::parse("https://agents.example").unwrap();
    let set: KeySet = serde_json::from_value(keys.clone()).unwrap();
    let rings = KeySetCache {
        outbound: &outbound,
        typed: &typed,
        fetched: vec![(JKU.to_owned(), Ok(set.keys()))],
    };
    let card = card.to_string();
    let read = ForeignCard::read(&card).unwrap();
    judge(rings, &card, &read.signatures, generation).await
}

fn is_verified(signed: &SignatureCheck) -> bool {
    matches!(signed, SignatureCheck::Verified { jku, .. } if jku == JKU)
}

/// Cards as published programs signed and served them, with their keys.
fn published() -> Vec<(Generation, Value, Value)> {
    [
        // ES256, ES384, RS256, PS256 and EdDSA, served with the old fields added.
        (Generation::New, include_str!("signed/python_1_3_0.json")),
        (Generation::New, include_str!("signed/js_1_3_0.json")),
        (Generation::Old, include_str!("signed/python_0_3_26.json")),
    ]
    .into_iter()
    .flat_map(|(generation, text)| {
        let cards: Vec<Value> = serde_json::from_str(text).unwrap();
        cards
            .into_iter()
            .map(move |it| (generation, it["card"].clone(), it["keys"].clone()))
    })
    .collect()
}

#[tokio::test]
async fn what_published_programs_sign_is_verified() {
    let cards = published();
    assert_eq!(cards.len(), 7);
    for (generation, card, keys) in cards {
        let signed = judged(&card, &keys, generation).await;
        assert!(is_verified(&signed), "{signed} {card}");
    }
}

#[tokio::test]
async fn a_card_that_was_changed_is_bad() {
    for (generation, card, keys) in published() {
        let place = match generation {
            Generation::New => "/supportedInterfaces/0/url",
            Generation::Old => "/url",
        };
        for (pointer, value) in [
            (place, json!("https://evil.example")),
            ("/name", json!("Somebody else")),
            ("/skills/0/id", json!("other")),
            ("/capabilities/streaming", json!(false)),
        ] {
            let mut card = card.clone();
            *card.pointer_mut(pointer).unwrap() = value;
            let signed = judged(&card, &keys, generation).await;
            assert!(
                matches!(signed, SignatureCheck::Bad(_)),
                "{pointer} {signed}"
            );
        }
    }
}

#[tokio::test]
async fn a_place_that_the_signature_does_not_cover_is_not_vouched_for() {
    let (_, mut card, keys) = published().remove(0);
    card["url"] = json!("https://evil.example");
    let signed = judged(&card, &keys, Generation::New).await;
    assert!(is_verified(&signed), "{signed}");
    let signed = judged(&card, &keys, Generation::Old).await;
    assert!(matches!(signed, SignatureCheck::Bad(_)), "{signed}");
}

#[tokio::test]
async fn a_key_must_be_the_named_one_and_meant_for_it() {
    for (generation, card, keys) in published() {
        for (field, value) in [
            ("kid", "other"),
            ("alg", "HS256"),
            ("use", "enc"),
            ("kty", "oct"),
        ] {
            let mut keys = keys.clone();
            keys["keys"][0][field] = json!(value);
            let signed = judged(&card, &keys, generation).await;
            assert!(
                matches!(signed, SignatureCheck::Unverified(_)),
                "{field} {signed}"
            );
        }
        // Somebody else's key of that name.
        let other = published().into_iter().find(|(_, _, other)| {
            other["keys"][0]["alg"] == keys["keys"][0]["alg"] && *other != keys
        });
        if let Some((_, _, mut other)) = other {
            other["keys"][0]["kid"] = keys["keys"][0]["kid"].clone();
            let signed = judged(&card, &other, generation).await;
            assert!(matches!(signed, SignatureCheck::Bad(_)), "{signed}");
        }
        // Keys that cannot be read do not spoil the one that can.
        let mut many = json!({"keys": [7, {}, {"kty": "EC", "crv": "P-256", "x": "!", "y": ""}]});
        many["keys"]
            .as_array_mut()
            .unwrap()
            .push(keys["keys"][0].clone());
        assert!(is_verified(&judged(&card, &many, generation).await));
    }
}

#[tokio::test]
async fn one_valid_signature_is_enough() {
    let (generation, mut card, keys) = published().remove(0);
    let good = card["signatures"][0].clone();
    let protected = |header: Value| URL_SAFE_NO_PAD.encode(header.to_string());
    let nowhere = json!({"protected": protected(json!({"alg": "ES256"})), "signature": "AAAA"});
    let wrong = json!({"protected": good["protected"], "signature": "AAAA"});
    card["signatures"] = json!([7, nowhere, wrong, good]);
    assert!(is_verified(&judged(&card, &keys, generation).await));
    card["signatures"] = json!([nowhere, wrong]);
    assert!(matches!(
        judged(&card, &keys, generation).await,
        SignatureCheck::Bad(_)
    ));
    card["signatures"] = json!([nowhere]);
    assert!(matches!(
        judged(&card, &keys, generation).await,
        SignatureCheck::Unverified(_)
    ));
}

#[tokio::test]
async fn a_signature_that_cannot_be_judged_says_why() {
    let encode = |header: &Value| URL_SAFE_NO_PAD.encode(header.to_string());
    let header = json!({"alg": "ES256", "kid": "k", "jku": JKU});
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        encode(&header)
    };
    for (protected, signature, expected) in [
        (
            String::new(),
            "AAAA",
            "the protected header of a signature cannot be read",
        ),
        (
            "e30".to_owned(),
            "AAAA",
            "the protected header of a signature cannot be read",
        ),
        (encode(&header), "!", "a signature is not base64url"),
        (
            with("crit", json!(["b64"])),
            "AAAA",
            "a signature wants more understood than is known here",
        ),
        (
            with("jku", Value::Null),
            "AAAA",
            "a signature does not say where its key is (jku)",
        ),
        (
            with("alg", json!("none")),
            "AAAA",
            "https://signer.example/jwks.json has no key \"k\" that can be used for none",
        ),
        (
            with("jku", json!("http://other.example/keys")),
            "AAAA",
            "the keys at http://other.example/keys are not fetched, since it is not https",
        ),
        (
            with("jku", json!("keys")),
            "AAAA",
            "jku \"keys\" is no URL: relative URL without a base",
        ),
    ] {
        let card =
            json!({"name": "a", "signatures": [{"protected": protected, "signature": signature}]});
        let signed = judged(&card, &json!({"keys": []}), Generation::New).await;
        assert_eq!(signed, SignatureCheck::Unverified(expected.to_owned()));
    }
}

/// What a card with one signature is worth whose keys are said to be at `jku`.
async fn verified_by(site: &StaticSite, jku: &str) -> SignatureCheck {
    let header = json!({"alg": "ES256", "kid": "k", "jku": jku});
    let signatures = [Signature {
        protected: URL_SAFE_NO_PAD.encode(header.to_string()),
        signature: "AAAA".into(),
    }];
    let outbound = outbound().trusting([site.origin()]).unwrap();
    let card = r#"{"name":"a"}"#;
    verify(
        &outbound,
        &site.url("/"),
        card,
        &signatures,
        Generation::New,
    )
    .await
}

#[tokio::test]
async fn keys_that_are_not_to_be_had_leave_a_card_unverified() {
    let site = StaticSite::start().await;
    site.put("/html", "<html>");
    site.put("/large", format!(r#"{{"keys":[]}}{}"#, " ".repeat(MAX_SET)));
    site.answer("/moved", 302, &[("location", "/html")], "");
    for (path, expected) in [
        ("/none", "the server answers 404 Not Found"),
        ("/moved", "the server answers 302 Found"),
        ("/html", "is no set of keys"),
        ("/large", "is no set of keys"),
    ] {
        let signed = verified_by(&site, &format!("{}{path}", site.origin())).await;
        let SignatureCheck::Unverified(why) = &signed else {
            panic!("{signed}");
        };
        assert!(why.ends_with(expected), "{why}");
    }
    // Another place of this machine is not the typed one, and not to be reached by what a card says.
    let signed = verified_by(&site, "https://127.0.0.1:1/keys").await;
    let SignatureCheck::Unverified(why) = &signed else {
        panic!("{signed}");
    };
    assert!(why.contains("is not a public address"), "{why}");
}

#[tokio::test]
async fn keys_are_fetched_once_and_from_few_places() {
    let site = StaticSite::start().await;
    site.put("/keys", r#"{"keys":[]}"#);
    let signature = |path: &str| {
        let header = json!({"alg": "ES256", "jku": format!("{}{path}", site.origin())});
        Signature {
            protected: URL_SAFE_NO_PAD.encode(header.to_string()),
            signature: "AAAA".into(),
        }
    };
    let outbound = outbound().trusting([site.origin()]).unwrap();
    let mut signatures = vec![signature("/keys"); 5];
    signatures.extend((0..10).map(|at| signature(&format!("/{at}"))));
    let card = r#"{"name":"a"}"#;
    verify(
        &outbound,
        &site.url("/"),
        card,
        &signatures,
        Generation::New,
    )
    .await;
    assert_eq!(site.paths(), ["/keys", "/0", "/1"]);
}

/// A hub that signs its cards, at its own address.
async fn hub() -> (String, Hub, JoinSet<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let hub = Hub::open(Arc::new(MemoryStore::default()), Limits::default());
    let hub = hub.await.unwrap();
    let key = CardKey::from_hex(&"5c".repeat(32)).unwrap();
    let cards = Cards::at(&origin).signed_by(key);
    let a2a = A2aDoor::new(hub.clone(), Gatekeeper::new(hub.clone(), true)).with_cards(cards);
    let mut server = JoinSet::new();
    let app = router(Arc::new(a2a));
    server.spawn(Server::new(vec![listener], app, Tasks::new()).run(SOON));
    (origin, hub, server)
}

#[tokio::test]
async fn every_signature_of_our_own_cards_is_verified_by_itself() {
    let (origin, hub, _server) = hub().await;
    let manner = Manner {
        door: "agora",
        ..Manner::default()
    };
    let profile = Profile {
        name: "Écho \u{7f} 😀".into(),
        ..Profile::default()
    };
    let _echo = Scripted::attach(&hub, &Principal::local(), "echo", profile, manner);
    let outbound = outbound().trusting([origin.as_str()]).unwrap();
    let url = Url::parse(&format!(
        "{origin}/a2a/agents/echo/.well-known/agent-card.json"
    ))
    .unwrap();
    let card = outbound
        .fetch(url.as_str(), HeaderMap::new(), 1 << 20)
        .await
        .unwrap();
    let card = std::str::from_utf8(&card.body).unwrap();
    let read = ForeignCard::read(card).unwrap();
    assert!(read.signatures.len() >= 3, "{card}");
    let mut verified = [0, 0];
    for signature in &read.signatures {
        let one = std::slice::from_ref(signature);
        for (count, generation) in verified.iter_mut().zip([Generation::New, Generation::Old]) {
            match verify(&outbound, &url, card, one, generation).await {
                SignatureCheck::Verified { jku, .. } => {
                    assert_eq!(jku, format!("{origin}/.well-known/jwks.json"));
                    *count += 1;
                }
                SignatureCheck::Bad(_) => {}
                other => panic!("{other}"),
            }
        }
    }
    // The whole card is signed for both generations, the rest for one of them.
    assert_eq!(verified.iter().sum::<usize>(), read.signatures.len() + 1);
    assert!(verified.iter().all(|count| *count >= 2), "{verified:?}");

    let changed = card.replace("/a2a/agents/echo", "/a2a/agents/evil");
    for generation in [Generation::New, Generation::Old] {
        let signed = verify(&outbound, &url, &changed, &read.signatures, generation).await;
        assert!(matches!(signed, SignatureCheck::Bad(_)), "{signed}");
    }
}
