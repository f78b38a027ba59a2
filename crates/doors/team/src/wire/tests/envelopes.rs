//! Envelopes at every depth, and what happens to published ones on their way.

use super::*;

/// The texts of all `event_id`s in `envelope`, outermost first.
fn event_ids(envelope: &str) -> Vec<String> {
    let ids = envelope.split("\"event_id\":\"").skip(1);
    ids.map(|rest| rest[..rest.find('"').unwrap()].to_owned())
        .collect()
}

fn content<'a>(path: &'a [SubTeamNode<'a>], event_id: u128) -> OutgoingEvent<'a> {
    OutgoingEvent {
        path,
        event_id,
        ..lead(AgentEventData::Segment(SegmentEvent::Content {
            id: "s",
            kind: None,
            delta: "x",
        }))
    }
}

#[test]
fn each_level_wraps_the_one_below_and_only_the_outermost_is_numbered() {
    assert_eq!(
        envelope(&content(&NESTED, 0x6f0e_1234_0000_4000_8000_0000_0000_002a)),
        concat!(
            r#"{"event_id":"6f0e1234-0000-4000-8000-00000000002a","timestamp":"2026-03-01T10:00:00.000Z","team_id":"team_1","event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"backend","sub_team_event":"#,
            r#"{"event_id":"6f0e1235-0000-4000-8000-00000000002a","timestamp":"2026-03-01T10:00:00.000Z","team_id":"team_2","event_source_type":"SUB_TEAM","data":{"sub_team_node_name":"db","sub_team_event":"#,
            r#"{"event_id":"6f0e1236-0000-4000-8000-00000000002a","timestamp":"2026-03-01T10:00:00.000Z","team_id":"team_3","event_source_type":"AGENT","data":{"agent_name":"lead","agent_event":"#,
            r#"{"event_id":"6f0e1237-0000-4000-8000-00000000002a","timestamp":"2026-03-01T10:00:00.000Z","agent_id":"member_0a","event_type":"segment_event","data":{"type":"SEGMENT_CONTENT","event_type":"SEGMENT_CONTENT","segment_id":"s","payload":{"delta":"x"}}}}"#,
            r#"}}}},"sequence":7,"team_run_id":"run_1"}"#
        )
    );
}

#[test]
fn ids_are_uuids_of_version_4_and_differ_between_levels_and_events() {
    let mut all: Vec<_> = (0..500u128)
        .chain([u128::MAX])
        .flat_map(|event_id| {
            let ids = event_ids(&envelope(&content(&NESTED, event_id)));
            assert_eq!(ids.len(), 4);
            ids
        })
        .collect();
    for id in &all {
        let groups: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12], "{id}");
        let is_hex = |letter| matches!(letter, '0'..='9' | 'a'..='f' | '-');
        assert!(id.chars().all(is_hex), "{id}");
        assert_eq!(&id[14..15], "4", "{id}");
        assert!("89ab".contains(&id[19..20]), "{id}");
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    assert_eq!(
        envelope(&content(&NESTED, 5)),
        envelope(&content(&NESTED, 5))
    );
}

