//! Golden frames: every example of the seed, read and written again.
//! Frames of the published client, extensions, refusals and properties stand in files of their own.

use serde_json::Value;
use serde_json::value::RawValue;

use super::*;
use crate::json::{JsonText, MAX_DEPTH};

mod extensions;
mod frames;
mod malformed;
mod properties;

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

fn read(text: &str) -> Uplink<'_> {
    match parse(text, MAX_DEPTH) {
        Ok(frame) => frame,
        Err(malformed) => panic!("{text} was refused: {malformed}"),
    }
}

fn read_downlink(text: &str) -> Downlink<'_> {
    match parse_downlink(text) {
        Ok(frame) => frame,
        Err(malformed) => panic!("{text} was refused: {malformed}"),
    }
}

/// Writes a frame of an agent again as it was read.
fn rewrite(frame: &Uplink<'_>) -> String {
    match frame {
        Uplink::Register(frame) => uplink::register(frame),
        Uplink::Chunk(frame) => uplink::chunk(frame),
        Uplink::Done(frame) => uplink::done(frame),
        Uplink::Error(frame) => uplink::error(frame),
        Uplink::Heartbeat(frame) => uplink::heartbeat(*frame),
        Uplink::DiscoverAgents(frame) => uplink::discover_agents(frame),
        Uplink::CallAgent(frame) => uplink::call_agent(frame),
        Uplink::RtcSignal(frame) => uplink::rtc_signal(frame),
        Uplink::Artifact(frame) => uplink::artifact(frame),
        Uplink::Ask(frame) => uplink::ask(frame),
        Uplink::Unknown(frame_type) => panic!("{frame_type} cannot be written"),
    }
}

/// Writes a frame of the hub again as it was read.
fn rewrite_downlink(frame: &Downlink<'_>) -> String {
    match frame {
        Downlink::Registered(frame) => downlink::registered(frame),
        Downlink::Refused(error) => downlink::refused(error),
        Downlink::Message(frame) => downlink::message(frame),
        Downlink::Cancel(frame) => downlink::cancel(&frame.session_id, &frame.request_id),
        Downlink::DiscoverAgentsResult(agents) => downlink::discover_agents_result(agents),
        Downlink::CallAgentChunk(frame) => downlink::call_agent_chunk(frame),
        Downlink::CallAgentDone(frame) => downlink::call_agent_done(frame),
        Downlink::CallAgentError(frame) => downlink::call_agent_error(frame),
        Downlink::RtcSignalRelay(frame) => downlink::rtc_signal_relay(frame),
        Downlink::Ack(frame) => downlink::ack(&frame.request_id, frame.seq),
        Downlink::Answer(frame) => downlink::answer(frame),
        Downlink::Error(frame) => downlink::error(frame),
        Downlink::Unknown(frame_type) => panic!("{frame_type} cannot be written"),
    }
}

/// The seed's examples of what agents send, as printed there.
const SEED_UPLINK: [&str; 3] = [
    r#"{
  "type": "register",
  "agent_id": "uuid",
  "token": "ah_xxx",
  "bridge_version": "1",
  "agent_type": "claude",
  "capabilities": ["code_review", "translation"]
}"#,
    r#"{
  "type": "chunk",
  "session_id": "uuid",
  "request_id": "uuid",
  "delta": "Here is the answer...",
  "kind": "text",
  "tool_name": "Bash",
  "tool_call_id": "toolu_01abc"
}"#,
    r#"{
  "type": "done",
  "session_id": "uuid",
  "request_id": "uuid",
  "attachments": [{"name": "output.png", "url": "https://...", "type": "image/png"}],
  "file_transfer_offer": {
    "transfer_id": "uuid",
    "zip_size": 74900,
    "zip_sha256": "abc123...",
    "file_count": 34
  },
  "result": "Full response text (async mode only)"
}"#,
];

/// The seed's example of what the hub sends, as printed there.
const SEED_MESSAGE: &str = r#"{
  "type": "message",
  "session_id": "uuid",
  "request_id": "uuid",
  "content": "User's question here",
  "attachments": [],
  "client_id": "stable-client-id",
  "with_files": true
}"#;

