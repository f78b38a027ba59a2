//! Cards and handoffs.

use jackfield_peer::futures::SinkExt as _;

use super::*;

fn buy(item: &str) -> Value {
    json!({"method": "POST", "path": "/items/{item}/buy", "params": {"item": item}, "input_data": "{\"n\": 2}"})
}

#[tokio::test]
async fn a_peer_gets_the_agents_own_card_and_answers_and_the_base_path_is_kept() {
    let mut agent = Agent::start().await;
    let sidecar = Sidecar::open(setting(&agent.url)).await.unwrap();
    let caller = Caller::start().await;
    assert_eq!(caller.card(&sidecar).await, CARD, "byte for byte");
    let answer = caller.hand_off(&sidecar, &buy("red hat/7")).await;
    assert_eq!(answer, "{\"ok\": true}");
    let got = agent.got.recv().await.unwrap();
    let path = "/base/items/red%20hat%2F7/buy";
    assert_eq!(got, ("POST".into(), path.into(), "{\"n\": 2}".into()));
    let mut request = json!({"method": "GET", "path": "/items", "stream": true});
    let plain = caller.hand_off(&sidecar, &request).await;
    request["stream"] = false.into();
    let request = request.to_string();
    let framed = caller.ask(&sidecar, PROTOCOL_HANDOFF_STREAM, &request);
    assert_eq!(
        framed.await,
        plain,
        "frames, whichever way they are asked for"
    );
    let lines: Vec<Value> = plain
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let result = json!({"type": "result", "data": {"ok": true}});
    assert_eq!(lines, [json!({"type": "accepted"}), result]);
}

#[tokio::test]
async fn what_the_card_does_not_declare_is_never_asked_for_and_redirects_are_not_followed() {
    let mut agent = Agent::start().await;
    let sidecar = Sidecar::open(setting(&agent.url)).await.unwrap();
    let caller = Caller::start().await;
    for (method, path, code) in [
        ("POST", "/admin", 404),
        ("GET", "/card", 404),
        ("POST", "/agents/shop/items", 404),
        ("DELETE", "/items", 405),
        ("POST", "/items/../admin/buy", 400),
        ("POST", "/items/%252e%252e/buy", 400),
        ("GET", "http://127.0.0.1:1/items", 400),
    ] {
        let request = json!({"method": method, "path": path, "input_data": "x"});
        caller.refused(&sidecar, &request, code).await;
    }
    let mut looping = buy("1");
    looping["x_hops"] = 9.into();
    caller.refused(&sidecar, &looping, 429).await;
    assert!(agent.got.is_empty());
    let request = json!({"method": "GET", "path": "/move"});
    let error = caller.refused(&sidecar, &request, 502).await;
    assert_eq!(error, "HTTP error: 302");
    assert_eq!(agent.got.recv().await.unwrap().1, "/base/move");
    assert!(agent.got.is_empty(), "nobody went where it pointed to");
}

#[tokio::test]
async fn the_originals_own_path_takes_a_prompt_of_several_lines_and_a_declared_query_is_filled() {
    let mut agent = Agent::start().await;
    *agent.card.lock() = json!({"name": "Planner", "skills": [
        {"id": "goal", "path": "/{goal}"},
        {"id": "find", "path": "/find?q={q}", "method": "GET"},
        {"id": "broken"},
    ]})
    .to_string();
    let sidecar = Sidecar::open(setting(&agent.url)).await.unwrap();
    let caller = Caller::start().await;
    for (request, uri) in [
        (
            json!({"method": "POST", "path": "/{goal}", "params": {"goal": "plan a trip\nto C:\\Rome", "how": {}}}),
            "/base/plan%20a%20trip%0Ato%20C%3A%5CRome",
        ),
        (
            json!({"method": "POST", "path": "/plan%0Ait", "params": {"when": null}}),
            "/base/plan%0Ait",
        ),
        (
            json!({"method": "GET", "path": "/find?q={q}", "params": {"q": "a&b=../c"}}),
            "/base/find?q=a%26b%3D..%2Fc",
        ),
    ] {
        assert_eq!(caller.hand_off(&sidecar, &request).await, "{\"ok\": true}");
        assert_eq!(agent.got.recv().await.unwrap().1, uri);
    }
    for (goal, code) in [("..", 400), (".\n.", 400), ("..\\x", 400), ("/x", 400)] {
        let request = json!({"method": "POST", "path": "/{goal}", "params": {"goal": goal}});
        caller.refused(&sidecar, &request, code).await;
    }
    assert!(agent.got.is_empty());
}

