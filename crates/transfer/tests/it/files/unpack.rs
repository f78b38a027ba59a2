//! Unpacked and refused archives. A refusal leaves no files behind.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Cursor, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    task::Poll,
    time::{Duration, SystemTime},
};

use jackfield_transfer::{ArchiveLimits, ConflictPolicy, UnpackError, Unpacked, unpack};
use tempfile::TempDir;

use crate::files::{
    helpers::{noise, received, runtime, tree, write},
    raw::{Entry, with_directory, zip},
};

async fn unpack_into(
    folder: &Path,
    bytes: &[u8],
    files: u64,
    clash: ConflictPolicy,
) -> Result<Unpacked, UnpackError> {
    let (archive, _parts) = received(bytes, files).await;
    unpack(&archive, folder, clash, ArchiveLimits::default()).await
}

/// Unpacks into a folder with existing files. Unpacking must fail and leave the folder unchanged.
async fn refusal_with(bytes: &[u8], files: u64, limits: ArchiveLimits) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "mine/keep", "mine");
    let before = tree(folder.path());
    let (archive, _parts) = received(bytes, files).await;
    for clash in [ConflictPolicy::Refuse, ConflictPolicy::Replace] {
        let refused = unpack(&archive, folder.path(), clash, limits).await;
        assert!(refused.is_err(), "it was unpacked: {refused:?}");
        assert_eq!(tree(folder.path()), before);
    }
    // A missing folder isn't created.
    let new = folder.path().join("new/inner");
    let refused = unpack(&archive, &new, ConflictPolicy::Refuse, limits).await;
    assert_eq!(tree(folder.path()), before);
    refused.unwrap_err().to_string()
}

async fn refusal(entries: &[Entry]) -> String {
    refusal_with(
        &zip(entries),
        entries.len() as u64,
        ArchiveLimits::default(),
    )
    .await
}

#[track_caller]
fn has(error: &str, words: &str) {
    assert!(error.contains(words), "{error:?} does not say {words:?}");
}

#[tokio::test]
async fn names_that_may_not_be_are_refused() {
    for (name, words) in [
        ("/etc/passwd", "is absolute"),
        ("C:/x", "a drive"),
        ("c:x", "a drive"),
        ("../x", "leads out"),
        ("a/../../x", "leads out"),
        ("a/..", "leads out"),
        ("..", "leads out"),
        ("./x", "leads out"),
        ("a//x", "leads out"),
        ("a\\..\\x", "backslash"),
        ("a\0b", "control character"),
        ("a\x1b[2Jb", "control character"),
        ("a\nb", "control character"),
        ("", "is empty"),
        (".git/hooks/post-checkout", ".git"),
        ("sub/.GIT/config", ".git"),
    ] {
        let good = Entry::new("good", b"x");
        has(&refusal(&[good, Entry::new(name, b"x")]).await, words);
    }
    has(
        &refusal(&[Entry::new("a".repeat(256), b"x")]).await,
        "too long",
    );
    let deep = format!("{}x", "a/".repeat(65));
    has(
        &refusal(&[Entry::new(deep, b"x")]).await,
        "too many folders",
    );
    has(
        &refusal(&[Entry::new(b"\xff\xfe", b"x")]).await,
        "is no UTF-8",
    );
    has(
        &refusal_with(
            &zip(&[Entry::new("/", b""), Entry::new("x", b"x")]),
            1,
            ArchiveLimits::default(),
        )
        .await,
        "is empty",
    );
}

#[tokio::test]
async fn links_and_special_files_are_refused() {
    has(
        &refusal(&[Entry::mode("link", 0o120_777)]).await,
        "is a link",
    );
    for mode in [0o010_644, 0o020_644, 0o060_644, 0o140_644, 0o040_755] {
        let error = refusal(&[Entry::mode("special", mode)]).await;
        has(&error, "is neither file nor folder");
    }
    let folder_named_as_file = Entry {
        attributes: 0x10,
        ..Entry::new("x", b"")
    };
    has(
        &refusal(&[folder_named_as_file]).await,
        "is neither file nor folder",
    );
}

#[tokio::test]
async fn names_that_do_not_fit_together_are_refused() {
    let entry = |name| Entry::new(name, b"x");
    has(
        &refusal(&[entry("a"), entry("b"), entry("a")]).await,
        "is there twice",
    );
    has(
        &refusal(&[entry("a"), entry("a/b")]).await,
        "is a file and a folder",
    );
    has(
        &refusal(&[entry("a/b"), entry("a")]).await,
        "is a file and a folder",
    );
    let folders = zip(&[Entry::new("a/", b""), Entry::new("a/", b""), entry("b")]);
    has(
        &refusal_with(&folders, 1, ArchiveLimits::default()).await,
        "is there twice",
    );
}

