//! What holds for all input: nothing panics, and nothing gets lost that both versions can say.

use jackfield_wire::json::push_string;
use proptest::{collection::vec, option, prelude::*};

use super::*;

use crate::wire::official::{
    model::{
        A2aState, A2aStatus, Artifact, ArtifactUpdate, Configuration, Extra, Part, PartContent,
        PushConfig, Raw, Role, SendParams, StatusUpdate, StreamItem, Task,
    },
    rpc::{RpcCall, RpcResponse},
    v03_proto::{self, FileBytes},
};

/// Names that mean something somewhere, and one that does not.
const NAMES: [&str; 40] = [
    "message",
    "messageId",
    "message_id",
    "role",
    "parts",
    "content",
    "text",
    "raw",
    "url",
    "data",
    "file",
    "bytes",
    "uri",
    "fileWithBytes",
    "mediaType",
    "metadata",
    "kind",
    "configuration",
    "historyLength",
    "blocking",
    "pushNotificationConfig",
    "taskPushNotificationConfig",
    "authentication",
    "schemes",
    "scheme",
    "id",
    "taskId",
    "task",
    "status",
    "state",
    "artifact",
    "artifactId",
    "statusUpdate",
    "pageSize",
    "statusTimestampAfter",
    "extensions",
    "jsonrpc",
    "method",
    "params",
    "other",
];

const WORDS: [&str; 12] = [
    "",
    "user",
    "ROLE_AGENT",
    "text",
    "file",
    "data",
    "task",
    "working",
    "TASK_STATE_FAILED",
    "aGk=",
    "2026-11-16T10:00:00Z",
    "2.0",
];

fn string(text: &str) -> String {
    let mut out = String::new();
    push_string(&mut out, text);
    out
}

