//! Partially received archives.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{Duration, SystemTime},
};

use jackfield_model::Offer;
use jackfield_transfer::{ArchiveLimits, ArchivePart, PartError, sweep_parts};

use crate::files::helpers::{noise, offer};

async fn open(folder: &Path, offer: &Offer) -> Result<ArchivePart, PartError> {
    ArchivePart::open(folder, offer, ArchiveLimits::default()).await
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[tokio::test]
async fn a_part_remembers_what_came_whatever_the_transfer_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = noise(1000);
    let first = offer(&bytes, 1);
    let mut part = open(folder.path(), &first).await.unwrap();
    assert_eq!(part.received(), 0);
    part.append(&bytes[..300]).await.unwrap();
    part.append(&bytes[300..400]).await.unwrap();
    part.flush().await.unwrap();
    drop(part);
    let second = Offer {
        transfer_id: "another".to_owned(),
        zip_sha256: first.zip_sha256.to_uppercase(),
        ..first
    };
    let mut part = open(folder.path(), &second).await.unwrap();
    assert_eq!(part.received(), 400);
    part.append(&bytes[400..]).await.unwrap();
    let archive = part.finish().await.unwrap();
    assert_eq!(names(folder.path()).len(), 1);
    drop(archive);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[tokio::test]
async fn a_part_and_its_folder_are_for_the_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("state/parts");
    let _part = open(&parts, &offer(b"x", 1)).await.unwrap();
    assert_eq!(fs::metadata(&parts).unwrap().mode() & 0o777, 0o700);
    let name = &names(&parts)[0];
    let file = fs::metadata(parts.join(name)).unwrap();
    assert_eq!(file.mode() & 0o777, 0o600);
}

#[tokio::test]
async fn what_is_too_much_is_never_written_and_the_part_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = open(folder.path(), &offer(&[1; 100], 1)).await.unwrap();
    part.append(&[1; 99]).await.unwrap();
    let error = part.append(&[1; 2]).await.unwrap_err();
    assert!(matches!(error, PartError::TooMuch(100)), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[tokio::test]
async fn what_is_too_little_or_something_else_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let offer = offer(&[1; 100], 1);
    let mut part = open(folder.path(), &offer).await.unwrap();
    part.append(&[1; 99]).await.unwrap();
    let error = part.finish().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "99 of 100 bytes came, and no more will; they were removed"
    );
    assert_eq!(names(folder.path()), [""; 0]);
    let mut part = open(folder.path(), &offer).await.unwrap();
    part.append(&[2; 100]).await.unwrap();
    let error = part.finish().await.unwrap_err();
    assert!(matches!(error, PartError::Hash), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[tokio::test]
async fn a_part_can_begin_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = open(folder.path(), &offer(&[1; 100], 1)).await.unwrap();
    part.append(&[2; 60]).await.unwrap();
    part.restart().await.unwrap();
    assert_eq!(part.received(), 0);
    part.append(&[1; 100]).await.unwrap();
    part.finish().await.unwrap();
}

#[tokio::test]
async fn an_archive_that_is_kept_is_all_there_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let offer = offer(&[1; 100], 1);
    let mut part = open(folder.path(), &offer).await.unwrap();
    part.append(&[1; 100]).await.unwrap();
    part.finish().await.unwrap().keep();
    let part = open(folder.path(), &offer).await.unwrap();
    assert_eq!(part.received(), 100);
    part.finish().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_never_receive_into_one_part() {
    let folder = tempfile::tempdir().unwrap();
    let first = offer(&[1; 100], 1);
    let mut part = open(folder.path(), &first).await.unwrap();
    let second = Offer {
        transfer_id: "another".to_owned(),
        ..first
    };
    let error = open(folder.path(), &second).await.unwrap_err();
    assert!(matches!(error, PartError::InUse), "{error}");
    // The file stays in use while the archive is unpacked.
    part.append(&[1; 100]).await.unwrap();
    let archive = part.finish().await.unwrap();
    let error = open(folder.path(), &second).await.unwrap_err();
    assert!(matches!(error, PartError::InUse), "{error}");
    drop(archive);
    assert_eq!(open(folder.path(), &second).await.unwrap().received(), 0);
}

#[tokio::test]
async fn an_offer_of_too_much_or_of_nonsense_is_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let good = offer(&[1; 100], 3);
    let limits = ArchiveLimits {
        files: 3,
        archive: 100,
        unpacked: 1000,
    };
    let refused = async |offer: Offer| ArchivePart::open(folder.path(), &offer, limits).await;
    assert!(refused(good.clone()).await.is_ok());
    let large = Offer {
        zip_size: 101,
        ..good.clone()
    };
    let error = refused(large).await.unwrap_err();
    assert!(matches!(error, PartError::TooLarge(100)), "{error}");
    let many = Offer {
        file_count: 4,
        ..good.clone()
    };
    let error = refused(many).await.unwrap_err();
    assert!(matches!(error, PartError::TooManyFiles(3)), "{error}");
    let path = Offer {
        zip_sha256: format!("../{}", "a".repeat(61)),
        ..good
    };
    let error = refused(path).await.unwrap_err();
    assert!(matches!(error, PartError::Offer(_)), "{error}");
}

#[tokio::test]
async fn a_link_in_a_parts_place_is_not_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("file");
    fs::write(&target, "").unwrap();
    let offer = offer(&[1; 100], 1);
    let name = format!("part-{}-100", offer.zip_sha256);
    std::os::unix::fs::symlink(&target, folder.path().join(name)).unwrap();
    let error = open(folder.path(), &offer).await.unwrap_err();
    assert!(matches!(error, PartError::Io(_)), "{error}");
}

#[tokio::test]
async fn parts_that_nobody_goes_on_with_are_swept_after_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let hour = Duration::from_secs(3600);
    let aged = |name: &str, age: Duration| {
        let file = File::create(path.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        file
    };
    aged("part-old-1", 25 * hour);
    aged("part-young-1", 23 * hour);
    aged("something else", 100 * hour);
    let used = aged("part-used-1", 25 * hour);
    used.lock().unwrap();
    sweep_parts(path).await.unwrap();
    let mut left = names(path);
    left.sort();
    assert_eq!(left, ["part-used-1", "part-young-1", "something else"]);
    aged("part-old-1", 25 * hour);
    let part = open(path, &offer(b"x", 1)).await.unwrap();
    assert!(!path.join("part-old-1").exists());
    drop(part);
    sweep_parts(&path.join("none")).await.unwrap();
}

#[tokio::test]
async fn one_can_see_how_much_has_come_and_throw_it_away() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = noise(1000);
    let offer = offer(&bytes, 1);
    let received = async || {
        ArchivePart::received_in(folder.path(), &offer)
            .await
            .unwrap()
    };
    assert_eq!(received().await, 0);
    assert_eq!(names(folder.path()), [""; 0], "looking makes nothing");
    let mut part = open(folder.path(), &offer).await.unwrap();
    part.append(&bytes[..300]).await.unwrap();
    part.flush().await.unwrap();
    assert_eq!(received().await, 300);
    part.discard().await.unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
}
