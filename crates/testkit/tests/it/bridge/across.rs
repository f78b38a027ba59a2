//! The bridge and the other doors: its agents call and are called, and the platform reaches agents of every door.

mod agora_calls;
mod calls_agora;
mod chains;
mod files;
mod own;
mod relays;
mod sessions;

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::bridge::{AMY, with};

/// A hub with a bridge agent and an Agora agent, `ada`.
async fn both() -> (TestHub, Raw, Raw) {
    let hub = TestHub::start().await;
    let amy = hub.bridge(AMY).await;
    let ada = hub.agora("ada").await;
    (hub, amy, ada)
}

/// A reply chunk of an Agora agent, with further fields.
fn reply_chunk(to: &Value, text: &str, fields: &Value) -> Value {
    let frame = json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": text});
    with(frame, fields)
}

/// Pieces of an answer of all six kinds: the text, and the fields for the kind. Both protocols use the same fields.
fn pieces() -> [(&'static str, Value); 6] {
    let tool = |kind: &str| json!({"kind": kind, "tool_name": "calc", "tool_call_id": "t-1"});
    [
        ("hm", json!({"kind": "thinking"})),
        ("", tool("tool_start")),
        ("1+1", tool("tool_input")),
        ("2", tool("tool_result")),
        ("writing", json!({"kind": "status"})),
        ("it is 2", json!({})),
    ]
}

/// Three files in Agora's format: with a URL, with bytes, with nothing but a URL.
fn agora_files() -> Value {
    json!([
        {"name": "a.png", "url": "https://files.example/a", "type": "image/png"},
        {"name": "b.txt", "bytes": "aGk=", "type": "text/plain"},
        {"url": "https://files.example/c"},
    ])
}

/// The same files for callers of the bridge, after following links to the hub.
fn bridge_files() -> Value {
    json!([
        {"name": "a.png", "url": "https://files.example/a", "type": "image/png"},
        {"name": "b.txt", "url": "fetched: hi", "type": "text/plain"},
        {"name": "", "url": "https://files.example/c", "type": ""},
    ])
}
