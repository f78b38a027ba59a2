//! Invites: who may make one, what is given for it, and that it works once.

use jackfield_core::{
    limits::Limits,
    principal::{Principal, Who},
    token::TokenLookup,
};
use jackfield_model::{AgentId, End};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::OwnHub;

/// Makes an invite and returns the path at which it is taken.
async fn invite(hub: &OwnHub, token: Option<&str>, body: Value) -> String {
    let (status, made) = hub
        .json_as(token, Method::POST, "/v1/invites", Some(body))
        .await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let url = made["url"].as_str().unwrap();
    let path = url.strip_prefix(&format!("http://{}", hub.addr));
    path.expect("the hub's own address").to_owned()
}

fn principal(hub: &OwnHub, token: &Value) -> Principal {
    match hub.hub.tokens().look_up(token.as_str().unwrap()) {
        TokenLookup::Valid(principal) => principal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_invite_gives_a_token_for_its_agent_once() {
    let hub = OwnHub::start().await;
    let path = invite(&hub, None, json!({"agent": "amy"})).await;
    // Whoever only looks does not use it up.
    let looked = hub.ask(Method::HEAD, &path).send().await.unwrap();
    assert_eq!(looked.status(), StatusCode::METHOD_NOT_ALLOWED);
    let response = hub.ask(Method::GET, &path).send().await.unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    let (status, setup) = hub.checked(&Method::GET, &path, response).await;
    assert_eq!(status, StatusCode::OK);
    let token = &setup["token"];
    let socket = format!("ws://{}/ws", hub.addr);
    assert_eq!(
        setup,
        json!({"agent_id": "amy", "token": token, "agent_type": "claude", "bridge_url": socket})
    );
    let text = token.as_str().unwrap();
    assert!(
        text.starts_with("ah_"),
        "the published command line keeps no other"
    );
    let who = principal(&hub, token);
    let amy = Who::Agent(AgentId::parse("amy").unwrap());
    assert_eq!((who.owner.as_str(), &who.who), ("local", &amy));
    assert_eq!(who.grant.scopes.to_texts(), ["agent:amy"]);
    let (status, answer) = hub.get(&path).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(answer["error"], "not_found");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("jackfield invite"), "{message}");
}

#[tokio::test]
async fn the_kind_of_agent_travels_along_and_holds_nothing_that_a_shell_would_read() {
    let hub = OwnHub::start().await;
    let path = invite(&hub, None, json!({"agent": "amy", "type": "exec"})).await;
    assert_eq!(hub.get(&path).await.1["agent_type"], "exec");
    for bad in ["", "a b", "x;rm -rf /", "$(id)", &"x".repeat(65)] {
        let (status, answer) = hub
            .post("/v1/invites", json!({"agent": "amy", "type": bad}))
            .await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{bad:?}");
        assert!(answer["message"].as_str().unwrap().contains("\"type\""));
    }
    let (status, answer) = hub.post("/v1/invites", json!({"agent": "a/b"})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(answer["message"].as_str().unwrap().contains("\"agent\""));
}

#[tokio::test]
async fn one_invites_only_what_one_may_register_oneself() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    let ann = hub.token("ann", &["agent:ann-*"]).await;
    let bob = hub.token("bob", &["agent:*"]).await;
    let _amy = hub.attach_for(&principal(&hub, &json!(ann)), "ann-amy");
    let body = |agent: &str| Some(json!({ "agent": agent }));
    for (token, agent) in [(None, "x"), (Some(&ann), "x"), (Some(&bob), "ann-amy")] {
        let token = token.map(String::as_str);
        let (status, _) = hub
            .json_as(token, Method::POST, "/v1/invites", body(agent))
            .await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{agent}");
    }
    let path = invite(&hub, Some(&ann), json!({"agent": "ann-amy"})).await;
    // No token is needed here: the ticket is the right.
    let (_, setup) = hub.get(&path).await;
    assert_eq!(principal(&hub, &setup["token"]).owner.as_str(), "ann");
}

#[tokio::test]
async fn what_an_admin_invites_stays_its_owners() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let root = hub.token("root", &["admin"]).await;
    let _amy = hub.attach_for(&principal(&hub, &json!(ann)), "amy");
    let path = invite(&hub, Some(&root), json!({"agent": "amy"})).await;
    let (_, setup) = hub.get(&path).await;
    let who = principal(&hub, &setup["token"]);
    assert_eq!(who.owner.as_str(), "ann");
    assert!(!who.is_admin());
}

