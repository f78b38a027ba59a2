//! Questions: the tool they are shown as, the answer, and what a tool does that waited for it.

use super::*;

const START: &str =
    r#"{"kind": "tool_start", "text": "", "tool_name": "rm", "tool_call_id": "c1"}"#;

fn started() -> Scene {
    let mut scene = Scene::new();
    scene.chunk(START);
    scene.chunk(r#"{"kind": "tool_input", "text": "[1]", "tool_call_id": "c1"}"#);
    scene.told.clear();
    scene
}

#[test]
fn an_approved_tool_runs_after_the_approval() {
    let mut scene = started();
    let of = scene.approval(
        r#"{"id": "q1", "text": "May I?", "tool_name": "rm", "tool_call_id": "c1", "arguments": {"f":"x"}}"#,
    );
    scene.tells(&[
        "end c1 rm [1]",
        r#"asks c1 rm {"f":"x"}"#,
        "is AwaitingToolApproval",
    ]);
    scene.answer(
        &of,
        AskKind::Approval,
        r#"{"approved": true, "reason": "go on"}"#,
    );
    scene.tells(&[
        "may c1 rm go on",
        "is ExecutingTool rm",
        r#"runs c1 rm {"f":"x"}"#,
    ]);
    // The same once more changes nothing, and input that the ask told already is no news.
    scene.answer(&of, AskKind::Approval, r#"{"approved": false}"#);
    scene.chunk(r#"{"kind": "tool_input", "text": "{}", "tool_call_id": "c1"}"#);
    scene.tells(&[]);
    scene.chunk(r#"{"kind": "tool_result", "text": "gone", "tool_call_id": "c1"}"#);
    scene.text("Done");
    scene.tells(&[
        "is ProcessingToolResult",
        r#"gave c1 rm "gone""#,
        "is AnalyzingLlmResponse",
        "start T:seg_1 Text",
        "content T:seg_1 Done",
    ]);
}

#[test]
fn a_tool_runs_with_its_own_arguments_if_the_ask_says_none() {
    let mut scene = started();
    let of = scene.approval(r#"{"id": "q1", "text": "May I?", "tool_call_id": "c1"}"#);
    scene.answer(&of, AskKind::Approval, r#"{"approved": true}"#);
    scene.shows(&[
        "end c1 rm [1]",
        r#"asks c1 rm {"question":"May I?"}"#,
        "may c1 rm",
        "runs c1 rm [1]",
    ]);
}

#[test]
fn a_denied_tool_is_over_and_what_it_still_says_a_remark() {
    for (answer, reason) in [
        (r#"{"approved": false, "reason": "not now"}"#, "not now"),
        (r#"{"approved": false, "reason": " "}"#, "denied"),
        (r#"{"approved": false}"#, "denied"),
        ("{}", "denied"),
    ] {
        let mut scene = started();
        let of = scene.approval(r#"{"id": "q1", "text": "", "tool_call_id": "c1"}"#);
        scene.told.clear();
        scene.answer(&of, AskKind::Approval, answer);
        scene.tells(&[&format!("may-not c1 rm {reason}"), "is ToolDenied"]);
        scene.chunk(r#"{"kind": "tool_result", "text": "refused", "tool_call_id": "c1"}"#);
        scene.tells(&["log c1 rm refused"]);
        scene.ended(&End::done());
        scene.tells(&["complete", "is Idle"]);
    }
}

#[test]
fn an_ask_before_its_tool_starts_the_tool_and_the_start_that_follows_is_the_same() {
    let mut scene = Scene::new();
    let of = scene.approval(
        r#"{"id": "q1", "text": "May I?", "tool_name": "rm", "tool_call_id": "c1", "arguments": [1]}"#,
    );
    scene.answer(&of, AskKind::Approval, r#"{"approved": true}"#);
    scene.chunk(START);
    scene.chunk(r#"{"kind": "tool_input", "text": "[1]", "tool_call_id": "c1"}"#);
    scene.chunk(r#"{"kind": "tool_result", "text": "gone", "tool_call_id": "c1"}"#);
    scene.chunk(START);
    scene.tells(&[
        "start c1 ToolCall rm",
        "end c1 rm [1]",
        "asks c1 rm [1]",
        "is AwaitingToolApproval",
        "may c1 rm",
        "is ExecutingTool rm",
        "runs c1 rm [1]",
        "is ProcessingToolResult",
        r#"gave c1 rm "gone""#,
        "start T:tool_1 ToolCall rm",
        "is ExecutingTool rm",
    ]);
}

#[test]
fn an_approval_that_names_no_tool_call_is_shown_under_its_own_id() {
    let mut scene = Scene::new();
    let of = scene.approval(r#"{"id": "q1", "text": "May I?"}"#);
    assert_eq!(&*of.id, "q1");
    scene.answer(&of, AskKind::Approval, r#"{"approved": true}"#);
    scene.tells(&[
        "start q1 ToolCall approval",
        r#"end q1 approval {"question":"May I?"}"#,
        r#"asks q1 approval {"question":"May I?"}"#,
        "is AwaitingToolApproval",
        "may q1 approval",
        "is ExecutingTool approval",
    ]);
    // A result without an id is not taken for one of a question.
    scene.chunk(r#"{"kind": "tool_result", "text": "x", "tool_name": "approval"}"#);
    scene.ended(&End::done());
    scene.shows(&[
        "start T:tool_1 ToolCall approval",
        "end T:tool_1 approval",
        "runs T:tool_1 approval",
        r#"gave T:tool_1 approval "x""#,
        "gave q1 approval",
        "complete",
    ]);

    let mut scene = started();
    scene.approval(r#"{"id": "q1", "text": "May I?"}"#);
    scene.approval(r#"{"id": "q1", "text": "May I?", "tool_name": "mv"}"#);
    scene.shows(&[
        "start q1 ToolCall rm",
        r#"end q1 rm {"question":"May I?"}"#,
        r#"asks q1 rm {"question":"May I?"}"#,
        "start T:tool_1 ToolCall mv",
        r#"end T:tool_1 mv {"question":"May I?"}"#,
        r#"asks T:tool_1 mv {"question":"May I?"}"#,
    ]);
}

#[test]
fn an_ask_about_a_tool_that_runs_already_is_shown_beside_it() {
    let mut scene = started();
    scene.text("meanwhile");
    scene.told.clear();
    let of = scene.approval(r#"{"id": "q1", "text": "May I?", "tool_call_id": "c1"}"#);
    scene.answer(&of, AskKind::Approval, r#"{"approved": true}"#);
    scene.chunk(r#"{"kind": "tool_result", "text": "gone", "tool_call_id": "c1"}"#);
    scene.ended(&End::done());
    scene.shows(&[
        "end T:seg_1",
        "start q1 ToolCall rm",
        r#"end q1 rm {"question":"May I?"}"#,
        r#"asks q1 rm {"question":"May I?"}"#,
        "may q1 rm",
        r#"gave c1 rm "gone""#,
        "gave q1 rm",
        "complete meanwhile",
    ]);
}

#[test]
fn a_tool_that_was_denied_can_be_asked_for_again() {
    let mut scene = started();
    let ask = r#"{"id": "q1", "text": "May I?", "tool_call_id": "c1", "arguments": [2]}"#;
    let of = scene.approval(ask);
    scene.answer(&of, AskKind::Approval, r#"{"approved": false}"#);
    scene.told.clear();
    let of = scene.approval(ask);
    scene.answer(&of, AskKind::Approval, r#"{"approved": true}"#);
    scene.chunk(r#"{"kind": "tool_result", "text": "gone", "tool_call_id": "c1"}"#);
    scene.ended(&End::Cancelled);
    scene.shows(&[
        "start T:tool_1 ToolCall rm",
        "end T:tool_1 rm [2]",
        "asks T:tool_1 rm [2]",
        "may T:tool_1 rm",
        "runs T:tool_1 rm [2]",
        r#"gave T:tool_1 rm "gone""#,
        "error cancelled stopped before it was done",
    ]);
}

#[test]
fn an_ask_for_one_tool_leaves_the_others_as_they_are() {
    let mut scene = started();
    scene.chunk(r#"{"kind": "tool_start", "text": "mv", "tool_call_id": "c2"}"#);
    scene.told.clear();
    let first = scene.approval(r#"{"id": "q1", "text": "", "tool_call_id": "c1", "arguments": 1}"#);
    let second =
        scene.approval(r#"{"id": "q2", "text": "", "tool_call_id": "c2", "arguments": 2}"#);
    scene.answer(&first, AskKind::Approval, r#"{"approved": true}"#);
    scene.answer(&second, AskKind::Approval, r#"{"approved": true}"#);
    scene.tells(&[
        "end c1 rm [1]",
        "asks c1 rm 1",
        "is AwaitingToolApproval",
        "end c2 mv 2",
        "asks c2 mv 2",
        "may c1 rm",
        "runs c1 rm 1",
        "may c2 mv",
        "is ExecutingTool mv",
        "runs c2 mv 2",
    ]);
}

#[test]
fn while_an_answer_is_waited_for_no_other_status_is_said() {
    let mut scene = started();
    let of = scene.approval(r#"{"id": "q1", "text": "", "tool_call_id": "c1"}"#);
    scene.text("I wait");
    scene.statuses(&["is AwaitingToolApproval"]);
    scene.answer(&of, AskKind::Approval, r#"{"approved": false}"#);
    scene.text(" no more");
    scene.statuses(&["is ToolDenied", "is AnalyzingLlmResponse"]);
}

#[test]
fn a_result_before_the_answer_makes_the_ask_moot() {
    let mut scene = started();
    let of = scene.approval(r#"{"id": "q1", "text": "", "tool_call_id": "c1"}"#);
    scene.told.clear();
    scene.chunk(r#"{"kind": "tool_result", "text": "gone", "tool_call_id": "c1"}"#);
    scene.answer(&of, AskKind::Approval, r#"{"approved": true}"#);
    scene.tells(&[
        "runs c1 rm [1]",
        "is ProcessingToolResult",
        r#"gave c1 rm "gone""#,
    ]);
}

#[test]
fn a_question_is_shown_as_a_tool_and_its_answer_as_the_reason() {
    let mut scene = started();
    let of = scene.ask(
        "input",
        r#"{"id": "q1", "text": "Which?", "tool_name": "x", "tool_call_id": "c1", "schema": {"type":"string"}}"#,
    );
    scene.answer(&of, AskKind::Input, r#"{"content": "that"}"#);
    scene.tells(&[
        "start q1 ToolCall ask_user",
        r#"end q1 ask_user {"question":"Which?","schema":{"type":"string"}}"#,
        r#"asks q1 ask_user {"question":"Which?","schema":{"type":"string"}}"#,
        "is AwaitingToolApproval",
        "may q1 ask_user that",
        "is AnalyzingLlmResponse",
    ]);

    let of = scene.ask("input", r#"{"id": " ", "text": "Which?"}"#);
    assert_eq!(*of.id, *format!("{TURN}:tool_1"));
    scene.told.clear();
    let long = "é".repeat(600);
    let answer = serde_json::json!({ "content": long });
    scene.answer(&of, AskKind::Input, &answer.to_string());
    scene.shows(&[&format!("may T:tool_1 ask_user {}", "é".repeat(512))]);

    let of = scene.ask("input", r#"{"id": "q3", "text": "Which?"}"#);
    scene.told.clear();
    scene.answer(
        &of,
        AskKind::Input,
        r#"{"approved": false, "reason": "none"}"#,
    );
    scene.tells(&["may-not q3 ask_user none", "is ToolDenied"]);
}
