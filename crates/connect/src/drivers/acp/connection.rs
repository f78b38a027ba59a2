//! A running ACP agent: its process, pending requests, and open conversations.
//!
//! Three tasks belong to a connection and end with it. One reads the agent's output. One writes its input, so
//! that dropping a turn cannot cut a line in two. One stops the prompts of cancelled turns.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jackfield_sdk::AgentFailure;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    process::ChildStdin,
    sync::{
        Mutex as AsyncMutex, Notify, OwnedMutexGuard, mpsc,
        oneshot::{self, error::RecvError},
    },
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    inbox::{SessionInbox, SessionItem, SessionReceiver, inbox},
    permission,
    rpc::{self, AcpError, AgentRpcMessage},
    usage::CostBefore,
};
use crate::{
    ChildProcess,
    lines::{LineReader, OutputLine},
    process::CRASHED,
};

/// Lines that may wait to be written to the agent.
const UNWRITTEN: usize = 64;
/// Time limit for the agent to read a line.
const WRITING: Duration = Duration::from_secs(30);
/// Time limit for a cancelled prompt to return, before the agent is ended.
const STOPPING: Duration = Duration::from_secs(5);
/// Most conversations tracked as open in the agent. A dropped conversation is resumed when it continues.
const MOST_SESSIONS: usize = 1024;

type RpcResult = Result<Value, AcpError>;

/// Why a request failed.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The agent responded with an error.
    Refused(AcpError),
    /// The agent is gone.
    Gone(AgentFailure),
}

/// Connection to a running agent's [`ChildProcess`]. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct AcpConnection {
    shared: Arc<AcpShared>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct AcpShared {
    /// Name of the agent.
    name: String,
    lines: mpsc::Sender<String>,
    requests: Mutex<PendingRequests>,
    sessions: Mutex<HashMap<String, AcpSession>>,
    cancelled: Mutex<Vec<CancelledPrompt>>,
    is_cancelled: Notify,
    /// Why the agent has to be ended.
    fault: Mutex<Option<AgentFailure>>,
    is_at_fault: CancellationToken,
    /// Cancelled when the agent is gone.
    over: CancellationToken,
}

/// Pending requests.
#[derive(Debug, Default)]
struct PendingRequests {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<RpcResult>>,
    /// Set when the agent is gone: why new requests fail.
    gone: Option<AgentFailure>,
}

/// A conversation that is open in the agent.
#[derive(Debug, Default)]
struct AcpSession {
    /// Sender to the turn at work.
    inbox: Option<SessionInbox>,
    /// Held by the turn at work; after a cancellation, held until the prompt has returned.
    turn: Arc<AsyncMutex<()>>,
    /// What it has cost so far.
    cost: CostBefore,
}

/// The prompt of a dropped turn.
#[derive(Debug)]
struct CancelledPrompt {
    session: String,
    answer: oneshot::Receiver<RpcResult>,
    permissions: Vec<Value>,
    _turn: OwnedMutexGuard<()>,
}

impl AcpConnection {
    /// Creates the connection to a new process.
    pub(super) fn new(mut process: ChildProcess, name: &str) -> Self {
        let (lines, unwritten) = mpsc::channel(UNWRITTEN);
        let shared = Arc::new(AcpShared {
            name: name.to_owned(),
            lines,
            requests: Mutex::default(),
            sessions: Mutex::default(),
            cancelled: Mutex::default(),
            is_cancelled: Notify::new(),
            fault: Mutex::default(),
            is_at_fault: CancellationToken::new(),
            over: CancellationToken::new(),
        });
        let mut tasks = JoinSet::new();
        if let Some(stdin) = process.stdin.take() {
            tasks.spawn(write(shared.clone(), stdin, unwritten));
        }
        tasks.spawn(read(shared.clone(), process));
        tasks.spawn(stop_cancelled(shared.clone()));
        Self {
            shared,
            _tasks: tasks,
        }
    }

