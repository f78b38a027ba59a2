//! Strict reading of JSON bodies. A scan of the text, without building values, finds its nesting depth and
//! the field behind a parser error. Serde's own limit does not count raw JSON that is passed on, its errors
//! name a line instead of a field, and it accepts a list for an object, which [`StrictObject`] does not.

use std::{fmt, marker::PhantomData};

use jackfield_model::{Failure, Reason};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A value that must be written as an object, not as the list of its fields.
#[derive(Debug)]
pub struct StrictObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for StrictObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Only<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Only<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_map(Only(PhantomData)).map(Self)
    }
}

/// Reads a body that is one object and nests at most `depth` levels. The failure names the wrong field.
pub fn parse<T: DeserializeOwned>(text: &[u8], depth: usize) -> Result<T, Failure> {
    check_depth(text, depth)?;
    read(text).map_err(|JsonFieldError { field, error }| {
        // A syntax error is not about the field at its position.
        let text = if error.is_syntax() || error.is_eof() {
            format!("the body is not valid JSON: {error}")
        } else if missing(&error).is_some() {
            format!("field {field:?} is required")
        } else if field.is_empty() {
            format!("the body is not what this route takes: {error}")
        } else {
            format!("field {field:?} of the body: {error}")
        };
        Failure::new(Reason::Invalid, text)
    })
}

/// The error of reading an object.
#[derive(Debug)]
pub struct JsonFieldError {
    /// Path of the wrong field, such as `parts[0].file`; empty for the whole object.
    pub field: String,
    /// Error of the parser.
    pub error: serde_json::Error,
}

/// Reads one object, for callers with their own error texts.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonFieldError> {
    let parsed = serde_json::from_slice::<StrictObject<T>>(text);
    parsed.map(|object| object.0).map_err(|error| {
        let mut walk = walk_to(text, error.line(), error.column());
        if let (Some(JsonPosition::Object { key, .. }), Some(name)) =
            (walk.open.last_mut(), missing(&error))
        {
            // The last key in the text is not the missing one.
            *key = name;
        }
        let field = walk.path();
        JsonFieldError { field, error }
    })
}

/// Returns the name of the missing field, if the error is about one.
fn missing(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let (name, _) = text.strip_prefix("missing field `")?.split_once('`')?;
    Some(name.to_owned())
}

/// Refuses a body that nests deeper than `depth` levels, for callers that parse the body themselves.
pub fn check_depth(text: &[u8], depth: usize) -> Result<(), Failure> {
    if is_deeper_than(text, depth) {
        let text = format!("the body nests deeper than {depth} levels; flatten it");
        return Err(Failure::new(Reason::Invalid, text));
    }
    Ok(())
}

/// A path of keys and indexes, such as `parts[0].file`.
#[derive(Debug, Default)]
struct JsonPath {
    /// Position within each open bracket.
    open: Vec<JsonPosition>,
}

#[derive(Debug)]
enum JsonPosition {
    /// In an object: the last key, and whether the next string is a key.
    Object { key: String, wants_key: bool },
    /// In an array: the index.
    Array(usize),
}

