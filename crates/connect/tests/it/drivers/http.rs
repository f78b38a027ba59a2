//! Agents behind HTTP, simulated by a server with raw responses.

use jackfield_connect::{
    Driver as _, Reaper,
    drivers::http::{Http, HttpSettings},
};
use serde_json::{Value, json};

use crate::drivers::{
    fixture::Fixture,
    server::{ReceivedRequest, Server, answer, endless, events},
};

fn driver(url: String) -> Http {
    let key_env = None;
    Http::new(HttpSettings { url, key_env }).unwrap()
}

/// Starts a server without an agent card.
async fn plain(work: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::start(move |request| match request.line.as_str() {
        "POST /chat" => work(request),
        _ => answer("404 Not Found", "text/plain", "404"),
    })
    .await
}

/// Returns the events of a call to an agent with these responses.
async fn replies_from(
    work: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static,
) -> Vec<Value> {
    let (fixture, server) = (Fixture::new().await, plain(work).await);
    let amy = fixture
        .connect(driver(server.url("/chat")), &Reaper::new())
        .await;
    let replies = fixture.ask("s", "hello").await;
    amy.stop().await;
    replies
}

#[tokio::test]
async fn an_agent_without_a_card_gets_messages_and_answers_as_it_likes() {
    let lines = concat!(
        "{\"kind\":\"thinking\",\"text\":\"hm\"}\n",
        "{\"delta\":\"Hel\"}\n\n",
        "{\"delta\":\"lo\"}\n"
    );
    for (media, body, expected) in [
        ("text/plain", "Hello", &[json!({"text": "Hello"})][..]),
        (
            "application/json",
            r#"{"answer": "Hello"}"#,
            &[json!({"text": "Hello"})],
        ),
        (
            "application/x-ndjson",
            lines,
            &[json!({"thinking": "hm"}), json!({"text": "Hello"})],
        ),
        (
            "text/event-stream",
            "data: Hel\n\ndata: {\"text\": \"lo\"}\n\ndata: [DONE]\n\ndata: late\n\n",
            &[json!({"text": "Hello"})],
        ),
    ] {
        let replies = replies_from(move |_| answer("200 OK", media, body)).await;
        assert_eq!(&replies[..replies.len() - 1], expected, "{media}");
        assert_eq!(replies.last().unwrap()["done"]["state"], "completed");
    }
}

#[tokio::test]
async fn the_message_tells_who_asks_in_which_conversation() {
    let (fixture, server) = (
        Fixture::new().await,
        plain(|_| answer("200 OK", "text/plain", "ok")).await,
    );
    let amy = fixture
        .connect(driver(server.url("/chat")), &Reaper::new())
        .await;
    let body = json!({"session": "s-9", "request_id": "r-9", "text": "hello", "metadata": {"mood": "good"}});
    fixture.call(body).await.rest().await;
    amy.stop().await;
    let request = &server.requests()[0].body;
    assert_eq!(request["message"], "hello");
    assert_eq!(request["session_id"], "s-9");
    assert_eq!(request["request_id"], "r-9");
    assert_eq!(request["caller"], "local");
    assert_eq!(request["parts"], json!([{"text": "hello"}]));
    assert_eq!(request["metadata"], json!({"mood": "good"}));
}

#[tokio::test]
async fn any_other_answer_is_a_file() {
    let replies = replies_from(|_| answer("200 OK", "image/png", "\u{1f980}")).await;
    let part = &replies[0]["artifact"]["parts"][0]["file"];
    assert_eq!(part["mime"], "image/png", "{replies:#?}");
}

#[tokio::test]
async fn skills_of_a_card_are_announced_and_called() {
    let server = Server::start(|request| match request.line.as_str() {
        "GET /card" => {
            let card = json!({"name": "weather", "version": "1.2", "description": "tells the weather", "skills": [
                {"id": "ask", "name": "Ask", "description": "anything", "path": "/ask/{goal}", "method": "POST"},
                {"id": "report", "name": "Report", "path": "/report", "input_schema": {"type": "object", "properties": {"days": {"type": "integer"}}}},
            ]});
            answer("200 OK", "application/json", &card.to_string())
        }
        "POST /ask/is%20it%20warm%3F" => answer("200 OK", "application/json", r#"{"output": "yes"}"#),
        "POST /report" => answer("200 OK", "application/json", &request.body.to_string()),
        _ => answer("404 Not Found", "text/plain", ""),
    })
    .await;
    let fixture = Fixture::new().await;
    let agent = driver(server.url(""));
    agent.check().await.unwrap();
    let profile = agent.self_description();
    assert_eq!(profile.name.as_deref(), Some("weather"));
    assert_eq!(profile.description.as_deref(), Some("tells the weather"));
    assert_eq!(profile.skills.len(), 2);
    let amy = fixture.connect(agent, &Reaper::new()).await;
    assert_eq!(
        fixture.ask("s", "is it warm?").await[0],
        json!({"text": "yes"})
    );
    let body = json!({"parts": [{"data": {"days": 2}}], "metadata": {"skill": "report"}});
    let replies = fixture.call(body).await.rest().await;
    assert_eq!(replies[0], json!({"text": "{\"days\":2}"}));
    let body = json!({"text": "x", "metadata": {"skill": "dance"}});
    let failed = &fixture.call(body).await.rest().await[0]["failed"];
    assert!(
        failed["message"].as_str().unwrap().contains("ask, report"),
        "{failed}"
    );
    amy.stop().await;
}

#[tokio::test]
async fn what_goes_wrong_is_told_with_what_to_do() {
    for (status, code, words) in [
        ("401 Unauthorized", "agent_unauthorized", "--key-env"),
        ("404 Not Found", "crashed", "POST"),
        ("429 Too Many Requests", "busy", "later"),
        ("503 Service Unavailable", "agent_error", "the cat"),
    ] {
        let replies = replies_from(move |_| answer(status, "text/plain", "the cat")).await;
        let failed = &replies[0]["failed"];
        assert_eq!(failed["error"], code, "{failed}");
        assert!(
            failed["message"].as_str().unwrap().contains(words),
            "{failed}"
        );
    }
    let garbage = replies_from(|_| answer("200 OK", "application/json", "<html>")).await;
    assert_eq!(garbage[0]["failed"]["error"], "crashed");
    let broken = replies_from(|_| events(&["Hel", r#"{"error": "no more"}"#])).await;
    assert_eq!(broken[1]["failed"]["error"], "agent_error");
    assert_eq!(broken[1]["failed"]["message"], "no more");
    let endless = replies_from(|_| endless("text/event-stream", "data: ")).await;
    assert_eq!(endless[0]["failed"]["error"], "crashed");

    let unreachable = driver(Server::unreachable_url().await)
        .check()
        .await
        .unwrap_err();
    assert_eq!(unreachable.code, "adapter_crash");
    assert!(
        unreachable.message.contains("start the server"),
        "{}",
        unreachable.message
    );
    for bad in ["localhost:80", "ftp://x"] {
        let key_env = None;
        let url = bad.to_owned();
        assert!(Http::new(HttpSettings { url, key_env }).is_err(), "{bad}");
    }
}
