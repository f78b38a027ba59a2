//! The documented lines, as they are printed. The real program cannot run where the tests do.

use super::*;

fn said(heard: Vec<ClaudeEvent>) -> Vec<OutputItem> {
    heard
        .into_iter()
        .map(|heard| match heard {
            ClaudeEvent::Said(said) => said,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn all(lines: &[&str]) -> Vec<ClaudeEvent> {
    let mut reader = ClaudeReader::default();
    lines.iter().flat_map(|line| reader.read(line)).collect()
}

fn words(text: &str) -> OutputItem {
    OutputItem::Text(text.to_owned())
}

fn thought(text: &str) -> OutputItem {
    OutputItem::Thinking(text.to_owned())
}

#[test]
fn pieces_become_chunks_and_the_whole_message_is_not_said_again() {
    let heard = all(&[
        r#"{"type":"system","subtype":"init","cwd":"/p","session_id":"s-1","tools":["Bash"],"model":"m"}"#,
        r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_1","role":"assistant"}},"session_id":"s-1","parent_tool_use_id":null}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}},"parent_tool_use_id":null}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}},"parent_tool_use_id":null}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}},"parent_tool_use_id":null}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}}}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\""}}}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":\"ls\"}"}}}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_stop","index":1}}"#,
        r#"{"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null}"#,
        r#"{"type":"stream_event","event":{"type":"message_stop"}}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"a.txt","is_error":false}]},"parent_tool_use_id":null}"#,
        r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_2"}}}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one file"}}}"#,
        r#"{"type":"assistant","message":{"id":"msg_2","content":[{"type":"text","text":"one file"}]}}"#,
    ]);
    let id = || "toolu_1".to_owned();
    let input = |text: &str| OutputItem::ToolInput {
        id: id(),
        text: text.to_owned(),
    };
    assert_eq!(
        said(heard),
        [
            OutputItem::Session("s-1".to_owned()),
            thought("hm"),
            OutputItem::ToolStart {
                name: "Bash".to_owned(),
                id: id()
            },
            input("{\"command\""),
            input(":\"ls\"}"),
            OutputItem::ToolResult {
                id: id(),
                text: "a.txt".to_owned()
            },
            words("one file"),
        ]
    );
}

#[test]
fn a_message_without_pieces_counts_as_a_whole() {
    let heard = all(&[
        r#"{"type":"assistant","message":{"id":"msg_1","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"Read","input":{"path":"x"}}]}}"#,
    ]);
    assert_eq!(
        said(heard),
        [
            thought("hm"),
            words("hi"),
            OutputItem::ToolStart {
                name: "Read".to_owned(),
                id: "t".to_owned()
            },
            OutputItem::ToolInput {
                id: "t".to_owned(),
                text: r#"{"path":"x"}"#.to_owned()
            },
        ]
    );
}

#[test]
fn what_its_helpers_write_is_not_the_answer() {
    let heard = all(&[
        r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_1"}},"parent_tool_use_id":null}"#,
        r#"{"type":"assistant","message":{"id":"msg_9","content":[{"type":"text","text":"found it"}]},"parent_tool_use_id":"toolu_1"}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"done"}},"parent_tool_use_id":null}"#,
        r#"{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"done"}]},"parent_tool_use_id":null}"#,
    ]);
    assert_eq!(said(heard), [thought("found it"), words("done")]);
}

