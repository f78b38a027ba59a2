//! Anything that the model and gRPC can both say.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Value, json, value::to_raw_value};

use crate::wire::official::model::{
    A2aState, A2aStatus, Artifact, ArtifactUpdate, Authentication, Extra, Message, Part,
    PartContent, PushConfig, Raw, Role, StatusUpdate, StreamItem, Task,
};

fn word() -> impl Strategy<Value = String> {
    "[a-zA-Zäß€0-9 /:._\"\\\\-]{1,12}"
}

fn words() -> impl Strategy<Value = Vec<String>> {
    vec(word(), 0..3)
}

/// Numbers are those that a double and its text hold exactly. No `null`: the generated types read it as a value that does not
/// say what it is.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-(1i64 << 53)..=(1i64 << 53)).prop_map(Value::from),
        any::<i16>().prop_map(|eighths| json!(f64::from(eighths) + 0.125)),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            object_of(inner),
        ]
    })
}

fn object_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    vec((word(), value), 0..4).prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn metadata() -> impl Strategy<Value = Option<Raw>> {
    option::of(object_of(any_json()).prop_map(|object| raw(&object)))
}

fn raw(value: &Value) -> Raw {
    to_raw_value(value).unwrap()
}

fn content() -> impl Strategy<Value = PartContent> {
    prop_oneof![
        "\\PC{0,12}".prop_map(PartContent::Text),
        vec(any::<u8>(), 0..12).prop_map(|bytes| PartContent::Bytes(STANDARD.encode(bytes))),
        word().prop_map(PartContent::Url),
        any_json().prop_map(|value| PartContent::Data(raw(&value))),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    (
        content(),
        option::of(word()),
        option::of(word()),
        metadata(),
    )
        .prop_map(|(content, media_type, filename, metadata)| Part {
            content,
            media_type,
            filename,
            metadata,
            extra: Extra::default(),
        })
}

pub(super) fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    let ids = (word(), option::of(word()), option::of(word()));
    (ids, role, vec(part(), 1..4), metadata(), words(), words()).prop_map(
        |((id, context_id, task_id), role, parts, metadata, extensions, reference_task_ids)| {
            Message {
                id,
                context_id,
                task_id,
                role,
                parts,
                metadata,
                extensions,
                reference_task_ids,
                extra: Extra::default(),
            }
        },
    )
}

fn artifact() -> impl Strategy<Value = Artifact> {
    let names = (word(), option::of(word()), option::of(word()));
    (names, vec(part(), 1..3), metadata(), words()).prop_map(
        |((id, name, description), parts, metadata, extensions)| Artifact {
            id,
            name,
            description,
            parts,
            metadata,
            extensions,
            extra: Extra::default(),
        },
    )
}

fn status() -> impl Strategy<Value = A2aStatus> {
    let state = prop::sample::select(vec![
        A2aState::Submitted,
        A2aState::Working,
        A2aState::InputRequired,
        A2aState::AuthRequired,
        A2aState::Completed,
        A2aState::Canceled,
        A2aState::Failed,
        A2aState::Rejected,
        A2aState::Unknown,
    ]);
    let time = (-1_000_000_000_000i64..4_000_000_000_000).prop_map(|millis| {
        let time = Timestamp::from_millisecond(millis).unwrap();
        time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    });
    (state, option::of(message()), option::of(time)).prop_map(|(state, message, timestamp)| {
        A2aStatus {
            state,
            message,
            timestamp,
            extra: Extra::default(),
        }
    })
}

pub(super) fn task() -> impl Strategy<Value = Task> {
    let lists = (vec(artifact(), 0..3), vec(message(), 0..3));
    (word(), word(), status(), lists, metadata()).prop_map(
        |(id, context_id, status, (artifacts, history), metadata)| Task {
            id,
            context_id,
            status,
            artifacts,
            history,
            metadata,
            extra: Extra::default(),
        },
    )
}

fn status_update() -> impl Strategy<Value = StatusUpdate> {
    (word(), word(), status(), any::<bool>(), metadata()).prop_map(
        |(task_id, context_id, status, is_final, metadata)| StatusUpdate {
            task_id,
            context_id,
            status,
            is_final,
            metadata,
            extra: Extra::default(),
        },
    )
}

fn artifact_update() -> impl Strategy<Value = ArtifactUpdate> {
    let flags = (any::<bool>(), any::<bool>());
    (word(), word(), artifact(), flags, metadata()).prop_map(
        |(task_id, context_id, artifact, (append, last_chunk), metadata)| ArtifactUpdate {
            task_id,
            context_id,
            artifact,
            append,
            last_chunk,
            metadata,
            extra: Extra::default(),
        },
    )
}

pub(super) fn sent() -> impl Strategy<Value = StreamItem> {
    prop_oneof![
        task().prop_map(|it| StreamItem::Task(Box::new(it))),
        message().prop_map(|it| StreamItem::Message(Box::new(it))),
    ]
}

pub(super) fn item() -> impl Strategy<Value = StreamItem> {
    prop_oneof![
        sent(),
        status_update().prop_map(|it| StreamItem::Status(Box::new(it))),
        artifact_update().prop_map(|it| StreamItem::Artifact(Box::new(it))),
    ]
}

pub(super) fn push() -> impl Strategy<Value = PushConfig> {
    let authentication =
        (word(), option::of(word())).prop_map(|(scheme, credentials)| Authentication {
            schemes: vec![scheme],
            credentials,
        });
    let names = (option::of(word()), word(), word(), option::of(word()));
    (names, option::of(authentication)).prop_map(|((id, task_id, url, token), authentication)| {
        PushConfig {
            id,
            task_id: Some(task_id),
            url,
            token,
            authentication,
            extra: Extra::default(),
        }
    })
}
