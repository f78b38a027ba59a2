//! Golden JSON of the specification and of the original programs. Refused input and properties of any input have their
//! own files.

use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

mod answers;
mod ends;
mod frames;
mod multiaddrs;
mod registries;
mod requests;

fn value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => panic!("{text} is no JSON: {error}"),
    }
}

fn raw(text: &str) -> Box<RawValue> {
    serde_json::from_str(text).unwrap()
}

/// Nested arrays with this many levels.
fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn the_protocols_have_the_names_of_the_seed() {
    assert_eq!(PROTOCOL_CARD, "/ai-agent/card/1.0.0");
    assert_eq!(PROTOCOL_HANDOFF, "/ai-agent/handoff/1.0.0");
    assert_eq!(PROTOCOL_HANDOFF_STREAM, "/ai-agent/handoff/1.1.0");
}
