//! Morse code, as a pure function.

/// Maximum number of characters; a telegram is short.
const LONGEST: usize = 200;

/// Answer for a text without any Morse characters.
const NOTHING: &str = "(nothing in it can be keyed)";

/// Converts a text to Morse code: a space between letters, a slash between words. Characters without a code
/// are left out.
pub(super) fn code(text: &str) -> String {
    let text: String = text.chars().take(LONGEST).collect();
    let word = |word: &str| {
        let letters: Vec<_> = word.chars().filter_map(letter).collect();
        letters.join(" ")
    };
    let words = text.split_whitespace().map(word);
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return NOTHING.to_owned();
    }
    words.join(" / ")
}

fn letter(letter: char) -> Option<&'static str> {
    Some(match letter.to_ascii_uppercase() {
        'A' => ".-",
        'B' => "-...",
        'C' => "-.-.",
        'D' => "-..",
        'E' => ".",
        'F' => "..-.",
        'G' => "--.",
        'H' => "....",
        'I' => "..",
        'J' => ".---",
        'K' => "-.-",
        'L' => ".-..",
        'M' => "--",
        'N' => "-.",
        'O' => "---",
        'P' => ".--.",
        'Q' => "--.-",
        'R' => ".-.",
        'S' => "...",
        'T' => "-",
        'U' => "..-",
        'V' => "...-",
        'W' => ".--",
        'X' => "-..-",
        'Y' => "-.--",
        'Z' => "--..",
        '0' => "-----",
        '1' => ".----",
        '2' => "..---",
        '3' => "...--",
        '4' => "....-",
        '5' => ".....",
        '6' => "-....",
        '7' => "--...",
        '8' => "---..",
        '9' => "----.",
        '.' => ".-.-.-",
        ',' => "--..--",
        '?' => "..--..",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_keyed_and_what_has_no_code_is_left_out() {
        assert_eq!(code("Sos, 73"), "... --- ... --..-- / --... ...--");
        assert_eq!(code("a\u{1f980}  b \u{1f980}"), ".- / -...");
        assert_eq!(code(" \u{1f980} "), NOTHING);
        assert!(code(&"e ".repeat(10_000)).len() < 1_000);
    }
}
