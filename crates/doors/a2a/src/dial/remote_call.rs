//! One call to a remote, from its message to its end.
//!
//! - A broken stream is resumed: by subscribing where possible, and by polling the task.
//! - A durable call that continued during a restart of the hub is resumed too, see [`handle`].
//! - A message that the remote waits for goes to the waiting task.
//! - A call that ends at the hub also ends at the remote: the hub cancels the remote's task, once the task id
//!   is known.
//!
//! A separate task reads the answers of the remote ([`source`]) and pauses while the caller does not read.

mod handle;
mod source;

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue};
use jackfield_core::{call::AgentHandle, gate::Gate, pipe::Pushed, ready::ReadySet};
use jackfield_kit::trace;
use jackfield_model::{Answer, Chunk, ChunkKind, End, Event, Failure, Input, Reason};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::{
    handle::RemoteTaskHandle,
    source::{AnswerReader, NO_END, RESTARTED},
};
use super::{
    client::{AnswerElement, RemoteCallError, RemoteClient},
    remote::Remote,
    translator::{AnswerTranslator, RemoteOutput},
};
use crate::official::translate::{SendOptions, answer_to, message_to};
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::{Configuration, Message, SendParams},
};

/// Largest amount of input to take at once, in bytes.
const BATCH: usize = 64 << 10;

/// Time limit for cancelling the remote's task.
const STOPPING: Duration = Duration::from_secs(10);

/// Interval at which an open but silent exchange counts as a sign of life.
const PULSE: Duration = Duration::from_secs(10);

/// First pause before a repeated attempt to resume a broken stream; doubles each time.
const PAUSE: Duration = Duration::from_millis(500);

/// Longest pause between attempts to resume.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// Time limit for resuming a broken stream while the server is silent. The timeouts of the call may end the
/// call earlier.
const RESUME_LIMIT: Duration = Duration::from_secs(300);

/// A subscription is fruitless if it ends within this time without new content. Proxies cut idle streams
/// after about a minute, which does not indicate a problem of the server.
const FRUITLESS_WITHIN: Duration = Duration::from_secs(10);

/// Number of consecutive fruitless subscriptions after which the task is polled instead, once a second or
/// less often.
const MAX_FRUITLESS: u32 = 3;

/// Number of subscriptions per call after which the task is polled instead. The limit bounds the number of
/// requests for any behaviour of the server.
const MAX_SUBSCRIPTIONS: u32 = 100;

/// Serves a call until the call ends, or until the hub stops and leaves the call for its restart.
pub(super) async fn serve(remote: Arc<Remote>, serving: AgentHandle, leaving: CancellationToken) {
    let line = remote.line();
    let mut work = RemoteCall::new(remote, &line, serving);
    work.find_task().await;
    work.carry_out(&leaving).await;
}

/// Resumes a call that the remote received before a restart of the hub, as soon as the remote is found.
pub(super) async fn go_on(remote: Arc<Remote>, serving: AgentHandle, leaving: CancellationToken) {
    let recalled = match RemoteTaskHandle::of(&serving, &remote) {
        Some(handle) => match handle.recall(&remote, serving.call()).await {
            Ok(hearing) => Ok((handle, hearing)),
            Err(failure) => Err(failure),
        },
        None => Err(Failure::hub_restarted()),
    };
    let (handle, hearing) = match recalled {
        Ok(recalled) => recalled,
        Err(failure) => {
            serving.finish(End::Failed(failure));
            return;
        }
    };
    let found = tokio::select! {
        line = remote.wait_for_line() => Ok(line),
        () = ended(&serving) => timeout(STOPPING, remote.wait_for_line()).await,
        () = leaving.cancelled() => return,
    };
    // The call ended and the remote is unreachable: the remote's task cannot be cancelled.
    let Ok(line) = found else { return };
    handle.pass_context(&line);
    let work = RemoteCall {
        hearing,
        is_taken_up: true,
        ..RemoteCall::new(remote, &line, serving)
    };
    work.carry_out(&leaving).await;
}

