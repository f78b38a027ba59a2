//! Runs commands without showing their output, with a time limit, and with a one-line reason for a failure.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Interval for checking a running command.
const POLL: Duration = Duration::from_millis(50);

/// Checks whether a program starts and succeeds.
pub(super) fn runs_successfully(program: &str, args: &[&str]) -> Result<(), ()> {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(()),
    }
}

/// Returns the first line of a program's `--version`; `None` if the program is not installed.
pub(super) fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// Runs a command without showing the output, and kills the command after `limit`.
pub(super) fn run_quietly(command: &mut Command, limit: Duration) -> Result<(), String> {
    let name = crate::workspace::command_line(command);
    let name: Vec<_> = name
        .split(' ')
        .take_while(|word| !word.starts_with('/'))
        .take(4)
        .collect();
    let name = name.join(" ");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{name}` cannot be started: {error}"))?;
    let complaints = child.stderr.take().map(|mut stream| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).ok();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    });
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(None) => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("`{name}` took longer than {} s", limit.as_secs()));
            }
            Err(error) => return Err(format!("`{name}` was lost: {error}")),
        }
    };
    if status.success() {
        return Ok(());
    }
    let complaints = complaints
        .and_then(|thread| thread.join().ok())
        .unwrap_or_default();
    let complaint = most_useful_line(&complaints).unwrap_or("it gave no reason");
    Err(format!("`{name}` failed: {complaint}"))
}

/// Returns the most useful line: the first line with the word error, else the last line.
fn most_useful_line(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines()
        .find(|line| line.to_lowercase().contains("error"))
        .or_else(|| lines().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than these commands take.
    const LIMIT: Duration = Duration::from_secs(300);

    #[test]
    fn a_command_that_hangs_is_ended() {
        let problem = run_quietly(Command::new("sleep").arg("60"), Duration::ZERO);
        assert_eq!(problem, Err("`sleep 60` took longer than 0 s".to_owned()));
    }

    #[test]
    fn a_failed_command_tells_its_reason() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo working >&2; echo ERROR: no such package >&2; echo see the log >&2; exit 1",
        ]);
        let problem = run_quietly(&mut command, LIMIT).unwrap_err();
        assert!(
            problem.ends_with("failed: ERROR: no such package"),
            "{problem}"
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let mut command = Command::new("jackfield-no-such-program");
        let problem = run_quietly(&mut command, LIMIT).unwrap_err();
        assert!(
            problem.starts_with("`jackfield-no-such-program` cannot be started"),
            "{problem}"
        );
    }
}