#[tokio::test]
async fn encrypted_files_and_other_compressions_are_refused() {
    for flags in [1, 1 << 6, 1 << 13] {
        let encrypted = Entry {
            flags,
            ..Entry::new("x", b"x")
        };
        has(&refusal(&[encrypted]).await, "is encrypted");
    }
    let secretly = Entry {
        local_flags: 1,
        ..Entry::new("x", b"x")
    };
    has(&refusal(&[secretly]).await, "contradicts itself");
    for method in [1, 9, 12, 14, 93, 99] {
        let other = Entry {
            method,
            ..Entry::new("x", b"x")
        };
        has(&refusal(&[other]).await, "only deflate");
    }
}

#[tokio::test]
async fn an_archive_that_contradicts_itself_is_refused() {
    let x = Entry::new("x", b"x");
    let other_name = Entry {
        local_name: Some(b"y".to_vec()),
        ..x.clone()
    };
    let folder_name = Entry {
        local_name: Some(b"x/".to_vec()),
        ..x.clone()
    };
    let other_method = Entry {
        local_method: Some(0),
        ..x.clone()
    };
    let elsewhere = Entry {
        start: Some(1),
        ..x.clone()
    };
    let behind = Entry {
        start: Some(1_000_000),
        ..x.clone()
    };
    let stored = Entry {
        size: 100,
        ..Entry::stored("x", b"x")
    };
    for entry in [
        other_name,
        folder_name,
        other_method,
        elsewhere,
        behind,
        stored,
    ] {
        has(&refusal(&[entry]).await, "contradicts itself");
    }
    let full_folder = zip(&[Entry::new("a/", b"x"), x]);
    has(
        &refusal_with(&full_folder, 1, ArchiveLimits::default()).await,
        "contradicts itself",
    );
}

#[tokio::test]
async fn entries_that_share_bytes_are_refused() {
    // Two names for the same content, as in the smallest overlapping bomb.
    let kernel = Entry::new("a", &[0; 100_000]);
    let duplicate = Entry {
        name: b"b".to_vec(),
        start: Some(0),
        ..kernel.clone()
    };
    has(&refusal(&[kernel, duplicate]).await, "contradicts itself");
    // A local header inside the content of another entry, as in larger overlapping bombs.
    let mut quoted = zip(&[Entry::new("b", &[0; 1000])]);
    quoted.truncate(quoted.len() - 22 - 47);
    let quote = Entry::stored("a", &quoted);
    let inner = Entry {
        start: Some(31),
        ..Entry::new("b", &[0; 1000])
    };
    has(&refusal(&[quote, inner]).await, "shares bytes");
    // Content that extends into the central directory.
    let long = Entry {
        packed_size: 60,
        size: 60,
        ..Entry::stored("a", b"short")
    };
    has(&refusal(&[long]).await, "shares bytes");
}

#[tokio::test]
async fn what_is_no_whole_zip_is_refused() {
    let good = zip(&[Entry::new("x", b"x")]);
    let refused = async |bytes: &[u8]| refusal_with(bytes, 1, ArchiveLimits::default()).await;
    has(&refused(b"hello").await, "no proper ZIP");
    has(&refused(&[0; 1000]).await, "no proper ZIP");
    // Bytes after the end, and bytes before the beginning.
    has(&refused(&[&good[..], b"x"].concat()).await, "no proper ZIP");
    has(&refused(&[b"x", &good[..]].concat()).await, "no proper ZIP");
    // Two archives in a single file: readers disagree about which counts.
    let two = [&good[..], &zip(&[Entry::new("y", b"y")])[..]].concat();
    has(&refused(&two).await, "no proper ZIP");
    // A central directory with more or fewer entries than declared.
    let end = good.len() - 22;
    let mut more = good.clone();
    more[end + 8..end + 12].copy_from_slice(&[0; 4]);
    has(&refused(&more).await, "has more than it says");
    let mut less = good.clone();
    less[end + 8..end + 12].copy_from_slice(&[2, 0, 2, 0]);
    has(&refused(&less).await, "directory is cut");
    // ZIP64, and a multi-part archive.
    let huge = Entry {
        size: u32::MAX,
        ..Entry::new("x", b"x")
    };
    has(&refusal(&[huge]).await, "ZIP64");
    let mut part = good.clone();
    part[end + 4] = 1;
    has(&refused(&part).await, "several parts");
    has(
        &refused(&with_directory(vec![0; 40], b"PK", 1)).await,
        "cut",
    );
}

