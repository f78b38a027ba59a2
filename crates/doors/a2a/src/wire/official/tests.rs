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
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::Message,
};

const BOTH: [A2aVersion; 2] = [A2aVersion::V03, A2aVersion::V10];

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

/// The only field that a fault names.
fn field(fault: &A2aError) -> &str {
    assert_eq!(fault.kind, A2aErrorKind::InvalidParams, "{fault:?}");
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
fn message_of(version: A2aVersion, parts: &str) -> Result<Message, A2aError> {
    let (user, kind) = match version {
        A2aVersion::V03 => ("user", r#""kind":"message","#),
        A2aVersion::V10 => ("ROLE_USER", ""),
    };
    let json =
        format!(r#"{{"message":{{{kind}"messageId":"m","role":"{user}","parts":{parts}}}}}"#);
    let params = version.read_send(Some(raw(&json)), MAX_DEPTH)?;
    Ok(params.message)
}
