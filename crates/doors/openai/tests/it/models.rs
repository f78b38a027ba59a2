//! Agents as models.

use jackfield_core::principal::Principal;
use jackfield_model::Owner;
use serde_json::json;

use crate::harness::OpenAiHub;

#[tokio::test]
async fn each_agent_that_the_caller_may_call_is_a_model() {
    let hub = OpenAiHub::start().await;
    let _amy = hub.attach("amy");
    let bob = Principal::person(Owner::parse("bob").unwrap());
    let _bea = hub.attach_for(&Principal::admin(bob.owner.clone()), "bea");
    let (status, list) = hub.get("/v1/models").await;
    assert_eq!((status, &list["object"]), (200, &json!("list")));
    let ids: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(ids, ["jackfield/amy", "jackfield/bea"]);
    assert_eq!(list["data"][0]["owned_by"], "local");
    assert_eq!(list["data"][0]["object"], "model");
    assert!(list["data"][0]["created"].is_i64());
    let token = hub.token("bob", &["agent:*"]).await;
    let theirs = hub.client.clone().with_token(&token);
    let (_, list) = theirs.get("/v1/models").await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["data"][0]["id"], "jackfield/bea");
}

#[tokio::test]
async fn a_model_is_found_by_its_name_and_by_the_agents_id() {
    let hub = OpenAiHub::start().await;
    let _amy = hub.attach("amy");
    for path in ["/v1/models/jackfield/amy", "/v1/models/amy"] {
        let (status, model) = hub.get(path).await;
        assert_eq!(
            (status, &model["id"]),
            (200, &json!("jackfield/amy")),
            "{path}"
        );
    }
    let (status, refused) = hub.get("/v1/models/ami").await;
    assert_eq!(status, 404);
    assert_eq!(refused["error"]["code"], "model_not_found");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("perhaps \"amy\" is meant"), "{message}");
}

#[tokio::test]
async fn an_unknown_key_is_ignored_on_loopback_and_refused_elsewhere() {
    let hub = OpenAiHub::start().await;
    let keyed = hub.client.clone().with_token("sk-xxx");
    assert_eq!(keyed.get("/v1/models").await.0, 200);
    let strict = OpenAiHub::start_with(
        jackfield_openai::Config::default(),
        false,
        jackfield_core::limits::Limits::default(),
    )
    .await;
    let (status, refused) = strict
        .client
        .clone()
        .with_token("sk-xxx")
        .get("/v1/models")
        .await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (401, &json!("invalid_api_key"))
    );
}