#[test]
fn every_event_that_the_hub_makes_can_be_published_elsewhere() {
    let arguments = raw("{}");
    let (invocation_id, tool_name) = ("call_1", "grep");
    let events = [
        AgentEventData::Segment(SegmentEvent::Start {
            id: "s",
            kind: SegmentKind::ToolCall,
            metadata: Some(SegmentMetadata::default()),
        }),
        AgentEventData::Segment(SegmentEvent::Content {
            id: "s",
            kind: None,
            delta: "x",
        }),
        AgentEventData::Segment(SegmentEvent::End {
            id: "s",
            metadata: None,
        }),
        AgentEventData::Status {
            new: AgentStatus::Idle,
            old: Some(AgentStatus::Error),
            trigger: Some("t"),
            tool_name: Some("n"),
            error_message: Some("m"),
        },
        AgentEventData::Complete {
            content: "c",
            is_cut: true,
            usage: Some(arguments),
            reasoning: Some("r"),
            image_urls: &["i".to_owned()],
            audio_urls: &["a".to_owned()],
            video_urls: &["v".to_owned()],
        },
        AgentEventData::ApprovalRequested {
            invocation_id,
            tool_name,
            arguments,
            turn_id: Some("t"),
            message: Some("m"),
        },
        AgentEventData::Approved {
            invocation_id,
            tool_name,
            reason: Some("r"),
        },
        AgentEventData::Denied {
            invocation_id,
            tool_name,
            reason: "r",
            error: "r",
        },
        AgentEventData::ToolStarted {
            invocation_id,
            tool_name,
            arguments: Some(arguments),
        },
        AgentEventData::ToolSucceeded {
            invocation_id,
            tool_name,
            result: Some(arguments),
        },
        AgentEventData::ToolFailed {
            invocation_id,
            tool_name,
            error: "e",
        },
        AgentEventData::ToolLog {
            entry: "e",
            tool_invocation_id: invocation_id,
            tool_name,
        },
        AgentEventData::InterAgent {
            sender_agent_id: "s",
            recipient_role_name: "r",
            content: "c",
            message_type: "m",
        },
        AgentEventData::ArtifactPersisted {
            artifact_id: "a",
            path: "p",
            agent_id: None,
            kind: "k",
            url: Some("u"),
        },
        AgentEventData::ArtifactUpdated {
            artifact_id: Some("a"),
            path: "p",
            agent_id: None,
            kind: "k",
        },
        AgentEventData::Error {
            code: "c",
            message: "m",
            details: Some("d"),
        },
        AgentEventData::SystemNotification {
            sender_id: "s",
            content: "c",
        },
    ];
    for said in events {
        let event = lead(said);
        let text = envelope(&event);
        let published = read_one(&text);
        assert!(
            matches!(&published.said, PublishedSource::Agent { name, agent_id, .. } if name == "lead" && agent_id.as_deref() == Some("member_0a"))
        );
        // By either way it is the same for viewers, but for the place of an artifact's agent.
        let again = outgoing(EventSource::Published(published.raw));
        assert_eq!(value(&flat(&again)), value(&flat(&event)), "{said:?}");
        assert_eq!(value(&single(&again)), value(&single(&event)), "{said:?}");
    }
}

const PUBLISHED: &str = "{ \"x\" : [1, 2.50],\n \"event_source_type\":\"TEAM\",\"data\":{\"new_status\":\"paused\", \"k\":null}\t}";

#[test]
fn a_published_envelope_is_stamped_and_otherwise_kept() {
    let event = outgoing(EventSource::Published(raw(PUBLISHED)));
    let body = PUBLISHED.strip_suffix('}').unwrap();
    assert_eq!(
        envelope(&event),
        format!(r#"{body},"sequence":7,"team_run_id":"run_1"}}"#)
    );
}

#[test]
fn what_a_runtime_says_of_its_place_in_the_run_is_replaced_where_it_stands() {
    let text = r#"{"sequence": null,"event_source_type":"TEAM","team_run_id" : "forged","data":{"new_status":"idle","sequence":3}}"#;
    assert_eq!(
        envelope(&outgoing(EventSource::Published(raw(text)))),
        r#"{"sequence": 7,"event_source_type":"TEAM","team_run_id" : "run_1","data":{"new_status":"idle","sequence":3}}"#
    );
}

#[test]
fn a_published_envelope_of_a_nested_team_stands_untouched_in_its_wrappers() {
    let event = OutgoingEvent {
        path: &NESTED,
        ..outgoing(EventSource::Published(raw(PUBLISHED)))
    };
    let envelope = envelope(&event);
    assert_eq!(
        envelope,
        format!(
            concat!(
                r#"{{"event_id":"6f0e1234-0000-4000-8000-00000000002a","timestamp":"2026-03-01T10:00:00.000Z","team_id":"team_1","event_source_type":"SUB_TEAM","data":{{"sub_team_node_name":"backend","sub_team_event":"#,
                r#"{{"event_id":"6f0e1235-0000-4000-8000-00000000002a","timestamp":"2026-03-01T10:00:00.000Z","team_id":"team_2","event_source_type":"SUB_TEAM","data":{{"sub_team_node_name":"db","sub_team_event":{}}}}}"#,
                r#"}},"sequence":7,"team_run_id":"run_1"}}"#
            ),
            PUBLISHED
        )
    );
    assert_eq!(read_one(&envelope).nodes, ["backend", "db"]);
    assert_holds(
        &flat(&event),
        r#"{"type":"TEAM_STATUS","payload":{"new_status":"idle","event_scope":"team_scoped","sub_team_node_name":"backend","team_stream_event_envelope":{"event_type":"SUB_TEAM:SUB_TEAM"}}}"#,
    );
}
