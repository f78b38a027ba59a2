//! Tests of the raw JSON helpers: the examples that are easy to get wrong,
//! and agreement with serde_json wherever both have an opinion.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[test]
fn depth_counts_nesting_and_not_size() {
    assert!(!depth_exceeds(&nested(64), 64));
    assert!(depth_exceeds(&nested(65), 64));
    assert!(depth_exceeds(&nested(100_000), 64));
    assert!(!depth_exceeds(&format!("[{}1]", "[],".repeat(1000)), 2));
    assert!(depth_exceeds(r#"{"a":{"b":{}}}"#, 2));
    assert!(!depth_exceeds(r#"{"a":{"b":{}}}"#, 3));
}

#[test]
fn brackets_inside_strings_are_not_nesting() {
    assert!(!depth_exceeds(r#"{"a":"[[[[\"[[[[","b\\":"{{"}"#, 1));
    assert!(depth_exceeds(r#"{"a\\":["]","x"]}"#, 1));
    assert!(!depth_exceeds(&format!("\"{}\"", "[".repeat(1000)), 1));
    assert!(!depth_exceeds("-12.5e7", 0));
    assert!(depth_exceeds("[]", 0));
}

#[test]
fn a_string_without_escapes_is_borrowed() {
    assert!(matches!(
        str_of(raw("\"grüße\"")),
        Some(Cow::Borrowed("grüße"))
    ));
    assert!(matches!(str_of(raw("\"\"")), Some(Cow::Borrowed(""))));
}

#[test]
fn escapes_are_decoded() {
    let all = raw(r#""\"\\\/\b\f\n\r\t\u00e9\u0000 \ud83d\ude00!""#);
    assert_eq!(str_of(all).unwrap(), "\"\\/\u{8}\u{c}\n\r\té\0 \u{1f600}!");
}

#[test]
fn lone_surrogates_become_the_replacement_character() {
    for (text, expected) in [
        (r#""a\ud83d""#, "a\u{fffd}"),
        (r#""\ude00b""#, "\u{fffd}b"),
        (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
        (r#""\ud83d\n""#, "\u{fffd}\n"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ud83dé""#, "\u{fffd}é"),
    ] {
        assert_eq!(str_of(raw(text)).unwrap(), expected, "{text}");
    }
}

#[test]
fn only_strings_have_text() {
    for text in ["null", "1", "true", "[]", "{}", "[\"a\"]"] {
        assert!(str_of(raw(text)).is_none(), "{text}");
    }
}

#[test]
fn compacting_touches_only_whitespace_between_tokens() {
    let pretty = "{ \"a b\" : [ 1 ,\n\t2.50 ] ,\r\n \"c\\\" d\":\" é \" }";
    assert_eq!(compact(raw(pretty)), r#"{"a b":[1,2.50],"c\" d":" é "}"#);
}

#[test]
fn members_keep_order_and_the_first_of_a_name() {
    let members = RawMembers::of(raw(r#"{"b":1,"\u0061":"x","a":"y","n":null}"#)).unwrap();
    let names: Vec<_> = members.iter().map(|member| &*member.name).collect();
    assert_eq!(names, ["b", "a", "a", "n"]);
    assert_eq!(members.text("a").unwrap(), "x");
    assert!(members.get("n").is_none());
    assert!(members.text("b").is_none());
    assert!(RawMembers::of(raw("[1]")).is_none());
}

#[test]
fn a_text_that_is_json_already_keeps_its_bytes() {
    #[derive(serde::Serialize)]
    struct Frame<'a> {
        plain: JsonText<'a>,
        json: JsonText<'a>,
        #[serde(flatten, serialize_with = "members")]
        rest: Vec<RawMember<'a>>,
    }
    let rest = raw(r#"{"n":1.0,"a\"b":[ 1 ]}"#);
    let frame = Frame {
        plain: "x\"y".into(),
        json: raw(r#""\ud83d""#).into(),
        rest: RawMembers::of(rest).unwrap().iter().cloned().collect(),
    };
    assert_eq!(
        to_json(&frame, 1),
        r#"{"plain":"x\"y","json":"\ud83d","n":1.0,"a\"b":[ 1 ]}"#
    );
}

proptest! {
    #[test]
    fn written_strings_read_back_the_same(text in any::<String>()) {
        let mut out = String::new();
        push_string(&mut out, &text);
        prop_assert_eq!(&serde_json::from_str::<String>(&out).unwrap(), &text);
        prop_assert_eq!(str_of(raw(&out)).unwrap(), &*text);
    }

    #[test]
    fn decoding_agrees_with_the_json_parser(text in any::<Vec<u16>>()) {
        let escaped: String = text.iter().map(|unit| format!("\\u{unit:04X}")).collect();
        let json = format!("\"{escaped}\"");
        prop_assert_eq!(str_of(raw(&json)).unwrap(), String::from_utf16_lossy(&text));
    }

    #[test]
    fn no_text_makes_the_scanners_panic(text in any::<String>(), max in 0usize..70) {
        depth_exceeds(&text, max);
        is_container(&text);
    }

    #[test]
    fn compacting_keeps_the_value(keys in proptest::collection::vec(any::<String>(), 0..5)) {
        let value: Value = keys.iter().map(|key| (key.clone(), Value::from(key.clone()))).collect();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(compact(raw(&pretty)), serde_json::to_string(&value).unwrap());
    }
}
