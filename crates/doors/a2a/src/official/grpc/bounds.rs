//! Limits on the number of items in a message, counted from the bytes before decoding. An empty part takes
//! two bytes on the wire and a hundred in memory, so a limit of bytes alone would let a small message grow
//! large.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::proto;
use crate::wire::{
    official::error::{A2aError, A2aErrorKind},
    seed::MAX_PARTS,
};

/// Largest number of items of all kinds together: texts in lists, members and elements of JSON. A million
/// numbers fill a message of eleven megabytes.
const MAX_ITEMS: usize = 1_000_000;

/// Nesting depth after which counting stops; the decoder refuses deeper messages.
const MAX_DEPTH: usize = 100;

/// Fields of a message that are repeated or contain repeated fields.
#[derive(Debug)]
pub(super) struct MessageLayout(&'static [FieldLayout]);

#[derive(Debug)]
struct FieldLayout {
    tag: u32,
    what: FieldCardinality,
    /// Repeated fields inside the field.
    shape: &'static MessageLayout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldCardinality {
    /// Single field.
    Once,
    /// Element of a repeated field.
    Item,
    /// Part of the caller's message.
    Part,
}

impl FieldLayout {
    const fn new(tag: u32, what: FieldCardinality, shape: &'static MessageLayout) -> Self {
        Self { tag, what, shape }
    }
}

/// Request message with limits, read by the codec.
pub(super) trait Bounded {
    /// Fields of the message that may repeat.
    const SHAPE: &'static MessageLayout = &PLAIN;
}

impl Bounded for proto::SendMessageRequest {
    const SHAPE: &'static MessageLayout = &SEND;
}
impl Bounded for proto::CancelTaskRequest {
    const SHAPE: &'static MessageLayout = &CANCEL;
}
impl Bounded for proto::GetTaskRequest {}
impl Bounded for proto::ListTasksRequest {}
impl Bounded for proto::SubscribeToTaskRequest {}
impl Bounded for proto::TaskPushNotificationConfig {}
impl Bounded for proto::PushConfigRequest {}
impl Bounded for proto::ListTaskPushNotificationConfigsRequest {}
impl Bounded for proto::GetExtendedAgentCardRequest {}

static PLAIN: MessageLayout = MessageLayout(&[]);
static SEND: MessageLayout = MessageLayout(&[
    FieldLayout::new(2, FieldCardinality::Once, &MESSAGE),
    FieldLayout::new(3, FieldCardinality::Once, &CONFIGURATION),
    FieldLayout::new(4, FieldCardinality::Once, &STRUCT),
]);
static CONFIGURATION: MessageLayout =
    MessageLayout(&[FieldLayout::new(1, FieldCardinality::Item, &PLAIN)]);
static CANCEL: MessageLayout =
    MessageLayout(&[FieldLayout::new(3, FieldCardinality::Once, &STRUCT)]);
/// A message to send, in version 0.3.
pub(super) static V03_SEND: MessageLayout = MessageLayout(&[
    FieldLayout::new(1, FieldCardinality::Once, &V03_MESSAGE),
    FieldLayout::new(2, FieldCardinality::Once, &V03_CONFIGURATION),
    FieldLayout::new(3, FieldCardinality::Once, &STRUCT),
]);
static V03_CONFIGURATION: MessageLayout = MessageLayout(&[
    FieldLayout::new(1, FieldCardinality::Item, &PLAIN),
    FieldLayout::new(2, FieldCardinality::Once, &V03_PUSH),
]);
static V03_PUSH: MessageLayout = MessageLayout(&[FieldLayout::new(
    4,
    FieldCardinality::Once,
    &V03_AUTHENTICATION,
)]);
static V03_AUTHENTICATION: MessageLayout =
    MessageLayout(&[FieldLayout::new(1, FieldCardinality::Item, &PLAIN)]);
static V03_MESSAGE: MessageLayout = MessageLayout(&[
    FieldLayout::new(5, FieldCardinality::Part, &V03_PART),
    FieldLayout::new(6, FieldCardinality::Once, &STRUCT),
    FieldLayout::new(7, FieldCardinality::Item, &PLAIN),
]);
static V03_PART: MessageLayout = MessageLayout(&[
    FieldLayout::new(3, FieldCardinality::Once, &V03_DATA),
    FieldLayout::new(4, FieldCardinality::Once, &STRUCT),
]);
static V03_DATA: MessageLayout =
    MessageLayout(&[FieldLayout::new(1, FieldCardinality::Once, &STRUCT)]);
/// A push config to create, in version 0.3.
pub(super) static V03_CREATE_PUSH: MessageLayout =
    MessageLayout(&[FieldLayout::new(3, FieldCardinality::Once, &V03_TASK_PUSH)]);
static V03_TASK_PUSH: MessageLayout =
    MessageLayout(&[FieldLayout::new(2, FieldCardinality::Once, &V03_PUSH)]);
static MESSAGE: MessageLayout = MessageLayout(&[
    FieldLayout::new(5, FieldCardinality::Part, &PART),
    FieldLayout::new(6, FieldCardinality::Once, &STRUCT),
    FieldLayout::new(7, FieldCardinality::Item, &PLAIN),
    FieldLayout::new(8, FieldCardinality::Item, &PLAIN),
]);
static PART: MessageLayout = MessageLayout(&[
    FieldLayout::new(4, FieldCardinality::Once, &VALUE),
    FieldLayout::new(5, FieldCardinality::Once, &STRUCT),
]);
static STRUCT: MessageLayout =
    MessageLayout(&[FieldLayout::new(1, FieldCardinality::Item, &MEMBER)]);
static MEMBER: MessageLayout =
    MessageLayout(&[FieldLayout::new(2, FieldCardinality::Once, &VALUE)]);
static VALUE: MessageLayout = MessageLayout(&[
    FieldLayout::new(5, FieldCardinality::Once, &STRUCT),
    FieldLayout::new(6, FieldCardinality::Once, &LIST),
]);
static LIST: MessageLayout = MessageLayout(&[FieldLayout::new(1, FieldCardinality::Item, &VALUE)]);

/// Refuses a message with more items than [`MAX_PARTS`] or [`MAX_ITEMS`].
pub(super) fn check<Asked: Bounded>(bytes: &[u8]) -> Result<(), A2aError> {
    let mut count = ItemCount::default();
    count.add(Asked::SHAPE, bytes, 0)
}

#[derive(Debug, Default)]
struct ItemCount {
    parts: usize,
    items: usize,
}

impl ItemCount {
    /// Counts the items of a message. Counting stops at malformed bytes: the decoder fails at the same
    /// position.
    fn add(
        &mut self,
        shape: &MessageLayout,
        mut bytes: &[u8],
        depth: usize,
    ) -> Result<(), A2aError> {
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

    fn one_more(&mut self, what: FieldCardinality) -> Result<(), A2aError> {
        self.parts += usize::from(what == FieldCardinality::Part);
        self.items += usize::from(what != FieldCardinality::Once);
        if self.parts > MAX_PARTS {
            let why = format!("must not be more than {MAX_PARTS}");
            return Err(A2aError::field("message.parts", why));
        }
        if self.items > MAX_ITEMS {
            let text = format!("a message may hold at most {MAX_ITEMS} values");
            return Err(A2aError::new(A2aErrorKind::TooLarge, text));
        }
        Ok(())
    }
}
