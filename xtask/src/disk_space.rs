//! Check of free disk space, with a clear error instead of twenty odd test failures on a full disk.
//!
//! Asks `df`, which every Unix has. If `df` fails, the check passes.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// Upper bound of the bytes that tests write at one time, with some reserve: databases, and archives of 50 MB
/// several times over.
pub(crate) const NEEDED_BY_TESTS: u64 = 3 << 30;

/// Fails if the disk of `folder` has less than `needed` bytes left.
pub(crate) fn check(folder: &Path, needed: u64) -> Result<()> {
    match free_bytes(folder) {
        Some(free) if free < needed => bail!(
            "the disk of {} has {} left, and {} are needed; `cargo clean` makes room",
            folder.display(),
            gib(free),
            gib(needed)
        ),
        _ => Ok(()),
    }
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let output = Command::new("df")
        .arg("-Pk")
        .arg(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    parse_df(std::str::from_utf8(&output.stdout).ok()?)
}

/// Reads the fourth column of the second line, in bytes; POSIX defines the format.
fn parse_df(table: &str) -> Option<u64> {
    let kib: u64 = table
        .lines()
        .nth(1)?
        .split_whitespace()
        .nth(3)?
        .parse()
        .ok()?;
    kib.checked_mul(1024)
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_disk_is_read_from_its_table() {
        let table = "Filesystem 1024-blocks     Used Available Capacity Mounted on\n\
                     /dev/vda     263174212 14680064  81788928      16% /\n";
        assert_eq!(parse_df(table), Some(81_788_928 * 1024));
        assert_eq!(parse_df(""), None);
        assert_eq!(parse_df("df: no such file"), None);
    }

    #[test]
    fn a_disk_without_room_is_named_with_the_remedy() {
        let here = std::env::temp_dir();
        check(&here, 0).unwrap();
        // Without `df`, every check passes.
        if free_bytes(&here).is_some() {
            let refused = check(&here, u64::MAX).unwrap_err().to_string();
            assert!(refused.contains("cargo clean"), "{refused}");
        }
    }
}
