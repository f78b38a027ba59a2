//! What the core is told of a body.

use super::*;

#[test]
fn text_comes_before_parts() {
    let mut body: CallBody = serde_json::from_str(
        r#"{"text": "a", "parts": [{"text": "b"}, {"data": [1, {"x": 2.50}]}]}"#,
    )
    .unwrap();
    let message = body.message().unwrap();
    let data = Json::parse(r#"[1, {"x": 2.50}]"#).unwrap();
    assert_eq!(
        message.parts,
        [
            Part::Text("a".into()),
            Part::Text("b".into()),
            Part::Data(data)
        ]
    );
    assert!(body.stream && !body.keep && !body.detach);
}

#[test]
fn null_takes_a_setting_back_and_nothing_leaves_it() {
    let before = Settings {
        idle: Some(Span::secs(5)),
        absolute: Some(Span::secs(6)),
        approvals_to_caller: true,
        allow_a2a: false,
        calls_per_hour: Some(7),
        ..Settings::default()
    };
    let change: SettingsBody =
        serde_json::from_str(r#"{"idle": null, "store": "none", "calls_per_hour": null}"#).unwrap();
    let after = change.applied_to(before.clone());
    let wanted = Settings {
        idle: None,
        calls_per_hour: None,
        store: Keep::None,
        ..before
    };
    assert_eq!(after, wanted);
}

#[test]
fn what_is_said_of_files_goes_along_with_the_callers_own_words() {
    let message = |body: &str| {
        let mut body: CallBody = serde_json::from_str(body).unwrap();
        body.message()
    };
    let said = message(
        r#"{"text": "a", "with_files": true, "client_id": "c-1", "metadata": {"x": 2.50, "client_id": "other"}}"#,
    );
    assert_eq!(
        said.unwrap().metadata.unwrap().get(),
        r#"{"client_id":"c-1","with_files":true,"x":2.50}"#
    );
    let said = message(r#"{"text": "a", "with_files": false, "metadata": {"b": 1, "a": 2}}"#);
    assert_eq!(said.unwrap().metadata.unwrap().get(), r#"{"b": 1, "a": 2}"#);
    assert_eq!(message(r#"{"text": "a"}"#).unwrap().metadata, None);
    for bad in ["", ".hidden", "../up", "a b"] {
        let refused = message(&format!(r#"{{"text": "a", "client_id": "{bad}"}}"#));
        assert!(refused.unwrap_err().text.contains("client_id"), "{bad}");
    }
}
