//! How much of a peer's own words an answer repeats, so that it does not outgrow what it answers.

/// The longest echo, in bytes: whole ids, by which a peer knows what is meant, but not whole frames.
pub const MAX_ECHO: usize = 256;

/// The start of `text` that an answer may repeat.
pub fn echo(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_ECHO)]
}
