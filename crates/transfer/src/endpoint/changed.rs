//! Finds changed files behind links: files outside a folder to which the folder's links lead. Such files are
//! not packed, so the caller should be informed. The search is bounded, because it is a hint and a project
//! may be large.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::endpoint::{
    dir::{Dir, EntryKind},
    excluded,
    names::NameList,
    work::{CancelFlag, blocking},
};

/// Most entries examined.
const MOST: usize = 20_000;
/// Most levels of folders.
const DEEP: usize = 16;
/// Tolerance for a file system clock that lags by some ticks.
const TICK: Duration = Duration::from_millis(20);

/// Returns the [`NameList`] of files below `folder` that were changed after `since`, within the given `entries` of the
/// folder.
pub async fn changed_since(
    folder: &Path,
    entries: Vec<OsString>,
    since: SystemTime,
) -> io::Result<NameList> {
    let folder = folder.to_owned();
    blocking(move |wanted| {
        let mut search = ChangeSearch {
            since: since - TICK,
            left: MOST,
            found: NameList::default(),
            wanted,
        };
        search.folder(&Dir::open(&folder)?, entries, "", 0)?;
        Ok(search.found)
    })
    .await?
}

struct ChangeSearch<'a> {
    since: SystemTime,
    left: usize,
    found: NameList,
    wanted: &'a CancelFlag,
}

impl ChangeSearch<'_> {
    fn folder(
        &mut self,
        dir: &Dir,
        mut names: Vec<OsString>,
        path: &str,
        depth: usize,
    ) -> io::Result<()> {
        names.sort_unstable();
        for name in names {
            self.wanted.check()?;
            let Some(left) = self.left.checked_sub(1) else {
                return Ok(());
            };
            self.left = left;
            // An unreadable entry must not hide the rest.
            self.entry(dir, &name, path, depth).ok();
        }
        Ok(())
    }

    fn entry(&mut self, dir: &Dir, name: &OsStr, path: &str, depth: usize) -> io::Result<()> {
        match dir.kind(name)? {
            Some(EntryKind::File)
                if !excluded::file(name)
                    && dir.changed_at(name)?.is_some_and(|at| at >= self.since) =>
            {
                let named = || format!("{:?}", format!("{path}{}", name.display()));
                self.found.add(named);
            }
            Some(EntryKind::Folder) if depth < DEEP && !excluded::folder(name) => {
                let inner = dir.folder(name)?;
                let names = inner.names()?;
                self.folder(
                    &inner,
                    names,
                    &format!("{path}{}/", name.display()),
                    depth + 1,
                )?;
            }
            _ => {}
        }
        Ok(())
    }
}
