//! Approvals between two people: one calls the agent of the other, who finds what waits, and decides.

use jackfield_core::{agent::Share, limits::Limits, principal::Principal};
use jackfield_model::{AgentId, Ask, AskKind, DoneState, End, Input, Json, Owner};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    harness::{OwnHub, Scripted, Stream},
    turns::done,
};

/// Ann has an agent, which bob calls.
struct Scene {
    hub: OwnHub,
    agent: Scripted,
    ann: String,
    bob: String,
}

impl Scene {
    async fn start() -> Self {
        let hub = OwnHub::start_with(false, Limits::default()).await;
        let owner = Principal::admin(Owner::parse("ann").unwrap());
        let agent = hub.attach_for(&owner, "ann-1");
        let id = AgentId::parse("ann-1").unwrap();
        let shared = hub
            .hub
            .agents()
            .change(&owner, &id, Some(Share::Everyone), None);
        shared.unwrap().1.await.unwrap();
        Self {
            ann: hub.token("ann", &[]).await,
            bob: hub.token("bob", &[]).await,
            hub,
            agent,
        }
    }

    async fn get(&self, token: &str, path: &str) -> (StatusCode, Value) {
        self.hub.json_as(Some(token), Method::GET, path, None).await
    }

    async fn post(&self, token: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let body = Some(body);
        self.hub
            .json_as(Some(token), Method::POST, path, body)
            .await
    }

    /// Bob says something to the agent, or says more.
    async fn stream(&self, path: &str, body: Value) -> Stream {
        let request = self.hub.ask(Method::POST, path).bearer_auth(&self.bob);
        self.hub.stream(request.json(&body)).await
    }

    /// What waits for somebody's decision.
    async fn waiting(&self, token: &str, filter: &str) -> Value {
        let (status, mut list) = self.get(token, &format!("/v1/calls{filter}")).await;
        assert_eq!(status, StatusCode::OK);
        list["waiting"].take()
    }
}

