//! What is said to a team, stopped in it and decided, over HTTP.

use jackfield_core::{agent::Share, call::AgentHandle};
use jackfield_model::{AgentId, Ask, AskKind, End, Input};
use reqwest::Method;
use serde_json::{Value, json};

use crate::http::harness::{Scripted, TeamHub, is_refused, team};

const MESSAGES: &str = "/v1/teams/all/messages";
const STOP: &str = "/v1/teams/all/stop";
const DECISIONS: &str = "/v1/teams/all/decisions";

fn asking(kind: AskKind, tool_call: &str) -> Ask {
    Ask {
        id: format!("ask-{tool_call}"),
        kind,
        text: "may I?".to_owned(),
        tool_name: Some("rm".to_owned()),
        tool_call_id: Some(tool_call.to_owned()),
        arguments: None,
        schema: None,
    }
}

/// What the agent was answered.
fn answers(serving: &AgentHandle) -> Vec<(Option<bool>, Option<String>)> {
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    let answer = |input| match input {
        Input::Answer(_, answer) => (answer.approved, answer.content),
        other => panic!("{other:?}"),
    };
    inputs.into_iter().map(answer).collect()
}

/// Says something to a member, and takes it up there.
async fn said(hub: &TeamHub, target: &str, agent: &mut Scripted) -> AgentHandle {
    let body = json!({"content": "go", "target": target});
    let (status, taken) = hub.post(MESSAGES, body).await;
    assert_eq!(status, 202, "{taken}");
    agent.next_call().await
}

#[tokio::test]
async fn a_message_goes_to_the_coordinator_or_to_whom_it_names_and_is_a_task() {
    let hub = TeamHub::start().await;
    let [mut a, mut b, mut c] = hub.nested().await;
    let (status, taken) = hub.post(MESSAGES, json!({"content": "hi"})).await;
    assert_eq!(status, 202);
    let serving = a.next_call().await;
    assert_eq!(serving.call().message.joined_text(), "hi");
    assert_eq!(taken["call"], serving.call().id.to_string());
    serving.finish(End::Done(Box::default()));
    let path = format!("/v1/calls/{}", taken["task"].as_str().unwrap());
    let (status, task) = hub.get(&path).await;
    assert_eq!((status, &task["agent"]), (200, &json!("all")));
    for (agent, targets) in [
        (&mut b, ["backend", "chief"]),
        (&mut c, ["dba", "backend/store/dba"]),
    ] {
        for target in targets {
            // Hung up: the call is over.
            drop(said(&hub, target, agent).await);
        }
    }
}

#[tokio::test]
async fn bad_messages_are_refused_and_reach_nobody() {
    let hub = TeamHub::start().await;
    let [mut a, ..] = hub.nested().await;
    for (body, word) in [
        (json!({}), "field \"content\" is required"),
        (json!({"target": "lead"}), "field \"content\" is required"),
        (json!({"content": " "}), "\"content\""),
        (json!({"content": 5}), "\"content\""),
        (json!({"content": "hi", "to": "lead"}), "\"to\""),
        (json!({"content": "hi", "target": 5}), "\"target\""),
    ] {
        is_refused(&hub.post(MESSAGES, body).await, 400, "invalid", word);
    }
    let body = json!({"content": "hi", "target": "nobody"});
    is_refused(
        &hub.post(MESSAGES, body).await,
        404,
        "not_found",
        "backend/store/dba",
    );
    assert!(a.has_nothing_to_do());
    a.leave();
    is_refused(
        &hub.post(MESSAGES, json!({"content": "hi"})).await,
        502,
        "offline",
        "member lead of team all is not connected",
    );
}

#[tokio::test]
async fn what_is_said_to_who_waits_for_words_is_the_answer() {
    let hub = TeamHub::start().await;
    let [mut a, ..] = hub.nested().await;
    let serving = said(&hub, "lead", &mut a).await;
    serving.ask(asking(AskKind::Input, "q"));
    let (status, taken) = hub.post(MESSAGES, json!({"content": "the left one"})).await;
    assert_eq!((status, taken), (202, json!({"answered": true})));
    assert_eq!(answers(&serving), [(None, Some("the left one".to_owned()))]);
}

