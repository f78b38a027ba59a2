//! [`Part`]: an element of a message, an answer or an artifact.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{File, Json};

/// A part of a message, an answer or an artifact. Externally tagged, because raw JSON does not survive
/// serde's internal tags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Part {
    /// Text.
    Text(String),
    /// A file.
    File(File),
    /// Structured data.
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value))]
    Data(Json),
}

impl Part {
    /// Parses a list of parts from a peer. A part of an unknown form becomes [`Part::Data`]; a value that is
    /// not a list gives no parts.
    pub fn read_list(parts: &RawValue) -> Vec<Self> {
        let parts: Vec<&RawValue> = serde_json::from_str(parts.get()).unwrap_or_default();
        let read = |part: &RawValue| {
            let known = serde_json::from_str(part.get()).ok();
            known.unwrap_or_else(|| Self::Data(part.to_owned().into()))
        };
        parts.into_iter().map(read).collect()
    }

    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::File(file) => file.weight(),
            Self::Data(json) => json.get().len(),
        }
    }
}

impl From<Part> for Value {
    fn from(part: Part) -> Self {
        // Texts and JSON can always be serialised.
        serde_json::to_value(part).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Part> {
        Part::read_list(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn parts_are_read_as_they_are_written() {
        let parts = [
            Part::Text("hi".into()),
            Part::File(File::at("https://x/a.png").name("a.png").mime("image/png")),
            Part::File(File::bytes(b"hi!?")),
            Part::Data(Json::parse(r#"{"a": [1.50]}"#).unwrap()),
        ];
        let text = serde_json::to_string(&parts).unwrap();
        assert_eq!(
            text,
            r#"[{"text":"hi"},{"file":{"name":"a.png","mime":"image/png","uri":"https://x/a.png"}},{"file":{"bytes":"aGkhPw=="}},{"data":{"a": [1.50]}}]"#
        );
        assert_eq!(read(&text), parts);
        let values = parts.map(Value::from);
        assert_eq!(
            Value::from(values.to_vec()),
            serde_json::from_str::<Value>(&text).unwrap()
        );
    }

    #[test]
    fn a_part_of_another_form_is_kept_as_data() {
        for odd in [r#"{"kind":"text","text":"x"}"#, "3", r#"{"file":{}}"#] {
            let data = Part::Data(Json::parse(odd).unwrap());
            assert_eq!(read(&format!("[{odd}]")), [data]);
        }
        assert_eq!(read("null"), []);
    }
}
