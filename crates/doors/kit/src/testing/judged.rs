//! Judges everything that a test's hub sends over WebSocket and as events by the JSON Schemas that the hub serves. So
//! every session of every test is a proof of the schemas.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

use crate::schemas::{MessageSchemas, MessageSender, MessageTransport, documents};

static GROUPS: OnceLock<Vec<JudgedGroup>> = OnceLock::new();

/// A group of messages; the validator is made for the first of them.
struct JudgedGroup {
    schemas: MessageSchemas,
    validator: OnceLock<Validator>,
}

impl JudgedGroup {
    fn errors(&self, message: &Value) -> Vec<String> {
        let validator = self.validator.get_or_init(|| {
            let whole = &documents(&self.schemas, Some("http://hub.example"))[0];
            jsonschema::validator_for(&whole.schema).expect("a schema that can be used")
        });
        let errors = validator.iter_errors(message);
        errors.map(|error| error.to_string()).collect()
    }
}

/// From now on, judges what the hubs of this process send. The first call counts.
pub fn judge_by(schemas: &[MessageSchemas]) {
    let groups = || {
        let groups = schemas.iter().map(|schemas| JudgedGroup {
            schemas: schemas.clone(),
            validator: OnceLock::new(),
        });
        groups.collect()
    };
    GROUPS.get_or_init(groups);
}

/// Checks that every document is a JSON Schema whose references all lead somewhere.
pub fn check_schemas(schemas: &[MessageSchemas]) {
    for document in schemas.iter().flat_map(|group| documents(group, None)) {
        let path = &document.path;
        let sound = jsonschema::meta::validate(&document.schema);
        assert!(sound.is_ok(), "{path}: {sound:?}");
        let compiled = jsonschema::validator_for(&document.schema);
        assert!(
            compiled.is_ok(),
            "{path}: {:?}\n{:#}",
            compiled.err(),
            document.schema
        );
    }
}

/// Judges a frame of the hub on a WebSocket to `path`.
pub(super) fn frame(path: &str, text: &str) {
    if GROUPS.get().is_some() {
        // A lone surrogate, which JSON allows and serde_json does not read, becomes a character of its own.
        let text = text.replace(r"\ud", r"\ue").replace(r"\uD", r"\uE");
        let frame = serde_json::from_str(&text);
        let frame = frame.unwrap_or_else(|error| panic!("{text} is not JSON: {error}"));
        judge(MessageTransport::WebSocket, path, &frame);
    }
}

/// Judges the data of an event of a stream at `path`.
pub(super) fn event(path: &str, data: &Value) {
    judge(MessageTransport::Sse, path, data);
}

/// Panics if there are schemas for what the hub sends at the path, and the message fits none of them.
fn judge(transport: MessageTransport, path: &str, message: &Value) {
    let path = path.split('?').next().unwrap_or(path);
    let groups = GROUPS.get().into_iter().flatten();
    let groups = groups.filter(|it| it.schemas.are_sent(transport, MessageSender::Hub, path));
    let mut refused = Vec::new();
    for group in groups {
        let errors = group.errors(message);
        if errors.is_empty() {
            return;
        }
        refused.push(format!("{}: {errors:?}", group.schemas.title()));
    }
    assert!(
        refused.is_empty(),
        "{message} fits no schema of {path}: {refused:#?}"
    );
}