    /// Returns whether the agent is gone or about to end.
    pub(super) fn is_over(&self) -> bool {
        self.shared.over.is_cancelled() || self.shared.is_at_fault.is_cancelled()
    }

    /// Sends a request and waits for the response.
    pub(super) async fn request(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<Value, RequestError> {
        let answer = self.shared.ask(method, params).await?;
        self.shared.answered(answer.await).await
    }

    /// Returns whether a conversation is open in the agent.
    pub(super) fn is_open(&self, session: &str) -> bool {
        self.shared.sessions.lock().contains_key(session)
    }

    /// Marks a conversation as open in the agent. `cost` is what it has cost so far.
    pub(super) fn mark_open(&self, session: &str, cost: CostBefore) {
        let mut sessions = self.shared.sessions.lock();
        if sessions.len() >= MOST_SESSIONS {
            // Keep only conversations with a turn at work.
            sessions.retain(|_, session| Arc::strong_count(&session.turn) > 1);
        }
        sessions.entry(session.to_owned()).or_default().cost = cost;
    }

    /// Returns what a conversation has cost so far.
    pub(super) fn cost(&self, session: &str) -> CostBefore {
        let sessions = self.shared.sessions.lock();
        let session = sessions.get(session);
        session.map(|it| it.cost.clone()).unwrap_or_default()
    }

    /// Sets what a conversation has cost so far.
    pub(super) fn set_cost(&self, session: &str, cost: CostBefore) {
        if let Some(session) = self.shared.sessions.lock().get_mut(session) {
            session.cost = cost;
        }
    }

    /// Sends a prompt, once the previous prompt of the conversation has returned.
    pub(super) async fn prompt(
        &self,
        session: &str,
        blocks: Vec<Value>,
    ) -> Result<ActivePrompt, RequestError> {
        let shared = &self.shared;
        let turn = {
            let mut sessions = shared.sessions.lock();
            sessions.entry(session.to_owned()).or_default().turn.clone()
        };
        let turn = turn.lock_owned().await;
        let (inbox, opened) = inbox();
        let mut prompting = ActivePrompt {
            shared: shared.clone(),
            session: session.to_owned(),
            opened,
            waiting: None,
            answered: None,
            permissions: Vec::new(),
            turn: Some(turn),
        };
        if let Some(session) = shared.sessions.lock().get_mut(session) {
            session.inbox = Some(inbox);
        }
        let params = json!({"sessionId": session, "prompt": blocks});
        prompting.waiting = Some(shared.ask("session/prompt", &params).await?);
        Ok(prompting)
    }
}

/// A prompt in progress. Dropping it before it has returned cancels the prompt.
#[derive(Debug)]
pub(super) struct ActivePrompt {
    shared: Arc<AcpShared>,
    session: String,
    opened: SessionReceiver,
    /// Receiver of the response, until it has arrived.
    waiting: Option<oneshot::Receiver<RpcResult>>,
    answered: Option<Result<RpcResult, RecvError>>,
    /// Ids of unanswered permission requests.
    permissions: Vec<Value>,
    turn: Option<OwnedMutexGuard<()>>,
}

/// Event of a [`ActivePrompt`].
#[derive(Debug)]
pub(super) enum PromptEvent {
    /// An item of output.
    Item(SessionItem),
    /// The end, after all items; see [`ActivePrompt::answer`].
    End,
}

impl ActivePrompt {
    /// Waits for the next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> PromptEvent {
        if let Some(answer) = &mut self.waiting {
            tokio::select! {
                biased;
                Some(item) = self.opened.next() => return self.item(item),
                answered = answer => self.answered = Some(answered),
            }
            self.waiting = None;
        }
        // The reader queued all items before the response.
        match self.opened.ready() {
            Some(item) => self.item(item),
            None => PromptEvent::End,
        }
    }

