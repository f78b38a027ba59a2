//! Every way a message or an envelope can be wrong, and what the refusal says.
//! The texts are part of the contract: the author of a client or a runtime reads them.

use super::*;

fn refused(text: &str) -> Fault {
    match read_client_message(text, &Limits::default()) {
        Err(fault) => fault,
        Ok(message) => panic!("{text} was taken for {message:?}"),
    }
}

fn refused_envelope(text: &str) -> Fault {
    match read_envelopes(text, &Limits::default()) {
        Err(fault) => fault,
        Ok(read) => panic!("{text} was taken for {read:?}"),
    }
}

#[test]
fn text_that_is_no_object_is_refused() {
    for text in ["", "  ", "hello", "{", r#"{"type":"X"} x"#, "nul"] {
        for fault in [refused(text), refused_envelope(text)] {
            assert_eq!(fault.code, code::INVALID_MESSAGE, "{text}");
            let sentence = fault.to_string();
            assert!(
                sentence.starts_with("the message is not valid JSON: "),
                "{sentence}"
            );
        }
    }
    for text in ["null", "\"TEAM\"", "1", "true"] {
        for fault in [refused(text), refused_envelope(text)] {
            assert_eq!(fault.to_string(), "the message must be an object");
        }
    }
    assert_eq!(refused("[]").to_string(), "the message must be an object");
    assert_eq!(
        refused_envelope("[[]]").to_string(),
        r#"field "[0]" must be an object"#
    );
}

