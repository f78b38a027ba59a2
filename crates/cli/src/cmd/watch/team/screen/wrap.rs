//! Line wrapping. Pure.

use ratatui::text::Span;

/// Wraps text into lines of at most `width` columns, between words if possible.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        wrap_line(line, width.max(1), &mut lines);
    }
    lines
}

fn wrap_line(line: &str, width: usize, lines: &mut Vec<String>) {
    let mut current = String::new();
    let mut used = 0;
    for c in line.chars() {
        let columns = columns(c);
        if used + columns > width && !current.is_empty() {
            if c == ' ' {
                lines.push(std::mem::take(&mut current));
                used = 0;
                continue;
            }
            let rest = last_word(&mut current);
            lines.push(std::mem::replace(&mut current, rest));
            used = Span::raw(current.as_str()).width();
        }
        current.push(c);
        used += columns;
    }
    lines.push(current);
}

/// Removes and returns the word that does not fit; empty if the line is a single word.
fn last_word(line: &mut String) -> String {
    match line.rfind(' ') {
        Some(at) if !line[..at].trim().is_empty() => {
            let word = line.split_off(at + 1);
            line.truncate(at);
            word
        }
        _ => String::new(),
    }
}

fn columns(c: char) -> usize {
    if c.is_ascii() {
        return 1;
    }
    Span::raw(c.encode_utf8(&mut [0; 4]) as &str).width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two\nthree", 20), ["one two", "three"]);
        assert_eq!(wrap("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn a_word_that_never_fits_is_broken() {
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("  abcdef", 4), ["  ab", "cdef"]);
        assert_eq!(wrap("ab", 0), ["a", "b"]);
    }

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("日", 1), ["日"]);
    }
}
