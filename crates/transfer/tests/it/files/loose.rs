//! Files transferred without an archive.

use std::{collections::BTreeMap, fs, path::Path};

use jackfield_transfer::{ArchiveLimits, ConflictPolicy, SingleFile, save};

fn loose(name: &str, content: &str) -> SingleFile {
    SingleFile {
        name: name.to_owned(),
        content: content.into(),
    }
}

async fn saved(into: &Path, clash: ConflictPolicy, files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(name, content)| loose(name, content));
    let saved = save(files.collect(), into, clash, ArchiveLimits::default()).await;
    saved.unwrap().files
}

fn content(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    });
    entries.collect()
}

#[tokio::test]
async fn a_name_leads_nowhere_but_into_the_folder() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("new/out");
    let names = saved(
        &out,
        ConflictPolicy::Refuse,
        &[
            ("../../evil.txt", "1"),
            ("/etc/passwd", "2"),
            ("..", "3"),
            ("", "4"),
            ("C:x", "5"),
            ("a ü.txt", "6"),
            ("b\u{1b}[2J\n", "7"),
            (".git", "8"),
        ],
    );
    let safe = [
        "evil.txt", "passwd", "file-3", "file-4", "file-5", "a ü.txt", "b[2J", "file-8",
    ];
    assert_eq!(names.await, safe);
    assert_eq!(content(&out).len(), safe.len());
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_name_that_is_taken_gets_a_number_and_a_file_that_is_there_does_not_come_twice() {
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("a.tar.gz"), "mine").unwrap();
    let files = [
        ("a.tar.gz", "one"),
        ("a.tar.gz", "two"),
        ("a.tar.gz", "one"),
    ];
    for _ in 0..2 {
        let names = saved(out.path(), ConflictPolicy::Refuse, &files).await;
        assert_eq!(names, ["a.tar-2.gz", "a.tar-3.gz"]);
    }
    let names = saved(out.path(), ConflictPolicy::Replace, &files).await;
    assert_eq!(names, ["a.tar.gz", "a.tar-3.gz"]);
    let there = content(out.path()).into_iter().collect::<Vec<_>>();
    let expected = [
        ("a.tar-2.gz", "one"),
        ("a.tar-3.gz", "two"),
        ("a.tar.gz", "one"),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(there, expected);
}
