//! The messages of the published server, byte for byte.

use super::*;

/// The message with `ENV` and `M` put in, where the stamp names the event as `event_type`.
fn expected(template: &str, event_type: &str) -> String {
    let env = format!(
        r#"{{"team_run_id":"run_1","run_version":1,"sequence":7,"source_node_id":"hub_1","origin":"local","event_type":"{event_type}","received_at":"2026-03-01T10:00:00.000Z"}}"#
    );
    let m = r#""agent_name":"lead","agent_id":"member_0a","member_route_key":"lead","event_scope":"member_scoped","team_stream_event_envelope":ENV"#;
    template
        .replace(",M}", &format!(",{m}}}"))
        .replace("ENV", &env)
}

fn assert_flat(event: AgentEventData<'_>, event_type: &str, template: &str) {
    let event = lead(event);
    assert_eq!(flat(&event), expected(template, event_type));
    // Alone it is the same without all that tells of the team.
    let mut alone = template.replace(",M}", "}");
    if let Some((start, end)) = alone
        .find(r#","approval_token""#)
        .zip(alone.find("\"targetMemberName\":\"lead\"}"))
    {
        alone.replace_range(start..end + "\"targetMemberName\":\"lead\"}".len(), "");
    }
    assert_eq!(single(&event), alone);
}

#[test]
fn connections_begin_and_fail_as_at_the_published_server() {
    assert_eq!(
        connected_team("team_1a2b3c4d", "6f0e..."),
        r#"{"type":"CONNECTED","payload":{"team_id":"team_1a2b3c4d","session_id":"6f0e..."}}"#
    );
    assert_eq!(
        connected_agent("a", "s"),
        r#"{"type":"CONNECTED","payload":{"agent_id":"a","session_id":"s"}}"#
    );
    assert_eq!(
        error("TEAM_NOT_FOUND", "Team 'x' not found", None),
        r#"{"type":"ERROR","payload":{"code":"TEAM_NOT_FOUND","message":"Team 'x' not found"}}"#
    );
    assert_eq!(
        error("OFFLINE", "it is away", Some("m-1")),
        r#"{"type":"ERROR","payload":{"code":"OFFLINE","message":"it is away","message_id":"m-1"}}"#
    );
    assert_eq!(
        accepted("m-1", Some("t")),
        r#"{"type":"MESSAGE_ACCEPTED","payload":{"message_id":"m-1","task_id":"t"}}"#
    );
    assert_eq!(
        accepted("m-2", None),
        r#"{"type":"MESSAGE_ACCEPTED","payload":{"message_id":"m-2"}}"#
    );
    assert_eq!(
        snapshot_agent_status(AgentStatus::AwaitingToolApproval),
        r#"{"type":"AGENT_STATUS","payload":{"new_status":"awaiting_tool_approval","old_status":null}}"#
    );
}

#[test]
fn a_gap_names_the_run_and_what_is_gone() {
    assert_eq!(
        gap("run_1", 3, 9),
        r#"{"type":"GAP","payload":{"event_scope":"team_scoped","team_run_id":"run_1","from_sequence":3,"to_sequence":9}}"#
    );
}

#[test]
fn states_of_the_team_are_team_scoped() {
    let running = outgoing(EventSource::Team {
        new: TeamStatus::Running,
        old: Some(TeamStatus::Idle),
        error_message: None,
    });
    assert_eq!(
        flat(&running),
        expected(
            r#"{"type":"TEAM_STATUS","payload":{"new_status":"processing","old_status":"idle","event_scope":"team_scoped","team_stream_event_envelope":ENV}}"#,
            "TEAM_STATUS"
        )
    );
    let failed = outgoing(EventSource::Team {
        new: TeamStatus::Error,
        old: Some(TeamStatus::Running),
        error_message: Some("route failed"),
    });
    assert_eq!(
        unstamped(&failed),
        r#"{"type":"TEAM_STATUS","payload":{"new_status":"error","old_status":"processing","error_message":"route failed","event_scope":"team_scoped"}}"#
    );
}

#[test]
fn states_of_a_member_carry_its_place() {
    assert_flat(
        AgentEventData::Status {
            new: AgentStatus::ExecutingTool,
            old: Some(AgentStatus::AnalyzingLlmResponse),
            trigger: None,
            tool_name: Some("grep"),
            error_message: None,
        },
        "AGENT:AGENT_STATUS",
        r#"{"type":"AGENT_STATUS","payload":{"new_status":"executing_tool","old_status":"analyzing_llm_response","tool_name":"grep",M}}"#,
    );
    assert_flat(
        AgentEventData::Status {
            new: AgentStatus::Error,
            old: None,
            trigger: Some("call"),
            tool_name: None,
            error_message: Some("gone"),
        },
        "AGENT:AGENT_STATUS",
        r#"{"type":"AGENT_STATUS","payload":{"new_status":"error","trigger":"call","error_message":"gone",M}}"#,
    );
}

#[test]
fn segments_of_text_begin_go_on_and_end() {
    let id = "turn_a:seg_1";
    let segments = [
        (
            SegmentEvent::Start {
                id,
                kind: SegmentKind::Text,
                metadata: None,
            },
            "AGENT:SEGMENT_START",
            r#"{"type":"SEGMENT_START","payload":{"id":"turn_a:seg_1","segment_type":"text",M}}"#,
        ),
        (
            SegmentEvent::Start {
                id,
                kind: SegmentKind::Reasoning,
                metadata: None,
            },
            "AGENT:SEGMENT_START",
            r#"{"type":"SEGMENT_START","payload":{"id":"turn_a:seg_1","segment_type":"reasoning",M}}"#,
        ),
        (
            SegmentEvent::Content {
                kind: None,
                id,
                delta: "Two files",
            },
            "AGENT:SEGMENT_CONTENT",
            r#"{"type":"SEGMENT_CONTENT","payload":{"id":"turn_a:seg_1","delta":"Two files",M}}"#,
        ),
        (
            SegmentEvent::End { id, metadata: None },
            "AGENT:SEGMENT_END",
            r#"{"type":"SEGMENT_END","payload":{"id":"turn_a:seg_1",M}}"#,
        ),
    ];
    for (segment, event_type, template) in segments {
        assert_flat(AgentEventData::Segment(segment), event_type, template);
    }
}

#[test]
fn segments_of_tool_calls_name_the_tool_first_and_its_arguments_last() {
    let metadata = SegmentMetadata {
        tool_name: Some("grep"),
        arguments: None,
    };
    assert_flat(
        AgentEventData::Segment(SegmentEvent::Start {
            id: "call_1",
            kind: SegmentKind::ToolCall,
            metadata: Some(metadata),
        }),
        "AGENT:SEGMENT_START",
        r#"{"type":"SEGMENT_START","payload":{"id":"call_1","segment_type":"tool_call","metadata":{"tool_name":"grep"},M}}"#,
    );
    assert_flat(
        AgentEventData::Segment(SegmentEvent::End {
            id: "call_1",
            metadata: Some(SegmentMetadata {
                arguments: Some(raw(r#"{"q":"x"}"#)),
                ..metadata
            }),
        }),
        "AGENT:SEGMENT_END",
        r#"{"type":"SEGMENT_END","payload":{"id":"call_1","metadata":{"tool_name":"grep","arguments":{"q":"x"}},M}}"#,
    );
}

#[test]
fn tool_calls_are_asked_for_decided_run_and_logged() {
    let (invocation_id, tool_name) = ("call_1", "grep");
    let arguments = raw(r#"{"q":"x"}"#);
    let events = [
        (
            AgentEventData::ApprovalRequested {
                invocation_id,
                tool_name,
                arguments,
                turn_id: None,
                message: Some("May I?"),
            },
            "AGENT:TOOL_APPROVAL_REQUESTED",
            r#"{"type":"TOOL_APPROVAL_REQUESTED","payload":{"invocation_id":"call_1","tool_name":"grep","arguments":{"q":"x"},"message":"May I?","approval_token":{"teamRunId":"run_1","runVersion":1,"invocationId":"call_1","invocationVersion":1,"targetMemberName":"lead"},M}}"#,
        ),
        (
            AgentEventData::Approved {
                invocation_id,
                tool_name,
                reason: Some("fine"),
            },
            "AGENT:TOOL_APPROVED",
            r#"{"type":"TOOL_APPROVED","payload":{"invocation_id":"call_1","tool_name":"grep","reason":"fine",M}}"#,
        ),
        (
            AgentEventData::Denied {
                invocation_id,
                tool_name,
                reason: "not now",
                error: "not now",
            },
            "AGENT:TOOL_DENIED",
            r#"{"type":"TOOL_DENIED","payload":{"invocation_id":"call_1","tool_name":"grep","reason":"not now","error":"not now",M}}"#,
        ),
        (
            AgentEventData::ToolStarted {
                invocation_id,
                tool_name,
                arguments: Some(arguments),
            },
            "AGENT:TOOL_EXECUTION_STARTED",
            r#"{"type":"TOOL_EXECUTION_STARTED","payload":{"invocation_id":"call_1","tool_name":"grep","arguments":{"q":"x"},M}}"#,
        ),
        (
            AgentEventData::ToolSucceeded {
                invocation_id,
                tool_name,
                result: Some(raw("[1,2]")),
            },
            "AGENT:TOOL_EXECUTION_SUCCEEDED",
            r#"{"type":"TOOL_EXECUTION_SUCCEEDED","payload":{"invocation_id":"call_1","tool_name":"grep","result":[1,2],M}}"#,
        ),
        (
            AgentEventData::ToolFailed {
                invocation_id,
                tool_name,
                error: "no such file",
            },
            "AGENT:TOOL_EXECUTION_FAILED",
            r#"{"type":"TOOL_EXECUTION_FAILED","payload":{"invocation_id":"call_1","tool_name":"grep","error":"no such file",M}}"#,
        ),
        (
            AgentEventData::ToolLog {
                entry: "started",
                tool_invocation_id: invocation_id,
                tool_name,
            },
            "AGENT:TOOL_LOG",
            r#"{"type":"TOOL_LOG","payload":{"log_entry":"started","tool_invocation_id":"call_1","tool_name":"grep",M}}"#,
        ),
    ];
    for (event, event_type, template) in events {
        assert_flat(event, event_type, template);
    }
}

#[test]
fn answers_messages_notices_and_errors_are_the_published_servers() {
    assert_flat(
        AgentEventData::Complete {
            content: "Done",
            is_cut: false,
            usage: Some(raw(
                r#"{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}"#,
            )),
            reasoning: None,
            image_urls: &[],
            audio_urls: &[],
            video_urls: &[],
        },
        "AGENT:ASSISTANT_COMPLETE",
        r#"{"type":"ASSISTANT_COMPLETE","payload":{"content":"Done","usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13},"image_urls":[],"audio_urls":[],"video_urls":[],M}}"#,
    );
    assert_flat(
        AgentEventData::Complete {
            content: "Do",
            is_cut: true,
            usage: None,
            reasoning: None,
            image_urls: &[],
            audio_urls: &[],
            video_urls: &[],
        },
        "AGENT:ASSISTANT_COMPLETE",
        r#"{"type":"ASSISTANT_COMPLETE","payload":{"content":"Do","content_truncated":true,"image_urls":[],"audio_urls":[],"video_urls":[],M}}"#,
    );
    assert_flat(
        AgentEventData::InterAgent {
            sender_agent_id: "member_0a",
            recipient_role_name: "Developer",
            content: "take this",
            message_type: "direct_message",
        },
        "AGENT:INTER_AGENT_MESSAGE",
        r#"{"type":"INTER_AGENT_MESSAGE","payload":{"sender_agent_id":"member_0a","recipient_role_name":"Developer","content":"take this","message_type":"direct_message",M}}"#,
    );
    assert_flat(
        AgentEventData::SystemNotification {
            sender_id: "system.task_notifier",
            content: "go",
        },
        "AGENT:SYSTEM_TASK_NOTIFICATION",
        r#"{"type":"SYSTEM_TASK_NOTIFICATION","payload":{"sender_id":"system.task_notifier","content":"go",M}}"#,
    );
    assert_flat(
        AgentEventData::Error {
            code: "LLM_ERROR",
            message: "quota",
            details: Some("429"),
        },
        "AGENT:ERROR",
        r#"{"type":"ERROR","payload":{"code":"LLM_ERROR","message":"quota","details":"429",M}}"#,
    );
}

#[test]
fn artifacts_name_their_agent_once() {
    let persisted = lead(AgentEventData::ArtifactPersisted {
        artifact_id: "a1",
        path: "out/a.md",
        agent_id: None,
        kind: "file",
        url: Some("http://h/a"),
    });
    assert_eq!(
        flat(&persisted),
        expected(
            r#"{"type":"ARTIFACT_PERSISTED","payload":{"artifact_id":"a1","path":"out/a.md","type":"file","url":"http://h/a",M}}"#,
            "AGENT:ARTIFACT_PERSISTED"
        )
    );
    assert_eq!(
        single(&persisted),
        r#"{"type":"ARTIFACT_PERSISTED","payload":{"artifact_id":"a1","path":"out/a.md","agent_id":"member_0a","type":"file","url":"http://h/a"}}"#
    );
    let updated = lead(AgentEventData::ArtifactUpdated {
        artifact_id: None,
        path: "out/a.md",
        agent_id: None,
        kind: "file",
    });
    assert_eq!(
        single(&updated),
        r#"{"type":"ARTIFACT_UPDATED","payload":{"path":"out/a.md","agent_id":"member_0a","type":"file"}}"#
    );
}

#[test]
fn changes_of_the_task_board_are_team_scoped() {
    let created = outgoing(EventSource::TasksCreated {
        tasks: &[PlanTask {
            id: "task_0001",
            task_name: "scan",
            task_id: "task_0001",
            assignee_name: "dev",
            description: "Scan it",
            dependencies: &[],
            file_deliverables: &[],
            status: "not_started",
        }],
    });
    let written = unstamped(&created);
    assert_holds(
        &written,
        r#"{"type":"TASK_PLAN_EVENT","payload":{"event_type":"TASKS_CREATED","team_id":"team_1","tasks":[{"task_name":"scan","task_id":"task_0001","assignee_name":"dev","description":"Scan it","dependencies":[],"file_deliverables":[]}],"event_scope":"team_scoped"}}"#,
    );
    // Both spellings of the id, and how far it is.
    assert_eq!(
        written,
        r#"{"type":"TASK_PLAN_EVENT","payload":{"event_type":"TASKS_CREATED","team_id":"team_1","tasks":[{"id":"task_0001","task_name":"scan","task_id":"task_0001","assignee_name":"dev","description":"Scan it","dependencies":[],"file_deliverables":[],"status":"not_started"}],"event_scope":"team_scoped"}}"#
    );
    let deliverables = [Deliverable {
        file_path: "a.md".into(),
        summary: "notes".into(),
        author_agent_name: "dev".into(),
        timestamp: AT.into(),
    }];
    let completed = outgoing(EventSource::TaskStatus {
        task_id: "task_0001",
        new_status: "completed",
        agent_name: "dev",
        deliverables: Some(&deliverables),
    });
    assert_eq!(
        unstamped(&completed),
        r#"{"type":"TASK_PLAN_EVENT","payload":{"event_type":"TASK_STATUS_UPDATED","team_id":"team_1","task_id":"task_0001","new_status":"completed","agent_name":"dev","deliverables":[{"file_path":"a.md","summary":"notes","author_agent_name":"dev","timestamp":"2026-03-01T10:00:00.000Z"}],"event_scope":"team_scoped"}}"#
    );
    for (event, event_type) in [
        (created, "TASK_PLAN:TASKS_CREATED"),
        (completed, "TASK_PLAN:TASK_STATUS_UPDATED"),
    ] {
        assert_holds(
            &flat(&event),
            &format!(
                r#"{{"payload":{{"team_stream_event_envelope":{{"event_type":"{event_type}"}}}}}}"#
            ),
        );
        assert_eq!(flatten_single(&event), None);
    }
}

#[test]
fn members_of_nested_teams_keep_their_name_and_get_a_route() {
    let event = OutgoingEvent {
        path: &NESTED,
        ..outgoing(EventSource::Agent {
            name: "dba",
            agent_id: "member_9f",
            event: AgentEventData::Status {
                new: AgentStatus::Idle,
                old: None,
                trigger: None,
                tool_name: None,
                error_message: None,
            },
        })
    };
    assert_eq!(
        flat(&event),
        expected(
            r#"{"type":"AGENT_STATUS","payload":{"new_status":"idle","agent_name":"dba","agent_id":"member_9f","member_route_key":"backend/db/dba","event_scope":"member_scoped","sub_team_node_name":"backend","team_stream_event_envelope":ENV}}"#,
            "SUB_TEAM:SUB_TEAM"
        )
    );
    let event = OutgoingEvent {
        path: &NESTED[..1],
        ..event
    };
    assert_holds(
        &flat(&event),
        r#"{"payload":{"member_route_key":"backend/dba","sub_team_node_name":"backend","team_stream_event_envelope":{"event_type":"SUB_TEAM:AGENT"}}}"#,
    );
}

#[test]
fn a_token_leads_to_a_member_at_any_depth() {
    let event = OutgoingEvent {
        path: &NESTED,
        ..lead(AgentEventData::ApprovalRequested {
            invocation_id: "call_1",
            tool_name: "rm",
            arguments: raw("null"),
            turn_id: Some("turn_1"),
            message: None,
        })
    };
    assert_holds(
        &flat(&event),
        r#"{"payload":{"arguments":null,"turn_id":"turn_1","approval_token":{"teamRunId":"run_1","invocationId":"call_1","targetMemberName":"backend/db/lead"},"agent_name":"lead"}}"#,
    );
    assert!(!unstamped(&event).contains("approval_token"));
}

#[test]
fn nested_teams_and_boards_name_the_outermost_node_and_their_own_team() {
    let status = OutgoingEvent {
        path: &NESTED[..1],
        ..outgoing(EventSource::Team {
            new: TeamStatus::Running,
            old: None,
            error_message: None,
        })
    };
    assert_holds(
        &flat(&status),
        r#"{"type":"TEAM_STATUS","payload":{"event_scope":"team_scoped","sub_team_node_name":"backend","team_stream_event_envelope":{"event_type":"SUB_TEAM:TEAM"}}}"#,
    );
    let board = OutgoingEvent {
        path: &NESTED,
        ..outgoing(EventSource::TasksCreated { tasks: &[] })
    };
    assert_holds(
        &flat(&board),
        r#"{"payload":{"team_id":"team_3","tasks":[],"sub_team_node_name":"backend","team_stream_event_envelope":{"event_type":"SUB_TEAM:SUB_TEAM"}}}"#,
    );
}

#[test]
fn an_agent_without_an_id_is_written_without_one() {
    let event = outgoing(EventSource::Agent {
        name: "lead",
        agent_id: "",
        event: AgentEventData::SystemNotification {
            sender_id: "hub",
            content: "\"x\"\n",
        },
    });
    assert_eq!(
        unstamped(&event),
        r#"{"type":"SYSTEM_TASK_NOTIFICATION","payload":{"sender_id":"hub","content":"\"x\"\n","agent_name":"lead","member_route_key":"lead","event_scope":"member_scoped"}}"#
    );
}
