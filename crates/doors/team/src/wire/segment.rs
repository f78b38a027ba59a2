//! Segments: streamed parts of an agent's answer, each with a start, content and an end.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::event_type::Step;

/// Kind of a [`Segment`]. Outside runtimes publish more kinds than the hub produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// Text of the answer.
    Text,
    /// Reasoning of the agent.
    Reasoning,
    /// Arguments of a tool call. The segment id becomes the invocation id.
    ToolCall,
}

/// Properties of a [`Segment`] besides its content.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Metadata<'a> {
    /// Called tool. The web client expects the field at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'a str>,
    /// Arguments of the call, complete at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a RawValue>,
}

/// Event of a segment. Serialized as the `data` of an agent's event.
#[derive(Debug, Clone, Copy)]
pub enum Segment<'a> {
    /// Start of the segment.
    Start {
        /// Id of the segment.
        id: &'a str,
        /// Kind of the segment.
        kind: SegmentKind,
        /// Known properties.
        metadata: Option<Metadata<'a>>,
    },
    /// More content.
    Content {
        /// Id of the segment.
        id: &'a str,
        /// Kind of the segment. The seed repeats the kind here; the published programs omit it.
        kind: Option<SegmentKind>,
        /// Text to append.
        delta: &'a str,
    },
    /// End of the segment.
    End {
        /// Id of the segment.
        id: &'a str,
        /// Final properties.
        metadata: Option<Metadata<'a>>,
    },
}

/// Fields of a [`Segment`] in the flattened message.
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
    /// Returns the [`Step`] of the event.
    pub(super) fn step(&self) -> Step {
        match self {
            Segment::Start { .. } => Step::Start,
            Segment::Content { .. } => Step::Content,
            Segment::End { .. } => Step::End,
        }
    }

    /// Returns the fields of the flattened message.
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
        /// Contains the step twice: readers of the original know either of both names.
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
