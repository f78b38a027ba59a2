//! Every way a message or an envelope can be wrong: the code of the refusal and the path of the field are part of the
//! contract. A few sentences are held too, since the author of a client or a runtime reads them.

use super::*;

fn refused(text: &str) -> MessageFault {
    match read_client_message(text, &EnvelopeLimits::default()) {
        Err(fault) => fault,
        Ok(message) => panic!("{text} was taken for {message:?}"),
    }
}

fn refused_envelope(text: &str) -> MessageFault {
    match read_envelopes(text, &EnvelopeLimits::default()) {
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
    let limits = EnvelopeLimits::default();
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
        (r#"{}"#, invalid, "type"),
        (r#"{"type":1}"#, invalid, "type"),
        (r#"{"type":" "}"#, invalid, "type"),
        (r#"{"type":"SEND_MESSAGE","type":"X"}"#, invalid, "type"),
        (
            "{\"type\":\"PING\\nx\"}",
            code::UNKNOWN_MESSAGE_TYPE,
            "type",
        ),
        (
            r#"{"type":"send_message","payload":{"content":"x"}}"#,
            code::UNKNOWN_MESSAGE_TYPE,
            "type",
        ),
        (r#"{"type":"SEND_MESSAGE"}"#, invalid, "payload"),
        (
            r#"{"type":"SEND_MESSAGE","payload":[]}"#,
            invalid,
            "payload",
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{}}"#,
            invalid,
            "payload.content",
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":1}}"#,
            invalid,
            "payload.content",
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","content":"b"}}"#,
            invalid,
            "payload.content",
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","target_member_name":7}}"#,
            invalid,
            "payload.target_member_name",
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","image_urls":"u"}}"#,
            invalid,
            "payload.image_urls",
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","contextFilePaths":["a",{}]}}"#,
            invalid,
            "payload.contextFilePaths[1]",
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":"a","imageUrls":[],"image_urls":[]}}"#,
            invalid,
            "payload.imageUrls",
        ),
        (
            r#"{"type":"STOP_GENERATION","payload":"now"}"#,
            invalid,
            "payload",
        ),
        (
            r#"{"type":"STOP_GENERATION","payload":{"agent_name":[]}}"#,
            invalid,
            "payload.agent_name",
        ),
        (r#"{"type":"APPROVE_TOOL"}"#, invalid, "payload"),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"agent_name":"lead"}}"#,
            code::APPROVAL_TOKEN_REQUIRED,
            "payload.invocation_id",
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":""}}"#,
            code::APPROVAL_TOKEN_REQUIRED,
            "payload.invocation_id",
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":3}}"#,
            invalid,
            "payload.invocation_id",
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":"i","reason":{}}}"#,
            invalid,
            "payload.reason",
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"invocation_id":"i","approval_token":"t"}}"#,
            code::INVALID_APPROVAL_TOKEN,
            "payload.approval_token",
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"invocation_id":"i","approval_token":{"invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            "payload.approval_token.team_run_id",
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","invocationId":" ","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            "payload.approval_token.invocationId",
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","invocationId":"i"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            "payload.approval_token.target_member_name",
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","runVersion":"x","invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            "payload.approval_token.runVersion",
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","invocation_version":-1,"invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            "payload.approval_token.invocation_version",
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{"approval_token":{"teamRunId":"r","team_run_id":"s","invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            "payload.approval_token.team_run_id",
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":"other","approval_token":{"teamRunId":"r","invocationId":"i","targetMemberName":"m"}}}"#,
            code::INVALID_APPROVAL_TOKEN,
            "payload.approval_token",
        ),
    ] {
        let fault = refused(text);
        let found = (fault.code, &*fault.misread.path);
        assert_eq!(found, (code, expected), "{text}: {fault}");
    }
}

#[test]
fn each_mistake_of_an_envelope_names_the_field() {
    for (text, expected) in [
        (r#"{}"#, "event_source_type"),
        (
            r#"{"event_source_type":"AGENTS","data":{}}"#,
            "event_source_type",
        ),
        (
            r#"{"event_source_type":"TEAM | AGENT","data":{}}"#,
            "event_source_type",
        ),
        (r#"{"event_source_type":"TEAM"}"#, "data"),
        (r#"{"event_source_type":"TEAM","data":[]}"#, "data"),
        (
            r#"{"event_source_type":"TEAM","data":{},"data":{}}"#,
            "data",
        ),
        (
            r#"{"event_source_type":"TEAM","data":{"new_status":"idle","x":1,"x":2}}"#,
            "data.x",
        ),
        (
            r#"{"event_id":1,"event_source_type":"TEAM","data":{"new_status":"idle"}}"#,
            "event_id",
        ),
        (
            r#"{"team_id":1,"event_source_type":"TEAM","data":{"new_status":"idle"}}"#,
            "team_id",
        ),
        (
            r#"{"timestamp":"yesterday","event_source_type":"TEAM","data":{"new_status":"idle"}}"#,
            "timestamp",
        ),
        (
            r#"{"timestamp":1767700000,"event_source_type":"TEAM","data":{"new_status":"idle"}}"#,
            "timestamp",
        ),
        (
            r#"{"event_source_type":"TEAM","data":{}}"#,
            "data.new_status",
        ),
        (
            r#"{"event_source_type":"TEAM","data":{"new_status":"BUSY"}}"#,
            "data.new_status",
        ),
        (
            r#"{"event_source_type":"TEAM","data":{"new_status":"IDLE","old_status":1}}"#,
            "data.old_status",
        ),
        (r#"{"event_source_type":"TASK_PLAN","data":{}}"#, "data"),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{"tasks":{}}}"#,
            "data.tasks",
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{"tasks":[{},1]}}"#,
            "data.tasks[1]",
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{"task_id":"1"}}"#,
            "data.new_status",
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{"team_id":1,"tasks":[]}}"#,
            "data.team_id",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_event":{}}}"#,
            "data.agent_name",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":" ","agent_event":{}}}"#,
            "data.agent_name",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a"}}"#,
            "data.agent_event",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":"x"}}"#,
            "data.agent_event",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"data":{}}}}"#,
            "data.agent_event.event_type",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"event_type":"dream","data":{}}}}"#,
            "data.agent_event.event_type",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"event_type":"error_event"}}}"#,
            "data.agent_event.data",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"timestamp":1,"event_type":"error_event","data":{}}}}"#,
            "data.agent_event.timestamp",
        ),
        (
            r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"agent_id":1,"event_type":"error_event","data":{"code":"c","message":"m"}}}}"#,
            "data.agent_event.agent_id",
        ),
        (
            r#"{"event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"","sub_team_event":{}}}"#,
            "data.sub_team_node_name",
        ),
        (
            r#"{"event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"n"}}"#,
            "data.sub_team_event",
        ),
        (
            r#"{"event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"n","sub_team_event":1}}"#,
            "data.sub_team_event",
        ),
        (
            r#"{"event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"n","sub_team_event":{"event_source_type":"TEAM","data":{}}}}"#,
            "data.sub_team_event.data.new_status",
        ),
    ] {
        let fault = refused_envelope(text);
        let found = (fault.code, &*fault.misread.path);
        assert_eq!(found, (code::INVALID_MESSAGE, expected), "{text}: {fault}");
    }
}

