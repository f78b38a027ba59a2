//! Bodies of registry requests, in the shapes of every generation of the original.

use super::*;
use crate::wire::registry::find::{FoundAgent, FoundTool, read_goal, write_agents, write_tools};
use crate::wire::registry::{
    DEFAULT_TTL, Entry, Heartbeat, MAX_TTL, Proof, RegisteredReply, Registration, read_peers,
    write_list, write_one, write_peers,
};

fn register(text: &str) -> Registration {
    match Registration::read(text.as_bytes()) {
        Ok(registration) => registration,
        Err(fault) => panic!("{text} was refused: {fault}"),
    }
}

fn refused(text: &str) -> (u16, String) {
    match Registration::read(text.as_bytes()) {
        Ok(registration) => panic!("{text} was taken for {registration:?}"),
        Err(fault) => (fault.code, fault.to_string()),
    }
}

fn with(field: &str) -> String {
    format!(r#"{{"peer_id":"Qm1",{field}}}"#)
}

#[test]
fn the_first_generations_registration_is_understood() {
    let text =
        r#"{"agent_name":"travel","peer_id":"Qm1","addrs":["/ip4/127.0.0.1/tcp/9001/p2p/Qm1"]}"#;
    let registration = register(text);
    assert_eq!(registration.agent_name.as_deref(), Some("travel"));
    assert_eq!(registration.peer_id, "Qm1");
    assert_eq!(registration.addresses, ["/ip4/127.0.0.1/tcp/9001/p2p/Qm1"]);
    assert!(registration.capabilities.is_empty() && registration.card.is_none());
    assert!(registration.proof.is_none());
    assert_eq!(registration.ttl, DEFAULT_TTL);
}

#[test]
fn addresses_and_skills_are_understood_under_all_their_names() {
    for name in ["addrs", "addresses", "multiaddresses"] {
        let registration = register(&with(&format!(r#""{name}":["/a","/b","/a"]"#)));
        assert_eq!(registration.addresses, ["/a", "/b"]);
    }
    let all = register(&with(
        r#""addresses":["/a"],"addrs":["/a","/b"],"multiaddresses":["/c"]"#,
    ));
    assert_eq!(all.addresses, ["/a", "/b", "/c"]);
    for name in ["skills", "capabilities"] {
        let text = format!(r#""{name}":["plan",{{"id":"book","name":"Book"}},{{"name":"Pay"}}]"#);
        assert_eq!(register(&with(&text)).capabilities, ["plan", "book", "Pay"]);
    }
    assert_eq!(register(&with(r#""name":"n""#)).agent_name.unwrap(), "n");
    assert_eq!(register(&with(r#""agent_name":" ""#)).agent_name, None);
}

#[test]
fn a_registration_is_read_as_it_was_written() {
    let text = r#"{"agent_name":"travel","peer_id":"Qm1","addrs":["/a"],"capabilities":["plan"],"ttl":60,"card":{"name":"n","version":"1","description":"d","skills":[]},"challenge":"c","signature":"s","public_key":"k"}"#;
    let registration = register(text);
    assert_eq!(registration.to_json(), text);
    let proof = Proof {
        challenge: "c".into(),
        signature: "s".into(),
        public_key: Some("k".into()),
    };
    assert_eq!(registration.proof, Some(proof));
    assert_eq!(registration.card.unwrap().name, "n");
}

#[test]
fn registrations_that_are_none_are_refused_by_field() {
    for (text, sentence) in [
        ("", "the body is empty"),
        ("[]", "the body must be an object"),
        ("{}", r#"field "peer_id" is required"#),
        (
            r#"{"peer_id":"a/b"}"#,
            r#"field "peer_id" must be a peer id"#,
        ),
        (r#"{"peer_id":7}"#, r#"field "peer_id" must be a string"#),
        (
            &with(r#""addrs":"/a""#),
            r#"field "addrs" must be an array"#,
        ),
        (
            &with(r#""addrs":["/a",7]"#),
            r#"field "addrs[1]" must be a string"#,
        ),
        (
            &with(r#""skills":[{"tags":[]}]"#),
            r#"field "skills[0].id" is required"#,
        ),
        (
            &with(r#""card":{"name":"n","skills":{}}"#),
            r#"field "card.skills" must be an array"#,
        ),
        (
            &with(r#""ttl":0"#),
            r#"field "ttl" must be a whole number of seconds from 1"#,
        ),
        (
            &with(r#""ttl":-5"#),
            r#"field "ttl" must be a whole number of seconds from 1"#,
        ),
        (
            &with(r#""signature":"s""#),
            r#"field "challenge" is required beside a signature"#,
        ),
        (
            &with(r#""challenge":"c""#),
            r#"field "signature" is required beside a challenge"#,
        ),
    ] {
        assert_eq!(refused(text), (400, sentence.to_owned()), "{text}");
    }
}

#[test]
fn registrations_are_bounded() {
    let words = |count: usize| {
        let words: Vec<_> = (0..count).map(|at| format!("\"/w{at}\"")).collect();
        words.join(",")
    };
    let addresses = |count| with(&format!(r#""addrs":[{}]"#, words(count)));
    let skills = |count| with(&format!(r#""skills":[{}]"#, words(count)));
    assert_eq!(register(&addresses(16)).addresses.len(), 16);
    assert_eq!(
        refused(&addresses(17)),
        (413, r#"field "addrs" has more than 16 entries"#.into())
    );
    let split = with(&format!(r#""addrs":[{}],"addresses":["/x"]"#, words(16)));
    assert_eq!(
        refused(&split),
        (413, r#"field "addresses" has more than 16 entries"#.into())
    );
    assert_eq!(register(&skills(64)).capabilities.len(), 64);
    assert_eq!(refused(&skills(65)).0, 413);
    let large = with(&format!(r#""x":"{}""#, "x".repeat(MAX_CARD)));
    assert_eq!(refused(&large).0, 413);
    assert_eq!(register(&with(r#""ttl":999999999"#)).ttl, MAX_TTL);
}

#[test]
fn a_heartbeat_names_the_peer_and_may_prove_it() {
    let bare = Heartbeat::read(br#"{"peer_id":"Qm1","agent_name":"x"}"#).unwrap();
    assert_eq!(
        bare,
        Heartbeat {
            peer_id: "Qm1".into(),
            ..Heartbeat::default()
        }
    );
    let text = r#"{"peer_id":"Qm1","ttl":60,"challenge":"c","signature":"s"}"#;
    let full = Heartbeat::read(text.as_bytes()).unwrap();
    assert_eq!(full.to_json(), text);
    let fault = Heartbeat::read(b"{}").unwrap_err();
    assert_eq!(fault.to_string(), r#"field "peer_id" is required"#);
}

#[test]
fn the_answer_to_a_registration_is_the_originals_and_more() {
    let old = RegisteredReply::read(br#"{"status":"registered","peer_id":"Qm1"}"#).unwrap();
    assert_eq!((&*old.peer_id, &old.expires_at), ("Qm1", &None));
    let text = r#"{"status":"registered","peer_id":"Qm1","expires_at":"2026-11-16T08:00:00Z"}"#;
    let answer = RegisteredReply::read(text.as_bytes()).unwrap();
    assert_eq!(answer.to_json(), text);
}

fn entry(peer_id: &str) -> Entry {
    Entry {
        peer_id: peer_id.into(),
        agent_name: Some("travel".into()),
        addresses: vec!["/a".into()],
        capabilities: vec!["plan".into()],
        registered_at: Some("2026-11-16T08:00:00Z".into()),
        expires_at: None,
    }
}

#[test]
fn peers_are_read_in_every_shape() {
    let mock = r#"{"peers":[{"agent_name":"travel","peer_id":"Qm1","addrs":["/a"],"registered_at":1749000000.5}]}"#;
    let manager = r#"{"peer_id":"Qm1","agent_name":"travel","addresses":["/a"]}"#;
    let tests =
        r#"[{"peer_id":"Qm1","multiaddresses":["/a"],"agent_name":"travel","capabilities":[]}]"#;
    let expected = Entry {
        capabilities: vec![],
        registered_at: None,
        ..entry("Qm1")
    };
    for text in [mock, manager, tests] {
        assert_eq!(
            read_peers(text.as_bytes()),
            Ok(vec![expected.clone()]),
            "{text}"
        );
    }
    assert_eq!(read_peers(b"[]"), Ok(vec![]));
    assert_eq!(read_peers(br#"{"peers":[]}"#), Ok(vec![]));
    for (text, sentence) in [
        (r#"{"error":"none"}"#, r#"field "peer_id" is required"#),
        (
            r#"{"peers":[{}]}"#,
            r#"field "peers[0].peer_id" is required"#,
        ),
        ("[7]", r#"field "[0]" must be an object"#),
        ("7", "the body must be an object"),
    ] {
        let fault = read_peers(text.as_bytes()).unwrap_err();
        assert_eq!(fault.to_string(), sentence);
    }
}

#[test]
fn what_the_registry_writes_serves_every_reader() {
    let peers = [entry("Qm1"), entry("Qm2")];
    let all = value(&write_peers(&peers));
    let list = value(&write_list(&peers));
    let one = value(&write_one(&peers).unwrap());
    assert_eq!(all["peers"], list);
    assert_eq!(one["peers"], list);
    for entry in [&one, &list[0]] {
        assert_eq!(entry["peer_id"], "Qm1");
        assert_eq!(entry["agent_name"], "travel");
        for name in ["addrs", "addresses", "multiaddresses"] {
            assert_eq!(entry[name], value(r#"["/a"]"#));
        }
        assert_eq!(entry["capabilities"], value(r#"["plan"]"#));
        assert_eq!(entry["registered_at"], "2026-11-16T08:00:00Z");
    }
    for text in [
        write_peers(&peers),
        write_list(&peers),
        write_one(&peers).unwrap(),
    ] {
        assert_eq!(read_peers(text.as_bytes()), Ok(peers.to_vec()));
    }
    assert_eq!(write_one(&[]), None);
    assert_eq!(write_peers(&[]), r#"{"peers":[]}"#);
    assert_eq!(write_list(&[]), "[]");
}

#[test]
fn a_search_has_a_goal_and_gets_a_bare_list() {
    assert_eq!(
        read_goal(br#"{"goal":"plan a trip","k":3}"#).unwrap(),
        "plan a trip"
    );
    for (text, sentence) in [
        ("{}", r#"field "goal" is required"#),
        (r#"{"goal":" "}"#, r#"field "goal" must not be blank"#),
        (r#"{"goal":[]}"#, r#"field "goal" must be a string"#),
    ] {
        let fault = read_goal(text.as_bytes()).unwrap_err();
        assert_eq!(fault.to_string(), sentence);
    }
    let agent = FoundAgent {
        name: "n".into(),
        description: "d".into(),
        version: "1".into(),
        endpoint: "e".into(),
        peer_id: "Qm1".into(),
    };
    assert_eq!(
        write_agents(&[agent]),
        r#"[{"name":"n","description":"d","version":"1","endpoint":"e","peer_id":"Qm1"}]"#
    );
    let tool = FoundTool {
        name: "t".into(),
        description: "d".into(),
        version: "1".into(),
        parameters: Some(raw(r#"{"type":"object"}"#)),
    };
    let bare = FoundTool {
        parameters: None,
        ..tool.clone()
    };
    assert_eq!(
        value(&write_tools(&[tool, bare])),
        value(
            r#"[
          {"name":"t","version":"1","default_parameters":{},"parameters_spec":{"type":"object"},
           "openai_function_spec":{"type":"function","function":{"name":"t","description":"d","parameters":{"type":"object"}}}},
          {"name":"t","version":"1","default_parameters":{},"parameters_spec":{},
           "openai_function_spec":{"type":"function","function":{"name":"t","description":"d","parameters":{}}}}
        ]"#
        )
    );
    assert_eq!(write_agents(&[]), "[]");
    assert_eq!(write_tools(&[]), "[]");
}