#[test]
fn nesting_beyond_the_limit_is_refused_before_it_is_read() {
    let limits = Limits::default();
    let deep = |levels: usize| {
        let arguments = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        published(
            "tool_approval_requested",
            &format!(r#"{{"invocation_id":"i","tool_name":"t","arguments":{arguments}}}"#),
        )
    };
    // The envelope, its data, the event and its data are four levels.
    read_one(&deep(limits.max_depth - 4));
    let sentence = "the message is nested deeper than 64 levels";
    assert_eq!(
        refused_envelope(&deep(limits.max_depth - 3)).to_string(),
        sentence
    );
    let text = format!(" {}", "[".repeat(1_000_000));
    assert_eq!(refused_envelope(&text).to_string(), sentence);
    assert_eq!(refused(&text).to_string(), sentence);
}

#[test]
fn each_mistake_of_a_viewer_names_the_field_and_has_a_code() {
    let invalid = code::INVALID_MESSAGE;
    for (text, code, expected) in [
        (r#"{}"#, invalid, r#"field "type" is required"#),
        (r#"{"type":1}"#, invalid, r#"field "type" must be a string"#),
        (
            r#"{"type":" "}"#,
            invalid,
            r#"field "type" must not be blank"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","type":"X"}"#,
            invalid,
            r#"field "type" is given twice"#,
        ),
        (
            "{\"type\":\"PING\\nx\"}",
            code::UNKNOWN_MESSAGE_TYPE,
            r#"field "type" is no type that viewers send: "PING\nx"; use SEND_MESSAGE, STOP_GENERATION, APPROVE_TOOL or DENY_TOOL"#,
        ),
        (
            r#"{"type":"send_message","payload":{"content":"x"}}"#,
            code::UNKNOWN_MESSAGE_TYPE,
            r#"field "type" is no type that viewers send: "send_message"; use SEND_MESSAGE, STOP_GENERATION, APPROVE_TOOL or DENY_TOOL"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE"}"#,
            invalid,
            r#"field "payload" is required"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":[]}"#,
            invalid,
            r#"field "payload" must be an object"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{}}"#,
            invalid,
            r#"field "payload.content" is required"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":1}}"#,
            invalid,
            r#"field "payload.content" must be a string"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","content":"b"}}"#,
            invalid,
            r#"field "payload.content" is given twice"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","target_member_name":7}}"#,
            invalid,
            r#"field "payload.target_member_name" must be a string"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","image_urls":"u"}}"#,
            invalid,
            r#"field "payload.image_urls" must be an array"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","contextFilePaths":["a",{}]}}"#,
            invalid,
            r#"field "payload.contextFilePaths[1]" must be a string"#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","imageUrls":[],"image_urls":[]}}"#,
            invalid,
            r#"field "payload.imageUrls" is given twice"#,
        ),
        (
            r#"{"type":"STOP_GENERATION","payload":"now"}"#,
            invalid,
            r#"field "payload" must be an object"#,
        ),
        (
            r#"{"type":"STOP_GENERATION","payload":{"agent_name":[]}}"#,
            invalid,
            r#"field "payload.agent_name" must be a string"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL"}"#,
            invalid,
            r#"field "payload" is required"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"agent_name":"lead"}}"#,
            code::APPROVAL_TOKEN_REQUIRED,
            r#"field "payload.invocation_id" is required, or "approval_token""#,
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":""}}"#,
            code::APPROVAL_TOKEN_REQUIRED,
            r#"field "payload.invocation_id" is required, or "approval_token""#,
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":3}}"#,
            invalid,
            r#"field "payload.invocation_id" must be a string"#,
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":"i","reason":{}}}"#,
            invalid,
            r#"field "payload.reason" must be a string"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"invocation_id":"i","approval_token":"t"}}"#,
            code::INVALID_APPROVAL_TOKEN,
            r#"field "payload.approval_token" must be an object"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"invocation_id":"i","approval_token":{"invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            r#"field "payload.approval_token.team_run_id" is required"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","invocationId":" ","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            r#"field "payload.approval_token.invocationId" must not be blank"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","invocationId":"i"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            r#"field "payload.approval_token.target_member_name" is required"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","runVersion":"x","invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            r#"field "payload.approval_token.runVersion" must be a whole number from 0"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","invocation_version":-1,"invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            r#"field "payload.approval_token.invocation_version" must be a whole number from 0"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","team_run_id":"s","invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            r#"field "payload.approval_token.teamRunId" is given twice"#,
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":"other","approval_token":{"teamRunId":"r","invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            r#"field "payload.approval_token" is of another invocation"#,
        ),
    ] {
        let fault = refused(text);
        assert_eq!(fault.to_string(), expected, "{text}");
        assert_eq!(fault.code, code, "{text}");
    }
}

#[test]
fn each_mistake_of_an_envelope_names_the_field() {
    for (text, expected) in [
        (r#"{}"#, r#"field "event_source_type" is required"#),
        (
            r#"{"event_source_type":"AGENTS","data":{}}"#,
            r#"field "event_source_type" must be TEAM, AGENT, SUB_TEAM or TASK_PLAN"#,
        ),
        (
            r#"{"event_source_type":"TEAM | AGENT","data":{}}"#,
            r#"field "event_source_type" must be TEAM, AGENT, SUB_TEAM or TASK_PLAN"#,
        ),
        (
            r#"{"event_source_type":"TEAM"}"#,
            r#"field "data" is required"#,
        ),
        (
            r#"{"event_source_type":"TEAM","data":[]}"#,
            r#"field "data" must be an object"#,
        ),
        (
            r#"{"event_source_type":"TEAM","data":{},"data":{}}"#,
            r#"field "data" is given twice"#,
        ),
        (
            r#"{"event_source_type":"TEAM","data":{"new_status":"idle","x":1,"x":2}}"#,
            r#"field "data.x" is given twice"#,
        ),
        (
            r#"{"event_id":1,"event_source_type":"TEAM","data":{"new_status":"idle"}}"#,
            r#"field "event_id" must be a string"#,
        ),
        (
            r#"{"team_id":1,"event_source_type":"TEAM","data":{"new_status":"idle"}}"#,
            r#"field "team_id" must be a string"#,
        ),
        (
            r#"{"timestamp":"yesterday","event_source_type":"TEAM","data":{"new_status":"idle"}}"#,
            r#"field "timestamp" must be a time in RFC 3339"#,
        ),
        (
            r#"{"timestamp":1767700000,"event_source_type":"TEAM","data":{"new_status":"idle"}}"#,
            r#"field "timestamp" must be a string"#,
        ),
        (
            r#"{"event_source_type":"TEAM","data":{}}"#,
            r#"field "data.new_status" is required"#,
        ),
        (
            r#"{"event_source_type":"TEAM","data":{"new_status":"BUSY"}}"#,
            r#"field "data.new_status" is no known state of a team: "BUSY"; use one of STARTING, IDLE, RUNNING, PAUSED, ERROR, SHUTTING_DOWN"#,
        ),
        (
            r#"{"event_source_type":"TEAM","data":{"new_status":"IDLE","old_status":1}}"#,
            r#"field "data.old_status" must be a string"#,
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{}}"#,
            r#"field "data" must have "tasks" or "task_id""#,
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{"tasks":{}}}"#,
            r#"field "data.tasks" must be an array"#,
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{"tasks":[{},1]}}"#,
            r#"field "data.tasks[1]" must be an object"#,
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{"task_id":"1"}}"#,
            r#"field "data.new_status" is required"#,
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{"team_id":1,"tasks":[]}}"#,
            r#"field "data.team_id" must be a string"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_event":{}}}"#,
            r#"field "data.agent_name" is required"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":" ","agent_event":{}}}"#,
            r#"field "data.agent_name" must not be blank"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a"}}"#,
            r#"field "data.agent_event" is required"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":"x"}}"#,
            r#"field "data.agent_event" must be an object"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"data":{}}}}"#,
            r#"field "data.agent_event.event_type" is required"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"event_type":"dream","data":{}}}}"#,
            r#"field "data.agent_event.event_type" is no known type of event: "dream"; use one of segment_event, agent_status_updated, assistant_chunk, assistant_complete_response, tool_approval_requested, tool_approved, tool_denied, tool_execution_started, tool_execution_succeeded, tool_execution_failed, tool_interaction_log_entry, system_task_notification, inter_agent_message, agent_todo_list_updated, artifact_persisted, artifact_updated, error_event"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"event_type":"error_event"}}}"#,
            r#"field "data.agent_event.data" is required"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"timestamp":1,"event_type":"error_event","data":{}}}}"#,
            r#"field "data.agent_event.timestamp" must be a string"#,
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"agent_id":1,"event_type":"error_event","data":{"code":"c","message":"m"}}}}"#,
            r#"field "data.agent_event.agent_id" must be a string"#,
        ),
        (
            r#"{"event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"","sub_team_event":{}}}"#,
            r#"field "data.sub_team_node_name" must not be blank"#,
        ),
        (
            r#"{"event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"n"}}"#,
            r#"field "data.sub_team_event" is required"#,
        ),
        (
            r#"{"event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"n","sub_team_event":1}}"#,
            r#"field "data.sub_team_event" must be an object"#,
        ),
        (
            r#"{"event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"n","sub_team_event":{"event_source_type":"TEAM","data":{}}}}"#,
            r#"field "data.sub_team_event.data.new_status" is required"#,
        ),
    ] {
        let fault = refused_envelope(text);
        assert_eq!(fault.to_string(), expected, "{text}");
        assert_eq!(fault.code, code::INVALID_MESSAGE, "{text}");
    }
}

