//! What must hold for every text, not only for those somebody thought of: reading never panics, what is taken can be
//! written, no object has a name twice, and nothing that was given gets lost.

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

/// Any JSON value of a moderate size.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Names that mean something somewhere, and others.
fn name() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "agent_event",
        "agent_id",
        "agent_name",
        "approval_token",
        "data",
        "delta",
        "event_id",
        "event_scope",
        "event_source_type",
        "event_type",
        "id",
        "member_route_key",
        "new_status",
        "old_status",
        "payload",
        "segment_id",
        "segment_type",
        "sequence",
        "sub_team_event",
        "sub_team_node_name",
        "tasks",
        "team_id",
        "team_run_id",
        "team_stream_event_envelope",
        "timestamp",
        "type",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

fn fields() -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::hash_map(name(), any_json(), 0..6)
        .prop_map(|fields| fields.into_iter().collect())
}

/// Some fields over others, most of which are then right.
fn with(mut fields: Map<String, Value>, right: Value) -> Value {
    if let Value::Object(right) = right {
        fields.extend(right);
    }
    Value::Object(fields)
}

/// The data of an agent's event with what its type must have, and a type.
fn event() -> impl Strategy<Value = (&'static str, Value)> {
    let all = vec![
        (
            "segment_event",
            json!({"type":"SEGMENT_START","event_type":null,"segment_id":null,"segment_type":"text"}),
        ),
        (
            "segment_event",
            json!({"type":null,"event_type":"SEGMENT_CONTENT","segment_id":"s","segment_type":null}),
        ),
        (
            "agent_status_updated",
            json!({"new_status":"IDLE","old_status":"Other"}),
        ),
        ("assistant_chunk", json!({"content":"c","is_complete":true})),
        ("assistant_complete_response", json!({"content":"c"})),
        (
            "tool_approval_requested",
            json!({"invocation_id":"i","tool_name":"t","arguments":[{"a":1}]}),
        ),
        (
            "tool_denied",
            json!({"invocation_id":"i","tool_name":"t","reason":"r"}),
        ),
        (
            "artifact_persisted",
            json!({"artifact_id":"a","path":"p","type":"f","agent_id":"x"}),
        ),
        ("agent_todo_list_updated", json!({"todos":[]})),
        ("error_event", json!({"code":"c","message":"m"})),
    ];
    (prop::sample::select(all), fields(), fields()).prop_map(|((name, right), extra, payload)| {
        let mut data = with(extra, right);
        if name == "segment_event" {
            data["payload"] = with(payload, json!({"delta":"d"}));
        }
        (name, data)
    })
}

/// An envelope that is right, with any other fields anywhere, inside up to three wrappers.
fn envelopes() -> impl Strategy<Value = Value> {
    let agent = (event(), fields(), fields(), "[a-z/]{1,5}").prop_map(
        |((event_type, data), event, extra, agent_name)| {
            let event = with(
                event,
                json!({"event_id":"e","timestamp":"...","agent_id":"a1","event_type":event_type,"data":data}),
            );
            (
                "AGENT",
                with(extra, json!({"agent_name":agent_name,"agent_event":event})),
            )
        },
    );
    let team = fields().prop_map(|extra| {
        let right = json!({"new_status":"RUNNING","old_status":null,"error_message":"e"});
        ("TEAM", with(extra, right))
    });
    let plan = (fields(), any::<bool>()).prop_map(|(extra, is_created)| {
        let right = if is_created {
            json!({"tasks":[{"id":"1"}],"team_id":"t"})
        } else {
            json!({"tasks":null,"team_id":null,"task_id":"1","new_status":"x","agent_name":"n"})
        };
        ("TASK_PLAN", with(extra, right))
    });
    let wrappers = proptest::collection::vec(fields(), 0..4);
    (prop_oneof![3 => agent, 1 => team, 1 => plan], fields(), wrappers).prop_map(
        |((source, data), extra, wrappers)| {
            let head = |extra, source: &str, data| {
                with(
                    extra,
                    json!({"event_id":null,"timestamp":null,"team_id":null,"event_source_type":source,"data":data}),
                )
            };
            let innermost = head(extra, source, data);
            wrappers.into_iter().fold(innermost, |inner, extra| {
                let data = json!({"sub_team_node_name":"n","sub_team_event":inner});
                head(extra, "SUB_TEAM", data)
            })
        },
    )
}

/// Text that looks enough like a message or an envelope to reach past the first checks.
fn near_message() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        prop::sample::select(vec!["{", "}", "[", "]", ":", ",", "null", "true", "1"])
            .prop_map(str::to_owned),
        name().prop_map(|name| Value::from(name).to_string()),
        any::<String>(),
    ];
    proptest::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

/// Reads `text` in every way there is, and writes what was read.
fn read_all(text: &str) {
    let limits = EnvelopeLimits::default();
    drop(read_client_message(text, &limits));
    for published in read_envelopes(text, &limits).unwrap_or_default() {
        write_all(&published);
    }
    // What was not judged before gives nothing, or something.
    if let Ok(raw) = serde_json::from_str::<&RawValue>(text) {
        let event = outgoing(EventSource::Published(raw));
        flatten(&event, Some(&STAMP));
        flatten_single(&event);
    }
}

