//! Forwards messages between standard input and output and the hub's `/mcp`. Each line is a separate HTTP
//! request, and each message in a response is a line. The only protocol logic here covers the differences
//! between the two transports: the session and the version, which HTTP has in headers, and a response for
//! each request even if the hub sends none.

use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use jackfield_connect::{LineReader, OutputLine};
use jackfield_model::CallId;
use jackfield_sdk::{Error, EventStream, Hub};
use parking_lot::Mutex;
use reqwest::Response;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::mpsc::{self, Receiver, Sender},
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

use super::{
    files::{AnswerFolder, FilesRequest},
    message::{HUB_ERROR, INVALID_REQUEST, RpcMessage, failed, refused_tool, task_of},
};
use crate::client;

pub(super) const CALL: HeaderName = HeaderName::from_static("jackfield-call");
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// Maximum size of a message: slightly more than the hub accepts, so that the hub refuses.
const LONGEST: usize = 9 << 20;
/// Capacity of the queue for a slow client; when full, the hub waits too.
const WAITING: usize = 64;
/// Pause and number of attempts for an unreachable hub: together about the time of a restart.
const PAUSE: Duration = Duration::from_millis(250);
const TRIES: u32 = 20;
/// Time limit for responses after the client has closed standard input.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Headers for later requests.
#[derive(Debug, Default)]
struct SessionHeaders {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// Bridge between an MCP client and the hub.
#[derive(Debug)]
pub(super) struct McpForwarder {
    hub: Hub,
    headers: HeaderMap,
    /// File with the id of the call on whose behalf the next request is made.
    call_file: Option<PathBuf>,
    /// Folder for the files of answers, if the model may ask for files.
    files: Option<AnswerFolder>,
    agreed: Mutex<SessionHeaders>,
    /// Number of requests for which only this program asked for progress.
    count: AtomicU64,
}

impl McpForwarder {
    pub(super) fn new(
        hub: Hub,
        mut headers: HeaderMap,
        call_file: Option<PathBuf>,
        files: Option<AnswerFolder>,
    ) -> Self {
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, accept);
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        Self {
            hub,
            headers,
            call_file,
            files,
            agreed: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    /// Forwards messages until the input ends, or the output is closed.
    pub(super) async fn run(
        self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let (answers, waiting) = mpsc::channel(WAITING);
        let reading = Arc::new(self).read(input, answers);
        let writing = write(waiting, output);
        tokio::pin!(writing);
        tokio::select! {
            result = reading => {
                writing.await;
                result
            }
            () = &mut writing => Ok(()),
        }
    }

    async fn read(
        self: Arc<Self>,
        input: impl AsyncRead + Unpin,
        answers: Sender<Value>,
    ) -> io::Result<()> {
        let mut lines = LineReader::at_most(input, LONGEST);
        let mut requests = JoinSet::new();
        let mut open: HashMap<String, ForwardedRequest> = HashMap::new();
        loop {
            let line = tokio::select! {
                line = lines.next() => line?,
                Some(_) = requests.join_next() => {
                    open.retain(|_, request| !request.carrying.is_finished());
                    continue;
                }
            };
            let message = match line {
                None => break,
                Some(OutputLine::Text(line)) if line.trim().is_empty() => continue,
                Some(OutputLine::Text(line)) => RpcMessage::read(&line),
                Some(OutputLine::TooLong { bytes }) => {
                    let text = format!("a message of {bytes} bytes is too large");
                    Err(failed(&Value::Null, INVALID_REQUEST, &text, None))
                }
            };
            match message {
                Ok(message) => {
                    let cancelled = message
                        .cancels()
                        .and_then(|id| open.remove(&id.to_string()));
                    if let Some(request) = &cancelled {
                        request.is_silent.store(true, Ordering::Relaxed);
                    }
                    let id = message.id().map(ToString::to_string);
                    let is_silent = Arc::new(AtomicBool::new(false));
                    let told = RequestState::of(&message, answers.clone(), is_silent.clone());
                    let carrying = requests.spawn(self.clone().forward(message, told, cancelled));
                    let request = ForwardedRequest {
                        carrying,
                        is_silent,
                    };
                    open.extend(id.map(|id| (id, request)));
                }
                // A failed send means that the output is closed; the writer notices that.
                Err(error) => drop(answers.send(error).await),
            }
        }
        let rest = async { while requests.join_next().await.is_some() {} };
        // A client that closed the input may still want the responses, but only for a short time.
        drop(timeout(LAST_ANSWERS, rest).await);
        drop(answers);
        Ok(())
    }

    /// Forwards one message to the hub and the responses back. For a cancellation, the cancelled request is
    /// aborted after the hub was told.
    async fn forward(
        self: Arc<Self>,
        mut message: RpcMessage,
        mut told: RequestState,
        cancelled: Option<ForwardedRequest>,
    ) {
        if message.is_response() {
            // The client hears nothing of the hub's answer to its answer.
            drop(self.send(&message).await);
        }
        if message.method().is_none() {
            return;
        }
        let token = format!(
            "jackfield-mcp-{}",
            self.count.fetch_add(1, Ordering::Relaxed)
        );
        let is_ours = message.ask_for_progress(&token);
        told.token = is_ours.then_some(token);
        told.files = match self.files.as_ref().map(|files| files.prepare(&mut message)) {
            None => FilesRequest::No,
            Some(Ok(request)) => request,
            Some(Err(text)) => {
                let result = refused_tool(&text);
                let answer = json!({"jsonrpc": "2.0", "id": told.id, "result": result});
                return told.tell(answer).await;
            }
        };
        match self.send(&message).await {
            Ok(response) => self.forward_response(response, &mut told).await,
            Err(text) => told.fail(text).await,
        }
        if let Some(request) = cancelled {
            request.carrying.abort();
        }
    }

    /// Sends a [`RpcMessage`]. Retries while the hub cannot be reached, because nothing was sent yet.
    async fn send(&self, message: &RpcMessage) -> Result<Response, String> {
        for left in (0..TRIES).rev() {
            let request = self
                .hub
                .builder(Method::POST, "/mcp")
                .headers(self.headers_for(message))
                .body(message.text());
            match request.send().await {
                Ok(response) => return Ok(response),
                Err(error) if error.is_connect() && left > 0 => {
                    sleep(PAUSE).await;
                    // The hub may have moved. If the new address is unusable, the next attempt reports the
                    // problem.
                    self.hub.relocate().await.ok();
                }
                Err(error) if error.is_connect() => break,
                Err(_) => {
                    return Err("the connection to the hub was lost before it answered".to_owned());
                }
            }
        }
        let asked = client::request(&self.hub, Method::GET, "/healthz", None).await;
        if let Err(error @ Error::Untrusted { .. }) = asked {
            return Err(error.to_string());
        }
        let address = self.hub.address();
        let url = address.base();
        Err(format!(
            "the hub at {url} cannot be reached; start it with `jackfield serve`, or name another one with --hub"
        ))
    }

    /// Returns the call that the file currently names, if any.
    fn call(&self) -> Option<HeaderValue> {
        let text = std::fs::read_to_string(self.call_file.as_ref()?).ok()?;
        let call = CallId::parse(text.trim())?;
        HeaderValue::from_str(&call.to_string()).ok()
    }

    fn headers_for(&self, message: &RpcMessage) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.extend(self.call().map(|call| (CALL, call)));
        let agreed = self.agreed.lock();
        let said = |text: &str| HeaderValue::from_str(text).ok();
        let is_greeting = message.method() == Some("initialize");
        let version = message.version().and_then(said);
        let version = version.or_else(|| agreed.version.clone().filter(|_| !is_greeting));
        let session = agreed.session.clone().filter(|_| !is_greeting);
        for (name, value) in [
            (VERSION, version),
            (SESSION, session),
            ("mcp-method", message.method().and_then(said)),
            ("mcp-name", message.name().and_then(said)),
        ] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        headers
    }

