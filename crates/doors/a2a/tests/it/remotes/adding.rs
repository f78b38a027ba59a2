//! Adding and removing remotes.

use jackfield_a2a::{A2aDoor, CardKey, Cards};
use jackfield_core::principal::Principal;
use jackfield_kit::{auth::Gatekeeper, testing::soon};
use jackfield_model::{CallId, End};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::remotes::{
    far::{Far, nobody},
    harness::{Near, id},
};

#[tokio::test]
async fn an_added_server_is_an_agent_that_can_be_called() {
    let (near, far) = (Near::start().await, Far::start().await);
    let added = near.add(json!({"url": far.url()})).await;
    assert_eq!(added["id"], "far-echo");
    assert_eq!(added["state"], "online");
    assert_eq!(added["owner"], "local");
    let card = &added["card"];
    assert_eq!(
        (&card["version"], &card["binding"]),
        (&json!("0.3"), &json!("JSONRPC"))
    );
    assert_eq!(card["called_at"], format!("{}/rpc", far.url()));
    assert_eq!(card["signature"], json!({"state": "none"}));
    let agent = near.agent("far-echo").unwrap();
    assert_eq!((agent.door.as_str(), agent.online), ("a2a", true));
    assert_eq!(agent.profile.skills[0].id, "echo");
    let (text, end) = near.call("far-echo").await.unwrap();
    assert_eq!(text, "hello from afar");
    assert!(matches!(end, End::Done(_)), "{end:?}");
}

#[tokio::test]
async fn every_remote_gets_an_id_of_its_own() {
    let (near, far) = (Near::start().await, Far::start().await);
    let first = near.add(json!({"url": far.url()})).await;
    let second = near.add(json!({"url": far.url()})).await;
    let third = near.add(json!({"url": far.url(), "id": "Third.one"})).await;
    assert_eq!(first["id"], "far-echo");
    assert_eq!(second["id"], "far-echo-2");
    assert_eq!(third["id"], "Third.one");
    let (status, refused) = near
        .ask(
            Method::POST,
            "/v1/remotes",
            json!({"url": far.url(), "id": "Third.one"}),
        )
        .await;
    assert_eq!((status, &refused["error"]), (409, &json!("conflict")));
    assert!(near.call("Third.one").await.is_ok(), "it is as it was");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_refused_and_leaves_nothing() {
    let near = Near::start().await;
    let url = format!("http://{}", nobody().await);
    let (status, refused) = near
        .ask(
            Method::POST,
            "/v1/remotes",
            json!({"url": url, "id": "far"}),
        )
        .await;
    assert_eq!((status, &refused["error"]), (502, &json!("offline")));
    assert!(
        refused["message"].as_str().unwrap().contains(&url),
        "{refused}"
    );
    assert!(near.agent("far").is_none());
    assert!(near.stored().await.is_empty());
}

#[tokio::test]
async fn a_server_that_is_no_a2a_server_is_refused_with_what_was_tried() {
    let (near, far) = (Near::start().await, Far::start().await);
    far.shows("<html>hello</html>");
    let (status, refused) = near
        .ask(Method::POST, "/v1/remotes", json!({"url": far.url()}))
        .await;
    assert_eq!(status, 502, "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("/.well-known/agent-card.json"),
        "{message}"
    );
}

#[tokio::test]
async fn a_kept_one_is_listed_offline_with_the_reason() {
    let near = Near::start().await;
    let url = format!("http://{}", nobody().await);
    let added = near
        .add(json!({"url": url, "id": "far", "keep": true}))
        .await;
    assert_eq!(added["state"], "offline");
    assert!(
        added["error"]["message"].as_str().unwrap().contains(&url),
        "{added}"
    );
    let agent = near.agent("far").unwrap();
    assert_eq!((agent.online, agent.profile.name.as_str()), (false, "far"));
    assert_eq!(near.stored().await, ["far"]);
    let refused = near.call("far").await.unwrap_err();
    assert_eq!(refused.reason.name(), "offline");
}

#[tokio::test]
async fn sharing_and_timeout_are_set_as_wanted() {
    let (near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far", "share": "everyone", "timeout": "90s"}))
        .await;
    let agent = near.agent("far").unwrap();
    assert_eq!(agent.settings.idle.unwrap().to_string(), "90s");
    assert_eq!(agent.share, jackfield_core::agent::Share::Everyone);
    let (status, refused) = near
        .ask(
            Method::POST,
            "/v1/remotes",
            json!({"url": far.url(), "timeout": "0s"}),
        )
        .await;
    assert_eq!(status, 400);
    assert!(refused["message"].as_str().unwrap().contains("timeout"));
}

#[tokio::test]
async fn a_secret_is_read_from_its_file_each_time_and_never_shown() {
    let (near, far) = (Near::start().await, Far::start().await);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "first-secret\n").unwrap();
    let auth = json!({"bearer": {"file": file}, "headers": {"X-Key": {"file": file}}});
    let added = near
        .add(json!({"url": far.url(), "id": "far", "auth": auth}))
        .await;
    assert_eq!(added["auth"], auth);
    assert_eq!(
        far.was_shown("authorization").unwrap(),
        "Bearer first-secret"
    );
    std::fs::write(&file, "second-secret").unwrap();
    near.call("far").await.unwrap();
    assert_eq!(
        far.was_shown("authorization").unwrap(),
        "Bearer second-secret"
    );
    assert_eq!(far.was_shown("x-key").unwrap(), "second-secret");
    let told = near.remote("far").await.to_string();
    assert!(!told.contains("-secret"), "{told}");
    let stored = format!("{:?}", near.store);
    assert!(!stored.contains("-secret"), "{stored}");
}

/// So that what it calls in turn has a parent.
#[tokio::test]
async fn a_server_is_told_for_which_call_it_works() {
    let (near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    assert_eq!(far.was_shown("jackfield-call"), None, "a card is no call");
    near.call("far").await.unwrap();
    let call = far.was_shown("jackfield-call").unwrap();
    assert!(CallId::parse(&call).is_some(), "{call}");
}

#[tokio::test]
async fn a_card_that_points_elsewhere_does_not_get_at_the_credentials() {
    let near = Near::that_trusts().await;
    let (far, other) = (Far::start().await, Far::start().await);
    far.points_to(&other);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "secret").unwrap();
    let auth = json!({"bearer": {"file": file}});
    let added = near
        .add(json!({"url": far.url(), "id": "far", "auth": auth}))
        .await;
    assert_eq!(far.was_shown("authorization").unwrap(), "Bearer secret");
    let warning = added["card"]["warnings"][0].as_str().unwrap_or_default();
    assert!(warning.contains("not shown there"), "{added}");
    near.call("far").await.unwrap();
    assert!(other.was_shown("content-type").is_some(), "it was called");
    assert_eq!(other.was_shown("authorization"), None);
}

#[tokio::test]
async fn a_removed_remote_is_gone_and_its_id_free() {
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    let (status, _) = near
        .ask(Method::DELETE, "/v1/remotes/far", Value::Null)
        .await;
    assert_eq!(status, 204);
    near.offline().await;
    assert!(near.agent("far").is_none());
    assert!(near.stored().await.is_empty());
    let (status, _) = near.ask(Method::GET, "/v1/remotes/far", Value::Null).await;
    assert_eq!(status, 404);
    let (_, list) = near.ask(Method::GET, "/v1/remotes", Value::Null).await;
    assert_eq!(list, json!({"remotes": []}));
    let again = near.add(json!({"url": far.url(), "id": "far"})).await;
    assert_eq!(again["state"], "online");
}

#[tokio::test]
async fn a_remote_goes_when_its_agent_is_forgotten_also_while_it_is_offline() {
    let near = Near::start().await;
    let url = format!("http://{}", nobody().await);
    near.add(json!({"url": url, "id": "far", "keep": true}))
        .await;
    let forgotten = near
        .hub
        .agents()
        .forget(&Principal::local(), &id("far"))
        .unwrap();
    forgotten.await.unwrap();
    assert!(near.stored().await.is_empty());
    let (_, list) = near.ask(Method::GET, "/v1/remotes", Value::Null).await;
    assert_eq!(list, json!({"remotes": []}));
    assert!(near.agent("far").is_none());
    let nothing_tries = async {
        while !near.tasks.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    soon(nothing_tries).await;
}

#[tokio::test]
async fn a_hub_does_not_dial_itself() {
    let near = Near::that_trusts().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let key = CardKey::from_hex(&"11".repeat(32)).unwrap();
    let gatekeeper = Gatekeeper::new(near.hub.clone(), true);
    let door =
        A2aDoor::new(near.hub.clone(), gatekeeper).with_cards(Cards::at(&url).signed_by(key));
    near.remotes.set_own_door(&door);
    let router = jackfield_a2a::router(door);
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, router).await.unwrap() });
    for keep in [false, true] {
        let body = json!({"url": url, "id": "myself", "keep": keep});
        let (status, refused) = near.ask(Method::POST, "/v1/remotes", body).await;
        assert_eq!(status, 400, "{refused}");
        let why = refused["message"].as_str().unwrap();
        assert!(why.contains("this hub's own"), "{why}");
    }
    assert!(near.agent("myself").is_none());
}

