//! What is refused, with the code, the reason and the fields that programs go by.

use http::StatusCode;
use jackfield_core::limits::Limits;
use serde_json::{Value, json};
use tonic::Code;

use crate::grpc::harness::{A2aHub, answer, details, refused, said, wrong_fields};

const UNKNOWN: &str = "00000000-0000-4000-8000-000000000000";

fn reason(code: Code, reason: &str) -> (Code, String) {
    (code, reason.to_owned())
}

#[tokio::test]
async fn an_unknown_task_is_not_found_by_any_operation() {
    let running = A2aHub::start().await;
    let _echo = running.attach("echo");
    let mut client = running.client().await;
    let expected = reason(Code::NotFound, "TASK_NOT_FOUND");
    for id in [UNKNOWN, "no id at all"] {
        assert_eq!(refused(client.get_task(json!({"id": id})).await), expected);
        assert_eq!(
            refused(client.cancel_task(json!({"id": id})).await),
            expected
        );
        assert_eq!(
            refused(client.subscribe_to_task(json!({"id": id})).await),
            expected
        );
        let mut more = said("more");
        more["message"]["taskId"] = json!(id);
        assert_eq!(refused(client.send_message(more.clone()).await), expected);
        assert_eq!(refused(client.send_streaming_message(more).await), expected);
        let config = json!({"taskId": id, "id": "p"});
        let answer = client
            .get_task_push_notification_config(config.clone())
            .await;
        assert_eq!(refused(answer), expected);
        let answer = client
            .list_task_push_notification_configs(json!({"taskId": id}))
            .await;
        assert_eq!(refused(answer), expected);
        let answer = client.delete_task_push_notification_config(config).await;
        assert_eq!(refused(answer), expected);
    }
}

#[tokio::test]
async fn an_unknown_tenant_is_not_found() {
    let running = A2aHub::start().await;
    let _echo = running.attach("echo");
    let mut client = running
        .client()
        .await
        .with("authorization", "Bearer whoever");
    for tenant in ["nobody", "not/an id"] {
        let mut asked = said("hello");
        asked["tenant"] = json!(tenant);
        assert_eq!(refused(client.send_message(asked).await).0, Code::NotFound);
        let answer = client.list_tasks(json!({"tenant": tenant})).await;
        assert_eq!(refused(answer).0, Code::NotFound);
        let answer = client
            .get_extended_agent_card(json!({"tenant": tenant}))
            .await;
        assert_eq!(refused(answer).0, Code::NotFound);
    }
    let mut client = running.client_at("/a2a/agents/nobody").await;
    assert_eq!(
        refused(client.send_message(said("hello")).await).0,
        Code::NotFound
    );
}

#[tokio::test]
async fn among_many_agents_the_tenant_has_to_be_named() {
    let running = A2aHub::start().await;
    let _echo = running.attach("echo");
    let _other = running.attach("other");
    let mut asked = said("hello");
    asked["tenant"] = json!("");
    let answer = running.client().await.send_message(asked).await;
    assert_eq!(wrong_fields(answer), ["tenant"]);
}

#[tokio::test]
async fn a_task_that_is_over_is_neither_cancelled_nor_continued() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let (answered, ()) = tokio::join!(client.send_message(said("hello")), answer(&mut echo, "hi"));
    let id = answered.unwrap()["task"]["id"].clone();
    let answer = client.cancel_task(json!({"id": id})).await;
    let expected = reason(Code::FailedPrecondition, "TASK_NOT_CANCELABLE");
    assert_eq!(refused(answer), expected);
    let mut more = said("more");
    more["message"]["taskId"] = id;
    let expected = reason(Code::FailedPrecondition, "UNSUPPORTED_OPERATION");
    assert_eq!(refused(client.send_message(more).await), expected);
}

#[tokio::test]
async fn only_version_1_0_is_spoken_in_this_package() {
    let running = A2aHub::start().await;
    let expected = reason(Code::FailedPrecondition, "VERSION_NOT_SUPPORTED");
    for version in ["0.3", "99.0", "one"] {
        let mut client = running.client().await.with("a2a-version", version);
        assert_eq!(
            refused(client.list_tasks(json!({})).await),
            expected,
            "{version}"
        );
        assert_eq!(
            refused(client.subscribe_to_task(json!({"id": UNKNOWN})).await),
            expected
        );
    }
    for version in ["1.0", "1.0.1", ""] {
        let mut client = running.client().await.with("a2a-version", version);
        assert!(client.list_tasks(json!({})).await.is_ok(), "{version}");
    }
}

