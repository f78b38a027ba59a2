//! What a call becomes for a peer, and what a peer is called here. That it all works among real peers is tested with a
//! whole hub.

use jackfield_core::limits::Limits;
use jackfield_kit::files::Files;
use jackfield_model::{Json, Message, Part, Reason};
use jackfield_peer::{Multiaddr, PeerId, wire::read_card};
use serde_json::{Value, json};

use super::{
    ask::hand_off,
    list::{PeerRoute, RemoteAgent},
    places_for,
};

fn skills(skills: &Value) -> PeerRoute {
    let card = json!({"name": "x", "version": "1", "description": "", "skills": skills});
    PeerRoute::Skills(read_card(card.to_string().as_bytes()).unwrap().skills)
}

fn skill(id: &str, path: &str, method: &str) -> Value {
    json!({"id": id, "name": id, "description": "", "path": path, "method": method})
}

fn asked(way: &PeerRoute, message: &Message) -> Result<Value, Reason> {
    let files = Files::new(&Limits::default());
    let asked = hand_off(way, message, &files).map_err(|failure| failure.reason)?;
    Ok(serde_json::from_str(&asked.to_json()).unwrap())
}

fn with(message: Message, metadata: &str) -> Message {
    Message {
        metadata: Some(Json::parse(metadata).unwrap()),
        ..message
    }
}