#[tokio::test]
async fn more_files_or_bytes_than_the_limits_are_refused_before_any_is_written() {
    let all = ArchiveLimits::default();
    let three = zip(&["a", "b", "c"].map(|name| Entry::new(name, &[0; 100])));
    let limits = ArchiveLimits { files: 2, ..all };
    has(&refusal_with(&three, 3, limits).await, "more than 2 files");
    let limits = ArchiveLimits {
        unpacked: 299,
        ..all
    };
    has(
        &refusal_with(&three, 3, limits).await,
        "more than 299 bytes",
    );
    // Folders count like files, including folders that occur only in paths.
    let deep = zip(&[Entry::new("a/b/c/d", b"x")]);
    let limits = ArchiveLimits { files: 2, ..all };
    has(&refusal_with(&deep, 1, limits).await, "more than 2 files");
    // A bomb with an honest size is refused here; a bomb with a false size is tested below.
    let bomb = Entry {
        size: u32::MAX - 1,
        ..Entry::new("bomb", &[0; 1000])
    };
    has(&refusal(&[bomb]).await, "more than 2048 MB");
}

#[tokio::test]
async fn a_file_that_is_not_as_long_as_it_says_is_refused() {
    let zeros = vec![0; 1 << 20];
    let longer = Entry {
        size: 10,
        ..Entry::new("bomb", &zeros)
    };
    has(
        &refusal(&[Entry::new("good", b"x"), longer]).await,
        "more bytes than it says",
    );
    let shorter = Entry {
        size: 2 << 20,
        ..Entry::new("x", &zeros)
    };
    has(&refusal(&[shorter]).await, "is broken");
}

#[tokio::test]
async fn broken_content_is_refused() {
    let good = Entry::new("good", b"x");
    let wrong_sum = Entry {
        crc: 1,
        ..Entry::new("x", b"content")
    };
    has(&refusal(&[good.clone(), wrong_sum]).await, "checksum");
    let no_deflate = Entry {
        content: vec![0xff; 20],
        packed_size: 20,
        ..Entry::new("x", b"content")
    };
    has(&refusal(&[good.clone(), no_deflate]).await, "is broken");
    let mut hidden = Entry::new("x", b"content");
    hidden.content.extend(b"behind the end");
    hidden.packed_size += 14;
    has(&refusal(&[good, hidden]).await, "is broken");
}

#[tokio::test]
async fn an_archive_with_another_number_of_files_than_was_offered_is_refused() {
    let two = zip(&[Entry::new("a", b"x"), Entry::new("b", b"x")]);
    for offered in [1, 3] {
        let error = refusal_with(&two, offered, ArchiveLimits::default()).await;
        has(&error, &format!("2 files, and {offered} were offered"));
    }
}

#[tokio::test]
async fn what_another_writer_makes_is_unpacked() {
    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    writer.add_directory("empty", options).unwrap();
    writer.add_directory("a", options).unwrap();
    writer
        .start_file("a/program", options.unix_permissions(0o755))
        .unwrap();
    writer.write_all(b"run").unwrap();
    let stored = options.compression_method(CompressionMethod::Stored);
    writer.start_file("a/ünïcode", stored).unwrap();
    writer.write_all(b"stored").unwrap();
    let bytes = writer.finish().unwrap().into_inner();

    let folder = tempfile::tempdir().unwrap();
    let done = unpack_into(folder.path(), &bytes, 2, ConflictPolicy::Refuse).await;
    let done = done.unwrap();
    assert_eq!(done.files, ["a/program", "a/ünïcode"]);
    assert_eq!(done.bytes, 9);
    let expected = tempfile::tempdir().unwrap();
    write(expected.path(), "a/program", "run");
    write(expected.path(), "a/ünïcode", "stored");
    fs::create_dir(expected.path().join("empty")).unwrap();
    make_program(&expected.path().join("a/program"));
    assert_eq!(tree(folder.path()), tree(expected.path()));
}

#[tokio::test]
async fn what_a_writer_streams_is_unpacked() {
    use zip::{ZipWriter, write::SimpleFileOptions};
    let mut writer = ZipWriter::new_stream(Vec::new());
    writer
        .start_file("x", SimpleFileOptions::default())
        .unwrap();
    writer.write_all(b"streamed").unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    let folder = tempfile::tempdir().unwrap();
    unpack_into(folder.path(), &bytes, 1, ConflictPolicy::Refuse)
        .await
        .unwrap();
    assert_eq!(fs::read(folder.path().join("x")).unwrap(), b"streamed");
}