#[test]
fn each_type_of_event_must_have_its_fields() {
    for (event_type, data, expected) in [
        ("segment_event", r#"{}"#, r#"type" is required"#),
        (
            "segment_event",
            r#"{"type":"SEGMENT_PAUSE"}"#,
            r#"type" is no known kind of segment event: "SEGMENT_PAUSE"; use one of SEGMENT_START, SEGMENT_CONTENT, SEGMENT_END"#,
        ),
        (
            "segment_event",
            r#"{"event_type":"segment_start"}"#,
            r#"event_type" is no known kind of segment event: "segment_start"; use one of SEGMENT_START, SEGMENT_CONTENT, SEGMENT_END"#,
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","event_type":"SEGMENT_END"}"#,
            r#"event_type" differs from "type""#,
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","segment_id":4}"#,
            r#"segment_id" must be a string"#,
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","segment_type":4}"#,
            r#"segment_type" must be a string"#,
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","payload":"x"}"#,
            r#"payload" must be an object"#,
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_CONTENT","segment_id":"s"}"#,
            r#"payload" is required"#,
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_CONTENT","segment_id":"s","payload":{"delta":1}}"#,
            r#"payload.delta" must be a string"#,
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","payload":{"a":1,"a":2}}"#,
            r#"payload.a" is given twice"#,
        ),
        (
            "agent_status_updated",
            r#"{}"#,
            r#"new_status" is required"#,
        ),
        (
            "agent_status_updated",
            r#"{"new_status":"idle","old_status":[]}"#,
            r#"old_status" must be a string"#,
        ),
        (
            "assistant_chunk",
            r#"{"content":"x"}"#,
            r#"is_complete" is required"#,
        ),
        (
            "assistant_chunk",
            r#"{"content":"x","is_complete":"no"}"#,
            r#"is_complete" must be true or false"#,
        ),
        (
            "assistant_chunk",
            r#"{"is_complete":true}"#,
            r#"content" is required"#,
        ),
        (
            "assistant_complete_response",
            r#"{"content":null}"#,
            r#"content" is required"#,
        ),
        (
            "tool_approval_requested",
            r#"{"invocation_id":"i","tool_name":"t"}"#,
            r#"arguments" is required"#,
        ),
        (
            "tool_approval_requested",
            r#"{"tool_name":"t","arguments":{}}"#,
            r#"invocation_id" is required"#,
        ),
        (
            "tool_approved",
            r#"{"invocation_id":"i","tool_name":""}"#,
            r#"tool_name" must not be blank"#,
        ),
        (
            "tool_denied",
            r#"{"invocation_id":"i","tool_name":"t"}"#,
            r#"reason" is required"#,
        ),
        (
            "tool_execution_started",
            r#"{"tool_name":"t"}"#,
            r#"invocation_id" is required"#,
        ),
        (
            "tool_execution_succeeded",
            r#"{"invocation_id":"i"}"#,
            r#"tool_name" is required"#,
        ),
        (
            "tool_execution_failed",
            r#"{"invocation_id":"i","tool_name":"t"}"#,
            r#"error" is required"#,
        ),
        (
            "tool_interaction_log_entry",
            r#"{"log_entry":"l","invocation_id":"i","tool_name":"t"}"#,
            r#"tool_invocation_id" is required"#,
        ),
        (
            "system_task_notification",
            r#"{"content":"c"}"#,
            r#"sender_id" is required"#,
        ),
        (
            "inter_agent_message",
            r#"{"sender_agent_id":"s","recipient_role_name":"r","message_type":"m"}"#,
            r#"content" is required"#,
        ),
        (
            "agent_todo_list_updated",
            r#"{"todos":[1]}"#,
            r#"todos[0]" must be an object"#,
        ),
        (
            "artifact_persisted",
            r#"{"artifact_id":"a","path":"p","type":"f"}"#,
            r#"agent_id" is required"#,
        ),
        (
            "artifact_updated",
            r#"{"agent_id":"a","type":"f"}"#,
            r#"path" is required"#,
        ),
        ("error_event", r#"{"code":"c"}"#, r#"message" is required"#),
    ] {
        let text = published(event_type, data);
        assert_eq!(
            refused_envelope(&text).to_string(),
            format!("field \"data.agent_event.data.{expected}"),
            "{text}"
        );
    }
}

#[test]
fn a_mistake_in_an_array_names_its_place_and_refuses_all() {
    let good = r#"{"event_source_type":"TEAM","data":{"new_status":"idle"}}"#;
    let bad = published("segment_event", r#"{"type":"SEGMENT_END","segment_id":1}"#);
    let fault = refused_envelope(&format!("[{good},{good},{good},{bad}]"));
    assert_eq!(
        fault.field.as_deref(),
        Some("[3].data.agent_event.data.segment_id")
    );
}

#[test]
fn a_refusal_repeats_only_the_start_of_what_was_said() {
    let long = "x".repeat(10_000);
    let text = format!(r#"{{"type":"{long}"}}"#);
    assert!(refused(&text).to_string().len() < 450);
    let text = format!(r#"{{"{long}":1,"{long}":2}}"#);
    assert!(refused_envelope(&text).to_string().len() < 450);
}

#[test]
fn a_refusal_can_be_told_as_an_error() {
    let fault = refused(r#"{"type":"HELLO"}"#);
    let mut out = String::new();
    error(fault.code, &fault.to_string(), None, &mut out);
    assert_eq!(
        out,
        r#"{"type":"ERROR","payload":{"code":"UNKNOWN_MESSAGE_TYPE","message":"field \"type\" is no type that viewers send: \"HELLO\"; use SEND_MESSAGE, STOP_GENERATION, APPROVE_TOOL or DENY_TOOL"}}"#
    );
}