#[tokio::test]
async fn a_field_that_is_wrong_is_named() {
    let running = A2aHub::start().await;
    let _echo = running.attach("echo");
    let mut client = running.client().await;
    let with = |name: &str, value: Value| {
        let mut asked = said("hello");
        asked["message"][name] = value;
        asked
    };
    for (asked, field) in [
        (json!({"tenant": "echo"}), "message"),
        (with("messageId", json!("")), "message.messageId"),
        (with("role", json!("ROLE_UNSPECIFIED")), "message.role"),
        (with("parts", json!([])), "message.parts"),
        (
            with("parts", json!([{"text": "a"}, {}])),
            "message.parts[1]",
        ),
    ] {
        assert_eq!(
            wrong_fields(client.send_message(asked.clone()).await),
            [field]
        );
        assert_eq!(
            wrong_fields(client.send_streaming_message(asked).await),
            [field]
        );
    }
    let answer = client
        .get_task(json!({"id": UNKNOWN, "historyLength": -1}))
        .await;
    assert_eq!(wrong_fields(answer), ["historyLength"]);
    assert_eq!(wrong_fields(client.get_task(json!({})).await), ["id"]);
    assert_eq!(wrong_fields(client.cancel_task(json!({})).await), ["id"]);
    for (asked, field) in [
        (json!({"pageSize": 0}), "pageSize"),
        (json!({"pageSize": 101}), "pageSize"),
        (json!({"pageToken": "bent"}), "pageToken"),
        (json!({"historyLength": -1}), "historyLength"),
    ] {
        assert_eq!(wrong_fields(client.list_tasks(asked).await), [field]);
    }
    let status = client.list_tasks(json!({"pageSize": 0})).await.unwrap_err();
    let info = details(&status).error_info().cloned().unwrap();
    assert_eq!(info.reason, "INVALID_PARAMS");
}

#[tokio::test]
async fn a_hub_that_notifies_nobody_and_has_no_cards_says_so() {
    let running = A2aHub::start_bare().await;
    let mut echo = running.attach("echo");
    let mut client = running
        .client()
        .await
        .with("authorization", "Bearer whoever");
    let (answered, ()) = tokio::join!(client.send_message(said("hello")), answer(&mut echo, "hi"));
    let asked = json!({"taskId": answered.unwrap()["task"]["id"], "url": "https://a.example/"});
    let answer = client.create_task_push_notification_config(asked).await;
    let expected = reason(Code::FailedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED");
    assert_eq!(refused(answer), expected);
    let answer = client
        .get_extended_agent_card(json!({"tenant": "echo"}))
        .await;
    let (code, _) = refused(answer);
    assert_eq!(code, Code::FailedPrecondition);
}

#[tokio::test]
async fn a_hub_that_wants_tokens_knows_the_caller_before_its_message() {
    let running = A2aHub::start_with(false, Limits::default()).await;
    let ann = running.token("ann", &["agent:*"]).await;
    let mut echo = running.attach_for(&running.principal_of(&ann), "echo");
    let expected = reason(Code::Unauthenticated, "UNAUTHENTICATED");
    let mut nobody = running.client().await;
    assert_eq!(refused(nobody.send_message(said("hello")).await), expected);
    assert_eq!(refused(nobody.send_message(json!({})).await), expected);
    assert_eq!(
        refused(nobody.send_streaming_message(said("hello")).await),
        expected
    );
    let mut guest = running
        .client()
        .await
        .with("authorization", "Bearer jf_guess");
    assert_eq!(refused(guest.list_tasks(json!({})).await), expected);
    let mut client = running
        .client()
        .await
        .with("authorization", format!("Bearer {ann}"));
    let (answered, ()) = tokio::join!(client.send_message(said("hello")), answer(&mut echo, "hi"));
    let id = answered.unwrap()["task"]["id"].clone();
    let bob = running.token("bob", &[]).await;
    let mut bob = running
        .client()
        .await
        .with("authorization", format!("Bearer {bob}"));
    let expected = reason(Code::NotFound, "TASK_NOT_FOUND");
    assert_eq!(refused(bob.get_task(json!({"id": id})).await), expected);
    assert_eq!(
        refused(bob.send_message(said("hello")).await).0,
        Code::NotFound
    );
    assert_eq!(
        bob.list_tasks(json!({})).await.unwrap(),
        json!({"pageSize": 50})
    );
}

/// The answer to bytes that no generated client would send: the HTTP status, and that of gRPC.
async fn raw(
    running: &A2aHub,
    method: &str,
    kind: &str,
    body: &'static [u8],
) -> (StatusCode, Option<String>) {
    let url = format!("http://{}/lf.a2a.v1.A2AService/{method}", running.addr);
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .build()
        .unwrap();
    let request = client.post(url).header("content-type", kind).body(body);
    let response = crate::grpc::harness::soon(request.send()).await.unwrap();
    let status = response.headers().get("grpc-status");
    let status = status.map(|it| it.to_str().unwrap().to_owned());
    (response.status(), status)
}

#[tokio::test]
async fn bytes_that_are_no_message_are_the_callers_mistake() {
    let running = A2aHub::start().await;
    let refused = (StatusCode::OK, Some("3".to_owned()));
    let grpc = "application/grpc+proto";
    // A field that says it is longer than what follows.
    assert_eq!(
        raw(&running, "GetTask", grpc, b"\0\0\0\0\x02\x12\x7f").await,
        refused
    );
    // An id that is no text.
    assert_eq!(
        raw(&running, "GetTask", grpc, b"\0\0\0\0\x03\x12\x01\xff").await,
        refused
    );
}

#[tokio::test]
async fn what_is_no_grpc_is_not_answered_in_it() {
    let running = A2aHub::start().await;
    let refused = (StatusCode::UNSUPPORTED_MEDIA_TYPE, None);
    assert_eq!(
        raw(&running, "GetTask", "application/json", b"{}").await,
        refused
    );
    let unknown = (StatusCode::OK, Some("12".to_owned()));
    assert_eq!(
        raw(&running, "Sing", "application/grpc", b"").await,
        unknown
    );
    // The name that JSON-RPC of version 0.3 has for it.
    assert_eq!(
        raw(&running, "tasks%2Fget", "application/grpc", b"").await,
        unknown
    );
}