    /// Forwards the hub's [`Response`].
    async fn forward_response(&self, response: Response, told: &mut RequestState) {
        let status = response.status();
        if told.is_greeting && status.is_success() {
            self.agreed.lock().session = response.headers().get(SESSION).cloned();
        }
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if !is_stream {
            let text = response.text().await.unwrap_or_default();
            match serde_json::from_str::<Value>(&text) {
                Ok(answer) if answer["jsonrpc"].is_string() => self.tell(answer, told).await,
                answer => told.fail(refusal(status, answer.ok(), &text)).await,
            }
            return;
        }
        let mut events = EventStream::new(response);
        while let Ok(Some(event)) = events.next().await {
            self.tell(event.data, told).await;
        }
        told.fail("the connection to the hub was lost before it answered".to_owned())
            .await;
    }

    async fn tell(&self, mut answer: Value, told: &mut RequestState) {
        if told.is_greeting
            && let Some(version) = answer["result"]["protocolVersion"].as_str()
        {
            self.agreed.lock().version = HeaderValue::from_str(version).ok();
        }
        if let Some(files) = &self.files {
            let headers = &self.headers;
            files
                .complete(&self.hub, headers, &told.files, &mut answer)
                .await;
        }
        told.tell(answer).await;
    }
}

/// A request in progress.
#[derive(Debug)]
struct ForwardedRequest {
    carrying: AbortHandle,
    /// Set for a cancelled request: no further message may be forwarded, whatever the hub sends.
    is_silent: Arc<AtomicBool>,
}

/// State of a request in progress.
#[derive(Debug)]
struct RequestState {
    id: Option<Value>,
    is_greeting: bool,
    /// Progress token, if this program asked for progress.
    token: Option<String>,
    task: Option<String>,
    /// What the request asks of the folder for files.
    files: FilesRequest,
    is_answered: bool,
    is_silent: Arc<AtomicBool>,
    answers: Sender<Value>,
}

impl RequestState {
    fn of(message: &RpcMessage, answers: Sender<Value>, is_silent: Arc<AtomicBool>) -> Self {
        Self {
            id: message.id().cloned(),
            is_greeting: message.method() == Some("initialize"),
            token: None,
            task: None,
            files: FilesRequest::No,
            is_answered: false,
            is_silent,
            answers,
        }
    }

