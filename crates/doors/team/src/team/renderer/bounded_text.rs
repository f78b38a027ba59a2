//! Text collected in pieces, up to a limit. Counts the bytes beyond the limit and reports them at the end of
//! the text.

use jackfield_model::Json;

/// Text collected in pieces.
#[derive(Debug, Default)]
pub(super) struct BoundedText {
    text: String,
    dropped: usize,
}

impl BoundedText {
    /// Appends as much of `piece` as fits into `room` bytes. After the first cut, all further pieces are
    /// dropped.
    pub(super) fn add(&mut self, piece: &str, room: usize) {
        let room = if self.dropped == 0 { room } else { 0 };
        let fits = piece.floor_char_boundary(room);
        self.text.push_str(&piece[..fits]);
        self.dropped += piece.len() - fits;
    }

    /// Returns the length of the stored text.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns whether no text was ever added.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.dropped == 0
    }

    /// Returns whether some text was dropped.
    pub(super) fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// Returns whether the text starts with `words`.
    pub(super) fn starts_with(&self, words: &str) -> bool {
        self.text.starts_with(words)
    }

    /// Returns the text, followed by the number of dropped bytes if any.
    pub(super) fn into_text(mut self) -> String {
        if self.dropped > 0 {
            self.text += &format!(" [… {} more bytes]", self.dropped);
        }
        self.text
    }

    /// Returns the text as tool arguments: parsed if valid JSON, else as a JSON string.
    pub(super) fn into_arguments(self) -> Option<Json> {
        self.into_json(|_| true)
    }

    /// Returns the text as a tool result: a JSON object or array, else a JSON string. A number alone may well
    /// be plain text.
    pub(super) fn into_result(self) -> Option<Json> {
        self.into_json(|text| text.starts_with(['{', '[']))
    }

    fn into_json(self, may_be_json: impl FnOnce(&str) -> bool) -> Option<Json> {
        let trimmed = self.text.trim();
        if self.dropped == 0 {
            if trimmed.is_empty() {
                return None;
            }
            if may_be_json(trimmed)
                && let Ok(json) = Json::parse(trimmed)
            {
                return Some(json);
            }
        }
        Json::of(&self.into_text()).ok()
    }
}
