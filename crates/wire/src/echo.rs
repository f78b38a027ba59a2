//! Limit on the text of a peer that an error repeats, so that an error is not longer than the frame it is
//! about.

/// Maximum length of an echo in bytes: enough for whole ids, by which a peer recognises its frame, but not
/// for whole frames.
pub const MAX_ECHO: usize = 256;

/// Returns the start of `text`, cut to at most [`MAX_ECHO`] bytes.
pub fn echo(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_ECHO)]
}