fn make_program(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn of_the_mode_only_the_right_to_execute_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = zip(&[
        Entry::mode("setuid", 0o104_755),
        Entry::mode("setgid", 0o102_755),
        Entry::mode("sticky", 0o101_777),
        Entry::mode("open", 0o100_666),
        Entry::mode("closed", 0o100_000),
    ]);
    unpack_into(folder.path(), &bytes, 5, ConflictPolicy::Refuse)
        .await
        .unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode();
    for name in ["setuid", "setgid", "sticky"] {
        assert_eq!(mode(name) & 0o7100, 0o100, "{name}");
    }
    for name in ["open", "closed"] {
        assert_eq!(mode(name) & 0o7700, 0o600, "{name}");
    }
}

#[tokio::test]
async fn files_in_the_way_are_named_and_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a/0", "a/1", "a/2", "a/3", "a/4", "a/5", "a/6"];
    for name in names {
        write(folder.path(), name, "mine");
    }
    let before = tree(folder.path());
    let mut entries: Vec<_> = names.map(|name| Entry::new(name, b"new")).into();
    entries.insert(0, Entry::new("free", b"new"));
    let error = unpack_into(folder.path(), &zip(&entries), 8, ConflictPolicy::Refuse).await;
    assert_eq!(
        error.unwrap_err().to_string(),
        r#"files are in the way: "a/0", "a/1", "a/2", "a/3", "a/4" and 2 more; nothing was changed"#
    );
    assert_eq!(tree(folder.path()), before);
}

#[tokio::test]
async fn files_that_are_there_already_with_the_same_content_are_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let large = noise(200_000);
    let entries = [
        Entry::new("a/large", &large),
        Entry::new("a/small", b"same"),
        Entry::new("new", b"new"),
    ];
    write(folder.path(), "a/large", &large);
    write(folder.path(), "a/small", "same");
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let there = File::options()
        .write(true)
        .open(folder.path().join("a/small"));
    there.unwrap().set_modified(old).unwrap();
    let unpacked = unpack_into(folder.path(), &zip(&entries), 3, ConflictPolicy::Refuse).await;
    assert_eq!(unpacked.unwrap().files, ["a/large", "a/small", "new"]);
    assert_eq!(fs::read(folder.path().join("new")).unwrap(), b"new");
    let there = fs::metadata(folder.path().join("a/small")).unwrap();
    assert_eq!(there.modified().unwrap(), old, "it is left as it was");
    // A file of equal size and different content.
    let mut other = large.clone();
    other[150_000] ^= 1;
    write(folder.path(), "a/large", &other);
    fs::remove_file(folder.path().join("new")).unwrap();
    let before = tree(folder.path());
    let refused = unpack_into(folder.path(), &zip(&entries), 3, ConflictPolicy::Refuse).await;
    let refused = refused.unwrap_err().to_string();
    has(&refused, r#"a file is in the way: "a/large";"#);
    assert_eq!(tree(folder.path()), before);
}

#[tokio::test]
async fn files_in_the_way_are_replaced_if_the_owner_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/0", "mine");
    write(folder.path(), "a/other", "mine");
    let bytes = zip(&[Entry::new("a/0", b"new"), Entry::new("b/1", b"new")]);
    unpack_into(folder.path(), &bytes, 2, ConflictPolicy::Replace)
        .await
        .unwrap();
    let expected = tempfile::tempdir().unwrap();
    write(expected.path(), "a/0", "new");
    write(expected.path(), "a/other", "mine");
    write(expected.path(), "b/1", "new");
    assert_eq!(tree(folder.path()), tree(expected.path()));
}

/// Creates a folder with links to a second folder. The second folder must not change.
fn linked() -> (TempDir, TempDir) {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "file", "outside");
    let folder = tempfile::tempdir().unwrap();
    symlink(outside.path(), folder.path().join("src")).unwrap();
    symlink(outside.path().join("file"), folder.path().join("file")).unwrap();
    symlink(outside.path().join("none"), folder.path().join("dangling")).unwrap();
    (folder, outside)
}

