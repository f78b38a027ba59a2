//! Folders are what they were when they were opened, whatever happens to their names.

use std::{fs, os::unix::fs::symlink};

use super::*;

#[test]
fn a_link_is_no_folder_and_no_file() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("secret"), "secret").unwrap();
    symlink(outside.path(), inside.path().join("folder")).unwrap();
    symlink(outside.path().join("secret"), inside.path().join("file")).unwrap();
    let dir = Dir::open(inside.path()).unwrap();
    let error = dir.folder("folder").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    assert!(dir.child("folder").is_err());
    assert!(dir.read("file".as_ref()).unwrap().is_none());
    assert!(dir.create("file").is_err());
    assert!(dir.open_or_create("file").is_err());
    assert_eq!(dir.kind("folder").unwrap(), Some(EntryKind::Link));
}

#[test]
fn a_folder_that_is_held_is_the_same_wherever_its_name_leads() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let (name, aside) = (inside.path().join("name"), inside.path().join("aside"));
    fs::create_dir(&name).unwrap();
    let held = Dir::open(inside.path()).unwrap().folder("name").unwrap();
    fs::rename(&name, &aside).unwrap();
    symlink(outside.path(), &name).unwrap();
    assert_eq!(held.names().unwrap(), [""; 0]);
    held.create("mine").unwrap();
    assert!(aside.join("mine").exists());
}

#[test]
fn moving_never_replaces() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    let dir = Dir::open(folder.path()).unwrap();
    let error = dir.move_to("a", &dir, "b").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(folder.path().join("b")).unwrap(), b"b");
    dir.move_to("a", &dir, "c").unwrap();
    assert_eq!(fs::read(folder.path().join("c")).unwrap(), b"a");
}
