//! The top level of one frame, read in a single pass: known fields of relayed frames in slots, the rest in a
//! list.
//!
//! Reading decodes and copies no value, and a frame of known fields allocates no memory. The error for a refused frame
//! is built here too, because it repeats some of the fields.

use std::borrow::Cow;
use std::fmt;

use jackfield_wire::{
    echo,
    json::{self, RawMembers},
    read::{BorrowedText, FieldError, FieldErrorKind, read},
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{FrameError, FrameFault, FrameLimits, scan::scan};

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

/// A field without a slot.
#[derive(Debug, Clone)]
pub struct ExtraField<'a> {
    /// Decoded name of the field.
    pub name: Cow<'a, str>,
    /// Name as a JSON string.
    pub(super) quoted_name: Cow<'a, str>,
    /// Value of the field, as written.
    pub value: &'a str,
}

/// All fields of one frame; each value is JSON as written, without whitespace around it.
#[derive(Debug, Clone, Default)]
pub(super) struct RawFields<'a> {
    slots: [Option<&'a str>; NAMES.len()],
    /// Fields without a slot, in their order.
    pub(super) extra: Vec<ExtraField<'a>>,
    /// Slot given more than once; the first value is kept.
    duplicate: Option<FieldSlot>,
}

impl<'a> RawFields<'a> {
    /// Reads the fields of a frame. Works in place, because returning them costs as much as reading them.
    pub(super) fn fill(&mut self, text: &'a str) -> Result<(), FrameError> {
        let scanned = scan(text, |name, quoted, value| match FieldSlot::of(name) {
            Some(slot) => self.put(slot, value),
            None => self.extra.push(ExtraField {
                name: name.into(),
                quoted_name: quoted.into(),
                value,
            }),
        });
        if scanned.is_some() {
            return Ok(());
        }
        *self = Self::default();
        self.fill_by_serde(text)
    }

    /// Reads like [`fill`](Self::fill) whatever is JSON, and returns the error of anything else.
    fn fill_by_serde(&mut self, text: &'a str) -> Result<(), FrameError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer
            .deserialize_map(FieldsVisitor(self))
            .and_then(|()| deserializer.end())
            .map_err(|error| RawFields::default().refuse(FieldError::not_an_object(&error)))
    }

    /// Returns the value as written, `null` included, without any check.
    #[inline]
    pub(super) fn raw(&self, slot: FieldSlot) -> Option<&'a str> {
        self.slots[slot as usize]
    }

    /// Returns the value, with `null` counted as absent, without any check.
    #[inline]
    pub(super) fn get(&self, slot: FieldSlot) -> Option<&'a str> {
        self.raw(slot).filter(|raw| *raw != "null")
    }

    /// Returns the payload, with `null` counted as absent.
    pub(super) fn payload(&self) -> Option<&'a RawValue> {
        serde_json::from_str(self.get(FieldSlot::Payload)?).ok()
    }

    /// Returns the text of a field, if the value is a string.
    #[inline]
    pub(super) fn lenient_text(&self, slot: FieldSlot) -> Option<Cow<'a, str>> {
        self.raw(slot).and_then(json::decode)
    }

    /// Returns the text of an optional field, which must be a string if present.
    #[inline]
    pub(super) fn text(&self, slot: FieldSlot) -> Result<Option<Cow<'a, str>>, FrameError> {
        match self.get(slot) {
            None => Ok(None),
            Some(raw) => match json::decode(raw) {
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
        match self.get(slot) {
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
        let is_deep = |raw: &str| json::depth_exceeds(raw, limits.max_depth);
        let mut slots = NAMES.into_iter().zip(self.slots);
        let slot = slots.find(|(_, value)| value.is_some_and(is_deep));
        let extra = || self.extra.iter().find(|field| is_deep(field.value));
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
            let payload = self.payload().and_then(RawMembers::of)?;
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
    fn put(&mut self, slot: FieldSlot, value: &'a str) {
        match &mut self.slots[slot as usize] {
            Some(_) => self.duplicate = self.duplicate.or(Some(slot)),
            empty => *empty = Some(value),
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
        while let Some((BorrowedText(name), raw)) = map.next_entry::<_, &RawValue>()? {
            match FieldSlot::of(&name) {
                Some(slot) => self.0.put(slot, raw.get()),
                None => self.0.extra.push(ExtraField {
                    quoted_name: json::quoted(&name).into(),
                    name,
                    value: raw.get(),
                }),
            }
        }
        Ok(())
    }
}
