//! Pieces of text that are added up as far as they fit. What does not fit is counted, and the whole says so.

use jackfield_model::Json;

/// Pieces of text, added up.
#[derive(Debug, Default)]
pub(super) struct Joined {
    text: String,
    dropped: usize,
}

impl Joined {
    /// Adds as much of a piece as fits into so many bytes more. Nothing follows a hole.
    pub(super) fn add(&mut self, piece: &str, room: usize) {
        let room = if self.dropped == 0 { room } else { 0 };
        let fits = piece.floor_char_boundary(room);
        self.text.push_str(&piece[..fits]);
        self.dropped += piece.len() - fits;
    }

    /// How much of it is held.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether nothing was ever added.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.dropped == 0
    }

    /// Whether some of it did not fit.
    pub(super) fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// Whether it begins with these words.
    pub(super) fn starts_with(&self, words: &str) -> bool {
        self.text.starts_with(words)
    }

    /// All of it, and how much is missing.
    pub(super) fn into_text(mut self) -> String {
        if self.dropped > 0 {
            self.text += &format!(" [… {} more bytes]", self.dropped);
        }
        self.text
    }

    /// What a tool is called with: any JSON, or the words.
    pub(super) fn into_arguments(self) -> Option<Json> {
        self.into_json(|_| true)
    }

    /// What a tool gave: a JSON object or array, or the words. A number alone is as well a word.
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
