//! The top level of one frame, read in a single pass: the fields of frequent frames in slots, the rest in a list.
//!
//! Nothing is decoded or copied while reading, and a chunk frame allocates nothing. The readers of a protocol convert the
//! fields they need; every mistake becomes the protocol's own refusal, with the same echo of the frame.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Fault, Limits, no_object};
use crate::json::{self, Member};
use crate::read::Borrowed;

/// The fields of a protocol that have slots, of which there are `N`.
pub(crate) trait Slots<const N: usize>: Copy + 'static {
    /// How the protocol refuses a frame.
    type Malformed;

    /// All slots in their order.
    const ALL: [Self; N];

    /// The slot of the field with this name.
    fn of(name: &str) -> Option<Self>;

    /// The name of its field.
    fn name(self) -> &'static str;

    /// Its place in the order.
    fn place(self) -> usize;

    /// The refusal of a frame, or of one of its fields.
    fn malformed(
        fields: &Fields<'_, Self, N>,
        fault: Fault,
        name: Option<&str>,
        problem: String,
    ) -> Self::Malformed;
}

/// How a field is named: by its slot, or by a name that has none.
pub(crate) trait Key<S, const N: usize>: Copy {
    /// The field's name.
    fn field(self) -> &'static str;
    /// The first value as written, `null` included.
    fn find<'a>(self, fields: &Fields<'a, S, N>) -> Option<&'a RawValue>;
    /// Whether there is a second value.
    fn is_twice(self, fields: &Fields<'_, S, N>) -> bool;
}

impl<S: Slots<N>, const N: usize> Key<S, N> for S {
    fn field(self) -> &'static str {
        self.name()
    }

    #[inline]
    fn find<'a>(self, fields: &Fields<'a, S, N>) -> Option<&'a RawValue> {
        fields.slots[self.place()]
    }

    /// Slots given twice are refused once and for all by [`Fields::check`].
    #[inline]
    fn is_twice(self, _: &Fields<'_, S, N>) -> bool {
        false
    }
}

impl<S: Slots<N>, const N: usize> Key<S, N> for &'static str {
    fn field(self) -> &'static str {
        debug_assert!(S::of(self).is_none(), "{self} has a slot");
        self
    }

    fn find<'a>(self, fields: &Fields<'a, S, N>) -> Option<&'a RawValue> {
        let mut found = fields.extra.iter().filter(|member| member.name == self);
        found.next().map(|member| member.value)
    }

    fn is_twice(self, fields: &Fields<'_, S, N>) -> bool {
        let found = fields.extra.iter().filter(|member| member.name == self);
        found.count() > 1
    }
}

/// All fields of one frame.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a, S, const N: usize> {
    slots: [Option<&'a RawValue>; N],
    /// Fields without a slot, in their order.
    pub(crate) extra: Vec<Member<'a>>,
    /// A slot that was given more than once, by name; the first value is kept.
    duplicate: Option<&'static str>,
    protocol: PhantomData<S>,
}

impl<S, const N: usize> Default for Fields<'_, S, N> {
    fn default() -> Self {
        Self {
            slots: [None; N],
            extra: Vec::new(),
            duplicate: None,
            protocol: PhantomData,
        }
    }
}

impl<'a, S: Slots<N>, const N: usize> Fields<'a, S, N> {
    /// Adds the fields of a frame; in place, since handing them up through serde costs as much as reading them.
    pub(crate) fn fill(&mut self, text: &'a str) -> Result<(), S::Malformed> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer
            .deserialize_map(FieldsVisitor(self))
            .and_then(|()| deserializer.end())
            .map_err(|error| {
                let nothing = Fields::default();
                S::malformed(&nothing, Fault::Syntax, None, no_object("frame", &error))
            })
    }