#[tokio::test]
async fn what_of_a_card_is_ignored_or_will_be_missed_is_told() {
    let (near, far) = (Near::start().await, Far::start().await);
    let card = json!({
        "name": "Odd",
        "capabilities": {"streaming": "yes"},
        "skills": ["s", {"description": "no id"}],
        "securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"b": {"list": []}}}],
        "supportedInterfaces": [{"url": format!("{}/rpc", far.url())}]
    });
    far.shows(&card.to_string());
    let added = near.add(json!({"url": far.url(), "id": "far"})).await;
    let warnings = added["card"]["warnings"].to_string();
    for warning in [
        "capabilities.streaming must be true or false",
        "skills[0] must be an object",
        "skills[1].id is required",
        "--bearer-env",
    ] {
        assert!(warnings.contains(warning), "{warning}: {warnings}");
    }
    let auth = json!({"bearer": {"env": "PATH"}});
    let added = near
        .add(json!({"url": far.url(), "id": "let-in", "auth": auth}))
        .await;
    let warnings = added["card"]["warnings"].to_string();
    assert!(!warnings.contains("--bearer-env"), "{warnings}");
    let mut nowhere = card;
    nowhere["supportedInterfaces"] = json!([{"protocolBinding": "JSONRPC"}]);
    far.shows(&nowhere.to_string());
    let body = json!({"url": far.url(), "id": "nowhere"});
    let (_, refused) = near.ask(Method::POST, "/v1/remotes", body).await;
    let why = refused["message"].as_str().unwrap();
    assert!(
        why.contains("supportedInterfaces[0].url is required"),
        "{why}"
    );
    let auth = json!({"bearer": {"env": "JACKFIELD_NO_SUCH_VARIABLE"}});
    let body = json!({"url": far.url(), "id": "unset", "auth": auth});
    let (_, refused) = near.ask(Method::POST, "/v1/remotes", body).await;
    let why = refused["message"].as_str().unwrap();
    assert!(
        why.contains("set JACKFIELD_NO_SUCH_VARIABLE in the hub's environment"),
        "{why}"
    );
}