/// Waits until a call is ended.
async fn ended(serving: &AgentHandle) {
    let ready_set = ReadySet::new();
    serving.input().listen(ready_set.handle(0));
    while !serving.call().is_ended() {
        ready_set.wait(&mut Vec::new()).await;
    }
}

/// Returns the line with the declared extensions: the caller's, and the required extensions of the card,
/// because callers of other doors cannot declare any.
fn declaring(remote: &Remote, line: &RemoteClient, asked: &SendOptions) -> Arc<RemoteClient> {
    let found = remote.known().found;
    let known = found.iter().flat_map(|found| &found.profile.extensions);
    let required = known.filter(|it| it.required).map(|it| &it.uri);
    let extensions = asked.extensions.iter().chain(required);
    Arc::new(line.declaring(extensions.cloned().collect()))
}

/// Outcome of serving a call.
enum RemoteCallOutcome {
    /// The remote ended the call, or an error did.
    Ended(End),
    /// The remote never received the message.
    Unheard(RemoteCallError),
    /// The caller or the hub ended the call.
    Stopped,
    /// The hub stops and resumes the call after its restart.
    Left,
}

/// Cancels the remote's task, once the task id is known.
async fn stop(
    line: &RemoteClient,
    mut hearing: AnswerTranslator,
    mut source: Option<AnswerReader>,
) {
    let stopped = timeout(STOPPING, async {
        while hearing.task().is_none()
            && let Some(open) = &mut source
            && let Some(Ok(arrived)) = open.next().await
        {
            // A keepalive has no content, but an item may follow.
            if let AnswerElement::Item { item, .. } = arrived {
                hearing.translate(item);
            }
        }
        if let Some(task) = hearing.task() {
            return line.cancel(task).await.map(drop);
        }
        Ok(())
    });
    match stopped.await {
        Ok(Ok(())) => {}
        Ok(Err(trouble)) => tracing::debug!(%trouble, "a remote could not be told to stop"),
        Err(_) => tracing::debug!("a remote did not hear in time that it shall stop"),
    }
}

/// State of a broken stream.
#[derive(Debug, Clone, Copy)]
struct BrokenStream {
    /// Time of the last answer of the server, or of the disconnect.
    since: Instant,
    /// Next pause. Only new content resets the pause: a server that repeats old content is asked less and
    /// less often.
    pause: Duration,
}

struct RemoteCall {
    remote: Arc<Remote>,
    line: Arc<RemoteClient>,
    serving: AgentHandle,
    hearing: AnswerTranslator,
    /// Reader of the remote's answers; `None` while the remote waits for the caller.
    source: Option<AnswerReader>,
    /// Id of the stream's last event with an id.
    last_event: Option<String>,
    /// True if the call was resumed after a restart of the hub.
    is_taken_up: bool,
    /// State of a broken stream, until new content arrives.
    broken: Option<BrokenStream>,
    /// Start of the open subscription.
    subscribed: Option<Instant>,
    /// Number of subscriptions so far.
    subscriptions: u32,
    /// Number of consecutive fruitless subscriptions.
    fruitless: u32,
    /// True if the server does not support streaming.
    is_blocking: bool,
    /// True after the first item from the remote for the call.
    has_heard: bool,
}

impl RemoteCall {
    fn new(remote: Arc<Remote>, line: &RemoteClient, serving: AgentHandle) -> Self {
        Self {
            is_blocking: !line.place().streams,
            line: declaring(&remote, line, &asked_with(&serving)),
            remote,
            serving,
            hearing: AnswerTranslator::default(),
            source: None,
            last_event: None,
            is_taken_up: false,
            broken: None,
            subscribed: None,
            subscriptions: 0,
            fruitless: 0,
            has_heard: false,
        }
    }

