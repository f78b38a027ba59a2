//! What gets in the way of the last step brings everything back.

use std::{fs, path::Path};

use super::*;

fn entry(name: &str, is_folder: bool) -> ZipEntry {
    ZipEntry {
        name: name.to_owned(),
        is_folder,
        is_executable: false,
        changed: None,
        is_deflated: false,
        crc: 0,
        start: 0,
        packed: 0,
        unpacked: 0,
    }
}

fn all(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all(&path));
            found.push(path.display().to_string());
        } else {
            let content = fs::read_to_string(&path).unwrap();
            found.push(format!("{}: {content}", path.display()));
        }
    }
    found.sort();
    found
}

/// What somebody does between the look at the places and the moves brings everything back to what it was.
fn brought_back(disturb: impl FnOnce(&Path)) -> UnpackError {
    let (target, waiting) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(target.path().join("old")).unwrap();
    fs::write(target.path().join("old/mine"), "mine").unwrap();
    let entries = [
        entry("old/mine", false),
        entry("empty/inner", true),
        entry("new/deep/file", false),
        entry("last", false),
    ];
    for at in [0, 2, 3] {
        fs::write(waiting.path().join(at.to_string()), "new").unwrap();
    }
    let (root, staging) = (
        Dir::open(target.path()).unwrap(),
        Dir::open(waiting.path()).unwrap(),
    );
    let plan = PlacementPlan::of(&root, &entries, ConflictPolicy::Replace).unwrap();
    disturb(target.path());
    let before = all(target.path());
    let error = move_all(&root, &staging, &entries, &plan).unwrap_err();
    assert_eq!(all(target.path()), before);
    error
}

#[test]
fn a_file_that_appears_in_the_way_brings_all_back() {
    let error = brought_back(|target| fs::write(target.join("last"), "theirs").unwrap());
    assert!(
        matches!(&error, UnpackError::InTheWay { names, .. } if names == &["last"]),
        "{error}"
    );
}

#[test]
fn a_folder_that_becomes_a_link_brings_all_back() {
    let outside = tempfile::tempdir().unwrap();
    let error = brought_back(|target| {
        std::os::unix::fs::symlink(outside.path(), target.join("new")).unwrap();
    });
    assert!(
        matches!(&error, UnpackError::InTheWay { names, .. } if names == &["new"]),
        "{error}"
    );
    assert_eq!(all(outside.path()), [""; 0]);
}
