//! Conversion of core events into the JSON of a call's stream, and into SSE frames. The `event:` of a frame
//! is the `type` of its data. Only events of durable calls have an `id:` for resuming.

use jackfield_core::{reply::ReplyItem, store::LogItem, task::Cursor};
use jackfield_kit::sse::SseFrame;
use jackfield_model::{Answer, Done, End, Event, Failure, Message};
use serde::Serialize;

use super::event::{AnswerView, CallEvent, GapView};

/// Builds an [`SseFrame`] with JSON data.
pub(super) fn frame(name: &'static str, data: &impl Serialize) -> SseFrame {
    let data = serde_json::to_vec(data).expect("views have text keys and no fallible parts");
    SseFrame::data(data).with_event(name)
}

impl CallEvent {
    /// Creates the event for a [`Failure`] that ends the stream early.
    pub fn failed(failure: &Failure) -> Self {
        Self::Failed(failure.into())
    }

    /// Converts the event into an [`SseFrame`] of a live call.
    pub fn frame(&self) -> SseFrame {
        let name = match self {
            Self::Call(_) => "call",
            Self::Message(_) => "message",
            Self::Chunk(_) => "chunk",
            Self::Artifact(_) => "artifact",
            Self::Ask(_) => "ask",
            Self::Answer(_) => "answer",
            Self::Gap(_) => "gap",
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        };
        frame(name, self)
    }

    /// As a frame; of a durable reply with the cursor to continue from.
    pub fn frame_at(&self, next: Option<Cursor>) -> SseFrame {
        match next {
            None => self.frame(),
            Some(next) => self.frame().with_id(next.to_string()),
        }
    }
}

/// One item of a reply as a frame; a keepalive has none.
pub fn frame_from_item(item: ReplyItem) -> Option<SseFrame> {
    let next = item.next();
    let event = match item {
        ReplyItem::Item { item, .. } => item.into(),
        ReplyItem::Gap { next } => CallEvent::Gap(GapView {
            next: next.to_string(),
        }),
        ReplyItem::Pulse => return None,
    };
    Some(event.frame_at(next))
}

impl From<LogItem> for CallEvent {
    fn from(item: LogItem) -> Self {
        match item {
            LogItem::Message(message) => Self::Message(Message {
                extra: None,
                ..message
            }),
            LogItem::Event(event) => event.into(),
            LogItem::Answer(ask_id, answer) => Self::Answer(answer_view(ask_id, answer)),
            LogItem::End(end) => end.into(),
        }
    }
}

impl From<Event> for CallEvent {
    fn from(event: Event) -> Self {
        match event.without_extra() {
            Event::Chunk(chunk) => Self::Chunk(chunk),
            Event::Artifact(artifact) => Self::Artifact(artifact),
            Event::Ask(ask) => Self::Ask(ask),
        }
    }
}

impl From<End> for CallEvent {
    fn from(end: End) -> Self {
        match end {
            End::Done(done) => Self::Done(Done {
                is_message: false,
                ..*done
            }),
            End::Failed(failure) => Self::failed(&failure),
            End::Cancelled => Self::Cancelled,
        }
    }
}

fn answer_view(ask_id: String, answer: Answer) -> AnswerView {
    AnswerView {
        ask_id,
        content: answer.content,
        parts: answer.parts,
        approved: answer.approved,
        reason: answer.reason,
    }
}

#[cfg(test)]
mod tests {
    use jackfield_model::{
        Artifact, Ask, AskKind, DoneState, File, FileSource, Json, Part, Reason,
    };

    use super::*;

    fn golden(event: impl Into<CallEvent>, name: &str, data: &str) {
        let frame = event.into().frame();
        assert_eq!(frame.event.as_deref(), Some(name));
        assert_eq!(std::str::from_utf8(&frame.data.unwrap()).unwrap(), data);
        assert_eq!(frame.id, None, "live events cannot be read again");
    }

    #[test]
    fn events_are_written_as_documented() {
        golden(
            Event::text("h\u{e9}\n"),
            "chunk",
            r#"{"type":"chunk","kind":"text","text":"hé\n"}"#,
        );
        golden(
            Event::Artifact(Artifact {
                id: "a".into(),
                name: Some("plot".into()),
                parts: vec![
                    Part::Text("t".into()),
                    Part::Data(Json::parse("[1.0]").unwrap()),
                    Part::File(File {
                        name: None,
                        mime: Some("image/png".into()),
                        source: FileSource::Bytes("AA==".into()),
                    }),
                ],
                append: false,
                last: true,
                extra: None,
            }),
            "artifact",
            r#"{"type":"artifact","id":"a","name":"plot","parts":[{"text":"t"},{"data":[1.0]},{"file":{"mime":"image/png","bytes":"AA=="}}],"append":false,"last":true}"#,
        );
        golden(
            Event::Ask(Ask {
                id: "q".into(),
                kind: AskKind::Approval,
                text: "may I?".into(),
                tool_name: Some("rm".into()),
                tool_call_id: None,
                arguments: Some(Json::parse(r#"{"path":"/"}"#).unwrap()),
                schema: None,
            }),
            "ask",
            r#"{"type":"ask","id":"q","kind":"approval","text":"may I?","tool_name":"rm","arguments":{"path":"/"}}"#,
        );
    }

    #[test]
    fn ends_are_written_as_documented() {
        golden(
            End::done(),
            "done",
            r#"{"type":"done","state":"completed"}"#,
        );
        golden(
            End::Done(Box::new(Done {
                file_transfer_offer: Some(Json::parse(r#"{"transfer_id":"t"}"#).unwrap()),
                ..Done::default()
            })),
            "done",
            r#"{"type":"done","state":"completed","file_transfer_offer":{"transfer_id":"t"}}"#,
        );
        golden(
            End::Done(Box::new(Done {
                state: DoneState::InputRequired,
                needs_auth: true,
                ..Done::default()
            })),
            "done",
            r#"{"type":"done","state":"input_required","needs_auth":true}"#,
        );
        golden(End::Cancelled, "cancelled", r#"{"type":"cancelled"}"#);
        golden(
            End::Failed(Failure::new(Reason::Agent("quota".into()), "no more")),
            "failed",
            r#"{"type":"failed","error":"quota","message":"no more"}"#,
        );
    }

    #[test]
    fn what_is_kept_has_an_id_to_go_on_from() {
        let next = Cursor { epoch: 2, pos: 17 };
        let frame = frame_from_item(ReplyItem::Gap { next }).unwrap();
        assert_eq!(frame.id.as_deref(), Some("2-17"));
        assert_eq!(frame.data.unwrap(), r#"{"type":"gap","next":"2-17"}"#);
        let item = LogItem::Answer("q".into(), Answer::default());
        let frame = frame_from_item(ReplyItem::Item {
            next: Some(next),
            item,
        })
        .unwrap();
        assert_eq!(frame.data.unwrap(), r#"{"type":"answer","ask_id":"q"}"#);
    }
}
