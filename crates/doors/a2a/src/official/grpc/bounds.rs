//! Limits on the number of items in a message, counted from the bytes before decoding. An empty part takes
//! two bytes on the wire and a hundred in memory, so a limit of bytes alone would let a small message grow
//! large.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::proto;
use crate::wire::{
    official::error::{Fault, Kind},
    seed::MAX_PARTS,
};

/// Largest number of items of all kinds together: texts in lists, members and elements of JSON. A million
/// numbers fill a message of eleven megabytes.
const MAX_ITEMS: usize = 1_000_000;

/// Nesting depth after which counting stops; the decoder refuses deeper messages.
const MAX_DEPTH: usize = 100;

/// Fields of a message that are repeated or contain repeated fields.
#[derive(Debug)]
pub(super) struct Shape(&'static [Field]);

#[derive(Debug)]
struct Field {
    tag: u32,
    what: What,
    /// Repeated fields inside the field.
    shape: &'static Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Single field.
    Once,
    /// Element of a repeated field.
    Item,
    /// Part of the caller's message.
    Part,
}

impl Field {
    const fn new(tag: u32, what: What, shape: &'static Shape) -> Self {
        Self { tag, what, shape }
    }
}

/// Request message with limits, read by the codec.
pub(super) trait Bounded {
    /// Fields of the message that may repeat.
    const SHAPE: &'static Shape = &PLAIN;
}

impl Bounded for proto::SendMessageRequest {
    const SHAPE: &'static Shape = &SEND;
}
impl Bounded for proto::CancelTaskRequest {
    const SHAPE: &'static Shape = &CANCEL;
}
impl Bounded for proto::GetTaskRequest {}
impl Bounded for proto::ListTasksRequest {}
impl Bounded for proto::SubscribeToTaskRequest {}
impl Bounded for proto::TaskPushNotificationConfig {}
impl Bounded for proto::PushConfigRequest {}
impl Bounded for proto::ListTaskPushNotificationConfigsRequest {}
impl Bounded for proto::GetExtendedAgentCardRequest {}

static PLAIN: Shape = Shape(&[]);
static SEND: Shape = Shape(&[
    Field::new(2, What::Once, &MESSAGE),
    Field::new(3, What::Once, &CONFIGURATION),
    Field::new(4, What::Once, &STRUCT),
]);
static CONFIGURATION: Shape = Shape(&[Field::new(1, What::Item, &PLAIN)]);
static CANCEL: Shape = Shape(&[Field::new(3, What::Once, &STRUCT)]);
static MESSAGE: Shape = Shape(&[
    Field::new(5, What::Part, &PART),
    Field::new(6, What::Once, &STRUCT),
    Field::new(7, What::Item, &PLAIN),
    Field::new(8, What::Item, &PLAIN),
]);
static PART: Shape = Shape(&[
    Field::new(4, What::Once, &VALUE),
    Field::new(5, What::Once, &STRUCT),
]);
static STRUCT: Shape = Shape(&[Field::new(1, What::Item, &MEMBER)]);
static MEMBER: Shape = Shape(&[Field::new(2, What::Once, &VALUE)]);
static VALUE: Shape = Shape(&[
    Field::new(5, What::Once, &STRUCT),
    Field::new(6, What::Once, &LIST),
]);
static LIST: Shape = Shape(&[Field::new(1, What::Item, &VALUE)]);

/// Refuses a message with more items than [`MAX_PARTS`] or [`MAX_ITEMS`].
pub(super) fn check<Asked: Bounded>(bytes: &[u8]) -> Result<(), Fault> {
    let mut count = Count::default();
    count.add(Asked::SHAPE, bytes, 0)
}

#[derive(Debug, Default)]
struct Count {
    parts: usize,
    items: usize,
}

impl Count {
    /// Counts the items of a message. Counting stops at malformed bytes: the decoder fails at the same
    /// position.
    fn add(&mut self, shape: &Shape, mut bytes: &[u8], depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            return Ok(());
        }
        while !bytes.is_empty() {
            let Ok((tag, wire_type)) = decode_key(&mut bytes) else {
                return Ok(());
            };
            let field = shape.0.iter().find(|field| field.tag == tag);
            let Some(field) = field.filter(|_| wire_type == WireType::LengthDelimited) else {
                if skip_field(wire_type, tag, &mut bytes, DecodeContext::default()).is_err() {
                    return Ok(());
                }
                continue;
            };
            let Ok(length) = decode_varint(&mut bytes) else {
                return Ok(());
            };
            let held = usize::try_from(length).ok();
            let Some((held, rest)) = held.and_then(|length| bytes.split_at_checked(length)) else {
                return Ok(());
            };
            bytes = rest;
            self.one_more(field.what)?;
            self.add(field.shape, held, depth + 1)?;
        }
        Ok(())
    }

    fn one_more(&mut self, what: What) -> Result<(), Fault> {
        self.parts += usize::from(what == What::Part);
        self.items += usize::from(what != What::Once);
        if self.parts > MAX_PARTS {
            let why = format!("must not be more than {MAX_PARTS}");
            return Err(Fault::field("message.parts", why));
        }
        if self.items > MAX_ITEMS {
            let text = format!("a message may hold at most {MAX_ITEMS} values");
            return Err(Fault::new(Kind::TooLarge, text));
        }
        Ok(())
    }
}