#[tokio::test]
async fn stop_cancels_at_the_agents() {
    let hub = TeamHub::start().await;
    let [mut a, mut b, mut c] = hub.nested().await;
    let servings = [
        said(&hub, "lead", &mut a).await,
        said(&hub, "chief", &mut b).await,
        said(&hub, "dba", &mut c).await,
    ];
    is_refused(
        &hub.post(STOP, json!({"target": "nobody"})).await,
        404,
        "not_found",
        "nobody",
    );
    is_refused(
        &hub.post(STOP, json!({"who": "dba"})).await,
        400,
        "invalid",
        "\"who\"",
    );
    is_refused(&hub.post(STOP, json!([])).await, 400, "invalid", "the body");
    let one = hub.post(STOP, json!({"target": "backend/store"})).await;
    assert_eq!(one, (202, json!({"stopped": 1})));
    assert_eq!(c.next_cancel().await, servings[2].call().id);
    // Without a body, everybody.
    let rest = hub.send(hub.ask(Method::POST, STOP)).await;
    assert_eq!(rest, (202, json!({"stopped": 2})));
    assert_eq!(a.next_cancel().await, servings[0].call().id);
    assert_eq!(b.next_cancel().await, servings[1].call().id);
    assert_eq!(
        hub.post(STOP, json!({})).await,
        (202, json!({"stopped": 0}))
    );
}

#[tokio::test]
async fn decisions_reach_who_asks_at_any_depth() {
    let hub = TeamHub::start().await;
    let [mut a, _b, mut c] = hub.nested().await;
    let lead = said(&hub, "lead", &mut a).await;
    let dba = said(&hub, "dba", &mut c).await;
    lead.ask(asking(AskKind::Approval, "same"));
    dba.ask(asking(AskKind::Approval, "same"));
    dba.ask(asking(AskKind::Approval, "own"));
    let run = hub.get("/v1/teams/all").await.1["run"]["id"].clone();
    let decide = |body| hub.post(DECISIONS, body);
    for (body, status, error, word) in [
        (
            json!({"invocation_id": "none", "approve": true}),
            404,
            "not_found",
            "\"invocation_id\"",
        ),
        (
            json!({"invocation_id": "same", "approve": true}),
            409,
            "conflict",
            "\"target\" is needed",
        ),
        (
            json!({"invocation_id": "own", "approve": true, "target": "lead"}),
            409,
            "conflict",
            "\"target\"",
        ),
        (
            json!({"invocation_id": "own", "approve": true, "target": "nobody"}),
            404,
            "not_found",
            "has no member \"nobody\"; it has lead, ",
        ),
        (
            json!({"invocation_id": "own", "approve": true, "team_run_id": "run_0"}),
            409,
            "conflict",
            "\"team_run_id\"",
        ),
        (
            json!({"invocation_id": "own"}),
            400,
            "invalid",
            "field \"approve\" is required",
        ),
        (
            json!({"approve": true}),
            409,
            "conflict",
            "field \"invocation_id\" is needed: several",
        ),
        (
            json!({"invocation_id": "own", "approve": "yes"}),
            400,
            "invalid",
            "\"approve\"",
        ),
        (
            json!({"invocation_id": "own", "approve": true, "why": "x"}),
            400,
            "invalid",
            "\"why\"",
        ),
    ] {
        is_refused(&decide(body).await, status, error, word);
    }
    let ok = (200, json!({}));
    let body = json!({"invocation_id": "same", "approve": true, "target": "backend/store/dba"});
    assert_eq!(decide(body).await, ok);
    let body =
        json!({"invocation_id": "own", "approve": false, "reason": "not now", "team_run_id": run});
    assert_eq!(decide(body.clone()).await, ok);
    is_refused(&decide(body).await, 404, "not_found", "\"invocation_id\"");
    assert_eq!(
        answers(&dba),
        [
            (Some(true), None),
            (Some(false), Some("not now".to_owned()))
        ]
    );
    assert_eq!(answers(&lead), []);
    let body = json!({"invocation_id": "same", "approve": true});
    assert_eq!(decide(body).await, ok, "now only one is left under this id");
}

#[tokio::test]
async fn the_names_of_the_client_messages_are_read_too() {
    let hub = TeamHub::start().await;
    let [_a, _b, mut c] = hub.nested().await;
    let body = json!({"content": "go", "target_member_name": "dba", "context_file_paths": ["/a.rs"],
                      "image_urls": ["https://x.test/p.png"]});
    assert_eq!(hub.post(MESSAGES, body).await.0, 202);
    let dba = c.next_call().await;
    let message = &dba.call().message;
    assert!(message.joined_text().ends_with("- /a.rs"), "{message:?}");
    assert_eq!(message.parts.len(), 2, "{message:?}");
    for (field, id) in [("target_member_name", "one"), ("agent_name", "two")] {
        dba.ask(asking(AskKind::Approval, id));
        let mut body = json!({"invocation_id": id, "approved": true});
        body[field] = json!("lead");
        is_refused(
            &hub.post(DECISIONS, body.clone()).await,
            409,
            "conflict",
            "\"target\"",
        );
        body[field] = json!("dba");
        assert_eq!(hub.post(DECISIONS, body).await, (200, json!({})));
        assert_eq!(answers(&dba), [(Some(true), None)]);
    }
    let stopped = hub.post(STOP, json!({"target_member_name": "lead"})).await;
    assert_eq!(stopped, (202, json!({"stopped": 0})));
    let stopped = hub.post(STOP, json!({"target_member_name": "dba"})).await;
    assert_eq!(stopped, (202, json!({"stopped": 1})));
    assert_eq!(c.next_cancel().await, dba.call().id);
}

