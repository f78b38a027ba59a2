//! Finding the end of a JSON value, regardless of how it's split.

use proptest::prelude::*;

use super::*;

fn end() -> JsonEnd {
    JsonEnd::new(BodyLimits::default())
}

#[test]
fn a_value_is_complete_with_its_last_bracket_and_not_before() {
    for text in [
        "{}",
        "[]",
        r#"{"a":[{"b":"}]"}]}"#,
        r#"["\"","\\","\\\"]"]"#,
        " \r\n\t{\"a\": 1}",
        r#""text""#,
        r#""with \" quote""#,
    ] {
        let mut end = end();
        let (last, before) = text.as_bytes().split_last().unwrap();
        for byte in before {
            assert_eq!(end.feed(&[*byte]), Ok(false), "{text}");
            // A cut value is incomplete.
            assert!(end.finish().is_err(), "{text}");
        }
        assert_eq!(end.feed(&[*last]), Ok(true), "{text}");
        assert_eq!(end.feed(b" \n"), Ok(true));
        assert_eq!(end.feed(b""), Ok(true));
        assert_eq!(end.finish(), Ok(()));
    }
}

#[test]
fn a_number_ends_with_the_stream_or_with_a_space() {
    for text in ["12", "-1.5e3", "true", "null"] {
        let mut end = end();
        assert_eq!(end.feed(text.as_bytes()), Ok(false));
        assert_eq!(end.finish(), Ok(()));
        assert_eq!(end.feed(b"\n"), Ok(true));
        assert!(end.feed(b"1").is_err());
    }
}

#[test]
fn a_second_value_is_refused() {
    for text in ["{}{}", "{} x", "[]]", "\"a\"\"b\"", "1 2"] {
        let fault = end().feed(text.as_bytes()).unwrap_err();
        assert_eq!(fault.code, 400);
        let sentence = "the body has something behind its JSON value at line 1 column ";
        assert!(fault.to_string().starts_with(sentence), "{text}");
    }
}

#[test]
fn what_cannot_become_json_is_refused_at_its_first_byte() {
    for text in ["GET_CARD", "}", "]", "hello", "\u{feff}{}", "\0", ","] {
        let fault = end().feed(&text.as_bytes()[..1]).unwrap_err();
        let sentence = "the body is not valid JSON: expected value at line 1 column 1";
        assert_eq!(fault.to_string(), sentence);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_column() {
    for (text, place) in [
        ("\n\n hello", "line 3 column 2"),
        ("{\n}\n ]", "line 3 column 2"),
    ] {
        let mut end = end();
        let fed = text
            .bytes()
            .try_for_each(|byte| end.feed(&[byte]).map(drop));
        let fault = fed.unwrap_err();
        assert!(fault.to_string().ends_with(place), "{fault}");
    }
}

#[test]
fn nothing_at_all_and_half_a_value_are_told_apart() {
    assert_eq!(end().finish().unwrap_err().to_string(), "the body is empty");
    for text in ["{", "[1,", "\"abc", "{\"a\":\"\\"] {
        let mut end = end();
        assert_eq!(end.feed(text.as_bytes()), Ok(false));
        let fault = end.finish().unwrap_err();
        let column = text.len();
        let problem = format!("is not valid JSON: it ends in the middle at line 1 column {column}");
        assert_eq!((fault.code, &*fault.problem), (400, &*problem));
    }
}

#[test]
fn brackets_and_bytes_are_counted_while_they_come() {
    let mut deep = end();
    assert_eq!(deep.feed("[{".repeat(32).as_bytes()), Ok(false));
    let fault = deep.feed(b"[").unwrap_err();
    assert_eq!(
        (fault.code, fault.to_string()),
        (400, "the body is nested deeper than 64 levels".into())
    );
    assert_eq!(end().feed(nested(64).as_bytes()), Ok(true));
    // Brackets inside a string don't count.
    let text = format!("[\"{}\"]", "[".repeat(100));
    assert_eq!(end().feed(text.as_bytes()), Ok(true));

    let mut large = JsonEnd::new(BodyLimits {
        max_bytes: 4,
        ..BodyLimits::default()
    });
    assert_eq!(large.feed(b"   "), Ok(false));
    assert_eq!(large.feed(b"["), Ok(false));
    let fault = large.feed(b"]").unwrap_err();
    assert_eq!(
        (fault.code, fault.to_string()),
        (413, "the body has more than 4 bytes".into())
    );
}

/// Any JSON value of a moderate size.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        r#"[\[\]{}"\\]{0,8}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Bytes that are often almost JSON.
fn near_json() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(br#"{}[]"\:, 1tn"#.to_vec());
    prop::collection::vec(byte, 0..24)
}

/// Feeds pieces of the given size. Returns whether the value is complete, or the first error.
fn feed_in_pieces(bytes: &[u8], size: usize) -> Result<bool, PeerInputError> {
    let mut end = end();
    let mut is_complete = false;
    for piece in bytes.chunks(size) {
        is_complete = end.feed(piece)?;
    }
    end.finish().map(|()| is_complete)
}

proptest! {
    #[test]
    fn every_value_ends_where_the_parser_says(json in any_json(), size in 1usize..9, is_pretty in any::<bool>()) {
        let text = match is_pretty {
            true => format!("{json:#}"),
            false => json.to_string(),
        };
        let is_scalar = !(json.is_object() || json.is_array() || json.is_string());
        prop_assert_eq!(feed_in_pieces(text.as_bytes(), size), Ok(!is_scalar));
        // No prefix is complete, unless the parser accepts the prefix too.
        for cut in 0..text.len() {
            let bytes = &text.as_bytes()[..cut];
            let is_value = serde_json::from_slice::<Value>(bytes).is_ok();
            if !is_scalar {
                prop_assert!(!is_value);
                prop_assert!(feed_in_pieces(bytes, size).is_err());
            }
        }
    }

    #[test]
    fn what_the_parser_takes_is_never_refused_and_pieces_make_no_difference(bytes in near_json(), size in 1usize..9) {
        let whole = feed_in_pieces(&bytes, usize::MAX);
        prop_assert_eq!(&feed_in_pieces(&bytes, size), &whole);
        if serde_json::from_slice::<Value>(&bytes).is_ok() {
            prop_assert!(whole.is_ok());
        }
    }
}
