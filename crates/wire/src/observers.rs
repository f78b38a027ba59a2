//! What observers of raw frames are not shown: the secrets by which agents are let in and come back.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// What stands in the place of something that observers are not shown.
pub const HIDDEN: &str = "hidden";

/// A frame without the tokens of `register` and of the answer to it; every other frame as it is.
pub fn without_tokens(frame: &str) -> Cow<'_, str> {
    if !frame.contains("register") {
        return frame.into();
    }
    let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(frame) else {
        return "a frame that cannot be read".into();
    };
    let kind = members.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("register" | "registered")) {
        return frame.into();
    }
    hide(&mut members);
    if let Some(resume) = members.get_mut("resume").and_then(Value::as_object_mut) {
        hide(resume);
    }
    Value::Object(members).to_string().into()
}

fn hide(members: &mut Map<String, Value>) {
    if let Some(token) = members.get_mut("token") {
        *token = HIDDEN.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_tokens_of_registering_are_hidden() {
        for (frame, seen) in [
            (
                json!({"type": "register", "id": "amy", "token": "jf_x"}),
                json!({"type": "register", "id": "amy", "token": "hidden"}),
            ),
            (
                json!({"type": "register", "token": 1, "resume": {"token": "r", "open": []}}),
                json!({"type": "register", "token": "hidden", "resume": {"token": "hidden", "open": []}}),
            ),
            (
                json!({"type": "registered", "resume": {"token": "r", "grace_ms": 1}}),
                json!({"type": "registered", "resume": {"token": "hidden", "grace_ms": 1}}),
            ),
        ] {
            let shown: Value = serde_json::from_str(&without_tokens(&frame.to_string())).unwrap();
            assert_eq!(shown, seen);
        }
        for frame in [
            r#"{"type":"send",  "content":"please register","token":"a word"}"#,
            r#"{"type":"ping"}"#,
        ] {
            assert!(matches!(without_tokens(frame), Cow::Borrowed(shown) if shown == frame));
        }
        let broken = without_tokens(r#"{"type":"register","token":"jf_x""#);
        assert!(!broken.contains("jf_x"), "{broken}");
    }
}