#[test]
fn each_type_of_event_must_have_its_fields() {
    for (event_type, data, expected) in [
        ("segment_event", r#"{}"#, "type"),
        ("segment_event", r#"{"type":"SEGMENT_PAUSE"}"#, "type"),
        (
            "segment_event",
            r#"{"event_type":"segment_start"}"#,
            "event_type",
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","event_type":"SEGMENT_END"}"#,
            "event_type",
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","segment_id":4}"#,
            "segment_id",
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","segment_type":4}"#,
            "segment_type",
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","payload":"x"}"#,
            "payload",
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_CONTENT","segment_id":"s"}"#,
            "payload",
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_CONTENT","segment_id":"s","payload":{"delta":1}}"#,
            "payload.delta",
        ),
        (
            "segment_event",
            r#"{"type":"SEGMENT_START","payload":{"a":1,"a":2}}"#,
            "payload.a",
        ),
        ("agent_status_updated", r#"{}"#, "new_status"),
        (
            "agent_status_updated",
            r#"{"new_status":"idle","old_status":[]}"#,
            "old_status",
        ),
        ("assistant_chunk", r#"{"content":"x"}"#, "is_complete"),
        (
            "assistant_chunk",
            r#"{"content":"x","is_complete":"no"}"#,
            "is_complete",
        ),
        ("assistant_chunk", r#"{"is_complete":true}"#, "content"),
        (
            "assistant_complete_response",
            r#"{"content":null}"#,
            "content",
        ),
        (
            "tool_approval_requested",
            r#"{"invocation_id":"i","tool_name":"t"}"#,
            "arguments",
        ),
        (
            "tool_approval_requested",
            r#"{"tool_name":"t","arguments":{}}"#,
            "invocation_id",
        ),
        (
            "tool_approved",
            r#"{"invocation_id":"i","tool_name":""}"#,
            "tool_name",
        ),
        (
            "tool_denied",
            r#"{"invocation_id":"i","tool_name":"t"}"#,
            "reason",
        ),
        (
            "tool_execution_started",
            r#"{"tool_name":"t"}"#,
            "invocation_id",
        ),
        (
            "tool_execution_succeeded",
            r#"{"invocation_id":"i"}"#,
            "tool_name",
        ),
        (
            "tool_execution_failed",
            r#"{"invocation_id":"i","tool_name":"t"}"#,
            "error",
        ),
        (
            "tool_interaction_log_entry",
            r#"{"log_entry":"l","invocation_id":"i","tool_name":"t"}"#,
            "tool_invocation_id",
        ),
        (
            "system_task_notification",
            r#"{"content":"c"}"#,
            "sender_id",
        ),
        (
            "inter_agent_message",
            r#"{"sender_agent_id":"s","recipient_role_name":"r","message_type":"m"}"#,
            "content",
        ),
        ("agent_todo_list_updated", r#"{"todos":[1]}"#, "todos[0]"),
        (
            "artifact_persisted",
            r#"{"artifact_id":"a","path":"p","type":"f"}"#,
            "agent_id",
        ),
        ("artifact_updated", r#"{"agent_id":"a","type":"f"}"#, "path"),
        ("error_event", r#"{"code":"c"}"#, "message"),
    ] {
        let text = published(event_type, data);
        assert_eq!(
            refused_envelope(&text).misread.path,
            format!("data.agent_event.data.{expected}"),
            "{text}"
        );
    }
}

#[test]
fn a_mistake_in_an_array_names_its_place_and_refuses_all() {
    let good = r#"{"event_source_type":"TEAM","data":{"new_status":"idle"}}"#;
    let bad = published("segment_event", r#"{"type":"SEGMENT_END","segment_id":1}"#);
    let fault = refused_envelope(&format!("[{good},{good},{good},{bad}]"));
    assert_eq!(fault.misread.path, "[3].data.agent_event.data.segment_id");
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
fn a_refusal_says_what_to_write_instead() {
    for (text, sentence) in [
        (
            r#"{"type":"HELLO\n"}"#,
            r#"field "type" must be SEND_MESSAGE, STOP_GENERATION, APPROVE_TOOL or DENY_TOOL, not "HELLO\n""#,
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{}}"#,
            r#"field "payload.content" is required"#,
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{}}"#,
            r#"field "payload.invocation_id" is required, or "approval_token""#,
        ),
    ] {
        let fault = refused(text);
        assert_eq!(fault.to_string(), sentence);
        let told = value(&error(fault.code, &fault.to_string(), None));
        assert_eq!(told["payload"]["message"], sentence);
    }
    for (text, sentence) in [
        (
            r#"{"event_source_type":"TEAMS","data":{}}"#,
            r#"field "event_source_type" must be one of TEAM, AGENT, SUB_TEAM, TASK_PLAN, not "TEAMS""#,
        ),
        (
            r#"{"event_source_type":"TASK_PLAN","data":{}}"#,
            r#"field "data" must have "tasks" or "task_id""#,
        ),
    ] {
        assert_eq!(refused_envelope(text).to_string(), sentence);
    }
    let state = refused_envelope(r#"{"event_source_type":"TEAM","data":{"new_status":"BUSY"}}"#);
    let sentence = state.to_string();
    for word in ["IDLE", "RUNNING", "SHUTTING_DOWN", "BUSY"] {
        assert!(sentence.contains(word), "{sentence}");
    }
}
