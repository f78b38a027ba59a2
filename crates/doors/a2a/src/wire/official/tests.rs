//! Tests of the official protocol: raw JSON in, raw JSON out, for both versions.

mod errors;
mod items;
mod params;
mod parts;
mod properties;
mod push;
mod requests;
mod rpc;

use jackfield_wire::json::MAX_DEPTH;
use serde_json::value::RawValue;

use super::{
    Version,
    error::{Fault, Kind},
    model::Message,
};

const BOTH: [Version; 2] = [Version::V03, Version::V10];

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

/// The only field that a fault names.
fn field(fault: &Fault) -> &str {
    assert_eq!(fault.kind, Kind::InvalidParams, "{fault:?}");
    let [(field, why)] = fault.violations.as_slice() else {
        panic!("{fault:?}");
    };
    assert!(fault.message.contains(why.as_str()), "{fault:?}");
    field
}

/// What `write` appends.
fn written(write: impl FnOnce(&mut String)) -> String {
    let mut out = String::new();
    write(&mut out);
    raw(&out);
    out
}

/// A message with these parts.
fn message_of(version: Version, parts: &str) -> Result<Message, Fault> {
    let (user, kind) = match version {
        Version::V03 => ("user", r#""kind":"message","#),
        Version::V10 => ("ROLE_USER", ""),
    };
    let json =
        format!(r#"{{"message":{{{kind}"messageId":"m","role":"{user}","parts":{parts}}}}}"#);
    let params = version.read_send(Some(raw(&json)), MAX_DEPTH)?;
    Ok(params.message)
}
