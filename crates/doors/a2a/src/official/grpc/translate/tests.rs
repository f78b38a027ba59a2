//! The messages and their translation, held against two others: the messages that a compiler made of the published
//! definition, with their own JSON, and the hub's readers and writers of JSON.

use std::fmt::Debug;

use a2a_pb::protojson;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, value::to_raw_value};

use super::{read, write};
use crate::official::grpc::proto;
use crate::wire::official::{
    A2aVersion,
    error::A2aError,
    model::{
        A2aState, A2aStatus, Message, Part, PartContent, PushPage, Raw, Role, StreamItem, Task,
        TaskPage,
    },
};

mod models;

const DEPTH: usize = 64;

/// The same message, of types that a compiler made.
fn generated<Pb: prost::Message + Default>(ours: &impl prost::Message) -> Pb {
    Pb::decode(ours.encode_to_vec().as_slice()).unwrap()
}

/// What generated types read from JSON, as ours.
fn ours<Pb, Ours>(json: &Value) -> Ours
where
    Pb: prost::Message + DeserializeOwned,
    Ours: prost::Message + Default,
{
    let generated: Pb = serde_json::from_value(json.clone()).unwrap();
    Ours::decode(generated.encode_to_vec().as_slice()).unwrap()
}

/// What generated types read from JSON that the hub wrote.
fn from_json<Pb: DeserializeOwned>(write: impl FnOnce(&mut String)) -> Pb {
    let mut json = String::new();
    write(&mut json);
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

fn raw(json: &Value) -> Raw {
    to_raw_value(json).unwrap()
}

fn written(message: &Message) -> Value {
    from_json(|out| A2aVersion::V10.write_message(message, out))
}

proptest! {
    #[test]
    fn what_streams_carry_is_the_same_as_in_json(item in models::item()) {
        let json: protojson::StreamResponse = from_json(|out| A2aVersion::V10.write_item(&item, out));
        let bytes: protojson::StreamResponse = generated(&write::item(item));
        prop_assert_eq!(bytes, json);
    }

    #[test]
    fn the_answer_to_a_send_is_the_same_as_in_json(item in models::sent()) {
        let json: protojson::SendMessageResponse = from_json(|out| A2aVersion::V10.write_sent(&item, out));
        let bytes: protojson::SendMessageResponse = generated(&write::item(item));
        prop_assert_eq!(bytes, json);
    }

    #[test]
    fn a_page_is_the_same_as_in_json(tasks in prop::collection::vec(models::task(), 0..3)) {
        let page = TaskPage {
            tasks,
            next_page_token: "1.x".into(),
            page_size: 50,
            total_size: 7,
        };
        let json: protojson::ListTasksResponse = from_json(|out| A2aVersion::V10.write_page(&page, out));
        let bytes: protojson::ListTasksResponse = generated(&write::page(page));
        prop_assert_eq!(bytes, json);
    }

    #[test]
    fn a_push_config_is_the_same_as_in_json_and_comes_back_as_it_was(config in models::push()) {
        type Pushes = protojson::ListTaskPushNotificationConfigsResponse;
        let json: protojson::TaskPushNotificationConfig =
            from_json(|out| A2aVersion::V10.write_push(&config, out));
        let bytes = write::push(config.clone());
        prop_assert_eq!(generated::<protojson::TaskPushNotificationConfig>(&bytes), json);
        let back = read::push(bytes).unwrap().config;
        prop_assert_eq!(format!("{back:?}"), format!("{config:?}"));
        let json: Pushes = from_json(|out| {
            A2aVersion::V10.write_pushes(std::slice::from_ref(&config), "c-1", out);
        });
        let page = PushPage {
            configs: vec![config],
            next_page_token: "c-1".to_owned(),
        };
        prop_assert_eq!(generated::<Pushes>(&write::pushes(page)), json);
    }

    #[test]
    fn a_message_comes_back_as_it_was(message in models::message()) {
        let before = written(&message);
        let sent = write::item(StreamItem::Message(Box::new(message))).payload;
        let Some(proto::Payload::Message(sent)) = sent else { panic!("{sent:?}") };
        let asked = proto::SendMessageRequest { message: Some(sent), ..Default::default() };
        let after = read::send(asked, DEPTH).unwrap().message;
        prop_assert_eq!(written(&after), before);
    }

    #[test]
    fn a_message_is_read_as_from_json(message in models::message()) {
        let json = json!({"message": written(&message)});
        let bytes = read::send(ours::<protojson::SendMessageRequest, _>(&json), DEPTH).unwrap();
        let text = A2aVersion::V10.read_send(Some(&raw(&json)), DEPTH).unwrap();
        prop_assert_eq!(written(&bytes.message), written(&text.message));
    }
}

/// What is said of a request that was read, be it read or refused: the fields that are wrong.
fn verdict<T: Debug>(read: Result<T, A2aError>) -> String {
    match read {
        Ok(params) => format!("{params:?}"),
        Err(fault) => {
            let fields: Vec<_> = fault.violations.iter().map(|(field, _)| field).collect();
            format!("{:?}: {fields:?}", fault.kind)
        }
    }
}

const READ: A2aVersion = A2aVersion::V10;

#[test]
fn a_send_is_read_and_refused_as_in_json() {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": ""}]});
    let with = |name: &str, value: Value| {
        let mut message = message.clone();
        message[name] = value;
        json!({"message": message})
    };
    let configured =
        |configuration: Value| json!({"message": message, "configuration": configuration});
    for asked in [
        json!({"tenant": "echo", "message": message, "metadata": {"a": [1, {"b": false}], "z": 0.5}}),
        configured(json!({"acceptedOutputModes": ["text/plain", "image/*"], "historyLength": 3})),
        configured(json!({"historyLength": 0, "returnImmediately": true})),
        configured(json!({"taskPushNotificationConfig": {
            "id": "p", "taskId": "t", "url": "https://a.example/", "token": "x",
            "authentication": {"scheme": "Bearer", "credentials": "c"},
        }})),
        with("role", json!("ROLE_AGENT")),
        json!({}),
        with("messageId", json!("")),
        with("role", json!("ROLE_UNSPECIFIED")),
        with("parts", json!([])),
        with("parts", json!([{"text": "a"}, {"mediaType": "text/plain"}])),
        with("metadata", json!({})),
        configured(json!({"historyLength": -1})),
        configured(json!({"taskPushNotificationConfig": {"id": "p"}})),
        configured(
            json!({"taskPushNotificationConfig": {"url": "https://a.example/", "authentication": {}}}),
        ),
        configured(
            json!({"taskPushNotificationConfig": {"url": "https://a.example/", "authentication": {"credentials": "c"}}}),
        ),
    ] {
        let bytes = read::send(ours::<protojson::SendMessageRequest, _>(&asked), DEPTH);
        let text = READ.read_send(Some(&raw(&asked)), DEPTH);
        assert_eq!(verdict(bytes), verdict(text), "{asked}");
    }
}

#[test]
fn the_other_requests_are_read_and_refused_as_in_json() {
    for asked in [
        json!({"tenant": "echo", "id": "t"}),
        json!({"id": "t", "historyLength": 0}),
        json!({"id": "t", "historyLength": -3}),
        json!({"historyLength": 1}),
    ] {
        let bytes = read::get(ours::<protojson::GetTaskRequest, _>(&asked));
        assert_eq!(
            verdict(bytes),
            verdict(READ.read_get(Some(&raw(&asked)), DEPTH)),
            "{asked}"
        );
    }
    for asked in [
        json!({}),
        json!({"tenant": "echo", "contextId": "c", "status": "TASK_STATE_INPUT_REQUIRED", "pageSize": 100,
            "pageToken": "x", "historyLength": 2, "statusTimestampAfter": "2026-01-31T12:00:00.125Z",
            "includeArtifacts": true}),
        json!({"pageSize": 0}),
        json!({"pageSize": 101}),
        json!({"pageSize": -1}),
        json!({"historyLength": -1}),
    ] {
        let bytes = read::list(ours::<protojson::ListTasksRequest, _>(&asked));
        assert_eq!(
            verdict(bytes),
            verdict(READ.read_list(Some(&raw(&asked)), DEPTH)),
            "{asked}"
        );
    }
    for asked in [
        json!({"tenant": "echo", "id": "t", "metadata": {"why": "enough"}}),
        json!({}),
    ] {
        let bytes = read::cancel(ours::<protojson::CancelTaskRequest, _>(&asked), DEPTH);
        assert_eq!(
            verdict(bytes),
            verdict(READ.read_task(Some(&raw(&asked)), DEPTH)),
            "{asked}"
        );
    }
    for asked in [json!({"tenant": "echo", "id": "t"}), json!({})] {
        let bytes = read::subscribe(ours::<protojson::SubscribeToTaskRequest, _>(&asked));
        assert_eq!(
            verdict(bytes),
            verdict(READ.read_task(Some(&raw(&asked)), DEPTH)),
            "{asked}"
        );
    }
}

#[test]
fn the_requests_about_push_configs_are_read_and_refused_as_in_json() {
    for asked in [
        json!({"tenant": "echo", "id": "p", "taskId": "t", "url": "https://a.example/"}),
        json!({"taskId": "t", "url": "https://a.example/", "authentication": {"scheme": "Basic"}}),
        json!({"url": "https://a.example/"}),
        json!({"taskId": "t"}),
    ] {
        let bytes = read::push(ours::<protojson::TaskPushNotificationConfig, _>(&asked));
        assert_eq!(
            verdict(bytes),
            verdict(READ.read_push(Some(&raw(&asked)), DEPTH)),
            "{asked}"
        );
    }
    for asked in [
        json!({"tenant": "echo", "taskId": "t", "id": "p"}),
        json!({"taskId": "t"}),
        json!({"id": "p"}),
    ] {
        let text = || verdict(READ.read_push_params(Some(&raw(&asked)), DEPTH));
        type Get = protojson::GetTaskPushNotificationConfigRequest;
        type Delete = protojson::DeleteTaskPushNotificationConfigRequest;
        let bytes = read::push_params(ours::<Get, _>(&asked));
        assert_eq!(verdict(bytes), text(), "{asked}");
        let bytes = read::push_params(ours::<Delete, _>(&asked));
        assert_eq!(verdict(bytes), text(), "{asked}");
    }
    for asked in [
        json!({"tenant": "echo", "taskId": "t", "pageSize": 5, "pageToken": "x"}),
        json!({"taskId": "t"}),
        json!({"taskId": "t", "pageSize": -1}),
        json!({}),
    ] {
        type List = protojson::ListTaskPushNotificationConfigsRequest;
        let bytes = read::push_list(ours::<List, _>(&asked));
        let text = READ.read_push_list(Some(&raw(&asked)), DEPTH);
        assert_eq!(verdict(bytes), verdict(text), "{asked}");
    }
}

#[test]
fn what_json_cannot_say_is_refused_by_the_name_of_its_field() {
    let part = |content| proto::Part {
        content: Some(content),
        ..Default::default()
    };
    let sent = |role, part| proto::SendMessageRequest {
        message: Some(proto::Message {
            message_id: "m".into(),
            role,
            parts: vec![part],
            ..Default::default()
        }),
        ..Default::default()
    };
    let refused = |asked, depth| {
        let fault = read::send(asked, depth).unwrap_err();
        fault.violations[0].0.clone()
    };
    let nan = part(proto::Content::Data(f64::NAN.into()));
    assert_eq!(refused(sent(1, nan), DEPTH), "message.parts[0].data");
    let deep = json!([[[0]]]);
    let deep = crate::official::grpc::json::value_from_raw(&raw(&deep));
    let deep = part(proto::Content::Data(deep));
    assert!(read::send(sent(1, deep.clone()), 3).is_ok());
    assert_eq!(refused(sent(1, deep), 2), "message.parts[0].data");
    let text = part(proto::Content::Text("hi".into()));
    assert_eq!(refused(sent(9, text), DEPTH), "message.role");
    let list = proto::ListTasksRequest {
        status: 99,
        ..Default::default()
    };
    assert_eq!(read::list(list).unwrap_err().violations[0].0, "status");
    let list = proto::ListTasksRequest {
        status_timestamp_after: Some(proto::Timestamp {
            seconds: i64::MAX,
            nanos: -1,
        }),
        ..Default::default()
    };
    let fault = read::list(list).unwrap_err();
    assert_eq!(fault.violations[0].0, "statusTimestampAfter");
}

#[test]
fn what_protobuf_cannot_say_does_no_harm() {
    let part = |content: &str| {
        let raw = serde_json::from_str(content).unwrap();
        Part::new(PartContent::Data(raw))
    };
    let said = |parts| Message {
        metadata: Some(serde_json::from_str(r#"{"n": 1e999}"#).unwrap()),
        ..Message::new("m", Role::Agent, parts)
    };
    let mut status = A2aStatus::new(A2aState::Completed);
    status.timestamp = Some("yesterday".into());
    status.message = Some(said(vec![part("1e999"), part("9007199254740993")]));
    let mut files = Message::new("f", Role::Agent, Vec::new());
    for base64 in ["aGk=", "aG\r\nk=", "aGl=", "?"] {
        files
            .parts
            .push(Part::new(PartContent::Bytes(base64.into())));
    }
    let task = Task {
        id: "t".into(),
        context_id: "c".into(),
        status,
        artifacts: Vec::new(),
        history: vec![files],
        metadata: None,
        extra: Default::default(),
    };
    let task: protojson::Task = generated(&write::task(task));
    let expected = json!({
        "id": "t",
        "contextId": "c",
        "status": {
            "state": "TASK_STATE_COMPLETED",
            "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [
                {"data": "1e999"},
                {"data": 9007199254740992.0},
            ]},
        },
        "history": [{"messageId": "f", "role": "ROLE_AGENT", "parts": [
            {"raw": "aGk="}, {"raw": "aGk="}, {"raw": "aGk="}, {"raw": "Pw=="},
        ]}],
    });
    assert_eq!(serde_json::to_value(task).unwrap(), expected);
}

#[test]
fn a_card_with_all_there_is_to_it_is_the_same_as_in_json() {
    let scopes = json!({"read": "to read"});
    let flows = |name: &str, flow: Value| json!({"oauth2SecurityScheme": {"description": "d", "flows": {name: flow}, "oauth2MetadataUrl": "https://m"}});
    let card = json!({
        "name": "Echo",
        "description": "says it again",
        "supportedInterfaces": [
            {"url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "a.example:443", "protocolBinding": "GRPC", "tenant": "echo", "protocolVersion": "1.0"},
        ],
        "provider": {"url": "https://a.example", "organization": "A"},
        "version": "1.2.3",
        "documentationUrl": "https://a.example/docs",
        "iconUrl": "https://a.example/icon.png",
        "capabilities": {
            "streaming": true,
            "pushNotifications": false,
            "extendedAgentCard": true,
            "extensions": [{"uri": "https://x", "description": "x", "required": true, "params": {"n": 1, "l": ["x"]}}],
        },
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"description": "d", "location": "header", "name": "X-Key"}},
            "http": {"httpAuthSecurityScheme": {"description": "d", "scheme": "Bearer", "bearerFormat": "JWT"}},
            "oidc": {"openIdConnectSecurityScheme": {"description": "d", "openIdConnectUrl": "https://o"}},
            "mtls": {"mtlsSecurityScheme": {"description": "d"}},
            "code": flows("authorizationCode", json!({"authorizationUrl": "https://a", "tokenUrl": "https://t",
                "refreshUrl": "https://r", "scopes": scopes, "pkceRequired": true})),
            "client": flows("clientCredentials", json!({"tokenUrl": "https://t", "refreshUrl": "https://r", "scopes": scopes})),
            "implicit": flows("implicit", json!({"authorizationUrl": "https://a", "refreshUrl": "https://r", "scopes": scopes})),
            "password": flows("password", json!({"tokenUrl": "https://t", "refreshUrl": "https://r", "scopes": scopes})),
            "device": flows("deviceCode", json!({"deviceAuthorizationUrl": "https://d", "tokenUrl": "https://t",
                "refreshUrl": "https://r", "scopes": scopes})),
        },
        "securityRequirements": [{"schemes": {"http": {"list": []}, "code": {"list": ["read"]}}}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain", "image/png"],
        "skills": [{
            "id": "s", "name": "S", "description": "does", "tags": ["a"], "examples": ["say a"],
            "inputModes": ["text/plain"], "outputModes": ["text/plain"],
            "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        }],
        "signatures": [{"protected": "e30", "signature": "c2ln", "header": {"kid": "k"}}],
    });
    let read = write::card(&card.to_string()).unwrap();
    let generated: protojson::AgentCard = generated(&read);
    let expected: protojson::AgentCard = serde_json::from_value(card.clone()).unwrap();
    assert_eq!(generated, expected);
    // What older versions call their own is left out.
    let mut both = card;
    both["url"] = json!("https://a.example/a2a");
    both["preferredTransport"] = json!("JSONRPC");
    both["securitySchemes"]["old"] = json!({"type": "http", "scheme": "bearer"});
    assert!(write::card(&both.to_string()).is_ok());
    assert!(write::card("{").is_err());
}
