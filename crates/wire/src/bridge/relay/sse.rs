//! The events of a relay's stream, each as the JSON after `data: `; the type stands inside.
//! The original hub writes neither `event:` nor `id:` lines, and clients wait for none.

use serde_json::value::RawValue;

use super::super::{Attachment, frame, put_kind};
use crate::json::Text;

/// A piece of an answer; empty texts count as absent.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChunkEvent<'a> {
    /// The text.
    pub delta: Text<'a>,
    /// What kind of text it is; absent means `text`.
    pub kind: Option<&'a str>,
    /// The tool it speaks of.
    pub tool_name: Option<&'a str>,
    /// The call of that tool it belongs to.
    pub tool_call_id: Option<&'a str>,
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct DoneEvent<'a> {
    /// The files the agent made; left out when there are none.
    pub attachments: &'a [Attachment<'a>],
    /// The offer of a transfer between peers.
    pub file_transfer_offer: Option<&'a RawValue>,
    /// The whole answer; a plain stream never repeats it, so give it only to readers of kept requests.
    pub result: Option<Text<'a>>,
}

/// The event that keeps a platform's clock from running out.
pub const KEEPALIVE: &str = r#"{"type":"keepalive"}"#;

/// A `chunk` event.
pub fn chunk(chunk: &ChunkEvent<'_>) -> String {
    frame("chunk", chunk.delta.size_hint(), |object| {
        object.text("delta", chunk.delta);
        put_kind(object, chunk.kind, chunk.tool_name, chunk.tool_call_id);
    })
}

/// A `done` event.
pub fn done(done: &DoneEvent<'_>) -> String {
    let size = Attachment::size_hint(done.attachments)
        + done.result.as_ref().map_or(0, Text::size_hint)
        + done.file_transfer_offer.map_or(0, |raw| raw.get().len());
    let mut event = frame("done", size, |object| {
        Attachment::put(object, done.attachments);
        object
            .maybe_raw("file_transfer_offer", done.file_transfer_offer)
            .maybe_text("result", done.result);
    });
    // What agents wrote may be spread over lines, but `data: ` is one; in JSON they only ever stand between tokens.
    if event.contains(LINE_BREAKS) {
        event.retain(|character| !LINE_BREAKS.contains(&character));
    }
    event
}

const LINE_BREAKS: [char; 2] = ['\n', '\r'];

/// An `error` event; the stream ends after it.
pub fn error(code: &str, message: &str) -> String {
    frame("error", 2 * message.len(), |object| {
        object.text("code", code).text("message", message);
    })
}

/// A `gap` event: what came before `next` is no longer there (ours, kept requests only).
pub fn gap(next: &str) -> String {
    frame("gap", 0, |object| {
        object.text("next", next);
    })
}
