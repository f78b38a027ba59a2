//! Runs the binary: to its end, or line by line.

use std::{ffi::OsStr, path::Path, process::Stdio, sync::Arc, time::Duration};

use jackfield_testkit::{SOON, TestHub};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    time::timeout,
};

/// The binary with its own home and environment.
pub(crate) struct Cli {
    home: Arc<TempDir>,
    hub: String,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Checks the exit code.
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Checks for success.
    pub(crate) fn ok(self) -> Self {
        self.code(0)
    }

    /// Checks that standard error contains a text.
    pub(crate) fn stderr_has(self, text: &str) -> Self {
        assert!(self.err.contains(text), "{text:?} is not in {self:?}");
        self
    }

    /// Standard output as a JSON object.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

impl Cli {
    /// A client of a hub.
    pub(crate) fn new(hub: &TestHub) -> Self {
        Self::at(&hub.url(""))
    }

    /// A client of a hub at this URL.
    pub(crate) fn at(hub: &str) -> Self {
        Self {
            home: Arc::new(tempfile::tempdir().expect("a temporary folder")),
            hub: hub.to_owned(),
        }
    }

    /// The same home, with another hub.
    pub(crate) fn at_hub(self, hub: &str) -> Self {
        Self {
            hub: hub.to_owned(),
            ..self
        }
    }

    /// Lets the hubs of this home listen for peers on any free port. A hub that starts again at a fixed address would
    /// otherwise need the port above it, which another program may have by then.
    pub(crate) fn with_any_peer_port(self) -> Self {
        let config = "[p2p]\nlisten = [\"/ip4/127.0.0.1/tcp/0\"]\n";
        std::fs::write(self.home().join("jackfield.toml"), config).expect("a file");
        self
    }

    /// The home, which is also the working directory.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The command, isolated from the outer environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jackfield"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("JACKFIELD_HUB", &self.hub)
            .current_dir(self.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs the binary to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Run {
        end(self.command(args)).await
    }

    /// Runs the binary to its end, with an additional environment variable.
    pub(crate) async fn run_with(
        &self,
        name: &str,
        value: impl AsRef<OsStr>,
        args: &[&str],
    ) -> Run {
        let mut command = self.command(args);
        command.env(name, value);
        end(command).await
    }

    /// Runs the binary to its end, with this standard input.
    pub(crate) async fn run_on(&self, input: &[u8], args: &[&str]) -> Run {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stdin = child.stdin.take().expect("it is piped");
        // The program may ignore its standard input.
        stdin.write_all(input).await.ok();
        drop(stdin);
        let output = timeout(SOON, child.wait_with_output()).await;
        run_from(output.expect("it ends").expect("it runs"))
    }

    /// Starts a command of [`command`](Self::command).
    pub(crate) fn start_command(&self, mut command: Command) -> Running {
        let mut child = command.spawn().expect("the binary runs");
        let out = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let err = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        Running {
            child,
            out,
            err,
            patience: SOON,
            _home: self.home.clone(),
        }
    }

    /// Starts the binary.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        self.start_command(self.command(args))
    }
}

async fn end(mut command: Command) -> Run {
    let output = timeout(SOON, command.output()).await;
    run_from(output.expect("it ends").expect("the binary runs"))
}

fn run_from(output: std::process::Output) -> Run {
    Run {
        code: output.status.code().expect("it was not killed"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// A running process.
pub(crate) struct Running {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
    /// Timeout for a line.
    pub(crate) patience: Duration,
    /// Kept as long as the program runs.
    _home: Arc<TempDir>,
}

impl Running {
    /// Returns the next line of standard output, or `None` at its end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let line = timeout(self.patience, self.out.next_line()).await;
        line.expect("no line came in time").expect("text")
    }

    /// Waits for a line of standard output with this beginning.
    pub(crate) async fn until_line(&mut self, begin: &str) -> String {
        loop {
            let line = self.line().await;
            let line = line.unwrap_or_else(|| panic!("it ended without {begin:?}"));
            if line.starts_with(begin) {
                return line;
            }
        }
    }

    /// Returns the next line of standard output as JSON.
    pub(crate) async fn json(&mut self) -> Value {
        let line = self.line().await.expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Returns the next line of standard error, or `None` at its end.
    pub(crate) async fn err_line(&mut self) -> Option<String> {
        let line = timeout(self.patience, self.err.next_line()).await;
        line.expect("no line came in time").expect("text")
    }

    /// Reads standard error up to a line with this text.
    pub(crate) async fn until_it_says(&mut self, text: &str) -> String {
        loop {
            let line = self.err_line().await;
            let line = line.unwrap_or_else(|| panic!("it ended without saying {text:?}"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The process id.
    pub(crate) fn pid(&self) -> Pid {
        let pid = self
            .child
            .id()
            .and_then(|pid| Pid::from_raw(pid.cast_signed()));
        pid.expect("it runs")
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it can be told");
    }

    /// Waits for the end and returns the unread output.
    pub(crate) async fn end(mut self) -> Run {
        let status = timeout(SOON, self.child.wait()).await;
        let status = status.expect("it ends").expect("it runs");
        let (mut out, mut err) = (String::new(), String::new());
        while let Some(line) = self.line().await {
            out += &(line + "\n");
        }
        while let Some(line) = self.err_line().await {
            err += &(line + "\n");
        }
        Run {
            code: status.code().unwrap_or(-1),
            out,
            err,
        }
    }
}
