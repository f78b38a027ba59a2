//! What must hold for every body, not only for those somebody thought of: reading never panics, refusals and results
//! are JSON, and what is echoed is what was written.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Any JSON value of a moderate size.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// The seed's body with some of its values replaced by anything.
fn near_request() -> impl Strategy<Value = Value> {
    let places = [
        "/jsonrpc",
        "/method",
        "/id",
        "/params",
        "/params/message",
        "/params/message/messageId",
        "/params/message/role",
        "/params/message/contextId",
        "/params/message/parts",
        "/params/message/parts/0",
        "/params/message/parts/0/kind",
        "/params/message/parts/0/text",
    ];
    let change = (prop::sample::select(places.to_vec()), any_json());
    vec(change, 0..3).prop_map(|changes| {
        let mut body: Value = serde_json::from_str(CURL).unwrap();
        for (place, value) in changes {
            if let Some(at) = body.pointer_mut(place) {
                *at = value;
            }
        }
        body
    })
}

/// Whatever comes of a body can be told.
fn read_all(body: &[u8]) {
    match SeedRequest::parse(body, &Rules::default()) {
        Err(refusal) => {
            let told: Value = serde_json::from_str(&refusal.to_body()).unwrap();
            assert_eq!(told["error"]["code"], refusal.code.number());
        }
        Ok(request) => {
            let task = SeedTask {
                id: "t",
                context_id: "c",
                status: SeedStatus::Completed,
                input: request.message.raw,
                reply: Some(reply(&request.message.parts)),
                error: None,
            };
            let told: Value = serde_json::from_str(&result(&request.id, &task)).unwrap();
            let given: Value = serde_json::from_slice(body).unwrap();
            assert_eq!(told["id"], given["id"]);
            assert_eq!(
                told["result"]["task"]["history"][0],
                given["params"]["message"]
            );
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(body in any::<Vec<u8>>()) {
        read_all(&body);
    }

    #[test]
    fn any_json_is_read_or_refused(body in any_json()) {
        read_all(body.to_string().as_bytes());
    }

    #[test]
    fn almost_a_request_is_read_or_refused(body in near_request()) {
        read_all(body.to_string().as_bytes());
    }

    #[test]
    fn a_cut_request_is_refused(end in 0..CURL.len()) {
        prop_assert!(read(&CURL[..end]).is_err());
    }

    #[test]
    fn parts_that_are_written_read_back(texts in vec(".+", 1..4), name in proptest::option::of(any::<String>())) {
        let mut parts: Vec<SeedPart<'_>> = texts.iter().map(|text| SeedPart::Text(text.into())).collect();
        parts.push(SeedPart::File(SeedFile {
            source: SeedFileSource::Uri(texts[0].as_str().into()),
            mime_type: texts[0].as_str().into(),
            name: name.as_deref().map(Into::into),
        }));
        parts.push(SeedPart::Data(SeedData {
            content: texts[0].as_str().into(),
            mime_type: "a/b".into(),
            name: name.as_deref().map(Into::into),
        }));
        let written: Vec<String> = parts
            .iter()
            .map(|part| crate::wire::write::to_json(&part::SeedPartOut::of(part)))
            .collect();
        let body = with_parts(&format!("[{}]", written.join(",")));
        prop_assert_eq!(read(&body).unwrap().message.parts, parts);
    }
}
