//! Packed and omitted files.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{Cursor, Read as _},
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};

use jackfield_transfer::{ArchiveLimits, Bundle, OmitReason, PackError};
use zip::ZipArchive;

use crate::files::helpers::{noise, pack, runtime, sha256, write};

pub(crate) async fn bytes(bundle: &Bundle, from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut pieces = bundle.pieces(from);
    while let Some(piece) = pieces.next().await.unwrap() {
        assert!(piece.len() <= 64 << 10);
        bytes.extend(piece);
    }
    bytes
}

/// Reads names and contents of an archive with an independent ZIP reader.
async fn entries_of(bundle: &Bundle) -> Vec<(String, Vec<u8>)> {
    let bytes = bytes(bundle, 0).await;
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let files = (0..archive.len()).map(|at| {
        let mut file = archive.by_index(at).unwrap();
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        (file.name().unwrap().into_owned(), content)
    });
    files.collect()
}

async fn names(folder: &Path) -> Vec<String> {
    let bundle = pack(folder, ArchiveLimits::default())
        .await
        .unwrap()
        .unwrap();
    let files = entries_of(&bundle).await;
    assert_eq!(files.len() as u64, bundle.offer().file_count);
    files.into_iter().map(|(name, _)| name).collect()
}

#[tokio::test]
async fn another_reader_finds_the_files_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "grüße/ein brief.txt", "hello");
    write(folder.path(), "empty", "");
    write(folder.path(), "noise", noise(200_000));
    let bundle = pack(folder.path(), ArchiveLimits::default())
        .await
        .unwrap()
        .unwrap();
    let expected = [
        ("empty".to_owned(), Vec::new()),
        ("grüße/ein brief.txt".to_owned(), b"hello".to_vec()),
        ("noise".to_owned(), noise(200_000)),
    ];
    assert_eq!(entries_of(&bundle).await, expected);
}

#[tokio::test]
async fn the_offer_tells_size_hash_and_count_of_what_the_pieces_give() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "noise", noise(3 << 20));
    write(folder.path(), "more", "x");
    let bundle = pack(folder.path(), ArchiveLimits::default())
        .await
        .unwrap()
        .unwrap();
    let all = bytes(&bundle, 0).await;
    assert_eq!(all.len() as u64, bundle.offer().zip_size);
    assert_eq!(sha256(&all), bundle.offer().zip_sha256);
    assert_eq!(bundle.offer().file_count, 2);
    assert_eq!(bytes(&bundle, 100_001).await, all[100_001..]);
    assert_eq!(bytes(&bundle, bundle.size()).await, b"");
    assert_eq!(bytes(&bundle, bundle.size() + 1).await, b"");
}

#[tokio::test]
async fn the_same_files_make_the_same_archive() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b/2", "a", "b/1", "c"] {
        write(folder.path(), name, name);
    }
    let once = pack(folder.path(), ArchiveLimits::default()).await.unwrap();
    let twice = pack(folder.path(), ArchiveLimits::default()).await.unwrap();
    assert_eq!(
        once.unwrap().offer().zip_sha256,
        twice.unwrap().offer().zip_sha256
    );
}

#[tokio::test]
async fn an_archive_says_when_a_file_was_changed_as_others_read_it() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "old", "x");
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let path = folder.path().join("old");
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(changed).unwrap();
    let bundle = pack(folder.path(), ArchiveLimits::default())
        .await
        .unwrap()
        .unwrap();
    let mut archive = ZipArchive::new(Cursor::new(bytes(&bundle, 0).await)).unwrap();
    let time = archive.by_index(0).unwrap().last_modified().unwrap();
    assert_eq!(time.to_string(), "2023-11-14 22:13:20");
}

#[tokio::test]
async fn links_sockets_and_pipes_are_not_taken() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret", "secret");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "real", "x");
    symlink(outside.path(), folder.path().join("folder-link")).unwrap();
    symlink(
        outside.path().join("secret"),
        folder.path().join("file-link"),
    )
    .unwrap();
    symlink("real", folder.path().join("inner-link")).unwrap();
    let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(names(folder.path()).await, ["real"]);
    assert_eq!(
        omitted(folder.path(), &["folder-link".into()]).await,
        r#"links: "file-link", "inner-link"; pipes, sockets or devices: "pipe", "socket""#
    );
}

/// Describes the omitted entries, given the names of known links.
async fn omitted(folder: &Path, ours: &[OsString]) -> String {
    let packed = jackfield_transfer::pack(folder, ArchiveLimits::default(), ours).await;
    packed.unwrap().omitted.to_string()
}

#[tokio::test]
async fn what_tools_make_and_what_is_private_stays_here() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "app/node_modules/x.js",
        "target/x",
        ".git/config",
        "sub/.git",
        ".venv/x",
        ".next/x",
        ".bridge-clients/other/x",
        ".attachments/request/x",
        ".env",
        ".env.local",
        ".jackfield-unpack-1/0",
    ] {
        write(folder.path(), name, "x");
    }
    assert!(
        pack(folder.path(), ArchiveLimits::default())
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(
        omitted(folder.path(), &[]).await,
        r#"never sent: ".bridge-clients/", ".env", ".env.local", ".git/", ".next/" and 4 more"#
    );
    // Files may have the names of ignored folders, and may begin with a dot.
    for name in ["build", ".environment", ".gitignore", "app/targets/x"] {
        write(folder.path(), name, "x");
    }
    assert_eq!(
        names(folder.path()).await,
        [".environment", ".gitignore", "app/targets/x", "build"]
    );
}

