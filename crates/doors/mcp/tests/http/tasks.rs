//! The protocol's extension for tasks: a call that becomes a task, which the client polls, answers and cancels.

use jackfield_core::{limits::Limits, principal::Principal, store::TaskFilter};
use jackfield_model::{Ask, AskKind, Done, DoneState, End, Event, Failure, Part, Reason, TaskId};
use serde_json::{Value, json};

use crate::harness::{McpHub, Modern, ask, words};

/// A client with tasks and forms.
const BOTH: Modern = Modern {
    tasks: true,
    forms: true,
};
/// A client with tasks only.
const TASKS: Modern = Modern {
    tasks: true,
    forms: false,
};

/// Begins a task at `amy`, and returns its id.
async fn begin(hub: &McpHub, client: Modern) -> Value {
    let params = json!({"name": "call_agent", "arguments": {"agent": "amy", "message": "hi"}});
    let created = hub.modern(client, "tools/call", params).await;
    let result = &created["result"];
    assert_eq!(result["resultType"], "task", "{created}");
    assert_eq!(result["status"], "working", "{created}");
    result["taskId"].clone()
}

async fn get(hub: &McpHub, client: Modern, task: &Value) -> Value {
    let got = hub
        .modern(client, "tasks/get", json!({"taskId": task}))
        .await;
    assert_eq!(got["error"], Value::Null, "{got}");
    assert_eq!(got["result"]["resultType"], "complete", "{got}");
    got["result"].clone()
}

/// Waits until the task has another status than `status`.
async fn after(hub: &McpHub, client: Modern, task: &Value, status: &str) -> Value {
    loop {
        let got = get(hub, client, task).await;
        if got["status"] != status {
            return got;
        }
        tokio::task::yield_now().await;
    }
}

async fn update(hub: &McpHub, task: &Value, responses: Value) -> Value {
    let params = json!({"taskId": task, "inputResponses": responses});
    hub.modern(BOTH, "tasks/update", params).await
}

/// The only question of a task, as key and request.
fn only_question(task: &Value) -> (String, Value) {
    assert_eq!(task["status"], "input_required", "{task}");
    let requests = task["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1, "{task}");
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    (key.clone(), request["params"].clone())
}

#[tokio::test]
async fn a_call_becomes_the_cores_task_and_its_result_is_polled() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub, TASKS).await;
    let serving = amy.next_call().await;
    assert_eq!(hub.task(&id).await.record().unread, None);
    let working = get(&hub, TASKS, &id).await;
    assert_eq!(working["status"], "working");
    assert_eq!(working["ttlMs"], Value::Null, "it is kept until it ends");
    assert_eq!(working["pollIntervalMs"], 1000);
    assert!(working["createdAt"].as_str().unwrap().ends_with('Z'));
    serving.push(Event::text("Hello."));
    serving.finish(End::done());
    let done = after(&hub, TASKS, &id, "working").await;
    assert_eq!(done["status"], "completed");
    assert!(done["ttlMs"].as_u64().unwrap() >= 86_400_000, "{done}");
    let told = &done["result"]["structuredContent"];
    assert_eq!((&told["text"], &told["task"]), (&json!("Hello."), &id));
    assert!(words(&done["result"]).starts_with("Hello."));
}

#[tokio::test]
async fn only_a_request_that_declares_tasks_becomes_one() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let plain = Modern {
        tasks: false,
        forms: true,
    };
    let params = json!({
        "name": "call_agent",
        "arguments": {"agent": "amy", "message": "hi", "wait_seconds": 0},
        // The edition before asked for tasks like this.
        "task": {"ttl": -1},
    });
    let result = hub.modern(plain, "tools/call", params.clone()).await;
    assert_eq!(
        result["result"]["structuredContent"]["state"], "working",
        "{result}"
    );
    let old = hub.rpc("tools/call", params).await;
    assert_eq!(old["result"]["structuredContent"]["state"], "working");
    let task = result["result"]["structuredContent"]["task"].clone();
    for method in ["tasks/get", "tasks/cancel"] {
        let refused = hub.modern(plain, method, json!({"taskId": task})).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
        let required = &refused["error"]["data"]["requiredCapabilities"]["extensions"];
        assert!(required["io.modelcontextprotocol/tasks"].is_object());
    }
    let served = amy.next_call().await;
    assert!(!served.call().is_ended());
}

#[tokio::test]
async fn the_extension_is_announced_where_it_is_spoken() {
    let hub = McpHub::start().await;
    let discovered = hub.modern(TASKS, "server/discover", json!({})).await;
    let capabilities = &discovered["result"]["capabilities"];
    assert_eq!(
        capabilities["extensions"],
        json!({"io.modelcontextprotocol/tasks": {}}),
        "{discovered}"
    );
}

