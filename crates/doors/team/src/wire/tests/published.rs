//! What outside runtimes publish: what is read of it, and what viewers are sent.

use super::*;

fn flat_of(event_type: &str, data: &str) -> String {
    let text = published(event_type, data);
    let published = read_one(&text);
    unstamped(&outgoing(EventSource::Published(published.raw)))
}

/// The message of the member `lead` with these fields of its own.
fn of_lead(message_type: &str, fields: &str) -> String {
    format!(
        r#"{{"type":"{message_type}","payload":{{{fields},"agent_name":"lead","agent_id":"member_0a","member_route_key":"lead","event_scope":"member_scoped"}}}}"#
    )
}

#[test]
fn an_array_is_read_in_its_order() {
    let text = format!(
        "[{}, {}]",
        published("agent_status_updated", r#"{"new_status":"IDLE"}"#),
        r#"{"event_source_type":"TEAM","data":{"new_status":"processing"}}"#
    );
    let read = read(&text);
    assert_eq!(
        read[0].said,
        PublishedSource::Agent {
            name: "lead".into(),
            agent_id: Some("member_0a".into()),
            status: Some(AgentStatus::Idle)
        }
    );
    assert_eq!(
        read[1].said,
        PublishedSource::Team {
            new: TeamStatus::Running
        }
    );
    assert!(text.contains(read[1].raw.get()));
    assert!(
        read_envelopes("[]", &EnvelopeLimits::default())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn nested_envelopes_tell_their_way() {
    let inner = published("agent_status_updated", r#"{"new_status":"dreaming"}"#);
    let text = wrapped(&inner, 2);
    let published = read_one(&text);
    assert_eq!(published.nodes, ["n1", "n2"]);
    assert_eq!(
        published.team_ids,
        [Some("t1".into()), Some("t2".into()), None]
    );
    // A state that nobody knows is passed on, in the case that viewers expect.
    assert!(matches!(
        published.said,
        PublishedSource::Agent { status: None, .. }
    ));
    let event = outgoing(EventSource::Published(published.raw));
    assert_eq!(
        unstamped(&event),
        r#"{"type":"AGENT_STATUS","payload":{"new_status":"dreaming","agent_name":"lead","agent_id":"member_0a","member_route_key":"n1/n2/lead","event_scope":"member_scoped","sub_team_node_name":"n1"}}"#
    );
    let event = OutgoingEvent {
        path: &NESTED,
        ..event
    };
    assert_holds(
        &flat(&event),
        r#"{"payload":{"member_route_key":"backend/db/n1/n2/lead","sub_team_node_name":"backend","team_stream_event_envelope":{"event_type":"SUB_TEAM:SUB_TEAM"}}}"#,
    );
}

#[test]
fn sixteen_teams_may_stand_around_an_event_and_no_more() {
    let inner = published("error_event", r#"{"code":"c","message":"m"}"#);
    let text = wrapped(&inner, MAX_NESTING);
    assert_eq!(read_one(&text).nodes.len(), 16);
    value(&flat(&outgoing(EventSource::Published(raw(&text)))));

    let text = wrapped(&inner, MAX_NESTING + 1);
    let fault = read_envelopes(&text, &EnvelopeLimits::default()).unwrap_err();
    let place = "data.sub_team_event.".repeat(16);
    assert_eq!(fault.misread.path, format!("{place}data.sub_team_event"));
}

#[test]
fn an_id_inside_a_payload_never_replaces_the_segments() {
    assert_eq!(
        flat_of(
            "segment_event",
            r#"{"type":"SEGMENT_CONTENT","segment_id":"s1","payload":{"id":"forged","delta":"x"}}"#
        ),
        of_lead("SEGMENT_CONTENT", r#""id":"s1","delta":"x""#)
    );
    assert_eq!(
        flat_of(
            "segment_event",
            r#"{"event_type":"SEGMENT_CONTENT","payload":{"delta":"x","id":"s2"}}"#
        ),
        of_lead("SEGMENT_CONTENT", r#""id":"s2","delta":"x""#)
    );
    for payload in ["{}", r#"{"id":""}"#, r#"{"id":7}"#, "null"] {
        assert_eq!(
            flat_of(
                "segment_event",
                &format!(
                    r#"{{"type":"SEGMENT_END","event_type":"SEGMENT_END","segment_id":"","payload":{payload}}}"#
                )
            ),
            of_lead("SEGMENT_END", r#""id":"lead:segment""#)
        );
    }
}

#[test]
fn a_segment_keeps_what_its_payload_holds() {
    assert_eq!(
        flat_of(
            "segment_event",
            r#"{"type":"SEGMENT_START","segment_id":"s1","segment_type":"media","payload":{"metadata":{"media_type":"image","urls":["u"]},"segment_type":"text","later":[1, 2]}}"#
        ),
        of_lead(
            "SEGMENT_START",
            r#""id":"s1","segment_type":"media","metadata":{"media_type":"image","urls":["u"]},"later":[1, 2]"#
        )
    );
}

#[test]
fn no_field_of_a_runtime_passes_for_one_of_the_hub() {
    let forged = r#""agent_name":"boss","agent_id":"x","member_route_key":"boss","event_scope":"team_scoped","sub_team_node_name":"n","team_stream_event_envelope":{"sequence":1},"approval_token":{}"#;
    assert_eq!(
        flat_of(
            "tool_approved",
            &format!(r#"{{"invocation_id":"i","tool_name":"t",{forged}}}"#)
        ),
        of_lead("TOOL_APPROVED", r#""invocation_id":"i","tool_name":"t""#)
    );
    assert_eq!(
        flat_of(
            "segment_event",
            &format!(
                r#"{{"type":"SEGMENT_CONTENT","segment_id":"s","payload":{{"delta":"x",{forged}}}}}"#
            )
        ),
        of_lead("SEGMENT_CONTENT", r#""id":"s","delta":"x""#)
    );
    let text =
        format!(r#"{{"event_source_type":"TEAM","data":{{"new_status":"error",{forged}}}}}"#);
    assert_eq!(
        unstamped(&outgoing(EventSource::Published(raw(&text)))),
        r#"{"type":"TEAM_STATUS","payload":{"new_status":"error","agent_name":"boss","agent_id":"x","event_scope":"team_scoped"}}"#
    );
}

#[test]
fn every_type_of_event_becomes_its_message() {
    for (event_type, data, message_type, fields) in [
        (
            "agent_status_updated",
            r#"{"new_status":"IDLE","old_status":"Executing_Tool","denial_for_tool":"t","trigger":null}"#,
            "AGENT_STATUS",
            r#""new_status":"idle","old_status":"executing_tool","denial_for_tool":"t""#,
        ),
        (
            "assistant_complete_response",
            r#"{"content":"","usage":{"total_tokens":1}}"#,
            "ASSISTANT_COMPLETE",
            r#""content":"","usage":{"total_tokens":1}"#,
        ),
        (
            "tool_approval_requested",
            r#"{"invocation_id":"i","tool_name":"t","arguments":{"a": 1},"turn_id":null}"#,
            "TOOL_APPROVAL_REQUESTED",
            r#""invocation_id":"i","tool_name":"t","arguments":{"a": 1}"#,
        ),
        (
            "tool_denied",
            r#"{"invocation_id":"i","tool_name":"t","error":"no"}"#,
            "TOOL_DENIED",
            r#""invocation_id":"i","tool_name":"t","error":"no""#,
        ),
        (
            "tool_execution_started",
            r#"{"invocation_id":"i","tool_name":"t"}"#,
            "TOOL_EXECUTION_STARTED",
            r#""invocation_id":"i","tool_name":"t""#,
        ),
        (
            "tool_execution_succeeded",
            r#"{"invocation_id":"i","tool_name":"t","result":"r","new_status":"AS_IT_IS"}"#,
            "TOOL_EXECUTION_SUCCEEDED",
            r#""invocation_id":"i","tool_name":"t","result":"r","new_status":"AS_IT_IS""#,
        ),
        (
            "tool_execution_failed",
            r#"{"invocation_id":"i","tool_name":"t","error":"e"}"#,
            "TOOL_EXECUTION_FAILED",
            r#""invocation_id":"i","tool_name":"t","error":"e""#,
        ),
        (
            "tool_interaction_log_entry",
            r#"{"log_entry":"l","tool_invocation_id":"i","tool_name":"t"}"#,
            "TOOL_LOG",
            r#""log_entry":"l","tool_invocation_id":"i","tool_name":"t""#,
        ),
        (
            "system_task_notification",
            r#"{"sender_id":"s","content":"c"}"#,
            "SYSTEM_TASK_NOTIFICATION",
            r#""sender_id":"s","content":"c""#,
        ),
        (
            "inter_agent_message",
            r#"{"sender_agent_id":"s","recipient_role_name":"","content":"c","message_type":"m"}"#,
            "INTER_AGENT_MESSAGE",
            r#""sender_agent_id":"s","recipient_role_name":"","content":"c","message_type":"m""#,
        ),
        (
            "agent_todo_list_updated",
            r#"{"todos":[{"description":"d","todo_id":"todo_0001","status":"pending"}]}"#,
            "TODO_LIST_UPDATE",
            r#""todos":[{"description":"d","todo_id":"todo_0001","status":"pending"}]"#,
        ),
        (
            "artifact_persisted",
            r#"{"artifact_id":"a","path":"p","agent_id":"other","type":"file","workspace_root":"/w"}"#,
            "ARTIFACT_PERSISTED",
            r#""artifact_id":"a","path":"p","type":"file","workspace_root":"/w""#,
        ),
        (
            "artifact_updated",
            r#"{"path":"p","agent_id":"other","type":"file"}"#,
            "ARTIFACT_UPDATED",
            r#""path":"p","type":"file""#,
        ),
        (
            "error_event",
            r#"{"code":"c","message":"m","caf\u00e9 \"x\"":1.50}"#,
            "ERROR",
            r#""code":"c","message":"m","café \"x\"":1.50"#,
        ),
    ] {
        assert_eq!(
            flat_of(event_type, data),
            of_lead(message_type, fields),
            "{event_type}"
        );
    }
}

#[test]
fn a_deprecated_chunk_is_sent_so_that_its_number_has_a_frame() {
    let text = published("assistant_chunk", r#"{"content":"x","is_complete":false}"#);
    read_one(&text);
    let event = outgoing(EventSource::Published(raw(&text)));
    let sent = value(&flat(&event));
    assert_eq!(sent["type"], "ASSISTANT_CHUNK");
    assert_eq!(sent["payload"]["content"], "x");
    assert_eq!(sent["payload"]["is_complete"], false);
    assert!(sent["payload"]["team_stream_event_envelope"]["sequence"].is_number());
    assert_eq!(value(&single(&event))["type"], "ASSISTANT_CHUNK");
    assert!(envelope(&event).contains("assistant_chunk"));
}

#[test]
fn what_is_no_envelope_gives_nothing() {
    for text in ["null", "{}", r#"{"event_source_type":"AGENT","data":{}}"#] {
        let event = outgoing(EventSource::Published(raw(text)));
        assert_eq!(flatten(&event, Some(&STAMP)), None);
        assert_eq!(flatten_single(&event), None);
    }
    assert_eq!(
        envelope(&outgoing(EventSource::Published(raw("{ }")))),
        r#"{ "sequence":7,"team_run_id":"run_1"}"#
    );
}

#[test]
fn a_published_request_for_approval_gets_a_token_of_the_hub() {
    let inner = published(
        "tool_approval_requested",
        r#"{"invocation_id":"i","tool_name":"t","arguments":[],"approval_token":"forged"}"#,
    );
    let text = wrapped(&inner, 1);
    assert_holds(
        &flat(&outgoing(EventSource::Published(raw(&text)))),
        r#"{"payload":{"arguments":[],"approval_token":{"teamRunId":"run_1","runVersion":1,"invocationId":"i","invocationVersion":1,"targetMemberName":"n1/lead"},"agent_name":"lead"}}"#,
    );
}

#[test]
fn alone_an_agent_is_shown_without_its_team() {
    let text = wrapped(
        &published(
            "artifact_updated",
            r#"{"path":"p","agent_id":"other","agent_name":"boss","event_scope":"x","type":"file"}"#,
        ),
        3,
    );
    assert_eq!(
        single(&outgoing(EventSource::Published(raw(&text)))),
        r#"{"type":"ARTIFACT_UPDATED","payload":{"path":"p","type":"file","agent_id":"member_0a"}}"#
    );
    let team = raw(r#"{"event_source_type":"TEAM","data":{"new_status":"idle"}}"#);
    assert_eq!(
        flatten_single(&outgoing(EventSource::Published(team))),
        None
    );
}

#[test]
fn states_of_published_teams_are_told_in_the_clients_words() {
    for (given, sent, new) in [
        ("RUNNING", "processing", TeamStatus::Running),
        ("Processing", "processing", TeamStatus::Running),
        ("STARTING", "bootstrapping", TeamStatus::Starting),
        ("bootstrapping", "bootstrapping", TeamStatus::Starting),
        ("UNINITIALIZED", "uninitialized", TeamStatus::Starting),
        ("PAUSED", "idle", TeamStatus::Paused),
        ("idle", "idle", TeamStatus::Idle),
        ("SHUTTING_DOWN", "shutting_down", TeamStatus::ShuttingDown),
        (
            "shutdown_complete",
            "shutdown_complete",
            TeamStatus::ShuttingDown,
        ),
        ("error", "error", TeamStatus::Error),
    ] {
        let text = format!(
            r#"{{"event_source_type":"TEAM","data":{{"old_status":"{given}","new_status":"{given}"}}}}"#
        );
        let published = read_one(&text);
        assert_eq!(published.said, PublishedSource::Team { new });
        let event = outgoing(EventSource::Published(published.raw));
        assert_eq!(
            unstamped(&event),
            format!(
                r#"{{"type":"TEAM_STATUS","payload":{{"old_status":"{sent}","new_status":"{sent}","event_scope":"team_scoped"}}}}"#
            )
        );
        assert!(envelope(&event).contains(&format!(r#""new_status":"{given}""#)));
    }
}

#[test]
fn published_changes_of_a_board_are_told_apart_by_their_fields() {
    let text = r#"{"event_source_type":"TASK_PLAN","data":{"team_id":"t","task_id":"1","new_status":"completed","agent_name":"dev","event_type":"forged","deliverables":null,"more":1}}"#;
    assert_eq!(read_one(text).said, PublishedSource::TaskPlan);
    assert_eq!(
        unstamped(&outgoing(EventSource::Published(raw(text)))),
        r#"{"type":"TASK_PLAN_EVENT","payload":{"event_type":"TASK_STATUS_UPDATED","team_id":"t","task_id":"1","new_status":"completed","agent_name":"dev","more":1,"event_scope":"team_scoped"}}"#
    );
}