    /// Returns the response to the prompt.
    pub(super) async fn answer(mut self) -> Result<Value, RequestError> {
        match self.answered.take() {
            Some(answered) => self.shared.answered(answered).await,
            None => Err(RequestError::Gone(self.shared.gone().await)),
        }
    }

    fn item(&mut self, item: SessionItem) -> PromptEvent {
        if let SessionItem::Permission { id, .. } = &item {
            self.permissions.push(id.clone());
        }
        PromptEvent::Item(item)
    }

    /// Answers a permission request.
    pub(super) async fn permit(&mut self, id: &Value, result: &Value) {
        // Fails if the agent is gone; no answer is needed then.
        self.shared.lines.send(rpc::answer(id, result)).await.ok();
        self.permissions.retain(|open| open != id);
    }
}

impl Drop for ActivePrompt {
    fn drop(&mut self) {
        if let Some(session) = self.shared.sessions.lock().get_mut(&self.session) {
            session.inbox = None;
        }
        if let (Some(answer), Some(turn)) = (self.waiting.take(), self.turn.take()) {
            self.shared.cancelled.lock().push(CancelledPrompt {
                session: std::mem::take(&mut self.session),
                answer,
                permissions: std::mem::take(&mut self.permissions),
                _turn: turn,
            });
            self.shared.is_cancelled.notify_one();
        }
    }
}

impl AcpShared {
    async fn ask(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<oneshot::Receiver<RpcResult>, RequestError> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut requests = self.requests.lock();
            if let Some(gone) = &requests.gone {
                return Err(RequestError::Gone(gone.clone()));
            }
            // Remove requests whose sender was dropped.
            requests.waiting.retain(|_, waiting| !waiting.is_closed());
            requests.last += 1;
            let id = requests.last;
            requests.waiting.insert(id, sender);
            id
        };
        let line = rpc::request(id, method, params);
        if self.lines.send(line).await.is_err() {
            return Err(RequestError::Gone(self.gone().await));
        }
        Ok(answer)
    }

    async fn answered(
        &self,
        answered: Result<RpcResult, RecvError>,
    ) -> Result<Value, RequestError> {
        match answered {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(RequestError::Refused(error)),
            Err(_) => Err(RequestError::Gone(self.gone().await)),
        }
    }

    /// Waits until the agent is gone and returns the reason.
    async fn gone(&self) -> AgentFailure {
        self.over.cancelled().await;
        let gone = self.requests.lock().gone.clone();
        gone.unwrap_or_else(|| AgentFailure::new(CRASHED, "the agent is gone"))
    }

    /// Ends the agent because of a fault.
    fn fail(&self, why: &str) {
        let failure = AgentFailure::new(CRASHED, why);
        self.fault.lock().get_or_insert(failure);
        self.is_at_fault.cancel();
    }

    /// Handles a line of the agent.
    async fn handle_line(&self, line: &str) {
        match rpc::read(line) {
            Some(AgentRpcMessage::Answer { id, result }) => {
                let waiting = self.requests.lock().waiting.remove(&id);
                if let Some(waiting) = waiting {
                    // The requester may have been dropped.
                    waiting.send(result).ok();
                }
            }
            Some(AgentRpcMessage::Notice { method, params }) => {
                if method == "session/update" {
                    let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                    let update = update_of(params);
                    self.put(&session, SessionItem::Update(update), line.len())
                        .await
                        .ok();
                } else {
                    tracing::debug!(method, "a notice of the agent is not known");
                }
            }
            Some(AgentRpcMessage::Request { id, method, params }) => {
                self.serve(id, &method, params, line.len()).await;
            }
            None => tracing::debug!(bytes = line.len(), "a line of the agent is no message"),
        }
    }

    async fn serve(&self, id: Value, method: &str, params: Value, len: usize) {
        let line = if method == "session/request_permission" {
            let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
            let item = SessionItem::Permission {
                id: id.clone(),
                params,
            };
            if self.put(&session, item, len).await.is_ok() {
                return;
            }
            rpc::answer(&id, &permission::cancelled())
        } else if method == "initialize" {
            // Only clients send `initialize`: the program echoes our own request.
            let name = &self.name;
            self.fail(&format!(
                "{name} does not speak ACP: it only repeats what it is told"
            ));
            return;
        } else {
            rpc::refusal(&id, rpc::NO_SUCH_METHOD, "this client does not offer it")
        };
        // The writer detects an agent that does not read.
        self.lines.send(line).await.ok();
    }

    /// Sends an item to the turn at work on a conversation. Returns the item if no turn is at work.
    async fn put(&self, session: &str, item: SessionItem, len: usize) -> Result<(), SessionItem> {
        let inbox = self
            .sessions
            .lock()
            .get(session)
            .and_then(|session| session.inbox.clone());
        match inbox {
            Some(inbox) => inbox.put(item, len).await,
            None => Err(item),
        }
    }

    /// Ends the connection; pending requests fail with `why`.
    fn end(&self, why: AgentFailure) {
        let waiting = {
            let mut requests = self.requests.lock();
            requests.gone.get_or_insert(why);
            std::mem::take(&mut requests.waiting)
        };
        self.over.cancel();
        drop(waiting);
        self.sessions.lock().clear();
    }
}

