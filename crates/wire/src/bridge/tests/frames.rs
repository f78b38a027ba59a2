//! Frames as the published client and hub write them (wire notes 1 and 3), and what a hub of ours writes back.

use super::*;
use crate::bridge::downlink::{
    CallChunk, CallDone, CallError, DiscoveredAgent, HTTP_CALLER, Message, Registered, RtcRelay,
};
use crate::bridge::uplink::{CallAgent, Chunk, DiscoverAgents, Heartbeat};

/// All frames of one relay, in their order, from an agent of version 2.
const RELAY: [&str; 9] = [
    r#"{"type":"register","agent_id":"123e4567-e89b-12d3-a456-426614174000","token":"ah_x","bridge_version":"2","agent_type":"claude","capabilities":[]}"#,
    r#"{"type":"chunk","session_id":"s","request_id":"r","delta":"Let me see","kind":"thinking","tool_name":"","tool_call_id":""}"#,
    r#"{"type":"chunk","session_id":"s","request_id":"r","delta":"","kind":"tool_start","tool_name":"Bash","tool_call_id":"toolu_1"}"#,
    r#"{"type":"chunk","session_id":"s","request_id":"r","delta":"{\"command\":\"ls\"}","kind":"tool_input","tool_name":"Bash","tool_call_id":"toolu_1"}"#,
    r#"{"type":"chunk","session_id":"s","request_id":"r","delta":"a\nb","kind":"tool_result","tool_name":"","tool_call_id":"toolu_1"}"#,
    r#"{"type":"chunk","session_id":"s","request_id":"r","delta":"Two files."}"#,
    r#"{"type":"done","session_id":"s","request_id":"r","result":"Two files.","file_transfer_offer":{"transfer_id":"t","zip_size":1,"zip_sha256":"00","file_count":2}}"#,
    r#"{"type":"error","session_id":"s","request_id":"r","code":"adapter_crash","message":"exited with 1"}"#,
    r#"{"type":"heartbeat","active_sessions":1,"uptime_ms":20000}"#,
];

#[test]
fn every_frame_of_a_relay_is_written_as_it_was_read() {
    for text in RELAY {
        let mut expected = value(text);
        for field in ["tool_name", "tool_call_id"] {
            if expected.get(field).is_some_and(|value| value == "") {
                expected.as_object_mut().unwrap().remove(field);
            }
        }
        assert_eq!(value(&rewrite(&read(text))), expected, "{text}");
    }
}

