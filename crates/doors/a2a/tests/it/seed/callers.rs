//! Who calls, and on whose behalf: tokens, foreign agents, parents, traces.

use jackfield_core::limits::Limits;
use jackfield_model::{CallId, End, Event};
use reqwest::StatusCode;

use crate::seed::harness::{
    A2aHub, CURL, SEND, STREAM, Stream, answered, changed, error, failed, told,
};

#[tokio::test]
async fn away_from_loopback_only_a_token_is_somebody() {
    let hub = A2aHub::start_with(false, Limits::default()).await;
    let ann = hub.owner("ann").await;
    let mut agent = hub.attach_for(&ann, "my-agent");
    for path in [SEND, STREAM] {
        for token in [None, Some("jf_guess")] {
            // Not even a body that cannot be read is looked at.
            let mut request = hub.request(path, "nonsense");
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let response = request.try_clone().unwrap().send().await.unwrap();
            let asks = response.headers()["www-authenticate"].to_str().unwrap();
            assert!(asks.starts_with("Bearer"));
            let (status, body) = told(request).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED);
            assert_eq!(body["id"], "");
            assert_eq!(body["error"]["code"], -32000);
            assert_eq!(body["error"]["data"]["reason"], "unauthorized");
        }
    }
    let token = hub.token("ann", &[]).await;
    let request = hub.request(SEND, CURL).bearer_auth(token);
    let ((status, _), call) = tokio::join!(told(request), answered(&mut agent, "x"));
    assert_eq!(status, StatusCode::OK);
    assert_eq!(call.principal.owner.as_str(), "ann");
    assert_ne!(
        call.agent_session.as_str(),
        "session-123",
        "strangers share no memory"
    );
}

#[tokio::test]
async fn a_foreign_agent_looks_like_none() {
    let hub = A2aHub::start_with(false, Limits::default()).await;
    let ann = hub.owner("ann").await;
    let agent = hub.attach_for(&ann, "my-agent");
    let token = hub.token("bob", &[]).await;
    for path in [SEND, STREAM] {
        for name in ["my-agent", "nobody"] {
            let request = hub.request(path, changed("my-agent", name));
            let (status, body) = told(request.bearer_auth(&token)).await;
            assert_eq!(status, StatusCode::NOT_FOUND);
            let message = format!("entity '{name}' not found");
            assert_eq!(body, error("req-1", -32000, &message));
        }
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_revoked_token_ends_its_calls() {
    let hub = A2aHub::start().await;
    let ann = hub.owner("ann").await;
    let mut agent = hub.attach_for(&ann, "my-agent");
    for path in [SEND, STREAM] {
        let token = hub.token("ann", &[]).await;
        let listed = hub.hub.tokens().list();
        let id = listed.iter().map(|record| record.id).max().unwrap();
        let request = hub.request(path, CURL).bearer_auth(token);
        let revoking = async {
            let serving = agent.next_call().await;
            serving.push(Event::text("x"));
            hub.hub.tokens().revoke(id).await.unwrap();
            assert_eq!(agent.next_cancel().await, serving.call().id);
        };
        let message = "the token was revoked or has expired; ask for a new one";
        if path == SEND {
            let ((status, body), ()) = tokio::join!(told(request), revoking);
            assert_eq!(status, StatusCode::UNAUTHORIZED);
            assert_eq!(body, failed("req-1", -32000, message, "unauthorized"));
        } else {
            let reading = async {
                let mut stream = Stream::of(request).await;
                let mut last = stream.next().await.unwrap();
                while let Some(next) = stream.next().await {
                    last = next;
                }
                last
            };
            let (last, ()) = tokio::join!(reading, revoking);
            assert_eq!(last.event.as_deref(), Some("error"));
            assert_eq!(last.data["error"]["message"], message);
        }
    }
}

#[tokio::test]
async fn a_call_that_is_made_for_another_ends_with_it() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let mut helper = hub.attach("helper");
    for by_header in [true, false] {
        let (parent, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
        let id = serving.call().id;
        let body = changed("my-agent", "helper");
        let (body, header) = if by_header {
            (body, Some(id.to_string()))
        } else {
            let metadata = format!(r#""metadata": {{"jackfield_call": "{id}"}}, "role""#);
            (body.replace("\"role\"", &metadata), None)
        };
        let mut request = hub.request(SEND, body);
        if let Some(id) = header {
            request = request.header("Jackfield-Call", id);
        }
        let leaving = async {
            let child = helper.next_call().await;
            assert_eq!(child.call().parent().unwrap().id, id);
            drop(parent);
            assert_eq!(helper.next_cancel().await, child.call().id);
        };
        let ((status, body), ()) = tokio::join!(told(request), leaving);
        assert_eq!(status, StatusCode::OK);
        assert_eq!(body["result"]["task"]["status"], "cancelled");
        assert_eq!(agent.next_cancel().await, id);
    }
}

#[tokio::test]
async fn a_header_that_names_no_call_is_refused_and_a_trace_is_passed_on() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    for bad in ["no-id", "é"] {
        let request = hub.request(SEND, CURL).header("Jackfield-Call", bad);
        let (status, body) = told(request).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let message = "header Jackfield-Call must be the id of a call";
        assert_eq!(body, failed("req-1", -32602, message, "invalid"));
    }
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (given, passed_on) in [(trace, Some(trace)), ("00-1-2-01", None)] {
        // A call that is not open any more is nobody's parent, and no reason to refuse.
        let gone = CallId::new().to_string();
        let request = hub.request(SEND, CURL).header("traceparent", given);
        let request = request.header("Jackfield-Call", gone);
        let ((status, _), call) = tokio::join!(told(request), answered(&mut agent, "x"));
        assert_eq!(status, StatusCode::OK);
        assert_eq!(call.traceparent.as_deref(), passed_on);
    }
}

#[tokio::test]
async fn the_response_names_the_call() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let answering = async {
        let serving = agent.next_call().await;
        let id = serving.call().id;
        serving.finish(End::done());
        id
    };
    let (response, id) = tokio::join!(hub.request(SEND, CURL).send(), answering);
    assert_eq!(
        response.unwrap().headers()["jackfield-call"],
        id.to_string()
    );
}
