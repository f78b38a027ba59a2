//! A program started for the agent, in a process group of its own and ended on drop. The starter reads its
//! standard output. The tail of its standard error is kept for error texts.

use std::{
    env, fmt, io,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    pin::Pin,
    process::{ExitStatus, Stdio},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use jackfield_sdk::AgentFailure;
use parking_lot::Mutex;
use rustix::process::Pid;
use tokio::{
    io::{AsyncRead, ReadBuf},
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    sync::{mpsc, watch},
    time::{self, Sleep},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{
    Reaper, environment,
    lines::{LineReader, OutputLine},
};

/// Failure code of an agent that died or sent invalid output.
pub(crate) const CRASHED: &str = "adapter_crash";
/// Longest line of standard error that is kept, in bytes.
const LONGEST_COMPLAINT: usize = 64 << 10;
/// Bytes of standard error that are kept for error texts.
const TAIL: usize = 4 << 10;
/// Lines of standard error that may wait for the reader before the program blocks.
const WAITING: usize = 64;
/// How long output may stay silent after the process group has ended, before the output counts as ended. A
/// process that left the group may hold the pipe open forever.
const SILENCE: Duration = Duration::from_millis(500);

/// Program for [`ChildProcess::start`], with arguments, folder and environment.
#[derive(Debug, Clone, Default)]
pub struct CommandSpec {
    /// The program as typed: a path, or a name in `PATH`.
    pub program: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Working folder.
    pub dir: PathBuf,
    /// Environment variables, besides those passed on from this program.
    pub env: Vec<(String, String)>,
    /// Names of variables to pass on from this program, besides the usual.
    pub pass: Vec<String>,
    /// Whether standard error is read with [`ChildProcess::next_stderr_line`].
    pub complaints: bool,
}

impl CommandSpec {
    /// Returns the path of the program.
    pub fn find(&self) -> Result<PathBuf, AgentFailure> {
        locate(&self.program).ok_or_else(|| {
            let text = format!(
                "there is no program {:?}; install it, or give its path",
                self.program
            );
            AgentFailure::new(CRASHED, text)
        })
    }
}

/// A running program, watched by a [`Reaper`]. Dropping it ends the program and all of its children.
#[derive(Debug)]
pub struct ChildProcess {
    /// Standard input; taken, or dropped to close it.
    pub stdin: Option<ChildStdin>,
    /// Standard output; taken once.
    pub stdout: Option<ProcessOutput<ChildStdout>>,
    complaints: mpsc::Receiver<String>,
    tail: Arc<Mutex<StderrTail>>,
    /// Cancelled when all of standard error is in `tail`.
    heard: CancellationToken,
    exited: watch::Receiver<Option<ProcessExit>>,
    let_go: CancellationToken,
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.let_go.cancel();
    }
}

impl ChildProcess {
    /// Starts a program.
    pub fn start(spec: &CommandSpec, reaper: &Reaper) -> Result<Self, AgentFailure> {
        let mut command = Command::new(spec.find()?);
        command
            .args(&spec.args)
            .current_dir(&spec.dir)
            .env_clear()
            .envs(environment::passed_on(&spec.pass))
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            // Takes effect only if the runtime itself is gone.
            .kill_on_drop(true);
        let cannot = |error: &dyn fmt::Display| {
            AgentFailure::new(CRASHED, format!("cannot start {}: {error}", spec.program))
        };
        let mut child = command.spawn().map_err(|error| cannot(&error))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let (Some(group), Some(stdout), Some(stderr)) =
            (group, child.stdout.take(), child.stderr.take())
        else {
            return Err(cannot(&"it ended before it began"));
        };
        let stdin = child.stdin.take();
        let watched = reaper.watch(child, group);
        let stdout = Some(ProcessOutput::new(stdout, watched.gone.clone()));
        let tail = Arc::new(Mutex::new(StderrTail::default()));
        let heard = CancellationToken::new();
        let (tell, complaints) = mpsc::channel(WAITING);
        let listening = read_stderr(
            ProcessOutput::new(stderr, watched.gone.clone()),
            tail.clone(),
            spec.complaints.then_some(tell),
            heard.clone(),
        );
        reaper.tasks.spawn(listening);
        Ok(Self {
            stdin,
            stdout,
            complaints,
            tail,
            heard,
            exited: watched.exited,
            let_go: watched.let_go,
        })
    }

    /// Waits for the next line of standard error. Returns `None` at the end, or if [`CommandSpec::complaints`] is
    /// off.
    pub async fn next_stderr_line(&mut self) -> Option<String> {
        self.complaints.recv().await
    }

    /// Waits for the exit of the process.
    pub async fn exit(&self) -> ProcessExit {
        self.exited().await
    }

    /// Like [`exit`](Self::exit), without borrowing the process.
    pub fn exited(&self) -> impl Future<Output = ProcessExit> + Send + 'static {
        let mut exited = self.exited.clone();
        async move {
            match exited.wait_for(Option::is_some).await {
                Ok(exit) => exit.unwrap_or_else(ProcessExit::unknown),
                Err(_) => ProcessExit::unknown(),
            }
        }
    }

    /// Returns the tail of standard error so far.
    pub fn tail(&self) -> String {
        self.tail.lock().text()
    }

    /// Waits for the exit and returns it as a failure, with the tail of standard error.
    pub async fn crash(&mut self, what: &str) -> AgentFailure {
        let exit = self.exit().await;
        // Discard unread lines, so that the reader of standard error can finish.
        self.complaints.close();
        self.heard.cancelled().await;
        let tail = self.tail();
        let text = match tail.is_empty() {
            true => format!("{what} ended with {exit}"),
            false => format!("{what} ended with {exit}: {tail}"),
        };
        AgentFailure::new(CRASHED, text)
    }
}

