//! Chat completions servers, simulated by a server with the documented bytes.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use jackfield_connect::{
    Driver as _, Reaper,
    drivers::openai::{OpenAi, OpenAiSettings},
};
use serde_json::{Value, json};

use crate::drivers::{
    fixture::Fixture,
    server::{ReceivedRequest, Server, answer, endless, events},
};

/// An environment variable set in every test; the value serves as API key.
const KEY_ENV: &str = "CARGO_PKG_NAME";
const KEY: &str = env!("CARGO_PKG_NAME");

const MODELS: &str = r#"{"object":"list","data":[{"id":"llama3.2:latest","object":"model"},{"id":"qwen","object":"model"}]}"#;

fn settings(fixture: &Fixture, url: String) -> OpenAiSettings {
    OpenAiSettings {
        url,
        key_env: Some(KEY_ENV.to_owned()),
        histories: fixture.folder().join("histories"),
        ..OpenAiSettings::default()
    }
}

/// Starts a server with a list of models; `work` answers all other requests.
async fn server(work: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::start(move |request| match request.line.as_str() {
        "GET /v1/models" => answer("200 OK", "application/json", MODELS),
        "POST /v1/chat/completions" => work(request),
        _ => answer("404 Not Found", "text/plain", "404 page not found"),
    })
    .await
}

/// Responds with the text of the last message.
fn echo(request: &ReceivedRequest) -> Vec<u8> {
    let last = request.body["messages"].as_array().unwrap().last().unwrap();
    let words = format!("you said {}", last["content"].as_str().unwrap());
    let piece =
        json!({"choices": [{"index": 0, "delta": {"content": words}, "finish_reason": null}]});
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    events(&[&piece.to_string(), end, "[DONE]"])
}

/// Returns the failure of a call to a server with these responses.
async fn failure(
    work: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static,
) -> (String, String) {
    let (fixture, server) = (Fixture::new().await, server(work).await);
    let driver = OpenAi::new(settings(&fixture, server.url(""))).unwrap();
    let amy = fixture.connect(driver, &Reaper::new()).await;
    let replies = fixture.ask("s", "hello").await;
    amy.stop().await;
    let failed = &replies.last().unwrap()["failed"];
    let text = |key: &str| {
        failed[key]
            .as_str()
            .unwrap_or_else(|| panic!("{replies:#?}"))
            .to_owned()
    };
    (text("error"), text("message"))
}

#[tokio::test]
async fn an_answer_arrives_in_its_kinds_and_the_key_goes_to_the_server_alone() {
    let server = server(|_| {
        events(&[
            r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"hm"},"finish_reason":null}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"id":"c","choices":[],"usage":{"total_tokens":11}}"#,
            "[DONE]",
        ])
    })
    .await;
    let fixture = Fixture::new().await;
    let settings = OpenAiSettings {
        system: Some("be brief".to_owned()),
        ..settings(&fixture, server.url(""))
    };
    let amy = fixture
        .connect(OpenAi::new(settings).unwrap(), &Reaper::new())
        .await;
    let replies = fixture.ask("s", "hello").await;
    assert_eq!(
        replies[..replies.len() - 1],
        [
            json!({"thinking": "hm"}),
            json!({"text": "Hello"}),
            json!({"tool_start": "", "tool_name": "f", "tool_call_id": "t"}),
            json!({"tool_input": "{}", "tool_call_id": "t"}),
            json!({
                "tool_result": "[error] not carried out: no tools are offered to this model",
                "tool_call_id": "t",
            }),
        ],
        "{replies:#?}"
    );
    let done = &replies.last().unwrap()["done"];
    assert_eq!(done["usage"], json!({"total_tokens": 11}));
    assert_eq!(done["stop_reason"], "stop");
    let request = &server.requests()[0];
    assert!(
        request
            .headers
            .contains(&format!("authorization: bearer {KEY}"))
    );
    assert_eq!(request.body["model"], "llama3.2:latest");
    assert_eq!(
        request.body["messages"],
        json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}])
    );
    amy.stop().await;
}

#[tokio::test]
async fn a_conversation_is_told_again_with_each_message_also_after_a_restart() {
    let (fixture, server) = (Fixture::new().await, server(echo).await);
    let connect = || async {
        let driver = OpenAi::new(settings(&fixture, server.url("/v1"))).unwrap();
        fixture.connect(driver, &Reaper::new()).await
    };
    let amy = connect().await;
    fixture.ask("s", "one").await;
    fixture.ask("other", "apart").await;
    amy.stop().await;
    let amy = connect().await;
    fixture.ask("s", "two").await;
    amy.stop().await;
    assert_eq!(
        server.requests()[2].body["messages"],
        json!([
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "you said one"},
            {"role": "user", "content": "two"},
        ])
    );
}

