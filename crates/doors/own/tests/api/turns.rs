//! Agents that ask, and tasks of several messages.

use jackfield_model::{Answer, Ask, AskKind, Done, DoneState, End, Event, Input, Json, Part};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{OwnHub, detached, text_of};

#[tokio::test]
async fn an_ask_is_answered_by_its_caller_once() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.call("amy", json!({"text": "go"})).await;
    let id = stream.expect("call").await.data["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let serving = amy.next_call().await;
    serving.ask(Ask {
        id: "q1".into(),
        kind: AskKind::Input,
        text: "which colour?".into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: Some(Json::parse("{\"type\":\"string\"}").unwrap()),
    });
    let ask = stream.expect("ask").await.data;
    assert_eq!((&ask["id"], &ask["kind"]), (&json!("q1"), &json!("input")));
    let (_, open) = hub.get(&format!("/v1/calls/{id}")).await;
    assert_eq!(open["asks"][0]["text"], "which colour?");
    assert_eq!(open["state"], "input_required");
    let path = format!("/v1/calls/{id}/answer");
    for (body, status) in [
        (json!({"ask_id": "q1"}), StatusCode::BAD_REQUEST),
        (json!({"content": "red"}), StatusCode::BAD_REQUEST),
        (
            json!({"ask_id": "q1", "content": "red", "extra": 1}),
            StatusCode::BAD_REQUEST,
        ),
        (
            json!({"ask_id": "q2", "content": "red"}),
            StatusCode::NOT_FOUND,
        ),
        (
            json!({"ask_id": "q1", "approved": true}),
            StatusCode::BAD_REQUEST,
        ),
        (
            // As the question says it: `id` and `text`.
            json!({"id": "q1", "text": "red", "parts": [{"text": "dark"}]}),
            StatusCode::NO_CONTENT,
        ),
        (
            json!({"ask_id": "q1", "content": "blue"}),
            StatusCode::CONFLICT,
        ),
    ] {
        assert_eq!(hub.post(&path, body.clone()).await.0, status, "{body}");
    }
    let mut input = Vec::new();
    serving.input().take(&mut input, 1000);
    let answer = Answer {
        content: Some("red".into()),
        parts: vec![Part::Text("dark".into())],
        ..Answer::default()
    };
    assert_eq!(input, [Input::Answer("q1".into(), answer)]);
}

#[tokio::test]
async fn an_approval_is_the_owners_to_give_and_the_callers_only_to_wait_for() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let ann = hub.token("ann", &["call:amy"]).await;
    let request = hub
        .ask(Method::POST, "/v1/agents/amy/calls")
        .bearer_auth(&ann);
    let mut stream = hub.stream(request.json(&json!({"text": "go"}))).await;
    let id = stream.expect("call").await.data["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let serving = amy.next_call().await;
    serving.ask(Ask {
        id: "q".into(),
        kind: AskKind::Approval,
        text: "may I?".into(),
        tool_name: Some("rm".into()),
        tool_call_id: None,
        arguments: None,
        schema: None,
    });
    assert_eq!(stream.expect("chunk").await.data["kind"], "status");
    let call = format!("/v1/calls/{id}");
    let (_, open) = hub.json_as(Some(&ann), Method::GET, &call, None).await;
    assert_eq!(
        (&open["state"], &open["asks"], &open["approvals"]),
        (
            &json!("working"),
            &json!([]),
            &json!([{"ask_id": "q", "owner": "local", "tool_name": "rm"}])
        )
    );
    let path = format!("/v1/calls/{id}/answer");
    let yes = json!({"ask_id": "q", "approved": true, "reason": "fine"});
    let (status, answer) = hub
        .json_as(Some(&ann), Method::POST, &path, Some(yes.clone()))
        .await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "not the caller's to give");
    let text = answer["message"].as_str().unwrap();
    assert!(text.starts_with("local decides this"), "{text}");
    let carl = hub.token("carl", &["call:amy"]).await;
    let (status, answer) = hub
        .json_as(Some(&carl), Method::POST, &path, Some(yes.clone()))
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND, "strangers know of nothing");
    assert!(!answer["message"].as_str().unwrap().contains("local"));
    let vague = json!({"ask_id": "q", "content": "fine"});
    assert_eq!(hub.post(&path, vague).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(hub.post(&path, yes).await.0, StatusCode::NO_CONTENT);
    drop(serving);
    stream.expect("failed").await;
}

pub(crate) fn done(state: DoneState) -> End {
    End::Done(Box::new(Done {
        state,
        ..Done::default()
    }))
}