fn update_of(mut params: Value) -> Value {
    params
        .get_mut("update")
        .map(Value::take)
        .unwrap_or_default()
}

/// Reads the agent's output until its end or a fault.
async fn read(shared: Arc<AcpShared>, mut process: ChildProcess) {
    let reading = async {
        let Some(stdout) = process.stdout.take() else {
            return;
        };
        let mut lines = LineReader::new(stdout);
        // A read error counts as the end of the output.
        while let Ok(Some(line)) = lines.next().await {
            match line {
                OutputLine::Text(line) => shared.handle_line(&line).await,
                OutputLine::TooLong { bytes } => {
                    tracing::warn!(bytes, "a line of the agent is too long and left out");
                }
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = shared.is_at_fault.cancelled() => {}
    }
    let fault = shared.fault.lock().take();
    let why = match fault {
        Some(fault) => fault,
        // An agent with closed output is unusable, even if its process continues.
        None => match timeout(STOPPING, process.crash(&shared.name)).await {
            Ok(crash) => crash,
            Err(_) => AgentFailure::new(CRASHED, format!("{} closed its output", shared.name)),
        },
    };
    shared.end(why);
}

/// Writes lines to the agent.
async fn write(shared: Arc<AcpShared>, mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        let written = timeout(WRITING, async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.flush().await
        });
        match written.await {
            Ok(Ok(())) => {}
            // The reader detects the end and has the details.
            Ok(Err(_)) => return,
            Err(_) => {
                shared.fail("the agent does not read what it is told, and was ended");
                return;
            }
        }
    }
}

/// Stops the prompts of dropped turns.
async fn stop_cancelled(shared: Arc<AcpShared>) {
    let mut stopping = JoinSet::new();
    loop {
        tokio::select! {
            () = shared.is_cancelled.notified() => {}
            Some(_) = stopping.join_next() => {}
        }
        for cancelled in std::mem::take(&mut *shared.cancelled.lock()) {
            stopping.spawn(stop(shared.clone(), cancelled));
        }
    }
}

/// Asks the agent to stop a prompt; ends the agent if it does not.
async fn stop(shared: Arc<AcpShared>, mut cancelled: CancelledPrompt) {
    let stopped = timeout(STOPPING, async {
        let params = json!({"sessionId": cancelled.session});
        let notice = rpc::notice("session/cancel", &params);
        shared.lines.send(notice).await.ok();
        for id in &cancelled.permissions {
            let line = rpc::answer(id, &permission::cancelled());
            shared.lines.send(line).await.ok();
        }
        (&mut cancelled.answer).await.ok();
    });
    if stopped.await.is_err() {
        shared.fail("the agent did not stop when a call was cancelled, and was ended");
    }
}