#[test]
fn words_go_to_the_first_skill_or_to_the_one_that_is_named() {
    let way = skills(&json!([
        skill("first", "/one", "POST"),
        skill("second", "/two", "PUT")
    ]));
    let words = Message::text("hi");
    assert_eq!(
        asked(&way, &words).unwrap(),
        json!({"method": "POST", "path": "/one", "params": {}, "input_data": "hi"})
    );
    let second = asked(&way, &with(words.clone(), r#"{"skill":"second"}"#)).unwrap();
    assert_eq!(
        (&second["method"], &second["path"]),
        (&json!("PUT"), &json!("/two"))
    );
    let none = asked(&way, &with(words, r#"{"skill":"third"}"#));
    assert_eq!(none.unwrap_err(), Reason::Unsupported);
}

#[test]
fn the_one_gap_of_a_path_is_filled_with_the_words_and_several_by_name() {
    let goal = skills(&json!([skill("goal", "/{goal}", "POST")]));
    let asked_goal = asked(&goal, &Message::text("make tea")).unwrap();
    assert_eq!(asked_goal["params"], json!({"goal": "make tea"}));
    let way = skills(&json!([skill("add", "/add/{a}/{b}", "GET")]));
    let data = Message {
        parts: vec![Part::Data(Json::parse(r#"{"a":1,"b":"two"}"#).unwrap())],
        ..Message::default()
    };
    let asked_add = asked(&way, &data).unwrap();
    assert_eq!(asked_add["params"], json!({"a": 1, "b": "two"}));
    assert_eq!(asked_add["input_data"], Value::Null);
    let by_metadata = with(Message::text("x"), r#"{"params":{"a":true,"b":2}}"#);
    assert_eq!(
        asked(&way, &by_metadata).unwrap()["params"],
        json!({"a": true, "b": 2})
    );
    assert_eq!(
        asked(&way, &Message::text("x")).unwrap_err(),
        Reason::Invalid
    );
}

#[test]
fn words_of_several_lines_and_of_any_length_go_to_the_originals_own_path() {
    let way = skills(&json!([skill("goal", "/{goal}", "POST")]));
    for words in [
        "plan a trip\nto Rome",
        "in C:\\Users",
        &"on and on ".repeat(200),
    ] {
        let asked = asked(&way, &Message::text(words)).unwrap();
        assert_eq!(asked["params"], json!({"goal": words}));
        assert_eq!(asked["input_data"], words);
    }
    // What is too long for a path begins there, and is whole beside it.
    let long = "Köln ".repeat(5000);
    let asked_long = asked(&way, &Message::text(&long)).unwrap();
    let goal = asked_long["params"]["goal"].as_str().unwrap();
    assert!(
        long.starts_with(goal) && goal.len() > 3000,
        "{}",
        goal.len()
    );
    assert_eq!(asked_long["input_data"], long);
    // Without an input nothing could say the rest.
    let way = skills(&json!([skill("goal", "/{goal}", "GET")]));
    assert_eq!(
        asked(&way, &Message::text(&long)).unwrap_err(),
        Reason::Invalid
    );
    let way = skills(&json!([skill("find", "/find?q={q}&n=3", "GET")]));
    let asked_query = asked(&way, &Message::text("a&b")).unwrap();
    assert_eq!(
        (&asked_query["path"], &asked_query["params"]),
        (&json!("/find?q={q}&n=3"), &json!({"q": "a&b"}))
    );
}

#[test]
fn what_would_leave_the_peers_paths_is_refused_here() {
    let way = skills(&json!([skill("goal", "/{goal}", "POST")]));
    for words in ["..", "a\u{0}b"] {
        let refused = asked(&way, &Message::text(words));
        assert_eq!(refused.unwrap_err(), Reason::Invalid, "{words:?}");
    }
    let odd = skills(&json!([skill("odd", "/x", "TRACE")]));
    assert_eq!(
        asked(&odd, &Message::text("x")).unwrap_err(),
        Reason::Unsupported
    );
}

#[test]
fn an_agent_of_a_hub_gets_words_and_data_at_its_path() {
    let way = PeerRoute::Hub("/agents/echo/ask".to_owned());
    let both = Message {
        parts: vec![
            Part::Text("hi".to_owned()),
            Part::Data(Json::parse(r#"{"n":1}"#).unwrap()),
        ],
        ..Message::default()
    };
    let asked = asked(&way, &both).unwrap();
    assert_eq!(asked["path"], "/agents/echo/ask");
    let input: Value = serde_json::from_str(asked["input_data"].as_str().unwrap()).unwrap();
    assert_eq!(input, json!({"text": "hi", "data": [{"n": 1}]}));
}

#[test]
fn a_peer_is_called_by_its_name_and_the_end_of_its_id_and_never_by_anothers_name() {
    let peer = PeerId::random();
    let end = peer.to_string();
    let end = &end[end.len() - 12..];
    for (name, id) in [
        ("Weather Agent", "weather-agent"),
        ("planner", "planner"),
        ("../../etc", "etc"),
        ("日本", "peer"),
        ("", "peer"),
    ] {
        let card = json!({"name": name, "version": "", "description": "", "skills": [skill("s", "/s", "POST")]});
        let Ok(card) = read_card(card.to_string().as_bytes()) else {
            continue;
        };
        let listed = RemoteAgent::of_card(peer, card).unwrap();
        assert_eq!(listed.id.as_str(), format!("{id}@{end}"), "{name:?}");
    }
}

#[test]
fn a_place_at_a_relay_is_told_by_its_own_addresses_and_never_through_another_relay() {
    let (relay, other, peer) = (PeerId::random(), PeerId::random(), PeerId::random());
    let own: Vec<Multiaddr> = [
        format!("/ip4/192.0.2.1/tcp/1/p2p/{relay}"),
        format!("/ip4/192.0.2.1/udp/1/quic-v1/p2p/{relay}"),
        format!("/ip4/192.0.2.2/tcp/1/p2p/{other}/p2p-circuit/p2p/{relay}"),
    ]
    .map(|it| it.parse().unwrap())
    .into();
    let places: Vec<_> = places_for(peer, own).map(|it| it.to_string()).collect();
    assert_eq!(
        places,
        [
            format!("/ip4/192.0.2.1/tcp/1/p2p/{relay}/p2p-circuit/p2p/{peer}"),
            format!("/ip4/192.0.2.1/udp/1/quic-v1/p2p/{relay}/p2p-circuit/p2p/{peer}"),
        ]
    );
}
