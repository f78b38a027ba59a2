//! Sanitizes file names chosen by callers.

use jackfield_sdk::{File, FileSource};

/// Longest name in bytes; with a number appended it still fits any file system.
const LONGEST: usize = 100;

/// Returns the name under which a file is stored: its own name, else the last segment of its URL, else its
/// number.
pub(super) fn of(file: &File, number: usize) -> String {
    let given = file.name.as_deref().map(safe);
    let linked = || match &file.source {
        FileSource::Uri(uri) => {
            let (_, rest) = uri.split_once("://")?;
            let (_, path) = rest.split(['?', '#']).next()?.split_once('/')?;
            Some(safe(path))
        }
        FileSource::Bytes(_) => None,
    };
    let is_name = |name: &String| name.chars().any(char::is_alphanumeric);
    given
        .filter(is_name)
        .or_else(|| linked().filter(is_name))
        .unwrap_or_else(|| format!("file-{number}"))
}

/// Returns the last segment of a path with only characters that are safe in a name and in a command. Other
/// characters become `_`, as does a leading dot or dash.
pub(super) fn safe(text: &str) -> String {
    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let mut name: String = last
        .chars()
        .map(|letter| if is_safe(letter) { letter } else { '_' })
        .collect();
    if name.starts_with(['.', '-']) {
        name.replace_range(..1, "_");
    }
    if name.len() > LONGEST {
        // Keep the end, because the extension tells the file type.
        name = format!(
            "{}{}",
            &name[..LONGEST / 2],
            &name[name.len() - LONGEST / 2..]
        );
    }
    if name.is_empty() {
        "_".to_owned()
    } else {
        name
    }
}

/// Returns `name` for number 1, and `name` with the number before its extension for higher numbers.
pub(super) fn numbered(name: &str, number: usize) -> String {
    match (number, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (_, Some((stem, ending))) if !stem.is_empty() => format!("{stem}-{number}.{ending}"),
        _ => format!("{name}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_and_hide_nothing() {
        for (given, stored) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            (".bashrc", "_bashrc"),
            ("..", "_."),
            ("-rf", "_rf"),
            ("a b;rm *.txt", "a_b_rm__.txt"),
            ("gr\u{fc}n\n.md", "gr_n_.md"),
            ("dir/", "_"),
            ("", "_"),
        ] {
            assert_eq!(safe(given), stored, "{given:?}");
        }
        let long = safe(&format!("{}.tar.gz", "x".repeat(300)));
        assert!(long.len() <= LONGEST && long.ends_with(".tar.gz"), "{long}");
    }

    #[test]
    fn a_file_without_a_name_is_called_by_its_address_or_its_number() {
        let address = "https://x.example/a/b.png?sig=secret#x";
        assert_eq!(of(&File::at(address), 1), "b.png");
        assert_eq!(of(&File::at(address).name("c.png"), 1), "c.png");
        assert_eq!(of(&File::at(address).name("..."), 1), "b.png");
        assert_eq!(of(&File::at("https://x.example"), 2), "file-2");
        assert_eq!(of(&File::bytes(*b"hi"), 3), "file-3");
    }

    #[test]
    fn the_second_of_a_name_has_a_number() {
        assert_eq!(numbered("a.tar.gz", 1), "a.tar.gz");
        assert_eq!(numbered("a.tar.gz", 2), "a.tar-2.gz");
        assert_eq!(numbered("a", 3), "a-3");
    }
}
