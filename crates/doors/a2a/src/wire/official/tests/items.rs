//! Tasks and what streams carry: golden in both versions and in REST of the old one.

use super::*;
use crate::wire::official::{
    model::{A2aState, StreamItem, Task, TaskPage},
    v03_proto::{self, FileBytes},
};

const TASK_03: &str = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"canceled","message":{"kind":"message","messageId":"m2","role":"agent","parts":[{"kind":"text","text":"done"}]},"timestamp":"2026-11-16T10:00:00.123Z"},"artifacts":[{"artifactId":"a","name":"n","description":"d","parts":[{"kind":"data","data":{"k":1}}],"metadata":{"x":1},"extensions":["urn:e"]}],"history":[{"kind":"message","messageId":"m1","contextId":"c","taskId":"t","role":"user","parts":[{"kind":"text","text":"go"}]}],"metadata":{"y":2}}"#;
const TASK_10: &str = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED","message":{"messageId":"m2","role":"ROLE_AGENT","parts":[{"text":"done"}]},"timestamp":"2026-11-16T10:00:00.123Z"},"artifacts":[{"artifactId":"a","name":"n","description":"d","parts":[{"data":{"k":1}}],"metadata":{"x":1},"extensions":["urn:e"]}],"history":[{"messageId":"m1","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"text":"go"}]}],"metadata":{"y":2}}"#;
const TASK_REST: &str = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED","message":{"messageId":"m2","role":"ROLE_AGENT","content":[{"text":"done"}]},"timestamp":"2026-11-16T10:00:00.123Z"},"artifacts":[{"artifactId":"a","name":"n","description":"d","parts":[{"data":{"data":{"k":1}}}],"metadata":{"x":1},"extensions":["urn:e"]}],"history":[{"messageId":"m1","contextId":"c","taskId":"t","role":"ROLE_USER","content":[{"text":"go"}]}],"metadata":{"y":2}}"#;

const STATUS_03: &str = r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true,"metadata":{"z":3}}"#;
const STATUS_10: &str = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"},"metadata":{"z":3}}}"#;
const STATUS_REST: &str = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"},"final":true,"metadata":{"z":3}}}"#;

const ARTIFACT_03: &str = r#"{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"chunk"}]},"append":true,"lastChunk":true}"#;
const ARTIFACT_10: &str = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"chunk"}]},"append":true,"lastChunk":true}}"#;

fn item(version: A2aVersion, item: &StreamItem) -> String {
    written(|out| version.write_item(item, out))
}

