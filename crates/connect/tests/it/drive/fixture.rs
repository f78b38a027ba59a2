//! Test fixture: a hub, a project folder and a connected agent.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jackfield_connect::{
    ApprovalRequest, CommandSpec, ConnectEvent, ConnectedAgent, Driver, McpServer, OwnerDecision,
    OwnerTerminal, Reaper, Sessions, TerminalDecision,
    attachments::Attachments,
    drivers::{
        claude::Claude,
        exec::{Exec, Format},
    },
    queue::{MachineQueue, QueueLimits},
    workspace::Workspaces,
};
use jackfield_sdk::{Agent, Error, HubAddress};
use jackfield_testkit::{Events, SOON, TestHub};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// A hub, and a machine with a project folder.
pub(crate) struct Fixture {
    pub(crate) hub: TestHub,
    machine: TempDir,
    pub(crate) limits: QueueLimits,
    pub(crate) is_trusted: bool,
    pub(crate) mcp: Option<McpServer>,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        let machine = tempfile::tempdir().unwrap();
        std::fs::create_dir(machine.path().join("project")).unwrap();
        Self {
            hub: TestHub::start().await,
            machine,
            limits: QueueLimits::default(),
            is_trusted: false,
            mcp: None,
        }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.machine.path().join("project")
    }

    /// Folder for partially received archives.
    pub(crate) fn parts(&self) -> PathBuf {
        self.machine.path().join("parts")
    }

    /// Connects a shell script as `bob`.
    pub(crate) async fn shell(&self, script: &str) -> RunningAgent {
        self.exec(script, Format::Text).await
    }

    pub(crate) async fn exec(&self, script: &str, format: Format) -> RunningAgent {
        self.command(&["sh", "-c", script], format).await
    }

    /// Connects a command as `bob`.
    pub(crate) async fn command(&self, words: &[&str], format: Format) -> RunningAgent {
        let reaper = Reaper::new();
        let driver = Exec::new(spec(words), format, reaper.clone());
        self.connect(Arc::new(driver), reaper).await
    }

    /// Connects the stand-in for Claude Code as `bob`.
    pub(crate) async fn claude(&self) -> RunningAgent {
        let reaper = Reaper::new();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_ins/claude");
        let spec = spec(&[program.to_str().unwrap()]);
        let driver = Claude::new(spec, self.is_trusted, reaper.clone());
        self.connect(Arc::new(driver), reaper).await
    }

    async fn connect(&self, driver: Arc<dyn Driver>, reaper: Reaper) -> RunningAgent {
        driver.check().await.unwrap();
        let address = HubAddress::new(&self.hub.url("")).unwrap();
        let (sender, connect_events) = mpsc::channel(1024);
        let (questions, approvals) = mpsc::channel(16);
        let state = self.machine.path();
        let connect = ConnectedAgent {
            agent: Agent::new("bob"),
            queue: MachineQueue::open(state.join("queue"), self.limits).unwrap(),
            workspaces: Workspaces::new(self.project()),
            attachments: Attachments::new(&address, false).unwrap(),
            parts: self.parts(),
            sessions: Sessions::open(state, address.base(), "bob", driver.kind()).unwrap(),
            desk: Arc::new(TestTerminal { questions }),
            is_trusted: self.is_trusted,
            mcp: self.mcp.clone(),
            token: None,
            // The receiver is gone once the test ended.
            listener: Arc::new(move |connect_events| drop(sender.try_send(connect_events))),
            reaper,
            driver,
            address,
        };
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { connect.run_until(stopped.cancelled()).await });
        let mut running = RunningAgent {
            tasks,
            stop,
            connect_events,
            approvals,
        };
        assert!(matches!(running.next_event().await, ConnectEvent::Attached));
        running
    }

    /// Calls `bob` by the hub's own API, and reads the first event.
    pub(crate) async fn call(&self, text: &str) -> OpenCall {
        self.call_with(json!({"text": text, "session": "s-1"}))
            .await
    }

    pub(crate) async fn call_with(&self, body: Value) -> OpenCall {
        let mut events = self.hub.web().stream("/v1/agents/bob/calls", body).await;
        let id = events.next().await["id"].as_str().unwrap().to_owned();
        OpenCall { id, events }
    }

    /// Returns the events of a whole call: adjacent text of one kind joined, then the end.
    pub(crate) async fn transcript(&self, text: &str) -> Vec<(String, String)> {
        self.call(text).await.transcript().await
    }

    /// Waits for a file that a stand-in writes, and returns the file's words.
    pub(crate) async fn wait_for_words(&self, name: &str) -> Vec<String> {
        let path = self.project().join(name);
        let text = poll_until(|| std::fs::read_to_string(&path).ok()).await;
        text.split_whitespace().map(str::to_owned).collect()
    }
}

