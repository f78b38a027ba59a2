//! Bad input: the protocol's own error with field and remedy, and nothing runs.

use jackfield_core::{limits::Limits, units::Size};
use jackfield_openai::Config;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{OpenAiHub, says};

fn with(field: &str, value: Value) -> Value {
    let mut body = says("amy", "hi");
    body[field] = value;
    body
}

#[tokio::test]
async fn bad_requests_are_refused_by_field_and_reach_no_agent() {
    let hub = OpenAiHub::start().await;
    let amy = hub.attach("amy");
    let user = |content: Value| json!([{"role": "user", "content": content}]);
    for (body, status, param) in [
        (json!({"messages": []}), 400, "model"),
        (says("nobody", "hi"), 404, "model"),
        (says("not an id", "hi"), 404, "model"),
        (with("messages", json!([])), 400, "messages"),
        (
            with("messages", json!([{"role": "robot", "content": "x"}])),
            400,
            "messages[0].role",
        ),
        (
            with("messages", user(json!([{"type": "video"}]))),
            400,
            "messages[0].content[0].type",
        ),
        (
            with(
                "messages",
                user(json!([{"type": "file", "file": {"file_id": "f"}}])),
            ),
            400,
            "messages[0].content[0].file.file_id",
        ),
        (with("n", json!(2)), 400, "n"),
        (with("tools", json!([{"type": "function"}])), 400, "tools"),
        (with("logprobs", json!(true)), 400, "logprobs"),
        (
            with("response_format", json!({"type": "json_object"})),
            400,
            "response_format",
        ),
        (with("stream", json!("yes")), 400, "stream"),
        (with("user", json!("x".repeat(300))), 400, "user"),
    ] {
        let (got, answer) = hub.send(hub.chat(&body)).await;
        assert_eq!(
            (got, &answer["error"]["param"]),
            (status, &json!(param)),
            "{body}"
        );
        assert_eq!(answer["error"]["type"], "invalid_request_error");
        assert!(answer["error"]["message"].as_str().unwrap().len() > 10);
    }
    for (body, param) in [
        (json!({"model": "amy"}), "input"),
        (json!({"model": "amy", "input": 7}), "input"),
        (json!({"model": "amy", "input": []}), "input"),
        (
            json!({"model": "amy", "input": [{"type": "function_call_output"}]}),
            "input[0].type",
        ),
        (
            json!({"model": "amy", "input": "x", "background": true, "store": false}),
            "background",
        ),
        (
            json!({"model": "amy", "input": "x", "metadata": 1}),
            "metadata",
        ),
        (
            json!({"model": "amy", "input": "x", "tools": [{"type": "web_search"}]}),
            "tools",
        ),
        (
            json!({"model": "amy", "input": "x", "previous_response_id": "resp_1"}),
            "previous_response_id",
        ),
        (
            json!({"model": "amy", "input": "x", "conversation": "c"}),
            "conversation",
        ),
    ] {
        let (status, answer) = hub.post("/v1/responses", body.clone()).await;
        assert_eq!(
            (status, &answer["error"]["param"]),
            (400, &json!(param)),
            "{body}"
        );
    }
    assert!(amy.has_nothing_to_do());
}

#[tokio::test]
async fn what_is_no_json_or_too_large_is_refused_in_the_protocols_form() {
    let limits = Limits {
        message: Size::kib(4),
        ..Limits::default()
    };
    let hub = OpenAiHub::start_with(Config::default(), true, limits).await;
    let amy = hub.attach("amy");
    let request = |body: &'static str, kind: &str| {
        let request = hub.ask(Method::POST, "/v1/chat/completions");
        request.header("content-type", kind).body(body)
    };
    let (status, answer) = hub.send(request("{", "application/json")).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("invalid")));
    let (status, answer) = hub.send(request("{}", "text/plain")).await;
    assert_eq!(
        (status, &answer["error"]["type"]),
        (415, &json!("invalid_request_error"))
    );
    let image = format!("data:image/png;base64,{}", "A".repeat(8 << 10));
    let body = json!({"model": "amy", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": image}},
    ]}]});
    let (status, answer) = hub.send(hub.chat(&body)).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (413, &json!("too_large")),
        "{answer}"
    );
    assert!(amy.has_nothing_to_do());
}

#[tokio::test]
async fn what_the_hub_does_not_serve_says_what_there_is() {
    let hub = OpenAiHub::start().await;
    for (method, path, status) in [
        (Method::POST, "/v1/embeddings", 404),
        (Method::POST, "/v1/audio/speech", 404),
        (Method::POST, "/v1/images/generations", 404),
        (Method::GET, "/v1/files", 404),
        (Method::GET, "/v1/files/file-1", 404),
        (Method::POST, "/v1/completions", 404),
        (Method::POST, "/v1/moderations", 404),
        (Method::GET, "/v1/assistants", 404),
        (Method::POST, "/v1/chat/other", 404),
        (Method::GET, "/v1/chat/completions", 405),
        (Method::DELETE, "/v1/responses/resp_1", 405),
    ] {
        let (got, answer) = hub.send(hub.ask(method, path)).await;
        assert_eq!(
            (got, &answer["error"]["code"]),
            (status, &json!("unknown_url")),
            "{path}"
        );
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("/v1/responses"), "{message}");
    }
}

#[tokio::test]
async fn a_response_of_somebody_else_looks_unknown() {
    let hub = OpenAiHub::start_with(Config::default(), false, Limits::default()).await;
    let ann = hub.token("ann", &["agent:*", "call:*"]).await;
    let bob = hub.token("bob", &["agent:*", "call:*", "admin"]).await;
    let _amy = hub.attach_for(&hub.principal_of(&ann), "amy");
    let (ann, bob) = (
        hub.client.clone().with_token(&ann),
        hub.client.clone().with_token(&bob),
    );
    let body = json!({"model": "amy", "input": "x", "background": true});
    let (_, made) = ann.post("/v1/responses", body).await;
    let id = made["id"].as_str().unwrap();
    assert_eq!(ann.get(&format!("/v1/responses/{id}")).await.0, 200);
    let unknown = "/v1/responses/resp_01890000-0000-7000-8000-000000000000";
    let expected = bob.get(unknown).await;
    assert_eq!(expected.0, 404);
    for path in ["", "/input_items", "?stream=true"] {
        let path = format!("/v1/responses/{id}{path}");
        assert_eq!(bob.get(&path).await, expected, "{path}");
    }
    let cancel = format!("/v1/responses/{id}/cancel");
    assert_eq!(bob.post(&cancel, json!({})).await, expected);
    let body = json!({"model": "amy", "input": "x", "previous_response_id": id});
    let (status, refused) = bob.post("/v1/responses", body).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (400, &json!("previous_response_not_found"))
    );
}