#[test]
fn a_task_looks_as_each_version_has_it() {
    let wrapped = |task: &str| format!(r#"{{"task":{task}}}"#);
    for (version, json) in [
        (A2aVersion::V03, TASK_03.to_owned()),
        (A2aVersion::V03, wrapped(TASK_REST)),
        (A2aVersion::V10, wrapped(TASK_10)),
    ] {
        let read = version.read_item(raw(&json)).unwrap();
        assert_eq!(item(A2aVersion::V03, &read), TASK_03);
        assert_eq!(item(A2aVersion::V10, &read), wrapped(TASK_10));
        assert_eq!(
            written(|out| v03_proto::write_item(FileBytes::Once, &read, out)),
            wrapped(TASK_REST)
        );
        assert_eq!(
            written(|out| A2aVersion::V10.write_sent(&read, out)),
            wrapped(TASK_10)
        );
        let StreamItem::Task(task) = read else {
            panic!()
        };
        assert_eq!(
            written(|out| A2aVersion::V03.write_task(&task, out)),
            TASK_03
        );
        assert_eq!(
            written(|out| A2aVersion::V10.write_task(&task, out)),
            TASK_10
        );
        assert_eq!(
            written(|out| v03_proto::write_task(FileBytes::Once, &task, out)),
            TASK_REST
        );
    }
}

#[test]
fn updates_look_as_each_version_has_them() {
    for (version, json) in [(A2aVersion::V03, STATUS_03), (A2aVersion::V03, STATUS_REST)] {
        let read = version.read_item(raw(json)).unwrap();
        assert_eq!(item(A2aVersion::V03, &read), STATUS_03);
        assert_eq!(item(A2aVersion::V10, &read), STATUS_10);
        assert_eq!(
            written(|out| v03_proto::write_item(FileBytes::Once, &read, out)),
            STATUS_REST
        );
    }
    for (version, json) in [
        (A2aVersion::V03, ARTIFACT_03),
        (A2aVersion::V10, ARTIFACT_10),
    ] {
        let read = version.read_item(raw(json)).unwrap();
        assert_eq!(item(A2aVersion::V03, &read), ARTIFACT_03);
        assert_eq!(item(A2aVersion::V10, &read), ARTIFACT_10);
        assert_eq!(
            written(|out| v03_proto::write_item(FileBytes::Once, &read, out)),
            ARTIFACT_10
        );
    }
}

#[test]
fn a_new_update_is_final_when_its_task_is_over() {
    for (state, is_final) in [
        ("COMPLETED", true),
        ("WORKING", false),
        ("INPUT_REQUIRED", false),
    ] {
        let json = format!(
            r#"{{"statusUpdate":{{"taskId":"t","status":{{"state":"TASK_STATE_{state}"}}}}}}"#
        );
        let StreamItem::Status(update) = A2aVersion::V10.read_item(raw(&json)).unwrap() else {
            panic!("{json}");
        };
        assert_eq!(update.is_final, is_final, "{state}");
    }
}

#[test]
fn every_state_has_its_names_in_both_versions() {
    for (number, old, new) in [
        (0, "unknown", "TASK_STATE_UNSPECIFIED"),
        (1, "submitted", "TASK_STATE_SUBMITTED"),
        (2, "working", "TASK_STATE_WORKING"),
        (3, "completed", "TASK_STATE_COMPLETED"),
        (4, "failed", "TASK_STATE_FAILED"),
        (5, "canceled", "TASK_STATE_CANCELED"),
        (6, "input-required", "TASK_STATE_INPUT_REQUIRED"),
        (7, "rejected", "TASK_STATE_REJECTED"),
        (8, "auth-required", "TASK_STATE_AUTH_REQUIRED"),
    ] {
        let state = A2aState::from_number(number).unwrap();
        assert_eq!(
            (state.name(A2aVersion::V03), state.name(A2aVersion::V10)),
            (old, new)
        );
        assert_eq!(
            (A2aState::from_name(old), A2aState::from_name(new)),
            (Some(state), Some(state))
        );
    }
    assert_eq!(A2aState::from_number(9), None);
    assert_eq!(A2aState::from_name("cancelled"), None);
}

#[test]
fn what_has_no_kind_is_known_by_its_fields() {
    let task = r#"{"id":"t","contextId":"c","status":{"state":"working"}}"#;
    let status = r#"{"taskId":"t","contextId":"c","status":{"state":"working"},"final":false}"#;
    let artifact = r#"{"taskId":"t","artifact":{"artifactId":"a","parts":[]}}"#;
    let message = r#"{"messageId":"m","role":"agent","parts":[{"text":"x"}]}"#;
    for version in BOTH {
        let read = |json| version.read_item(raw(json)).unwrap();
        assert!(matches!(read(task), StreamItem::Task(_)));
        assert!(matches!(read(status), StreamItem::Status(_)));
        assert!(matches!(read(artifact), StreamItem::Artifact(_)));
        assert!(matches!(read(message), StreamItem::Message(_)));
        let wrapped = format!(r#"{{"msg":{message}}}"#);
        assert!(matches!(read(&wrapped), StreamItem::Message(_)));
        for json in ["{}", "[]", "null", r#"{"kind":"x"}"#] {
            assert!(version.read_item(raw(json)).is_err(), "{json}");
        }
        let both = format!(r#"{{"task":{task},"message":{message}}}"#);
        assert!(version.read_item(raw(&both)).is_err());
    }
}

#[test]
fn a_servers_mistake_is_named_by_its_path() {
    let json = r#"{"task":{"id":"t","status":{"state":"TASK_STATE_LOST"}}}"#;
    let fault = A2aVersion::V10.read_item(raw(json)).unwrap_err();
    assert_eq!(field(&fault), "task.status.state");
    let json = r#"{"kind":"task","id":"t","status":{"state":"working"},"history":[{"messageId":"m","role":"agent","parts":[{"kind":"text"}]}]}"#;
    let fault = A2aVersion::V03.read_item(raw(json)).unwrap_err();
    assert_eq!(field(&fault), "history[0].parts[0].text");
}

#[test]
fn times_leave_in_utc_and_unreadable_ones_not_at_all() {
    for (given, expected) in [
        (
            "2026-11-16T12:00:00.5+02:00",
            r#","timestamp":"2026-11-16T10:00:00.5Z""#,
        ),
        (
            "2026-11-16T10:00:00.123456",
            r#","timestamp":"2026-11-16T10:00:00.123456Z""#,
        ),
        ("just now", ""),
        ("", ""),
    ] {
        let json = format!(
            r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"working","timestamp":"{given}"}}}}"#
        );
        let read = A2aVersion::V03.read_item(raw(&json)).unwrap();
        let StreamItem::Task(task) = &read else {
            panic!()
        };
        let known = task.status.timestamp.as_deref().unwrap_or_default();
        assert!(expected.contains(known) && known.is_empty() == expected.is_empty());
        let expected = format!(
            r#"{{"task":{{"id":"t","contextId":"c","status":{{"state":"TASK_STATE_WORKING"{expected}}}}}}}"#
        );
        assert_eq!(item(A2aVersion::V10, &read), expected);
    }
}

#[test]
fn a_time_that_is_not_in_utc_is_never_written() {
    let json = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}"#;
    let StreamItem::Task(mut task) = A2aVersion::V03.read_item(raw(json)).unwrap() else {
        panic!();
    };
    task.status.timestamp = Some("2026-11-16T10:00:00+00:00".into());
    let out = written(|out| A2aVersion::V10.write_task(&task, out));
    assert!(
        out.contains(r#""timestamp":"2026-11-16T10:00:00Z""#),
        "{out}"
    );
}

fn page(tasks: Vec<Task>) -> TaskPage {
    TaskPage {
        tasks,
        next_page_token: String::new(),
        page_size: 50,
        total_size: 0,
    }
}

#[test]
fn a_page_says_everything_even_when_it_is_empty() {
    assert_eq!(
        written(|out| A2aVersion::V10.write_page(&page(Vec::new()), out)),
        r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#
    );
    assert_eq!(
        written(|out| A2aVersion::V03.write_page(&page(Vec::new()), out)),
        r#"{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}"#
    );
}

#[test]
fn an_old_task_always_has_a_history() {
    let json = r#"{"id":"t","contextId":"c","status":{"state":"working"}}"#;
    let StreamItem::Task(task) = A2aVersion::V03.read_item(raw(json)).unwrap() else {
        panic!();
    };
    assert_eq!(
        written(|out| A2aVersion::V03.write_page(&page(vec![*task]), out)),
        r#"{"tasks":[{"kind":"task","id":"t","contextId":"c","status":{"state":"working"},"history":[]}],"nextPageToken":"","pageSize":1,"totalSize":0}"#
    );
}
