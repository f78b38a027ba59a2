//! The top level of one frame, read in a single pass: known fields in slots, the rest in a list.
//!
//! Nothing is decoded or copied while reading, and a chunk frame allocates nothing. Uplink and downlink convert the
//! slots they need; mistakes become [`Malformed`] here, so that every refusal carries the same echo of the frame.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Fault, Limits, Malformed, echo};
use crate::json::{self, Member, Members, Name};

/// A field that relayed frames know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Type,
    To,
    From,
    Caller,
    StreamId,
    Stream,
    RequestId,
    Payload,
    Chunk,
    Code,
    Message,
}

const SLOTS: usize = Slot::Message as usize + 1;

impl Slot {
    const ALL: [Slot; SLOTS] = [
        Slot::Type,
        Slot::To,
        Slot::From,
        Slot::Caller,
        Slot::StreamId,
        Slot::Stream,
        Slot::RequestId,
        Slot::Payload,
        Slot::Chunk,
        Slot::Code,
        Slot::Message,
    ];

    #[inline]
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "type" => Slot::Type,
            "to" => Slot::To,
            "from" => Slot::From,
            "caller" => Slot::Caller,
            "stream_id" => Slot::StreamId,
            "stream" => Slot::Stream,
            "request_id" => Slot::RequestId,
            "payload" => Slot::Payload,
            "chunk" => Slot::Chunk,
            "code" => Slot::Code,
            "message" => Slot::Message,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Slot::Type => "type",
            Slot::To => "to",
            Slot::From => "from",
            Slot::Caller => "caller",
            Slot::StreamId => "stream_id",
            Slot::Stream => "stream",
            Slot::RequestId => "request_id",
            Slot::Payload => "payload",
            Slot::Chunk => "chunk",
            Slot::Code => "code",
            Slot::Message => "message",
        }
    }
}

/// All fields of one frame.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields<'a> {
    slots: [Option<&'a RawValue>; SLOTS],
    /// Fields without a slot, in their order.
    pub(crate) extra: Vec<Member<'a>>,
    /// A slot that was given more than once; the first value is kept.
    duplicate: Option<Slot>,
}

impl<'a> Fields<'a> {
    /// Adds the fields of a frame.
    ///
    /// They are filled in place, since handing a few hundred bytes up through serde costs as much as reading them.
    pub(crate) fn fill(&mut self, text: &'a str) -> Result<(), Malformed> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer
            .deserialize_map(FieldsVisitor(self))
            .and_then(|()| deserializer.end())
            .map_err(|error| no_object(&error))
    }