#[tokio::test]
async fn the_token_of_an_invite_is_its_agent_and_nothing_else_of_the_owner() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let owner = principal(&hub, &json!(ann));
    let (mut amy, mut cas) = (hub.attach_for(&owner, "amy"), hub.attach_for(&owner, "cas"));
    let path = invite(&hub, Some(&ann), json!({"agent": "amy"})).await;
    let token = hub.get(&path).await.1["token"].as_str().unwrap().to_owned();
    let as_amy = |method, path: &str, body| {
        let (hub, token, path) = (&hub, &token, path.to_owned());
        async move { hub.json_as(Some(token), method, &path, body).await }
    };
    let (_, who) = as_amy(Method::GET, "/v1/whoami", None).await;
    let expected = json!({"owner": "ann", "who": "agent", "agent": "amy", "scopes": ["agent:amy"], "admin": false});
    assert_eq!(who, expected);
    let request = hub.ask(Method::GET, "/v1/events").bearer_auth(&token);
    let mut seen = hub.stream(request).await;
    // What ann does with another agent of hers.
    let body = Some(json!({"text": "a secret", "detach": true}));
    let calls = "/v1/agents/cas/calls";
    let (_, kept) = hub
        .json_as(Some(&ann), Method::POST, calls, body.clone())
        .await;
    let task = format!("/v1/calls/{}", kept["task"].as_str().unwrap());
    let serving = cas.next_call().await;
    let (_, list) = as_amy(Method::GET, "/v1/calls", None).await;
    assert_eq!(list, json!({"tasks": []}));
    let share = || Some(json!({"share": "everyone"}));
    let refused = StatusCode::UNAUTHORIZED;
    for (method, path, body, status) in [
        (Method::GET, &*task, None, StatusCode::NOT_FOUND),
        (
            Method::GET,
            &format!("{task}/events"),
            None,
            StatusCode::NOT_FOUND,
        ),
        (
            Method::POST,
            &format!("{task}/cancel"),
            None,
            StatusCode::NOT_FOUND,
        ),
        (Method::PATCH, "/v1/agents/cas", share(), refused),
        (Method::PATCH, "/v1/agents/amy", share(), refused),
        (Method::DELETE, "/v1/agents/cas", None, refused),
        (Method::DELETE, "/v1/agents/amy", None, refused),
        (Method::GET, "/v1/tokens", None, refused),
        (
            Method::POST,
            "/v1/invites",
            Some(json!({"agent": "amy"})),
            refused,
        ),
    ] {
        let (got, answer) = as_amy(method.clone(), path, body).await;
        assert_eq!(got, status, "{method} {path}: {answer}");
    }
    let shown = |id: &str| {
        let path = format!("/v1/agents/{id}");
        let asked = as_amy(Method::GET, &path, None);
        async { asked.await.1.get("share").is_some() }
    };
    assert!(shown("amy").await && !shown("cas").await);
    serving.finish(End::done());
    // It calls as the agent that it is, and what it called is its own.
    let (status, kept) = as_amy(Method::POST, calls, body).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{kept}");
    let serving = cas.next_call().await;
    assert_eq!(serving.call().principal.key(), "ann/agent/amy");
    let task = format!("/v1/calls/{}", kept["task"].as_str().unwrap());
    assert_eq!(as_amy(Method::GET, &task, None).await.0, StatusCode::OK);
    serving.finish(End::done());
    // It sees what happens at itself, and saw nothing of all that happened at the other one.
    let mut call = hub
        .stream(
            hub.ask(Method::POST, "/v1/agents/amy/calls")
                .bearer_auth(&ann)
                .json(&json!({"text": "hi"})),
        )
        .await;
    call.expect("call").await;
    amy.next_call().await.finish(End::done());
    assert_eq!(seen.expect("started").await.data["agent"], "amy");
}

#[tokio::test]
async fn a_ticket_that_never_was_is_not_found() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    for path in ["/invite/x", "/invite/%00", "/invite/..%2F..%2Fv1"] {
        assert_eq!(hub.get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn an_admin_invites_for_another_owner_and_nobody_else_does() {
    let hub = OwnHub::start().await;
    let body = json!({"agent": "new", "owner": "ann"});
    let (status, made) = hub.post("/v1/invites", body.clone()).await;
    assert_eq!(
        (status, &made["owner"]),
        (StatusCode::CREATED, &json!("ann"))
    );
    let path = invite(&hub, None, body.clone()).await;
    let (_, setup) = hub.get(&path).await;
    assert_eq!(principal(&hub, &setup["token"]).owner.as_str(), "ann");
    let bob = hub.token("bob", &["agent:*"]).await;
    let (status, _) = hub
        .json_as(Some(&bob), Method::POST, "/v1/invites", Some(body))
        .await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let own = json!({"agent": "bobs", "owner": "bob"});
    invite(&hub, Some(&bob), own).await;
    let _bobs = hub.attach_for(&principal(&hub, &json!(bob)), "bobs");
    for (owner, refused) in [
        ("ann", StatusCode::CONFLICT),
        ("a b", StatusCode::BAD_REQUEST),
    ] {
        let body = json!({"agent": "bobs", "owner": owner});
        let (status, answer) = hub.post("/v1/invites", body).await;
        assert_eq!(status, refused, "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("owner"), "{message}");
    }
}
