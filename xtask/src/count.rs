//! Counts tests from the output of `cargo nextest` and `cargo test` while showing the output live.
//!
//! [`run_and_count`] runs a command, forwards both output streams line by line, and reads the summary lines. The exit
//! status alone decides whether a step failed, never the [`TestCount`].

use std::io::{BufRead, BufReader, Read, Write};
use std::ops::AddAssign;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result};

/// Time to wait for remaining output after a command has ended. Matters only if a test left a process behind
/// that inherited the output.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);

/// Numbers of passed and failed tests.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct TestCount {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl AddAssign for TestCount {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl std::fmt::Display for TestCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Runs `command`, shows the output live, and returns the status with the [`TestCount`] of reported tests.
pub(crate) fn run_and_count(command: Command) -> Result<(ExitStatus, TestCount)> {
    run_and_count_into(command, std::io::stdout(), std::io::stderr())
}

fn run_and_count_into(
    mut command: Command,
    stdout: impl Write + Send + 'static,
    stderr: impl Write + Send + 'static,
) -> Result<(ExitStatus, TestCount)> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("the command could not be started")?;
    let readers = [
        child.stdout.take().map(|stream| forward(stream, stdout)),
        child.stderr.take().map(|stream| forward(stream, stderr)),
    ];
    let status = child.wait().context("the command was lost")?;
    let mut count = TestCount::default();
    for reader in readers.into_iter().flatten() {
        match reader.recv_timeout(OUTPUT_TIMEOUT) {
            Ok(counted) => count += counted,
            Err(_) => {
                eprintln!("xtask: a process that outlived its test still holds the output");
            }
        }
    }
    Ok((status, count))
}

/// Copies one stream to the other in a separate thread; sends the [`TestCount`] when the stream ends.
fn forward(
    from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
) -> Receiver<TestCount> {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut count = TestCount::default();
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            count += count_of_line(&String::from_utf8_lossy(&line));
            // The reader of our output may be gone; the tests run to their end all the same.
            to.write_all(&line).and_then(|()| to.flush()).ok();
            line.clear();
        }
        sender.send(count).ok();
    });
    receiver
}

/// Returns the numbers of a summary line; zeros for all other lines.
fn count_of_line(line: &str) -> TestCount {
    let line = without_colours(line);
    // At the margin only: nextest indents the output of a failed test, which may contain a summary too.
    if let Some(rest) = line.strip_prefix("test result:") {
        // `test result: ok. 5 passed; 0 failed; 1 ignored; …`
        let numbers = rest.split_once(". ").map_or("", |(_verdict, rest)| rest);
        return count_of_parts(numbers.split(';'));
    }
    let line = line.trim();
    if line.starts_with("Summary [")
        && let Some((_, numbers)) = line.split_once(" run: ")
    {
        // `Summary [ 0.1s] 6 tests run: 3 passed (1 slow, 1 flaky), 2 failed, 1 timed out, 0 skipped`
        return count_of_parts(without_brackets(numbers).split(','));
    }
    TestCount::default()
}

fn count_of_parts<'a>(parts: impl Iterator<Item = &'a str>) -> TestCount {
    let mut count = TestCount::default();
    for part in parts {
        let Some((number, what)) = part.trim().split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match what.trim() {
            "passed" => count.passed += number,
            "failed" | "timed out" | "exec failed" => count.failed += number,
            _ => {}
        }
    }
    count
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|character| match character {
            '(' => {
                depth += 1;
                false
            }
            ')' => {
                depth = depth.saturating_sub(1);
                false
            }
            _ => depth == 0,
        })
        .collect()
}

/// Removes terminal colours: escape, `[`, parameters, a letter.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            characters.find(|c| c.is_ascii_alphabetic());
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(line: &str) -> (u64, u64) {
        let count = count_of_line(line);
        (count.passed, count.failed)
    }

    #[test]
    fn cargo_test_result_lines_are_counted() {
        let line = "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(counted(line), (5, 0));
        let line = "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(counted(line), (4, 2));
    }

    #[test]
    fn nextest_summary_lines_are_counted() {
        assert_eq!(
            counted("     Summary [   0.003s] 12 tests run: 12 passed, 0 skipped"),
            (12, 0)
        );
        assert_eq!(
            counted("     Summary [   0.003s] 1 test run: 1 passed, 0 skipped"),
            (1, 0)
        );
    }

    #[test]
    fn every_way_to_fail_in_nextest_counts_as_failed() {
        let line = "Summary [ 121.5s] 9/12 tests run: 4 passed (1 slow, 2 flaky), 2 failed (1 due to being leaky), 2 timed out, 1 exec failed, 3 skipped";
        assert_eq!(counted(line), (4, 5));
    }

    #[test]
    fn colours_do_not_hide_a_summary() {
        let line = "\u{1b}[32;1m     Summary\u{1b}[0m [   0.003s] \u{1b}[1m2\u{1b}[0m tests run: \u{1b}[1m2\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m skipped";
        assert_eq!(counted(line), (2, 0));
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "",
            "running 3 tests",
            "test it_works ... ok",
            "a log that says test result: ok. 5 passed; 0 failed",
            "    test result: FAILED. 0 passed; 1 failed; 0 ignored",
            "Summary of the day: 5 passed",
        ] {
            assert_eq!(counted(line), (0, 0), "{line}");
        }
    }

    #[test]
    fn both_streams_of_a_watched_command_are_counted() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo 'test result: ok. 2 passed; 0 failed'; echo 'Summary [ 1s] 3 tests run: 2 passed, 1 failed' >&2; exit 3",
        ]);
        // Into a sink: if shown, these lines would be counted by the run that executes this test.
        let (status, count) =
            run_and_count_into(command, std::io::sink(), std::io::sink()).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(
            count,
            TestCount {
                passed: 4,
                failed: 1
            }
        );
    }

    #[test]
    fn a_count_reads_as_the_closing_line() {
        let count = TestCount {
            passed: 41,
            failed: 0,
        };
        assert_eq!(count.to_string(), "41 passed, 0 failed");
    }
}