#[tokio::test]
async fn a_folder_that_is_a_link_is_in_the_way_in_any_case() {
    let (folder, outside) = linked();
    let before = (tree(folder.path()), tree(outside.path()));
    for name in ["src/new", "src/deep/new", "src/"] {
        let content: &[u8] = if name.ends_with('/') { b"" } else { b"x" };
        let bytes = zip(&[Entry::new("free", b"x"), Entry::new(name, content)]);
        let files = if name.ends_with('/') { 1 } else { 2 };
        for clash in [ConflictPolicy::Refuse, ConflictPolicy::Replace] {
            let error = unpack_into(folder.path(), &bytes, files, clash).await;
            has(
                &error.unwrap_err().to_string(),
                r#"a file is in the way: "src""#,
            );
            assert_eq!((tree(folder.path()), tree(outside.path())), before);
        }
    }
}

#[tokio::test]
async fn a_link_in_a_files_place_is_replaced_itself() {
    let (folder, outside) = linked();
    let before = tree(outside.path());
    let bytes = zip(&[Entry::new("file", b"new"), Entry::new("dangling", b"new")]);
    let error = unpack_into(folder.path(), &bytes, 2, ConflictPolicy::Refuse).await;
    has(&error.unwrap_err().to_string(), "files are in the way");
    unpack_into(folder.path(), &bytes, 2, ConflictPolicy::Replace)
        .await
        .unwrap();
    assert_eq!(tree(outside.path()), before);
    for name in ["file", "dangling"] {
        let path = folder.path().join(name);
        assert!(path.symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read(path).unwrap(), b"new");
    }
}

#[tokio::test]
async fn a_folder_in_a_files_place_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/mine", "mine");
    write(folder.path(), "b", "mine");
    let before = tree(folder.path());
    for name in ["a", "b/c"] {
        let bytes = zip(&[Entry::new(name, b"new")]);
        let error = unpack_into(folder.path(), &bytes, 1, ConflictPolicy::Replace).await;
        has(&error.unwrap_err().to_string(), "in the way");
        assert_eq!(tree(folder.path()), before);
    }
}

fn is_staged(folder: &Path) -> bool {
    let mut names = fs::read_dir(folder).unwrap();
    names.any(|name| name.unwrap().path().join("0").exists())
}

#[test]
fn nothing_is_left_of_work_that_nobody_waits_for_any_more() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "mine", "mine");
    let before = tree(folder.path());
    let bytes = zip(&[Entry::new("large", &vec![0; 64 << 20])]);
    let runtime = runtime();
    runtime.block_on(async {
        let (archive, _parts) = received(&bytes, 1).await;
        let unpacking = unpack(
            &archive,
            folder.path(),
            ConflictPolicy::Refuse,
            ArchiveLimits::default(),
        );
        let mut unpacking = std::pin::pin!(unpacking);
        // Drops the future while the file is still growing.
        while !is_staged(folder.path()) {
            let state = std::future::poll_fn(|cx| Poll::Ready(unpacking.as_mut().poll(cx)));
            assert!(state.await.is_pending());
            tokio::task::yield_now().await;
        }
    });
    // Waits for the work that still runs.
    drop(runtime);
    assert_eq!(tree(folder.path()), before);
}

#[test]
fn a_folder_that_is_swapped_for_a_link_while_we_unpack_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("a")).unwrap();
    symlink(outside.path(), root.join("b")).unwrap();
    let bytes = zip(&[Entry::new("a/x/y", b"new"), Entry::new("a/z", b"new")]);
    let is_over = AtomicBool::new(false);
    let runtime = runtime();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let dir = fs::File::open(root).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(&dir, "a", &dir, "b", flags).unwrap();
            }
        });
        for _ in 0..300 {
            drop(runtime.block_on(unpack_into(root, &bytes, 2, ConflictPolicy::Replace)));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(tree(outside.path()), BTreeMap::new());
}

#[tokio::test]
async fn what_a_killed_process_left_is_removed_after_a_day_unless_it_may_be_the_only_copy() {
    let folder = tempfile::tempdir().unwrap();
    for (name, file, days) in [("old", "0", 2), ("new", "0", 0), ("replacing", "old-0", 2)] {
        write(
            folder.path(),
            &format!(".jackfield-unpack-{name}/{file}"),
            "x",
        );
        let left = folder.path().join(format!(".jackfield-unpack-{name}"));
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400);
        fs::File::open(left).unwrap().set_modified(time).unwrap();
    }
    let bytes = zip(&[Entry::new("a", b"a")]);
    unpack_into(folder.path(), &bytes, 1, ConflictPolicy::Refuse)
        .await
        .unwrap();
    let mut names: Vec<_> = tree(folder.path()).into_keys().collect();
    names.retain(|name| !name.contains('/'));
    assert_eq!(
        names,
        [".jackfield-unpack-new", ".jackfield-unpack-replacing", "a"]
    );
}