#[tokio::test]
async fn an_agent_that_is_down_gives_504_and_one_that_starts_later_is_there_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let sidecar = Sidecar::open(setting(&format!("http://{addr}/base")))
        .await
        .unwrap();
    until(&sidecar, |it| {
        matches!(it.agent, SidecarAgentStatus::Gone(_))
    })
    .await;
    let caller = Caller::start().await;
    let card: Value = serde_json::from_str(&caller.card(&sidecar).await).unwrap();
    assert_eq!(
        card,
        json!({"error": "the agent cannot be reached; start it beside its peer", "code": 504})
    );
    caller.refused(&sidecar, &buy("1"), 504).await;
    let agent = Agent::at(TcpListener::bind(addr).await.unwrap());
    until(
        &sidecar,
        |it| matches!(&it.agent, SidecarAgentStatus::Here { name, .. } if name == "Shop"),
    )
    .await;
    assert_eq!(caller.card(&sidecar).await, CARD);
    assert_eq!(caller.hand_off(&sidecar, &buy("1")).await, "{\"ok\": true}");
    // The agent stops: handoffs fail at once, based on the last card.
    drop(agent);
    let error = caller.refused(&sidecar, &buy("1"), 504).await;
    assert!(!error.contains("127.0.0.1"), "{error}");
    // Streamed handoffs fail as offline, not as a timeout.
    let at = sidecar.node().addresses();
    let mut stream = caller
        .open(sidecar.peer_id(), &at, PROTOCOL_HANDOFF_STREAM)
        .await;
    let request = buy("1").to_string();
    exchange::write(&mut stream, request.as_bytes())
        .await
        .unwrap();
    let error = loop {
        let error = next_line(&mut stream).await;
        if error["type"] == "error" {
            break error;
        }
    };
    assert_eq!(
        (&error["code"], &error["reason"]),
        (&json!(504), &json!("offline")),
        "{error}"
    );
}

/// Starts a streamed handoff, and waits until it's accepted.
async fn begin(caller: &Caller, sidecar: &Sidecar, path: &str) -> Stream {
    let at = sidecar.node().addresses();
    let mut stream = caller
        .open(sidecar.peer_id(), &at, PROTOCOL_HANDOFF_STREAM)
        .await;
    let request = json!({"method": "POST", "path": path, "input_data": "x"});
    let request = request.to_string();
    exchange::write(&mut stream, request.as_bytes())
        .await
        .unwrap();
    assert_eq!(next_line(&mut stream).await, json!({"type": "accepted"}));
    stream
}