/// Reads standard error continuously, so that the program never blocks on a missing reader.
async fn read_stderr(
    stderr: ProcessOutput<ChildStderr>,
    tail: Arc<Mutex<StderrTail>>,
    mut tell: Option<mpsc::Sender<String>>,
    heard: CancellationToken,
) {
    let mut lines = LineReader::at_most(stderr, LONGEST_COMPLAINT);
    // A read error counts as the end of the output.
    while let Ok(Some(line)) = lines.next().await {
        let line = match line {
            OutputLine::Text(line) => line,
            OutputLine::TooLong { bytes } => too_long(bytes),
        };
        tail.lock().push(&line);
        if let Some(there) = &tell
            && there.send(line).await.is_err()
        {
            tell = None;
        }
    }
    heard.cancel();
}

/// Returns a placeholder for a line that is too long.
pub(crate) fn too_long(bytes: u64) -> String {
    format!("(a line of {bytes} bytes is left out: it is too long)")
}

/// How a [`ChildProcess`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessExit {
    /// Exit code, if any.
    pub code: Option<i32>,
    /// Signal that ended the process.
    pub signal: Option<i32>,
}

impl ProcessExit {
    /// Creates an exit without details.
    pub(crate) fn unknown() -> Self {
        Self {
            code: None,
            signal: None,
        }
    }

    /// Returns whether the exit code is 0.
    pub fn is_success(self) -> bool {
        self.code == Some(0)
    }
}

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: status.signal(),
        }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("no exit code"),
        }
    }
}

/// The last bytes of a text of lines.
#[derive(Debug, Default)]
struct StderrTail(String);

impl StderrTail {
    fn push(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
        if self.0.len() > TAIL {
            let cut = self.0.ceil_char_boundary(self.0.len() - TAIL);
            self.0.drain(..cut);
        }
    }

    fn text(&self) -> String {
        self.0.trim().to_owned()
    }
}

/// An output pipe of a [`ChildProcess`]. Ends when all writers have closed it, or shortly after the process group has
/// ended.
#[derive(Debug)]
pub struct ProcessOutput<R> {
    source: R,
    gone: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Timer that runs once the group is gone.
    silence: Option<Pin<Box<Sleep>>>,
}

impl<R> ProcessOutput<R> {
    fn new(source: R, gone: CancellationToken) -> Self {
        Self {
            source,
            gone: Box::pin(gone.cancelled_owned()),
            silence: None,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ProcessOutput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(read) = Pin::new(&mut self.source).poll_read(cx, buf) {
            self.silence = None;
            return Poll::Ready(read);
        }
        let this = &mut *self;
        if this.silence.is_none() {
            if this.gone.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            // A future must not be polled again after completion.
            this.gone = Box::pin(gone_already());
        }
        let silence = this
            .silence
            .get_or_insert_with(|| Box::pin(time::sleep(SILENCE)));
        silence.as_mut().poll(cx).map(Ok)
    }
}

fn gone_already() -> WaitForCancellationFutureOwned {
    let token = CancellationToken::new();
    token.cancel();
    token.cancelled_owned()
}

/// Returns the path of a program as typed: a path, or a name in `PATH`.
fn locate(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        let path = std::path::absolute(program).ok()?;
        return is_executable(&path).then_some(path);
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests;