#[test]
fn empty_tool_fields_count_as_absent() {
    let chunks: Vec<_> = RELAY[1..6]
        .iter()
        .map(|text| match read(text) {
            Uplink::Chunk(chunk) => (
                chunk.kind.as_deref().map(str::to_owned),
                chunk.delta.decode().into_owned(),
                chunk.tool_name.is_some(),
                chunk.tool_call_id.is_some(),
            ),
            other => panic!("{other:?}"),
        })
        .collect();
    let kind = |kind: &str| Some(kind.to_owned());
    assert_eq!(
        chunks,
        [
            (kind("thinking"), "Let me see".to_owned(), false, false),
            (kind("tool_start"), String::new(), true, true),
            (
                kind("tool_input"),
                r#"{"command":"ls"}"#.to_owned(),
                true,
                true
            ),
            (kind("tool_result"), "a\nb".to_owned(), false, true),
            (None, "Two files.".to_owned(), false, false),
        ]
    );
    let Uplink::Chunk(chunk) = read(r#"{"type":"chunk","request_id":"r","delta":"x","kind":""}"#)
    else {
        panic!("no chunk");
    };
    assert!(chunk.kind.is_none());
}

#[test]
fn both_versions_are_accepted_as_text_and_as_number() {
    let version = |written: &str| {
        let text = format!(
            r#"{{"type":"register","agent_id":"a","token":"t","bridge_version":{written}}}"#
        );
        let Uplink::Register(register) = read(&text) else {
            panic!("no register");
        };
        let version = register.bridge_version;
        (
            version.number(),
            version.is_supported(),
            version.refusal().into_boxed_str(),
        )
    };
    for (written, number) in [("\"1\"", 1), ("\"2\"", 2), ("1", 1), ("2", 2), ("2.0", 2)] {
        let (read, is_supported, _) = version(written);
        assert_eq!((read, is_supported), (Some(number), true), "{written}");
    }
    for (written, shown) in [
        ("\"3\"", "3"),
        ("0", "0"),
        ("99999999999", "99999999999"),
        ("-1", "-1"),
        ("\"two\"", "two"),
        ("\"\"", ""),
        ("null", "null"),
        ("{}", "{}"),
        ("[1]", "[1]"),
        ("true", "true"),
    ] {
        let (_, is_supported, refusal) = version(written);
        assert!(!is_supported, "{written}");
        assert_eq!(
            &*refusal,
            format!("Unsupported protocol version {shown}, expected 2")
        );
    }
    let Uplink::Register(register) = read(r#"{"type":"register","agent_id":"a"}"#) else {
        panic!("no register");
    };
    assert_eq!(
        register.bridge_version.refusal(),
        "register: field \"bridge_version\" is missing; write 1 or 2"
    );
    assert!(register.token.is_none());
}

#[test]
fn what_version_1_had_besides_does_not_disturb() {
    let Uplink::Done(done) = read(
        r#"{"type":"done","request_id":"r","file_manifest":[{"path":"a","size":1,"mtime_ms":2,"type":"f"}],"upload_url":"https://x"}"#,
    ) else {
        panic!("no done");
    };
    assert!(done.file_manifest.unwrap().get().starts_with("[{\"path\""));
    let text = r#"{"type":"message","session_id":"s","request_id":"r","content":"c","upload_url":"u","upload_token":"t","platform_task":{"type":"upload_file","path":"p"}}"#;
    let Downlink::Message(message) = read_downlink(text) else {
        panic!("no message");
    };
    assert!(message.attachments.is_empty());
}

#[test]
fn what_an_agent_of_ours_writes_is_exact() {
    assert_eq!(
        uplink::chunk(&Chunk {
            session_id: Some("s".into()),
            request_id: "r".into(),
            delta: "a \"b\"".into(),
            kind: Some("".into()),
            seq: Some(7),
            ..Chunk::default()
        }),
        r#"{"type":"chunk","session_id":"s","request_id":"r","delta":"a \"b\"","seq":7}"#
    );
    assert_eq!(
        uplink::heartbeat(Heartbeat {
            active_sessions: 0,
            uptime_ms: u64::MAX
        }),
        r#"{"type":"heartbeat","active_sessions":0,"uptime_ms":18446744073709551615}"#
    );
    assert_eq!(
        uplink::discover_agents(&DiscoverAgents::default()),
        r#"{"type":"discover_agents"}"#
    );
    assert_eq!(
        uplink::call_agent(&CallAgent {
            target_agent_id: "b".into(),
            task_description: "do".into(),
            call_id: Some("c".into()),
            with_files: true,
            parent_request_id: Some("r".into()),
            session_id: None,
        }),
        r#"{"type":"call_agent","target_agent_id":"b","task_description":"do","call_id":"c","with_files":true,"parent_request_id":"r"}"#
    );
}

#[test]
fn a_heartbeat_is_never_wrong() {
    for text in [
        r#"{"type":"heartbeat"}"#,
        r#"{"type":"heartbeat","active_sessions":"many","uptime_ms":null}"#,
        r#"{"type":"heartbeat","active_sessions":-3,"uptime_ms":[]}"#,
    ] {
        assert!(matches!(
            read(text),
            Uplink::Heartbeat(Heartbeat {
                active_sessions: 0,
                uptime_ms: 0
            })
        ));
    }
    let Uplink::Heartbeat(heartbeat) =
        read(r#"{"type":"heartbeat","active_sessions":2,"uptime_ms":1234.9}"#)
    else {
        panic!("no heartbeat");
    };
    assert_eq!((heartbeat.active_sessions, heartbeat.uptime_ms), (2, 1234));
}

#[test]
fn unknown_types_are_named_and_no_mistake() {
    assert!(matches!(read(r#"{"type":"sing","x":1}"#), Uplink::Unknown(name) if name == "sing"));
    assert!(
        matches!(read_downlink(r#"{"type":"dance"}"#), Downlink::Unknown(name) if name == "dance")
    );
}

#[test]
fn what_the_hub_writes_is_exact() {
    let offer = raw(r#"{"transfer_id": "t"}"#);
    for (written, expected) in [
        (
            downlink::registered(&Registered::default()),
            r#"{"type":"registered","status":"ok"}"#,
        ),
        (
            downlink::refused("Authentication failed"),
            r#"{"type":"registered","status":"error","error":"Authentication failed"}"#,
        ),
        (
            downlink::message(&Message {
                session_id: "s".into(),
                request_id: "r".into(),
                content: "hi".into(),
                ..Message::default()
            }),
            r#"{"type":"message","session_id":"s","request_id":"r","content":"hi","attachments":[]}"#,
        ),
        (
            downlink::cancel("s", "r"),
            r#"{"type":"cancel","session_id":"s","request_id":"r"}"#,
        ),
        (
            downlink::discover_agents_result(&[DiscoveredAgent {
                id: "a".into(),
                name: Some("A".into()),
                agent_type: "claude".into(),
                capabilities: vec!["x".into()],
                is_online: true,
                description: None,
            }]),
            r#"{"type":"discover_agents_result","agents":[{"id":"a","name":"A","agent_type":"claude","capabilities":["x"],"is_online":true}]}"#,
        ),
        (
            downlink::call_agent_chunk(&CallChunk {
                call_id: "c".into(),
                delta: raw(r#""\ud83d""#).into(),
                kind: Some("thinking".into()),
                tool_name: Some("".into()),
                tool_call_id: Some("".into()),
            }),
            r#"{"type":"call_agent_chunk","call_id":"c","delta":"\ud83d","kind":"thinking"}"#,
        ),
        (
            downlink::call_agent_done(&CallDone {
                call_id: "c".into(),
                ..CallDone::default()
            }),
            r#"{"type":"call_agent_done","call_id":"c"}"#,
        ),
        (
            downlink::call_agent_done(&CallDone {
                call_id: "c".into(),
                attachments: vec![Attachment::new("n", "u", "t")],
                file_transfer_offer: Some(offer),
            }),
            r#"{"type":"call_agent_done","call_id":"c","attachments":[{"name":"n","url":"u","type":"t"}],"file_transfer_offer":{"transfer_id": "t"}}"#,
        ),
        (
            downlink::call_agent_error(&CallError {
                call_id: "c".into(),
                code: "agent_offline".into(),
                message: "Target agent is not connected".into(),
            }),
            r#"{"type":"call_agent_error","call_id":"c","code":"agent_offline","message":"Target agent is not connected"}"#,
        ),
        (
            downlink::rtc_signal_relay(&RtcRelay {
                transfer_id: "t".into(),
                from_agent_id: HTTP_CALLER.into(),
                signal_type: "offer".into(),
                payload: Some(raw(r#""v=0\r\n""#)),
                client_id: Some("c".into()),
                ice_servers: Some(raw(r#"[{"urls":"stun:x"}]"#)),
                ..RtcRelay::default()
            }),
            r#"{"type":"rtc_signal_relay","transfer_id":"t","from_agent_id":"http-caller","signal_type":"offer","payload":"v=0\r\n","client_id":"c","ice_servers":[{"urls":"stun:x"}]}"#,
        ),
    ] {
        assert_eq!(written, expected);
        assert_eq!(rewrite_downlink(&read_downlink(expected)), expected);
    }
}
