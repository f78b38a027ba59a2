//! Whose a transfer is: its two parties', in every way in which one can ask.

use super::*;

const REFUSED: &str =
    "no transfer of yours has this id, or the hub no longer knows it; call the agent again";

fn error() -> Value {
    json!({
        "type": "error", "code": "auth_failed", "message": REFUSED,
        "field": "transfer_id", "frame_type": "rtc_signal",
    })
}

fn signal(transfer: &str, to: &str, signal_type: &str) -> Value {
    json!({
        "type": "rtc_signal", "transfer_id": transfer, "target_agent_id": to,
        "signal_type": signal_type, "payload": "v=0",
    })
}

async fn platform(door: &BridgeHub, body: &Value) -> (u16, Value) {
    let sent = door.ask(Method::POST, "/api/rtc-signal/amy").json(body);
    door.send(sent.header("X-Platform-Secret", SECRET)).await
}

#[tokio::test]
async fn a_third_party_with_the_right_id_is_refused_in_all_three_ways_and_learns_nothing() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", 5)).await;
    let refused = (403, json!({"error": "unauthorized", "message": REFUSED}));
    let say = json!({"signal_type": "offer", "payload": "v=0"});
    // Over /v1: a known transfer and an unknown one, of an agent that is there and one that is not.
    for transfer in ["t1", "nobodys"] {
        for body in [&say, &json!({"signal_type": "poll"})] {
            assert_eq!(place.bob.says(transfer, body).await, refused);
        }
        let answer = place.bob.fetch(transfer, None).await;
        assert_eq!(
            checked("GET", &format!("{}/content", path(transfer)), answer).await,
            refused
        );
        let content = format!("{}/content", path(transfer));
        let sent = place
            .bob
            .request(Method::PUT, &content)
            .body("hello")
            .send();
        assert_eq!(checked("PUT", &content, sent.await.unwrap()).await, refused);
    }
    let elsewhere = "/v1/agents/nobody/transfers/t1/signals";
    assert_eq!(place.bob.post(elsewhere, &say).await, refused);
    assert_eq!(
        place
            .bob
            .post("/v1/agents/amy/transfers", &offer("t1", 9))
            .await,
        refused
    );
    // The platform, for a transfer that is known and not its own.
    for signal_type in ["offer", "poll", "prepare-upload"] {
        let body = json!({"transfer_id": "t1", "signal_type": signal_type, "payload": "v=0"});
        let (status, answer) = platform(&place.door, &body).await;
        assert_eq!((status, &answer["error"]), (403, &json!("auth_failed")));
        assert_eq!(answer["message"], REFUSED);
    }
    // Agents: of another owner, and of the caller's own.
    let mut bobs = place.bob.agent(&place.door, "bobs").await;
    let mut anns = place.ann.agent(&place.door, "anns").await;
    for stranger in [&mut bobs, &mut anns] {
        for transfer in ["t1", "nobodys"] {
            stranger.send(signal(transfer, "amy", "offer")).await;
            assert_eq!(stranger.frame().await, error());
        }
    }
    assert_eq!(
        place.amy.sync().await,
        Vec::<Value>::new(),
        "nothing came through"
    );
    // The caller.
    let (status, answer) = place.ann.says("t1", &say).await;
    assert_eq!((status, answer), (200, json!({"signals": []})));
    let heard = json!({
        "type": "rtc_signal_relay", "transfer_id": "t1", "from_agent_id": "http-caller",
        "signal_type": "offer", "payload": "v=0",
    });
    assert_eq!(place.signal().await, heard);
}

#[tokio::test]
async fn what_an_agent_says_to_its_caller_is_for_nobody_else() {
    let mut place = Place::open().await;
    let (ann, bob) = (place.ann.principal(), place.bob.principal());
    place.offers(&ann, &offer("anns", 5)).await;
    place.offers(&bob, &offer("bobs", 5)).await;
    for (transfer, words) in [("anns", "for ann"), ("bobs", "for bob")] {
        let mut said = signal(transfer, "http-caller", "answer");
        said["payload"] = json!(words);
        place.amy.send(said).await;
    }
    assert!(place.amy.sync().await.is_empty());
    let poll = json!({"signal_type": "poll"});
    let (_, heard) = place.bob.says("bobs", &poll).await;
    assert_eq!(
        heard["signals"],
        json!([{"signal_type": "answer", "payload": "for bob"}])
    );
    let (_, heard) = place.ann.says("anns", &poll).await;
    assert_eq!(
        heard["signals"],
        json!([{"signal_type": "answer", "payload": "for ann"}])
    );
    let (_, heard) = place.ann.says("anns", &poll).await;
    assert_eq!(heard["signals"], json!([]), "once");
}

