//! `initialize`, and who may open a connection.

use jackfield_core::agent::Profile;
use jackfield_kit::testing::TestSettings;
use serde_json::json;

use crate::harness::AcpHub;

#[tokio::test]
async fn initialize_names_the_agent_and_what_the_door_can_do() {
    let hub = AcpHub::start().await;
    let profile = Profile {
        name: "Amy the Agent".to_owned(),
        ..Profile::default()
    };
    let _amy = hub.agent("amy").profile(profile).attach();
    let mut editor = hub.connect_to("amy").await;
    let result = editor
        .initialize(json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true}))
        .await;
    assert_eq!(
        result,
        json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"resume": {}, "close": {}},
                "auth": {},
            },
            "authMethods": [],
            "agentInfo": {"name": "amy", "title": "Amy the Agent", "version": "1.2.3"},
        })
    );
}

#[tokio::test]
async fn an_editor_of_a_later_version_is_offered_version_1() {
    let hub = AcpHub::start().await;
    let _amy = hub.attach("amy");
    let mut editor = hub.connect_to("amy").await;
    let response = editor
        .rpc("initialize", json!({"protocolVersion": 2}))
        .await;
    assert_eq!(response["result"]["protocolVersion"], 1);
}

#[tokio::test]
async fn an_unknown_agent_is_refused_with_the_one_that_may_be_meant() {
    let hub = AcpHub::start().await;
    let _amy = hub.attach("amy");
    let refused = hub.try_connect("army", &[]).await.err().unwrap();
    assert_eq!(refused.status, 404);
    assert!(refused.body.contains("\\\"amy\\\""), "{}", refused.body);
}

#[tokio::test]
async fn an_agent_of_somebody_else_looks_unknown_and_a_token_is_needed() {
    let settings = TestSettings {
        trusts_everyone: false,
        ..TestSettings::default()
    };
    let hub = AcpHub::start_with(settings).await;
    let ann = hub.token("ann", &["call:*"]).await;
    let bob = hub.token("bob", &["agent:*"]).await;
    let _bobs = hub.attach_for(&hub.principal_of(&bob), "bobs");
    let refused = hub.try_connect("bobs", &[]).await.err().unwrap();
    assert_eq!(refused.status, 401);
    let bearer = format!("Bearer {bob}");
    let editor = hub.try_connect("bobs", &[("authorization", &bearer)]).await;
    assert!(editor.is_ok());
    let foreign = hub.token("eve", &["agent:*"]).await;
    let bearer = format!("Bearer {foreign}");
    let refused = hub
        .try_connect("bobs", &[("authorization", &bearer)])
        .await
        .err()
        .unwrap();
    assert_eq!(refused.status, 404);
    drop(ann);
}

#[tokio::test]
async fn a_revoked_token_ends_the_connection() {
    let settings = TestSettings {
        trusts_everyone: false,
        ..TestSettings::default()
    };
    let hub = AcpHub::start_with(settings).await;
    let ann = hub.token("ann", &["agent:*", "call:*"]).await;
    let principal = hub.principal_of(&ann);
    let _amy = hub.attach_for(&principal, "amy");
    let bearer = format!("Bearer {ann}");
    let connected = hub.try_connect("amy", &[("authorization", &bearer)]).await;
    let mut editor = connected.unwrap_or_else(|_| panic!("it is let in"));
    editor.initialize(json!({})).await;
    let token = principal.grant.token.unwrap();
    hub.hub.tokens().revoke(token).await.unwrap();
    assert_eq!(editor.closed().await.0, 4002);
}

#[tokio::test]
async fn a_hub_that_stops_tells_its_editors() {
    let hub = AcpHub::start().await;
    let _amy = hub.attach("amy");
    let (mut editor, _) = hub.open("amy").await;
    let closing = async {
        let closed = editor.closed().await;
        editor.gone().await;
        closed
    };
    let (closed, ()) = tokio::join!(closing, hub.stop());
    assert_eq!(closed.0, 1001);
}
