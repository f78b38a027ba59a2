//! Finding files that changed behind symbolic links.

use std::{
    fs::File,
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, SystemTime},
};

use jackfield_transfer::changed_since;

use crate::files::helpers::write;

fn is_old(folder: &Path, name: &str) {
    write(folder, name, "old");
    let file = File::options().write(true).open(folder.join(name)).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(long_ago).unwrap();
}

#[tokio::test]
async fn files_that_were_changed_are_named_and_no_others() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "x", "new");
    let folder = tempfile::tempdir().unwrap();
    for name in ["plots/old.txt", "same.txt"] {
        is_old(folder.path(), name);
    }
    for name in ["plots/deep/a.txt", "report.txt", "plots/build/x", "other"] {
        write(folder.path(), name, "new");
    }
    symlink(outside.path(), folder.path().join("plots/out")).unwrap();
    let entries = ["report.txt", "plots", "same.txt", "gone"].map(Into::into);
    let since = SystemTime::now() - Duration::from_secs(60);
    let found = changed_since(folder.path(), entries.into(), since).await;
    let found = found.unwrap();
    assert_eq!(found.to_string(), r#""plots/deep/a.txt", "report.txt""#);
    let later = SystemTime::now() + Duration::from_secs(60);
    let found = changed_since(folder.path(), vec!["plots".into()], later).await;
    assert!(found.unwrap().is_empty());
}

#[tokio::test]
async fn of_many_only_the_first_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..9 {
        write(folder.path(), &format!("all/{at}"), "new");
    }
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let found = changed_since(folder.path(), vec!["all".into()], since).await;
    let found = found.unwrap();
    assert_eq!(found.count(), 9);
    assert!(
        found.to_string().ends_with(r#""all/4" and 4 more"#),
        "{found}"
    );
}