fn leave_to_delete() -> Ask {
    Ask {
        id: "q".into(),
        kind: AskKind::Approval,
        text: "may I?".into(),
        tool_name: Some("rm -rf".into()),
        tool_call_id: None,
        arguments: Some(Json::parse(r#"{"path":"/"}"#).unwrap()),
        schema: None,
    }
}

#[tokio::test]
async fn the_owner_finds_what_waits_for_her_and_nothing_else_of_the_call() {
    let mut scene = Scene::start().await;
    assert_eq!(scene.waiting(&scene.ann, "").await, Value::Null);
    let calls = "/v1/agents/ann-1/calls";
    let mut stream = scene.stream(calls, json!({"text": "secret"})).await;
    let id = stream.expect("call").await.data["id"].clone();
    let serving = scene.agent.next_call().await;
    serving.ask(leave_to_delete());
    stream.expect("chunk").await;
    let ask = json!({
        "id": "q", "kind": "approval", "text": "may I?", "tool_name": "rm -rf", "arguments": {"path": "/"},
    });
    let waiting =
        json!({"id": id, "agent": "ann-1", "caller": "bob", "door": "own", "asks": [ask]});
    assert_eq!(scene.waiting(&scene.ann, "").await, json!([waiting]));
    let at = |agent: &str| format!("?agent={agent}");
    assert_eq!(
        scene.waiting(&scene.ann, &at("ann-1")).await,
        json!([waiting])
    );
    assert_eq!(scene.waiting(&scene.ann, &at("ann-2")).await, Value::Null);
    let carl = scene.hub.token("carl", &["call:*", "watch:*"]).await;
    for other in [&scene.bob, &carl] {
        assert_eq!(scene.waiting(other, "").await, Value::Null);
    }
    let path = format!("/v1/calls/{}", id.as_str().unwrap());
    let mut shown = waiting.clone();
    shown["life"] = json!("waiting");
    assert_eq!(scene.get(&scene.ann, &path).await.1, shown);
    assert_eq!(scene.get(&carl, &path).await.0, StatusCode::NOT_FOUND);
    // To decide, and to cancel, is all that she may.
    let (status, _) = scene
        .post(
            &scene.ann,
            &format!("{path}/messages"),
            json!({"text": "x"}),
        )
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let events = format!("{path}/events");
    assert_eq!(
        scene.get(&scene.ann, &events).await.0,
        StatusCode::NOT_FOUND
    );
    let no = json!({"ask_id": "q", "approved": false, "reason": "never"});
    let answer = format!("{path}/answer");
    let (status, _) = scene.post(&scene.ann, &answer, no.clone()).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let mut input = Vec::new();
    serving.input().take(&mut input, usize::MAX);
    assert!(
        matches!(&input[..], [Input::Answer(_, answer)] if answer.reason.as_deref() == Some("never"))
    );
    assert_eq!(scene.waiting(&scene.ann, "").await, Value::Null);
    assert_eq!(scene.get(&scene.ann, &path).await.0, StatusCode::NOT_FOUND);
    let (status, _) = scene.post(&scene.ann, &answer, no).await;
    assert_eq!(status, StatusCode::CONFLICT, "it was she who was faster");
}

#[tokio::test]
async fn the_token_of_an_agent_decides_for_that_agent_alone() {
    let mut scene = Scene::start().await;
    let mut tokens = Vec::new();
    for id in ["ann-1", "ann-2"] {
        let (id, ann) = (AgentId::parse(id).unwrap(), Owner::parse("ann").unwrap());
        let made = scene.hub.hub.tokens().create_for(id, "t".into(), ann);
        tokens.push(made.await.unwrap().secret);
    }
    let [own, others] = &tokens[..] else {
        panic!("two were made")
    };
    let calls = "/v1/agents/ann-1/calls";
    let mut stream = scene.stream(calls, json!({"text": "x"})).await;
    let id = stream.expect("call").await.data["id"].clone();
    let serving = scene.agent.next_call().await;
    serving.ask(leave_to_delete());
    stream.expect("chunk").await;
    let answer = format!("/v1/calls/{}/answer", id.as_str().unwrap());
    let yes = json!({"ask_id": "q", "approved": true});
    assert_eq!(scene.waiting(others, "").await, Value::Null);
    let (status, _) = scene.post(others, &answer, yes.clone()).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(scene.waiting(own, "").await[0]["id"], id);
    let (status, _) = scene.post(own, &answer, yes).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_kept_call_is_decided_by_the_id_of_its_task_in_later_turns_too() {
    let mut scene = Scene::start().await;
    let calls = "/v1/agents/ann-1/calls";
    let body = json!({"text": "x", "keep": true});
    let mut first = scene.stream(calls, body.clone()).await;
    let task = first.expect("call").await.data["task"].clone();
    let task = task.as_str().unwrap();
    let serving = scene.agent.next_call().await;
    serving.finish(done(DoneState::InputRequired));
    first.rest().await;
    let path = format!("/v1/calls/{task}");
    let mut second = scene.stream(&format!("{path}/messages"), body).await;
    let call = second.expect("call").await.data["id"].clone();
    assert_ne!(call, task);
    let serving = scene.agent.next_call().await;
    serving.ask(leave_to_delete());
    second.expect("chunk").await;
    let waiting = scene.waiting(&scene.ann, "").await;
    assert_eq!(
        (&waiting[0]["id"], &waiting[0]["task"]),
        (&call, &json!(task))
    );
    assert_eq!(scene.get(&scene.ann, &path).await.1["id"], call);
    let yes = json!({"ask_id": "q", "approved": true});
    let (status, _) = scene.post(&scene.ann, &format!("{path}/answer"), yes).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    serving.finish(End::done());
    let rest = second.rest().await;
    assert_eq!(rest.last().unwrap().event, "done");
}