    async fn tell(&mut self, answer: Value) {
        if answer["method"] == "notifications/progress" {
            self.task = task_of(&answer).map(str::to_owned).or(self.task.take());
            let token = answer["params"]["progressToken"].as_str();
            if token.is_some() && token == self.token.as_deref() {
                return;
            }
        }
        let is_response = answer.get("result").is_some() || answer.get("error").is_some();
        self.is_answered |= is_response;
        self.say(answer).await;
    }

    async fn say(&self, answer: Value) {
        if !self.is_silent.load(Ordering::Relaxed) {
            // A failed send means that the output is closed; the writer notices that.
            drop(self.answers.send(answer).await);
        }
    }

    /// Sends an error response ([`failed`]) for a request that the hub did not answer.
    async fn fail(&mut self, mut text: String) {
        let Some(id) = self.id.clone().filter(|_| !self.is_answered) else {
            return;
        };
        let task = self.task.as_ref();
        if let Some(task) = task {
            text += &format!(
                "; the work may continue as task {task}: call the tool task with this id when the hub is back"
            );
        }
        let data = task.map(|task| json!({"task": task}));
        self.say(failed(&id, HUB_ERROR, &text, data)).await;
    }
}

/// Returns why the hub refused a message.
fn refusal(status: StatusCode, body: Option<Value>, text: &str) -> String {
    let said = body.and_then(|body| body["message"].as_str().map(str::to_owned));
    said.unwrap_or_else(|| match text.trim() {
        "" => format!("the hub answered {status}"),
        text => format!("the hub answered {status}: {text}"),
    })
}

/// Writes responses, one per line, until the end or until the output is closed.
async fn write(mut waiting: Receiver<Value>, mut output: impl AsyncWrite + Unpin) {
    while let Some(answer) = waiting.recv().await {
        let line = format!("{answer}\n");
        let written = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
}