/// Returns whether the text nests deeper than `max`. Invalid JSON is left for the parser to refuse.
fn is_deeper_than(text: &[u8], max: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Returns the path to the byte at a line and column (both from 1).
fn walk_to(text: &[u8], line: usize, column: usize) -> JsonPath {
    let start: usize = text
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let end = start.saturating_add(column).min(text.len());
    let mut walk = JsonPath::default();
    walk.go(&text[..end]);
    walk
}

impl JsonPath {
    fn go(&mut self, text: &[u8]) {
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    let length = string_length(&text[at..]);
                    self.string(&text[at..at + length]);
                    at += length + 1;
                }
                b'{' => self.open.push(JsonPosition::Object {
                    key: String::new(),
                    wants_key: true,
                }),
                b'[' => self.open.push(JsonPosition::Array(0)),
                // The last bracket stays open: an error at a closing bracket is about the whole value.
                b'}' | b']' if at < text.len() => drop(self.open.pop()),
                b',' if at < text.len() => self.next(),
                _ => {}
            }
        }
    }

    fn string(&mut self, text: &[u8]) {
        if let Some(JsonPosition::Object { key, wants_key }) = self.open.last_mut()
            && std::mem::take(wants_key)
        {
            *key = String::from_utf8_lossy(text).into_owned();
        }
    }

    fn next(&mut self) {
        match self.open.last_mut() {
            Some(JsonPosition::Object { key, wants_key }) => {
                key.clear();
                *wants_key = true;
            }
            Some(JsonPosition::Array(index)) => *index += 1,
            None => {}
        }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for place in &self.open {
            match place {
                JsonPosition::Object { key, .. } if key.is_empty() => {}
                JsonPosition::Object { key, .. } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
                JsonPosition::Array(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }
}

/// Returns the length of a string up to its closing quote; `text` begins after the opening quote.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    text.iter()
        .position(|byte| match byte {
            _ if escaped => {
                escaped = false;
                false
            }
            b'\\' => {
                escaped = true;
                false
            }
            byte => *byte == b'"',
        })
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn brackets_in_strings_do_not_nest() {
        assert!(!is_deeper_than(br#"{"a": "[[[[\"[[["}"#, 1));
        assert!(!is_deeper_than(b"[[],[],{}]", 2));
        assert!(is_deeper_than(b"[[[]]]", 2));
    }

    #[test]
    fn an_error_is_traced_to_its_field() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Body {
            #[serde(rename = "text")]
            _text: Option<String>,
            #[serde(rename = "parts")]
            _parts: Option<Vec<Part>>,
        }
        #[derive(Debug, serde::Deserialize)]
        struct Part {
            #[serde(rename = "name")]
            _name: String,
        }
        for (text, field) in [
            (r#"{"text": 5}"#, "text"),
            ("{\"text\": \"a\",\n \"parts\": 7 }", "parts"),
            (
                r#"{"text": "}", "parts": [{"name": "x"}, {"name": 1}]}"#,
                "parts[1].name",
            ),
            (r#"{"text": "a", "parts": [{}]}"#, "parts[0].name"),
            (
                r#"{"parts": [{"name": "x"}, {"title": {"name": "y"}}], "text": "a"}"#,
                "parts[1].name",
            ),
            (r#"{"texts": "a"}"#, "texts"),
            ("[]", ""),
        ] {
            let JsonFieldError {
                field: found,
                error,
            } = read::<Body>(text.as_bytes()).unwrap_err();
            assert_eq!(found, field, "{text}: {error}");
        }
    }

    #[test]
    fn text_that_is_cut_anywhere_is_no_trouble() {
        let text = br#"{"a": [{"b\"": "c\\"}, [1, 2]], "d": null}"#;
        assert!(serde_json::from_slice::<Value>(text).is_ok());
        for end in 0..=text.len() {
            walk_to(&text[..end], 1, end).path();
            is_deeper_than(&text[..end], 64);
        }
    }

    #[test]
    fn a_bad_body_is_refused_by_field_and_line() {
        #[derive(Debug, serde::Deserialize)]
        struct Wanted {
            #[serde(rename = "name")]
            _name: String,
        }
        let refused = parse::<Wanted>(b"{\"name\":\n 5}", 64).unwrap_err();
        assert!(refused.text.contains("\"name\"") && refused.text.contains("line 2"));
        for without in [&b"{}"[..], b"{\"title\": {\"name\": 1}}"] {
            let refused = parse::<Wanted>(without, 64).unwrap_err();
            assert_eq!(refused.text, "field \"name\" is required");
        }
        for cut in [
            &b"{\"name\": \"x\""[..],
            b"{\"name\": \"x\"}}",
            b"{name: 1}",
            b"",
        ] {
            let refused = parse::<Wanted>(cut, 64).unwrap_err();
            let text = &refused.text;
            assert!(text.starts_with("the body is not valid JSON: "), "{text}");
            assert!(text.contains("line 1 column "), "{text}");
        }
        assert!(
            parse::<Wanted>(b"[\"x\"]", 64).is_err(),
            "a list is no object"
        );
        let deep = format!("{{\"x\":{}1{}}}", "[".repeat(64), "]".repeat(64));
        assert!(
            parse::<serde::de::IgnoredAny>(deep.as_bytes(), 64)
                .unwrap_err()
                .text
                .contains("64")
        );
        assert!(parse::<serde::de::IgnoredAny>(deep.as_bytes(), 65).is_ok());
    }
}