#[tokio::test]
async fn a_task_that_waits_for_input_takes_another_message() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (task, serving) = detached(&hub, &mut amy).await;
    let path = format!("/v1/calls/{task}/messages");
    let (status, _) = hub.post(&path, json!({"text": "too early"})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let first_session = serving.call().session.clone();
    serving.push(Event::text("which?"));
    serving.finish(done(DoneState::InputRequired));
    let events = format!("/v1/calls/{task}/events");
    hub.stream(hub.ask(Method::GET, &events)).await.rest().await;
    for (body, status, word) in [
        (
            json!({"session": "s", "text": "x"}),
            StatusCode::CONFLICT,
            "session",
        ),
        (json!({}), StatusCode::BAD_REQUEST, "text"),
    ] {
        let (got, answer) = hub.post(&path, body).await;
        assert_eq!(got, status);
        assert!(answer["message"].as_str().unwrap().contains(word));
    }
    let request = hub
        .ask(Method::POST, &path)
        .json(&json!({"text": "the red one"}));
    let mut stream = hub.stream(request).await;
    let opened = stream.expect("call").await.data;
    assert_eq!(opened["task"], task.as_str());
    assert_ne!(opened["id"], task.as_str(), "a new call of the same task");
    let serving = amy.next_call().await;
    assert_eq!(serving.call().session, first_session);
    serving.push(Event::text("fine"));
    serving.finish(End::done());
    let rest = stream.rest().await;
    assert_eq!(text_of(&rest), "fine", "only this turn");
    assert_eq!(rest.last().unwrap().event, "done");
    let (_, view) = hub.get(&format!("/v1/calls/{task}")).await;
    assert_eq!(
        (&view["state"], &view["text"]),
        (&json!("completed"), &json!("fine"))
    );
    let said: Vec<_> = view["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["parts"][0]["text"])
        .collect();
    assert_eq!(said, ["go", "which?", "the red one", "fine"]);
    let (status, _) = hub
        .post(&path, json!({"text": "more", "detach": true}))
        .await;
    assert_eq!(status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn questions_and_answers_stand_in_the_task() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (task, serving) = detached(&hub, &mut amy).await;
    let mut events = hub
        .stream(hub.ask(Method::GET, &format!("/v1/calls/{task}/events")))
        .await;
    serving.ask(Ask {
        id: "q".into(),
        kind: AskKind::Input,
        text: "which?".into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    });
    events.expect("message").await;
    events.expect("ask").await;
    let (_, view) = hub.get(&format!("/v1/calls/{task}")).await;
    assert_eq!(
        (&view["state"], &view["asks"][0]["id"]),
        (&json!("input_required"), &json!("q"))
    );
    let (status, answer) = hub
        .post(
            &format!("/v1/calls/{task}/messages"),
            json!({"text": "red"}),
        )
        .await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(
        answer["message"].as_str().unwrap().contains("answer"),
        "the remedy is told"
    );
    let (status, _) = hub
        .post(
            &format!("/v1/calls/{task}/answer"),
            json!({"ask_id": "q", "content": "red"}),
        )
        .await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let answer = events.expect("answer").await.data;
    assert_eq!(
        (&answer["ask_id"], &answer["content"]),
        (&json!("q"), &json!("red"))
    );
    serving.finish(End::done());
    events.expect("done").await;
    let (_, view) = hub.get(&format!("/v1/calls/{task}")).await;
    assert_eq!(view["asks"], json!([]));
    assert_eq!(
        view["history"][1],
        json!({"role": "agent", "parts": [{"text": "which?"}], "ask_id": "q"})
    );
    assert_eq!(
        view["history"][2],
        json!({"role": "caller", "parts": [{"text": "red"}], "ask_id": "q"})
    );
}

#[tokio::test]
async fn a_task_that_waits_for_input_can_be_cancelled() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (task, serving) = detached(&hub, &mut amy).await;
    serving.finish(done(DoneState::InputRequired));
    let path = format!("/v1/calls/{task}");
    let events = format!("{path}/events");
    hub.stream(hub.ask(Method::GET, &events)).await.rest().await;
    let cancel = format!("{path}/cancel");
    let (status, _) = hub.json(Method::POST, &cancel, None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(hub.get(&path).await.1["state"], "cancelled");
    let (status, _) = hub.json(Method::POST, &cancel, None).await;
    assert_eq!(status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn an_agent_that_waits_for_credentials_is_told_from_one_that_waits_for_words() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let ended = |needs_auth| {
        End::Done(Box::new(Done {
            state: DoneState::InputRequired,
            needs_auth,
            ..Done::default()
        }))
    };
    for (needs_auth, done) in [
        (
            true,
            json!({"type": "done", "state": "input_required", "needs_auth": true}),
        ),
        (false, json!({"type": "done", "state": "input_required"})),
    ] {
        let mut stream = hub.call("amy", json!({"text": "go", "keep": true})).await;
        let task = stream.expect("call").await.data["task"].take();
        amy.next_call().await.finish(ended(needs_auth));
        assert_eq!(stream.rest().await.last().unwrap().data, done);
        let (_, view) = hub
            .get(&format!("/v1/calls/{}", task.as_str().unwrap()))
            .await;
        assert_eq!(view["state"], "input_required");
        assert_eq!(view["needs_auth"] == true, needs_auth, "{view}");
    }
    let body = json!({"text": "go", "stream": false});
    let (whole, ()) = tokio::join!(hub.post("/v1/agents/amy/calls", body), async {
        amy.next_call().await.finish(ended(true));
    });
    assert_eq!(whole.1["needs_auth"], true, "{whole:?}");
}
