//! [`OpenObject`]: objects with unknown fields, which are kept as written.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor, value::CowStrDeserializer,
};
use serde_json::value::RawValue;

use super::BorrowedText;
use crate::json::RawMember;

/// A struct `T` that derives [`Deserialize`], together with the fields that `T` does not have.
///
/// Replaces `#[serde(flatten)]`, which buffers every value and cannot read a [`RawValue`].
#[derive(Debug, Clone, Default)]
pub struct OpenObject<'a, T> {
    /// The known fields.
    pub known: T,
    /// The unknown fields, in their order.
    pub rest: Vec<RawMember<'a>>,
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for OpenObject<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut rest = Vec::new();
        let known = T::deserialize(SplitDeserializer {
            deserializer,
            rest: &mut rest,
        })?;
        Ok(Self { known, rest })
    }
}

/// Deserializer that reads a struct and collects the fields that the struct does not have.
struct SplitDeserializer<'r, 'de, D> {
    deserializer: D,
    rest: &'r mut Vec<RawMember<'de>>,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for SplitDeserializer<'_, 'de, D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_map(SplitVisitor {
            fields,
            visitor,
            rest: self.rest,
        })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct SplitVisitor<'r, 'de, V> {
    fields: &'static [&'static str],
    visitor: V,
    rest: &'r mut Vec<RawMember<'de>>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for SplitVisitor<'_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(SplitMapAccess {
            fields: self.fields,
            members,
            rest: self.rest,
        })
    }
}

struct SplitMapAccess<'r, 'de, A> {
    fields: &'static [&'static str],
    members: A,
    rest: &'r mut Vec<RawMember<'de>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for SplitMapAccess<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        while let Some(BorrowedText(name)) = self.members.next_key()? {
            if self.fields.contains(&&*name) {
                return seed.deserialize(CowStrDeserializer::new(name)).map(Some);
            }
            let value = self.members.next_value::<&'de RawValue>()?;
            self.rest.push(RawMember { name, value });
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.members.next_value_seed(seed)
    }
}