#[tokio::test]
async fn who_waits_hears_as_soon_as_something_is_said() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", 5)).await;
    let waiting = format!("{}/signals?wait=30s", path("t1"));
    let say = json!({"signal_type": "offer", "payload": "v=0"});
    let answering = async {
        assert_eq!(place.amy.frame().await["payload"], "v=0");
        place.amy.send(signal("t1", "http-caller", "answer")).await;
    };
    let (heard, ()) = tokio::join!(place.ann.post(&waiting, &say), answering);
    assert_eq!(heard.1["signals"][0]["signal_type"], "answer");
}

#[tokio::test]
async fn two_agents_signal_each_other_about_their_own_transfer_and_no_other() {
    let mut place = Place::open().await;
    // Bob's agent may call amy; amy may not call it.
    let mut zoe = place.bob.agent(&place.door, "zoe").await;
    let mut eve = place.bob.agent(&place.door, "eve").await;
    let call = json!({
        "type": "call_agent", "target_agent_id": "amy", "task_description": "files",
        "call_id": "c1", "with_files": true,
    });
    zoe.send(call).await;
    let message = place.amy.frame().await;
    assert_eq!(
        (&message["with_files"], &message["client_id"]),
        (&json!(true), &json!("agent.zoe"))
    );
    let done = json!({
        "type": "done", "request_id": message["request_id"], "file_transfer_offer": offer("t1", 5),
    });
    place.amy.send(done).await;
    let done = zoe.frame().await;
    assert_eq!(
        (&done["type"], &done["file_transfer_offer"]),
        (&json!("call_agent_done"), &offer("t1", 5))
    );
    zoe.send(signal("t1", "amy", "offer")).await;
    assert_eq!(place.signal().await["from_agent_id"], "zoe");
    place.amy.send(signal("t1", "zoe", "answer")).await;
    let answer = zoe.frame().await;
    assert_eq!(
        (&answer["from_agent_id"], &answer["signal_type"]),
        (&json!("amy"), &json!("answer"))
    );
    // Neither to others, nor by others.
    place.amy.send(signal("t1", "eve", "answer")).await;
    assert_eq!(place.amy.frame().await, error());
    eve.send(signal("t1", "amy", "offer")).await;
    assert_eq!(eve.frame().await, error());
    eve.send(signal("t1", "zoe", "offer")).await;
    assert_eq!(eve.frame().await, error());
    assert!(zoe.sync().await.is_empty() && place.amy.sync().await.is_empty());
    // Its owner is not the caller; who acts as the agent is.
    let poll = json!({"signal_type": "poll"});
    assert_eq!(place.bob.says("t1", &poll).await.0, 403);
    let signals = format!("{}/signals", path("t1"));
    let acting = |agent: &str| {
        let request = place.bob.request(Method::POST, &signals);
        request.header("Jackfield-Agent", agent).json(&poll).send()
    };
    assert_eq!(acting("zoe").await.unwrap().status().as_u16(), 200);
    assert_eq!(acting("eve").await.unwrap().status().as_u16(), 403);
}

