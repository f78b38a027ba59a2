//! Events of a relay's stream, each as the JSON after `data: `; the type is a field of the JSON. The original
//! hub writes neither `event:` nor `id:` lines, and clients expect none.

use jackfield_wire::{
    bridge::Attachment,
    json::{JsonText, to_json},
};
use serde::Serialize;
use serde_json::value::RawValue;

/// Capacity for braces, field names and the type; texts are added.
const OVERHEAD: usize = 128;

/// A piece of an answer; empty texts count as absent.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(tag = "type", rename = "chunk")]
#[derive(utoipa::ToSchema)]
pub(crate) struct ChunkEvent<'a> {
    /// Text of the piece.
    pub(crate) delta: JsonText<'a>,
    /// Kind of the piece; absent means `text`.
    #[serde(skip_serializing_if = "is_no_word")]
    pub(crate) kind: Option<&'a str>,
    /// Name of the tool.
    #[serde(skip_serializing_if = "is_no_word")]
    pub(crate) tool_name: Option<&'a str>,
    /// Id of the tool call.
    #[serde(skip_serializing_if = "is_no_word")]
    pub(crate) tool_call_id: Option<&'a str>,
}

fn is_no_word(word: &Option<&str>) -> bool {
    word.is_none_or(str::is_empty)
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(tag = "type", rename = "done")]
#[derive(utoipa::ToSchema)]
pub(crate) struct DoneEvent<'a> {
    /// Files created by the agent; omitted if empty.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(required = false)]
    pub(crate) attachments: &'a [Attachment<'a>],
    /// Offer of a transfer between peers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    pub(crate) file_transfer_offer: Option<&'a RawValue>,
    /// Full answer, only for readers of durable requests: a plain stream never repeats it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<JsonText<'a>>,
}

/// Event that keeps the platform's timeout from expiring.
pub(crate) const KEEPALIVE: &str = r#"{"type":"keepalive"}"#;

/// Writes a `chunk` event.
pub(crate) fn chunk(chunk: &ChunkEvent<'_>) -> String {
    to_json(chunk, OVERHEAD + chunk.delta.size_hint())
}

/// Writes a `done` event.
pub(crate) fn done(done: &DoneEvent<'_>) -> String {
    let size = Attachment::size_hint(done.attachments)
        + done.result.as_ref().map_or(0, JsonText::size_hint)
        + done.file_transfer_offer.map_or(0, |raw| raw.get().len());
    let mut event = to_json(done, OVERHEAD + size);
    // JSON of agents may span several lines, but `data: ` is one line. In JSON, line breaks occur only
    // between tokens.
    if event.contains(LINE_BREAKS) {
        event.retain(|character| !LINE_BREAKS.contains(&character));
    }
    event
}

const LINE_BREAKS: [char; 2] = ['\n', '\r'];

/// The failure of an answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename = "error")]
pub(crate) struct StreamErrorEvent<'a> {
    /// Error code, for programs.
    code: &'a str,
    /// Error message, for people.
    message: &'a str,
}

/// Events that are no longer available.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename = "gap")]
pub(crate) struct GapEvent<'a> {
    /// Event id after which the stream continues.
    next: &'a str,
}

/// Writes an `error` event, the last one of a stream.
pub(crate) fn error(code: &str, message: &str) -> String {
    to_json(
        &StreamErrorEvent { code, message },
        OVERHEAD + 2 * message.len(),
    )
}

/// Writes a `gap` event: events before `next` are no longer available (an addition of this hub, only for
/// durable requests).
pub(crate) fn gap(next: &str) -> String {
    to_json(&GapEvent { next }, OVERHEAD)
}
