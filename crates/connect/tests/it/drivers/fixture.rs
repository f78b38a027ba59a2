//! Test fixture: a hub, and a local agent connected by the driver under test. Callers use the hub's own API in raw
//! JSON.

use std::{path::Path, sync::Arc, time::Duration};

use jackfield_connect::{
    ApprovalRequest, ConnectEvent, ConnectedAgent, Driver, McpServer, OwnerDecision, OwnerTerminal,
    Reaper, Sessions, TerminalDecision,
    attachments::Attachments,
    queue::{MachineQueue, QueueLimits},
    workspace::Workspaces,
};
use jackfield_sdk::{Agent, Error, HubAddress};
use jackfield_testkit::{Events, TestHub};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::Notify, task::JoinSet};

/// The agent's id.
pub(crate) const AGENT: &str = "amy";

/// A hub and a folder.
pub(crate) struct Fixture {
    pub(crate) hub: TestHub,
    folder: TempDir,
    is_trusted: bool,
    fixed_decision: Option<bool>,
}

/// An approver with a fixed answer, or none.
#[derive(Debug)]
struct FixedApprover(Option<bool>);

impl OwnerTerminal for FixedApprover {
    fn ask(&self, _: ApprovalRequest) -> TerminalDecision {
        let decision = self.0;
        Box::pin(async move {
            match decision {
                Some(approved) => OwnerDecision {
                    approved,
                    reason: None,
                },
                None => std::future::pending().await,
            }
        })
    }
}

/// A connected agent; stopped when dropped.
pub(crate) struct Connected {
    stop: Arc<Notify>,
    running: JoinSet<Result<(), Error>>,
}

impl Connected {
    /// Stops the agent like ctrl-c, and waits for its cleanup.
    pub(crate) async fn stop(mut self) {
        self.stop.notify_one();
        let ended = self.running.join_next().await.unwrap().unwrap();
        ended.unwrap();
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self {
            hub: TestHub::start().await,
            folder: tempfile::tempdir().unwrap(),
            is_trusted: false,
            fixed_decision: None,
        }
    }

    /// Adds an approver with this answer.
    pub(crate) fn with_decision(mut self, approved: bool) -> Self {
        self.fixed_decision = Some(approved);
        self
    }

    pub(crate) fn trusted(mut self) -> Self {
        self.is_trusted = true;
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Connects an agent with this driver.
    pub(crate) async fn connect(&self, driver: impl Driver, reaper: &Reaper) -> Connected {
        let address = HubAddress::new(&self.hub.url("")).unwrap();
        let state = self.folder().join("state");
        let project = self.folder().join("project");
        std::fs::create_dir_all(&project).unwrap();
        let attached = Arc::new(Notify::new());
        let sender = attached.clone();
        let connect = ConnectedAgent {
            agent: Agent::new(AGENT),
            queue: MachineQueue::open(state.join("queue"), QueueLimits::default()).unwrap(),
            workspaces: Workspaces::new(project),
            attachments: Attachments::new(&address, true).unwrap(),
            parts: state.join("parts"),
            sessions: Sessions::open(&state, address.base(), AGENT, driver.kind()).unwrap(),
            driver: Arc::new(driver),
            address,
            desk: Arc::new(FixedApprover(self.fixed_decision)),
            is_trusted: self.is_trusted,
            token: None,
            mcp: Some(McpServer {
                name: "jackfield".to_owned(),
                command: "/bin/jackfield".into(),
                args: vec!["mcp".to_owned()],
                env: Vec::new(),
            }),
            listener: Arc::new(move |news| {
                if let ConnectEvent::Attached = news {
                    sender.notify_one();
                }
            }),
            reaper: reaper.clone(),
        };
        let stop = Arc::new(Notify::new());
        let stopped = stop.clone();
        let mut running = JoinSet::new();
        running.spawn(connect.run_until(async move { stopped.notified().await }));
        attached.notified().await;
        Connected { stop, running }
    }

    /// Sends a message to the agent in a session.
    pub(crate) async fn send(&self, session: &str, text: &str) -> Call {
        self.call(json!({"session": session, "text": text})).await
    }

    pub(crate) async fn call(&self, body: Value) -> Call {
        let path = format!("/v1/agents/{AGENT}/calls");
        let mut events = self.hub.web().stream(&path, body).await;
        let id = events.next().await["id"].as_str().unwrap().to_owned();
        Call { id, events }
    }

    /// Sends a message, and returns all events with the end.
    pub(crate) async fn ask(&self, session: &str, text: &str) -> Vec<Value> {
        self.send(session, text).await.rest().await
    }
}

/// An open call.
pub(crate) struct Call {
    pub(crate) id: String,
    events: Events,
}

impl Call {
    /// Returns the next event as `[name, content]`.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        let replies = self.events.maybe_next().await?;
        Some((replies.event.unwrap_or_default(), replies.data))
    }

    /// Returns the next text of the answer.
    pub(crate) async fn text(&mut self) -> String {
        loop {
            let (name, data) = self.next().await.expect("the call goes on");
            assert_eq!(name, "chunk", "{data}");
            if data["kind"] == "text" {
                return data["text"].as_str().unwrap().to_owned();
            }
        }
    }

    /// Returns all remaining events as short values. Adjacent text is joined, since the hub may join
    /// it too.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        while let Some((name, data)) = self.next().await {
            let next = summary(&name, &data);
            match (all.last_mut(), &next["text"]) {
                (Some(last), Value::String(more)) if last["text"].is_string() => {
                    last["text"] = format!("{}{more}", last["text"].as_str().unwrap()).into();
                }
                _ => all.push(next),
            }
        }
        all
    }
}

/// Shortens an event to its distinctive content.
fn summary(name: &str, data: &Value) -> Value {
    match name {
        "chunk" => {
            let mut summary_of_chunk = json!({ data["kind"].as_str().unwrap(): data["text"] });
            for field in ["tool_name", "tool_call_id"] {
                if let Some(value) = data.get(field) {
                    summary_of_chunk[field] = value.clone();
                }
            }
            summary_of_chunk
        }
        _ => json!({ name: data }),
    }
}

/// Polls for a condition without an event, up to a timeout.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to this: {what}");
}
