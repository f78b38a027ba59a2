//! The fields of the bridge's frames that have slots, what is read out of fields on this protocol alone, and the refusal of
//! a frame, which repeats some of them.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{Attachment, Fault, Malformed};
use crate::echo;
use crate::frame::{self, Key, Slots};
use crate::json::{self, Member, Text};

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

/// All fields of one frame.
pub(super) type Fields<'a> = frame::Fields<'a, Slot, SLOTS>;

impl Slots<SLOTS> for Slot {
    type Malformed = Malformed;

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
    fn place(self) -> usize {
        self as usize
    }

    #[cold]
    fn malformed(
        fields: &Fields<'_>,
        fault: Fault,
        name: Option<&str>,
        problem: String,
    ) -> Malformed {
        let echoed = |slot: Slot| fields.lenient_text(slot).map(|text| echo(&text).into());
        Malformed {
            fault,
            frame_type: echoed(Slot::Type),
            field: name.map(|name| echo(name).into()),
            problem,
            request_id: echoed(Slot::RequestId),
            call_id: echoed(Slot::CallId),
        }
    }
}

impl<'a> Fields<'a> {
    /// A number, if it is one; fractions are cut off.
    pub(super) fn lenient_number(&self, key: impl Key<Slot, SLOTS>) -> Option<u64> {
        key.find(self).and_then(json_number)
    }

    /// The text of an optional field whose empty text counts as absent.
    #[inline]
    pub(super) fn word(
        &self,
        key: impl Key<Slot, SLOTS>,
    ) -> Result<Option<Cow<'a, str>>, Malformed> {
        Ok(self.text(key)?.filter(|text| !text.is_empty()))
    }

    /// The text of an optional field, undecoded.
    #[inline]
    pub(super) fn raw_text(
        &self,
        key: impl Key<Slot, SLOTS>,
    ) -> Result<Option<Text<'a>>, Malformed> {
        match self.value(key)? {
            None => Ok(None),
            Some(raw) if json::is_string(raw) => Ok(Some(Text::Json(raw))),
            Some(_) => Err(self.invalid(key.field(), "must be a string")),
        }
    }

    /// An optional whole number.
    #[inline]
    pub(super) fn number(&self, key: impl Key<Slot, SLOTS>) -> Result<Option<u64>, Malformed> {
        match self.value(key)? {
            None => Ok(None),
            Some(raw) => match raw.get().parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(self.invalid(key.field(), "must be a whole number from 0")),
            },
        }
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
                value: self.raw(slot)?,
            })
        });
        slots
            .chain(self.extra.iter().cloned())
            .filter(|member| !known.contains(&&*member.name))
            .collect()
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
