//! What must hold for every frame, not only for those somebody thought of:
//! reading never panics, forwarding keeps bytes, and what one side writes the other reads.

use proptest::prelude::*;
use serde_json::json;

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
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// A JSON string whose UTF-16 units are all escaped, lone surrogates included.
fn escaped_string() -> impl Strategy<Value = String> {
    any::<Vec<u16>>().prop_map(|units| {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{escaped}\"")
    })
}

/// Text that looks enough like a frame to reach past the first checks.
fn near_frame() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(":".to_owned()),
        Just(",".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        prop::sample::select(vec![
            "type",
            "send",
            "reply_chunk",
            "to",
            "stream_id",
            "chunk",
            "payload",
            "register",
            "id",
        ])
        .prop_map(|word| format!("\"{word}\"")),
        any::<String>(),
    ];
    proptest::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

/// Reads `text` in every way there is.
fn read_all(text: &str) {
    if let Ok(AgoraUplink::Relay(relay)) = parse(text) {
        value(&relay.forward("a"));
        relay.any_request_id();
        relay.chunk_text();
    }
    if let Err(malformed) = parse(text) {
        value(&malformed.to_frame("invalid"));
    }
    drop(parse_downlink(text));
    if let Ok(raw) = serde_json::from_str::<&RawValue>(text) {
        drop(answer_of(raw));
        drop(query_of(Some(raw)));
    }
}

