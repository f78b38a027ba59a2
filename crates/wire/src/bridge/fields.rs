//! The top level of one frame, read in a single pass: the fields of chunks in slots, the rest in a list.
//!
//! Nothing is decoded or copied while reading, and a chunk frame allocates nothing. Uplink and downlink convert the
//! fields they need; mistakes become [`Malformed`] here, so that every refusal carries the same echo of the frame.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Attachment, Fault, Limits, Malformed, echo};
use crate::json::{self, Member, Name, Text};

/// A field that the frequent frames have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Type,
    SessionId,
    RequestId,
    CallId,
    Delta,
    Kind,
    ToolName,
    ToolCallId,
    Seq,
}

const SLOTS: usize = Slot::Seq as usize + 1;

impl Slot {
    const ALL: [Slot; SLOTS] = [
        Slot::Type,
        Slot::SessionId,
        Slot::RequestId,
        Slot::CallId,
        Slot::Delta,
        Slot::Kind,
        Slot::ToolName,
        Slot::ToolCallId,
        Slot::Seq,
    ];

    #[inline]
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "type" => Slot::Type,
            "session_id" => Slot::SessionId,
            "request_id" => Slot::RequestId,
            "call_id" => Slot::CallId,
            "delta" => Slot::Delta,
            "kind" => Slot::Kind,
            "tool_name" => Slot::ToolName,
            "tool_call_id" => Slot::ToolCallId,
            "seq" => Slot::Seq,
            _ => return None,
        })
    }
}

/// How a field is named: by its slot, or by a name that has none.
pub(super) trait Key: Copy {
    fn name(self) -> &'static str;
    /// The first value as written, `null` included.
    fn find<'a>(self, fields: &Fields<'a>) -> Option<&'a RawValue>;
    /// Whether there is a second value.
    fn is_twice(self, fields: &Fields<'_>) -> bool;
}

impl Key for Slot {
    fn name(self) -> &'static str {
        match self {
            Slot::Type => "type",
            Slot::SessionId => "session_id",
            Slot::RequestId => "request_id",
            Slot::CallId => "call_id",
            Slot::Delta => "delta",
            Slot::Kind => "kind",
            Slot::ToolName => "tool_name",
            Slot::ToolCallId => "tool_call_id",
            Slot::Seq => "seq",
        }
    }

    #[inline]
    fn find<'a>(self, fields: &Fields<'a>) -> Option<&'a RawValue> {
        fields.slots[self as usize]
    }

    /// Slots given twice are refused once and for all by [`Fields::check`].
    #[inline]
    fn is_twice(self, _: &Fields<'_>) -> bool {
        false
    }
}

impl Key for &'static str {
    fn name(self) -> &'static str {
        debug_assert!(Slot::of(self).is_none(), "{self} has a slot");
        self
    }

    fn find<'a>(self, fields: &Fields<'a>) -> Option<&'a RawValue> {
        let mut found = fields.extra.iter().filter(|member| member.name == self);
        found.next().map(|member| member.value)
    }

    fn is_twice(self, fields: &Fields<'_>) -> bool {
        let found = fields.extra.iter().filter(|member| member.name == self);
        found.count() > 1
    }
}

/// All fields of one frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields<'a> {
    slots: [Option<&'a RawValue>; SLOTS],
    /// Fields without a slot, in their order.
    extra: Vec<Member<'a>>,
    /// A slot that was given more than once; the first value is kept.
    duplicate: Option<Slot>,
}

impl<'a> Fields<'a> {
    /// Adds the fields of a frame; in place, since handing them up through serde costs as much as reading them.
    pub(super) fn fill(&mut self, text: &'a str) -> Result<(), Malformed> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer
            .deserialize_map(FieldsVisitor(self))
            .and_then(|()| deserializer.end())
            .map_err(|error| no_object("frame", &error))
    }

