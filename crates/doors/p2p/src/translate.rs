//! Pure functions between the protocol's types and the core's. No sockets, no hub.

use jackfield_kit::files::Files;
use jackfield_model::{File, Json, Message, Part};
use jackfield_peer::wire::{Data, HandOff};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// Builds the [`Message`] to the agent: the goal of the path, then the input. Without either, the parameters are
/// the message; `None` without parameters.
pub(crate) fn message_from(
    hand_off: &HandOff,
    skill: Option<&str>,
    goal: Option<String>,
) -> Option<Message> {
    let input = hand_off.input.as_ref().map(part_from_data);
    let mut parts: Vec<_> = goal.map(Part::Text).into_iter().chain(input).collect();
    let params = params_of(hand_off);
    if parts.is_empty() {
        parts.extend(params.clone().map(Part::Data));
    }
    if parts.is_empty() {
        return None;
    }
    Some(Message {
        parts,
        metadata: metadata_from(skill, params.as_ref()),
        ..Message::default()
    })
}

/// Converts text or data to a [`Part`].
pub(crate) fn part_from_data(data: &Data) -> Part {
    match data {
        Data::Text(text) => Part::Text(text.clone()),
        Data::Json(raw) => Part::Data(Json::from(raw.clone())),
    }
}

fn params_of(hand_off: &HandOff) -> Option<Json> {
    if hand_off.params.is_empty() {
        return None;
    }
    let written = serde_json::to_string(&hand_off.params).ok()?;
    Json::parse(&written).ok()
}

/// Builds the metadata of a message: the skill, and the parameters of the path, for agents whose protocol
/// carries them.
fn metadata_from(skill: Option<&str>, params: Option<&Json>) -> Option<Json> {
    if skill.is_none() && params.is_none() {
        return None;
    }
    #[derive(Serialize)]
    struct Metadata<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        skill: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a RawValue>,
    }
    let params = params.map(Json::raw);
    let written = serde_json::to_string(&Metadata { skill, params }).ok()?;
    Json::parse(&written).ok()
}

/// Converts an answer to the one [`Data`] value that a peer gets: text or a single piece of data unchanged, everything
/// else as an object with `text`, `data` and `files`, which are links.
pub(crate) fn data_from_parts(parts: Vec<Part>, files: &Files) -> Data {
    #[derive(Serialize)]
    struct Written<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        data: Vec<&'a RawValue>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        files: Vec<Link<'a>>,
    }
    #[derive(Serialize)]
    struct Link<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime: Option<&'a str>,
        url: String,
    }
    let (mut texts, mut data, mut made) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(text) => texts.push(text),
            Part::Data(json) => data.push(json),
            Part::File(file) => made.push(file),
        }
    }
    let text = texts.join("\n");
    match (text.is_empty(), &data[..], &made[..]) {
        (_, [], []) => Data::Text(text),
        (true, [only], []) => Data::Json(only.raw().to_owned()),
        (_, data, made) => {
            let links = made.iter().map(|file| Link {
                name: file.name.as_deref(),
                mime: file.mime.as_deref(),
                url: files.url(file).to_string(),
            });
            let written = to_raw_value(&Written {
                text: Some(&*text).filter(|text| !text.is_empty()),
                data: data.iter().map(Json::raw).collect(),
                files: links.collect(),
            });
            // Texts and JSON always serialize.
            Data::Json(written.unwrap_or_else(|_| RawValue::NULL.to_owned()))
        }
    }
}

/// An answer of several kinds of parts, as [`data_from_parts`] writes it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct MixedParts {
    pub(crate) text: Option<String>,
    pub(crate) data: Vec<Json>,
    pub(crate) files: Vec<File>,
}

/// Reads an object of [`data_from_parts`]; `None` for any other JSON.
pub(crate) fn several_from_data(raw: &RawValue) -> Option<MixedParts> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written<'a> {
        text: Option<String>,
        #[serde(borrow, default)]
        data: Vec<&'a RawValue>,
        #[serde(default)]
        files: Vec<Link>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Link {
        name: Option<String>,
        mime: Option<String>,
        url: String,
    }
    let Written { text, data, files } = serde_json::from_str(raw.get()).ok()?;
    let data = data.into_iter().map(|raw| Json::from(raw.to_owned()));
    let files = files
        .into_iter()
        .map(|link| File::from_url(link.url, link.name, link.mime));
    let several = MixedParts {
        text,
        data: data.collect(),
        files: files.collect(),
    };
    // A single text, or a single piece of data, is written unchanged.
    let is_several = match &several.text {
        Some(_) => !several.data.is_empty() || !several.files.is_empty(),
        None => several.data.len() > 1 || !several.files.is_empty(),
    };
    is_several.then_some(several)
}

#[cfg(test)]
mod tests {
    use jackfield_core::limits::Limits;
    use jackfield_model::FileSource;
    use jackfield_peer::wire;

    use super::*;

    fn hand_off(text: &str) -> HandOff {
        HandOff::read(text.as_bytes(), &wire::BodyLimits::default()).unwrap()
    }