    /// Finds the remote's task that waits for the message, if the previous turn ended with a login request.
    /// Content forwarded in previous turns is not forwarded again.
    async fn find_task(&mut self) {
        let Some(handle) = RemoteTaskHandle::before(&self.serving, &self.remote) else {
            return;
        };
        handle.pass_context(&self.line);
        if let Some(noted) = handle.to_json() {
            self.serving.note(noted);
        }
        let recalled = handle.recall(&self.remote, self.serving.call()).await;
        self.hearing = recalled.unwrap_or_else(|_| handle.fresh_translator());
    }

    async fn carry_out(mut self, leaving: &CancellationToken) {
        match self.run(leaving).await {
            RemoteCallOutcome::Ended(end) => {
                self.serving.finish(end);
            }
            RemoteCallOutcome::Unheard(trouble) => {
                // A caller that waits for the agent keeps waiting.
                if let Err(serving) = self.serving.give_back() {
                    serving.finish(End::Failed(failure_of(&trouble)));
                }
                // Report the failure last: once the server is reachable again, the returned call is delivered
                // anew.
                self.remote.failed(&trouble);
            }
            RemoteCallOutcome::Stopped => {
                drop(self.serving);
                stop(&self.line, self.hearing, self.source).await;
            }
            RemoteCallOutcome::Left => {}
        }
    }

    async fn run(&mut self, leaving: &CancellationToken) -> RemoteCallOutcome {
        let (gate, ready_set) = (Arc::new(Gate::default()), ReadySet::new());
        self.serving.gated(gate.clone());
        self.serving.input().listen(ready_set.handle(0));
        if !self.is_taken_up {
            self.begin();
        } else if self.go_on().is_none() {
            return RemoteCallOutcome::Stopped;
        }
        let mut pulse = interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_full = false;
        loop {
            let mut keys = Vec::new();
            let arrived = tokio::select! {
                () = ready_set.wait(&mut keys) => {
                    if self.handle_input().is_none() {
                        return RemoteCallOutcome::Stopped;
                    }
                    continue;
                }
                () = leaving.cancelled() => {
                    let is_over = self.serving.call().is_ended();
                    return if is_over { RemoteCallOutcome::Stopped } else { RemoteCallOutcome::Left };
                }
                () = gate.free(), if is_full => {
                    is_full = false;
                    continue;
                }
                _ = pulse.tick() => {
                    if self.source.as_ref().is_some_and(AnswerReader::is_alive) {
                        self.serving.pulse();
                    }
                    continue;
                }
                arrived = next(&mut self.source), if !is_full => arrived,
            };
            match arrived {
                Some(Ok(AnswerElement::Pulse)) => self.serving.pulse(),
                Some(Ok(AnswerElement::Item { id, item })) => {
                    self.has_heard = true;
                    self.remote.answered();
                    self.last_event = id.or(self.last_event.take());
                    let heard = self.hearing.translate(item);
                    self.note_progress(!heard.is_empty());
                    self.note_task();
                    for heard in heard {
                        match self.forward(heard) {
                            Ok(pushed) => is_full = pushed == Pushed::Full,
                            Err(end) => return RemoteCallOutcome::Ended(end),
                        }
                    }
                    self.note_context();
                }
                None => {
                    self.source = None;
                    if let Some(end) = self.hearing.closed() {
                        return RemoteCallOutcome::Ended(end);
                    }
                    if !self.hearing.is_waiting()
                        && let Some(over) = self.recover(self.closed_early())
                    {
                        return over;
                    }
                }
                Some(Err(trouble)) => {
                    self.source = None;
                    if let RemoteCallError::Cut(_) = trouble
                        && let Some(end) = self.hearing.cut()
                    {
                        return RemoteCallOutcome::Ended(end);
                    }
                    if !self.hearing.is_waiting()
                        && let Some(over) = self.recover(trouble)
                    {
                        return over;
                    }
                }
            }
        }
    }

    /// Sends the caller's message.
    fn begin(&mut self) {
        // A complete answer shows the task after the message, but a stream may begin with the state before
        // the message.
        if !self.is_blocking {
            self.hearing.answered();
        }
        let call = self.serving.call();
        let id = call.id.to_string();
        let message = message_to(call.message.clone(), id);
        let context = self.hearing.context().map(str::to_owned);
        let message = Message {
            task_id: self.hearing.task().map(str::to_owned),
            context_id: context.or_else(|| self.remote.contexts.get(&call.agent_session)),
            ..message
        };
        let asked = asked_with(&self.serving);
        self.send_message(message, asked);
    }

