//! The top level of one frame, read in a single pass: known fields of relayed frames in slots, the rest in a
//! list.
//!
//! Reading decodes and copies no value, and a chunk frame allocates no memory. The error for a refused frame
//! is built here too, because it repeats some of the fields.

use std::borrow::Cow;
use std::fmt;

use jackfield_wire::{
    echo,
    json::{self, RawMember, RawMembers},
    read::{BorrowedText, FieldError, FieldErrorKind, read},
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{FrameError, FrameFault, FrameLimits};

/// A known field of relayed frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldSlot {
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

/// Names of the slots, in their order.
const NAMES: [&str; 11] = [
    "type",
    "to",
    "from",
    "caller",
    "stream_id",
    "stream",
    "request_id",
    "payload",
    "chunk",
    "code",
    "message",
];

impl FieldSlot {
    #[inline]
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "type" => FieldSlot::Type,
            "to" => FieldSlot::To,
            "from" => FieldSlot::From,
            "caller" => FieldSlot::Caller,
            "stream_id" => FieldSlot::StreamId,
            "stream" => FieldSlot::Stream,
            "request_id" => FieldSlot::RequestId,
            "payload" => FieldSlot::Payload,
            "chunk" => FieldSlot::Chunk,
            "code" => FieldSlot::Code,
            "message" => FieldSlot::Message,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// All fields of one frame.
#[derive(Debug, Clone, Default)]
pub(super) struct RawFields<'a> {
    slots: [Option<&'a RawValue>; NAMES.len()],
    /// Fields without a slot, in their order.
    pub(super) extra: Vec<RawMember<'a>>,
    /// Slot given more than once; the first value is kept.
    duplicate: Option<FieldSlot>,
}

impl<'a> RawFields<'a> {
    /// Adds the fields of a frame. Works in place, because returning them through serde costs as much as
    /// reading them.
    pub(super) fn fill(&mut self, text: &'a str) -> Result<(), FrameError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer
            .deserialize_map(FieldsVisitor(self))
            .and_then(|()| deserializer.end())
            .map_err(|error| RawFields::default().refuse(FieldError::not_an_object(&error)))
    }

    /// Returns the value as written, `null` included, without any check.
    #[inline]
    pub(super) fn raw(&self, slot: FieldSlot) -> Option<&'a RawValue> {
        self.slots[slot as usize]
    }

    /// Returns the value, with `null` counted as absent, without any check.
    #[inline]
    pub(super) fn get(&self, slot: FieldSlot) -> Option<&'a RawValue> {
        self.raw(slot).filter(|raw| !json::is_null(raw))
    }

    /// Returns the text of a field, if the value is a string.
    #[inline]
    pub(super) fn lenient_text(&self, slot: FieldSlot) -> Option<Cow<'a, str>> {
        self.raw(slot).and_then(json::str_of)
    }

    /// Returns the text of an optional field, which must be a string if present.
    #[inline]
    pub(super) fn text(&self, slot: FieldSlot) -> Result<Option<Cow<'a, str>>, FrameError> {
        match self.get(slot) {
            None => Ok(None),
            Some(raw) => match json::str_of(raw) {
                Some(text) => Ok(Some(text)),
                None => Err(self.invalid(slot, "must be a string")),
            },
        }
    }

    /// Returns the text of a required field.
    #[inline]
    pub(super) fn required_text(&self, slot: FieldSlot) -> Result<Cow<'a, str>, FrameError> {
        self.text(slot)?.ok_or_else(|| self.missing(slot))
    }

    /// Returns an optional boolean; absent means `false`.
    #[inline]
    pub(super) fn flag(&self, slot: FieldSlot) -> Result<bool, FrameError> {
        match self.get(slot).map(RawValue::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(self.invalid(slot, "must be true or false")),
        }
    }

    /// Refuses slots given twice and values nested too deeply.
    pub(super) fn check(&self, limits: &FrameLimits) -> Result<(), FrameError> {
        if let Some(slot) = self.duplicate {
            return Err(self.refuse(FieldError::duplicate(slot.name())));
        }
        // Slots mostly hold strings, which cost two comparisons each.
        let is_deep = |raw: &RawValue| json::depth_exceeds(raw.get(), limits.max_depth);
        let mut slots = NAMES.into_iter().zip(self.slots);
        let slot = slots.find(|(_, value)| value.is_some_and(is_deep));
        let extra = || self.extra.iter().find(|member| is_deep(member.value));
        match slot.map(|(name, _)| name).or_else(|| Some(&*extra()?.name)) {
            Some(name) => Err(self.refuse(FieldError::too_deep(name, limits.max_depth))),
            None => Ok(()),
        }
    }

    /// Reads the same text again, as a frame for the hub itself.
    pub(super) fn frame<T: Deserialize<'a>>(&self, text: &'a str) -> Result<T, FrameError> {
        // The nesting depth was checked field by field.
        read(text, usize::MAX).map_err(|misread| self.refuse(misread))
    }

    #[cold]
    pub(super) fn missing(&self, slot: FieldSlot) -> FrameError {
        self.refuse(FieldError::missing(slot.name()))
    }

    #[cold]
    pub(super) fn invalid(&self, slot: FieldSlot, problem: &'static str) -> FrameError {
        self.refuse(FieldError::invalid(slot.name(), problem))
    }

    /// Returns the error for a frame, or for one of its fields.
    #[cold]
    pub(super) fn refuse(&self, misread: FieldError) -> FrameError {
        let is_no_object = misread.mistake == FieldErrorKind::Syntax || misread.field().is_none();
        let echoed = |slot: FieldSlot| self.lenient_text(slot).map(|text| echo(&text).into());
        let in_payload = || {
            let payload = self.get(FieldSlot::Payload).and_then(RawMembers::of)?;
            payload.text("request_id").map(|text| echo(&text).into())
        };
        FrameError {
            fault: match is_no_object {
                true => FrameFault::Syntax,
                false => FrameFault::Invalid,
            },
            misread: Box::new(misread),
            frame_type: echoed(FieldSlot::Type),
            to: echoed(FieldSlot::To),
            stream_id: echoed(FieldSlot::StreamId),
            request_id: echoed(FieldSlot::RequestId).or_else(in_payload),
        }
    }

    #[inline]
    fn put(&mut self, name: Cow<'a, str>, value: &'a RawValue) {
        match FieldSlot::of(&name) {
            None => self.extra.push(RawMember { name, value }),
            Some(slot) => match &mut self.slots[slot as usize] {
                Some(_) => self.duplicate = self.duplicate.or(Some(slot)),
                empty => *empty = Some(value),
            },
        }
    }
}

struct FieldsVisitor<'f, 'a>(&'f mut RawFields<'a>);

impl<'de> Visitor<'de> for FieldsVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((BorrowedText(name), value)) = map.next_entry()? {
            self.0.put(name, value);
        }
        Ok(())
    }
}