    /// The value as written, `null` included; lenient about everything.
    #[inline]
    pub(crate) fn raw(&self, key: impl Key<S, N>) -> Option<&'a RawValue> {
        key.find(self)
    }

    /// The value, `null` counting as absent; lenient about everything.
    #[inline]
    pub(crate) fn get(&self, key: impl Key<S, N>) -> Option<&'a RawValue> {
        key.find(self).filter(|raw| !json::is_null(raw))
    }

    /// The text of a field, if it is a string.
    #[inline]
    pub(crate) fn lenient_text(&self, key: impl Key<S, N>) -> Option<Cow<'a, str>> {
        key.find(self).and_then(json::str_of)
    }

    /// The value as written, `null` included; it may be given only once.
    #[inline]
    pub(crate) fn verbatim(
        &self,
        key: impl Key<S, N>,
    ) -> Result<Option<&'a RawValue>, S::Malformed> {
        if key.is_twice(self) {
            return Err(self.twice(key.field()));
        }
        Ok(key.find(self))
    }

    /// The value, `null` counting as absent; it may be given only once.
    #[inline]
    pub(crate) fn value(&self, key: impl Key<S, N>) -> Result<Option<&'a RawValue>, S::Malformed> {
        Ok(self.verbatim(key)?.filter(|raw| !json::is_null(raw)))
    }

    /// The text of an optional field, which must be a string if it is there.
    #[inline]
    pub(crate) fn text(&self, key: impl Key<S, N>) -> Result<Option<Cow<'a, str>>, S::Malformed> {
        match self.value(key)? {
            None => Ok(None),
            Some(raw) => match json::str_of(raw) {
                Some(text) => Ok(Some(text)),
                None => Err(self.invalid(key.field(), "must be a string")),
            },
        }
    }

    /// The text of a field that must be there.
    #[inline]
    pub(crate) fn required_text(&self, key: impl Key<S, N>) -> Result<Cow<'a, str>, S::Malformed> {
        self.text(key)?.ok_or_else(|| self.missing(key.field()))
    }

    /// An optional boolean; absent is `false`.
    #[inline]
    pub(crate) fn flag(&self, key: impl Key<S, N>) -> Result<bool, S::Malformed> {
        match self.value(key)?.map(RawValue::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(self.invalid(key.field(), "must be a boolean")),
        }
    }

    /// The texts of an optional array of strings.
    pub(crate) fn texts(&self, key: impl Key<S, N>) -> Result<Vec<Cow<'a, str>>, S::Malformed> {
        let Some(raw) = self.value(key)? else {
            return Ok(Vec::new());
        };
        json::elements(raw)
            .and_then(|elements| elements.into_iter().map(json::str_of).collect())
            .ok_or_else(|| self.invalid(key.field(), "must be an array of strings"))
    }

    /// Refuses slots given twice and values nested too deeply.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), S::Malformed> {
        if let Some(name) = self.duplicate {
            return Err(self.twice(name));
        }
        // Strings, which is what slots mostly hold, cost two comparisons each.
        let is_deep = |raw: &RawValue| json::depth_exceeds(raw.get(), limits.max_depth);
        let mut slots = S::ALL.into_iter();
        if let Some(slot) = slots.find(|slot| self.raw(*slot).is_some_and(is_deep)) {
            return Err(self.invalid(slot.name(), limits.too_deep()));
        }
        match self.extra.iter().find(|member| is_deep(member.value)) {
            Some(member) => Err(self.invalid(&member.name, limits.too_deep())),
            None => Ok(()),
        }
    }

    #[cold]
    fn twice(&self, name: &str) -> S::Malformed {
        self.invalid(name, "is given twice")
    }

    #[cold]
    pub(crate) fn missing(&self, name: &str) -> S::Malformed {
        self.invalid(name, "is missing")
    }

    #[cold]
    pub(crate) fn invalid(&self, name: &str, problem: impl Into<String>) -> S::Malformed {
        self.malformed(Fault::Invalid, name, problem)
    }

    #[cold]
    pub(crate) fn malformed(
        &self,
        fault: Fault,
        name: &str,
        problem: impl Into<String>,
    ) -> S::Malformed {
        S::malformed(self, fault, Some(name), problem.into())
    }

    #[inline]
    fn put(&mut self, name: Cow<'a, str>, value: &'a RawValue) {
        match S::of(&name) {
            None => self.extra.push(Member { name, value }),
            Some(slot) => match &mut self.slots[slot.place()] {
                Some(_) => self.duplicate = self.duplicate.or(Some(slot.name())),
                empty => *empty = Some(value),
            },
        }
    }
}

struct FieldsVisitor<'f, 'a, S, const N: usize>(&'f mut Fields<'a, S, N>);

impl<'de, S: Slots<N>, const N: usize> Visitor<'de> for FieldsVisitor<'_, 'de, S, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((Borrowed(name), value)) = map.next_entry()? {
            self.0.put(name, value);
        }
        Ok(())
    }
}