fn spec(words: &[&str]) -> CommandSpec {
    CommandSpec {
        program: words[0].to_owned(),
        args: words[1..]
            .iter()
            .map(|summary| (*summary).to_owned())
            .collect(),
        ..CommandSpec::default()
    }
}

/// An open call. Dropping it cancels the call.
pub(crate) struct OpenCall {
    pub(crate) id: String,
    pub(crate) events: Events,
}

impl OpenCall {
    pub(crate) async fn transcript(mut self) -> Vec<(String, String)> {
        let mut transcript: Vec<(String, String)> = Vec::new();
        for event in self.events.rest().await {
            let (kind, text) = summary(&event);
            match transcript.last_mut() {
                Some((last, so_far)) if *last == kind && event["type"] == "chunk" => {
                    *so_far += &text;
                }
                _ => transcript.push((kind, text)),
            }
        }
        transcript
    }

    /// Reads up to an event of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.events.next().await;
            if event["type"] == kind {
                return event;
            }
        }
    }
}

/// Shortens an event to kind and text for a chunk, otherwise to type and detail.
fn summary(event: &Value) -> (String, String) {
    let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    match event["type"].as_str().unwrap() {
        "chunk" => {
            let named = text("tool_name") + &text("text");
            (text("kind"), named)
        }
        "failed" => (text("error"), text("message")),
        other => (other.to_owned(), String::new()),
    }
}

/// Pairs of strings, for comparisons.
pub(crate) fn pairs(words: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(one, two): &(&str, &str)| ((*one).to_owned(), (*two).to_owned());
    words.iter().map(own).collect()
}

/// A connected agent.
pub(crate) struct RunningAgent {
    tasks: JoinSet<Result<(), Error>>,
    stop: CancellationToken,
    connect_events: mpsc::Receiver<ConnectEvent>,
    pub(crate) approvals: mpsc::Receiver<(ApprovalRequest, oneshot::Sender<OwnerDecision>)>,
}

impl RunningAgent {
    pub(crate) async fn next_event(&mut self) -> ConnectEvent {
        let connect_events = timeout(SOON, self.connect_events.recv()).await;
        connect_events.expect("news in time").expect("it runs")
    }

    /// Disconnects the agent. Afterwards no started process is left.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        let ended = timeout(SOON, self.tasks.join_next()).await;
        ended.expect("it ends").unwrap().unwrap().unwrap();
    }

    /// Returns the next approval request at the terminal.
    pub(crate) async fn question(&mut self) -> (ApprovalRequest, oneshot::Sender<OwnerDecision>) {
        let approvals = timeout(SOON, self.approvals.recv()).await;
        approvals.expect("a question in time").expect("it runs")
    }
}

/// An approver whose requests the test answers.
#[derive(Debug)]
struct TestTerminal {
    questions: mpsc::Sender<(ApprovalRequest, oneshot::Sender<OwnerDecision>)>,
}

impl OwnerTerminal for TestTerminal {
    fn ask(&self, request: ApprovalRequest) -> TerminalDecision {
        let (answer, answered) = oneshot::channel();
        self.questions.try_send((request, answer)).unwrap();
        Box::pin(async move {
            match answered.await {
                Ok(decision) => decision,
                Err(_) => std::future::pending().await,
            }
        })
    }
}

/// Polls until `look` returns a value; processes and files send no notifications.
pub(crate) async fn poll_until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, looking).await.expect("it happens in time")
}

/// Whether a process runs; a zombie doesn't count.
pub(crate) fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Waits until none of these processes runs.
pub(crate) async fn wait_all_exited(pids: &[String]) {
    poll_until(|| (!pids.iter().any(|pid| is_running(pid))).then_some(())).await;
}

/// Like [`poll_until`], with an asynchronous condition.
pub(crate) async fn poll_until_async(mut look: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !look().await {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, looking).await.expect("it happens in time");
}