#[test]
fn results_of_tools_are_words_whatever_they_are_made_of() {
    let heard = all(&[
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"},{"type":"image","source":{}}]},{"type":"tool_result","tool_use_id":"b","content":"no such file","is_error":true}]}}"#,
        r#"{"type":"user","message":{"role":"user","content":"what I said"}}"#,
    ]);
    let result = |id: &str, text: &str| OutputItem::ToolResult {
        id: id.to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(
        said(heard),
        [
            result("a", "x\n[image]"),
            result("b", "[error] no such file")
        ]
    );
}

#[test]
fn the_result_ends_it_with_what_it_cost() {
    let heard = all(&[
        r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":12,"num_turns":2,"result":"hi","stop_reason":"end_turn","session_id":"s","total_cost_usd":0.5,"usage":{"input_tokens":3,"output_tokens":4}}"#,
    ]);
    assert_eq!(
        heard,
        [
            ClaudeEvent::Said(OutputItem::Usage(json!({
                "input_tokens": 3, "output_tokens": 4, "total_cost_usd": 0.5, "num_turns": 2, "duration_ms": 12
            }))),
            // Nothing was said before, so this is the answer.
            ClaudeEvent::Said(words("hi")),
            ClaudeEvent::Said(OutputItem::StopReason("end_turn".to_owned())),
            ClaudeEvent::End(Ok(())),
        ]
    );
}

#[test]
fn failures_are_told_in_its_own_words() {
    let end = |line: &str| match all(&[line]).pop() {
        Some(ClaudeEvent::End(Err(failure))) => failure,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        end(
            r#"{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}"#
        ),
        AgentFailure::new("agent_error", "Credit balance is too low")
    );
    assert_eq!(
        end(r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#),
        AgentFailure::new("error_max_turns", "claude ended with error_max_turns")
    );
    assert_eq!(
        end(
            r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: x"]}"#
        ),
        AgentFailure::new(
            "error_during_execution",
            "No conversation found with session ID: x"
        )
    );
}

#[test]
fn permissions_are_asked_for_and_withdrawn() {
    let heard = all(&[
        r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"rm x"},"tool_use_id":"toolu_1","permission_suggestions":[]}}"#,
        r#"{"type":"control_cancel_request","request_id":"r1"}"#,
        r#"{"type":"control_request","request_id":"r2","request":{"subtype":"hook_callback"}}"#,
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"jackfield-1","response":{}}}"#,
    ]);
    assert_eq!(
        heard,
        [
            ClaudeEvent::Permission(PermissionRequest {
                request: "r1".to_owned(),
                tool: "Bash".to_owned(),
                input: json!({"command": "rm x"}),
            }),
            ClaudeEvent::Withdrawn("r1".to_owned()),
            ClaudeEvent::Unknown {
                request: "r2".to_owned(),
                what: "hook_callback".to_owned()
            },
        ]
    );
    assert_eq!(
        allow("r1", &json!({"command": "rm x"})),
        json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r1",
            "response": {"behavior": "allow", "updatedInput": {"command": "rm x"}}}})
    );
    assert_eq!(
        deny("r1", "not today"),
        json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r1",
            "response": {"behavior": "deny", "message": "not today"}}})
    );
}

#[test]
fn what_is_not_known_is_counted_and_left_out() {
    let mut reader = ClaudeReader::default();
    for line in [
        "[SandboxDebug] hello",
        "{",
        "[]",
        r#"{"type":"rate_limit_event"}"#,
        r#"{"type":"system","subtype":"hook_started"}"#,
        r#"{"type":"stream_event","event":{"type":"something_new"}}"#,
    ] {
        assert_eq!(reader.read(line), [], "{line}");
    }
    assert_eq!(reader.unknown, 6);
    assert_eq!(reader.read(""), []);
    assert!(!reader.has_spoken());
}

#[test]
fn a_retry_is_status() {
    assert_eq!(
        said(all(&[
            r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error":"overloaded"}"#
        ])),
        [OutputItem::Status(
            "asking the model again, attempt 2: overloaded".to_owned()
        )]
    );
}

#[test]
fn questions_name_their_options() {
    let asked = question(&json!({
        "question": "Which colour?",
        "options": [{"label": "Blue", "description": "like the sea"}, {"label": "Red"}],
    }));
    let expected = CallerQuestion::new("Which colour?\n- Blue: like the sea\n- Red");
    assert_eq!(
        asked,
        expected.schema(json!({"type": "string", "examples": ["Blue", "Red"]}))
    );
}
