//! Segments: streamed parts of an agent's answer, each with a start, content and an end.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::event_type::SegmentStep;

/// Kind of a [`SegmentEvent`]. Outside runtimes publish more kinds than the hub produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// Text of the answer.
    Text,
    /// Reasoning of the agent.
    Reasoning,
    /// Arguments of a tool call. The segment id becomes the invocation id.
    ToolCall,
}

/// Properties of a [`SegmentEvent`] besides its content.
#[derive(Debug, Clone, Copy, Default, Serialize, utoipa::ToSchema)]
pub struct SegmentMetadata<'a> {
    /// Called tool. The web client expects the field at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'a str>,
    /// Arguments of the call, complete at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    pub arguments: Option<&'a RawValue>,
}

/// Event of a segment. Serialized as the `data` of an agent's event.
#[derive(Debug, Clone, Copy)]
pub enum SegmentEvent<'a> {
    /// Start of the segment.
    Start {
        /// Id of the segment.
        id: &'a str,
        /// Kind of the segment.
        kind: SegmentKind,
        /// Known properties.
        metadata: Option<SegmentMetadata<'a>>,
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
        metadata: Option<SegmentMetadata<'a>>,
    },
}

/// Fields of a [`SegmentEvent`] in the flattened message.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct FlatSegment<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment_type: Option<SegmentKind>,
    #[serde(flatten)]
    content: SegmentPayload<'a>,
}

#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
struct SegmentPayload<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<SegmentMetadata<'a>>,
}

impl<'a> SegmentEvent<'a> {
    /// Returns the [`SegmentStep`] of the event.
    pub(super) fn step(&self) -> SegmentStep {
        match self {
            SegmentEvent::Start { .. } => SegmentStep::Start,
            SegmentEvent::Content { .. } => SegmentStep::Content,
            SegmentEvent::End { .. } => SegmentStep::End,
        }
    }

    /// Returns the fields of the flattened message.
    pub(super) fn flat(&self) -> FlatSegment<'a> {
        let (id, segment_type, delta, metadata) = match *self {
            SegmentEvent::Start { id, kind, metadata } => (id, Some(kind), None, metadata),
            SegmentEvent::Content { id, kind, delta } => (id, kind, Some(delta), None),
            SegmentEvent::End { id, metadata } => (id, None, None, metadata),
        };
        FlatSegment {
            id,
            segment_type,
            content: SegmentPayload { delta, metadata },
        }
    }
}

/// Serialized form of a [`SegmentEvent`]. Contains the step twice: readers of the original know either of both names.
#[derive(Serialize, utoipa::ToSchema)]
struct SegmentData<'a> {
    r#type: SegmentStep,
    event_type: SegmentStep,
    segment_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment_type: Option<SegmentKind>,
    payload: SegmentPayload<'a>,
}

impl utoipa::PartialSchema for SegmentEvent<'_> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        SegmentData::schema()
    }
}

impl utoipa::ToSchema for SegmentEvent<'_> {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        SegmentData::schemas(schemas);
    }
}

impl Serialize for SegmentEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let flat = self.flat();
        let data = SegmentData {
            r#type: self.step(),
            event_type: self.step(),
            segment_id: flat.id,
            segment_type: flat.segment_type,
            payload: flat.content,
        };
        data.serialize(serializer)
    }
}
