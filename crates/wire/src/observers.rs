//! Removal of secrets from raw frames before observers see them: the tokens with which agents register and
//! resume.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Text that replaces a hidden value.
pub const HIDDEN: &str = "hidden";

/// Returns a `register` or `registered` frame with its tokens replaced by [`HIDDEN`]; every other frame
/// unchanged.
pub fn without_tokens(frame: &str) -> Cow<'_, str> {
    // A backslash may be part of an escape such as `\u0072`, which spells the type or the field differently.
    if !frame.contains("register") && !frame.contains('\\') {
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
            r#"{"type":"send",  "content":"a\nb","token":"a word"}"#,
        ] {
            assert!(matches!(without_tokens(frame), Cow::Borrowed(shown) if shown == frame));
        }
        for escaped in [
            r#"{"type":"\u0072egister","token":"jf_x"}"#,
            r#"{"\u0074ype":"register","\u0074oken":"jf_x"}"#,
            r#"{"type":"\u0072egistered","resume":{"\u0074oken":"jf_x"}}"#,
        ] {
            let shown = without_tokens(escaped);
            assert!(!shown.contains("jf_x"), "{shown}");
            assert!(shown.contains(HIDDEN), "{shown}");
        }
        let broken = without_tokens(r#"{"type":"register","token":"jf_x""#);
        assert!(!broken.contains("jf_x"), "{broken}");
    }
}
