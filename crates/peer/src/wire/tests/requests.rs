//! Handoff requests: from the specification, from its clients, and refused ones.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> HandOff {
    match HandOff::read(text.as_bytes(), &BodyLimits::default()) {
        Ok(request) => request,
        Err(fault) => panic!("{text} was refused: {fault}"),
    }
}

fn refused(text: &str) -> (u16, String) {
    match HandOff::read(text.as_bytes(), &BodyLimits::default()) {
        Ok(request) => panic!("{text} was taken for {request:?}"),
        Err(fault) => (fault.code, fault.to_string()),
    }
}

/// A request with an additional field.
fn with(field: &str) -> String {
    format!(r#"{{"method":"POST","path":"/p",{field}}}"#)
}

/// The input, if it's text.
fn text_of(request: &HandOff) -> Option<&str> {
    match &request.input {
        Some(Data::Text(text)) => Some(text),
        Some(Data::Json(_)) | None => None,
    }
}

/// The input, if it's JSON.
fn data_of(request: &HandOff) -> Option<&str> {
    match &request.input {
        Some(Data::Json(raw)) => Some(raw.get()),
        Some(Data::Text(_)) | None => None,
    }
}

#[test]
fn the_seeds_request_is_read_and_written_again() {
    let text = r#"{"method":"post","path":"/{goal}","params":{"goal":"plan a trip","n":3,"dry":true},"input_data":"hello"}"#;
    let request = read(text);
    assert_eq!(request.method, Method::Post);
    assert_eq!(request.path, "/{goal}");
    assert_eq!(request.params["goal"], PathParam::from("plan a trip"));
    assert_eq!(request.params["n"], PathParam::Number("3".into()));
    assert_eq!(request.params["dry"], PathParam::Flag(true));
    assert_eq!(text_of(&request), Some("hello"));
    assert!(data_of(&request).is_none());
    assert!(!request.stream && request.hops == 0 && request.trace.is_none());
    let written = value(&request.to_json());
    assert_eq!(written, value(&text.replace("post", "POST")));
}

#[test]
fn only_method_and_path_are_needed() {
    for text in [
        r#"{"method":"GET","path":"/card"}"#,
        r#" {"path":"/card","method":"GET","params":null,"input_data":null,"stream":null,"x_hops":null} "#,
        r#"{"method":"GET","path":"/card","params":{},"headers":{"a":[1]},"id":7,"id":8}"#,
    ] {
        assert_eq!(read(text), HandOff::new(Method::Get, "/card"), "{text}");
    }
    assert_eq!(
        HandOff::new(Method::Get, "/card").to_json(),
        r#"{"method":"GET","path":"/card","params":{},"input_data":null}"#
    );
}

#[test]
fn input_may_be_any_json_and_a_string_of_json_is_data() {
    for (input, data) in [
        (r#"{"a":1}"#, r#"{"a":1}"#),
        ("[1,2]", "[1,2]"),
        ("7", "7"),
        ("true", "true"),
        (r#""{\"a\": 1}""#, r#"{"a": 1}"#),
        (r#"" [1] ""#, "[1]"),
    ] {
        let request = read(&with(&format!(r#""input_data":{input}"#)));
        assert_eq!(data_of(&request), Some(data), "{input}");
        assert_eq!(text_of(&request), None);
    }
    for (input, text) in [
        (r#""""#, ""),
        (r#""7""#, "7"),
        (r#""null""#, "null"),
        (r#""{not json}""#, "{not json}"),
        (r#""\"quoted\"""#, "\"quoted\""),
        (r#""caf\u00e9\nline""#, "café\nline"),
    ] {
        let request = read(&with(&format!(r#""input_data":{input}"#)));
        assert_eq!(text_of(&request), Some(text), "{input}");
        assert!(data_of(&request).is_none());
    }
    let deep = format!(r#""input_data":"{}""#, nested(65));
    assert!(data_of(&read(&with(&deep))).is_none());
}

#[test]
fn input_of_the_originals_test_client_is_found_under_its_other_name() {
    let alias = read(&with(r#""input":"x""#));
    assert_eq!(text_of(&alias), Some("x"));
    let both = read(&with(r#""input":"x","input_data":"y""#));
    assert_eq!(text_of(&both), Some("y"));
    let null = read(&with(r#""input":"x","input_data":null"#));
    assert_eq!(text_of(&null), Some("x"));
}

#[test]
fn what_is_beyond_the_seed_is_read_and_written_only_when_it_is_set() {
    let text = r#"{"method":"PUT","path":"/p","params":{},"input_data":"{\"a\":1}","stream":true,"x_hops":3,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#;
    let request = read(text);
    assert!(request.stream);
    assert_eq!(request.hops, 3);
    assert_eq!(data_of(&request), Some(r#"{"a":1}"#));
    assert_eq!(request.to_json(), text);
}

#[test]
fn a_trace_that_cannot_be_read_is_not_passed_on() {
    let long = "0".repeat(129);
    for trace in ["7", "[]", r#""""#, &format!("\"{long}\"")] {
        let request = read(&with(&format!(r#""traceparent":{trace}"#)));
        assert_eq!(request.trace, None);
    }
}

#[test]
fn every_mistake_has_its_code_and_names_its_field() {
    let cases = [
        ("", 400, "the body is empty"),
        (" \n", 400, "the body is empty"),
        ("[]", 400, "the body must be an object"),
        ("\"x\"", 400, "the body must be an object"),
        ("{}", 400, r#"field "method" is required"#),
        (r#"{"method":"GET"}"#, 400, r#"field "path" is required"#),
        (
            r#"{"method":"GET","path":""}"#,
            400,
            r#"field "path" is required"#,
        ),
        (
            r#"{"method":"GET","path":7}"#,
            400,
            r#"field "path" must be a string"#,
        ),
        (
            r#"{"method":1,"path":"/"}"#,
            400,
            r#"field "method" must be a string"#,
        ),
        (
            r#"{"method":"GET","method":"POST","path":"/"}"#,
            400,
            r#"field "method" is given twice"#,
        ),
        (
            &with(r#""params":[]"#),
            400,
            r#"field "params" must be an object"#,
        ),
        (
            &with(r#""params":{"a":1,"a":2}"#),
            400,
            r#"field "params.a" is given twice"#,
        ),
        (
            &with(r#""params":{"a":null,"a":2}"#),
            400,
            r#"field "params.a" is given twice"#,
        ),
        (
            &with(r#""stream":"yes""#),
            400,
            r#"field "stream" must be true or false"#,
        ),
        (
            &with(r#""x_hops":-1"#),
            400,
            r#"field "x_hops" must be a whole number from 0"#,
        ),
        (
            &with(r#""x_hops":4294967296"#),
            400,
            r#"field "x_hops" must be a whole number from 0"#,
        ),
    ];
    for (text, code, sentence) in cases {
        assert_eq!(refused(text), (code, sentence.to_owned()), "{text}");
    }
    for text in ["{", "nul", "{}{}", "GET_CARD", "{\"a\":1,}"] {
        let (code, sentence) = refused(text);
        assert_eq!(code, 400);
        assert!(sentence.starts_with("the body is not valid JSON: "));
    }
}

#[test]
fn params_are_judged_only_where_the_path_has_a_place_for_them() {
    let long = "x".repeat(MAX_PATH);
    let params = format!(r#"{{"a":"x","b":null,"c":{{"d":[1]}},"e":[],"f":"{long}"}}"#);
    let text = |path: &str| format!(r#"{{"method":"POST","path":"{path}","params":{params}}}"#);
    let expanded = |path: &str| {
        let request = read(&text(path));
        path::expand(&request.path, &request.params)
    };
    assert_eq!(expanded("/{a}"), Ok("/x".into()));
    assert_eq!(expanded("/plain"), Ok("/plain".into()));
    for (path, code, sentence) in [
        (
            "/{b}",
            400,
            r#""params.b" is required: the path has a place for it"#,
        ),
        (
            "/{c}",
            400,
            r#""params.c" must be a string, a number or a boolean"#,
        ),
        (
            "/{e}",
            400,
            r#""params.e" must be a string, a number or a boolean"#,
        ),
        ("/{f}", 413, r#""path" has more than 8192 bytes"#),
    ] {
        let fault = expanded(path).unwrap_err();
        let expected = (code, format!("field {sentence}"));
        assert_eq!((fault.code, fault.to_string()), expected, "{path}");
    }
    // All fields are passed on unchanged, except null, which is dropped.
    let written = value(&read(&text("/p")).to_json());
    let expected_params = value(&params.replace(r#""b":null,"#, ""));
    assert_eq!(written["params"], expected_params);
}

#[test]
fn methods_that_no_agent_has_are_not_allowed() {
    for method in ["CONNECT", "TRACE", "HEAD", "OPTIONS", "", "GET ", "G\\nET"] {
        let text = format!(r#"{{"method":"{method}","path":"/"}}"#);
        let sentence = r#"field "method" must be GET, POST, PUT, PATCH or DELETE"#;
        assert_eq!(refused(&text), (405, sentence.to_owned()));
    }
    for method in Method::ALL {
        let text = format!(
            r#"{{"method":"{}","path":"/"}}"#,
            method.name().to_lowercase()
        );
        assert_eq!(read(&text).method, method);
    }
}

#[test]
fn what_is_too_large_is_refused_as_such() {
    let path = format!(r#"{{"method":"GET","path":"{}"}}"#, "/x".repeat(MAX_PATH));
    assert_eq!(
        refused(&path),
        (413, r#"field "path" has more than 8192 bytes"#.into())
    );
    let limits = BodyLimits::default();
    let mut body = with(r#""input_data":"x""#);
    body.push_str(&" ".repeat(limits.max_bytes - body.len()));
    read(&body);
    body.push(' ');
    assert_eq!(
        refused(&body),
        (413, "the body has more than 1048576 bytes".into())
    );
}

#[test]
fn what_nests_too_deeply_or_is_not_text_is_refused() {
    let deep = |levels| with(&format!(r#""input_data":{}"#, nested(levels)));
    read(&deep(63));
    assert_eq!(
        refused(&deep(64)),
        (400, "the body is nested deeper than 64 levels".into())
    );
    let fault = HandOff::read(b"{\"a\":\"\xff\"}", &BodyLimits::default()).unwrap_err();
    assert_eq!(fault.to_string(), "the body is not UTF-8");
}

#[test]
fn a_refusal_repeats_little_and_no_line_of_its_own() {
    let name = format!("a\\n{}", "b".repeat(500));
    let twice = format!(r#""params":{{"{name}":1,"{name}":2}}"#);
    let (_, sentence) = refused(&with(&twice));
    assert!(
        sentence.len() < 400 && !sentence.contains('\n'),
        "{sentence}"
    );
}

#[test]
fn json_goes_to_peers_of_the_seed_as_a_string_and_to_those_that_answer_in_frames_as_it_is() {
    let mut request = HandOff::new(Method::Post, "/x");
    for (input, seed, framed) in [
        (
            Data::from_text(r#"{"a":1}"#),
            r#""{\"a\":1}""#,
            r#"{"a":1}"#,
        ),
        (Data::from_text("[1]"), r#""[1]""#, "[1]"),
        (Data::from_text("42"), r#""42""#, r#""42""#),
        (Data::from_text("hello"), r#""hello""#, r#""hello""#),
    ] {
        request.input = Some(input);
        let wire_json = |input: &str| {
            format!(r#"{{"method":"POST","path":"/x","params":{{}},"input_data":{input}}}"#)
        };
        assert_eq!(request.to_json(), wire_json(seed));
        assert_eq!(request.to_framed_json(), wire_json(framed));
    }
}

proptest! {
    #[test]
    fn every_request_is_read_as_it_was_written(
        method in prop::sample::select(Method::ALL.to_vec()),
        path in "[^\\x00]{1,40}",
        params in prop::collection::btree_map(any::<String>(), any::<String>(), 0..4),
        text in proptest::option::of(any::<String>()),
        stream in any::<bool>(),
        hops in any::<u32>(),
    ) {
        let request = HandOff {
            method,
            path,
            params: params.into_iter().map(|(name, text)| (name, PathParam::Text(text))).collect(),
            input: text.map(Data::from_text),
            stream,
            hops,
            trace: None,
        };
        for json in [request.to_json(), request.to_framed_json()] {
            let read = HandOff::read(json.as_bytes(), &BodyLimits::default());
            prop_assert_eq!(read, Ok(request.clone()));
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in any::<Vec<u8>>()) {
        HandOff::read(&bytes, &BodyLimits::default()).ok();
        read_card(&bytes).ok();
        registry::read_peers(&bytes).ok();
        registry::Registration::read(&bytes).ok();
        frame::Frame::read(&bytes, MAX_LINE).ok();
    }
}