    /// Fetches the state of a task that continued while the hub was down. An answer that arrived meanwhile is
    /// sent first. Returns `None` if the call is over.
    fn go_on(&mut self) -> Option<()> {
        self.note_context();
        self.handle_input()?;
        if self.source.is_none()
            && let Some(task) = self.hearing.task().map(str::to_owned)
        {
            self.follow(task, Duration::ZERO, true);
        }
        Some(())
    }

    fn send_message(&mut self, message: Message, asked: SendOptions) {
        self.hearing.sent();
        self.subscribed = None;
        let mut headers = HeaderMap::new();
        let call = self.serving.call();
        // With the call id, a server that calls back can name its parent call, so that the hub forwards
        // cancels and stops loops.
        trace::add_call_header(&mut headers, call.id);
        let trace = call.traceparent.as_deref();
        if let Some(Ok(value)) = trace.map(HeaderValue::from_str) {
            headers.insert("traceparent", value);
        }
        let params = SendParams {
            tenant: self.line.place().tenant.clone(),
            message,
            configuration: Configuration {
                accepted_output_modes: asked.accepted_output_modes,
                return_immediately: self.is_blocking.then_some(false),
                ..Configuration::default()
            },
            metadata: asked.metadata,
        };
        self.source = Some(match self.is_blocking {
            true => AnswerReader::whole(self.line.clone(), params, headers),
            false => AnswerReader::stream(self.line.clone(), params, headers),
        });
    }

    /// Handles the caller's input. Returns `None` if the call is over.
    fn handle_input(&mut self) -> Option<()> {
        let mut inputs = Vec::new();
        if self.serving.input().take(&mut inputs, BATCH).is_some() {
            return None;
        }
        for input in inputs {
            if let Input::Answer(id, answer) = input
                && self.hearing.last_ask() == Some(id)
            {
                self.answer(answer);
            }
        }
        Some(())
    }

    fn answer(&mut self, answer: Answer) {
        self.hearing.answered();
        let asked = SendOptions::of(answer.extra.as_ref());
        if !asked.extensions.is_empty() {
            self.line = declaring(&self.remote, &self.line, &asked);
        }
        let message = answer_to(answer, Uuid::new_v4().to_string());
        let message = Message {
            task_id: self.hearing.task().map(str::to_owned),
            context_id: self.hearing.context().map(str::to_owned),
            ..message
        };
        self.send_message(message, asked);
    }

    fn forward(&mut self, heard: RemoteOutput) -> Result<Pushed, End> {
        match heard {
            RemoteOutput::Say(event) => Ok(self.serving.push(event)),
            RemoteOutput::Ask(ask) => Ok(self.serving.ask(ask)),
            RemoteOutput::End(end) => Err(end),
        }
    }

    /// Stores the remote's task id in the call's record, for resuming after a restart.
    fn note_task(&self) {
        if self.serving.call().handle().is_none()
            && let Some(handle) = RemoteTaskHandle::written(&self.remote, &self.hearing)
        {
            self.serving.note(handle);
        }
    }

    /// Remembers the remote's context id for the next message of the conversation.
    fn note_context(&self) {
        if let Some(context) = self.hearing.context() {
            let session = &self.serving.call().agent_session;
            self.remote.contexts.put(session, context.to_owned());
        }
    }

    /// Records an answer of the server. Only new content ends the broken state.
    fn note_progress(&mut self, is_new: bool) {
        if is_new {
            self.broken = None;
            self.fruitless = 0;
            // The subscription brought new content, so it does not count as fruitless.
            self.subscribed = None;
        } else if let Some(broken) = &mut self.broken {
            broken.since = Instant::now();
        }
    }

