//! What callers ask, and how they are told that they ask it wrong.

use super::*;
use crate::wire::official::{
    model::{A2aState, Role},
    v03_proto::{self, FileBytes},
};

const SEND_03: &str = r#"{
  "message": {
    "kind": "message", "messageId": "m-1", "role": "user", "contextId": "c-1", "taskId": "t-1",
    "parts": [{"kind": "text", "text": "hi"}], "metadata": {"a": 1},
    "extensions": ["urn:x"], "referenceTaskIds": ["t-0"], "mood": "good"
  },
  "configuration": {
    "acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": false,
    "pushNotificationConfig": {"id": "p", "url": "https://e.x/hook", "token": "t",
      "authentication": {"schemes": ["Bearer"], "credentials": "s"}}
  },
  "metadata": {"b": [1, 2]}
}"#;

const SEND_10: &str = r#"{
  "tenant": "ten",
  "message": {
    "messageId": "m-1", "role": "ROLE_USER", "contextId": "c-1", "taskId": "t-1",
    "parts": [{"text": "hi"}], "metadata": {"a": 1},
    "extensions": ["urn:x"], "referenceTaskIds": ["t-0"], "mood": "good"
  },
  "configuration": {
    "acceptedOutputModes": ["text/plain"], "historyLength": 3, "returnImmediately": true,
    "taskPushNotificationConfig": {"id": "p", "url": "https://e.x/hook", "token": "t",
      "authentication": {"scheme": "Bearer", "credentials": "s"}}
  },
  "metadata": {"b": [1, 2]}
}"#;

/// As clients write it that are generated from the messages of gRPC.
const SEND_10_SNAKE: &str = r#"{
  "tenant": "ten",
  "message": {
    "message_id": "m-1", "role": 1, "context_id": "c-1", "task_id": "t-1",
    "parts": [{"text": "hi"}], "metadata": {"a": 1},
    "extensions": ["urn:x"], "reference_task_ids": ["t-0"], "mood": "good"
  },
  "configuration": {
    "accepted_output_modes": ["text/plain"], "history_length": "3", "return_immediately": true,
    "task_push_notification_config": {"id": "p", "url": "https://e.x/hook", "token": "t",
      "authentication": {"scheme": "Bearer", "credentials": "s"}}
  },
  "metadata": {"b": [1, 2]}
}"#;

/// As REST of 0.3 has it.
const SEND_03_REST: &str = r#"{
  "request": {
    "message_id": "m-1", "role": "ROLE_USER", "context_id": "c-1", "task_id": "t-1",
    "content": [{"text": "hi"}], "metadata": {"a": 1},
    "extensions": ["urn:x"], "referenceTaskIds": ["t-0"], "mood": "good"
  },
  "configuration": {
    "accepted_output_modes": ["text/plain"], "history_length": 3, "blocking": false,
    "push_notification": {"id": "p", "url": "https://e.x/hook", "token": "t",
      "authentication": {"schemes": ["Bearer"], "credentials": "s"}}
  },
  "metadata": {"b": [1, 2]}
}"#;

