//! What goes wrong on the way: lies, limits, tickets, agents that do not come.

use super::*;

#[tokio::test]
async fn an_agent_that_lies_about_the_size_is_cut_and_the_caller_knows() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", 1000)).await;
    for (says, status, why) in [(999, 400, "before its time"), (1001, 413, "more bytes")] {
        let fetching = async {
            let response = place.ann.try_fetch("t1", None).await?;
            assert_eq!(response.content_length(), Some(1000));
            response.bytes().await
        };
        let frame = place.amy.frame();
        let sending = async {
            let (url, _) = meeting(&place.door, &frame.await);
            let sent = reqwest::Client::new().put(url).body(piece(0, says)).send();
            checked("PUT", "/v1/transfers/x", sent.await.unwrap()).await
        };
        let (fetched, (got, answer)) = tokio::join!(fetching, sending);
        assert!(fetched.is_err(), "{says} of 1000 bytes are no clean end");
        assert_eq!(got, status);
        assert!(
            answer["message"].as_str().unwrap().contains(why),
            "{answer}"
        );
        // The body could not say why.
        let (_, heard) = place.ann.says("t1", &json!({"signal_type": "poll"})).await;
        assert_eq!(heard["signals"][0]["signal_type"], "interrupted", "{heard}");
        let payload = heard["signals"][0]["payload"].as_str().unwrap();
        assert!(payload.contains(why), "{heard}");
    }
}

#[tokio::test]
async fn a_ticket_works_once_in_its_direction_and_for_nobody_who_guesses() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", 5)).await;
    let client = reqwest::Client::new();
    let fetching = async { place.ann.fetch("t1", None).await.bytes().await.unwrap() };
    let frame = place.amy.frame();
    let sending = async {
        let (url, _) = meeting(&place.door, &frame.await);
        let asked = |method: Method, url: &str| client.request(method, url).body("hello").send();
        let looked = client.head(&url).send().await.unwrap();
        assert_eq!(looked.status().as_u16(), 405, "a look does not use it up");
        for (method, url) in [
            (Method::GET, url.clone()),
            (Method::PUT, format!("{url}0")),
            (
                Method::PUT,
                format!("{}{}", &url[..url.len() - 64], "0".repeat(64)),
            ),
        ] {
            let answer = asked(method.clone(), &url).await.unwrap();
            let (status, answer) = checked(method.as_str(), "/v1/transfers/x", answer).await;
            assert_eq!((status, &answer["error"]), (404, &json!("not_found")));
        }
        assert_eq!(
            asked(Method::PUT, &url).await.unwrap().status().as_u16(),
            204
        );
        assert_eq!(
            asked(Method::PUT, &url).await.unwrap().status().as_u16(),
            404
        );
    };
    let (fetched, ()) = tokio::join!(fetching, sending);
    assert_eq!(fetched, "hello");
}

#[tokio::test]
async fn limits_are_named_by_their_settings() {
    let rules = FileRules {
        max_size: jackfield_core::units::Size::kib(1),
        max_relayed: 1,
        ..FileRules::default()
    };
    let mut place = Place::open_with(rules).await;
    let ann = place.ann.principal();
    for (transfer, size) in [("large", 1025), ("one", 5), ("two", 5)] {
        place.offers(&ann, &offer(transfer, size)).await;
    }
    let content = |transfer: &str| format!("{}/content", path(transfer));
    let answer = place.ann.fetch("large", None).await;
    let (status, answer) = checked("GET", &content("large"), answer).await;
    assert_eq!((status, &answer["error"]), (413, &json!("too_large")));
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("files.max_size")
    );
    let announced = place
        .ann
        .post("/v1/agents/amy/transfers", &offer("up", 1025))
        .await;
    assert_eq!(
        (announced.0, &announced.1["message"]),
        (413, &answer["message"])
    );
    // One at a time.
    let mut first = place.ann.fetching("one");
    let url = place.meeting().await;
    let answer = place.ann.fetch("two", None).await;
    let (status, answer) = checked("GET", &content("two"), answer).await;
    assert_eq!((status, &answer["error"]), (429, &json!("busy")));
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("files.max_relayed")
    );
    let sent = reqwest::Client::new().put(url).body("hello").send();
    let (sent, first) = tokio::join!(sent, first.join_next());
    assert_eq!(sent.unwrap().status().as_u16(), 204);
    let first = first.unwrap().unwrap().unwrap();
    assert_eq!(first.bytes().await.unwrap(), "hello");
    // And then the next.
    let fetching = async { place.ann.fetch("two", None).await.bytes().await.unwrap() };
    let frame = place.amy.frame();
    let sending = async {
        let (url, _) = meeting(&place.door, &frame.await);
        reqwest::Client::new()
            .put(url)
            .body("world")
            .send()
            .await
            .unwrap();
    };
    assert_eq!(tokio::join!(fetching, sending).0, "world");
}

#[tokio::test]
async fn an_agent_that_is_away_is_said_to_be_and_a_caller_that_leaves_ends_its_ticket() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", 5)).await;
    let leaving = place.ann.fetching("t1");
    let url = place.meeting().await;
    drop(leaving);
    let mut put = 0;
    // The hub hears of it when the socket says so.
    let refused = loop {
        put += 1;
        assert!(put < 1000, "the ticket stays good");
        let sent = reqwest::Client::new().put(&url).body("hello").send();
        let status = sent.await.unwrap().status().as_u16();
        if status != 204 {
            break status;
        }
    };
    assert!([404, 409].contains(&refused), "{refused}");
    drop(std::mem::replace(
        &mut place.amy,
        place.ann.agent(&place.door, "other").await,
    ));
    place.door.lost("amy").await;
    let content = format!("{}/content", path("t1"));
    let answer = place.ann.fetch("t1", None).await;
    let (status, answer) = checked("GET", &content, answer).await;
    assert_eq!((status, &answer["error"]), (502, &json!("offline")));
    let (status, _) = place
        .ann
        .post("/v1/agents/amy/transfers", &offer("up", 5))
        .await;
    assert_eq!(status, 502);
    let (status, _) = place.ann.says("up", &json!({"signal_type": "poll"})).await;
    assert_eq!(status, 403, "what the agent never heard of is no transfer");
}

#[tokio::test]
async fn an_archive_that_goes_the_other_way_is_refused() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("down", 5)).await;
    place
        .ann
        .post("/v1/agents/amy/transfers", &offer("up", 5))
        .await;
    assert_eq!(place.signal().await["signal_type"], "prepare-upload");
    for (method, transfer) in [(Method::PUT, "down"), (Method::GET, "up")] {
        let content = format!("{}/content", path(transfer));
        let sent = place
            .ann
            .request(method.clone(), &content)
            .body("hello")
            .send();
        let (status, answer) = checked(method.as_str(), &content, sent.await.unwrap()).await;
        assert_eq!((status, &answer["error"]), (409, &json!("conflict")));
    }
    let content = format!("{}/content?offset=5", path("up"));
    let sent = place.ann.request(Method::PUT, &content).body("").send();
    assert_eq!(checked("PUT", &content, sent.await.unwrap()).await.0, 400);
    assert!(place.amy.sync().await.is_empty());
}