fn write_all(published: &PublishedEnvelope<'_>) {
    let fill = EnvelopeDefaults {
        team_id: "team_1",
        event_id: 1,
        at: AT,
        agent_id: Some("a"),
    };
    let completed = complete(published, &fill);
    read_one(&completed);
    for (text, path) in [
        (published.raw.get(), &NESTED as &[SubTeamNode<'_>]),
        (&completed, &[]),
    ] {
        let event = OutgoingEvent {
            path,
            ..outgoing(EventSource::Published(raw(text)))
        };
        assert_no_name_twice(&envelope(&event));
        for stamp in [None, Some(&STAMP)] {
            if let Some(message) = flatten(&event, stamp) {
                assert_no_name_twice(&message);
            }
        }
        if let Some(message) = flatten_single(&event) {
            assert_no_name_twice(&message);
        }
    }
}

/// Whether every object in `text`, which must be JSON, has each name once.
fn assert_no_name_twice(text: &str) {
    let raw = raw(text);
    if let Some(members) = RawMembers::of(raw) {
        let mut names: Vec<_> = members.iter().map(|member| &member.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{text}");
        for member in members.iter() {
            assert_no_name_twice(member.value.get());
        }
    } else if let Some(elements) = json::elements(raw) {
        for element in elements {
            assert_no_name_twice(element.get());
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        read_all(&text);
        read_all(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_broken_message_makes_reading_panic(text in near_message(), inner in any_json(), fields in fields()) {
        read_all(&text);
        read_all(&inner.to_string());
        let fields = Value::Object(fields);
        for text in [&text, &fields.to_string()] {
            read_all(&format!(r#"{{"type":"APPROVE_TOOL","payload":{text}}}"#));
            read_all(&format!(r#"{{"event_source_type":"AGENT","data":{text}}}"#));
            read_all(&format!(r#"{{"event_source_type":"SUB_TEAM","data":{text}}}"#));
            read_all(&published("segment_event", text));
        }
    }

    #[test]
    fn what_is_taken_can_be_written_and_no_name_is_there_twice(envelope in envelopes(), is_pretty in any::<bool>()) {
        let text = if is_pretty {
            serde_json::to_string_pretty(&envelope).unwrap()
        } else {
            envelope.to_string()
        };
        let published = read_one(&text);
        prop_assert_eq!(published.raw.get(), &text);
        prop_assert_eq!(published.team_ids.len(), published.nodes.len() + 1);
        write_all(&published);
    }

    #[test]
    fn completing_adds_only_what_is_missing(given in envelopes()) {
        let text = given.to_string();
        let fill = EnvelopeDefaults { team_id: "team_1", event_id: 1, at: AT, agent_id: None };
        let completed = value(&complete(&read_one(&text), &fill));
        let mut expected = given;
        expected["event_id"] = completed["event_id"].clone();
        expected["timestamp"] = AT.into();
        expected["team_id"] = "team_1".into();
        prop_assert_eq!(completed, expected);
    }

    #[test]
    fn fields_that_are_not_ours_reach_the_viewers((event_type, data) in event()) {
        prop_assume!(event_type != "segment_event");
        let text = published(event_type, &data.to_string());
        let sent = value(&flat(&outgoing(EventSource::Published(raw(&text)))));
        let ours = ["agent_id", "agent_name", "approval_token", "event_scope", "member_route_key",
            "new_status", "old_status", "sub_team_node_name", "team_stream_event_envelope"];
        for (name, given) in data.as_object().unwrap() {
            if !given.is_null() && !ours.contains(&&**name) {
                prop_assert_eq!(&sent["payload"][name], given);
            }
        }
        prop_assert_eq!(&sent["payload"]["agent_name"], "lead");
        prop_assert_eq!(&sent["payload"]["agent_id"], "member_0a");
        prop_assert_eq!(&sent["payload"]["member_route_key"], "lead");
    }

    #[test]
    fn texts_of_the_hub_come_out_as_they_went_in(texts in proptest::collection::vec(any::<String>(), 6)) {
        let event = OutgoingEvent {
            team_id: &texts[0],
            path: &[SubTeamNode { name: &texts[1], team_id: &texts[0] }],
            ..outgoing(EventSource::Agent {
                name: &texts[2],
                agent_id: &texts[3],
                event: AgentEventData::Segment(SegmentEvent::Content { id: &texts[4], kind: None, delta: &texts[5] }),
            })
        };
        let sent = value(&flat(&event));
        prop_assert_eq!(&sent["payload"]["id"], &texts[4]);
        prop_assert_eq!(&sent["payload"]["delta"], &texts[5]);
        prop_assert_eq!(&sent["payload"]["agent_name"], &texts[2]);
        prop_assert_eq!(&sent["payload"]["member_route_key"], &format!("{}/{}", texts[1], texts[2]));
        let envelope = value(&envelope(&event));
        prop_assert_eq!(&envelope["team_id"], &texts[0]);
        let inner = &envelope["data"]["sub_team_event"]["data"];
        prop_assert_eq!(&inner["agent_name"], &texts[2]);
        prop_assert_eq!(&inner["agent_event"]["agent_id"], &texts[3]);
        prop_assert_eq!(&inner["agent_event"]["data"]["segment_id"], &texts[4]);
    }

    #[test]
    fn what_a_viewer_says_is_read_as_it_was_said(content in any::<String>(), paths in proptest::collection::vec(any::<String>(), 0..4)) {
        let text = json!({"type":"SEND_MESSAGE","payload":{"content":content,"contextFilePaths":paths}}).to_string();
        prop_assert_eq!(
            read_client_message(&text, &EnvelopeLimits::default()),
            Ok(ClientMessage::SendMessage { content, target: None, context_file_paths: paths, image_urls: vec![], message_id: None })
        );
    }
}