#[test]
fn a_send_is_read_alike_in_every_spelling() {
    for (version, json, tenant) in [
        (A2aVersion::V03, SEND_03, None),
        (A2aVersion::V03, SEND_03_REST, None),
        (A2aVersion::V10, SEND_10, Some("ten")),
        (A2aVersion::V10, SEND_10_SNAKE, Some("ten")),
    ] {
        let send = version.read_send(Some(raw(json)), MAX_DEPTH).unwrap();
        assert_eq!(send.tenant.as_deref(), tenant);
        assert_eq!(send.metadata.unwrap().get(), r#"{"b": [1, 2]}"#);
        assert_eq!(send.message.role, Role::User);
        let configuration = send.configuration;
        assert_eq!(configuration.accepted_output_modes, ["text/plain"]);
        assert_eq!(configuration.history_length, Some(3));
        assert_eq!(configuration.return_immediately, Some(true));
        let push = configuration.push.unwrap();
        assert_eq!(
            (push.id.as_deref(), &*push.url),
            (Some("p"), "https://e.x/hook")
        );
        let authentication = push.authentication.unwrap();
        assert_eq!(authentication.schemes, ["Bearer"]);
        assert_eq!(authentication.credentials.as_deref(), Some("s"));
        assert_eq!(
            written(|out| A2aVersion::V10.write_message(&send.message, out)),
            format!(
                "{}{}}}",
                r#"{"messageId":"m-1","contextId":"c-1","taskId":"t-1","role":"ROLE_USER","parts":[{"text":"hi"}],"metadata":{"a": 1},"extensions":["urn:x"],"referenceTaskIds":["t-0"]"#,
                // What nobody knows comes out only where it came in.
                if version == A2aVersion::V10 {
                    r#","mood":"good""#
                } else {
                    ""
                }
            )
        );
    }
}

#[test]
fn a_send_by_rest_of_the_old_version_may_be_flat_and_without_a_role() {
    let read = |json| v03_proto::read_send(FileBytes::Once, Some(raw(json)), MAX_DEPTH);
    let send = read(
        r#"{"message":{"message_id":"m","parts":[{"text":"a"}]},"blocking":false,"history_length":2,"accepted_output_modes":["text/plain"]}"#,
    )
    .unwrap();
    assert_eq!(send.message.role, Role::User);
    let configuration = send.configuration;
    assert_eq!(configuration.return_immediately, Some(true));
    assert_eq!(configuration.history_length, Some(2));
    assert_eq!(configuration.accepted_output_modes, ["text/plain"]);

    // What stands where it belongs is what counts.
    let send = read(
        r#"{"message":{"message_id":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]},"blocking":false,"historyLength":2,"acceptedOutputModes":["a/b"],"configuration":{"blocking":true,"historyLength":0,"acceptedOutputModes":["c/d"]}}"#,
    )
    .unwrap();
    assert_eq!(send.message.role, Role::Agent);
    let configuration = send.configuration;
    assert_eq!(configuration.return_immediately, Some(false));
    assert_eq!(configuration.history_length, Some(0));
    assert_eq!(configuration.accepted_output_modes, ["c/d"]);

    let fault = read(r#"{"message":{"message_id":"m","parts":[{"text":"a"}]},"historyLength":-1}"#);
    assert_eq!(field(&fault.unwrap_err()), "historyLength");
    let plain = raw(r#"{"message":{"messageId":"m","parts":[{"text":"a"}]}}"#);
    for version in BOTH {
        let fault = version.read_send(Some(plain), MAX_DEPTH).unwrap_err();
        assert_eq!(field(&fault), "message.role");
    }
}

#[test]
fn what_a_sender_leaves_out_stays_open() {
    for (version, json) in [
        (
            A2aVersion::V03,
            r#"{"message":{"messageId":"m","role":"agent","contextId":"","taskId":null,"parts":[{"kind":"text","text":""}]},"configuration":null}"#,
        ),
        (
            A2aVersion::V10,
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","contextId":null,"taskId":"","parts":[{"text":""}]},"configuration":{}}"#,
        ),
    ] {
        let send = version.read_send(Some(raw(json)), MAX_DEPTH).unwrap();
        assert!(send.message.context_id.is_none() && send.message.task_id.is_none());
        assert_eq!(send.message.role, Role::Agent);
        assert_eq!(send.configuration.return_immediately, None);
        assert_eq!(send.configuration.history_length, None);
        assert!(send.configuration.push.is_none());
        assert!(send.message.extra.is_empty());
    }
}

#[test]
fn zero_messages_are_not_the_same_as_no_word_about_it() {
    for version in BOTH {
        let get = |json| version.read_get(Some(raw(json)), MAX_DEPTH).unwrap();
        assert_eq!(
            get(r#"{"id":"t","historyLength":0}"#).history_length,
            Some(0)
        );
        assert_eq!(
            get(r#"{"id":"t","history_length":"9999"}"#).history_length,
            Some(9999)
        );
        assert_eq!(
            get(r#"{"id":"t","historyLength":2.0}"#).history_length,
            Some(2)
        );
        assert_eq!(
            get(r#"{"id":"t","historyLength":null}"#).history_length,
            None
        );
    }
}

#[test]
fn a_send_that_is_wrong_names_the_field() {
    const PARTS: &str = r#""parts":[{"kind":"text","text":"x"}]"#;
    for version in BOTH {
        let user = Role::User.name(version);
        for (json, expected) in [
            ("{}".to_owned(), "message"),
            (r#"{"message":null}"#.to_owned(), "message"),
            (r#"{"message":[]}"#.to_owned(), "message"),
            (r#"{"message":{}}"#.to_owned(), "message.messageId"),
            (
                format!(r#"{{"message":{{"messageId":"","role":"{user}",{PARTS}}}}}"#),
                "message.messageId",
            ),
            (
                format!(r#"{{"message":{{"messageId":7,"role":"{user}",{PARTS}}}}}"#),
                "message.messageId",
            ),
            (
                format!(r#"{{"message":{{"messageId":"m",{PARTS}}}}}"#),
                "message.role",
            ),
            (
                format!(r#"{{"message":{{"messageId":"m","role":"boss",{PARTS}}}}}"#),
                "message.role",
            ),
            (
                format!(r#"{{"message":{{"messageId":"m","role":0,{PARTS}}}}}"#),
                "message.role",
            ),
            (
                format!(r#"{{"message":{{"messageId":"m","role":"{user}"}}}}"#),
                "message.parts",
            ),
            (
                format!(r#"{{"message":{{"messageId":"m","role":"{user}","parts":[]}}}}"#),
                "message.parts",
            ),
            (
                format!(r#"{{"message":{{"messageId":"m","role":"{user}","parts":"invalid"}}}}"#),
                "message.parts",
            ),
            (
                format!(
                    r#"{{"message":{{"messageId":"m","role":"{user}","parts":[{{"text":"x"}},3]}}}}"#
                ),
                "message.parts[1]",
            ),
            (
                format!(r#"{{"message":{{"messageId":"m","role":"{user}","taskId":1,{PARTS}}}}}"#),
                "message.taskId",
            ),
            (
                format!(
                    r#"{{"message":{{"messageId":"m","role":"{user}","metadata":[],{PARTS}}}}}"#
                ),
                "message.metadata",
            ),
            (
                format!(
                    r#"{{"message":{{"messageId":"m","role":"{user}","extensions":[1],{PARTS}}}}}"#
                ),
                "message.extensions[0]",
            ),
            (
                format!(
                    r#"{{"message":{{"messageId":"m","message_id":"n","role":"{user}",{PARTS}}}}}"#
                ),
                "message.messageId",
            ),
            (
                format!(
                    r#"{{"message":{{"messageId":"m","role":"{user}",{PARTS}}},"metadata":1}}"#
                ),
                "metadata",
            ),
            (
                format!(
                    r#"{{"message":{{"messageId":"m","role":"{user}",{PARTS}}},"configuration":{{"historyLength":-1}}}}"#
                ),
                "configuration.historyLength",
            ),
            (
                format!(
                    r#"{{"message":{{"messageId":"m","role":"{user}",{PARTS}}},"configuration":{{"historyLength":1.5}}}}"#
                ),
                "configuration.historyLength",
            ),
            (
                format!(
                    r#"{{"message":{{"messageId":"m","role":"{user}",{PARTS}}},"configuration":{{"acceptedOutputModes":"text"}}}}"#
                ),
                "configuration.acceptedOutputModes",
            ),
            ("[]".to_owned(), "params"),
            (r#""not_a_dict""#.to_owned(), "params"),
            (r#"{"":"not_a_dict"}"#.to_owned(), "message"),
        ] {
            let fault = version.read_send(Some(raw(&json)), MAX_DEPTH).unwrap_err();
            assert_eq!(field(&fault), expected, "{version}: {json}");
        }
        let fault = version.read_send(None, MAX_DEPTH).unwrap_err();
        assert_eq!(field(&fault), "message");
    }
}

#[test]
fn a_push_config_within_a_send_is_named_as_its_version_names_it() {
    for (version, configuration, expected) in [
        (
            A2aVersion::V03,
            r#"{"pushNotificationConfig":{"id":"p"}}"#,
            "configuration.pushNotificationConfig.url",
        ),
        (
            A2aVersion::V03,
            r#"{"blocking":"no"}"#,
            "configuration.blocking",
        ),
        (
            A2aVersion::V10,
            r#"{"taskPushNotificationConfig":{"url":""}}"#,
            "configuration.taskPushNotificationConfig.url",
        ),
        (
            A2aVersion::V10,
            r#"{"returnImmediately":1}"#,
            "configuration.returnImmediately",
        ),
    ] {
        let json = format!(
            r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"kind":"text","text":"x"}}]}},"configuration":{configuration}}}"#
        );
        let fault = version.read_send(Some(raw(&json)), MAX_DEPTH).unwrap_err();
        assert_eq!(field(&fault), expected);
    }
}

#[test]
fn params_that_are_nested_too_deep_are_refused() {
    for version in BOTH {
        let deep = format!(r#"{{"id":"t","x":{}{}}}"#, "[".repeat(64), "]".repeat(64));
        let fault = version.read_get(Some(raw(&deep)), 64).unwrap_err();
        assert_eq!(field(&fault), "params");
        assert!(version.read_get(Some(raw(&deep)), 65).is_ok());
    }
}

#[test]
fn a_task_is_named_by_its_id() {
    for version in BOTH {
        let json = raw(r#"{"id":"t-1","tenant":"x","metadata":{"why":"so"},"unknown":[]}"#);
        let task = version.read_task(Some(json), MAX_DEPTH).unwrap();
        assert_eq!((&*task.id, task.tenant.as_deref()), ("t-1", Some("x")));
        assert_eq!(task.metadata.unwrap().get(), r#"{"why":"so"}"#);
        for json in ["{}", r#"{"id":""}"#, r#"{"id":4}"#] {
            let fault = version.read_task(Some(raw(json)), MAX_DEPTH).unwrap_err();
            assert_eq!(field(&fault), "id");
        }
        let at = version.task_from_body("t-2", None, MAX_DEPTH).unwrap();
        assert_eq!((&*at.id, at.metadata.is_none()), ("t-2", true));
        let tenant = version.read_tenant(None, MAX_DEPTH).unwrap();
        assert_eq!(tenant, None);
        let fault = version.read_tenant(Some(raw("[]")), MAX_DEPTH).unwrap_err();
        assert_eq!(field(&fault), "params");
    }
    let old = A2aVersion::V03.read_task(Some(raw(r#"{"taskId":"t-3"}"#)), MAX_DEPTH);
    assert_eq!(old.unwrap().id, "t-3");
}

#[test]
fn a_list_is_read_from_params_and_from_a_query() {
    let json = raw(
        r#"{"context_id":"c","status":"TASK_STATE_INPUT_REQUIRED","pageSize":"7","page_token":"p","historyLength":1,"statusTimestampAfter":"2026-11-16T12:00:00+02:00","include_artifacts":true}"#,
    );
    let query = [
        ("contextId", "c"),
        ("status", "TASK_STATE_INPUT_REQUIRED"),
        ("page_size", "7"),
        ("pageToken", "p"),
        ("history_length", "1"),
        ("statusTimestampAfter", "2026-11-16T10:00:00Z"),
        ("includeArtifacts", "true"),
        ("tenant", ""),
        ("unknown", "x"),
    ];
    for version in BOTH {
        for list in [
            version.read_list(Some(json), MAX_DEPTH).unwrap(),
            version.list_from_query(query.into_iter()).unwrap(),
        ] {
            assert_eq!(list.tenant, None);
            assert_eq!(list.context_id.as_deref(), Some("c"));
            assert_eq!(list.state, Some(A2aState::InputRequired));
            assert_eq!(
                (list.page_size, list.page_token.as_deref()),
                (Some(7), Some("p"))
            );
            assert_eq!(list.history_length, Some(1));
            let after = list.status_timestamp_after.as_deref();
            assert_eq!(after, Some("2026-11-16T10:00:00Z"));
            assert!(list.include_artifacts);
        }
        let empty = version.read_list(None, MAX_DEPTH).unwrap();
        assert!(empty.page_size.is_none() && empty.state.is_none() && !empty.include_artifacts);
    }
}

#[test]
fn a_list_that_is_wrong_names_the_field() {
    for (name, values) in [
        ("pageSize", &["-1", "0", "101", "1.5", "many"][..]),
        ("historyLength", &["-1", "0.5", "x"]),
        ("status", &["INVALID_STATUS", "9", "-1"]),
        ("statusTimestampAfter", &["yesterday", "2026-11-16"]),
        ("lastUpdatedAfter", &["-1", "soon"]),
        ("includeArtifacts", &["perhaps"]),
    ] {
        for value in values {
            for version in BOTH {
                let fault = version.list_from_query([(name, *value)].into_iter());
                assert_eq!(field(&fault.unwrap_err()), name, "{value}");
                let json = format!(r#"{{"{name}":"{value}"}}"#);
                let fault = version.read_list(Some(raw(&json)), MAX_DEPTH);
                assert_eq!(field(&fault.unwrap_err()), name, "{value}");
            }
        }
    }
    let twice = [("pageSize", "1"), ("page_size", "2")];
    let fault = A2aVersion::V10
        .list_from_query(twice.into_iter())
        .unwrap_err();
    assert_eq!(field(&fault), "pageSize");
}

#[test]
fn a_time_in_milliseconds_is_taken_where_the_old_kit_writes_one() {
    let list = A2aVersion::V03.read_list(Some(raw(r#"{"lastUpdatedAfter":1000}"#)), MAX_DEPTH);
    let after = list.unwrap().status_timestamp_after;
    assert_eq!(after.as_deref(), Some("1970-01-01T00:00:01.000Z"));
}

#[test]
fn the_unspecified_state_filters_only_where_it_is_a_state() {
    for (json, old, new) in [
        (r#"{"status":0}"#, Some(A2aState::Unknown), None),
        (r#"{"status":""}"#, None, None),
        (
            r#"{"status":5}"#,
            Some(A2aState::Canceled),
            Some(A2aState::Canceled),
        ),
    ] {
        let state =
            |version: A2aVersion| version.read_list(Some(raw(json)), MAX_DEPTH).unwrap().state;
        assert_eq!(
            (state(A2aVersion::V03), state(A2aVersion::V10)),
            (old, new),
            "{json}"
        );
    }
    let named = |version: A2aVersion, name: &str| {
        let json = format!(r#"{{"status":"{name}"}}"#);
        let listed = version.read_list(Some(raw(&json)), MAX_DEPTH);
        let asked = version.list_from_query([("status", name)].into_iter());
        assert_eq!(listed.is_ok(), asked.is_ok(), "{name}");
        listed.map(|list| list.state)
    };
    assert_eq!(
        named(A2aVersion::V03, "unknown"),
        Ok(Some(A2aState::Unknown))
    );
    assert_eq!(named(A2aVersion::V10, "TASK_STATE_UNSPECIFIED"), Ok(None));
    // Names of 0.3 are none in 1.0.
    for name in ["unknown", "completed", "TASK_STATE_CANCELLED"] {
        assert_eq!(field(&named(A2aVersion::V10, name).unwrap_err()), "status");
    }
}

#[test]
fn a_look_at_a_task_is_read_from_a_query() {
    for version in BOTH {
        for name in ["historyLength", "history_length"] {
            let get = version
                .get_from_query("t", [(name, "0")].into_iter())
                .unwrap();
            assert_eq!((&*get.id, get.history_length), ("t", Some(0)));
            let fault = version.get_from_query("t", [(name, "-1")].into_iter());
            assert_eq!(field(&fault.unwrap_err()), "historyLength");
        }
    }
}
