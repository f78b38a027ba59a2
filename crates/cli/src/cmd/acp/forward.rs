//! Forwards messages between an editor's standard input and output and a WebSocket of the hub, unchanged.
//!
//! If the connection is lost, the requests without an answer fail, and the next connection is brought to the same state: it is
//! initialized again, and the sessions are resumed. The work on open prompts is cancelled by the hub.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    time::Duration,
};

use anyhow::{Context as _, Result};
use jackfield_connect::{LineReader, OutputLine};
use jackfield_sdk::{Error, Hub, HubSocket};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    time::{Instant, sleep, timeout_at},
};

use super::message::{self, RpcMessage};
use crate::exit::{ErrorSubject, WithErrorSubject as _};

/// Maximum size of a message: slightly more than the hub accepts, so that the hub refuses.
const LONGEST: usize = 9 << 20;
/// Pause and number of attempts for an unreachable hub: together about the time of a restart.
const PAUSE: Duration = Duration::from_millis(250);
const TRIES: u32 = 20;
/// Time limit for responses after the editor has closed standard input.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// Id of the requests that this program makes itself.
const OURS: &str = "jackfield-acp";

/// Bridge between an editor and the hub.
#[derive(Debug)]
pub(super) struct AcpForwarder {
    hub: Hub,
    /// Address of the agent at the hub.
    path: String,
    /// The editor's `initialize`, once it was answered.
    greeting: Option<String>,
    /// Open sessions.
    sessions: BTreeSet<String>,
    /// Requests without an answer, by id, as JSON.
    waiting: BTreeMap<String, WaitingRequest>,
}

/// A request without an answer.
#[derive(Debug)]
enum WaitingRequest {
    Initialize(String),
    /// Opens the session that it names, or one that the response names.
    Open(Option<String>),
    Close(String),
    Other,
}

/// Why forwarding stopped.
enum Stop {
    /// The editor closed standard input.
    InputEnded,
    /// The editor closed standard output.
    OutputClosed,
    Lost(Error),
}

