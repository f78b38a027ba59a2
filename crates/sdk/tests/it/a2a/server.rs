//! The routes, without sockets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
    routing::get,
};
use jackfield_core::{limits::Limits, units::Span};
use jackfield_sdk::{Agent, Team, Workflow, a2a};
use jackfield_testkit::SOON;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt as _;

/// The message in the documentation of Agno's dialect, addressed to an agent.
pub(crate) fn message(agent: &str) -> String {
    let body = r#"{
    "jsonrpc": "2.0",
    "method": "message/send",
    "id": "req-1",
    "params": {
      "message": {
        "messageId": "msg-1",
        "role": "user",
        "agentId": "my-agent",
        "contextId": "session-123",
        "parts": [{"kind": "text", "text": "Hello!"}]
      }
    }
  }"#;
    body.replace("my-agent", agent)
}

async fn request(router: &Router, method: Method, path: &str, body: String) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", "application/json")
        // A token for another server; this server ignores tokens.
        .header("Authorization", "Bearer whatever")
        .body(Body::from(body))
        .unwrap();
    let response = timeout(SOON, router.clone().oneshot(request)).await;
    let response = response.expect("an answer in time").unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

async fn post(router: &Router, path: &str, agent: &str) -> (StatusCode, Value) {
    request(router, Method::POST, path, message(agent)).await
}

fn agent_saying(id: &str, words: &'static str) -> Agent {
    Agent::new(id).on_message(move |_, reply| async move { Ok(reply.text(words).await?) })
}

/// The text of a response.
fn words(answer: &Value) -> &Value {
    &answer["result"]["task"]["history"][1]["parts"][0]["text"]
}

#[tokio::test]
async fn one_agent_is_served_in_one_line() {
    let router = agent_saying("my-agent", "Hello from agent!").into_a2a_router("/a2a");
    let router = router.unwrap();
    let (status, answer) = post(&router, "/a2a/message/send", "my-agent").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(words(&answer), "Hello from agent!");
    assert_eq!(answer["result"]["task"]["context_id"], "session-123");
}

#[tokio::test]
async fn a_word_in_passing_is_a_completed_task() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        reply.text("hi").await?;
        reply.bare_message();
        Ok(())
    });
    let router = agent.into_a2a_router("/a2a").unwrap();
    let (_, answer) = post(&router, "/a2a/message/send", "a").await;
    assert_eq!(answer["result"]["task"]["status"], "completed");
    assert_eq!(words(&answer), "hi");
}

#[tokio::test]
async fn agents_teams_and_workflows_have_one_space_of_ids() {
    let team = Team::new("team").member(agent_saying("member", "hi"));
    let workflow = Workflow::new("workflow").step("step", |text| async move { Ok(text + "!") });
    let agents = [agent_saying("agent", "hello"), team.into(), workflow.into()];
    let router = a2a::serve(agents).into_router("/a2a").unwrap();
    for (id, expected) in [
        ("agent", "hello"),
        ("team", "member:\nhi"),
        ("workflow", "Hello!!"),
    ] {
        let (_, answer) = post(&router, "/a2a/message/send", id).await;
        assert_eq!(words(&answer), expected);
    }
    let (status, answer) = post(&router, "/a2a/message/send", "member").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let not_found = json!({"code": -32000, "message": "entity 'member' not found"});
    assert_eq!(answer["error"], not_found, "members are nobody outside");
}

#[tokio::test]
async fn the_routes_lie_where_the_prefix_says_and_leave_the_rest_to_others() {
    for prefix in ["/a2a", "/agents/v1/", "", "/"] {
        let base = prefix.trim_end_matches('/');
        let own = Router::new()
            .route("/health", get(async || "ok"))
            .fallback(async || (StatusCode::IM_A_TEAPOT, "not here"));
        let routes = agent_saying("a", "hi").into_a2a_router(prefix).unwrap();
        let router = own.merge(routes);
        let send = format!("{base}/message/send");
        let (_, answer) = post(&router, &send, "a").await;
        assert_eq!(words(&answer), "hi", "{prefix:?}");
        let (status, answer) = request(&router, Method::GET, &send, String::new()).await;
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
        let text = format!("invalid request: {send} takes POST, got GET");
        assert_eq!(answer["error"]["message"], text);
        let (status, answer) = post(&router, &format!("{base}/elsewhere"), "a").await;
        if base.is_empty() {
            assert_eq!(status, StatusCode::IM_A_TEAPOT);
        } else {
            assert_eq!(status, StatusCode::NOT_FOUND);
            let text = format!(
                "there is nothing at {base}/elsewhere; use POST {base}/message/send or {base}/message/stream"
            );
            assert_eq!(answer["error"]["message"], text);
        }
        let (status, _) = request(&router, Method::GET, "/health", String::new()).await;
        assert_eq!(status, StatusCode::OK);
    }
}

#[tokio::test]
async fn an_agent_has_a_card_where_the_server_knows_its_url() {
    let well_known = "/own/agents/my-agent/.well-known/agent-card.json";
    let server = || a2a::serve([agent_saying("my-agent", "hi")]);
    let router = server()
        .public_url("https://me.example.com/")
        .into_router("/own");
    let (status, card) = request(&router.unwrap(), Method::GET, well_known, String::new()).await;
    assert_eq!(status, StatusCode::OK);
    let url = "https://me.example.com/own/agents/my-agent";
    assert_eq!(card["supportedInterfaces"][0]["url"], url);
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    assert_eq!(card.get("signatures"), None);
    let router = server().into_router("/own").unwrap();
    let (status, _) = request(&router, Method::GET, well_known, String::new()).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "an address is never guessed");
}

#[tokio::test]
async fn members_of_one_server_may_call_each_other() {
    let asks = Agent::new("asks").on_message(|_, reply| async move {
        let called_text = reply.call_agent("says", "x").await?.text().await?;
        Ok(reply.text(format!("heard {called_text}")).await?)
    });
    let router = a2a::serve([asks, agent_saying("says", "hi")]).into_router("/a2a");
    let (_, answer) = post(&router.unwrap(), "/a2a/message/send", "asks").await;
    assert_eq!(words(&answer), "heard hi");
}

#[tokio::test(start_paused = true)]
async fn clocks_run_without_a_hub() {
    let limits = Limits {
        absolute_live: Span::secs(5),
        ..Limits::default()
    };
    let endless = Agent::new("a").on_message(|_, _| std::future::pending());
    let router = a2a::serve([endless]).limits(limits).into_router("/a2a");
    let (status, answer) = post(&router.unwrap(), "/a2a/message/send", "a").await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(answer["error"]["data"]["reason"], "timeout");
}

#[test]
fn a_router_is_made_outside_of_a_runtime_and_takes_its_work_along_when_it_is_dropped() {
    let alive = Arc::new(());
    let (held, count) = (alive.clone(), Arc::new(AtomicUsize::new(0)));
    let counter = count.clone();
    let agent = Agent::new("a").on_message(move |_, reply| {
        let _held = &held;
        counter.fetch_add(1, Ordering::Relaxed);
        async move { Ok(reply.text("hi").await?) }
    });
    let router = agent.into_a2a_router("/a2a").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async move {
        for _ in 0..2 {
            let (status, _) = post(&router, "/a2a/message/send", "a").await;
            assert_eq!(status, StatusCode::OK);
        }
        drop(router);
        // The paused clock advances only when all tasks are idle.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(Arc::strong_count(&alive), 1, "nothing of it is left");
    });
    assert_eq!(count.load(Ordering::Relaxed), 2);
}
