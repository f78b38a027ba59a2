//! What bad input gets: misuse of the protocol an error of the protocol, a mistake of the model a result that says what
//! to do.

use jackfield_core::{limits::Limits, token::TokenLookup, units::Size};
use jackfield_model::{End, Failure, Reason};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::{McpHub, last, words};

#[tokio::test]
async fn misuse_of_the_protocol_is_an_error_of_the_protocol() {
    let hub = McpHub::start().await;
    for (method, params, code) in [
        ("tools/call", json!({"name": "no_such_tool"}), -32602),
        (
            "tools/call",
            json!({"name": "find_agents", "arguments": [1]}),
            -32602,
        ),
        ("tools/call", json!({}), -32602),
        ("no/such/method", json!({}), -32601),
        ("prompts/get", json!({"name": "x"}), -32601),
    ] {
        let response = hub.rpc(method, params.clone()).await;
        assert_eq!(response["result"], Value::Null, "{method} {params}");
        assert_eq!(
            response["error"]["code"], code,
            "{method} {params}: {response}"
        );
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_taken_is_refused_over_http() {
    let limits = Limits {
        message: Size(4096),
        ..Limits::default()
    };
    let hub = McpHub::start_with(true, limits).await;
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(64), "]".repeat(64));
    let long = format!("{{\"x\":\"{}\"}}", "y".repeat(5000));
    for (body, accept, status) in [
        (
            deep,
            "application/json, text/event-stream",
            StatusCode::BAD_REQUEST,
        ),
        (
            long,
            "application/json, text/event-stream",
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
        (
            "no JSON".to_owned(),
            "application/json, text/event-stream",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        ("{}".to_owned(), "text/html", StatusCode::NOT_ACCEPTABLE),
    ] {
        let request = hub
            .ask(reqwest::Method::POST, "/mcp")
            .header("accept", accept)
            .header("content-type", "application/json")
            .body(body.clone());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{}", &body[..body.len().min(40)]);
    }
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let hub = McpHub::start().await;
    let _amy = hub.attach("amy");
    for (tool, arguments, named) in [
        ("find_agents", json!({"limit": -1}), "\"limit\""),
        ("find_agents", json!({"online": "yes"}), "\"online\""),
        ("find_agents", json!({"name": "x"}), "name"),
        ("call_agent", json!({"message": "hi"}), "`agent`"),
        ("call_agent", json!({"agent": "amy"}), "`message`"),
        (
            "call_agent",
            json!({"agent": "amy", "message": " "}),
            "\"message\"",
        ),
        (
            "call_agent",
            json!({"agent": "amy", "message": 5}),
            "\"message\"",
        ),
        (
            "call_agent",
            json!({"agent": "amy", "message": "x", "session": "a\nb"}),
            "\"session\"",
        ),
        (
            "call_agent",
            json!({"agent": "amy", "message": "x", "wait_seconds": "soon"}),
            "\"wait_seconds\"",
        ),
        ("task", json!({}), "`task`"),
        ("task", json!({"task": "x"}), "call_agent"),
        (
            "cancel",
            json!({"task": "0199c2f0-1111-7aaa-8bbb-123456789abc"}),
            "call_agent",
        ),
    ] {
        let result = hub.tool(tool, arguments.clone()).await;
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        let words = words(&result);
        assert!(words.contains(named), "{tool} {arguments}: {words}");
        assert!(!words.contains("at line"), "{words}");
    }
}

#[tokio::test]
async fn an_agent_that_there_is_not_gets_the_names_of_those_that_may_be_meant() {
    let hub = McpHub::start().await;
    let _amy = hub.attach("translator");
    for typed in ["translatr", "Translator!", "trans"] {
        let result = hub
            .tool("call_agent", json!({"agent": typed, "message": "hi"}))
            .await;
        let words = words(&result);
        assert_eq!(result["isError"], true);
        assert!(words.starts_with("not_found: "), "{words}");
        assert!(words.contains("perhaps \"translator\" is meant"), "{words}");
        assert!(words.contains("find_agents"), "{words}");
    }
}

#[tokio::test]
async fn what_an_agent_cannot_do_is_a_result_with_the_next_step() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let calling = hub.tool("call_agent", json!({"agent": "amy", "message": "hi"}));
    let answering = async {
        let failure = Failure::new(Reason::Agent("quota".into()), "no more today");
        amy.next_call().await.finish(End::Failed(failure));
    };
    let (result, ()) = tokio::join!(calling, answering);
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["state"], "failed");
    assert_eq!(
        result["structuredContent"]["error"],
        json!({"code": "quota", "message": "no more today"})
    );
    assert!(words(&result).contains("quota: no more today"));
    amy.leave();
    let result = hub
        .tool("call_agent", json!({"agent": "amy", "message": "hi"}))
        .await;
    let words = words(&result);
    assert_eq!(result["isError"], true);
    assert!(
        words.starts_with("offline: ") && words.contains("online=true"),
        "{words}"
    );
}

#[tokio::test]
async fn another_ones_tasks_and_agents_are_not_there() {
    let hub = McpHub::start_with(false, Limits::default()).await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let bob = hub.token("bob", &["agent:*"]).await;
    let TokenLookup::Valid(owner) = hub.hub.tokens().look_up(&ann) else {
        panic!("it was made just now");
    };
    let mut amy = hub.attach_for(&owner, "amy", "Ann's");
    let call = |token: String, name: &str, arguments: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        let request = hub.post(&message).bearer_auth(token);
        async { last(request.send().await.unwrap()).await["result"].clone() }
    };
    let begun = json!({"agent": "amy", "message": "hi", "wait_seconds": 0});
    let task =
        call(ann.clone(), "call_agent", begun.clone()).await["structuredContent"]["task"].clone();
    let _serving = amy.next_call().await;
    let refused = call(bob.clone(), "call_agent", begun).await;
    assert!(words(&refused).starts_with("not_found: "), "{refused}");
    assert!(!words(&refused).contains("is meant"), "{refused}");
    let found = call(bob.clone(), "find_agents", json!({})).await;
    assert_eq!(found["structuredContent"]["total"], 0);
    for tool in ["task", "cancel"] {
        let result = call(bob.clone(), tool, json!({"task": task})).await;
        assert!(words(&result).contains("no such task of yours"), "{result}");
    }
    let looked = call(ann, "task", json!({"task": task, "wait_seconds": 0})).await;
    assert_eq!(looked["structuredContent"]["state"], "working");
}

#[tokio::test]
async fn the_client_id_for_files_reaches_the_agent_or_is_named() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let call = |client: Value| {
        let arguments = json!({"agent": "amy", "message": "hi", "wait_seconds": 0});
        json!({"name": "call_agent", "arguments": arguments, "_meta": {"jackfield/files": client}})
    };
    for wrong in [json!(5), json!(""), json!("../up")] {
        let result = hub.rpc("tools/call", call(wrong.clone())).await["result"].clone();
        assert_eq!(result["isError"], true, "{wrong}: {result}");
        assert!(words(&result).contains("jackfield/files"), "{result}");
    }
    assert!(amy.has_nothing_to_do());
    hub.rpc("tools/call", call(json!("me"))).await;
    let serving = amy.next_call().await;
    let metadata = serving.call().message.metadata.clone().unwrap();
    assert_eq!(
        metadata.to_value(),
        json!({"client_id": "me", "with_files": true})
    );
}