    /// The value, `null` counting as absent; lenient about everything.
    #[inline]
    pub(super) fn get(&self, key: impl Key) -> Option<&'a RawValue> {
        key.find(self).filter(|raw| !json::is_null(raw))
    }

    /// The text of a field, if it is a string.
    #[inline]
    pub(super) fn lenient_text(&self, key: impl Key) -> Option<Cow<'a, str>> {
        key.find(self).and_then(json::str_of)
    }

    /// A number, if it is one; fractions are cut off.
    pub(super) fn lenient_number(&self, key: impl Key) -> Option<u64> {
        key.find(self).and_then(json_number)
    }

    /// The value as written, `null` included; it may be given only once.
    #[inline]
    pub(super) fn verbatim(&self, key: impl Key) -> Result<Option<&'a RawValue>, Malformed> {
        if key.is_twice(self) {
            return Err(self.twice(key.name()));
        }
        Ok(key.find(self))
    }

    /// The value, `null` counting as absent; it may be given only once.
    #[inline]
    pub(super) fn value(&self, key: impl Key) -> Result<Option<&'a RawValue>, Malformed> {
        Ok(self.verbatim(key)?.filter(|raw| !json::is_null(raw)))
    }

    /// The text of an optional field, which must be a string if it is there.
    #[inline]
    pub(super) fn text(&self, key: impl Key) -> Result<Option<Cow<'a, str>>, Malformed> {
        match self.value(key)? {
            None => Ok(None),
            Some(raw) => match json::str_of(raw) {
                Some(text) => Ok(Some(text)),
                None => Err(self.invalid(key.name(), "must be a string")),
            },
        }
    }

    /// The text of an optional field whose empty text counts as absent.
    #[inline]
    pub(super) fn word(&self, key: impl Key) -> Result<Option<Cow<'a, str>>, Malformed> {
        Ok(self.text(key)?.filter(|text| !text.is_empty()))
    }

    /// The text of a field that must be there.
    #[inline]
    pub(super) fn required_text(&self, key: impl Key) -> Result<Cow<'a, str>, Malformed> {
        self.text(key)?.ok_or_else(|| self.missing(key.name()))
    }

    /// The text of an optional field, undecoded.
    #[inline]
    pub(super) fn raw_text(&self, key: impl Key) -> Result<Option<Text<'a>>, Malformed> {
        match self.value(key)? {
            None => Ok(None),
            Some(raw) if json::is_string(raw) => Ok(Some(Text::Json(raw))),
            Some(_) => Err(self.invalid(key.name(), "must be a string")),
        }
    }

    /// An optional whole number.
    #[inline]
    pub(super) fn number(&self, key: impl Key) -> Result<Option<u64>, Malformed> {
        match self.value(key)? {
            None => Ok(None),
            Some(raw) => match raw.get().parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(self.invalid(key.name(), "must be a whole number from 0")),
            },
        }
    }

    /// An optional boolean; absent is `false`.
    pub(super) fn flag(&self, key: impl Key) -> Result<bool, Malformed> {
        match self.value(key)?.map(RawValue::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(self.invalid(key.name(), "must be a boolean")),
        }
    }

    /// The texts of an optional array of strings.
    pub(super) fn texts(&self, key: impl Key) -> Result<Vec<Cow<'a, str>>, Malformed> {
        let Some(raw) = self.value(key)? else {
            return Ok(Vec::new());
        };
        json::elements(raw)
            .and_then(|elements| elements.into_iter().map(json::str_of).collect())
            .ok_or_else(|| self.invalid(key.name(), "must be an array of strings"))
    }

    /// The attachments, if there are any.
    pub(super) fn attachments(&self) -> Result<Vec<Attachment<'a>>, Malformed> {
        const NAME: &str = "attachments";
        let Some(raw) = self.value(NAME)? else {
            return Ok(Vec::new());
        };
        Attachment::read_list(raw)
            .map_err(|(path, problem)| self.invalid(&format!("{NAME}{path}"), problem))
    }

    /// The fields that are not among `known`, in no particular order between slots and others.
    pub(super) fn rest(&self, known: &[&str]) -> Vec<Member<'a>> {
        let slots = Slot::ALL.into_iter().filter_map(|slot| {
            Some(Member {
                name: slot.name().into(),
                value: slot.find(self)?,
            })
        });
        slots
            .chain(self.extra.iter().cloned())
            .filter(|member| !known.contains(&&*member.name))
            .collect()
    }

    /// Refuses slots given twice and values nested too deeply.
    pub(super) fn check(&self, limits: &Limits) -> Result<(), Malformed> {
        if let Some(slot) = self.duplicate {
            return Err(self.twice(slot.name()));
        }
        // Strings, which is what slots should hold, cost two comparisons each.
        let is_deep = |raw: &RawValue| json::depth_exceeds(raw.get(), limits.max_depth);
        if let Some(slot) = Slot::ALL
            .into_iter()
            .find(|slot| slot.find(self).is_some_and(is_deep))
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
        self.invalid(name, too_deep(limits))
    }

    #[cold]
    fn twice(&self, name: &str) -> Malformed {
        self.invalid(name, "is given twice")
    }

    #[cold]
    pub(super) fn missing(&self, name: &str) -> Malformed {
        self.invalid(name, "is missing")
    }

    #[cold]
    pub(super) fn invalid(&self, name: &str, problem: impl Into<String>) -> Malformed {
        self.malformed(Fault::Invalid, name, problem)
    }

    #[cold]
    pub(super) fn malformed(
        &self,
        fault: Fault,
        name: &str,
        problem: impl Into<String>,
    ) -> Malformed {
        let echoed = |slot: Slot| self.lenient_text(slot).map(|text| echo(&text));
        Malformed {
            fault,
            frame_type: echoed(Slot::Type),
            field: Some(echo(name)),
            problem: problem.into(),
            request_id: echoed(Slot::RequestId),
            call_id: echoed(Slot::CallId),
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

/// The number that `raw` is, cut to a whole one; `None` for anything else.
pub(super) fn json_number(raw: &RawValue) -> Option<u64> {
    let text = raw.get();
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        // The cast saturates, and there is no NaN in JSON.
        (number >= 0.0).then_some(number as u64)
    })
}

/// What is wrong with a value that is nested too deeply.
pub(super) fn too_deep(limits: &Limits) -> String {
    format!("is nested deeper than {} levels", limits.max_depth)
}

/// The refusal of a frame or body that is no JSON object.
#[cold]
pub(super) fn no_object(what: &str, error: &serde_json::Error) -> Malformed {
    // The visitors accept any object, so the only data error is another kind of value.
    let problem = if error.is_data() {
        format!("the {what} must be a JSON object")
    } else {
        format!("the {what} is not valid JSON: {error}")
    };
    Malformed::in_body(None, Fault::Syntax, problem)
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