#[tokio::test]
async fn a_look_at_the_models_tells_what_is_wrong_before_anybody_calls() {
    let fixture = Fixture::new().await;
    let check = |url: String, model: Option<&str>| {
        let settings = OpenAiSettings {
            model: model.map(str::to_owned),
            ..settings(&fixture, url)
        };
        async move { OpenAi::new(settings).unwrap().check().await }
    };
    let failure = check(Server::unreachable_url().await, None)
        .await
        .unwrap_err();
    assert_eq!(failure.code, "adapter_crash");
    assert!(
        failure.message.contains("start the server"),
        "{}",
        failure.message
    );

    let locked = Server::start(|_| {
        let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
        answer("401 Unauthorized", "application/json", &body)
    })
    .await;
    let failure = check(locked.url(""), None).await.unwrap_err();
    assert_eq!(failure.code, "model_unauthorized");
    assert!(failure.message.contains("--key-env") && failure.message.contains(KEY_ENV));
    assert!(!failure.message.contains(KEY), "{}", failure.message);

    let other = Server::start(|_| answer("200 OK", "text/html", "<html>")).await;
    let failure = check(other.url(""), Some("m")).await.unwrap_err();
    assert!(
        failure.message.contains("no list of models"),
        "{}",
        failure.message
    );

    let empty = Server::start(|_| answer("200 OK", "application/json", r#"{"data":[]}"#)).await;
    let failure = check(empty.url(""), None).await.unwrap_err();
    assert_eq!(failure.code, "model_not_found");

    // The path's version is detected, and a server may lack a list of models.
    let plain = Server::start(|request| match request.line.as_str() {
        "GET /models" => answer("200 OK", "application/json", MODELS),
        _ => answer("404 Not Found", "text/plain", ""),
    })
    .await;
    check(plain.url(""), None).await.unwrap();
    let bare = Server::start(|_| answer("404 Not Found", "text/plain", "")).await;
    check(bare.url(""), Some("m")).await.unwrap();
    let failure = check(bare.url(""), None).await.unwrap_err();
    assert!(failure.message.contains("404"), "{}", failure.message);
    let closed = Server::start(|_| answer("405 Method Not Allowed", "text/plain", "")).await;
    let failure = check(closed.url(""), None).await.unwrap_err();
    assert!(failure.message.contains("405"), "{}", failure.message);
    assert!(!failure.message.contains("404"), "{}", failure.message);
}

#[tokio::test]
async fn a_server_without_a_list_of_models_is_asked_for_one_only_once() {
    let model_requests = Arc::new(AtomicUsize::new(0));
    let counted = model_requests.clone();
    let server = Server::start(move |request| match request.line.as_str() {
        "POST /v1/chat/completions" => echo(request),
        _ => {
            counted.fetch_add(1, Ordering::Relaxed);
            answer("404 Not Found", "text/plain", "")
        }
    })
    .await;
    let fixture = Fixture::new().await;
    let settings = OpenAiSettings {
        model: Some("m".to_owned()),
        ..settings(&fixture, server.url("/v1"))
    };
    let driver = OpenAi::new(settings).unwrap();
    driver.check().await.unwrap();
    let described = driver.self_description().description;
    assert!(described.is_some_and(|text| text.starts_with("m at ")));
    let amy = fixture.connect(driver, &Reaper::new()).await;
    for text in ["one", "two"] {
        fixture.ask("s", text).await;
    }
    amy.stop().await;
    assert_eq!(server.requests().len(), 2);
    assert_eq!(model_requests.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_makes_no_sense_is_a_crash() {
    let half = r#"{"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#;
    let (code, text) = failure(move |_| events(&[half])).await;
    assert_eq!(code, "crashed");
    assert!(text.contains("broke off"), "{text}");
    let (code, text) = failure(|_| events(&["<html>so sorry</html>"])).await;
    assert_eq!(code, "crashed");
    assert!(text.contains("makes no sense"), "{text}");
    let (code, text) = failure(|_| endless("text/event-stream", "data: ")).await;
    assert_eq!(code, "crashed");
    assert!(text.contains("more than is taken"), "{text}");
}

#[tokio::test]
async fn what_a_server_refuses_is_told_with_what_to_do() {
    let complaint = |status: &'static str, text: &'static str| {
        move |_: &ReceivedRequest| {
            let body = json!({"error": {"message": format!("{text} ({KEY})")}}).to_string();
            answer(status, "application/json", &body)
        }
    };
    for (status, code, words) in [
        ("404 Not Found", "model_not_found", "--model"),
        ("401 Unauthorized", "model_unauthorized", "--key-env"),
        ("429 Too Many Requests", "busy", "try again later"),
        ("500 Internal Server Error", "agent_error", "the cat"),
        ("302 Found", "crashed", "leads elsewhere"),
    ] {
        let (failure_code, text) = failure(complaint(status, "the cat")).await;
        assert_eq!(failure_code, code, "{text}");
        assert!(text.contains(words), "{text}");
        assert!(!text.contains(KEY), "{text}");
    }
    let (code, text) = failure(|_| events(&[r#"{"error":{"message":"out of memory"}}"#])).await;
    assert_eq!(
        (code.as_str(), text.as_str()),
        ("agent_error", "out of memory")
    );
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_heard_too() {
    let server = server(|_| {
        let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"total_tokens":3}}"#;
        answer("200 OK", "application/json; charset=utf-8", body)
    })
    .await;
    let fixture = Fixture::new().await;
    let driver = OpenAi::new(settings(&fixture, server.url(""))).unwrap();
    let amy = fixture.connect(driver, &Reaper::new()).await;
    let replies: Vec<Value> = fixture.ask("s", "hello").await;
    assert_eq!(replies[0], json!({"text": "Hello"}));
    assert_eq!(replies[1]["done"]["usage"], json!({"total_tokens": 3}));
    amy.stop().await;
}