impl AcpForwarder {
    pub(super) fn new(hub: Hub, path: String) -> Self {
        Self {
            hub,
            path,
            greeting: None,
            sessions: BTreeSet::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Forwards messages until the input ends, or the output is closed. Fails if the hub stays away.
    pub(super) async fn run(
        mut self,
        mut socket: HubSocket,
        input: impl AsyncRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
    ) -> Result<()> {
        let mut lines = LineReader::at_most(input, LONGEST);
        loop {
            let stop = self.forward(&mut socket, &mut lines, &mut output).await;
            match stop.context("standard input cannot be read")? {
                Stop::InputEnded => {
                    self.finish(&mut socket, &mut output).await;
                    break;
                }
                Stop::OutputClosed => break,
                Stop::Lost(error) => {
                    for id in std::mem::take(&mut self.waiting).into_keys() {
                        if write(&mut output, &message::lost(&id)).await.is_err() {
                            return Ok(());
                        }
                    }
                    socket = self.reconnect(error).await.about(ErrorSubject::Agent)?;
                }
            }
        }
        socket.close().await;
        Ok(())
    }

    async fn forward(
        &mut self,
        socket: &mut HubSocket,
        lines: &mut LineReader<impl AsyncRead + Unpin>,
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<Stop> {
        loop {
            tokio::select! {
                line = lines.next() => {
                    let sent = match line? {
                        None => return Ok(Stop::InputEnded),
                        Some(OutputLine::Text(line)) if line.trim().is_empty() => Ok(()),
                        Some(OutputLine::Text(line)) => {
                            self.note_line(&line);
                            socket.send(line).await
                        }
                        Some(OutputLine::TooLong { bytes }) => {
                            if write(output, &message::too_long(bytes)).await.is_err() {
                                return Ok(Stop::OutputClosed);
                            }
                            Ok(())
                        }
                    };
                    if let Err(error) = sent {
                        return Ok(Stop::Lost(error));
                    }
                }
                frame = socket.next() => {
                    let frame = match frame {
                        Ok(frame) => frame,
                        Err(error) => return Ok(Stop::Lost(error)),
                    };
                    self.note_frame(&frame);
                    if write(output, &frame).await.is_err() {
                        return Ok(Stop::OutputClosed);
                    }
                }
            }
        }
    }

    /// Forwards the last answers. An editor that closed the input may still want them, but only for a short time.
    async fn finish(&mut self, socket: &mut HubSocket, output: &mut (impl AsyncWrite + Unpin)) {
        let until = Instant::now() + LAST_ANSWERS;
        while !self.waiting.is_empty() {
            let Ok(Ok(frame)) = timeout_at(until, socket.next()).await else {
                return;
            };
            self.note_frame(&frame);
            if write(output, &frame).await.is_err() {
                return;
            }
        }
    }

    /// Notes a message of the editor.
    fn note_line(&mut self, line: &str) {
        let message = RpcMessage::read(line);
        let Some((id, method)) = message.request() else {
            return;
        };
        let session = message.session().map(str::to_owned);
        let request = match (method, session) {
            ("initialize", _) => WaitingRequest::Initialize(line.to_owned()),
            ("session/new", _) => WaitingRequest::Open(None),
            ("session/load" | "session/resume", session) => WaitingRequest::Open(session),
            ("session/close", Some(session)) => WaitingRequest::Close(session),
            _ => WaitingRequest::Other,
        };
        self.waiting.insert(id, request);
    }

    /// Notes a message of the hub.
    fn note_frame(&mut self, frame: &str) {
        let message = RpcMessage::read(frame);
        let answered = message.answered();
        let Some(request) = answered.and_then(|id| self.waiting.remove(&id)) else {
            return;
        };
        if !message.is_result() {
            return;
        }
        match request {
            WaitingRequest::Initialize(greeting) => self.greeting = Some(greeting),
            WaitingRequest::Open(session) => {
                let opened = session.or_else(|| message.session().map(str::to_owned));
                self.sessions.extend(opened);
            }
            WaitingRequest::Close(session) => {
                self.sessions.remove(&session);
            }
            WaitingRequest::Other => {}
        }
    }

    /// Connects again after the connection was lost, for as long as a restart of the hub takes.
    async fn reconnect(&mut self, mut error: Error) -> Result<HubSocket, Error> {
        for _ in 0..TRIES {
            if !error.is_retryable() {
                break;
            }
            sleep(PAUSE).await;
            // The hub may have moved. If the new address is unusable, the next attempt reports the problem.
            self.hub.relocate().await.ok();
            match self.reopen().await {
                Ok(socket) => return Ok(socket),
                Err(next) => error = next,
            }
        }
        Err(error)
    }

    /// Opens a connection in the state of the lost one.
    async fn reopen(&mut self) -> Result<HubSocket, Error> {
        let mut socket = HubSocket::open(&self.hub.address(), &self.path).await?;
        let Some(greeting) = &self.greeting else {
            return Ok(socket);
        };
        let greeting = RpcMessage::read(greeting).with_id(OURS);
        request(&mut socket, greeting).await?;
        let mut lost = Vec::new();
        for session in &self.sessions {
            if !request(&mut socket, message::resume(OURS, session)).await? {
                // The hub does not have it: nothing was said in it yet. Prompts are refused with the remedy.
                lost.push(session.clone());
            }
        }
        self.sessions.retain(|session| !lost.contains(session));
        Ok(socket)
    }
}

/// Sends a request of our own. Returns whether it succeeded.
async fn request(socket: &mut HubSocket, request: String) -> Result<bool, Error> {
    socket.send(request).await?;
    let ours = format!("{OURS:?}");
    loop {
        let message = RpcMessage::read(&socket.next().await?);
        if message.answered().as_ref() == Some(&ours) {
            return Ok(message.is_result());
        }
    }
}

/// Writes a message as a line. A message has no line breaks of its own.
async fn write(output: &mut (impl AsyncWrite + Unpin), message: &str) -> io::Result<()> {
    output.write_all(message.as_bytes()).await?;
    output.write_all(b"\n").await?;
    output.flush().await
}
