//! Reading derived types: which input is taken, and which mistake is named where.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::json::{MAX_DEPTH, str_of};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Colour {
    Red,
    DarkBlue,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Short(String);

#[derive(Debug, Deserialize)]
struct Inner {
    #[serde(deserialize_with = "not_blank")]
    word: String,
    count: Option<u32>,
    colour: Option<Colour>,
}

#[derive(Debug, Deserialize)]
struct Outer<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(rename = "innerThing", alias = "inner_thing")]
    inner: Option<Inner>,
    #[serde(default, deserialize_with = "or_default")]
    list: Vec<Inner>,
    #[serde(default, deserialize_with = "or_default")]
    names: BTreeMap<String, Short>,
    #[serde(borrow)]
    raw: Option<&'a RawValue>,
    owned: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    maybe: Option<String>,
    flag: Option<bool>,
}

fn outer(text: &str) -> Outer<'_> {
    read(text, MAX_DEPTH).unwrap_or_else(|misread| panic!("{misread}: {text}"))
}

fn misread(text: &str) -> FieldError {
    match read::<Outer<'_>>(text, MAX_DEPTH) {
        Err(misread) => misread,
        Ok(outer) => panic!("{text} was read as {outer:?}"),
    }
}

#[test]
fn null_is_absent_and_unknown_fields_are_skipped() {
    let text = r#"{"text":"","innerThing":null,"list":null,"names":null,"raw":null,"maybe":null,
        "flag":null,"unknown":{"a":1,"a":[2]},"unknown":"\ud83d"}"#;
    let outer = outer(text);
    assert!(outer.inner.is_none() && outer.raw.is_none() && outer.maybe.is_none());
    assert!(outer.list.is_empty() && outer.names.is_empty() && outer.flag.is_none());
}

#[test]
fn values_are_read_and_raw_ones_stay_as_they_are() {
    let text = r#" {"text":"a","raw": { "x" : 1.0, "x":"\ud83d" } ,"maybe":" ","inner_thing":
        {"word":"w","count":3,"colour":"dark_blue"},"names":{"a":"b"},"flag":true,"owned":[ 1 ]} "#;
    let outer = outer(text);
    assert_eq!(outer.raw.unwrap().get(), r#"{ "x" : 1.0, "x":"\ud83d" }"#);
    assert_eq!(outer.owned.unwrap().get(), "[ 1 ]");
    assert_eq!((outer.maybe, outer.flag), (None, Some(true)));
    assert_eq!(outer.names["a"], Short("b".into()));
    let inner = outer.inner.unwrap();
    assert_eq!((inner.word.as_str(), inner.count), ("w", Some(3)));
    assert_eq!(inner.colour, Some(Colour::DarkBlue));
}

