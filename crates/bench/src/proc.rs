//! Data of Linux about processes and the machine: CPU time in nanoseconds, memory, and the CPU time of other
//! processes, which makes a measurement worthless.

use std::{collections::HashMap, fs, process::Command};

use anyhow::{Context, Result};

/// Length of a tick in `/proc`, which Linux fixes at 1/100 s.
const TICK_NS: u64 = 10_000_000;

/// CPU time of a process so far.
#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    /// CPU time of each thread in nanoseconds; ended threads are missing.
    threads: HashMap<String, u64>,
    /// CPU time of the whole process, in ticks.
    ticks: u64,
}

impl Cpu {
    /// Reads the current CPU time of a process.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let mut threads = HashMap::new();
        let tasks =
            fs::read_dir(format!("/proc/{pid}/task")).context("the server's process is gone")?;
        for task in tasks {
            let name = task?.file_name().to_string_lossy().into_owned();
            // A thread that ends meanwhile is ignored.
            if let Ok(schedstat) = fs::read_to_string(format!("/proc/{pid}/task/{name}/schedstat"))
                && let Some(ns) = nth_number(&schedstat, 0)
            {
                threads.insert(name, ns);
            }
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let ticks = ticks_of_stat(&stat).context("cannot read the CPU time of the server")?;
        Ok(Self { threads, ticks })
    }

    /// Returns the nanoseconds used since `before`.
    pub(crate) fn since(&self, before: &Self) -> u64 {
        let precise = self
            .threads
            .iter()
            .map(|(thread, ns)| ns - before.threads.get(thread).unwrap_or(&0).min(ns))
            .sum::<u64>();
        let coarse = (self.ticks - before.ticks.min(self.ticks)) * TICK_NS;
        // More ticks than rounding explains are the time of threads that ended meanwhile.
        if coarse > precise + 3 * TICK_NS {
            coarse
        } else {
            precise
        }
    }
}

/// Parses user and system ticks from `/proc/PID/stat`, whose second field may contain any text.
fn ticks_of_stat(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    Some(nth_number(rest, 12 - 1)? + nth_number(rest, 13 - 1)?)
}

fn nth_number(text: &str, nth: usize) -> Option<u64> {
    text.split_ascii_whitespace().nth(nth)?.parse().ok()
}

/// Resident memory of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) rss_kib: u64,
    pub(crate) peak_kib: u64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .context("the server's process is gone")?;
        let field = |name| kib_of(&status, name).with_context(|| format!("{name} is missing"));
        Ok(Self {
            rss_kib: field("VmRSS:")?,
            peak_kib: field("VmHWM:")?,
        })
    }
}

/// Resident memory of a process by kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages {
    /// Memory of the process alone: heap and stacks.
    pub(crate) anon_kib: u64,
    /// Pages of files, such as the program itself, which processes share.
    pub(crate) file_kib: u64,
}

impl Pages {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .context("the server's process is gone")?;
        let field = |name| kib_of(&status, name).with_context(|| format!("{name} is missing"));
        Ok(Self {
            anon_kib: field("RssAnon:")?,
            file_kib: field("RssFile:")?,
        })
    }
}

fn kib_of(lines: &str, name: &str) -> Option<u64> {
    lines
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| nth_number(rest, 0))
}

/// Returns the CPU time used by the whole machine in nanoseconds, including time stolen by its host.
pub(crate) fn machine_busy() -> Result<u64> {
    let stat = fs::read_to_string("/proc/stat")?;
    busy_of_stat(&stat).context("cannot read /proc/stat")
}

fn busy_of_stat(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // Fields: user nice system, not idle and iowait, then irq softirq steal.
    [0, 1, 2, 5, 6, 7]
        .into_iter()
        .map(|field| nth_number(line, field))
        .sum::<Option<u64>>()
        .map(|ticks| ticks * TICK_NS)
}

/// Properties of the machine that the results depend on.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
}

impl Machine {
    pub(crate) fn look() -> Self {
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let rustc = Command::new("rustc")
            .arg("--version")
            .output()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: kib_of(&meminfo, "MemTotal:").unwrap_or(0) as f64 / f64::from(1 << 20),
            kernel: version_of(&kernel),
            rustc: version_of(rustc.trim_start_matches("rustc ")),
        }
    }
}

/// Returns the leading version number, without a vendor suffix.
fn version_of(text: &str) -> String {
    let version: String = text
        .chars()
        .take_while(|char| char.is_ascii_digit() || *char == '.')
        .collect();
    if version.is_empty() {
        "unknown".to_owned()
    } else {
        version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_contain_brackets_and_spaces() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0 5 0 0";
        assert_eq!(ticks_of_stat(stat), Some(42));
    }

    #[test]
    fn our_own_cpu_time_grows_while_we_work() {
        let pid = std::process::id();
        let before = Cpu::of(pid).unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 50 {
            std::hint::spin_loop();
        }
        let used = Cpu::of(pid).unwrap().since(&before);
        assert!(used > 5_000_000, "{used}");
        assert!(Memory::of(pid).unwrap().rss_kib > 0);
    }

    #[test]
    fn pages_of_files_do_not_count_as_memory_of_our_own() {
        let (pages, all) = (
            Pages::of(std::process::id()).unwrap(),
            Memory::of(std::process::id()).unwrap(),
        );
        assert!(pages.anon_kib > 0 && pages.file_kib > 0, "{pages:?}");
        assert!(pages.anon_kib < all.peak_kib, "{pages:?} {all:?}");
    }

    #[test]
    fn threads_that_ended_are_counted_by_ticks() {
        let look = |threads: &[(&str, u64)], ticks| Cpu {
            threads: threads
                .iter()
                .map(|(name, ns)| ((*name).to_owned(), *ns))
                .collect(),
            ticks,
        };
        let before = look(&[("1", 5), ("2", 7)], 0);
        assert_eq!(look(&[("1", 25), ("2", 8)], 2).since(&before), 21);
        assert_eq!(look(&[("1", 25)], 10).since(&before), 10 * TICK_NS);
    }

    #[test]
    fn idle_and_waiting_time_is_not_busy() {
        let stat = "cpu  1 2 3 1000 2000 4 5 6 0 0\ncpu0 9 9 9 9\n";
        assert_eq!(busy_of_stat(stat), Some(21 * TICK_NS));
    }

    #[test]
    fn versions_are_shown_without_a_vendor_suffix() {
        assert_eq!(version_of("6.18.44-vendor-v4\n"), "6.18.44");
        assert_eq!(version_of("1.95.0 (59807616e 2026-04-14)"), "1.95.0");
        assert_eq!(version_of(""), "unknown");
    }
}