/// Any JSON, often almost right.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        (-9i32..9).prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("finite", |it| it.is_finite())
            .prop_map(|it| format!("{it:e}")),
        prop::sample::select(&WORDS[..]).prop_map(string),
        any::<String>().prop_map(|text| string(&text)),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let name = prop::sample::select(&NAMES[..]);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|list| format!("[{}]", list.join(","))),
            vec((name, inner), 0..7).prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| format!("\"{name}\":{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

fn boxed(json: String) -> Raw {
    RawValue::from_string(json).unwrap()
}

fn metadata() -> impl Strategy<Value = Option<Raw>> {
    option::of(any::<String>().prop_map(|text| boxed(format!(r#"{{"note":{}}}"#, string(&text)))))
}

/// A word that is there: both versions take an empty one for none.
fn word() -> impl Strategy<Value = String> {
    any::<String>().prop_filter("not empty", |word| !word.is_empty())
}

fn bytes() -> impl Strategy<Value = String> {
    "([A-Za-z0-9+/]{4}){0,5}([A-Za-z0-9+/]{2}==)?"
}

fn part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        any::<String>().prop_map(PartContent::Text),
        bytes().prop_map(PartContent::Bytes),
        word().prop_map(PartContent::Url),
        json().prop_map(|json| PartContent::Data(boxed(json))),
    ];
    (content, option::of(word()), option::of(word()), metadata()).prop_map(
        |(content, media_type, filename, metadata)| {
            // Only files have these in both versions.
            let is_file = matches!(content, PartContent::Bytes(_) | PartContent::Url(_));
            Part {
                content,
                media_type: media_type.filter(|_| is_file),
                filename: filename.filter(|_| is_file),
                metadata,
                extra: Extra::new(),
            }
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    let ids = (word(), option::of(word()), option::of(word()));
    (
        ids,
        role,
        vec(part(), 1..4),
        metadata(),
        vec(any::<String>(), 0..2),
    )
        .prop_map(
            |((id, context_id, task_id), role, parts, metadata, extensions)| Message {
                context_id,
                task_id,
                metadata,
                extensions,
                ..Message::new(id, role, parts)
            },
        )
}

fn state() -> impl Strategy<Value = A2aState> {
    (0i64..9).prop_map(|number| A2aState::from_number(number).unwrap())
}

fn status() -> impl Strategy<Value = A2aStatus> {
    let time = option::of(
        (0i64..253_402_300_800_000)
            .prop_map(|millis| jackfield_wire::time::from_millis(millis).unwrap()),
    );
    (state(), option::of(message()), time).prop_map(|(state, message, timestamp)| A2aStatus {
        message,
        timestamp,
        ..A2aStatus::new(state)
    })
}

fn artifact() -> impl Strategy<Value = Artifact> {
    let words = (word(), option::of(word()), option::of(word()));
    (
        words,
        vec(part(), 0..3),
        metadata(),
        vec(any::<String>(), 0..2),
    )
        .prop_map(
            |((id, name, description), parts, metadata, extensions)| Artifact {
                id,
                name,
                description,
                parts,
                metadata,
                extensions,
                extra: Extra::new(),
            },
        )
}

fn task() -> impl Strategy<Value = Task> {
    let ids = (word(), any::<String>());
    (
        ids,
        status(),
        vec(artifact(), 0..3),
        vec(message(), 0..3),
        metadata(),
    )
        .prop_map(
            |((id, context_id), status, artifacts, history, metadata)| Task {
                id,
                context_id,
                status,
                artifacts,
                history,
                metadata,
                extra: Extra::new(),
            },
        )
}

fn item() -> impl Strategy<Value = StreamItem> {
    let status = (word(), any::<String>(), status(), any::<bool>(), metadata()).prop_map(
        |(task_id, context_id, status, is_final, metadata)| {
            StreamItem::Status(Box::new(StatusUpdate {
                task_id,
                context_id,
                status,
                is_final,
                metadata,
                extra: Extra::new(),
            }))
        },
    );
    let flags = (any::<bool>(), any::<bool>());
    let artifact = (word(), any::<String>(), artifact(), flags, metadata()).prop_map(
        |(task_id, context_id, artifact, (append, last_chunk), metadata)| {
            StreamItem::Artifact(Box::new(ArtifactUpdate {
                task_id,
                context_id,
                artifact,
                append,
                last_chunk,
                metadata,
                extra: Extra::new(),
            }))
        },
    );
    prop_oneof![
        task().prop_map(|task| StreamItem::Task(task.into())),
        message().prop_map(|message| StreamItem::Message(message.into())),
        status,
        artifact,
    ]
}

fn configuration() -> impl Strategy<Value = Configuration> {
    let push =
        (option::of(word()), word(), option::of(word())).prop_map(|(id, url, token)| PushConfig {
            id,
            task_id: None,
            url,
            token,
            authentication: None,
            extra: Extra::new(),
        });
    (
        vec(any::<String>(), 0..3),
        option::of(0usize..9),
        option::of(any::<bool>()),
        option::of(push),
    )
        .prop_map(
            |(accepted_output_modes, history_length, return_immediately, push)| Configuration {
                accepted_output_modes,
                history_length,
                return_immediately,
                push,
            },
        )
}

fn send_params() -> impl Strategy<Value = SendParams> {
    (option::of(word()), message(), configuration(), metadata()).prop_map(
        |(tenant, message, configuration, metadata)| SendParams {
            tenant,
            message,
            configuration,
            metadata,
        },
    )
}

/// Reads what `version` may say to anybody, and writes what comes of it.
fn read_everything(version: A2aVersion, raw: &RawValue) {
    let params = Some(raw);
    version.read_send(params, MAX_DEPTH).ok();
    version.read_get(params, MAX_DEPTH).ok();
    version.read_list(params, MAX_DEPTH).ok();
    version.read_task(params, MAX_DEPTH).ok();
    version.read_push(params, MAX_DEPTH).ok();
    version.push_from_body("t", params, MAX_DEPTH).ok();
    version.read_push_params(params, MAX_DEPTH).ok();
    version.read_push_list(params, MAX_DEPTH).ok();
    version.read_tenant(params, MAX_DEPTH).ok();
    if let Ok(message) = version.read_message(raw) {
        for version in BOTH {
            written(|out| version.write_message(&message, out));
        }
    }
    if let Ok(item) = version.read_item(raw) {
        for version in BOTH {
            written(|out| version.write_item(&item, out));
        }
    }
    for files in [FileBytes::Once, FileBytes::Twice] {
        v03_proto::read_send(files, params, MAX_DEPTH).ok();
        if let Ok(item) = v03_proto::read_item(files, raw) {
            written(|out| v03_proto::write_item(files, &item, out));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn nothing_that_is_read_makes_it_panic(json in json()) {
        for version in BOTH {
            read_everything(version, raw(&json));
        }
        RpcCall::read(json.as_bytes()).ok();
    }

    #[test]
    fn no_bytes_make_the_envelope_panic(body in any::<Vec<u8>>()) {
        RpcCall::read(&body).ok();
    }

    #[test]
    fn no_query_makes_it_panic(name in prop::sample::select(&NAMES[..]), value in any::<String>()) {
        for version in BOTH {
            version.list_from_query([(name, &*value)].into_iter()).ok();
            version.get_from_query("t", [(name, &*value)].into_iter()).ok();
        }
    }

    #[test]
    fn nothing_is_lost_that_both_versions_can_say(item in item()) {
        let new = written(|out| A2aVersion::V10.write_item(&item, out));
        let old = written(|out| A2aVersion::V03.write_item(&item, out));
        let read = A2aVersion::V10.read_item(raw(&new)).unwrap();
        prop_assert_eq!(&written(|out| A2aVersion::V10.write_item(&read, out)), &new);
        for files in [FileBytes::Once, FileBytes::Twice] {
            let rest = written(|out| v03_proto::write_item(files, &item, out));
            for read in [
                A2aVersion::V03.read_item(raw(&old)).unwrap(),
                v03_proto::read_item(files, raw(&rest)).unwrap(),
            ] {
                prop_assert_eq!(&written(|out| A2aVersion::V10.write_item(&read, out)), &new);
                prop_assert_eq!(&written(|out| A2aVersion::V03.write_item(&read, out)), &old);
                let again = written(|out| v03_proto::write_item(files, &read, out));
                prop_assert_eq!(&again, &rest);
            }
        }
    }

    #[test]
    fn what_a_client_asks_is_read_as_it_was_meant(params in send_params()) {
        let new = written(|out| A2aVersion::V10.write_send_params(&params, out));
        let read = A2aVersion::V10.read_send(Some(raw(&new)), MAX_DEPTH).unwrap();
        prop_assert_eq!(&written(|out| A2aVersion::V10.write_send_params(&read, out)), &new);
        let tenant = params.tenant.clone();
        let same = |read: &SendParams| {
            let read = SendParams { tenant: tenant.clone(), ..read.clone() };
            written(|out| A2aVersion::V10.write_send_params(&read, out))
        };
        let old = written(|out| A2aVersion::V03.write_send_params(&params, out));
        prop_assert_eq!(&same(&A2aVersion::V03.read_send(Some(raw(&old)), MAX_DEPTH).unwrap()), &new);
        for files in [FileBytes::Once, FileBytes::Twice] {
            let rest = written(|out| v03_proto::write_send_params(files, &params, out));
            prop_assert_eq!(&same(&v03_proto::read_send(files, Some(raw(&rest)), MAX_DEPTH).unwrap()), &new);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_of_answers_panic(body in any::<Vec<u8>>(), json in json(), status in any::<u16>()) {
        RpcResponse::read(&body).ok();
        RpcResponse::read(json.as_bytes()).ok();
        RpcResponse::read(format!(r#"{{"jsonrpc":"2.0","id":1,"error":{json}}}"#).as_bytes()).ok();
        A2aError::from_rest(status, raw(&json));
    }

    #[test]
    fn a_message_that_is_read_is_written_so_that_it_is_read_the_same(json in json()) {
        for version in BOTH {
            let message = format!(r#"{{"messageId":"m","role":1,"parts":[{{"data":{json},"x":{json}}}]}}"#);
            if let Ok(message) = version.read_message(raw(&message)) {
                let once = written(|out| version.write_message(&message, out));
                let again = version.read_message(raw(&once)).unwrap();
                prop_assert_eq!(written(|out| version.write_message(&again, out)), once);
            }
        }
    }
}
