//! Any folder that can be packed is unpacked unchanged.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    time::{Duration, SystemTime},
};

use jackfield_transfer::{ArchiveLimits, ConflictPolicy, pack, unpack};
use proptest::{collection, prelude::*, test_runner::TestRunner};

use crate::files::{
    helpers::{received, runtime, tree, write},
    pack::bytes,
};

#[derive(Debug, Clone)]
struct Spec {
    content: Vec<u8>,
    is_program: bool,
    changed: u64,
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_ .-]{1,12}",
        "[äöüßéñ日本語🙂 ]{1,10}",
        Just("...".to_owned()),
        Just(" ".to_owned()),
        Just("-rf".to_owned()),
        Just("10:30 log.txt".to_owned()),
        Just("x".repeat(255)),
    ]
    .prop_filter("no folder has this name, or it is left out", |part| {
        ![".", ".."].contains(&part.as_str()) && !part.starts_with(".env")
    })
}

fn spec() -> impl Strategy<Value = Spec> {
    let content = prop_oneof![
        Just(Vec::new()),
        collection::vec(any::<u8>(), 0..500),
        (any::<u8>(), 60_000..200_000_usize).prop_map(|(byte, len)| vec![byte; len]),
    ];
    (content, any::<bool>(), 0..2_000_000_000_u64).prop_map(|(content, is_program, changed)| Spec {
        content,
        is_program,
        changed,
    })
}

fn folder() -> impl Strategy<Value = BTreeMap<String, Spec>> {
    let path = collection::vec(part(), 1..6).prop_map(|parts| parts.join("/"));
    collection::btree_map(path, spec(), 1..12).prop_map(|mut files| {
        // A path can't be file and folder at once.
        let names: Vec<_> = files.keys().cloned().collect();
        let is_above = |name: &str| {
            let folder = format!("{name}/");
            names.iter().any(|other| other.starts_with(&folder))
        };
        files.retain(|name, _| !is_above(name));
        files
    })
}

#[test]
fn any_folder_comes_out_as_it_went_in() {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(60)
    };
    let runtime = runtime();
    let round_trip = |files: BTreeMap<String, Spec>| {
        runtime.block_on(async {
            let from = tempfile::tempdir().unwrap();
            for (name, spec) in &files {
                write(from.path(), name, &spec.content);
                let path = from.path().join(name);
                let mode = if spec.is_program { 0o755 } else { 0o644 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
                let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(spec.changed);
                let file = File::options().write(true).open(&path).unwrap();
                file.set_modified(changed).unwrap();
            }
            let packed = pack(from.path(), ArchiveLimits::default(), &[])
                .await
                .unwrap();
            assert!(packed.omitted.is_empty(), "{}", packed.omitted);
            let bundle = packed.bundle.unwrap();
            let count = bundle.offer().file_count;
            let (archive, _parts) = received(&bytes(&bundle, 0).await, count).await;
            let into = tempfile::tempdir().unwrap();
            let target = into.path().join("new");
            unpack(
                &archive,
                &target,
                ConflictPolicy::Refuse,
                ArchiveLimits::default(),
            )
            .await
            .unwrap();
            assert_eq!(tree(&target), tree(from.path()));
            for name in files.keys() {
                let changed = |folder: &std::path::Path| {
                    let file = fs::metadata(folder.join(name)).unwrap();
                    file.modified().unwrap()
                };
                assert_eq!(changed(&target), changed(from.path()), "{name}");
            }
        });
    };
    TestRunner::new(config)
        .run(&folder(), |files| {
            round_trip(files);
            Ok(())
        })
        .unwrap();
}
