//! Agents: who is seen by whom, and what their owners may change.

use jackfield_core::{
    agent::Closing,
    limits::Limits,
    principal::{Grant, Principal, Scopes},
};
use jackfield_model::Owner;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::OwnHub;

fn person(owner: &str, agents: &str) -> Principal {
    let scopes = Scopes::parse([agents]).unwrap();
    let grant = Grant {
        scopes,
        ..Grant::default()
    };
    Principal {
        grant: grant.into(),
        ..Principal::person(Owner::parse(owner).unwrap())
    }
}

fn ids(list: &Value) -> Vec<&str> {
    let agents = list["agents"].as_array().unwrap().iter();
    agents.map(|agent| agent["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn agents_are_listed_by_id_skill_and_presence() {
    let hub = OwnHub::start().await;
    let _zed = hub.attach("zed");
    let amy = hub.attach("amy");
    let (status, list) = hub.get("/v1/agents").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(ids(&list), ["amy", "zed"]);
    let first = &list["agents"][0];
    assert_eq!(first["name"], "Agent amy");
    assert_eq!(first["door"], "local");
    assert_eq!(first["owner"], "local");
    assert_eq!(first["state"], "online");
    assert_eq!(first["shared"], false);
    assert_eq!(first["open_calls"], 0);
    assert_eq!(first["skills"], json!([{"id": "amy-skill"}]));
    assert!(first.get("settings").is_none());
    drop(amy);
    assert_eq!(ids(&hub.get("/v1/agents?online=true").await.1), ["zed"]);
    assert_eq!(ids(&hub.get("/v1/agents?online=false").await.1), ["amy"]);
    assert_eq!(ids(&hub.get("/v1/agents?skill=amy-skill").await.1), ["amy"]);
    let both = "/v1/agents?skill=amy-skill&skill=zed-skill";
    assert!(ids(&hub.get(both).await.1).is_empty());
}

#[tokio::test]
async fn a_bad_query_is_refused_by_name() {
    let hub = OwnHub::start().await;
    for (query, word) in [
        ("/v1/agents?online=perhaps", "online"),
        ("/v1/agents?online=", "online"),
        ("/v1/agents?skil=x", "skil"),
        ("/v1/agents?online=true&online=true", "twice"),
        ("/v1/calls?limit=0", "limit"),
        ("/v1/calls?limit=999", "limit"),
        ("/v1/calls?state=weird", "state"),
        ("/v1/calls?before=x", "before"),
        ("/v1/calls?agent=%20", "agent"),
        ("/v1/events?raw=7", "raw"),
        ("/v1/events?agent=a%2Fb", "agent"),
    ] {
        let (status, body) = hub.get(query).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(body["error"], "invalid");
        assert!(body["message"].as_str().unwrap().contains(word), "{body}");
    }
}

#[tokio::test]
async fn the_owner_shares_an_agent_and_sets_its_clocks() {
    let hub = OwnHub::start().await;
    let _amy = hub.attach("amy");
    let change = json!({
        "share": {"with": ["ann", "bob"]},
        "settings": {"store": "meta", "idle": "90s", "absolute": 7200, "allow_a2a": false, "calls_per_hour": 5},
    });
    let (status, agent) = hub
        .json(Method::PATCH, "/v1/agents/amy", Some(change))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(agent["shared"], true);
    assert_eq!(agent["share"], json!({"with": ["ann", "bob"]}));
    let set = json!({"store": "meta", "approvals_to_caller": false, "allow_a2a": false, "calls_per_hour": 5,
        "idle": "90s", "absolute": "2h"});
    assert_eq!(agent["settings"], set);
    // What is not named stays; null takes back.
    let change = json!({"settings": {"idle": null, "calls_per_hour": null, "allow_a2a": true}});
    hub.json(Method::PATCH, "/v1/agents/amy", Some(change))
        .await;
    let (_, agent) = hub.get("/v1/agents/amy").await;
    let set =
        json!({"store": "meta", "approvals_to_caller": false, "allow_a2a": true, "absolute": "2h"});
    assert_eq!(agent["settings"], set);
    let (_, agent) = hub
        .json(
            Method::PATCH,
            "/v1/agents/amy",
            Some(json!({"share": "nobody"})),
        )
        .await;
    assert_eq!(agent["shared"], false);
}

#[tokio::test]
async fn bad_changes_are_refused_and_change_nothing() {
    let hub = OwnHub::start().await;
    let _amy = hub.attach("amy");
    for (body, word) in [
        (json!({"shared": true}), "shared"),
        (json!({"share": "friends"}), "share"),
        (json!({"share": {"with": ["not ok"]}}), "share"),
        (json!({"settings": {"idle": "soon"}}), "idle"),
        (json!({"settings": {"idle": 0}}), "idle"),
        (
            json!({"settings": {"calls_per_hour": -1}}),
            "calls_per_hour",
        ),
        (json!({"settings": {"allow_a2a": "no"}}), "allow_a2a"),
        (json!({"settings": {"absolute": "400d"}}), "absolute"),
        (json!({"settings": {"colour": 1}}), "colour"),
        (json!([]), "body"),
    ] {
        let (status, answer) = hub
            .json(Method::PATCH, "/v1/agents/amy", Some(body.clone()))
            .await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
        assert!(
            answer["message"].as_str().unwrap().contains(word),
            "{answer}"
        );
    }
    assert_eq!(hub.get("/v1/agents/amy").await.1["shared"], false);
}

#[tokio::test]
async fn a_forgotten_agent_is_told_to_go_and_its_id_is_free() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (status, _) = hub.json(Method::DELETE, "/v1/agents/amy", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(amy.next_close().await, Closing::Revoked);
    assert_eq!(hub.get("/v1/agents/amy").await.0, StatusCode::NOT_FOUND);
    let (status, _) = hub.json(Method::DELETE, "/v1/agents/amy", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let _bobs = hub.attach_for(&person("bob", "agent:*"), "amy");
    assert_eq!(hub.get("/v1/agents/amy").await.1["owner"], "bob");
}

#[tokio::test]
async fn foreign_agents_look_unknown_until_they_are_shared() {
    let hub = OwnHub::start().await;
    let _amy = hub.attach("amy");
    let ann = hub.token("ann", &[]).await;
    let unknown = hub
        .json_as(Some(&ann), Method::GET, "/v1/agents/nobody", None)
        .await;
    let foreign = hub
        .json_as(Some(&ann), Method::GET, "/v1/agents/amy", None)
        .await;
    assert_eq!(foreign.0, StatusCode::NOT_FOUND);
    let text = |answer: &Value| answer["message"].as_str().unwrap().to_owned();
    assert_eq!(text(&foreign.1), text(&unknown.1).replace("nobody", "amy"));
    let call = Some(json!({"text": "hi"}));
    for (method, path, body) in [
        (Method::POST, "/v1/agents/amy/calls", call.clone()),
        (
            Method::PATCH,
            "/v1/agents/amy",
            Some(json!({"share": "everyone"})),
        ),
        (Method::DELETE, "/v1/agents/amy", None),
        (Method::GET, "/v1/agents/not%20an%20id", None),
        (Method::POST, "/v1/agents/not%20an%20id/calls", call),
    ] {
        let (status, answer) = hub.json_as(Some(&ann), method, path, body).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer["error"], "not_found");
    }
    let (_, list) = hub
        .json_as(Some(&ann), Method::GET, "/v1/agents", None)
        .await;
    assert!(ids(&list).is_empty());

    hub.json(
        Method::PATCH,
        "/v1/agents/amy",
        Some(json!({"share": "everyone"})),
    )
    .await;
    let (status, agent) = hub
        .json_as(Some(&ann), Method::GET, "/v1/agents/amy", None)
        .await;
    assert_eq!(status, StatusCode::OK);
    assert!(agent.get("settings").is_none() && agent.get("share").is_none());
    let (status, _) = hub
        .json_as(Some(&ann), Method::DELETE, "/v1/agents/amy", None)
        .await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "shared is not owned");
}

#[tokio::test]
async fn an_agent_that_may_only_be_watched_is_seen_too() {
    let hub = OwnHub::start().await;
    let _amy = hub.attach("amy");
    let watcher = hub.token("ann", &["watch:a*"]).await;
    let (status, _) = hub
        .json_as(Some(&watcher), Method::GET, "/v1/agents/amy", None)
        .await;
    assert_eq!(status, StatusCode::OK);
    let call = Some(json!({"text": "hi"}));
    let (status, _) = hub
        .json_as(Some(&watcher), Method::POST, "/v1/agents/amy/calls", call)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_id_with_a_slip_names_those_that_may_be_meant_of_those_that_one_may_see() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    let ann = Principal::admin(Owner::parse("ann").unwrap());
    let _far = hub.attach_for(&ann, "weather@wUpT3WyJGkoj");
    let (mine, other) = (hub.token("ann", &[]).await, hub.token("bob", &[]).await);
    let calls = "/v1/agents/weathr/calls";
    let agent = "/v1/agents/weathr";
    for (method, path, body) in [
        (Method::POST, calls, json!({"text": "x"})),
        (Method::POST, calls, json!({"text": "x", "detach": true})),
        (Method::GET, agent, Value::Null),
        (Method::PATCH, agent, json!({"share": "everyone"})),
        (Method::DELETE, agent, Value::Null),
    ] {
        let body = (!body.is_null()).then_some(body);
        for (token, is_named) in [(&mine, true), (&other, false)] {
            let (status, answer) = hub
                .json_as(Some(token), method.clone(), path, body.clone())
                .await;
            assert_eq!(status, StatusCode::NOT_FOUND);
            let text = answer["message"].as_str().unwrap();
            let meant = text.contains("perhaps \"weather@wUpT3WyJGkoj\" is meant");
            assert_eq!(meant, is_named, "{method} {path}: {text}");
        }
    }
}
