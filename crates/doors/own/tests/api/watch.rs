//! Observers: what they see, what they miss, and that a silent stream is kept alive.

use jackfield_core::{
    limits::Limits,
    principal::Principal,
    tap::Direction,
    units::{Size, Span},
};
use jackfield_model::{AgentId, End, Event};
use jackfield_team::team::{MemberKind, MemberSpec, TeamSpec};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{OwnHub, soon};

#[tokio::test]
async fn an_observer_sees_what_it_may_and_nothing_else() {
    let hub = OwnHub::start().await;
    let ann = hub.token("ann", &["watch:am*"]).await;
    let mut all = hub
        .stream(hub.ask(Method::GET, "/v1/events?raw=true"))
        .await;
    let mut some = hub
        .stream(hub.ask(Method::GET, "/v1/events").bearer_auth(&ann))
        .await;
    let mut bobs = hub
        .stream(hub.ask(Method::GET, "/v1/events?agent=bob"))
        .await;
    let (mut amy, bob) = (hub.attach("amy"), hub.attach("bob"));
    let mut call = hub.call("amy", json!({"text": "hello"})).await;
    let id = call.expect("call").await.data["id"].clone();
    let serving = amy.next_call().await;
    serving.push(Event::text("hi"));
    let taps = hub.hub.taps();
    taps.see_frame(amy.entry(), Direction::Out, || "{\"raw\":1}".into());
    serving.finish(End::done());
    drop(bob);

    let online = all.expect("online").await.data;
    assert_eq!(
        (&online["agent"], &online["door"]),
        (&json!("amy"), &json!("local"))
    );
    assert!(online["at"].is_string() && online.get("call").is_none());
    assert_eq!(all.expect("online").await.data["agent"], "bob");
    let started = all.expect("started").await.data;
    assert_eq!(
        (&started["caller"], &started["door"], &started["call"]),
        (&json!("local"), &json!("own"), &id)
    );
    assert_eq!(started["message"], json!({"parts": [{"text": "hello"}]}));
    let chunk = all.expect("chunk").await.data;
    assert_eq!((&chunk["text"], &chunk["call"]), (&json!("hi"), &id));
    let frame = all.expect("frame").await.data;
    assert_eq!(
        (&frame["direction"], &frame["text"]),
        (&json!("out"), &json!("{\"raw\":1}"))
    );
    let ended = all.expect("ended").await.data;
    assert_eq!(ended["end"], json!({"type": "done", "state": "completed"}));
    assert_eq!(all.expect("offline").await.data["agent"], "bob");

    for event in ["online", "started", "chunk", "ended"] {
        assert_eq!(some.expect(event).await.data["agent"], "amy");
    }
    for event in ["online", "offline"] {
        assert_eq!(bobs.expect(event).await.data["agent"], "bob");
    }
}

#[tokio::test]
async fn an_observer_that_lagged_is_told_how_much_it_missed() {
    let limits = Limits {
        tap: Size::kib(4),
        ..Limits::default()
    };
    let hub = OwnHub::start_with(true, limits).await;
    let amy = hub.attach("amy");
    let mut watch = hub
        .stream(hub.ask(Method::GET, "/v1/events?raw=true"))
        .await;
    let entry = amy.entry();
    // Without giving way, so that the observer cannot keep up.
    for _ in 0..100 {
        let frame = || "x".repeat(100).into();
        hub.hub.taps().see_frame(entry, Direction::In, frame);
    }
    let (mut seen, mut missed) = (0, 0);
    while seen + missed < 100 {
        let next = watch.next().await.unwrap();
        match next.event.as_str() {
            "frame" => seen += 1,
            "missed" => missed += next.data["count"].as_u64().unwrap(),
            other => panic!("{other}"),
        }
    }
    assert!(missed > 0 && seen > 0);
}

#[tokio::test]
async fn a_silent_stream_is_kept_alive_by_comments() {
    let limits = Limits {
        keepalive: Span::millis(5),
        ..Limits::default()
    };
    let hub = OwnHub::start_with(true, limits).await;
    let mut watch = hub.stream(hub.ask(Method::GET, "/v1/events")).await;
    let bytes = soon(watch.response().chunk()).await.unwrap().unwrap();
    assert!(bytes.starts_with(b": "), "{bytes:?}");
}

/// Makes a team of members, the first of which leads it.
async fn team(hub: &OwnHub, id: &str, members: &[MemberKind]) {
    let member = |of: &MemberKind| {
        let (MemberKind::Agent(id) | MemberKind::Team(id)) = of;
        let (name, of) = (id.as_str().into(), of.clone());
        MemberSpec { name, of }
    };
    let members: Vec<_> = members.iter().map(member).collect();
    let spec = TeamSpec {
        name: id.to_owned(),
        description: None,
        coordinator: members[0].name.clone(),
        members,
    };
    let id = AgentId::parse(id).unwrap();
    let made = hub.teams.create(&Principal::local(), &id, spec);
    made.unwrap().1.await.unwrap();
}

#[tokio::test]
async fn an_observer_of_a_team_sees_its_members_and_those_of_teams_below_it() {
    let hub = OwnHub::start().await;
    let id = |id: &str| AgentId::parse(id).unwrap();
    let agent = |name: &str| MemberKind::Agent(id(name));
    let (amy, bob, carl) = (hub.attach("amy"), hub.attach("bob"), hub.attach("carl"));
    team(&hub, "inner", &[agent("bob")]).await;
    team(
        &hub,
        "outer",
        &[agent("amy"), MemberKind::Team(id("inner"))],
    )
    .await;
    let watch = |query: &str| {
        let path = format!("/v1/events?{query}");
        hub.stream(hub.ask(Method::GET, &path))
    };
    let mut outer = watch("team=outer").await;
    let mut bobs = watch("team=outer&agent=bob").await;
    drop((carl, amy, bob));
    let mut gone = Vec::new();
    while !gone.contains(&json!("bob")) {
        let seen = outer.expect("offline").await.data;
        gone.push(seen["agent"].clone());
    }
    assert!(gone.contains(&json!("amy")), "{gone:?}");
    assert!(!gone.contains(&json!("carl")), "{gone:?}");
    assert_eq!(bobs.expect("offline").await.data["agent"], "bob");
    let (status, answer) = hub.get("/v1/events?team=nobody").await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{answer}");
}
