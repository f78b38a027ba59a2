//! Agents behind HTTP, simulated by a server with raw responses.

use jackfield_connect::{
    Driver as _, Reaper,
    drivers::http::{Http, HttpSettings},
};
use serde_json::{Value, json};

use crate::drivers::{
    server::{Asked, Server, answer, endless, events},
    world::World,
};

fn driver(url: String) -> Http {
    let key_env = None;
    Http::new(HttpSettings { url, key_env }).unwrap()
}

/// Starts a server without an agent card.
async fn plain(work: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::start(move |asked| match asked.line.as_str() {
        "POST /chat" => work(asked),
        _ => answer("404 Not Found", "text/plain", "404"),
    })
    .await
}

/// Returns the events of a call to an agent with these responses.
async fn heard(work: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Vec<Value> {
    let (world, server) = (World::new().await, plain(work).await);
    let amy = world
        .connect(driver(server.url("/chat")), &Reaper::new())
        .await;
    let heard = world.hear("s", "hello").await;
    amy.stop().await;
    heard
}

#[tokio::test]
async fn an_agent_without_a_card_gets_messages_and_answers_as_it_likes() {
    let lines = concat!(
        "{\"kind\":\"thinking\",\"text\":\"hm\"}\n",
        "{\"delta\":\"Hel\"}\n\n",
        "{\"delta\":\"lo\"}\n"
    );
    for (media, body, said) in [
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
        let heard = heard(move |_| answer("200 OK", media, body)).await;
        assert_eq!(&heard[..heard.len() - 1], said, "{media}");
        assert_eq!(heard.last().unwrap()["done"]["state"], "completed");
    }
}

#[tokio::test]
async fn the_message_tells_who_asks_in_which_conversation() {
    let (world, server) = (
        World::new().await,
        plain(|_| answer("200 OK", "text/plain", "ok")).await,
    );
    let amy = world
        .connect(driver(server.url("/chat")), &Reaper::new())
        .await;
    let body = json!({"session": "s-9", "request_id": "r-9", "text": "hello", "metadata": {"mood": "good"}});
    world.call(body).await.rest().await;
    amy.stop().await;
    let asked = &server.asked()[0].body;
    assert_eq!(asked["message"], "hello");
    assert_eq!(asked["session_id"], "s-9");
    assert_eq!(asked["request_id"], "r-9");
    assert_eq!(asked["caller"], "local");
    assert_eq!(asked["parts"], json!([{"text": "hello"}]));
    assert_eq!(asked["metadata"], json!({"mood": "good"}));
}

#[tokio::test]
async fn any_other_answer_is_a_file() {
    let heard = heard(|_| answer("200 OK", "image/png", "\u{1f980}")).await;
    let part = &heard[0]["artifact"]["parts"][0]["file"];
    assert_eq!(part["mime"], "image/png", "{heard:#?}");
}

#[tokio::test]
async fn skills_of_a_card_are_announced_and_called() {
    let server = Server::start(|asked| match asked.line.as_str() {
        "GET /card" => {
            let card = json!({"name": "weather", "version": "1.2", "description": "tells the weather", "skills": [
                {"id": "ask", "name": "Ask", "description": "anything", "path": "/ask/{goal}", "method": "POST"},
                {"id": "report", "name": "Report", "path": "/report", "input_schema": {"type": "object", "properties": {"days": {"type": "integer"}}}},
            ]});
            answer("200 OK", "application/json", &card.to_string())
        }
        "POST /ask/is%20it%20warm%3F" => answer("200 OK", "application/json", r#"{"output": "yes"}"#),
        "POST /report" => answer("200 OK", "application/json", &asked.body.to_string()),
        _ => answer("404 Not Found", "text/plain", ""),
    })
    .await;
    let world = World::new().await;
    let agent = driver(server.url(""));
    agent.check().await.unwrap();
    let said = agent.self_description();
    assert_eq!(said.name.as_deref(), Some("weather"));
    assert_eq!(said.description.as_deref(), Some("tells the weather"));
    assert_eq!(said.skills.len(), 2);
    let amy = world.connect(agent, &Reaper::new()).await;
    assert_eq!(
        world.hear("s", "is it warm?").await[0],
        json!({"text": "yes"})
    );
    let body = json!({"parts": [{"data": {"days": 2}}], "metadata": {"skill": "report"}});
    let heard = world.call(body).await.rest().await;
    assert_eq!(heard[0], json!({"text": "{\"days\":2}"}));
    let body = json!({"text": "x", "metadata": {"skill": "dance"}});
    let failed = &world.call(body).await.rest().await[0]["failed"];
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
        let heard = heard(move |_| answer(status, "text/plain", "the cat")).await;
        let failed = &heard[0]["failed"];
        assert_eq!(failed["error"], code, "{failed}");
        assert!(
            failed["message"].as_str().unwrap().contains(words),
            "{failed}"
        );
    }
    let garbage = heard(|_| answer("200 OK", "application/json", "<html>")).await;
    assert_eq!(garbage[0]["failed"]["error"], "crashed");
    let told = heard(|_| events(&["Hel", r#"{"error": "no more"}"#])).await;
    assert_eq!(told[1]["failed"]["error"], "agent_error");
    assert_eq!(told[1]["failed"]["message"], "no more");
    let endless = heard(|_| endless("text/event-stream", "data: ")).await;
    assert_eq!(endless[0]["failed"]["error"], "crashed");

    let nobody = driver(Server::nobody().await).check().await.unwrap_err();
    assert_eq!(nobody.code, "adapter_crash");
    assert!(
        nobody.message.contains("start the server"),
        "{}",
        nobody.message
    );
    for bad in ["localhost:80", "ftp://x"] {
        let key_env = None;
        let url = bad.to_owned();
        assert!(Http::new(HttpSettings { url, key_env }).is_err(), "{bad}");
    }
}
