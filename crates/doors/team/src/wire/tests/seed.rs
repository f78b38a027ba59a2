//! Every JSON example of the seed. Its comments are left out, and its `null`s and ellipses where we write.

use super::*;

/// §3.1. The seed lists all four source types where one stands.
#[test]
fn the_envelope_has_the_fields_of_the_seed_in_their_order() {
    for (source, name) in [
        (
            EventSource::Team {
                new: TeamStatus::Idle,
                old: None,
                error_message: None,
            },
            "TEAM",
        ),
        (
            EventSource::Agent {
                name: "a",
                agent_id: "b",
                event: AgentEventData::SystemNotification {
                    sender_id: "hub",
                    content: "x",
                },
            },
            "AGENT",
        ),
        (EventSource::TasksCreated { tasks: &[] }, "TASK_PLAN"),
    ] {
        let event = OutgoingEvent {
            team_id: "team-primary",
            at: "2026-01-06T12:00:00Z",
            ..outgoing(source)
        };
        let envelope = envelope(&event);
        assert_holds(
            &envelope,
            &format!(
                r#"{{
                    "event_id": "6f0e1234-0000-4000-8000-00000000002a",
                    "timestamp": "2026-01-06T12:00:00Z",
                    "team_id": "team-primary",
                    "event_source_type": "{name}",
                    "data": {{}},
                    "sequence": 7,
                    "team_run_id": "run_1"
                }}"#
            ),
        );
        assert_eq!(RawMembers::of(raw(&envelope)).unwrap().iter().count(), 7);
        read_one(&envelope);
    }
}

/// §3.2 A.
#[test]
fn the_status_of_a_team_is_the_seeds() {
    let example = r#"{
        "event_id": "uuid-string-1234",
        "timestamp": "2026-01-06T12:00:00Z",
        "team_id": "team-primary",
        "event_source_type": "TEAM",
        "data": {
            "new_status": "IDLE",
            "old_status": "STARTING",
            "error_message": null
        }
    }"#;
    let published = read_one(example);
    assert_eq!(
        published.said,
        PublishedSource::Team {
            new: TeamStatus::Idle
        }
    );
    assert_eq!(published.event_id.as_deref(), Some("uuid-string-1234"));
    assert_eq!(published.timestamp.as_deref(), Some("2026-01-06T12:00:00Z"));
    assert_eq!(published.team_ids, [Some("team-primary".into())]);

    let written = envelope(&outgoing(EventSource::Team {
        new: TeamStatus::Idle,
        old: Some(TeamStatus::Starting),
        error_message: None,
    }));
    assert_holds(
        &written,
        r#"{"data":{"new_status":"IDLE","old_status":"STARTING"}}"#,
    );
    assert!(!written.contains("null"), "{written}");
    assert_eq!(
        unstamped(&outgoing(EventSource::Published(raw(example)))),
        r#"{"type":"TEAM_STATUS","payload":{"new_status":"idle","old_status":"bootstrapping","event_scope":"team_scoped"}}"#
    );
}

#[test]
fn every_status_of_the_seed_is_written_and_read() {
    for (name, flat_name) in [
        ("IDLE", "idle"),
        ("RUNNING", "processing"),
        ("PAUSED", "idle"),
        ("ERROR", "error"),
        ("SHUTTING_DOWN", "shutting_down"),
        ("STARTING", "bootstrapping"),
    ] {
        let new = TeamStatus::from_name(name).unwrap();
        let event = outgoing(EventSource::Team {
            new,
            old: None,
            error_message: None,
        });
        let envelope = envelope(&event);
        assert_holds(
            &envelope,
            &format!(r#"{{"data":{{"new_status":"{name}"}}}}"#),
        );
        assert_holds(
            &flat(&event),
            &format!(r#"{{"payload":{{"new_status":"{flat_name}"}}}}"#),
        );
        assert_eq!(read_one(&envelope).said, PublishedSource::Team { new });
    }
}

const RESEARCHER: &str = r#"{
    "event_source_type": "AGENT",
    "data": {
        "agent_name": "Researcher_1",
        "agent_event": {
            "event_id": "evt-5678",
            "timestamp": "...",
            "agent_id": "agent-uuid-001",
            "event_type": "segment_event",
            "data": {
                "type": "SEGMENT_CONTENT",
                "payload": { "delta": "Analysis " }
            }
        }
    }
}"#;

/// §3.2 B.
#[test]
fn an_event_of_a_member_is_the_seeds() {
    let published = read_one(RESEARCHER);
    assert_eq!(
        published.said,
        PublishedSource::Agent {
            name: "Researcher_1".into(),
            agent_id: Some("agent-uuid-001".into()),
            status: None
        }
    );
    // The example's segment has no id; viewers need one.
    assert_eq!(
        unstamped(&outgoing(EventSource::Published(raw(RESEARCHER)))),
        r#"{"type":"SEGMENT_CONTENT","payload":{"id":"Researcher_1:segment","delta":"Analysis ","agent_name":"Researcher_1","agent_id":"agent-uuid-001","member_route_key":"Researcher_1","event_scope":"member_scoped"}}"#
    );

    let written = envelope(&outgoing(EventSource::Agent {
        name: "Researcher_1",
        agent_id: "agent-uuid-001",
        event: AgentEventData::Segment(SegmentEvent::Content {
            id: "s",
            kind: None,
            delta: "Analysis ",
        }),
    }));
    assert_holds(
        &written,
        r#"{
            "event_source_type": "AGENT",
            "data": {
                "agent_name": "Researcher_1",
                "agent_event": {
                    "event_id": "6f0e1235-0000-4000-8000-00000000002a",
                    "timestamp": "2026-03-01T10:00:00.000Z",
                    "agent_id": "agent-uuid-001",
                    "event_type": "segment_event",
                    "data": {
                        "type": "SEGMENT_CONTENT",
                        "event_type": "SEGMENT_CONTENT",
                        "segment_id": "s",
                        "payload": { "delta": "Analysis " }
                    }
                }
            }
        }"#,
    );
}

