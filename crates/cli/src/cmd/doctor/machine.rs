//! Checks of the machine: disk, file limit, clock.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::process::{Resource, getrlimit};

use super::Finding;
use jackfield_hub::config::HubConfig;

use crate::size::format_size;

/// Minimum of free bytes; with less, a database cannot even compact itself.
const DISK_LEAST: u64 = 100 << 20;
/// Files that a hub needs besides its connections: store, outbound calls, standard streams.
const FILES_BESIDES: u64 = 200;
/// Earliest plausible time: 2026-01-01.
const CLOCK_LEAST: Duration = Duration::from_secs(1_767_225_600);
/// Allowed lead of a file's time: file systems round.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

/// Checks that the disk has room for stored tasks.
pub(super) fn disk(config: &HubConfig) -> Option<Finding> {
    let check = "disk";
    // The directory may not exist yet; its nearest ancestor is most likely on the same disk.
    let place = config.data_dir.ancestors().find(|path| path.is_dir())?;
    let stat = rustix::fs::statvfs(place).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let found = format!(
        "{} free for {}",
        format_size(free),
        config.data_dir.display()
    );
    let remedy = "free some space, or store less with limits.tasks_total and limits.task_kept";
    Some(if free < DISK_LEAST {
        Finding::fail(check, found, remedy)
    } else if free < config.limits.tasks_total.0 as u64 {
        let wanted = format!(
            "{found}; limits.tasks_total is {}",
            config.limits.tasks_total
        );
        Finding::warn(check, wanted, remedy)
    } else {
        Finding::ok(check, found)
    })
}

/// Checks that the limit of open files allows the configured connections.
pub(super) fn file_limit(connections: usize) -> Finding {
    let wanted = connections as u64 + FILES_BESIDES;
    judge_files(getrlimit(Resource::Nofile).current, wanted, connections)
}

fn judge_files(limit: Option<u64>, wanted: u64, connections: usize) -> Finding {
    let check = "file limit";
    match limit {
        Some(limit) if limit < wanted => Finding::warn(
            check,
            format!("{limit} open files, and limits.connections is {connections}"),
            format!(
                "ulimit -n {wanted} before serve, or LimitNOFILE={wanted} for systemd, or lower limits.connections"
            ),
        ),
        Some(limit) => Finding::ok(check, format!("{limit} open files")),
        None => Finding::ok(check, "no limit"),
    }
}

/// Checks that the clock is set, and not behind the last write of the hub.
pub(super) fn clock(data_dir: &Path) -> Finding {
    let newest = ["jackfield.db", "jackfield.db-wal"]
        .iter()
        .filter_map(|name| fs::metadata(data_dir.join(name)).ok()?.modified().ok())
        .max();
    judge_clock(SystemTime::now(), newest)
}

fn judge_clock(now: SystemTime, newest: Option<SystemTime>) -> Finding {
    let check = "clock";
    let remedy = "set it, for example with: timedatectl set-ntp true";
    if now < SystemTime::UNIX_EPOCH + CLOCK_LEAST {
        return Finding::fail(check, "the clock is not set", remedy);
    }
    match newest {
        Some(newest) if newest > now + CLOCK_SLACK => {
            let found = "the clock is behind the last write of the database";
            Finding::fail(check, found, remedy)
        }
        _ => Finding::ok(check, "set"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::doctor::CheckResult;

    #[test]
    fn too_few_files_are_a_warning_that_names_the_number() {
        let finding = judge_files(Some(1024), 18_200, 18_000);
        assert_eq!(finding.verdict, CheckResult::Warn);
        assert!(finding.remedy.unwrap().contains("18200"));
        assert_eq!(
            judge_files(Some(20_000), 18_200, 18_000).verdict,
            CheckResult::Ok
        );
        assert_eq!(judge_files(None, 18_200, 18_000).verdict, CheckResult::Ok);
    }

    #[test]
    fn a_clock_that_is_not_set_or_runs_behind_fails() {
        let now = SystemTime::UNIX_EPOCH + CLOCK_LEAST * 2;
        assert_eq!(judge_clock(now, None).verdict, CheckResult::Ok);
        assert_eq!(judge_clock(now, Some(now)).verdict, CheckResult::Ok);
        let ahead = now + CLOCK_SLACK * 2;
        assert_eq!(judge_clock(now, Some(ahead)).verdict, CheckResult::Fail);
        let unset = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        assert_eq!(judge_clock(unset, None).verdict, CheckResult::Fail);
    }
}
