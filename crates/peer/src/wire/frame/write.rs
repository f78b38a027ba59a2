//! Writes frames: lines of at most [`MAX_LINE`] bytes, except for a long result that chunks cannot carry.

use jackfield_wire::{json, p2p::PeerErrorFields};
use serde::Serialize;

use crate::wire::{Data, MAX_LINE, MAX_NAME, PeerErrorBody, cut};

/// Most bytes of a line for escaped text. The rest is for names, numbers, a kind and the line break.
const ROOM: usize = MAX_LINE - 2048;

/// Writer of the frames of one answer, which numbers its chunks.
#[derive(Debug, Default)]
pub struct FrameWriter {
    /// Number of the next chunk.
    seq: u64,
}

impl FrameWriter {
    /// Writes that the work begins.
    pub fn accepted(&mut self, task_id: Option<&str>, out: &mut String) {
        let task_id = task_id.map(|id| cut(id, MAX_NAME));
        line(&Line::Accepted { task_id }, out);
    }

    /// Writes a piece of the answer. Long text becomes several frames, empty text none.
    pub fn chunk(&mut self, text: &str, out: &mut String) {
        for piece in pieces(text) {
            let (seq, data) = (self.seq, piece);
            line(&Line::Chunk { seq, data }, out);
            self.seq += 1;
        }
    }

    /// Writes a status of the agent. Long text becomes several frames.
    pub fn status(&mut self, kind: &str, text: &str, out: &mut String) {
        let kind = cut(kind, MAX_NAME);
        let mut frame = |text| line(&Line::Status { kind, text }, out);
        match text {
            "" => frame(""),
            _ => pieces(text).for_each(frame),
        }
    }

    /// Writes the end of the work. Without `data` the chunks so far are the answer. Text too long for a line
    /// is sent as chunks, unless other chunks were sent before. JSON in chunks would look like text, so JSON
    /// is one line of any length.
    pub fn result(&mut self, data: Option<&Data>, out: &mut String) {
        let mut value = data.map(|data| match data {
            Data::Text(text) => serde_json::to_string(text).unwrap_or_default(),
            Data::Json(raw) => json::compact(raw),
        });
        if let (Some(Data::Text(text)), Some(long)) = (data, &value)
            && long.len() > ROOM
            && self.seq == 0
        {
            self.chunk(text, out);
            value = None;
        }
        out.push_str(r#"{"type":"result""#);
        if let Some(value) = value {
            out.push_str(r#","data":"#);
            out.push_str(&value);
        }
        out.push_str("}\n");
    }

    /// Writes that the work failed.
    pub fn error(&mut self, error: &PeerErrorBody, out: &mut String) {
        line(&Line::Error(error.fields()), out);
    }

    /// Writes that the work continues.
    pub fn heartbeat(&mut self, out: &mut String) {
        line(&Line::Heartbeat, out);
    }
}

/// A frame as written. A result is written separately, so that its JSON is passed on without parsing.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Accepted {
        #[serde(skip_serializing_if = "Option::is_none")]
        task_id: Option<&'a str>,
    },
    Chunk {
        seq: u64,
        data: &'a str,
    },
    Status {
        kind: &'a str,
        text: &'a str,
    },
    Error(PeerErrorFields<'a>),
    Heartbeat,
}

/// Appends one line.
fn line(frame: &Line<'_>, out: &mut String) {
    // Texts and numbers always serialize.
    out.push_str(&serde_json::to_string(frame).unwrap_or_default());
    out.push('\n');
}

/// Splits a text into pieces that fit into a line each, between characters.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let mut room = ROOM;
        let cut = text.char_indices().find(|(_, letter)| {
            let left = room.checked_sub(escaped_size(*letter));
            room = left.unwrap_or_default();
            left.is_none()
        });
        let (piece, rest) = text.split_at(cut.map_or(text.len(), |(at, _)| at));
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the most bytes that a character takes in a JSON string.
fn escaped_size(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '\0'..='\x1f' => 6,
        _ => letter.len_utf8(),
    }
}
