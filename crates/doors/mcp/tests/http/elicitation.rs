//! Questions to the client's user: in the middle of a request where the client has a session, and as a result that the
//! client repeats its request with where every request stands for itself.

use jackfield_core::{agent::Settings, principal::Principal};
use jackfield_kit::testing::SseReader;
use jackfield_model::{AgentId, AskKind, Done, DoneState, End, Event, TaskId};
use serde_json::{Value, json};

use crate::harness::{McpHub, Modern, ask, response_of, words};

/// A client with forms that takes no tasks.
const FORMS: Modern = Modern {
    tasks: false,
    forms: true,
};

/// Begins a session of a client with these capabilities, and returns its name.
async fn session(hub: &McpHub, capabilities: Value) -> String {
    let client = json!({"name": "t", "version": "0"});
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client,
    });
    let hello = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params});
    let response = hub.post(&hello).send().await.unwrap();
    let name = response.headers()["mcp-session-id"].to_str().unwrap();
    name.to_owned()
}

/// Calls `amy` as request 7 of the session.
async fn call(hub: &McpHub, session: &str, arguments: Value) -> SseReader {
    let params = json!({"name": "call_agent", "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let request = hub.post(&message).header("mcp-session-id", session);
    SseReader::open(request.header("mcp-protocol-version", "2025-06-18")).await
}

/// Posts the response to a request of the hub, and returns the HTTP code with the body.
async fn reply(hub: &McpHub, session: &str, id: &Value, result: Value) -> (u16, String) {
    let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
    let request = hub.post(&message).header("mcp-session-id", session);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

fn accept(text: &str) -> Value {
    json!({"action": "accept", "content": {"answer": text}})
}

#[tokio::test]
async fn a_session_asks_its_user_while_the_tool_waits() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let session = session(&hub, json!({"elicitation": {}})).await;
    let mut reader = call(&hub, &session, json!({"agent": "amy", "message": "hi"})).await;
    let serving = amy.next_call().await;
    serving.push(Event::text("Well. "));
    serving.ask(ask("the q", AskKind::Input, "which one?"));
    let asked = reader.next().await.unwrap().data;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let schema = json!({
        "type": "object", "required": ["answer"],
        "properties": {"answer": {"type": "string", "title": "Answer"}},
    });
    assert_eq!(
        asked["params"],
        json!({"message": "The agent amy asks: which one?", "requestedSchema": schema})
    );

    let wrong = json!({"action": "accept", "content": {"answer": 5}});
    let (status, text) = reply(&hub, &session, &asked["id"], wrong).await;
    assert_eq!(status, 400);
    assert!(
        text.contains("`content.answer` must be of type string"),
        "{text}"
    );
    assert!(serving.answers().is_empty());

    let (status, _) = reply(&hub, &session, &asked["id"], accept("blue")).await;
    assert_eq!(status, 202);
    let (id, answer) = serving.answers().remove(0);
    assert_eq!((&*id, answer.content.as_deref()), ("the q", Some("blue")));
    let (status, _) = reply(&hub, &session, &asked["id"], accept("red")).await;
    assert_eq!(status, 202, "it comes too late");
    assert_eq!(serving.answers().len(), 1);

    serving.push(Event::text("Blue it is."));
    serving.finish(End::done());
    let result = response_of(&mut reader).await["result"].clone();
    let told = &result["structuredContent"];
    assert_eq!(told["state"], "completed");
    assert_eq!(told["text"], "Well. Blue it is.");
}

#[tokio::test]
async fn a_user_who_takes_time_answers_after_the_tool_did() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let session = session(&hub, json!({"elicitation": {}})).await;
    let arguments = json!({"agent": "amy", "message": "hi", "wait_seconds": 1});
    let mut reader = call(&hub, &session, arguments).await;
    let serving = amy.next_call().await;
    serving.ask(ask("q", AskKind::Input, "which one?"));
    let asked = reader.next().await.unwrap().data;
    // The model may answer in the user's place.
    let result = response_of(&mut reader).await["result"].clone();
    let told = &result["structuredContent"];
    assert_eq!(told["state"], "input_required");
    assert_eq!(told["ask"]["text"], "which one?");
    let (status, _) = reply(&hub, &session, &asked["id"], accept("blue")).await;
    assert_eq!(status, 202);
    assert_eq!(serving.answers()[0].1.content.as_deref(), Some("blue"));
}

#[tokio::test]
async fn a_user_who_declines_is_an_answer_for_the_agent() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let session = session(&hub, json!({"elicitation": {"form": {}}})).await;
    let mut reader = call(&hub, &session, json!({"agent": "amy", "message": "hi"})).await;
    let serving = amy.next_call().await;
    serving.ask(ask("q", AskKind::Input, "which one?"));
    let asked = reader.next().await.unwrap().data;
    reply(&hub, &session, &asked["id"], json!({"action": "decline"})).await;
    let (_, answer) = serving.answers().remove(0);
    assert_eq!(
        answer.content.as_deref(),
        Some("The user declined to answer.")
    );
    serving.finish(End::done());
    response_of(&mut reader).await;
}