#[tokio::test]
async fn mistakes_of_the_model_are_results_and_begin_no_task() {
    let hub = McpHub::start().await;
    let _amy = hub.attach("amy");
    for arguments in [
        json!({"agent": "any", "message": "hi"}),
        json!({"agent": "amy", "message": " "}),
    ] {
        let params = json!({"name": "call_agent", "arguments": arguments});
        let response = hub.modern(TASKS, "tools/call", params).await;
        assert_eq!(response["result"]["isError"], true, "{response}");
        assert_eq!(response["result"]["resultType"], "complete");
    }
    let local = Principal::local();
    let listed = hub.hub.tasks().list(&local, TaskFilter::default()).await;
    assert!(listed.unwrap().is_empty());
}

#[tokio::test]
async fn an_agent_that_fails_is_a_result_and_not_a_failed_task() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub, TASKS).await;
    let failure = Failure::new(Reason::Agent("no_money".to_owned()), "pay first");
    amy.next_call().await.finish(End::Failed(failure));
    let ended = after(&hub, TASKS, &id, "working").await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["isError"], true);
    assert!(words(&ended["result"]).contains("pay first"), "{ended}");
}

#[tokio::test]
async fn a_cancel_reaches_the_agent_and_is_acknowledged_after_the_end_too() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub, TASKS).await;
    let serving = amy.next_call().await;
    let params = json!({"taskId": id});
    let cancelled = hub.modern(TASKS, "tasks/cancel", params.clone()).await;
    assert_eq!(cancelled["result"], json!({"resultType": "complete"}));
    assert_eq!(amy.next_cancel().await, serving.call().id);
    let ended = get(&hub, TASKS, &id).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert_eq!(ended.get("result"), None);
    let again = hub.modern(TASKS, "tasks/cancel", params).await;
    assert_eq!(again["result"], json!({"resultType": "complete"}));
    assert_eq!(get(&hub, TASKS, &id).await["status"], "cancelled");
}

#[tokio::test]
async fn a_task_of_somebody_else_looks_unknown() {
    let hub = McpHub::start_with(false, Limits::default()).await;
    let ann = hub.token("ann", &["agent:amy"]).await;
    let bob = hub.token("bob", &[]).await;
    let principal = hub.principal_of(&ann);
    let mut amy = hub.attach_for(&principal, "amy", "an agent");
    let params = json!({"name": "call_agent", "arguments": {"agent": "amy", "message": "hi"}});
    let created = hub.modern_as(&ann, TASKS, "tools/call", params).await;
    let id = created["result"]["taskId"].clone();
    let serving = amy.next_call().await;
    let unknown = TaskId::new().to_string();
    for (token, task) in [(&bob, &id), (&ann, &json!(unknown)), (&ann, &json!("x"))] {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let mut params = json!({"taskId": task});
            if method == "tasks/update" {
                params["inputResponses"] = json!({"x": 1});
            }
            let refused = hub.modern_as(token, TASKS, method, params).await;
            let error = &refused["error"];
            assert_eq!(error["code"], -32602, "{method}: {refused}");
            let text = error["message"].as_str().unwrap();
            assert!(
                text.starts_with("field \"taskId\": no such task of yours"),
                "{text}"
            );
        }
    }
    assert!(!serving.call().is_ended(), "nobody cancelled it");
}

#[tokio::test]
async fn params_that_cannot_be_read_are_named() {
    let hub = McpHub::start().await;
    for (method, params, named) in [
        ("tasks/get", json!({}), "`taskId`"),
        ("tasks/get", json!({"taskId": 5}), "`taskId`"),
        ("tasks/cancel", json!({"taskId": null}), "`taskId`"),
        ("tasks/update", json!({"taskId": "x"}), "`inputResponses`"),
        (
            "tasks/update",
            json!({"taskId": "x", "inputResponses": [1]}),
            "`inputResponses`",
        ),
    ] {
        let response = hub.modern(BOTH, method, params.clone()).await;
        assert_eq!(
            response["error"]["code"], -32602,
            "{method} {params}: {response}"
        );
        let text = response["error"]["message"].as_str().unwrap();
        assert!(text.contains(named), "{method} {params}: {text}");
    }
}