#[tokio::test]
async fn a_folder_without_files_makes_no_archive() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    let packed = pack(folder.path(), ArchiveLimits::default()).await.unwrap();
    assert!(packed.is_none());
    let omissions = omitted(folder.path(), &[]).await;
    assert_eq!(omissions, r#"empty folders: "a/b/""#);
}

#[tokio::test]
async fn names_that_the_other_side_refuses_are_left_out_and_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    for name in ["good", "back\\slash", "C:drive", "new\nline", "deep"] {
        write(folder.path(), name, "x");
    }
    let name = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    fs::write(folder.path().join(name), "x").unwrap();
    write(folder.path(), &format!("{}x", "d/".repeat(64)), "x");
    write(folder.path(), &format!("{}x", "e/".repeat(65)), "x");
    let packed = jackfield_transfer::pack(folder.path(), ArchiveLimits::default(), &[]).await;
    let packed = packed.unwrap();
    assert_eq!(packed.bundle.unwrap().offer().file_count, 3);
    assert_eq!(packed.omitted.count(OmitReason::Name), 5);
    let omissions = packed.omitted.to_string();
    for why in [
        r#""C:drive" (begins like that of a drive)"#,
        r#""back\\slash" (has a backslash)"#,
        r#""new\nline" (has a control character)"#,
        "is no UTF-8",
    ] {
        assert!(omissions.contains(why), "{why} is not in {omissions}");
    }
}

#[tokio::test]
async fn each_limit_has_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        write(folder.path(), name, noise(10_000));
    }
    let all = ArchiveLimits::default();
    let error = async |limits| pack(folder.path(), limits).await.unwrap_err();

    let files = error(ArchiveLimits { files: 2, ..all }).await;
    assert!(matches!(files, PackError::TooManyFiles(2)));
    assert!(files.to_string().contains("more than 2 files"), "{files}");
    let archive = error(ArchiveLimits {
        archive: 20_000,
        ..all
    });
    let archive = archive.await;
    assert!(matches!(archive, PackError::TooLarge(20_000)));
    assert!(
        archive.to_string().contains("more than 20000 bytes"),
        "{archive}"
    );
    let unpacked = error(ArchiveLimits {
        unpacked: 29_999,
        ..all
    });
    assert!(matches!(unpacked.await, PackError::TooMuch(29_999)));
    let exact = ArchiveLimits {
        files: 3,
        unpacked: 30_000,
        ..all
    };
    assert!(pack(folder.path(), exact).await.unwrap().is_some());
}

#[tokio::test]
async fn an_archive_may_be_as_large_as_the_limit_and_not_a_byte_larger() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "noise", noise(10_000));
    let all = ArchiveLimits::default();
    let bundle = pack(folder.path(), all).await.unwrap().unwrap();
    let exact = ArchiveLimits {
        archive: bundle.size(),
        ..all
    };
    assert!(pack(folder.path(), exact).await.unwrap().is_some());
    let less = ArchiveLimits {
        archive: bundle.size() - 1,
        ..all
    };
    let error = pack(folder.path(), less).await.unwrap_err();
    assert!(matches!(error, PackError::TooLarge(_)), "{error}");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = pack(&folder.path().join("none"), ArchiveLimits::default()).await;
    assert!(matches!(error.unwrap_err(), PackError::Folder(_)));
}

/// Repeats an action on another thread until dropped.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_while_we_pack_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret", "secret");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "a/mine", "mine");
    symlink(outside.path(), root.join("b")).unwrap();
    let is_over = AtomicBool::new(false);
    let dir = fs::File::open(root).unwrap();
    let swap = || {
        while !is_over.load(Ordering::Relaxed) {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(&dir, "a", &dir, "b", flags).unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(swap);
        let _stop = StopOnDrop(&is_over);
        for _ in 0..300 {
            let packed = run(pack(root, ArchiveLimits::default())).unwrap();
            let Some(bundle) = packed else { continue };
            for (name, content) in run(entries_of(&bundle)) {
                assert_eq!(content, b"mine", "{name}");
            }
        }
    });
}

#[test]
fn files_that_come_go_and_grow_while_we_pack_do_not_break_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "steady", "steady");
    let is_over = AtomicBool::new(false);
    let stir = || {
        let mut content = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            content.extend([7; 1000]);
            content.truncate(100_000);
            write(root, "sub/grows", &content);
            write(root, "goes", "x");
            fs::remove_file(root.join("goes")).unwrap();
            fs::remove_dir_all(root.join("sub")).unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(stir);
        let _stop = StopOnDrop(&is_over);
        for _ in 0..200 {
            let packed = run(pack(root, ArchiveLimits::default()));
            let files = run(entries_of(&packed.unwrap().unwrap()));
            assert!(files.contains(&("steady".to_owned(), b"steady".to_vec())));
        }
    });
}

fn run<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}
