//! Segments: the pieces in which an agent's answer is streamed, each with a start, its content and an end.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::event_type::Step;

/// What a segment consists of. Outside runtimes publish more kinds than the hub has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// Text of the answer.
    Text,
    /// What the agent thinks.
    Reasoning,
    /// The arguments of a tool call; the segment's id is the later invocation id.
    ToolCall,
}

/// What is known of a segment besides its content.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Metadata<'a> {
    /// The tool that is called; the web client wants it at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'a str>,
    /// The arguments of the call, which are whole at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a RawValue>,
}

/// One event of a segment. Serialized as the `data` of an agent's event.
#[derive(Debug, Clone, Copy)]
pub enum Segment<'a> {
    /// The segment begins.
    Start {
        /// Which segment.
        id: &'a str,
        /// What it consists of.
        kind: SegmentKind,
        /// What is known of it.
        metadata: Option<Metadata<'a>>,
    },
    /// The segment goes on.
    Content {
        /// Which segment.
        id: &'a str,
        /// What it consists of, which the seed repeats here and the published programs do not.
        kind: Option<SegmentKind>,
        /// What is added.
        delta: &'a str,
    },
    /// The segment is whole.
    End {
        /// Which segment.
        id: &'a str,
        /// What is known of it now.
        metadata: Option<Metadata<'a>>,
    },
}

/// The fields of a segment in the flattened message.
#[derive(Debug, Serialize)]
pub(super) struct FlatSegment<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment_type: Option<SegmentKind>,
    #[serde(flatten)]
    content: Content<'a>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'a>>,
}

impl<'a> Segment<'a> {
    /// Which event of the segment it is.
    pub(super) fn step(&self) -> Step {
        match self {
            Segment::Start { .. } => Step::Start,
            Segment::Content { .. } => Step::Content,
            Segment::End { .. } => Step::End,
        }
    }

    /// The fields of the flattened message.
    pub(super) fn flat(&self) -> FlatSegment<'a> {
        let (id, segment_type, delta, metadata) = match *self {
            Segment::Start { id, kind, metadata } => (id, Some(kind), None, metadata),
            Segment::Content { id, kind, delta } => (id, kind, Some(delta), None),
            Segment::End { id, metadata } => (id, None, None, metadata),
        };
        FlatSegment {
            id,
            segment_type,
            content: Content { delta, metadata },
        }
    }
}

impl Serialize for Segment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Readers of the original know one or the other name of the step.
        #[derive(Serialize)]
        struct Data<'a> {
            r#type: Step,
            event_type: Step,
            segment_id: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            segment_type: Option<SegmentKind>,
            payload: Content<'a>,
        }
        let flat = self.flat();
        let data = Data {
            r#type: self.step(),
            event_type: self.step(),
            segment_id: flat.id,
            segment_type: flat.segment_type,
            payload: flat.content,
        };
        data.serialize(serializer)
    }
}
