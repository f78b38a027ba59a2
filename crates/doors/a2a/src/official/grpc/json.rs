//! Conversion between JSON and protobuf's `google.protobuf.Value` and `Struct`. Protobuf numbers are doubles
//! and members have no order. Integers beyond 2^53 and the order of members therefore do not survive gRPC.

use std::{collections::BTreeMap, fmt};

use jackfield_wire::json::depth_exceeds;
use prost_types::{ListValue, Struct, Value, value::Kind};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
    ser::Error as _,
};
use serde_json::value::{RawValue, to_raw_value};

use crate::wire::official::model::Raw;

/// Largest integer up to which a double represents every integer.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Converts JSON to a [`Value`]. JSON without a protobuf form (a number beyond the range of doubles, a lone
/// surrogate) becomes a string with the JSON text.
pub(super) fn value_from_raw(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).map_or_else(
        |_| Value::from(raw.get().to_owned()),
        |JsonValue(value)| value,
    )
}

/// Converts a JSON object to a [`Struct`]; `None` for other JSON, or JSON without a protobuf form.
pub(super) fn struct_from_raw(raw: &RawValue) -> Option<Struct> {
    serde_json::from_str::<JsonValue>(raw.get())
        .ok()?
        .into_struct()
}

/// Converts a [`Value`] to JSON of at most `max_depth` levels, or returns the reason why not.
pub(super) fn raw_from_value(value: &Value, max_depth: usize) -> Result<Raw, String> {
    raw_from(&AsJson(value), max_depth)
}

/// Converts a [`Struct`] to JSON of at most `max_depth` levels, or returns the reason why not.
pub(super) fn raw_from_struct(object: &Struct, max_depth: usize) -> Result<Raw, String> {
    raw_from(&ObjectAsJson(object), max_depth)
}

fn raw_from(json: &impl Serialize, max_depth: usize) -> Result<Raw, String> {
    let raw = to_raw_value(json).map_err(|error| error.to_string())?;
    if depth_exceeds(raw.get(), max_depth) {
        return Err(format!("is nested deeper than {max_depth}"));
    }
    Ok(raw)
}

/// [`Value`] with deserialization from JSON.
pub(super) struct JsonValue(Value);

impl JsonValue {
    /// Returns the object; `None` for other values.
    pub(super) fn into_struct(self) -> Option<Struct> {
        match self.0.kind {
            Some(Kind::StructValue(object)) => Some(object),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value {
            kind: Some(Kind::NullValue(0)),
        })
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok((it as f64).into())
    }

    fn visit_u64<E>(self, it: u64) -> Result<Value, E> {
        Ok((it as f64).into())
    }

    fn visit_f64<E>(self, it: f64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_str<E>(self, it: &str) -> Result<Value, E> {
        Ok(it.to_owned().into())
    }

    fn visit_string<E>(self, it: String) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(JsonValue(value)) = seq.next_element()? {
            values.push(value);
        }
        let list = ListValue { values };
        Ok(Value {
            kind: Some(Kind::ListValue(list)),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, JsonValue(value))) = map.next_entry()? {
            fields.insert(name, value);
        }
        Ok(Value {
            kind: Some(Kind::StructValue(Struct { fields })),
        })
    }
}

/// [`Value`] with serialization to JSON.
struct AsJson<'a>(&'a Value);

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.kind {
            // A value without a kind is written as null.
            None | Some(Kind::NullValue(_)) => serializer.serialize_unit(),
            Some(Kind::BoolValue(it)) => serializer.serialize_bool(*it),
            Some(Kind::NumberValue(it)) if !it.is_finite() => {
                Err(S::Error::custom("holds a number that JSON cannot write"))
            }
            // Write integers as integers: 42, not 42.0.
            Some(Kind::NumberValue(it)) if it.fract() == 0.0 && it.abs() <= WHOLE_MAX => {
                serializer.serialize_i64(*it as i64)
            }
            Some(Kind::NumberValue(it)) => serializer.serialize_f64(*it),
            Some(Kind::StringValue(it)) => serializer.serialize_str(it),
            Some(Kind::ListValue(it)) => serializer.collect_seq(it.values.iter().map(AsJson)),
            Some(Kind::StructValue(it)) => ObjectAsJson(it).serialize(serializer),
        }
    }
}

/// [`Struct`] with serialization to JSON.
pub(super) struct ObjectAsJson<'a>(pub(super) &'a Struct);

impl Serialize for ObjectAsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.0.fields.iter();
        serializer.collect_map(members.map(|(name, value)| (name, AsJson(value))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: usize = 64;

    #[test]
    fn json_comes_back_as_it_was() {
        for json in [
            "null",
            "true",
            "0",
            "-42",
            "9007199254740992",
            "0.5",
            "1e300",
            r#""a\"ä""#,
            "[]",
            "[null,[1,2.25],{}]",
            r#"{"a":{"b":[{"c":null}]},"d":""}"#,
        ] {
            let raw: Raw = serde_json::from_str(json).unwrap();
            let back = raw_from_value(&value_from_raw(&raw), DEPTH).unwrap();
            assert_eq!(back.get(), json.replace("1e300", "1e+300"));
        }
    }

    #[test]
    fn a_value_that_does_not_say_what_it_is_is_null() {
        let raw = raw_from_value(&Value::default(), DEPTH).unwrap();
        assert_eq!(raw.get(), "null");
    }

    #[test]
    fn numbers_that_json_cannot_write_are_refused() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let list = ListValue {
                values: vec![number.into()],
            };
            let value = Value {
                kind: Some(Kind::ListValue(list)),
            };
            assert!(raw_from_value(&value, DEPTH).is_err());
        }
    }
}
