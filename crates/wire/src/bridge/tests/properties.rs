//! What must hold for every frame, not only for those somebody thought of:
//! reading never panics, bytes are kept, and what one side writes the other reads.

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::bridge::downlink::{
    AcknowledgedAnswer, Answer, CallChunk, CallDone, CallError, DiscoveredAgent, HubError, Message,
    MessageMeta, Registered, ResumeGrant, RtcRelay,
};
use crate::bridge::uplink::{
    AgentError, AnswerProgress, Artifact, Ask, CallAgent, CallProgress, Chunk, DiscoverAgents,
    Done, Heartbeat, Register, ResumeState, RtcSignal,
};

/// Any JSON value of a moderate size, as text.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    });
    tree.prop_map(|value| value.to_string())
}

/// Texts of which `null` would read back as absent.
fn raw_json() -> impl Strategy<Value = String> {
    any_json().prop_filter("null is absent", |text| text != "null")
}

/// A JSON string whose UTF-16 units are all escaped, lone surrogates included.
fn escaped_string() -> impl Strategy<Value = String> {
    any::<Vec<u16>>().prop_map(|units| {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{escaped}\"")
    })
}

/// Text that looks enough like a frame to reach past the first checks.
fn near_frame() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        prop::sample::select(vec!["{", "}", "[", "]", ":", ",", "null", "true", "1.5"])
            .prop_map(str::to_owned),
        prop::sample::select(vec![
            "type",
            "chunk",
            "done",
            "register",
            "bridge_version",
            "resume",
            "attachments",
            "request_id",
            "delta",
            "seq",
            "message",
            "meta",
            "agent_id",
        ])
        .prop_map(|word| format!("\"{word}\"")),
        any::<String>(),
    ];
    vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

/// Reads `text` in every way there is; what was understood can be written and read again.
fn read_all(text: &str) {
    match parse(text, MAX_DEPTH) {
        Ok(Uplink::Unknown(_)) => {}
        Ok(frame) => {
            let written = rewrite(&frame);
            assert_eq!(rewrite(&read(&written)), written);
        }
        Err(malformed) => {
            value(&malformed.to_frame());
        }
    }
    match parse_downlink(text) {
        Ok(Downlink::Unknown(_)) | Err(_) => {}
        Ok(frame) => {
            let written = rewrite_downlink(&frame);
            assert_eq!(rewrite_downlink(&read_downlink(&written)), written);
        }
    }
}