#[tokio::test]
async fn an_agent_that_streams_is_heard_while_it_speaks_and_characters_stay_whole() {
    let mut agent = Agent::start().await;
    let sidecar = Sidecar::open(setting(&agent.url)).await.unwrap();
    let caller = Caller::start().await;
    let mut stream = begin(&caller, &sidecar, "/tell/lines").await;
    let umlaut = "ä".as_bytes();
    for (piece, expected) in [
        (&b"{\"n\": 1}\n"[..], "{\"n\": 1}\n"),
        (&[b'x', umlaut[0]], "x"),
        (&[umlaut[1]], "ä"),
    ] {
        let piece = Bytes::copy_from_slice(piece);
        agent.pieces.send(Ok(piece)).await.unwrap();
        let chunk = next_line(&mut stream).await;
        assert_eq!(
            (&chunk["type"], &chunk["data"]),
            (&json!("chunk"), &json!(expected))
        );
    }
    drop(agent.pieces);
    assert_eq!(next_line(&mut stream).await, json!({"type": "result"}));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_and_json_in_pieces_is_one_result() {
    for is_json in [false, true] {
        let mut agent = Agent::start().await;
        let sidecar = Sidecar::open(setting(&agent.url)).await.unwrap();
        let caller = Caller::start().await;
        let path = if is_json { "/tell/json" } else { "/tell/lines" };
        let mut stream = begin(&caller, &sidecar, path).await;
        agent.pieces.send(Ok("{\"n\":".into())).await.unwrap();
        if is_json {
            agent.pieces.send(Ok("1}".into())).await.unwrap();
            drop(agent.pieces);
            let result = json!({"type": "result", "data": {"n": 1}});
            assert_eq!(next_line(&mut stream).await, result);
        } else {
            assert_eq!(next_line(&mut stream).await["data"], "{\"n\":");
            let broken = Err(std::io::ErrorKind::BrokenPipe.into());
            agent.pieces.send(broken).await.unwrap();
            let last = next_line(&mut stream).await;
            assert_eq!(
                (&last["type"], &last["code"]),
                (&json!("error"), &json!(502))
            );
        }
    }
}

#[tokio::test]
async fn who_is_not_allowed_sees_no_skills_and_reaches_nothing() {
    let mut agent = Agent::start().await;
    let (friend, stranger) = (Caller::start().await, Caller::start().await);
    let setting = SidecarConfig {
        allowed: Allowed::only(&[friend.node.peer_id().to_string()]).unwrap(),
        name: Some("Corner shop".to_owned()),
        ..setting(&agent.url)
    };
    let sidecar = Sidecar::open(setting).await.unwrap();
    until(&sidecar, |it| {
        matches!(it.agent, SidecarAgentStatus::Here { .. })
    })
    .await;
    let card: Value = serde_json::from_str(&stranger.card(&sidecar).await).unwrap();
    assert_eq!(card["skills"], json!([]));
    assert_eq!(card["name"], "Corner shop");
    stranger.refused(&sidecar, &buy("1"), 401).await;
    assert!(agent.got.is_empty());
    let card: Value = serde_json::from_str(&friend.card(&sidecar).await).unwrap();
    assert_eq!(card["name"], "Corner shop");
    assert_eq!(card["skills"][0]["path"], "/items/{item}/buy");
    friend.hand_off(&sidecar, &buy("1")).await;
    agent.got.recv().await.unwrap();
}

#[tokio::test]
async fn an_agent_is_asked_for_its_card_once_a_second_at_most_and_its_last_one_is_remembered() {
    let agent = Agent::start().await;
    let outbound = Outbound::new(&OutboundRules::default()).unwrap();
    let endpoint = Endpoint::new(&outbound, &agent.url, None).unwrap();
    let a_second_later = async || {
        tokio::time::pause();
        tokio::time::advance(crate::limits::CARD_APART).await;
        tokio::time::resume();
    };
    let name = |state: &EndpointState| state.last().unwrap().card.name.clone();
    // Before the first check, a request for the card fetches it.
    assert_eq!(endpoint.card().await.unwrap().text, CARD);
    *agent.card.lock() = CARD.replace("Shop", "Store");
    assert_eq!(name(&endpoint.look().await), "Shop", "it is not bothered");
    a_second_later().await;
    assert_eq!(name(&endpoint.look().await), "Store");
    drop(agent);
    a_second_later().await;
    let state = endpoint.look().await;
    assert!(!state.is_here(), "{state:?}");
    assert_eq!(name(&state), "Store");
}

#[tokio::test]
async fn what_an_agent_says_of_its_failure_is_passed_on() {
    let agent = Agent::start().await;
    let sidecar = Sidecar::open(setting(&agent.url)).await.unwrap();
    let caller = Caller::start().await;
    let tell_request = |kind: &str| json!({"method": "POST", "path": format!("/tell/{kind}")});
    assert_eq!(
        caller
            .refused(&sidecar, &tell_request("trouble"), 500)
            .await,
        "HTTP error: 500: the moon is in the way"
    );
    let page = caller.refused(&sidecar, &tell_request("page"), 404).await;
    let response_text = page.strip_prefix("HTTP error: 404: ").unwrap();
    assert!(
        response_text.starts_with("no such no such"),
        "{response_text}"
    );
    assert_eq!(response_text.len(), 500);
}

#[tokio::test]
async fn a_plain_answer_has_a_deadline_and_one_in_frames_has_none() {
    let mut agent = Agent::start().await;
    let setting = SidecarConfig {
        deadline: Duration::from_millis(50),
        ..setting(&agent.url)
    };
    let sidecar = Sidecar::open(setting).await.unwrap();
    let caller = Caller::start().await;
    let request = json!({"method": "POST", "path": "/tell/json"});
    let at = sidecar.node().addresses();
    let mut stream = caller
        .open(sidecar.peer_id(), &at, PROTOCOL_HANDOFF_STREAM)
        .await;
    let written = exchange::write(&mut stream, request.to_string().as_bytes()).await;
    written.unwrap();
    assert_eq!(next_line(&mut stream).await["type"], "accepted");
    agent.got.recv().await.unwrap();
    // Meanwhile an endless plain handoff reaches its deadline.
    let slow = json!({"method": "POST", "path": "/tell/never"});
    let late = caller.refused(&sidecar, &slow, 504).await;
    assert!(
        late.contains("within 0.05 s") && late.contains("stream"),
        "{late}"
    );
    agent
        .pieces
        .send(Ok(Bytes::from_static(b"[1]")))
        .await
        .unwrap();
    agent.pieces.close_channel();
    let result = json!({"type": "result", "data": [1]});
    assert_eq!(next_line(&mut stream).await, result);
}

#[tokio::test]
async fn what_an_agent_has_learnt_since_is_there_for_whoever_asks_for_it() {
    let agent = Agent::start().await;
    let sidecar = Sidecar::open(setting(&agent.url)).await.unwrap();
    let caller = Caller::start().await;
    assert_eq!(caller.card(&sidecar).await, CARD);
    *agent.card.lock() = CARD.replace("/items/{item}/buy", "/sell");
    let request = json!({"method": "POST", "path": "/sell", "input_data": "hat"});
    assert_eq!(caller.hand_off(&sidecar, &request).await, "{\"ok\": true}");
}