#[tokio::test]
async fn an_agent_announces_to_one_that_it_may_call_and_then_the_transfer_is_theirs() {
    let mut place = Place::open().await;
    let mut zoe = place.bob.agent(&place.door, "zoe").await;
    let mut announced = signal("up", "amy", "prepare-upload");
    announced["payload"] = json!(offer("up", 5).to_string());
    // Who it is there is the hub's to say.
    announced["client_id"] = json!("agent.eve");
    zoe.send(announced.clone()).await;
    let heard = place.signal().await;
    assert_eq!(
        (&heard["signal_type"], &heard["payload"]),
        (&json!("prepare-upload"), &announced["payload"])
    );
    assert_eq!(heard["client_id"], "agent.zoe");
    place.amy.send(signal("up", "zoe", "answer")).await;
    assert_eq!(zoe.frame().await["signal_type"], "answer");
    // What cannot be meant, another's transfer under that id, and whom it may not call.
    let mut wrong = announced.clone();
    wrong["payload"] = json!(offer("other", 5).to_string());
    zoe.send(wrong).await;
    assert_eq!(zoe.frame().await["field"], "payload");
    let mut eve = place.bob.agent(&place.door, "eve").await;
    eve.send(announced.clone()).await;
    assert_eq!(eve.frame().await, error());
    announced["target_agent_id"] = json!("zoe");
    announced["transfer_id"] = json!("back");
    announced["payload"] = json!(offer("back", 5).to_string());
    place.amy.send(announced).await;
    assert_eq!(place.amy.frame().await["field"], "target_agent_id");
    assert!(zoe.sync().await.is_empty());
}

#[tokio::test]
async fn an_agent_is_a_client_of_its_own_where_files_are_meant_and_nobody_else_is() {
    let mut place = Place::open().await;
    let mut zoe = place.bob.agent(&place.door, "Zoe").await;
    let mut client_of = async |call: Value| {
        zoe.send(call).await;
        place.amy.frame().await["client_id"].take()
    };
    let mut call = json!({
        "type": "call_agent", "target_agent_id": "amy", "task_description": "x",
        "call_id": "c1", "client_id": "agent.eve",
    });
    // Work that is not about files is done where it always was.
    assert_eq!(client_of(call.clone()).await, Value::Null);
    call["call_id"] = json!("c2");
    call["with_files"] = json!(true);
    let hashed = client_of(call).await;
    assert!(
        hashed.as_str().unwrap().starts_with("agent..") && hashed != "agent..",
        "{hashed}"
    );
    // Who acts as an agent is it, by any way, and nobody says that it is one.
    let acting = place
        .bob
        .request(Method::POST, "/v1/agents/amy/transfers")
        .header("Jackfield-Agent", "Zoe")
        .json(&offer("up", 5));
    assert_eq!(acting.send().await.unwrap().status().as_u16(), 201);
    assert_eq!(place.signal().await["client_id"], hashed);
    let mut announced = offer("down", 5);
    announced["client_id"] = hashed;
    let refused = place.ann.post("/v1/agents/amy/transfers", &announced).await;
    assert_eq!(refused.0, 400, "{}", refused.1);
    let mut body = json!({"transfer_id": "t", "signal_type": "prepare-upload", "payload": "x"});
    body["client_id"] = json!("agent.zoe");
    assert_eq!(platform(&place.door, &body).await.0, 400);
    assert!(place.amy.sync().await.is_empty());
}

#[tokio::test]
async fn only_the_hub_says_relay() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", 5)).await;
    place.offers(&Principal::platform(), &offer("p1", 5)).await;
    let say = json!({"signal_type": "relay", "payload": "{}"});
    assert_eq!(place.ann.says("t1", &say).await.0, 400);
    let body = json!({"transfer_id": "p1", "signal_type": "relay", "payload": "{}"});
    assert_eq!(platform(&place.door, &body).await.0, 400);
    let mut anns = place.ann.agent(&place.door, "anns").await;
    anns.send(signal("t1", "amy", "relay")).await;
    assert_eq!(anns.frame().await["field"], "signal_type");
    assert!(place.amy.sync().await.is_empty());
}