const TYPES: [&str; 22] = [
    "register",
    "chunk",
    "done",
    "error",
    "heartbeat",
    "discover_agents",
    "call_agent",
    "rtc_signal",
    "artifact",
    "ask",
    "registered",
    "message",
    "cancel",
    "discover_agents_result",
    "call_agent_chunk",
    "call_agent_done",
    "call_agent_error",
    "rtc_signal_relay",
    "ack",
    "answer",
    "sing",
    "",
];

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        read_all(&text);
        read_all(&String::from_utf8_lossy(&bytes));
        is_safe_client_id(&text);
    }

    #[test]
    fn no_broken_frame_makes_reading_panic(
        frame_type in prop::sample::select(TYPES.to_vec()),
        text in near_frame(),
        values in proptest::array::uniform6(any_json()),
    ) {
        read_all(&text);
        read_all(&format!(r#"{{"type":"{frame_type}",{text}}}"#));
        let [a, b, c, d, e, f] = values;
        read_all(&format!(
            r#"{{"type":"{frame_type}","request_id":"r","call_id":"c","delta":{a},"attachments":{b},"payload":{c},"resume":{d},"meta":{e},"agents":{f}}}"#
        ));
        read_all(&format!(
            r#"{{"type":"{frame_type}","request_id":{a},"agent_id":"a","bridge_version":{b},"parts":[{c}],"artifact_id":"x","seq":{d},"transfer_id":"t","target_agent_id":"b","signal_type":"s","from_agent_id":"z",{text}"extra":{e}}}"#
        ));
    }

    #[test]
    fn a_delta_keeps_its_bytes_from_socket_to_socket(delta in escaped_string()) {
        let text = format!(r#"{{"type":"chunk","request_id":"r","delta":{delta}}}"#);
        let Uplink::Chunk(chunk) = read(&text) else { panic!("no chunk") };
        prop_assert_eq!(&uplink::chunk(&chunk), &text);
        let relayed = downlink::call_agent_chunk(&CallChunk {
            call_id: "c".into(),
            delta: chunk.delta,
            ..CallChunk::default()
        });
        prop_assert_eq!(&relayed, &format!(r#"{{"type":"call_agent_chunk","call_id":"c","delta":{delta}}}"#));
        let Downlink::CallAgentChunk(read) = read_downlink(&relayed) else { panic!("no chunk") };
        prop_assert_eq!(read.delta.decode(), chunk.delta.decode());
    }

    #[test]
    fn what_an_agent_writes_the_hub_reads(
        text in proptest::array::uniform3(any::<String>()),
        word in proptest::array::uniform7("[^\u{0}]{1,8}"),
        json in raw_json(),
        part in any_json(),
        number in option::of(any::<u64>()),
        flag in any::<bool>(),
    ) {
        let parts = format!("[{part}]");
        let (json, parts) = (raw(&json), raw(&parts));
        let texts: [Cow<'_, str>; 3] = text.each_ref().map(|text| text.as_str().into());
        let words: [Cow<'_, str>; 7] = word.each_ref().map(|word| word.as_str().into());
        let text = |index: usize| texts[index].clone();
        let some = |index: usize| Some(words[index].clone());
        let attachment = Attachment::new(text(0), text(1), text(2));
        let frames = [
            Uplink::Register(Register {
                agent_id: text(0), token: some(0), bridge_version: 1.into(), agent_type: some(1),
                capabilities: vec![text(1), text(2)], name: some(2), description: some(3),
                profile: Some(json),
                extensions: vec![text(2)],
                resume: Some(ResumeState {
                    token: text(1),
                    open: vec![AnswerProgress { request_id: text(0), sent: number.unwrap_or(0) }],
                    calls: number.map(|got| vec![CallProgress { call_id: text(2), got }]),
                }),
            }),
            Uplink::Chunk(Chunk {
                session_id: some(0), request_id: text(0), delta: JsonText::Plain(&word[1]), kind: some(2),
                tool_name: some(3), tool_call_id: some(4), seq: number,
            }),
            Uplink::Done(Done {
                session_id: some(0), request_id: text(0), attachments: vec![attachment; 2],
                file_transfer_offer: Some(json), result: Some(JsonText::Plain(&word[1])), file_manifest: Some(json),
                state: some(2), usage: Some(json), stop_reason: some(3), seq: number,
            }),
            Uplink::Error(AgentError {
                session_id: some(0), request_id: text(0), code: text(1), message: text(2), seq: number,
            }),
            Uplink::Heartbeat(Heartbeat { active_sessions: number.unwrap_or(0), uptime_ms: 7 }),
            Uplink::DiscoverAgents(DiscoverAgents { capability: some(0), limit: number }),
            Uplink::CallAgent(CallAgent {
                target_agent_id: text(0), task_description: text(1), call_id: some(0), with_files: flag,
                parent_request_id: some(1), session_id: some(2),
            }),
            Uplink::RtcSignal(RtcSignal {
                transfer_id: text(0), target_agent_id: text(1), signal_type: text(2), payload: Some(parts),
                extra: Vec::new(),
            }),
            Uplink::Artifact(Artifact {
                request_id: text(0), artifact_id: text(1), name: some(0), parts, append: flag, last: !flag,
                seq: number,
            }),
            Uplink::Ask(Ask {
                request_id: text(0), ask_id: text(1), kind: if flag { "input" } else { "approval" }.into(), text: text(0), tool_name: some(0),
                tool_call_id: some(1), arguments: Some(json), schema: Some(json), seq: number,
            }),
        ];
        for frame in &frames {
            let written = rewrite(frame);
            let read = read(&written);
            prop_assert_eq!(std::mem::discriminant(frame), std::mem::discriminant(&read));
            prop_assert_eq!(rewrite(&read), written);
        }
    }

    #[test]
    fn what_the_hub_writes_an_agent_reads(
        text in proptest::array::uniform3(any::<String>()),
        word in proptest::array::uniform7("[^\u{0}]{1,8}"),
        json in raw_json(),
        number in any::<u64>(),
        approved in option::of(any::<bool>()),
    ) {
        let json = raw(&json);
        let texts: [Cow<'_, str>; 3] = text.each_ref().map(|text| text.as_str().into());
        let words: [Cow<'_, str>; 7] = word.each_ref().map(|word| word.as_str().into());
        let text = |index: usize| texts[index].clone();
        let some = |index: usize| Some(words[index].clone());
        let attachment = Attachment::new(text(0), text(1), text(2));
        let frames = [
            Downlink::Registered(Registered {
                extensions: vec![text(0)],
                resume: Some(ResumeGrant {
                    token: text(0), grace_ms: number, gone: vec![text(1)],
                    open: vec![AcknowledgedAnswer { request_id: text(2), have: number }],
                }),
            }),
            Downlink::Refused(text(0)),
            Downlink::Message(Message {
                session_id: text(0), request_id: text(1), content: JsonText::Plain(&word[6]),
                attachments: vec![attachment.clone()], client_id: some(0), with_files: number % 2 == 0,
                meta: Some(MessageMeta {
                    message_id: some(0), task_id: some(1), context_id: some(2), parts: Some(json),
                    metadata: Some(json), caller: some(3), parent: some(4),
                }),
            }),
            Downlink::DiscoverAgentsResult(vec![DiscoveredAgent {
                id: text(0), name: Some(text(1)), agent_type: text(2), capabilities: vec![text(0)],
                is_online: number % 2 == 0, description: some(0),
            }]),
            Downlink::CallAgentChunk(CallChunk {
                call_id: text(0), delta: JsonText::Plain(&word[6]), kind: some(0), tool_name: some(1),
                tool_call_id: some(2),
            }),
            Downlink::CallAgentDone(CallDone {
                call_id: text(0), attachments: vec![attachment], file_transfer_offer: Some(json),
            }),
            Downlink::CallAgentError(CallError { call_id: text(0), code: text(1), message: text(2) }),
            Downlink::RtcSignalRelay(RtcRelay {
                transfer_id: text(0), from_agent_id: text(1), signal_type: text(2), payload: Some(json),
                client_id: some(0), ice_servers: Some(json), extra: Vec::new(),
            }),
            Downlink::Answer(Answer {
                request_id: text(0), ask_id: text(1), content: some(0), parts: Some(json), approved,
                reason: some(1),
            }),
            Downlink::Error(HubError {
                code: text(0), message: text(1), request_id: some(0), call_id: some(1), field: some(2),
                frame_type: some(3),
            }),
        ];
        for frame in &frames {
            let written = rewrite_downlink(frame);
            let read = read_downlink(&written);
            prop_assert_eq!(std::mem::discriminant(frame), std::mem::discriminant(&read));
            prop_assert_eq!(rewrite_downlink(&read), written);
        }
    }
}
