//! Golden JSON of the seed and of the original's programs. What is refused and what holds for every input stands in files of
//! its own.

use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

mod cards;
mod paths;

fn value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => panic!("{text} is no JSON: {error}"),
    }
}

fn raw(text: &str) -> Box<RawValue> {
    serde_json::from_str(text).unwrap()
}

/// Nothing but arrays, this many of them, one in the other.
fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}
