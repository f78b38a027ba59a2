//! Shell commands in messages to the user. Parts of a command may come from strangers; a user who copies the
//! line into a shell must run only the intended command.

use crate::output::clean;

/// Characters that every shell takes literally, besides letters and digits.
const PLAIN: &str = "._:@/-=%+,";

/// Quotes a word for a shell, and removes characters that a terminal would interpret.
///
/// A backslash and an apostrophe stand outside of the apostrophes: inside, shells differ.
pub(crate) fn word(text: &str) -> String {
    let text = clean(text);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    // Some shells look up a program, or a job, by such a prefix.
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with(['=', '%']) {
        return text;
    }
    let mut word = String::from("'");
    for c in text.chars() {
        match c {
            '\\' | '\'' => word.extend(['\'', '\\', c, '\'']),
            _ => word.push(c),
        }
    }
    word + "'"
}

/// Builds a `jackfield` command: the name, `words` from strangers (quoted by [`word`]), further arguments,
/// and our own flags.
///
/// No stranger's word becomes an option: if a word starts with `-`, the options come first.
pub(crate) fn command(name: &str, words: &[&str], rest: &str, flags: &str) -> String {
    let about: Vec<_> = words.iter().map(|text| word(text)).collect();
    let (about, space) = (about.join(" "), if rest.is_empty() { "" } else { " " });
    if !words.iter().any(|word| clean(word).starts_with('-')) {
        return format!("jackfield {name} {about}{space}{rest}{flags}");
    }
    match rest.starts_with('-') {
        true => format!("jackfield {name} {rest}{flags} -- {about}"),
        false => format!("jackfield {name}{flags} -- {about}{space}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_stranger_stays_one_word() {
        for plain in ["q1", "backend/dba", "ann@hub", "http://h:1/x", "--name=x"] {
            assert_eq!(word(plain), plain);
        }
        for (text, quoted) in [
            ("", "''"),
            ("q; touch PWNED #", "'q; touch PWNED #'"),
            ("$(id)", "'$(id)'"),
            ("http://[::1]:7411", "'http://[::1]:7411'"),
            ("=ls", "'=ls'"),
            ("a\u{1b}[2Jb\nc", "'a [2Jb c'"),
            ("it's", r"'it'\''s'"),
            (r"q\'; id #", r"'q'\\''\''; id #'"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }

    #[test]
    fn a_word_of_a_stranger_does_not_become_an_option() {
        let told =
            |id: &str, rest: &str| command("task answer", &["c1", id], rest, " --hub http://h");
        assert_eq!(
            told("q1", "--approve"),
            "jackfield task answer c1 q1 --approve --hub http://h"
        );
        assert_eq!(
            told("--hub=http://x", "--approve"),
            "jackfield task answer --approve --hub http://h -- c1 --hub=http://x"
        );
        assert_eq!(
            told("-q", "TEXT"),
            "jackfield task answer --hub http://h -- c1 -q TEXT"
        );
        assert_eq!(
            command("task wait", &["c1"], "", ""),
            "jackfield task wait c1"
        );
    }

    #[test]
    fn a_shell_reads_a_word_as_it_was() {
        for text in [
            r"q\'; echo x #",
            "it's",
            "a b",
            "$HOME",
            "`id`",
            r"\",
            "!x",
            "~",
            "*",
        ] {
            let script = format!("printf %s {}", word(text));
            let printed = std::process::Command::new("sh")
                .args(["-c", &script])
                .output();
            assert_eq!(String::from_utf8_lossy(&printed.unwrap().stdout), text);
        }
    }
}
