//! Agents that ask, and editors that answer: by forms, by permissions, or by the next prompt.

use jackfield_core::{agent::Settings, principal::Principal};
use jackfield_kit::testing::{TestSettings, answer_text, until};
use jackfield_model::{AgentId, AskKind, End, Event};
use serde_json::json;

use crate::harness::{AcpHub, ask, texts};

#[tokio::test]
async fn a_question_is_text_and_the_next_prompt_its_answer() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let first = editor.prompt(&session, "paint it").await;
    let call = amy.next_call().await;
    call.push(Event::text("Well."));
    call.ask(ask("q", AskKind::Input, "Which colour?"));
    let (updates, response) = editor.updates_until(first).await;
    assert_eq!(
        texts(&updates, "agent_message_chunk"),
        "Well.\n\nWhich colour?"
    );
    assert_eq!(response["result"]["stopReason"], "end_turn");
    let second = editor.prompt(&session, "blue").await;
    until(|| !call.answers().is_empty()).await;
    let (id, answer) = call.answers().remove(0);
    assert_eq!((&*id, answer.content.as_deref()), ("q", Some("blue")));
    call.push(Event::text("Blue it is."));
    call.finish(End::done());
    let (updates, response) = editor.updates_until(second).await;
    assert_eq!(texts(&updates, "agent_message_chunk"), "Blue it is.");
    assert_eq!(response["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_a_prompt_of_its_own() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let first = editor.prompt(&session, "paint it").await;
    let call = amy.next_call().await;
    call.ask(ask("q", AskKind::Input, "Which colour?"));
    assert_eq!(editor.stop_reason(first).await, "end_turn");
    // The agent decides by itself.
    call.push(Event::text("Red, then."));
    call.finish(End::done());
    let second = editor.prompt(&session, "blue").await;
    let next = amy.next_call().await;
    assert_eq!(next.call().message.joined_text(), "blue");
    answer_text(next, "Painted over.");
    let (updates, _) = editor.updates_until(second).await;
    assert_eq!(
        texts(&updates, "agent_message_chunk"),
        "Red, then.Painted over."
    );
}

#[tokio::test]
async fn an_editor_with_forms_is_asked_by_a_form() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let capabilities = json!({"elicitation": {"form": {}}});
    let (mut editor, session) = hub.open_with("amy", capabilities).await;
    let prompt = editor.prompt(&session, "paint it").await;
    let call = amy.next_call().await;
    call.ask(ask("q", AskKind::Input, "Which colour?"));
    let question = editor.question("elicitation/create").await;
    let answer = json!({"type": "string", "title": "Answer"});
    assert_eq!(
        question["params"],
        json!({
            "sessionId": session,
            "mode": "form",
            "message": "Which colour?",
            "requestedSchema": {"type": "object", "properties": {"answer": answer}, "required": ["answer"]},
        })
    );
    let given = json!({"action": "accept", "content": {"answer": "blue"}});
    editor.answer(&question, given).await;
    until(|| call.answers().len() == 1).await;
    assert_eq!(call.answers()[0].1.content.as_deref(), Some("blue"));
    // A question with fields of its own.
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]});
    let mut sized = ask("r", AskKind::Input, "How large?");
    sized.schema = Some(schema.clone().into());
    call.ask(sized);
    let question = editor.question("elicitation/create").await;
    assert_eq!(question["params"]["requestedSchema"], schema);
    let given = json!({"action": "accept", "content": {"size": 3}});
    editor.answer(&question, given).await;
    until(|| call.answers().len() == 2).await;
    assert_eq!(
        call.answers()[1].1.content.as_deref(),
        Some(r#"{"size":3}"#)
    );
    // A user who does not answer.
    call.ask(ask("s", AskKind::Input, "Sure?"));
    let question = editor.question("elicitation/create").await;
    editor.answer(&question, json!({"action": "decline"})).await;
    until(|| call.answers().len() == 3).await;
    assert_eq!(call.answers()[2].1.approved, Some(false));
    // An editor that cannot show the form after all.
    call.ask(ask("t", AskKind::Input, "Really?"));
    let question = editor.question("elicitation/create").await;
    let error = json!({"code": -32601, "message": "no"});
    editor
        .send(json!({"jsonrpc": "2.0", "id": question["id"], "error": error}))
        .await;
    let (updates, response) = editor.updates_until(prompt).await;
    assert_eq!(texts(&updates, "agent_message_chunk"), "Really?");
    assert_eq!(response["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn the_owner_of_the_agent_approves_in_the_editor() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    for (option, approved, status) in [("allow", true, "in_progress"), ("reject", false, "failed")]
    {
        let prompt = editor.prompt(&session, "clean up").await;
        let call = amy.next_call().await;
        let mut approval = ask("q", AskKind::Approval, "Delete 3 files?");
        approval.tool_name = Some("rm".to_owned());
        approval.tool_call_id = Some("call_1".to_owned());
        approval.arguments = Some(json!({"path": "/tmp/x"}).into());
        call.ask(approval);
        let question = editor.question("session/request_permission").await;
        let params = &question["params"];
        assert_eq!(params["sessionId"], session);
        let tool = &params["toolCall"];
        assert_eq!(
            (&tool["title"], &tool["status"]),
            (&json!("rm"), &json!("pending"))
        );
        assert_eq!(tool["rawInput"], json!({"path": "/tmp/x"}));
        let kinds: Vec<_> = params["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["kind"])
            .collect();
        assert_eq!(kinds, ["allow_once", "reject_once"]);
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        editor.answer(&question, outcome).await;
        until(|| !call.answers().is_empty()).await;
        assert_eq!(call.answers()[0].1.approved, Some(approved));
        let update = editor.update(&session).await;
        assert_eq!(
            (&update["toolCallId"], &update["status"]),
            (&tool["toolCallId"], &json!(status))
        );
        call.finish(End::done());
        assert_eq!(editor.stop_reason(prompt).await, "end_turn");
    }
}

#[tokio::test]
async fn a_caller_who_is_not_the_owner_approves_only_if_the_agent_lets_callers() {
    let settings = TestSettings {
        trusts_everyone: false,
        ..TestSettings::default()
    };
    let hub = AcpHub::start_with(settings).await;
    let bob = hub.token("bob", &["agent:*"]).await;
    let ann = hub.token("ann", &["call:amy"]).await;
    let bob = hub.principal_of(&bob);
    let mut amy = hub.attach_for(&bob, "amy");
    let bearer = format!("Bearer {ann}");
    let connected = hub.try_connect("amy", &[("authorization", &bearer)]).await;
    let mut editor = connected.unwrap_or_else(|refused| panic!("{}", refused.body));
    editor.initialize(json!({})).await;
    let session = editor.new_session().await;
    let prompt = editor.prompt(&session, "clean up").await;
    let call = amy.next_call().await;
    call.ask(ask("q", AskKind::Approval, "Delete?"));
    let update = editor.update(&session).await;
    assert!(
        update["content"]["text"]
            .as_str()
            .unwrap()
            .contains("waiting for the owner")
    );
    call.finish(End::done());
    assert_eq!(editor.stop_reason(prompt).await, "end_turn");

    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    let id = AgentId::parse("amy").unwrap();
    hub.hub
        .agents()
        .change(&bob, &id, None, Some(settings))
        .unwrap();
    let prompt = editor.prompt(&session, "clean up").await;
    let call = amy.next_call().await;
    call.ask(ask("q", AskKind::Approval, "Delete?"));
    let question = editor.question("session/request_permission").await;
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    editor.answer(&question, outcome).await;
    until(|| !call.answers().is_empty()).await;
    assert_eq!(call.answers()[0].1.approved, Some(false));
    call.finish(End::done());
    assert_eq!(editor.stop_reason(prompt).await, "end_turn");
}

#[tokio::test]
async fn an_approval_that_is_given_elsewhere_is_withdrawn_in_the_editor() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "clean up").await;
    let call = amy.next_call().await;
    call.ask(ask("q", AskKind::Approval, "Delete?"));
    let question = editor.question("session/request_permission").await;
    let answer = jackfield_model::Answer {
        approved: Some(true),
        ..jackfield_model::Answer::default()
    };
    let calls = hub.hub.calls();
    calls
        .answer(&Principal::local(), call.call().id, "q", answer)
        .unwrap();
    let withdrawn = editor.question("$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    call.finish(End::done());
    assert_eq!(editor.stop_reason(prompt).await, "end_turn");
}

#[tokio::test]
async fn a_cancel_ends_a_prompt_that_waits_for_a_permission() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "clean up").await;
    let call = amy.next_call().await;
    call.ask(ask("q", AskKind::Approval, "Delete?"));
    let question = editor.question("session/request_permission").await;
    editor
        .tell("session/cancel", json!({"sessionId": session}))
        .await;
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    editor.answer(&question, outcome).await;
    assert_eq!(amy.next_cancel().await, call.call().id);
    assert_eq!(editor.stop_reason(prompt).await, "cancelled");
}