    /// The value as written, `null` included.
    #[inline]
    pub(crate) fn raw(&self, slot: Slot) -> Option<&'a RawValue> {
        self.slots[slot as usize]
    }

    /// The value, `null` counting as absent.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Option<&'a RawValue> {
        self.raw(slot).filter(|raw| !json::is_null(raw))
    }

    /// The text of a field, if it is a string.
    #[inline]
    pub(crate) fn lenient_text(&self, slot: Slot) -> Option<Cow<'a, str>> {
        self.raw(slot).and_then(json::str_of)
    }

    /// The text of an optional field, which must be a string if it is there.
    #[inline]
    pub(crate) fn text(&self, slot: Slot) -> Result<Option<Cow<'a, str>>, Malformed> {
        self.get(slot)
            .map(|raw| self.string(slot.name(), raw))
            .transpose()
    }

    /// The text of a field that must be there.
    #[inline]
    pub(crate) fn required_text(&self, slot: Slot) -> Result<Cow<'a, str>, Malformed> {
        self.text(slot)?.ok_or_else(|| self.missing(slot.name()))
    }

    /// An optional boolean; absent is `false`.
    #[inline]
    pub(crate) fn flag(&self, slot: Slot) -> Result<bool, Malformed> {
        match self.get(slot).map(RawValue::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(self.invalid(slot.name(), "must be a boolean")),
        }
    }

    /// An optional field without a slot, which may be given only once; `null` counts as absent.
    pub(crate) fn unslotted(&self, name: &str) -> Result<Option<&'a RawValue>, Malformed> {
        let mut found = self.extra.iter().filter(|member| member.name == name);
        let first = found.next().map(|member| member.value);
        if found.next().is_some() {
            return Err(self.twice(name));
        }
        Ok(first.filter(|raw| !json::is_null(raw)))
    }

    /// The text of an optional field without a slot.
    pub(crate) fn unslotted_text(&self, name: &str) -> Result<Option<Cow<'a, str>>, Malformed> {
        self.unslotted(name)?
            .map(|raw| self.string(name, raw))
            .transpose()
    }

    /// The texts of an optional array of strings without a slot.
    pub(crate) fn unslotted_texts(&self, name: &str) -> Result<Vec<Cow<'a, str>>, Malformed> {
        let Some(raw) = self.unslotted(name)? else {
            return Ok(Vec::new());
        };
        json::elements(raw)
            .and_then(|elements| elements.into_iter().map(json::str_of).collect())
            .ok_or_else(|| self.invalid(name, "must be an array of strings"))
    }

    #[inline]
    fn string(&self, name: &str, raw: &'a RawValue) -> Result<Cow<'a, str>, Malformed> {
        json::str_of(raw).ok_or_else(|| self.invalid(name, "must be a string"))
    }

    /// Refuses fields given twice and values nested too deeply.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Malformed> {
        if let Some(slot) = self.duplicate {
            return Err(self.twice(slot.name()));
        }
        // Strings, which is what slots other than the payload mostly hold, cost two comparisons each.
        let is_deep = |raw: &RawValue| json::depth_exceeds(raw.get(), limits.max_depth);
        if let Some(slot) = Slot::ALL
            .into_iter()
            .find(|slot| self.raw(*slot).is_some_and(is_deep))
        {
            return Err(self.too_deep(slot.name(), limits));
        }
        match self.extra.iter().find(|member| is_deep(member.value)) {
            Some(member) => Err(self.too_deep(&member.name, limits)),
            None => Ok(()),
        }
    }

    #[cold]
    fn too_deep(&self, name: &str, limits: &Limits) -> Malformed {
        let problem = format!("is nested deeper than {} levels", limits.max_depth);
        self.invalid(name, problem)
    }

    #[cold]
    fn twice(&self, name: &str) -> Malformed {
        self.invalid(name, "is given twice")
    }

    #[cold]
    pub(crate) fn missing(&self, name: &str) -> Malformed {
        self.invalid(name, "is missing")
    }

    #[cold]
    pub(crate) fn invalid(&self, name: &str, problem: impl Into<String>) -> Malformed {
        self.malformed(Fault::Invalid, name, problem)
    }

    #[cold]
    pub(crate) fn malformed(
        &self,
        fault: Fault,
        name: &str,
        problem: impl Into<String>,
    ) -> Malformed {
        let echoed = |slot| self.lenient_text(slot).map(|text| echo(&text));
        let in_payload = || {
            let payload = self.get(Slot::Payload).and_then(Members::of)?;
            payload.text("request_id").map(|text| echo(&text))
        };
        Malformed {
            fault,
            frame_type: echoed(Slot::Type),
            field: Some(echo(name)),
            problem: problem.into(),
            to: echoed(Slot::To),
            stream_id: echoed(Slot::StreamId),
            request_id: echoed(Slot::RequestId).or_else(in_payload),
        }
    }

    #[inline]
    fn put(&mut self, name: Cow<'a, str>, value: &'a RawValue) {
        match Slot::of(&name) {
            None => self.extra.push(Member { name, value }),
            Some(slot) => match &mut self.slots[slot as usize] {
                Some(_) => self.duplicate = self.duplicate.or(Some(slot)),
                empty => *empty = Some(value),
            },
        }
    }
}

/// The refusal of a text that is no JSON object.
#[cold]
fn no_object(error: &serde_json::Error) -> Malformed {
    // The visitor accepts any object, so the only data error is another kind of value.
    let problem = if error.is_data() {
        "the frame must be a JSON object".to_owned()
    } else {
        format!("the frame is not valid JSON: {error}")
    };
    Malformed {
        fault: Fault::Syntax,
        frame_type: None,
        field: None,
        problem,
        to: None,
        stream_id: None,
        request_id: None,
    }
}

struct FieldsVisitor<'f, 'a>(&'f mut Fields<'a>);

impl<'de> Visitor<'de> for FieldsVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((Name(name), value)) = map.next_entry()? {
            self.0.put(name, value);
        }
        Ok(())
    }
}
