//! Messages as the protocol documents them, and as its SDKs write them.

use jackfield_model::{Ask, AskKind, Base64};
use serde_json::{Value, json};

use super::*;

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

#[test]
fn requests_notifications_and_responses_are_told_apart() {
    let read = |text| read(text, 64).unwrap();
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}"#;
    let Incoming::Request { id, method, params } = read(initialize) else {
        panic!("a request");
    };
    assert_eq!((id, &*method), (RequestId::Number(0), "initialize"));
    let given: Initialize = super::params(params).unwrap();
    assert_eq!(given.protocol_version, 1);
    assert!(!given.client_capabilities.has_forms());
    let cancel =
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"sess_abc123def456"}}"#;
    assert!(matches!(read(cancel), Incoming::Notification { .. }));
    let answer = r#"{"jsonrpc":"2.0","id":"5","result":{"outcome":{"outcome":"selected","optionId":"allow"}}}"#;
    let Incoming::Response { id, result } = read(answer) else {
        panic!("a response");
    };
    assert_eq!(id, RequestId::Text("5".to_owned()));
    let outcome = PermissionOutcome::read(result.unwrap()).unwrap();
    assert_eq!(outcome, PermissionOutcome::Allowed);
    let refused =
        r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"Method not found"}}"#;
    assert!(matches!(
        read(refused),
        Incoming::Response { result: None, .. }
    ));
    let stray = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    assert!(matches!(read(stray), Incoming::Stray));
}

#[test]
fn capabilities_are_there_if_their_objects_are() {
    let can = json!({"elicitation": {"form": {}, "url": null}, "session": {"notices": {}}});
    let given = raw(&json!({"protocolVersion": 1, "clientCapabilities": can}));
    let given: Initialize = params(Some(&given)).unwrap();
    let can = given.client_capabilities;
    assert!(can.has_forms() && can.has_notices());
    let nothing = raw(&json!({"protocolVersion": 1, "clientCapabilities": null}));
    let nothing: Initialize = params(Some(&nothing)).unwrap();
    let can = nothing.client_capabilities;
    assert!(!can.has_forms() && !can.has_notices());
}

#[test]
fn a_prompt_is_read_as_the_protocol_documents_it() {
    let given = raw(&json!({
        "sessionId": "sess_abc123def456",
        "prompt": [
            {"type": "text", "text": "Can you analyze this code for potential issues?"},
            {"type": "resource", "resource": {"uri": "file:///home/user/project/main.py", "mimeType": "text/x-python", "text": "def process_data(items):"}},
            {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
        ],
    }));
    let mut prompt: Prompt = params(Some(&given)).unwrap();
    assert_eq!(prompt.session_id, "sess_abc123def456");
    let resource = Resource::Text {
        uri: "file:///home/user/project/main.py".to_owned(),
        text: "def process_data(items):".to_owned(),
    };
    assert_eq!(
        blocks(&mut prompt).unwrap(),
        [
            ContentBlock::text("Can you analyze this code for potential issues?"),
            ContentBlock::Resource { resource },
            ContentBlock::Audio {
                data: Base64::from("UklGRg=="),
                mime_type: "audio/wav".to_owned(),
            },
        ]
    );
}

#[test]
fn updates_are_written_as_the_protocol_documents_them() {
    let update = SessionUpdate::ToolCallUpdate(ToolCallUpdate {
        tool_call_id: "call_001".to_owned(),
        status: Some(ToolStatus::InProgress),
        content: vec![ToolContent::text("Found 3 configuration files...")],
        raw_input: None,
    });
    assert_eq!(
        value(&update.frame("sess_abc123def456")),
        value(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"sess_abc123def456","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_001","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"Found 3 configuration files..."}}]}}}"#
        )
    );
    let link = SessionUpdate::message(ContentBlock::ResourceLink {
        uri: "file:///home/user/document.pdf".to_owned(),
        name: "document.pdf".to_owned(),
        mime_type: Some("application/pdf".to_owned()),
    });
    assert_eq!(
        value(&link.frame("s"))["params"]["update"]["content"],
        value(
            r#"{"type":"resource_link","uri":"file:///home/user/document.pdf","name":"document.pdf","mimeType":"application/pdf"}"#
        )
    );
}

#[test]
fn errors_have_the_id_of_their_request_or_null() {
    let error = RpcError::field(code::INVALID_PARAMS, "cwd", "field \"cwd\" is required");
    assert_eq!(
        value(&refusal(Some(&RequestId::Text("a".to_owned())), &error)),
        json!({"jsonrpc": "2.0", "id": "a", "error": {"code": -32602, "message": "field \"cwd\" is required", "data": {"field": "cwd"}}})
    );
    assert_eq!(value(&refusal(None, &error))["id"], Value::Null);
}

#[test]
fn a_form_takes_the_agents_fields_only_if_a_form_can_have_them() {
    let form = |schema: Option<Value>| {
        let ask = Ask {
            id: "q".to_owned(),
            kind: AskKind::Input,
            text: "which?".to_owned(),
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            schema: schema.map(Into::into),
        };
        let form = Elicitation::new("s", &ask);
        let frame = value(&form.frame(1));
        (
            frame["params"]["requestedSchema"].clone(),
            form.is_wrapped(),
        )
    };
    let fields = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    assert_eq!(form(Some(fields.clone())), (fields, false));
    let one = json!({"type": "string", "enum": ["a", "b"]});
    let wrapped = json!({"type": "object", "properties": {"answer": one}, "required": ["answer"]});
    assert_eq!(form(Some(one)), (wrapped, true));
    for unfit in [
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "properties": {"deep": {"type": "object"}}}),
        json!(true),
    ] {
        let (schema, is_wrapped) = form(Some(unfit));
        assert_eq!(schema["properties"]["answer"]["type"], "string");
        assert!(is_wrapped);
    }
}

#[test]
fn an_answer_to_a_form_is_text_for_the_agent() {
    let read = |answer: Value, is_wrapped| ElicitationAnswer::read(&raw(&answer), is_wrapped);
    let given = |text: &str| ElicitationAnswer::Given(text.to_owned());
    let accept = |content: Value| json!({"action": "accept", "content": content});
    assert_eq!(
        read(accept(json!({"answer": "blue"})), true),
        Ok(given("blue"))
    );
    assert_eq!(read(accept(json!({"answer": 3})), true), Ok(given("3")));
    assert_eq!(
        read(accept(json!({"n": 3})), false),
        Ok(given(r#"{"n":3}"#))
    );
    assert_eq!(
        read(json!({"action": "decline"}), true),
        Ok(ElicitationAnswer::Declined)
    );
    assert_eq!(
        read(json!({"action": "cancel"}), true),
        Ok(ElicitationAnswer::Dismissed)
    );
    assert!(read(accept(json!({})), true).is_err());
    assert!(read(json!({"action": "maybe"}), true).is_err());
}