#[tokio::test]
async fn a_question_is_asked_of_the_user_and_the_answer_goes_on() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub, BOTH).await;
    let serving = amy.next_call().await;
    serving.push(Event::text("Well. "));
    serving.ask(ask("q", AskKind::Input, "which one?"));
    let asked = after(&hub, BOTH, &id, "working").await;
    let (key, params) = only_question(&asked);
    assert_eq!(params["message"], "The agent amy asks: which one?");
    let (again, _) = only_question(&get(&hub, BOTH, &id).await);
    assert_eq!(again, key, "the same question has the same key");

    let wrong = json!({"action": "accept", "content": {"answer": 5}});
    let refused = update(&hub, &id, json!({"other": 1, (key.as_str()): wrong})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(
        text.contains("`content.answer` must be of type string"),
        "{text}"
    );
    assert!(serving.answers().is_empty(), "nothing was passed on");
    let unknown = update(&hub, &id, json!({"other": {"action": "decline"}})).await;
    assert_eq!(unknown["result"], json!({"resultType": "complete"}));
    assert!(serving.answers().is_empty(), "nobody asked this");

    let right = json!({"action": "accept", "content": {"answer": "the blue one"}});
    let responses = json!({(key.as_str()): right});
    let taken = update(&hub, &id, responses.clone()).await;
    assert_eq!(taken["result"], json!({"resultType": "complete"}));
    let (ask_id, answer) = serving.answers().remove(0);
    assert_eq!(ask_id, "q");
    assert_eq!(answer.content.as_deref(), Some("the blue one"));
    assert_eq!(get(&hub, BOTH, &id).await["status"], "working");
    let late = update(&hub, &id, responses).await;
    assert_eq!(late["result"], json!({"resultType": "complete"}), "{late}");
    assert_eq!(serving.answers().len(), 1, "the first answer counts");

    serving.push(Event::text("Blue it is."));
    serving.finish(End::done());
    let done = after(&hub, BOTH, &id, "working").await;
    let told = &done["result"]["structuredContent"];
    assert_eq!(told["text"], "Well. Blue it is.", "{done}");
}

#[tokio::test]
async fn an_agent_that_ends_its_turn_with_a_question_gets_the_users_answer() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub, BOTH).await;
    let serving = amy.next_call().await;
    serving.push(Event::text("And then?"));
    serving.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
    let asked = after(&hub, BOTH, &id, "working").await;
    let (key, params) = only_question(&asked);
    assert_eq!(params["message"], "The agent amy says: And then?");
    let response = json!({"action": "accept", "content": {"answer": "then this"}});
    let taken = update(&hub, &id, json!({(key.as_str()): response})).await;
    assert_eq!(taken["error"], Value::Null, "{taken}");
    let serving = amy.next_call().await;
    assert_eq!(serving.call().message.joined_text(), "then this");
    assert_eq!(get(&hub, BOTH, &id).await["status"], "working");
    serving.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
    let asked = after(&hub, BOTH, &id, "working").await;
    let (next, _) = only_question(&asked);
    assert_ne!(next, key, "another question has another key");
    let declined = json!({(next.as_str()): {"action": "decline"}});
    update(&hub, &id, declined).await;
    let serving = amy.next_call().await;
    let said = serving.call().message.joined_text();
    assert_eq!(said, "The user declined to answer.");
}

#[tokio::test]
async fn a_client_without_forms_gets_the_question_as_the_result() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub, TASKS).await;
    let serving = amy.next_call().await;
    serving.ask(ask("q", AskKind::Input, "which one?"));
    let asked = after(&hub, TASKS, &id, "working").await;
    assert_eq!(asked["status"], "completed");
    let told = &asked["result"]["structuredContent"];
    assert_eq!(told["state"], "input_required");
    assert_eq!(told["ask"]["text"], "which one?");
    let arguments = json!({"task": id, "answer": "blue", "wait_seconds": 0});
    hub.tool("task", arguments).await;
    assert_eq!(serving.answers()[0].1.content.as_deref(), Some("blue"));
}

#[tokio::test]
async fn credentials_are_not_asked_for_in_a_form() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub, BOTH).await;
    amy.next_call().await.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        needs_auth: true,
        ..Done::default()
    })));
    let ended = after(&hub, BOTH, &id, "working").await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let told = &ended["result"]["structuredContent"];
    assert_eq!(told["state"], "input_required");
}

#[tokio::test]
async fn a_question_with_fields_is_answered_with_data() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub, BOTH).await;
    let serving = amy.next_call().await;
    let schema = json!({
        "type": "object", "required": ["size"],
        "properties": {"size": {"type": "integer"}, "note": {"type": "string"}},
    });
    serving.ask(Ask {
        schema: Some(schema.clone().into()),
        ..ask("q", AskKind::Input, "how large?")
    });
    let asked = after(&hub, BOTH, &id, "working").await;
    let (key, params) = only_question(&asked);
    assert_eq!(params["requestedSchema"], schema);
    let content = json!({"size": 5});
    let response = json!({"action": "accept", "content": content});
    update(&hub, &id, json!({(key.as_str()): response})).await;
    let (_, answer) = serving.answers().remove(0);
    assert_eq!(answer.parts, [Part::Data(content.into())]);
}

#[tokio::test]
async fn the_trace_of_the_message_goes_with_the_call() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (meta, expected) in [(json!(trace), Some(trace)), (json!("no trace"), None)] {
        let params = json!({
            "name": "call_agent",
            "arguments": {"agent": "amy", "message": "hi", "wait_seconds": 0},
            "_meta": {"traceparent": meta},
        });
        hub.rpc("tools/call", params).await;
        let serving = amy.next_call().await;
        assert_eq!(serving.call().traceparent.as_deref(), expected);
    }
}