    /// Returns the error for a stream that was closed in order, but before the end of the work.
    fn closed_early(&self) -> RemoteCallError {
        match self.hearing.task() {
            Some(_) => RemoteCallError::Cut("it closed the stream before the end".to_owned()),
            // The server is reachable and gave an empty answer.
            None => {
                RemoteCallError::Garbled("it closed the stream without a single event".to_owned())
            }
        }
    }

    /// Resumes after an error, or ends the call.
    fn recover(&mut self, trouble: RemoteCallError) -> Option<RemoteCallOutcome> {
        self.hearing.mark_answer_undelivered();
        // Even for a known task, the server may not have accepted the message.
        let is_untaken = !self.has_heard && !self.is_taken_up && self.broken.is_none();
        let may_start_over = is_untaken && !self.is_blocking && does_not_stream(&trouble);
        let task = self.hearing.task().filter(|_| !may_start_over);
        let Some(task) = task.map(str::to_owned) else {
            return self.start_over(trouble);
        };
        let may_pass = match &trouble {
            RemoteCallError::Unheard(_)
            | RemoteCallError::Unreachable(_)
            | RemoteCallError::Cut(_) => true,
            // A task without subscriptions can be polled; an unknown task is lost.
            RemoteCallError::Refused(fault) => {
                fault.kind != A2aErrorKind::TaskNotFound || self.broken.is_none()
            }
            RemoteCallError::GaveUp(_)
            | RemoteCallError::Unauthorized(_)
            | RemoteCallError::Garbled(_) => false,
        };
        if !may_pass {
            return Some(self.failed(&trouble));
        }
        let BrokenStream { since, pause } = self.broken.unwrap_or(BrokenStream {
            since: Instant::now(),
            pause: Duration::ZERO,
        });
        if since.elapsed() > RESUME_LIMIT {
            return Some(self.failed(&trouble));
        }
        if pause == PAUSE {
            self.report_disconnect(&trouble);
        }
        self.broken = Some(BrokenStream {
            since,
            pause: (pause * 2).clamp(PAUSE, PAUSE_MAX),
        });
        if let Some(begun) = self.subscribed.take() {
            let is_fruitless = begun.elapsed() < FRUITLESS_WITHIN;
            self.fruitless = if is_fruitless { self.fruitless + 1 } else { 0 };
        }
        match trouble {
            RemoteCallError::Refused(_) => self.follow(task, pause.max(PAUSE), false),
            _ => self.follow(task, pause, true),
        }
        None
    }

    /// Informs the caller about the disconnect, after the second failed attempt in a row.
    fn report_disconnect(&self, trouble: &RemoteCallError) {
        let (RemoteCallError::Unheard(why)
        | RemoteCallError::Unreachable(why)
        | RemoteCallError::Cut(why)) = trouble
        else {
            return;
        };
        tracing::info!(agent = %self.remote.id, why, "the stream of a task broke off");
        let minutes = RESUME_LIMIT.as_secs() / 60;
        self.serving.push(Event::Chunk(Chunk {
            kind: ChunkKind::Status,
            text: format!(
                "the connection to the remote agent broke off ({why}); the hub tries again for {minutes} minutes"
            ),
            ..Chunk::default()
        }));
    }

    /// Subscribes to a task or polls the task, after a pause. Servers of version 0.3 do not send the current
    /// task on a subscription, and some corrupt their stored task by then, so tasks of 0.3 are polled.
    fn follow(&mut self, task: String, pause: Duration, may_subscribe: bool) {
        let can_subscribe = may_subscribe
            && !self.is_blocking
            && self.line.place().version == A2aVersion::V10
            && self.fruitless < MAX_FRUITLESS
            && self.subscriptions < MAX_SUBSCRIPTIONS;
        if can_subscribe {
            self.subscriptions += 1;
            self.subscribed = Some(Instant::now() + pause);
        }
        let line = self.line.clone();
        self.source = Some(match can_subscribe {
            true => AnswerReader::follow(line, task, self.last_event.clone(), pause),
            false if self.is_taken_up => AnswerReader::look(line, task, pause, RESTARTED),
            false => AnswerReader::look(line, task, pause.max(PAUSE), NO_END),
        });
    }