#[test]
fn every_example_of_the_seed_is_written_as_it_was_read() {
    for text in SEED_UPLINK {
        assert_eq!(value(&rewrite(&read(text))), value(text));
    }
    let message = read_downlink(SEED_MESSAGE);
    assert_eq!(value(&rewrite_downlink(&message)), value(SEED_MESSAGE));
}

#[test]
fn the_seeds_register_is_understood() {
    let Uplink::Register(register) = read(SEED_UPLINK[0]) else {
        panic!("no register");
    };
    assert_eq!(register.agent_id, "uuid");
    assert_eq!(register.token.unwrap(), "ah_xxx");
    assert_eq!(register.bridge_version.number(), Some(1));
    assert!(register.bridge_version.is_supported());
    assert_eq!(register.agent_type.unwrap(), "claude");
    assert_eq!(register.capabilities, ["code_review", "translation"]);
    assert!(register.extensions.is_empty() && register.resume.is_none());
}

#[test]
fn the_seeds_chunk_is_understood_in_place() {
    let Uplink::Chunk(chunk) = read(SEED_UPLINK[1]) else {
        panic!("no chunk");
    };
    assert_eq!(chunk.request_id, "uuid");
    assert_eq!(chunk.delta.decode(), "Here is the answer...");
    assert!(matches!(chunk.delta, JsonText::Json(_)));
    assert_eq!(chunk.kind.unwrap(), "text");
    assert_eq!(chunk.tool_name.unwrap(), "Bash");
    assert_eq!(chunk.tool_call_id.unwrap(), "toolu_01abc");
    assert_eq!(chunk.seq, None);
}

#[test]
fn the_seeds_done_is_understood() {
    let Uplink::Done(done) = read(SEED_UPLINK[2]) else {
        panic!("no done");
    };
    let output = Attachment::new("output.png", "https://...", "image/png");
    assert_eq!(done.attachments, [output]);
    let offer = done.file_transfer_offer.unwrap();
    assert_eq!(value(offer.get())["zip_size"], 74900);
    assert_eq!(
        done.result.unwrap().decode(),
        "Full response text (async mode only)"
    );
    assert!(done.state.is_none() && done.usage.is_none() && done.seq.is_none());
}

#[test]
fn the_seeds_message_is_understood() {
    let Downlink::Message(message) = read_downlink(SEED_MESSAGE) else {
        panic!("no message");
    };
    assert_eq!(message.session_id, "uuid");
    assert_eq!(message.content.decode(), "User's question here");
    assert_eq!(message.client_id.unwrap(), "stable-client-id");
    assert!(message.with_files && message.attachments.is_empty() && message.meta.is_none());
}

#[test]
fn the_nine_codes_of_the_seed_have_their_names() {
    let names = BridgeErrorCode::ALL.map(BridgeErrorCode::name);
    assert_eq!(
        names,
        [
            "timeout",
            "adapter_crash",
            "agent_busy",
            "auth_failed",
            "agent_offline",
            "invalid_message",
            "session_not_found",
            "rate_limited",
            "internal_error",
        ]
    );
    for code in BridgeErrorCode::ALL {
        assert_eq!(BridgeErrorCode::from_name(code.name()), Some(code));
        assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{code}\""));
    }
    assert_eq!(BridgeErrorCode::from_name("quota"), None);
}

#[test]
fn client_ids_that_could_leave_a_folder_are_not_safe() {
    let longest = "x".repeat(MAX_CLIENT_ID);
    for id in ["a", "stable-client-id", "A.b_c-9", "-", "a..b", &longest] {
        assert!(is_safe_client_id(id), "{id}");
    }
    let too_long = "x".repeat(MAX_CLIENT_ID + 1);
    for id in [
        "", ".", "..", ".hidden", "a/b", "..\\x", "a b", "ü", "a\0", "a\n", "C:", &too_long,
    ] {
        assert!(!is_safe_client_id(id), "{id:?}");
        assert!(!is_free_client_id(id), "{id:?}");
    }
}

#[test]
fn nobody_says_that_it_is_the_client_of_an_agent() {
    for id in ["a", "agent", "agent-amy", "my.agent.", "stable-client-id"] {
        assert!(is_free_client_id(id), "{id}");
    }
    for id in ["agent.", "agent.amy", "Agent.amy", "agent..0f"] {
        assert!(is_safe_client_id(id) && !is_free_client_id(id), "{id}");
    }
}
