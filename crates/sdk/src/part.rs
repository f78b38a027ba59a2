//! What a message, an artifact or an answer is made of: words, files, data.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

/// Written with padding; read as others write it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A part of a message, an artifact or an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text(String),
    /// A file.
    File(File),
    /// Structured data.
    Data(Value),
}

/// A file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Where its bytes are.
    #[serde(flatten)]
    pub source: FileSource,
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// At this address.
    Uri(String),
    /// Here.
    Bytes(#[serde(serialize_with = "encode", deserialize_with = "decode")] Vec<u8>),
}

fn encode<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64.encode(bytes))
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    BASE64.decode(text).map_err(D::Error::custom)
}

impl File {
    /// A file at an address.
    pub fn at(uri: impl Into<String>) -> Self {
        Self::new(FileSource::Uri(uri.into()))
    }

    /// A file with its bytes.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(FileSource::Bytes(bytes.into()))
    }

    fn new(source: FileSource) -> Self {
        Self {
            name: None,
            mime: None,
            source,
        }
    }

    /// The file with this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The file with this media type.
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.mime = Some(mime.into());
        self
    }
}

impl Part {
    /// Reads what somebody sent. What has another shape than ours is data: it is still what they said.
    pub(crate) fn read_all(values: Vec<Value>) -> Vec<Self> {
        let read = |value: Value| Self::deserialize(&value).unwrap_or(Self::Data(value));
        values.into_iter().map(read).collect()
    }
}

impl From<Part> for Value {
    fn from(part: Part) -> Self {
        // Strings and values always serialise.
        serde_json::to_value(part).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_read_as_they_are_written() {
        let parts = [
            (Part::Text("hi".to_owned()), json!({"text": "hi"})),
            (
                Part::File(File::at("https://x/a.png").name("a.png").mime("image/png")),
                json!({"file": {"name": "a.png", "mime": "image/png", "uri": "https://x/a.png"}}),
            ),
            (
                Part::File(File::bytes(*b"hi!?")),
                json!({"file": {"bytes": "aGkhPw=="}}),
            ),
            (Part::Data(json!({"a": [1]})), json!({"data": {"a": [1]}})),
        ];
        for (part, value) in parts {
            assert_eq!(Value::from(part.clone()), value);
            assert_eq!(Part::read_all(vec![value]), [part]);
        }
    }

    #[test]
    fn other_shapes_are_kept_as_data_and_base64_is_read_leniently() {
        for odd in [
            json!({"kind": "text", "text": "x"}),
            json!(3),
            json!({"file": {"bytes": "?"}}),
        ] {
            assert_eq!(Part::read_all(vec![odd.clone()]), [Part::Data(odd)]);
        }
        for text in ["aGkhPw==", "aGkhPw"] {
            let part = json!({"file": {"bytes": text}});
            assert_eq!(
                Part::read_all(vec![part]),
                [Part::File(File::bytes(*b"hi!?"))]
            );
        }
    }
}
