//! Parts: the same in both versions, and what one of them cannot say.

use super::*;
use crate::wire::official::{
    model::StreamItem,
    v03_proto::{self, FileBytes},
};

/// The parts that `version` makes of a message.
fn parts(version: A2aVersion, message: &Message) -> String {
    let message = written(|out| version.write_message(message, out));
    let (_, rest) = message.split_once(r#""parts":"#).unwrap();
    rest.strip_suffix('}').unwrap().to_owned()
}

#[test]
fn both_versions_say_the_same_of_every_part() {
    for (old, new) in [
        (r#"[{"kind":"text","text":"hi"}]"#, r#"[{"text":"hi"}]"#),
        (
            r#"[{"kind":"text","text":"","metadata":{"a":1}}]"#,
            r#"[{"text":"","metadata":{"a":1}}]"#,
        ),
        (
            r#"[{"kind":"file","file":{"bytes":"aGk=","mimeType":"text/plain","name":"a.txt"}}]"#,
            r#"[{"raw":"aGk=","mediaType":"text/plain","filename":"a.txt"}]"#,
        ),
        (
            r#"[{"kind":"file","file":{"uri":"https://e.x/a"},"metadata":{"b":2}}]"#,
            r#"[{"url":"https://e.x/a","metadata":{"b":2}}]"#,
        ),
        (
            r#"[{"kind":"data","data":{"key":"value"}}]"#,
            r#"[{"data":{"key":"value"}}]"#,
        ),
        (
            r#"[{"kind":"data","data":{"value":[1,2]},"metadata":{"data_part_compat":true}}]"#,
            r#"[{"data":[1,2]}]"#,
        ),
        (
            r#"[{"kind":"data","data":{"value":null},"metadata":{"a":1,"data_part_compat":true}}]"#,
            r#"[{"data":null,"metadata":{"a":1}}]"#,
        ),
    ] {
        for (version, json) in [(A2aVersion::V03, old), (A2aVersion::V10, new)] {
            let message = message_of(version, json).unwrap();
            assert_eq!(parts(A2aVersion::V03, &message), old);
            assert_eq!(parts(A2aVersion::V10, &message), new);
        }
    }
}

#[test]
fn rest_of_the_old_version_has_its_own_names() {
    let files = FileBytes::Once;
    for (json, expected) in [
        (r#"[{"text":"hi"}]"#, r#"[{"text":"hi"}]"#),
        (
            r#"[{"raw":"aGk="}]"#,
            r#"[{"file":{"fileWithBytes":"aGk="}}]"#,
        ),
        (
            r#"[{"url":"https://e.x/a","mediaType":"a/b","filename":"a"}]"#,
            r#"[{"file":{"fileWithUri":"https://e.x/a","mimeType":"a/b","name":"a"}}]"#,
        ),
        (r#"[{"data":{"k":1}}]"#, r#"[{"data":{"data":{"k":1}}}]"#),
        (
            r#"[{"data":7}]"#,
            r#"[{"data":{"data":{"value":7}},"metadata":{"data_part_compat":true}}]"#,
        ),
    ] {
        let message = message_of(A2aVersion::V10, json).unwrap();
        let item = StreamItem::Message(Box::new(message));
        let out = written(|out| v03_proto::write_item(files, &item, out));
        let start = r#"{"message":{"messageId":"m","role":"ROLE_USER","content":"#;
        assert_eq!(out, format!("{start}{expected}}}}}"));
        let StreamItem::Message(message) = v03_proto::read_item(files, raw(&out)).unwrap() else {
            panic!("{out}");
        };
        assert_eq!(parts(A2aVersion::V10, &message), json);
    }
}

/// A file in a request of REST in 0.3, as its bytes are in 1.0.
fn bytes_of_rest(files: FileBytes, bytes: &str) -> String {
    let json = format!(
        r#"{{"message":{{"message_id":"m","content":[{{"file":{{"file_with_bytes":"{bytes}"}}}}]}}}}"#
    );
    let params = v03_proto::read_send(files, Some(raw(&json)), MAX_DEPTH).unwrap();
    let parts = parts(A2aVersion::V10, &params.message);
    let bytes = parts.strip_prefix(r#"[{"raw":""#).unwrap();
    bytes.strip_suffix(r#""}]"#).unwrap().to_owned()
}

#[test]
fn bytes_are_put_into_base64_as_often_as_the_client_does() {
    for (bytes, twice) in [
        ("aGk=", "YUdrPQ=="),
        // These are no text.
        ("/9j/4A==", "LzlqLzRBPT0="),
        // This is a text that is base64 itself, and the base64 of it.
        ("aGVsbG8x", "YUdWc2JHOHg="),
        ("YUdrPQ==", "WVVkclBRPT0="),
        ("", ""),
    ] {
        let message = message_of(A2aVersion::V10, &format!(r#"[{{"raw":"{bytes}"}}]"#)).unwrap();
        let item = StreamItem::Message(Box::new(message));
        for (files, expected) in [(FileBytes::Once, bytes), (FileBytes::Twice, twice)] {
            let out = written(|out| v03_proto::write_item(files, &item, out));
            let file = format!(r#""content":[{{"file":{{"fileWithBytes":"{expected}"}}}}]"#);
            assert!(out.contains(&file), "{files:?}: {out}");
            assert_eq!(bytes_of_rest(files, expected), bytes, "{files:?}");
        }
    }
}

#[test]
fn what_cannot_have_been_put_into_base64_twice_was_so_once() {
    assert_eq!(bytes_of_rest(FileBytes::Twice, "/9j/4A=="), "/9j/4A==");
    assert_eq!(bytes_of_rest(FileBytes::Twice, "aGkh"), "aGkh");
}

#[test]
fn bytes_under_the_name_of_json_rpc_are_in_base64_once_for_everybody() {
    let json = raw(
        r#"{"message":{"messageId":"m","parts":[{"kind":"file","file":{"bytes":"YUdrPQ=="}}]}}"#,
    );
    for files in [FileBytes::Once, FileBytes::Twice] {
        let params = v03_proto::read_send(files, Some(json), MAX_DEPTH).unwrap();
        let expected = r#"[{"raw":"YUdrPQ=="}]"#;
        assert_eq!(parts(A2aVersion::V10, &params.message), expected);
    }
}

#[test]
fn data_of_any_kind_is_taken_from_old_callers_too() {
    let message = message_of(A2aVersion::V03, r#"[{"kind":"data","data":[{"a":1}]}]"#).unwrap();
    assert_eq!(parts(A2aVersion::V10, &message), r#"[{"data":[{"a":1}]}]"#);
    let inner = r#"[{"kind":"data","data":{"data":{"a":1}}}]"#;
    let message = message_of(A2aVersion::V03, inner).unwrap();
    assert_eq!(parts(A2aVersion::V03, &message), inner);
}

#[test]
fn unknown_fields_come_out_where_they_came_in() {
    let json = r#"[{"kind":"file","file":{"uri":"u","sizeInBytes":9},"x":{"y":1}}]"#;
    let message = message_of(A2aVersion::V03, json).unwrap();
    assert_eq!(parts(A2aVersion::V03, &message), json);
    assert_eq!(parts(A2aVersion::V10, &message), r#"[{"url":"u"}]"#);
    let json = r#"[{"text":"t","x":{"y":1}}]"#;
    let message = message_of(A2aVersion::V10, json).unwrap();
    assert_eq!(parts(A2aVersion::V10, &message), json);
    assert_eq!(
        parts(A2aVersion::V03, &message),
        r#"[{"kind":"text","text":"t"}]"#
    );
}

#[test]
fn the_new_version_does_not_mind_a_kind() {
    let json = r#"[{"kind":"speech","text":"t"}]"#;
    let message = message_of(A2aVersion::V10, json).unwrap();
    assert_eq!(parts(A2aVersion::V10, &message), r#"[{"text":"t"}]"#);
}

#[test]
fn data_is_marked_as_wrapped_just_once() {
    let json = r#"[{"data":1,"metadata":{"data_part_compat":false,"a":2}}]"#;
    let message = message_of(A2aVersion::V10, json).unwrap();
    let expected =
        r#"[{"kind":"data","data":{"value":1},"metadata":{"a":2,"data_part_compat":true}}]"#;
    assert_eq!(parts(A2aVersion::V03, &message), expected);
}

#[test]
fn base64_leaves_as_the_standard_has_it() {
    for given in ["_-8", "/+8=", "/+\\n8="] {
        let message = message_of(A2aVersion::V10, &format!(r#"[{{"raw":"{given}"}}]"#)).unwrap();
        assert_eq!(parts(A2aVersion::V10, &message), r#"[{"raw":"/+8="}]"#);
    }
}

#[test]
fn values_leave_on_one_line() {
    let json = "[{\"data\":{\n \"a b\" : [1,\r\n 2]}}]";
    let message = message_of(A2aVersion::V10, json).unwrap();
    assert_eq!(
        parts(A2aVersion::V10, &message),
        r#"[{"data":{"a b":[1,2]}}]"#
    );
}

#[test]
fn a_part_that_is_wrong_names_the_field() {
    for (json, expected) in [
        (r#"[{}]"#, "message.parts[0]"),
        (
            r#"[{"text":"a"},{"text":"a","url":"b"}]"#,
            "message.parts[1]",
        ),
        (r#"[{"text":4}]"#, "message.parts[0].text"),
        (r#"[{"text":null}]"#, "message.parts[0]"),
        (r#"[{"raw":"a b"}]"#, "message.parts[0].raw"),
        (r#"[{"raw":"a"}]"#, "message.parts[0].raw"),
        (
            r#"[{"text":"a","mediaType":[]}]"#,
            "message.parts[0].mediaType",
        ),
        (
            r#"[{"text":"a","metadata":"b"}]"#,
            "message.parts[0].metadata",
        ),
        (r#"[{"text":"a","text":"b"}]"#, "message.parts[0].text"),
    ] {
        let fault = message_of(A2aVersion::V10, json).unwrap_err();
        assert_eq!(field(&fault), expected, "{json}");
    }
    for (json, expected) in [
        (r#"[{"kind":"text"}]"#, "message.parts[0].text"),
        (r#"[{"kind":"text","data":{}}]"#, "message.parts[0].text"),
        (r#"[{"kind":"file"}]"#, "message.parts[0].file"),
        (r#"[{"kind":"file","file":{}}]"#, "message.parts[0].file"),
        (r#"[{"kind":"file","file":"x"}]"#, "message.parts[0].file"),
        (
            r#"[{"kind":"file","file":{"bytes":"a","uri":"b"}}]"#,
            "message.parts[0].file.bytes",
        ),
        (
            r#"[{"kind":"file","file":{"bytes":"aGk=","uri":"b"}}]"#,
            "message.parts[0]",
        ),
        (r#"[{"kind":"data","data":null}]"#, "message.parts[0].data"),
        (r#"[{"kind":"video","video":{}}]"#, "message.parts[0].kind"),
        (
            r#"[{"kind":"text","text":"a","data":{}}]"#,
            "message.parts[0]",
        ),
    ] {
        let fault = message_of(A2aVersion::V03, json).unwrap_err();
        assert_eq!(field(&fault), expected, "{json}");
    }
    let many = format!("[{}{{}}]", r#"{"text":""},"#.repeat(1000));
    let fault = message_of(A2aVersion::V10, &many).unwrap_err();
    assert_eq!(field(&fault), "message.parts");
}
