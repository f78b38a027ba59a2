//! The content of an agent's single answer, or of the end of a streamed one.

use jackfield_model::{Artifact, Ask, AskKind, CallId, Done, DoneState, End, Event, Json, Part};
use serde_json::value::RawValue;

use super::{files::files_from_raw, parts_from_raw};
use crate::wire::{InputRequired, ParsedAnswer, answer_of, opening_of};

/// The content of a `reply` or `reply_end`: each [`Event`] first, then the end or a question.
pub(crate) struct ReplyContent {
    pub(crate) events: Vec<Event>,
    pub(crate) then: EndOrAsk,
}

/// The last item of a payload.
pub(crate) enum EndOrAsk {
    /// The agent is done.
    Done(End),
    /// The agent asks a question ([`Ask`]).
    Ask(Ask),
}

/// Reads a single answer, or the end of a streamed one. Without `with_text`, the text was streamed before and
/// becomes the result instead of an event.
pub(crate) fn reply_content(payload: Option<&RawValue>, with_text: bool) -> ReplyContent {
    content_of(payload.map(answer_of).unwrap_or_default(), with_text)
}

/// Reads the opening of a streamed answer; the end follows in a later frame.
pub(crate) fn opening_content(payload: Option<&RawValue>) -> ReplyContent {
    content_of(payload.map(opening_of).unwrap_or_default(), true)
}

fn content_of(mut answer: ParsedAnswer, with_text: bool) -> ReplyContent {
    if let Some(ask) = &mut answer.input_required {
        // The question may stand in the field of an answer.
        if ask.text.is_empty() {
            ask.text = answer.text.take().unwrap_or_default();
        } else if answer.text.as_ref() == Some(&ask.text) {
            answer.text = None;
        }
    }
    let mut events = Vec::new();
    let mut repeated = None;
    if with_text {
        events.extend(answer.text.filter(|text| !text.is_empty()).map(Event::text));
    } else {
        repeated = answer.text;
    }
    if let Some(raw) = answer.artifacts {
        events.extend(artifacts_from_raw(&raw).into_iter().map(Event::Artifact));
    }
    if let Some(raw) = answer.parts {
        events.push(Event::Artifact(Artifact {
            id: "parts".to_owned(),
            name: None,
            parts: parts_from_raw(&raw),
            append: false,
            last: true,
            extra: None,
        }));
    }
    if let Some(ask) = answer.input_required {
        return ReplyContent {
            events,
            then: EndOrAsk::Ask(ask_from_wire(ask)),
        };
    }
    let state = match answer.state.as_deref() {
        Some("input_required" | "input-required") => DoneState::InputRequired,
        Some("rejected") => DoneState::Rejected,
        _ => DoneState::Completed,
    };
    let done = Done {
        state,
        result: answer.result.map(|raw| raw.get().to_owned()).or(repeated),
        attachments: answer
            .attachments
            .map(|raw| files_from_raw(&raw))
            .unwrap_or_default(),
        usage: answer.usage.map(Json::from),
        stop_reason: answer.stop_reason,
        ..Done::default()
    };
    ReplyContent {
        events,
        then: EndOrAsk::Done(End::Done(Box::new(done))),
    }
}

fn artifacts_from_raw(raw: &RawValue) -> Vec<Artifact> {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| {
        let parts = vec![Part::Data(raw.to_owned().into())];
        vec![Artifact {
            id: "artifacts".to_owned(),
            name: None,
            parts,
            append: false,
            last: true,
            extra: None,
        }]
    })
}

fn ask_from_wire(ask: InputRequired) -> Ask {
    let kind = if ask.kind.as_deref() == Some("approval") {
        AskKind::Approval
    } else {
        AskKind::Input
    };
    let id = ask.id.filter(|id| !id.is_empty());
    Ask {
        id: id.unwrap_or_else(|| CallId::new().to_string()),
        kind,
        text: ask.text,
        tool_name: ask.tool,
        tool_call_id: None,
        arguments: None,
        schema: ask.schema.map(Json::from),
    }
}