#[tokio::test]
async fn an_answer_to_no_question_of_the_caller_is_refused() {
    let hub = McpHub::start_with(false, jackfield_core::limits::Limits::default()).await;
    let ann = hub.token("ann", &["agent:amy"]).await;
    let bob = hub.token("bob", &[]).await;
    let principal = hub.principal_of(&ann);
    let mut amy = hub.attach_for(&principal, "amy", "an agent");
    let params = json!({
        "name": "call_agent", "arguments": {"agent": "amy", "message": "hi", "wait_seconds": 0},
    });
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let begun = hub.post(&message).bearer_auth(&ann).send().await.unwrap();
    let begun = crate::harness::last(begun).await;
    let task = begun["result"]["structuredContent"]["task"].clone();
    let serving = amy.next_call().await;
    serving.ask(ask("q", AskKind::Input, "which one?"));
    let id = |task: &str| format!("u {task} ask {} q", serving.call().id);
    let mine = task.as_str().unwrap();
    for (token, id, status) in [
        (&bob, id(mine), 400),
        (&ann, id(&TaskId::new().to_string()), 400),
        (&ann, "of something else".to_owned(), 400),
        (&ann, id(mine), 202),
    ] {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": accept("blue")});
        let response = hub.post(&answer).bearer_auth(token).send().await.unwrap();
        assert_eq!(response.status(), status, "{id}");
    }
    assert_eq!(serving.answers().len(), 1);
}

#[tokio::test]
async fn a_client_that_declares_nothing_is_asked_nothing() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let session = session(&hub, json!({})).await;
    let mut reader = call(&hub, &session, json!({"agent": "amy", "message": "hi"})).await;
    let serving = amy.next_call().await;
    serving.ask(ask("q", AskKind::Input, "which one?"));
    let first = reader.next().await.unwrap().data;
    let told = &first["result"]["structuredContent"];
    assert_eq!(told["state"], "input_required", "{first}");
    assert!(serving.answers().is_empty());
}

#[tokio::test]
async fn a_request_that_stands_for_itself_is_repeated_with_the_answers() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let params = json!({"name": "call_agent", "arguments": {"agent": "amy", "message": "hi"}});
    let calling = hub.modern(FORMS, "tools/call", params.clone());
    let asking = async {
        let serving = amy.next_call().await;
        serving.push(Event::text("Well. "));
        serving.ask(ask("q", AskKind::Input, "which one?"));
        serving
    };
    let (asked, serving) = tokio::join!(calling, asking);
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let requests = result["inputRequests"].as_object().unwrap();
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    assert_eq!(request["params"]["mode"], "form");

    let repeat = |state: &Value, response: Value| {
        let mut params = params.clone();
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({(key.as_str()): response});
        params
    };
    let state = &result["requestState"];
    let forged = repeat(&json!(TaskId::new().to_string()), accept("blue"));
    let refused = hub.modern(FORMS, "tools/call", forged).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("\"requestState\""), "{text}");
    let wrong = repeat(state, json!({"action": "accept", "content": "blue"}));
    let refused = hub.modern(FORMS, "tools/call", wrong).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(serving.answers().is_empty() && amy.has_nothing_to_do());

    let answering = hub.modern(FORMS, "tools/call", repeat(state, accept("blue")));
    let hearing = async {
        while serving.answers().is_empty() {
            tokio::task::yield_now().await;
        }
        serving.push(Event::text("Blue it is."));
        serving.finish(End::done());
    };
    let (answered, ()) = tokio::join!(answering, hearing);
    let told = &answered["result"]["structuredContent"];
    assert_eq!(told["text"], "Well. Blue it is.", "{answered}");
    assert_eq!(answered["result"]["resultType"], "complete");
    assert!(amy.has_nothing_to_do(), "the message was sent once");
}

#[tokio::test]
async fn an_agent_that_ends_its_turn_with_a_question_is_answered_by_a_repeated_request() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let mut params = json!({"name": "call_agent", "arguments": {"agent": "amy", "message": "hi"}});
    let asking = async {
        let serving = amy.next_call().await;
        serving.push(Event::text("And then?"));
        serving.finish(End::Done(Box::new(Done {
            state: DoneState::InputRequired,
            ..Done::default()
        })));
    };
    let (asked, ()) = tokio::join!(hub.modern(FORMS, "tools/call", params.clone()), asking);
    let result = &asked["result"];
    let requests = result["inputRequests"].as_object().unwrap();
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(
        request["params"]["message"],
        "The agent amy says: And then?"
    );
    params["requestState"] = result["requestState"].clone();
    params["inputResponses"] = json!({(key.as_str()): accept("then this")});
    let hearing = async {
        let serving = amy.next_call().await;
        assert_eq!(serving.call().message.joined_text(), "then this");
        serving.push(Event::text("Done."));
        serving.finish(End::done());
    };
    let (answered, ()) = tokio::join!(hub.modern(FORMS, "tools/call", params), hearing);
    assert!(
        words(&answered["result"]).starts_with("Done."),
        "{answered}"
    );
}

#[tokio::test]
async fn leave_is_asked_of_the_user_only_where_the_owner_leaves_it_to_callers() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let session = session(&hub, json!({"elicitation": {}})).await;
    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    let arguments = json!({"agent": "amy", "message": "hi", "wait_seconds": 1});
    let mut reader = call(&hub, &session, arguments.clone()).await;
    let serving = amy.next_call().await;
    serving.ask(ask("q", AskKind::Approval, "rm -r?"));
    let result = response_of(&mut reader).await["result"].clone();
    assert_eq!(result["structuredContent"]["state"], "working");
    serving.finish(End::done());

    let id = AgentId::parse("amy").unwrap();
    let agents = hub.hub.agents();
    let changed = agents.change(&Principal::local(), &id, None, Some(settings));
    changed.unwrap();
    let mut reader = call(&hub, &session, arguments).await;
    let serving = amy.next_call().await;
    serving.ask(ask("q", AskKind::Approval, "rm -r?"));
    let asked = reader.next().await.unwrap().data;
    let message = asked["params"]["message"].as_str().unwrap();
    assert_eq!(message, "The agent amy asks for leave: rm -r?");
    let approved = json!({"action": "accept", "content": {"approve": true}});
    reply(&hub, &session, &asked["id"], approved).await;
    assert_eq!(serving.answers()[0].1.approved, Some(true));
    serving.finish(End::done());
}
