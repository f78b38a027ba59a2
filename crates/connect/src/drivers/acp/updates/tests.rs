//! Updates as the protocol documents them, and as the adapters of claude, codex and gemini are known to send them.

use serde_json::json;

use super::*;

/// What these updates say, one after another. Each is the whole `params` of a `session/update`.
fn heard(updates: &[&str]) -> (Vec<OutputItem>, u64) {
    let mut hearing = UpdateReader::default();
    let said = updates.iter().flat_map(|update| {
        let params: Value = serde_json::from_str(update).unwrap();
        hearing.read_update(&params["update"])
    });
    let said = said.collect();
    (said, hearing.skipped)
}

fn said(updates: &[&str]) -> Vec<OutputItem> {
    let (said, skipped) = heard(updates);
    assert_eq!(skipped, 0);
    said
}

#[test]
fn words_and_thoughts_are_said_as_they_come() {
    let said = said(&[
        r#"{"sessionId":"s","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I'll look."}}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""}}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"file:///a.txt","name":"a.txt"}}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"aGk="}}}"#,
    ]);
    assert_eq!(
        said,
        [
            OutputItem::Thinking("hm".to_owned()),
            OutputItem::Text("I'll look.".to_owned()),
            OutputItem::Text("[a.txt](file:///a.txt)".to_owned()),
            OutputItem::Status("(left out: image)".to_owned()),
        ]
    );
}

#[test]
fn a_tool_call_starts_once_tells_its_input_once_and_ends_once() {
    let said = said(&[
        r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"call_001","title":"Reading configuration file","kind":"read","status":"pending","rawInput":{}}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_001","status":"in_progress","rawInput":{"path":"a"}}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_001","rawInput":{"path":"a"}}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_001","status":"completed","content":[{"type":"content","content":{"type":"text","text":"x = 1"}},{"type":"diff","path":"/b.rs","oldText":"","newText":"y"}],"rawOutput":{"ok":true}}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_001","status":"completed"}}"#,
    ]);
    let id = || "call_001".to_owned();
    assert_eq!(
        said,
        [
            OutputItem::ToolStart {
                name: "Reading configuration file".to_owned(),
                id: id()
            },
            OutputItem::ToolInput {
                id: id(),
                text: r#"{"path":"a"}"#.to_owned()
            },
            OutputItem::ToolResult {
                id: id(),
                text: "x = 1\nchanged /b.rs".to_owned()
            },
        ]
    );
}

#[test]
fn a_tool_that_is_heard_of_at_its_end_only_is_told_whole() {
    let said = said(&[
        r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"execute","status":"failed","rawInput":"ls /x","rawOutput":"no such folder"}}"#,
    ]);
    let id = || "t".to_owned();
    assert_eq!(
        said,
        [
            OutputItem::ToolStart {
                name: "execute".to_owned(),
                id: id()
            },
            OutputItem::ToolInput {
                id: id(),
                text: "ls /x".to_owned()
            },
            OutputItem::ToolResult {
                id: id(),
                text: "[error] no such folder".to_owned()
            },
        ]
    );
}

#[test]
fn a_plan_is_a_status_whenever_it_changes() {
    let plan = r#"{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"look","priority":"high","status":"completed"},{"content":"mend","priority":"medium","status":"in_progress"},{"content":"test","priority":"low","status":"pending"}]}}"#;
    assert_eq!(
        said(&[plan, plan]),
        [OutputItem::Status(
            "plan:\n[x] look\n[>] mend\n[ ] test".to_owned()
        )]
    );
}

#[test]
fn what_is_for_editors_is_not_told() {
    let said = said(&[
        r#"{"sessionId":"s","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"current_mode_update","currentModeId":"code"}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hello"}}}"#,
    ]);
    assert_eq!(said, []);
}

#[test]
fn unknown_updates_are_skipped_and_counted() {
    let (said, skipped) = heard(&[
        r#"{"sessionId":"s","update":{"sessionUpdate":"hologram","content":1}}"#,
        r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call"}}"#,
        r#"{"sessionId":"s","update":"odd"}"#,
        r#"{"sessionId":"s"}"#,
    ]);
    assert_eq!((said, skipped), (Vec::new(), 4));
}

#[test]
fn the_reason_to_stop_decides_how_the_turn_ends() {
    for (reason, expected) in [
        ("end_turn", PromptOutcome::Done),
        ("max_tokens", PromptOutcome::Done),
        ("max_turn_requests", PromptOutcome::Done),
        ("something_new", PromptOutcome::Done),
        ("refusal", PromptOutcome::Refused),
        ("cancelled", PromptOutcome::Stopped),
    ] {
        let (said, ending) = ending(&json!({"stopReason": reason}));
        assert_eq!(ending, expected);
        assert_eq!(said, OutputItem::StopReason(reason.to_owned()));
    }
}
