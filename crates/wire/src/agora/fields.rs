//! The fields of Agora's frames that have slots, and the refusal of a frame, which repeats some of them.

use super::{Fault, Malformed};
use crate::echo;
use crate::frame;
use crate::json::Members;

/// A field that relayed frames know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
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

/// All fields of one frame.
pub(super) type Fields<'a> = frame::Fields<'a, Slot, SLOTS>;

impl frame::Slots<SLOTS> for Slot {
    type Malformed = Malformed;

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

    fn name(self) -> &'static str {
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
        let in_payload = || {
            let payload = fields.get(Slot::Payload).and_then(Members::of)?;
            payload.text("request_id").map(|text| echo(&text).into())
        };
        Malformed {
            fault,
            frame_type: echoed(Slot::Type),
            field: name.map(|name| echo(name).into()),
            problem,
            to: echoed(Slot::To),
            stream_id: echoed(Slot::StreamId),
            request_id: echoed(Slot::RequestId).or_else(in_payload),
        }
    }
}