/// A text like JSON, with spaces and escapes in odd places.
fn near_json() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        " ",
        "\n",
        "\"",
        "\"to\"",
        "\"a\"",
        "\"\\u0061\"",
        "\"\\ud800\"",
        "\"\\x\"",
        "\"\\u00g0\"",
        "\"\t\"",
        "\"é\\\"\"",
        "\\",
        "true",
        "false",
        "null",
        "nul",
        "1",
        "-1.5e3",
        "01",
        "\"to\":\"b\"",
        ",\"x\":[1,{}]",
        ",\"chunk\":\"the tide turns before dawn, and the lights go out\"",
    ]);
    proptest::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn a_scan_finds_what_serde_finds(text in near_json(), inner in any_json()) {
        for text in [
            text.clone(),
            format!("{{{text}}}"),
            format!("{{\"to\":\"b\",{text}}}"),
            format!("{{\"to\":{inner},\"x\":{text}}}"),
            format!(" {{ \"payload\" : {inner:#} , \"chunk\":\"{text}\" }} "),
            inner.to_string(),
        ] {
            let mut found = Vec::new();
            let scanned = scan::scan(&text, |name, quoted, value| {
                found.push((name.to_owned(), quoted.to_owned(), value.to_owned()));
            });
            if scanned.is_some() {
                let raw: &RawValue = serde_json::from_str(&text).unwrap();
                let members = jackfield_wire::json::RawMembers::of(raw).unwrap();
                let expected: Vec<_> = members
                    .iter()
                    .map(|it| (it.name.to_string(), format!("\"{}\"", it.name), it.value.get().to_owned()))
                    .collect();
                prop_assert_eq!(found, expected);
            } else if let Ok(Value::Object(members)) = serde_json::from_str(&text) {
                // Only escapes in a name, and depth, are left to serde.
                prop_assert!(text.contains('\\'), "not scanned: {members:?}");
            }
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        read_all(&text);
        read_all(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_broken_frame_makes_reading_panic(text in near_frame(), inner in any_json()) {
        read_all(&text);
        read_all(&format!(r#"{{"type":"send","to":"b",{text}}}"#));
        read_all(&inner.to_string());
    }

    #[test]
    fn forwarding_keeps_payload_and_unknown_fields(
        payload in any_json(),
        is_pretty in any::<bool>(),
        extra in any_json(),
        name in "[a-z]{0,3}_x",
        from in any::<String>(),
    ) {
        let payload = if is_pretty {
            serde_json::to_string_pretty(&payload).unwrap()
        } else {
            payload.to_string()
        };
        let text = format!(
            r#"{{"payload":{payload}, "{name}" : {extra}, "to":"b","type":"send","from":"mallory"}}"#
        );
        let frame = relay(&text).forward(&from);
        let received = delivery(&frame);
        prop_assert_eq!(received.from, from);
        if payload == "null" {
            prop_assert!(received.payload.is_none());
        } else {
            prop_assert_eq!(received.payload.unwrap().get(), payload);
        }
        prop_assert_eq!(received.extra.len(), 1);
        prop_assert_eq!(&received.extra[0].name, &name);
        prop_assert_eq!(received.extra[0].value.get(), extra.to_string());
    }

    #[test]
    fn forwarding_keeps_the_bytes_of_a_chunk(chunk in escaped_string(), stream_id in escaped_string()) {
        let text = format!(
            r#"{{"type":"reply_chunk","to":"b","stream_id":{stream_id},"chunk":{chunk}}}"#
        );
        let relay = relay(&text);
        let expected = format!(
            r#"{{"type":"reply_chunk","from":"a","stream_id":{stream_id},"chunk":{chunk}}}"#
        );
        prop_assert_eq!(&relay.forward("a"), &expected);
        let text = relay.chunk_text().unwrap();
        prop_assert_eq!(delivery(&expected).chunk.unwrap(), text);
    }

    #[test]
    fn what_a_client_writes_the_hub_reads(
        to in any::<String>(),
        stream_id in any::<String>(),
        text in any::<String>(),
        payload in any_json(),
        request_id in proptest::option::of(any::<String>()),
    ) {
        let payload = serde_json::value::to_raw_value(&payload).unwrap();
        let opening = Opening {
            stream_id: Some(&stream_id),
            stream: true,
            request_id: request_id.as_deref(),
            payload: Some(FramePayload::Raw(&payload)),
            ..Opening::default()
        };
        for (frame, kind) in [
            (uplink::send(&to, &opening), RelayKind::Send),
            (uplink::reply(&to, &opening), RelayKind::Reply),
        ] {
            let read = relay(&frame);
            prop_assert_eq!(read.kind, kind);
            prop_assert_eq!(&read.to, &to);
            prop_assert_eq!(read.stream_id.as_deref(), Some(&*stream_id));
            prop_assert_eq!(read.request_id.as_deref(), request_id.as_deref());
            prop_assert!(read.stream);
            prop_assert_eq!(read.payload().map_or("null", RawValue::get), payload.get());
        }
        for (frame, kind) in [
            (uplink::send_chunk(&to, &stream_id, &*text), RelayKind::SendChunk),
            (uplink::reply_chunk(&to, &stream_id, &*text), RelayKind::ReplyChunk),
        ] {
            let read = relay(&frame);
            prop_assert_eq!(read.kind, kind);
            prop_assert_eq!(read.stream_id.as_deref(), Some(&*stream_id));
            prop_assert_eq!(read.chunk_text().unwrap(), &*text);
        }
        for (frame, kind) in [
            (uplink::send_end(&to, &stream_id), RelayKind::SendEnd),
            (uplink::reply_end(&to, &stream_id, Some(FramePayload::Raw(&payload))), RelayKind::ReplyEnd),
            (uplink::cancel(&to, Some(&stream_id), None), RelayKind::Cancel),
            (
                uplink::error(&to, &ErrorFrame {
                    stream_id: Some((&*stream_id).into()),
                    from: Some("mallory".into()),
                    ..ErrorFrame::new(&text, &text)
                }),
                RelayKind::Error,
            ),
        ] {
            let read = relay(&frame);
            prop_assert_eq!(read.kind, kind);
            prop_assert_eq!(&read.to, &to);
            prop_assert_eq!(read.stream_id.as_deref(), Some(&*stream_id));
        }
    }

    #[test]
    fn registrations_and_filters_read_back_the_same(
        texts in proptest::collection::vec(any::<String>(), 6),
        capabilities in proptest::collection::vec(any::<String>(), 0..4),
    ) {
        let capabilities: Vec<_> = capabilities.into_iter().map(Into::into).collect();
        let text = |index: usize| Some(texts[index].as_str().into());
        let register = RegisterFrame {
            id: texts[0].as_str().into(),
            name: text(1),
            endpoint: text(2),
            description: text(3),
            agent_type: text(4),
            token: text(5),
            capabilities: capabilities.clone(),
        };
        let frame = uplink::register(&register);
        prop_assert!(matches!(parse(&frame), Ok(AgoraUplink::Register(read)) if read == register));
        let list = ListFrame { capabilities };
        let frame = uplink::list(&list);
        prop_assert!(matches!(parse(&frame), Ok(AgoraUplink::List(read)) if read == list));
        prop_assert!(matches!(parse(&uplink::ping()), Ok(AgoraUplink::Ping)));
    }

    #[test]
    fn what_the_hub_writes_a_client_reads(
        id in any::<String>(),
        text in any::<String>(),
        online in any::<bool>(),
    ) {
        let entry = AgentListEntry {
            id: id.as_str().into(),
            name: Some(text.as_str().into()),
            endpoint: Some(text.as_str().into()),
            registered_at: "2026-01-01T00:00:00Z".into(),
            capabilities: vec![text.as_str().into()],
            online,
            door: Some("bridge".into()),
            description: Some(text.as_str().into()),
        };
        let entries = [entry];
        let frame = downlink::agents(&entries);
        prop_assert!(matches!(parse_downlink(&frame), Ok(AgoraDownlink::Agents(read)) if read == entries));

        let error = ErrorFrame {
            from: Some(id.as_str().into()),
            request_id: Some(text.as_str().into()),
            field: Some("f".into()),
            frame_type: Some("send".into()),
            ..ErrorFrame::new("offline", &text)
        };
        let frame = downlink::error(&error);
        prop_assert!(matches!(parse_downlink(&frame), Ok(AgoraDownlink::Error(read)) if read == error));

        let frame = downlink::message_chunk(&id, "s", &*text);
        prop_assert_eq!(value(&frame), json!({"type":"message_chunk","from":id,"stream_id":"s","chunk":text}));
        let query = QueryPayload {
            body: QueryContent {
                question: text.as_str().into(),
                ..QueryContent::default()
            },
            request_id: Some("r"),
            session_id: None,
        };
        let frame = downlink::message(&id, &Opening {
            payload: Some(FramePayload::Query(&query)),
            ..Opening::default()
        });
        prop_assert_eq!(query_of(delivery(&frame).payload).text, text);
    }
}