    fn data(json: &str) -> Part {
        Part::Data(Json::parse(json).unwrap())
    }

    #[test]
    fn a_string_that_holds_an_object_is_data_and_any_other_is_text() {
        for (input, part) in [
            (r#""write a poem""#, Part::Text("write a poem".into())),
            (r#""{\"a\": 1}""#, data(r#"{"a": 1}"#)),
            (r#"{"a": 1}"#, data(r#"{"a": 1}"#)),
            (r#""42""#, Part::Text("42".into())),
        ] {
            let request = format!(r#"{{"method": "POST", "path": "/x", "input_data": {input}}}"#);
            let message = message_from(&hand_off(&request), None, None).unwrap();
            assert_eq!(message.parts, [part], "{input}");
        }
    }

    #[test]
    fn parameters_go_along_and_are_what_is_said_where_nothing_else_is() {
        let request = r#"{"method": "POST", "path": "/x/{city}", "params": {"city": "Rome", "days": 3, "fast": true}}"#;
        let message = message_from(&hand_off(request), Some("weather"), None).unwrap();
        let params = r#"{"city":"Rome","days":3,"fast":true}"#;
        assert_eq!(message.parts, [data(params)]);
        let metadata = message.metadata.unwrap();
        let expected = format!(r#"{{"skill":"weather","params":{params}}}"#);
        assert_eq!(metadata.get(), expected);
    }

    #[test]
    fn a_goal_is_said_before_the_input_and_nothing_at_all_is_no_message() {
        let request = r#"{"method": "POST", "path": "/x", "input_data": "more"}"#;
        let message = message_from(&hand_off(request), None, Some("plan a trip".into())).unwrap();
        assert_eq!(message.joined_text(), "plan a trip\nmore");
        let request = r#"{"method": "POST", "path": "/x", "input_data": null, "params": null}"#;
        assert!(message_from(&hand_off(request), Some("s"), None).is_none());
    }

    #[test]
    fn words_and_a_single_piece_of_data_stay_as_they_are() {
        let files = Files::new(&Limits::default());
        let words = |parts| data_from_parts(parts, &files).as_str().to_owned();
        assert_eq!(words(vec![Part::Text("hi \"you\"".into())]), "hi \"you\"");
        assert_eq!(words(vec![data("[1, 2]")]), "[1, 2]");
        assert_eq!(words(vec![]), "");
    }

    #[test]
    fn an_answer_of_several_kinds_is_an_object_and_its_files_are_links() {
        let files = Files::new(&Limits::default());
        let at = |url: &str| File {
            name: Some("a.txt".into()),
            mime: Some("text/plain".into()),
            source: FileSource::Uri(url.into()),
        };
        let bytes = File {
            name: None,
            mime: Some("text/plain".into()),
            source: FileSource::Bytes("aGk=".into()),
        };
        let parts = vec![
            Part::Text("see".into()),
            data(r#"{"n": 1}"#),
            Part::File(at("https://e.example/a")),
            Part::File(bytes),
        ];
        let body = data_from_parts(parts, &files);
        let body: serde_json::Value = serde_json::from_str(body.as_str()).unwrap();
        let expected = serde_json::json!({
            "text": "see",
            "data": [{"n": 1}],
            "files": [
                {"name": "a.txt", "mime": "text/plain", "url": "https://e.example/a"},
                {"mime": "text/plain", "url": "data:text/plain;base64,aGk="},
            ],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn an_answer_of_several_kinds_is_read_as_it_was_written_and_other_json_is_not() {
        let files = Files::new(&Limits::default());
        let bytes = File {
            name: Some("a".into()),
            mime: Some("text/plain".into()),
            source: FileSource::Bytes("aGk=".into()),
        };
        let text = |text: &str| Part::Text(text.into());
        for parts in [
            vec![text("see"), data(r#"{"n": 1}"#)],
            vec![data("1"), data("[2]"), Part::File(bytes.clone())],
            vec![Part::File(bytes.clone())],
            vec![text("see"), Part::File(bytes)],
        ] {
            let Data::Json(raw) = data_from_parts(parts.clone(), &files) else {
                panic!("{parts:?} is an object");
            };
            let MixedParts { text, data, files } = several_from_data(&raw).unwrap();
            let text = text.map(Part::Text).into_iter();
            let data = data.into_iter().map(Part::Data);
            let files = files.into_iter().map(Part::File);
            let read: Vec<_> = text.chain(data).chain(files).collect();
            assert_eq!(read, parts);
        }
        for other in [
            "{}",
            "[1]",
            "1",
            r#"{"text": "a"}"#,
            r#"{"data": [1]}"#,
            r#"{"text": 1, "data": [1]}"#,
            r#"{"text": "a", "data": {"n": 1}}"#,
            r#"{"text": "a", "data": [1], "more": 1}"#,
            r#"{"text": "a", "files": ["https://e.example/a"]}"#,
        ] {
            let raw = RawValue::from_string(other.to_owned()).unwrap();
            assert_eq!(several_from_data(&raw), None, "{other}");
        }
    }
}
