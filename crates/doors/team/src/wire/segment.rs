//! Segments: the pieces in which an agent's answer is streamed, each with a start, its content and an end.

use serde_json::value::RawValue;

use jackfield_wire::json::ObjectWriter;

/// What a segment consists of. Outside runtimes publish more kinds than the hub has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// Text of the answer.
    Text,
    /// What the agent thinks.
    Reasoning,
    /// The arguments of a tool call; the segment's id is the later invocation id.
    ToolCall,
}

impl SegmentKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
        }
    }
}

/// What is known of a segment besides its content.
#[derive(Debug, Clone, Copy, Default)]
pub struct Metadata<'a> {
    /// The tool that is called; the web client wants it at the start.
    pub tool_name: Option<&'a str>,
    /// The arguments of the call, which are whole at the end.
    pub arguments: Option<&'a RawValue>,
}

/// One event of a segment.
#[derive(Debug, Clone, Copy)]
pub enum Segment<'a> {
    /// It begins.
    Start {
        /// Which segment.
        id: &'a str,
        /// What it consists of.
        kind: SegmentKind,
        /// What is known of it.
        metadata: Option<Metadata<'a>>,
    },
    /// It goes on.
    Content {
        /// Which segment.
        id: &'a str,
        /// What it consists of, which the seed repeats here and the published programs do not.
        kind: Option<SegmentKind>,
        /// What is added.
        delta: &'a str,
    },
    /// It is whole.
    End {
        /// Which segment.
        id: &'a str,
        /// What is known of it now.
        metadata: Option<Metadata<'a>>,
    },
}

impl<'a> Segment<'a> {
    /// Which of its events it is.
    pub(super) fn step(&self) -> Step {
        match self {
            Segment::Start { .. } => Step::Start,
            Segment::Content { .. } => Step::Content,
            Segment::End { .. } => Step::End,
        }
    }

    fn id(&self) -> &'a str {
        match *self {
            Segment::Start { id, .. } | Segment::Content { id, .. } | Segment::End { id, .. } => id,
        }
    }

    fn kind(&self) -> Option<&'static str> {
        match self {
            Segment::Start { kind, .. } => Some(kind.name()),
            Segment::Content { kind, .. } => kind.map(SegmentKind::name),
            Segment::End { .. } => None,
        }
    }

    /// Writes the `data` of the agent's event. Readers of the original know one or the other name of the step.
    pub(super) fn put_data(&self, data: &mut ObjectWriter<'_>) {
        let step = self.step().name();
        data.text("type", step)
            .text("event_type", step)
            .text("segment_id", self.id())
            .maybe_text("segment_type", self.kind())
            .object("payload", |payload| self.put_content(payload));
    }

    /// Writes the payload of the flattened message.
    pub(super) fn put_flat(&self, payload: &mut ObjectWriter<'_>) {
        payload
            .text("id", self.id())
            .maybe_text("segment_type", self.kind());
        self.put_content(payload);
    }

    fn put_content(&self, object: &mut ObjectWriter<'_>) {
        match *self {
            Segment::Content { delta, .. } => {
                object.text("delta", delta);
            }
            Segment::Start { metadata, .. } | Segment::End { metadata, .. } => {
                if let Some(metadata) = metadata {
                    object.object("metadata", |object| {
                        object
                            .maybe_text("tool_name", metadata.tool_name)
                            .maybe_raw("arguments", metadata.arguments);
                    });
                }
            }
        }
    }
}

/// Which event of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Start,
    Content,
    End,
}

impl Step {
    pub(super) fn name(self) -> &'static str {
        match self {
            Step::Start => "SEGMENT_START",
            Step::Content => "SEGMENT_CONTENT",
            Step::End => "SEGMENT_END",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Step::Start, Step::Content, Step::End]
            .into_iter()
            .find(|step| step.name() == name)
    }
}