#[test]
fn a_text_without_escapes_is_borrowed() {
    assert!(matches!(
        outer(r#"{"text":"grüße"}"#).text,
        Cow::Borrowed("grüße")
    ));
}

#[test]
fn each_mistake_is_told_with_its_path() {
    use FieldErrorKind::{Invalid, Missing, Syntax, Twice};
    for (text, mistake, path) in [
        ("", Syntax, ""),
        ("{", Syntax, ""),
        (r#"{"text":""} x"#, Syntax, ""),
        (r#"{"text":1,"#, Syntax, ""),
        (r#"{"text":"\ud8"}"#, Syntax, ""),
        (r#"{"text":"","\ud83d":1}"#, Syntax, ""),
        ("null", Invalid, ""),
        ("[]", Invalid, ""),
        (r#"["text"]"#, Invalid, ""),
        ("{}", Missing, "text"),
        (r#"{"text":null}"#, Missing, "text"),
        (r#"{"text":7}"#, Invalid, "text"),
        (r#"{"text":["a"]}"#, Invalid, "text"),
        (r#"{"text":"a","text":"a"}"#, Twice, "text"),
        (r#"{"text":"a","raw":null,"raw":1}"#, Twice, "raw"),
        (
            r#"{"text":"a","innerThing":null,"inner_thing":null}"#,
            Twice,
            "innerThing",
        ),
        (r#"{"text":"a","innerThing":["w"]}"#, Invalid, "innerThing"),
        (
            r#"{"text":"a","innerThing":{}}"#,
            Missing,
            "innerThing.word",
        ),
        (
            r#"{"text":"a","inner_thing":{"word":" "}}"#,
            Invalid,
            "inner_thing.word",
        ),
        (
            r#"{"text":"a","inner_thing":{"word":"w","count":-1}}"#,
            Invalid,
            "inner_thing.count",
        ),
        (
            r#"{"text":"a","list":[{"word":"w"},{"word":"w","colour":{"red":null}}]}"#,
            Invalid,
            "list[1].colour",
        ),
        (
            r#"{"text":"a","list":[{"word":"w"},null]}"#,
            Invalid,
            "list[1]",
        ),
        (r#"{"text":"a","list":{}}"#, Invalid, "list"),
        (r#"{"text":"a","list":"\ud83d"}"#, Invalid, "list"),
        (
            r#"{"text":"a","names":{"b":"c","\ud83d":"d"}}"#,
            Invalid,
            "names",
        ),
        (r#"{"text":"a","names":{"b":1}}"#, Invalid, "names.b"),
        (r#"{"text":"a","flag":0}"#, Invalid, "flag"),
    ] {
        let misread = misread(text);
        let found = (misread.mistake, &*misread.path);
        assert_eq!(found, (mistake, path), "{text}: {misread}");
    }
}

#[test]
fn the_problem_says_what_to_write_instead() {
    for (text, sentence) in [
        ("[]", "the value must be an object"),
        ("{}", r#"field "text" is required"#),
        (r#"{"text":7}"#, r#"field "text" must be a string"#),
        (r#"{"text":"","text":""}"#, r#"field "text" is given twice"#),
        (
            r#"{"text":"","list":", expected u64"}"#,
            r#"field "list" must be an array"#,
        ),
        (
            r#"{"text":"","flag":"no"}"#,
            r#"field "flag" must be true or false"#,
        ),
        (
            r#"{"text":"","innerThing":{"word":"w","count":1.5}}"#,
            r#"field "innerThing.count" must be a whole number from 0"#,
        ),
        (
            r#"{"text":"","innerThing":{"word":"w","colour":1}}"#,
            r#"field "innerThing.colour" must be a string"#,
        ),
        (
            r#"{"text":"","innerThing":{"word":"w","colour":"pink\n"}}"#,
            r#"field "innerThing.colour" must be red or dark_blue, not "pink\n""#,
        ),
        (
            r#"{"text":"","innerThing":{"word":""}}"#,
            r#"field "innerThing.word" must not be blank"#,
        ),
    ] {
        assert_eq!(misread(text).to_string(), sentence, "{text}");
    }
}

#[test]
fn nesting_beyond_the_limit_is_refused_before_it_is_read() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"text":"","raw":{open}{close}}}"#)
    };
    outer(&nested(MAX_DEPTH - 1));
    for text in [nested(MAX_DEPTH), "[".repeat(1_000_000)] {
        let misread = misread(&text);
        assert_eq!(misread.mistake, FieldErrorKind::TooDeep);
        assert_eq!(misread.path, "");
    }
}

#[test]
fn a_mistake_inside_a_part_is_told_from_the_outside() {
    let inner = FieldError::missing("word");
    assert_eq!(inner.clone().within("list[2]").path, "list[2].word");
    let element = inner.within("[2]").within("list");
    assert_eq!(element.path, "list[2].word");
    assert_eq!(FieldError::duplicate("").within("data").path, "data");
}

#[test]
fn a_value_that_is_kept_raw_and_read_as_well_tells_its_mistakes() {
    #[derive(Debug)]
    struct Both(Inner, usize);
    impl<'de> Deserialize<'de> for Both {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let raw = <&RawValue>::deserialize(deserializer)?;
            let inner = read_part(raw).map_err(FieldError::into_error)?;
            Ok(Both(inner, raw.get().len()))
        }
    }
    let read = |text| read_part::<Vec<Both>>(serde_json::from_str(text).unwrap());
    let list = read(r#"[{"word": "w"}]"#).unwrap();
    assert_eq!((list[0].0.word.as_str(), list[0].1), ("w", 13));
    for (text, mistake, path) in [
        (r#"[{"word":"w"},{}]"#, FieldErrorKind::Missing, "[1].word"),
        (
            r#"[{"word":"w","word":"w"}]"#,
            FieldErrorKind::Twice,
            "[0].word",
        ),
        (
            r#"[{"word":"w","count":"x"}]"#,
            FieldErrorKind::Invalid,
            "[0].count",
        ),
        ("[7]", FieldErrorKind::Invalid, "[0]"),
    ] {
        let misread = read(text).unwrap_err();
        assert_eq!((misread.mistake, &*misread.path), (mistake, path), "{text}");
    }
    let misread = read(r#"[{"word":"w","count":"x"}]"#).unwrap_err();
    assert_eq!(misread.problem, "must be a whole number from 0");
}

#[test]
fn lenient_fields_ignore_what_they_cannot_use() {
    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Loose<'a> {
        #[serde(borrow, deserialize_with = "lenient_text")]
        text: Option<Cow<'a, str>>,
        #[serde(deserialize_with = "lenient_texts")]
        texts: Vec<Cow<'a, str>>,
        #[serde(deserialize_with = "lenient")]
        flag: bool,
        #[serde(deserialize_with = "lenient_number")]
        number: u64,
        #[serde(deserialize_with = "lenient_list")]
        list: Vec<u8>,
    }
    let loose = |text| read::<Loose<'_>>(text, MAX_DEPTH).unwrap();
    for value in ["null", "{}", r#"{"a":[1]}"#, "-1", "[null,{}]", "[[]]"] {
        let text = format!(
            r#"{{"text":{value},"texts":{value},"flag":{value},"number":{value},"list":{value}}}"#
        );
        let read: Loose<'_> = read(&text, MAX_DEPTH).unwrap();
        assert_eq!(read, Loose::default(), "{text}");
    }
    let read = loose(
        r#"{"text":"\ud83d","texts":["a",1,"b"],"flag":true,"number":12.9,"list":[1,-1,"x",2]}"#,
    );
    assert_eq!(read.text.as_deref(), Some("\u{fffd}"));
    assert_eq!(read.texts, ["a", "b"]);
    assert_eq!((read.flag, read.number, read.list), (true, 12, vec![1, 2]));
}

#[test]
fn too_deep_a_field_is_named() {
    let deep = "[".repeat(9) + &"]".repeat(9);
    let text = format!(r#" {{"a":[[1]],"b":{deep}}} "#);
    assert_eq!(check_fields_depth(&text, 9), Ok(()));
    let misread = check_fields_depth(&text, 8).unwrap_err();
    let found = (misread.mistake, &*misread.path);
    assert_eq!(found, (FieldErrorKind::TooDeep, "b"));
}

#[test]
fn a_refusal_repeats_only_the_start_of_what_was_said() {
    let long = "x".repeat(10_000);
    for text in [
        format!(r#"{{"text":"","names":{{"{long}":1}}}}"#),
        format!(r#"{{"text":"","innerThing":{{"word":"w","colour":"{long}"}}}}"#),
    ] {
        assert!(misread(&text).to_string().len() < 450);
    }
}

proptest! {
    #[test]
    fn strings_are_decoded_whatever_their_surrogates(units in any::<Vec<u16>>()) {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04X}")).collect();
        let json = format!("\"{escaped}\"");
        let raw: &RawValue = serde_json::from_str(&json).unwrap();
        let text: String = read_part(raw).unwrap();
        prop_assert_eq!(&text, &String::from_utf16_lossy(&units));
        prop_assert_eq!(&*str_of(raw).unwrap(), &text);
    }

    #[test]
    fn strings_with_surrogates_between_characters_are_decoded(
        pieces in proptest::collection::vec(prop_oneof![
            any::<char>().prop_map(|c| serde_json::to_string(&c).unwrap().trim_matches('"').to_owned()),
            Just("\\ud83d".to_owned()),
            Just("\\ude00".to_owned()),
        ], 0..20)
    ) {
        let json = format!("\"{}\"", pieces.concat());
        let Ok(raw) = serde_json::from_str::<&RawValue>(&json) else { return Ok(()) };
        let text: Cow<'_, str> = read_part(raw).unwrap();
        prop_assert_eq!(str_of(raw).unwrap(), text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        read::<Outer<'_>>(&text, MAX_DEPTH).ok();
        read::<Outer<'_>>(&format!("{{\"text\":{text}"), MAX_DEPTH).ok();
    }
}
