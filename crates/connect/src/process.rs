//! A program that was started for the agent: a process group of its own, ended when it is dropped. What it prints is read
//! by whoever started it; the end of what it complains about is kept for the error text.

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

use jackfield_sdk::Failure;
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
    lines::{Line, Lines},
};

/// What the agent is told to have done if it died or spoke nonsense.
pub(crate) const CRASHED: &str = "adapter_crash";
/// The longest line that is taken of what a program complains about.
const LONGEST_COMPLAINT: usize = 64 << 10;
/// How much of the end of it is kept.
const TAIL: usize = 4 << 10;
/// How many lines of it may wait for whoever reads them, before the program has to wait.
const WAITING: usize = 64;
/// How long output may stay silent once the group has ended, before it counts as ended: somebody who left the group may
/// hold it open for ever.
const SILENCE: Duration = Duration::from_millis(500);

/// What to start, and where.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    /// The program, as it was typed: its path, or a name that the search path knows.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder that it works in.
    pub dir: PathBuf,
    /// What it finds in its environment besides what is passed on of ours.
    pub env: Vec<(String, String)>,
    /// What is passed on of ours besides the usual.
    pub pass: Vec<String>,
    /// Whether somebody reads what it complains about, with [`Process::complaint`].
    pub complaints: bool,
}

impl Spec {
    /// Where the program is.
    pub fn find(&self) -> Result<PathBuf, Failure> {
        locate(&self.program).ok_or_else(|| {
            let text = format!(
                "there is no program {:?}; install it, or give its path",
                self.program
            );
            Failure::new(CRASHED, text)
        })
    }
}

/// A program that runs. Dropping it ends it, with everything that it has started.
#[derive(Debug)]
pub struct Process {
    /// Where it reads from; taken or dropped by whoever is done with it.
    pub stdin: Option<ChildStdin>,
    /// What it prints; taken once.
    pub stdout: Option<Output<ChildStdout>>,
    complaints: mpsc::Receiver<String>,
    tail: Arc<Mutex<Tail>>,
    /// All that it complained about is in the tail.
    heard: CancellationToken,
    exited: watch::Receiver<Option<Exit>>,
    let_go: CancellationToken,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.let_go.cancel();
    }
}

impl Process {
    /// Starts a program.
    pub fn start(spec: &Spec, reaper: &Reaper) -> Result<Self, Failure> {
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
            // Only if the runtime itself is gone.
            .kill_on_drop(true);
        let cannot = |error: &dyn fmt::Display| {
            Failure::new(CRASHED, format!("cannot start {}: {error}", spec.program))
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
        let stdout = Some(Output::new(stdout, watched.gone.clone()));
        let tail = Arc::new(Mutex::new(Tail::default()));
        let heard = CancellationToken::new();
        let (tell, complaints) = mpsc::channel(WAITING);
        let listening = listen(
            Output::new(stderr, watched.gone.clone()),
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

    /// The next line that it complains about; nothing at the end, or if nobody wanted to read them.
    pub async fn complaint(&mut self) -> Option<String> {
        self.complaints.recv().await
    }

    /// How it ended, when it has.
    pub async fn exit(&self) -> Exit {
        self.exited().await
    }

    /// How it ended, when it has, for somebody who does not hold it.
    pub fn exited(&self) -> impl Future<Output = Exit> + Send + 'static {
        let mut exited = self.exited.clone();
        async move {
            match exited.wait_for(Option::is_some).await {
                Ok(exit) => exit.unwrap_or_else(Exit::unknown),
                Err(_) => Exit::unknown(),
            }
        }
    }

    /// The end of what it complained about so far.
    pub fn tail(&self) -> String {
        self.tail.lock().text()
    }

    /// Waits for its end and tells it as a failure, with the end of what it complained about.
    pub async fn crash(&mut self, what: &str) -> Failure {
        let exit = self.exit().await;
        // Nobody else needs what is still on its way.
        self.complaints.close();
        self.heard.cancelled().await;
        let tail = self.tail();
        let text = match tail.is_empty() {
            true => format!("{what} ended with {exit}"),
            false => format!("{what} ended with {exit}: {tail}"),
        };
        Failure::new(CRASHED, text)
    }
}

/// Reads what a program complains about, so that it never has to wait for somebody who does not want to know.
async fn listen(
    stderr: Output<ChildStderr>,
    tail: Arc<Mutex<Tail>>,
    mut tell: Option<mpsc::Sender<String>>,
    heard: CancellationToken,
) {
    let mut lines = Lines::at_most(stderr, LONGEST_COMPLAINT);
    // Output that cannot be read is like output that has ended.
    while let Ok(Some(line)) = lines.next().await {
        let line = match line {
            Line::Text(line) => line,
            Line::TooLong { bytes } => too_long(bytes),
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

/// What is said in place of a line that is too long.
pub(crate) fn too_long(bytes: u64) -> String {
    format!("(a line of {bytes} bytes is left out: it is too long)")
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, if it has one.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// It is gone, and nobody knows how.
    pub(crate) fn unknown() -> Self {
        Self {
            code: None,
            signal: None,
        }
    }

    /// Whether all went well.
    pub fn is_success(self) -> bool {
        self.code == Some(0)
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: status.signal(),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("no exit code"),
        }
    }
}

/// The end of a text of lines.
#[derive(Debug, Default)]
struct Tail(String);

impl Tail {
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

/// Output of a process. It ends when nobody can write to it any more, and soon after the whole group has ended.
#[derive(Debug)]
pub struct Output<R> {
    source: R,
    gone: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Runs once the group is gone.
    silence: Option<Pin<Box<Sleep>>>,
}

impl<R> Output<R> {
    fn new(source: R, gone: CancellationToken) -> Self {
        Self {
            source,
            gone: Box::pin(gone.cancelled_owned()),
            silence: None,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Output<R> {
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
            // Polled again by nobody once it is ready.
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

/// The path of a program as it was typed: where it is, or where the search path has it.
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
