//! The events of a relay's stream, each as the JSON after `data: `; the type stands inside.
//! The original hub writes neither `event:` nor `id:` lines, and clients wait for none.

use jackfield_wire::{
    bridge::Attachment,
    json::{Text, to_json},
};
use serde::Serialize;
use serde_json::value::RawValue;

/// Room for braces, field names and the type; texts come on top.
const OVERHEAD: usize = 128;

/// A piece of an answer; empty texts count as absent.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(tag = "type", rename = "chunk")]
pub(crate) struct ChunkEvent<'a> {
    /// The text.
    pub(crate) delta: Text<'a>,
    /// What kind of text it is; absent means `text`.
    #[serde(skip_serializing_if = "is_no_word")]
    pub(crate) kind: Option<&'a str>,
    /// The tool it speaks of.
    #[serde(skip_serializing_if = "is_no_word")]
    pub(crate) tool_name: Option<&'a str>,
    /// The call of that tool it belongs to.
    #[serde(skip_serializing_if = "is_no_word")]
    pub(crate) tool_call_id: Option<&'a str>,
}

fn is_no_word(word: &Option<&str>) -> bool {
    word.is_none_or(str::is_empty)
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(tag = "type", rename = "done")]
pub(crate) struct DoneEvent<'a> {
    /// The files the agent made; left out when there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) attachments: &'a [Attachment<'a>],
    /// The offer of a transfer between peers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_transfer_offer: Option<&'a RawValue>,
    /// The whole answer; a plain stream never repeats it, so give it only to readers of kept requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Text<'a>>,
}

/// The event that keeps a platform's clock from running out.
pub(crate) const KEEPALIVE: &str = r#"{"type":"keepalive"}"#;

/// A `chunk` event.
pub(crate) fn chunk(chunk: &ChunkEvent<'_>) -> String {
    to_json(chunk, OVERHEAD + chunk.delta.size_hint())
}

/// A `done` event.
pub(crate) fn done(done: &DoneEvent<'_>) -> String {
    let size = Attachment::size_hint(done.attachments)
        + done.result.as_ref().map_or(0, Text::size_hint)
        + done.file_transfer_offer.map_or(0, |raw| raw.get().len());
    let mut event = to_json(done, OVERHEAD + size);
    // What agents wrote may be spread over lines, but `data: ` is one; in JSON they only ever stand between tokens.
    if event.contains(LINE_BREAKS) {
        event.retain(|character| !LINE_BREAKS.contains(&character));
    }
    event
}

const LINE_BREAKS: [char; 2] = ['\n', '\r'];

/// An `error` event; the stream ends after it.
pub(crate) fn error(code: &str, message: &str) -> String {
    #[derive(Serialize)]
    #[serde(tag = "type", rename = "error")]
    struct Failed<'a> {
        code: &'a str,
        message: &'a str,
    }
    to_json(&Failed { code, message }, OVERHEAD + 2 * message.len())
}

/// A `gap` event: what came before `next` is no longer there (ours, kept requests only).
pub(crate) fn gap(next: &str) -> String {
    #[derive(Serialize)]
    #[serde(tag = "type", rename = "gap")]
    struct Gap<'a> {
        next: &'a str,
    }
    to_json(&Gap { next }, OVERHEAD)
}