#[tokio::test]
async fn the_platform_fetches_through_the_hub_what_was_offered_to_it_and_nothing_else() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place
        .offers(&Principal::platform(), &offer("p1", 1000))
        .await;
    place.offers(&ann, &offer("t1", 5)).await;
    let asked = |transfer: &str, secret: &str| {
        let path = format!("/api/transfers/amy/{transfer}/content");
        let url = format!("http://{}{path}", place.door.addr);
        let asked = reqwest::Client::new().get(url);
        asked.header("X-Platform-Secret", secret)
    };
    for (transfer, secret, status) in [
        ("p1", "wrong", 401),
        ("t1", SECRET, 403),
        ("x", SECRET, 403),
    ] {
        let refused = asked(transfer, secret).send().await.unwrap();
        assert_eq!(refused.status().as_u16(), status);
        let told: Value = refused.json().await.unwrap();
        assert_eq!(told["error"], "auth_failed");
    }
    let past = asked("p1", SECRET).header("Range", "bytes=1000-").send();
    assert_eq!(past.await.unwrap().status(), 416);
    let fetching = async {
        let asked = asked("p1", SECRET).header("Range", "bytes=400-");
        let response = asked.send().await.unwrap();
        assert_eq!(response.status(), 206);
        response.bytes().await.unwrap()
    };
    let frame = place.amy.frame();
    let sending = async {
        let (url, said) = meeting(&place.door, &frame.await);
        assert_eq!(said["offset"], 400);
        let sent = reqwest::Client::new().put(url).body(piece(400, 600)).send();
        assert_eq!(sent.await.unwrap().status(), 204);
    };
    let (fetched, ()) = tokio::join!(fetching, sending);
    assert_eq!(fetched, piece(400, 600));
}

#[tokio::test]
async fn a_hub_that_was_restarted_still_knows_whose_a_transfer_is() {
    let store = Arc::new(MemoryStore::default());
    let open = || BridgeHub::open_on(store.clone(), Limits::default(), false);
    let door = open().await;
    let ann = Party::new(&door, "ann", &["agent:*"]).await;
    let mut amy = ann.agent(&door, "amy").await;
    offers(&door, &mut amy, "amy", &ann.principal(), &offer("t1", 5)).await;
    offers(
        &door,
        &mut amy,
        "amy",
        &Principal::platform(),
        &offer("p1", 5),
    )
    .await;
    drop(amy);
    door.stop().await;
    let door = open().await;
    let ann = Party {
        client: door.client.clone(),
        ..ann
    };
    let mut amy = ann.agent(&door, "amy").await;
    let say = json!({"signal_type": "offer", "payload": "v=0"});
    assert_eq!(ann.says("t1", &say).await.0, 200);
    assert_eq!(amy.frame().await["transfer_id"], "t1");
    let (status, answer) = ann.says("p1", &json!({"signal_type": "poll"})).await;
    assert_eq!((status, &answer["message"]), (403, &json!(REFUSED)));
    // What the hub never knew, the platform may signal about: the agent judges.
    for (transfer, status) in [("t1", 403), ("p1", 200), ("x1", 200)] {
        let body = json!({"transfer_id": transfer, "signal_type": "offer", "payload": "v=0"});
        assert_eq!(platform(&door, &body).await.0, status, "{transfer}");
    }
    assert_eq!(amy.frame().await["transfer_id"], "p1");
    assert_eq!(amy.frame().await["transfer_id"], "x1");
}

#[tokio::test]
async fn a_transfer_outlives_its_agents_connection_but_not_its_agent() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", 5)).await;
    place.amy = place.ann.agent(&place.door, "amy").await;
    let say = json!({"signal_type": "offer", "payload": "v=0"});
    assert_eq!(place.ann.says("t1", &say).await.0, 200);
    assert_eq!(place.signal().await["transfer_id"], "t1");
    let admin = Principal::local();
    let forgotten = place
        .door
        .hub
        .agents()
        .forget(&admin, &AgentId::parse("amy").unwrap());
    forgotten.unwrap().await.unwrap();
    assert_eq!(place.ann.says("t1", &say).await.0, 403);
}

#[tokio::test]
async fn an_offer_that_cannot_be_meant_is_passed_on_and_nobodys() {
    let mut place = Place::open().await;
    let target = AgentId::parse("amy").unwrap();
    let asked = Request::new(place.ann.principal(), "local", target, Said::text("x"));
    let mut replies = place.door.hub.calls().open(asked).unwrap().replies();
    let message = place.amy.frame().await;
    let strange = json!({"transfer_id": "t1", "zip_size": -1});
    let done = json!({"type": "done", "request_id": message["request_id"], "file_transfer_offer": strange});
    place.amy.send(done).await;
    let jackfield_model::End::Done(done) = end_of(&mut replies).await else {
        panic!("not done")
    };
    let passed: Value = serde_json::from_str(done.file_transfer_offer.unwrap().get()).unwrap();
    assert_eq!(passed, strange);
    assert_eq!(
        place
            .ann
            .says("t1", &json!({"signal_type": "poll"}))
            .await
            .0,
        403
    );
}