    /// Handles an error before the first answer. A message is never sent twice, unless the server did not
    /// accept the message.
    fn start_over(&mut self, trouble: RemoteCallError) -> Option<RemoteCallOutcome> {
        if let RemoteCallError::Unheard(_) = trouble {
            return Some(RemoteCallOutcome::Unheard(trouble));
        }
        if does_not_stream(&trouble) && !self.is_blocking {
            self.is_blocking = true;
            self.begin();
            return None;
        }
        Some(self.failed(&trouble))
    }

    fn failed(&self, trouble: &RemoteCallError) -> RemoteCallOutcome {
        self.remote.failed(trouble);
        let mut failure = failure_of(trouble);
        if let RemoteCallError::Refused(fault) = trouble
            && fault.kind == A2aErrorKind::TaskNotFound
            && (self.is_taken_up || (self.broken.is_some() && self.has_heard))
        {
            let why = match self.is_taken_up {
                true => "the hub was restarted",
                false => "the connection broke off",
            };
            let text = format!(
                "{why}, and the remote agent does not know the task any more: {}",
                fault.message
            );
            failure.text = text.into();
        }
        RemoteCallOutcome::Ended(End::Failed(failure))
    }
}

/// Returns the request options of the call's message.
fn asked_with(serving: &AgentHandle) -> SendOptions {
    SendOptions::of(serving.call().message.extra.as_ref())
}

/// Returns true if the server does not support the requested method, as a server without streaming.
fn does_not_stream(trouble: &RemoteCallError) -> bool {
    let RemoteCallError::Refused(fault) = trouble else {
        return false;
    };
    matches!(
        fault.kind,
        A2aErrorKind::Unsupported | A2aErrorKind::MethodNotFound
    )
}

async fn next(source: &mut Option<AnswerReader>) -> Option<Result<AnswerElement, RemoteCallError>> {
    match source {
        Some(source) => source.next().await,
        // Wait for an answer of the caller.
        None => std::future::pending().await,
    }
}

/// Translates an error into the failure for the caller.
fn failure_of(trouble: &RemoteCallError) -> Failure {
    let own = |code: &str| Reason::Agent(code.to_owned());
    match trouble {
        RemoteCallError::Unheard(why) | RemoteCallError::Unreachable(why) => {
            let text = format!("the remote agent cannot be reached: {why}");
            Failure::new(Reason::Offline, text)
        }
        RemoteCallError::Cut(why) => {
            let text = format!("the connection to the remote agent broke off: {why}");
            Failure::new(Reason::Offline, text)
        }
        RemoteCallError::Unauthorized(why) => {
            let text = format!("the hub does not show the remote agent what it wants: {why}");
            Failure::new(own("remote_unauthorized"), text)
        }
        RemoteCallError::Refused(fault) | RemoteCallError::GaveUp(fault) => refused(fault),
        RemoteCallError::Garbled(why) => {
            let text = format!("the remote agent's answer makes no sense: {why}");
            Failure::new(own("invalid_agent_response"), text)
        }
    }
}

/// Translates an error of the protocol. The caller sees errors about its own content. Errors about params
/// concern the hub, which wrote the params.
fn refused(fault: &A2aError) -> Failure {
    let reason = match fault.kind {
        A2aErrorKind::ContentType => Reason::Invalid,
        A2aErrorKind::TooLarge => Reason::TooLarge,
        A2aErrorKind::Busy => Reason::Busy,
        A2aErrorKind::Unavailable => Reason::Offline,
        // Without the prefix, these names would equal the hub's own failures.
        A2aErrorKind::Internal | A2aErrorKind::Conflict => {
            Reason::Agent(format!("remote_{}", fault.reason().to_ascii_lowercase()))
        }
        _ => Reason::Agent(fault.reason().to_ascii_lowercase()),
    };
    Failure::new(reason, fault.message.clone())
}

#[cfg(test)]
mod tests;
