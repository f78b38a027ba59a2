//! Golden pairs of wire and core.

use crate::wire::seed::Rules;

use super::*;

fn body(message: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"message/send","id":1,"params":{{"message":{{"messageId":"m","role":"user","agentId":"a"{message}}}{params}}}}}"#
    )
}

const HELLO: &str = r#","parts":[{"kind":"text","text":"hello"}]"#;

fn message(body: &str) -> Result<Message, SeedRefusal> {
    message_from(&read(body), 64)
}

fn read(body: &str) -> SeedRequest<'_> {
    SeedRequest::parse(body.as_bytes(), &Rules::default()).unwrap()
}

#[test]
fn parts_become_the_cores() {
    let body = body(
        r#","parts":[
            {"kind":"text","text":"hé\n"},
            {"kind":"file","file":{"uri":"https://e/f","mimeType":"image/png","name":"f"}},
            {"kind":"file","file":{"bytes":"aG\r\nk=","mimeType":"text/plain"}},
            {"kind":"data","data":{"content":" {\"key\": 1.50} ","mimeType":"application/json; charset=utf-8"}},
            {"kind":"data","data":{"content":"[]","mimeType":"application/geo+json"}},
            {"kind":"data","data":{"content":"a,b","mimeType":"text/csv","name":"t"}},
            {"kind":"data","data":{"content":"{oops","mimeType":"application/json"}}]"#,
        "",
    );
    let message = message(&body).unwrap();
    assert_eq!(message.id.as_deref(), Some("m"));
    assert_eq!(
        message.parts,
        [
            event::Part::Text("hé\n".into()),
            event::Part::File(event::File {
                name: Some("f".into()),
                mime: Some("image/png".into()),
                source: event::FileSource::Uri("https://e/f".into()),
            }),
            event::Part::File(event::File {
                name: None,
                mime: Some("text/plain".into()),
                source: event::FileSource::Bytes("aGk=".into()),
            }),
            event::Part::Data(Json::parse(r#"{"key": 1.50}"#).unwrap()),
            event::Part::Data(Json::parse("[]").unwrap()),
            event::Part::Text("a,b".into()),
            event::Part::Text("{oops".into()),
        ]
    );
}

#[test]
fn data_that_nests_too_deep_stays_text() {
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let data = format!(r#"{{"content":"{deep}","mimeType":"application/json"}}"#);
    let body = body(
        &format!(r#","parts":[{{"kind":"data","data":{data}}}]"#),
        "",
    );
    assert_eq!(message(&body).unwrap().parts, [event::Part::Text(deep)]);
}

#[test]
fn what_nobody_knows_is_carried_as_metadata() {
    for (fields, params, metadata) in [
        ("", "", None),
        (r#","metadata":{}"#, "", None),
        (
            r#","metadata":{"a":1.50,"b":null},"taskId":"t","a":2"#,
            r#","configuration":{"blocking":false},"metadata":{"a":3,"c":[]}"#,
            Some(r#"{"a":1.50,"b":null,"taskId":"t","c":[],"configuration":{"blocking":false}}"#),
        ),
        (r#","metadata":"x""#, "", Some(r#"{"metadata":"x"}"#)),
        (
            r#","timestamp":"2026-01-01T00:00:00Z""#,
            "",
            Some(r#"{"timestamp":"2026-01-01T00:00:00Z"}"#),
        ),
    ] {
        let body = body(&format!("{HELLO}{fields}"), params);
        let carried = message(&body).unwrap().metadata;
        assert_eq!(carried.as_ref().map(Json::get), metadata, "{body}");
    }
}

#[test]
fn ids_that_no_agent_could_be_given_are_refused_by_name() {
    let long = "x".repeat(257);
    let told = |fields: &str| {
        let body = body(&format!("{HELLO}{fields}"), "");
        let request = read(&body);
        let refused = session_from(&request).err();
        let refused = refused.or_else(|| parent_from(&request).err());
        refused.or_else(|| message_from(&request, 64).err())
    };
    for (fields, field) in [
        (format!(r#","contextId":"{long}""#), "contextId"),
        (r#","contextId":"a\u0000b""#.to_owned(), "contextId"),
        (
            r#","metadata":{"jackfield_call":"no"}"#.to_owned(),
            "metadata.jackfield_call",
        ),
    ] {
        let refusal = told(&fields).unwrap();
        assert_eq!(refusal.code, SeedCode::InvalidParams);
        assert!(refusal.message.contains(field), "{}", refusal.message);
    }
    assert!(told(r#","contextId":"""#).is_none());
    let body = body(HELLO, "").replace("\"m\"", &format!("\"{long}\""));
    let refusal = message(&body).unwrap_err();
    assert!(refusal.message.contains("messageId"), "{}", refusal.message);
}

#[test]
fn the_parent_is_the_call_that_the_metadata_names() {
    let id = CallId::new();
    let named = body(
        &format!(r#"{HELLO},"metadata":{{"jackfield_call":"{id}"}}"#),
        "",
    );
    assert!(matches!(parent_from(&read(&named)), Ok(Parent::Call(call)) if call == id));
    let unnamed = body(HELLO, "");
    assert!(matches!(parent_from(&read(&unnamed)), Ok(Parent::Unsaid)));
}

#[test]
fn what_an_agent_says_becomes_parts_of_the_seed() {
    let file = |mime: Option<&str>, source| {
        event::Part::File(event::File {
            name: None,
            mime: mime.map(str::to_owned),
            source,
        })
    };
    let said = [
        event::Part::Text(String::new()),
        event::Part::Text("words".into()),
        file(None, event::FileSource::Uri("https://e/f".into())),
        file(Some("image/png"), event::FileSource::Bytes("aGk=".into())),
        event::Part::Data(Json::parse("{\"a\": [1]}").unwrap()),
    ];
    let file = |mime: &'static str, source| {
        SeedPart::File(SeedFile {
            source,
            mime_type: mime.into(),
            name: None,
        })
    };
    assert_eq!(
        parts_to_wire(&said),
        [
            SeedPart::Text("words".into()),
            file(ANY_BYTES, SeedFileSource::Uri("https://e/f".into())),
            file("image/png", SeedFileSource::Bytes("aGk=".into())),
            SeedPart::Data(SeedData {
                content: "{\"a\": [1]}".into(),
                mime_type: JSON.into(),
                name: None,
            }),
        ]
    );
}