#[tokio::test]
async fn callers_decide_and_stop_only_what_is_theirs() {
    let hub = TeamHub::closed().await;
    let (ann, her) = hub.token("ann", &["agent:*"]).await;
    let (bob, _) = hub.token("bob", &[]).await;
    let mut a = hub.attach_for(&her, "a");
    let body = team("all", &["lead=a"]);
    assert_eq!(
        hub.send_as(&ann, Method::POST, "/v1/teams", body).await.0,
        201
    );
    let id = AgentId::parse("all").unwrap();
    hub.hub
        .agents()
        .change(&her, &id, Some(Share::Everyone), None)
        .unwrap()
        .1
        .await
        .unwrap();
    let say = json!({"content": "go"});
    assert_eq!(
        hub.send_as(&ann, Method::POST, MESSAGES, say.clone())
            .await
            .0,
        202
    );
    let hers = a.next_call().await;
    assert_eq!(hub.send_as(&bob, Method::POST, MESSAGES, say).await.0, 202);
    let his = a.next_call().await;
    hers.ask(asking(AskKind::Approval, "hers"));
    his.ask(asking(AskKind::Approval, "his"));
    let decide = |id: &str| {
        let body = json!({"invocation_id": id, "approve": true});
        hub.send_as(&bob, Method::POST, DECISIONS, body)
    };
    is_refused(&decide("hers").await, 404, "not_found", "\"invocation_id\"");
    is_refused(&decide("his").await, 401, "unauthorized", "owner");
    assert_eq!(answers(&hers), []);
    let stopped = hub.send_as(&bob, Method::POST, STOP, Value::Null).await;
    assert_eq!(stopped, (202, json!({"stopped": 1})));
    assert_eq!(a.next_cancel().await, his.call().id);
    let (watcher, _) = hub.token("cid", &["watch:all"]).await;
    hub.hub
        .agents()
        .change(&her, &id, Some(Share::Nobody), None)
        .unwrap()
        .1
        .await
        .unwrap();
    let answer = hub
        .send_as(&watcher, Method::POST, MESSAGES, json!({"content": "go"}))
        .await;
    is_refused(&answer, 401, "unauthorized", "not call it");
}

#[tokio::test]
async fn an_admin_who_edits_a_team_gives_its_owner_no_say_over_agents_of_others() {
    let hub = TeamHub::closed().await;
    let (ann, _) = hub.token("ann", &["agent:*"]).await;
    let (bob, his) = hub.token("bob", &["agent:*"]).await;
    let (root, _) = hub.token("root", &["admin"]).await;
    let mut b = hub.attach_for(&his, "b");
    let share = json!({"share": "everyone"});
    let shared = hub
        .send_as(&bob, Method::PATCH, "/v1/agents/b", share)
        .await;
    assert_eq!(shared.0, 200, "{shared:?}");
    let made = hub.send_as(&ann, Method::POST, "/v1/teams", team("all", &["lead=b"]));
    assert_eq!(made.await.0, 201);
    let edit = json!({"description": "described"});
    let edited = hub
        .send_as(&root, Method::PATCH, "/v1/teams/all", edit)
        .await;
    assert_eq!(edited.0, 200, "{edited:?}");
    let say = json!({"content": "go"});
    let said = hub.send_as(&ann, Method::POST, MESSAGES, say).await;
    assert_eq!(said.0, 202, "{said:?}");
    let serving = b.next_call().await;
    serving.ask(asking(AskKind::Approval, "rm"));
    let approve = json!({"invocation_id": "rm", "approve": true});
    let hers = hub.send_as(&ann, Method::POST, DECISIONS, approve.clone());
    is_refused(&hers.await, 401, "unauthorized", "owner");
    assert_eq!(answers(&serving), []);
    let admins = hub.send_as(&root, Method::POST, DECISIONS, approve).await;
    assert!(admins.0 < 300, "{admins:?}");
    assert_eq!(answers(&serving), [(Some(true), None)]);
}