/// §2, stage 1: the event of the agent is the same inside the envelope, its id included.
#[test]
fn the_event_of_an_agent_is_kept_whole_in_its_envelope() {
    let event = r#"{"event_type":"segment_event","agent_id":"researcher_1","data":{"type":"SEGMENT_START","segment_id":"s","more":{"x":[1]}},"unknown":null}"#;
    let text = format!(
        r#"{{"event_source_type":"AGENT","data":{{"agent_name":"r","agent_event":{event}}}}}"#
    );
    assert!(envelope(&outgoing(EventSource::Published(raw(&text)))).contains(event));
}

/// §3.2 C.
#[test]
fn an_event_of_a_nested_team_is_the_seeds() {
    let example = format!(
        r#"{{
            "event_source_type": "SUB_TEAM",
            "data": {{
                "sub_team_node_name": "backend_team",
                "sub_team_event": {RESEARCHER}
            }}
        }}"#
    );
    let published = read_one(&example);
    assert_eq!(published.nodes, ["backend_team"]);
    assert_eq!(published.team_ids, [None, None]);
    assert!(
        matches!(published.said, PublishedSource::Agent { name, .. } if name == "Researcher_1")
    );

    let event = OutgoingEvent {
        path: &[SubTeamNode {
            name: "backend_team",
            team_id: "team-backend",
        }],
        ..lead(AgentEventData::SystemNotification {
            sender_id: "hub",
            content: "x",
        })
    };
    assert_holds(
        &envelope(&event),
        r#"{
            "team_id": "team_1",
            "event_source_type": "SUB_TEAM",
            "data": {
                "sub_team_node_name": "backend_team",
                "sub_team_event": { "team_id": "team-backend", "event_source_type": "AGENT", "data": { "agent_name": "lead" } }
            }
        }"#,
    );
}

/// §3.2 D.
#[test]
fn created_tasks_are_the_seeds() {
    let data = r#"{"tasks":[{"id":"t1","description":"Research protocol"}]}"#;
    let example = format!(r#"{{"event_source_type":"TASK_PLAN","data":{data}}}"#);
    assert_eq!(read_one(&example).said, PublishedSource::TaskPlan);
    assert_eq!(
        unstamped(&outgoing(EventSource::Published(raw(&example)))),
        r#"{"type":"TASK_PLAN_EVENT","payload":{"event_type":"TASKS_CREATED","tasks":[{"id":"t1","description":"Research protocol"}],"event_scope":"team_scoped"}}"#
    );

    let task = PlanTask {
        id: "t1",
        task_name: "research",
        task_id: "t1",
        assignee_name: "Researcher_1",
        description: "Research protocol",
        dependencies: &[],
        file_deliverables: &[],
        status: "not_started",
    };
    let written = envelope(&outgoing(EventSource::TasksCreated { tasks: &[task] }));
    assert_holds(&written, &format!(r#"{{"data":{data}}}"#));
}

/// §5, the final example.
#[test]
fn the_flattened_message_is_the_seeds() {
    let text = r#"{"event_source_type":"AGENT","data":{"agent_name":"Researcher_1","agent_event":{"agent_id":"agent-123","event_type":"segment_event","data":{"type":"SEGMENT_CONTENT","segment_id":"seg_uuid_1","segment_type":"text","payload":{"delta":"Hello world"}}}}}"#;
    assert_holds(
        &flat(&outgoing(EventSource::Published(raw(text)))),
        r#"{
            "type": "SEGMENT_CONTENT",
            "payload": {
                "id": "seg_uuid_1",
                "segment_type": "text",
                "delta": "Hello world",
                "agent_name": "Researcher_1",
                "agent_id": "agent-123"
            }
        }"#,
    );
    let own = outgoing(EventSource::Agent {
        name: "Researcher_1",
        agent_id: "agent-123",
        event: AgentEventData::Segment(SegmentEvent::Content {
            id: "seg_uuid_1",
            kind: Some(SegmentKind::Text),
            delta: "Hello world",
        }),
    });
    assert_holds(
        &flat(&own),
        r#"{"type":"SEGMENT_CONTENT","payload":{"id":"seg_uuid_1","segment_type":"text","delta":"Hello world","agent_name":"Researcher_1","agent_id":"agent-123"}}"#,
    );
}
