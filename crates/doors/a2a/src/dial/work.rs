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
use jackfield_core::{bell::Bell, call::Serving, gate::Gate, pipe::Pushed};
use jackfield_kit::trace;
use jackfield_model::{Answer, Chunk, ChunkKind, End, Event, Failure, Input, Reason};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::{
    handle::Handle,
    source::{NO_END, RESTARTED, Source},
};
use super::{
    hear::{Heard, Hearing},
    line::{Arrived, Line, Trouble},
    remote::Remote,
};
use crate::official::translate::{Asked, answer_to, message_to};
use crate::wire::official::{
    Version,
    error::{Fault, Kind},
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
const PATIENCE: Duration = Duration::from_secs(300);

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
pub(super) async fn serve(remote: Arc<Remote>, serving: Serving, leaving: CancellationToken) {
    let line = remote.line();
    let mut work = Work::new(remote, &line, serving);
    work.find_task().await;
    work.carry_out(&leaving).await;
}

/// Resumes a call that the remote received before a restart of the hub, as soon as the remote is found.
pub(super) async fn go_on(remote: Arc<Remote>, serving: Serving, leaving: CancellationToken) {
    let recalled = match Handle::of(&serving, &remote) {
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
        line = remote.found() => Ok(line),
        () = ended(&serving) => timeout(STOPPING, remote.found()).await,
        () = leaving.cancelled() => return,
    };
    // The call ended and the remote is unreachable: the remote's task cannot be cancelled.
    let Ok(line) = found else { return };
    handle.tell(&line);
    let work = Work {
        hearing,
        is_taken_up: true,
        ..Work::new(remote, &line, serving)
    };
    work.carry_out(&leaving).await;
}

/// Waits until a call is ended.
async fn ended(serving: &Serving) {
    let bell = Bell::new();
    serving.input().listen(bell.rope(0));
    while !serving.call().is_ended() {
        bell.wait(&mut Vec::new()).await;
    }
}

/// Returns the line with the declared extensions: the caller's, and the required extensions of the card,
/// because callers of other doors cannot declare any.
fn declaring(remote: &Remote, line: &Line, asked: &Asked) -> Arc<Line> {
    let found = remote.known().found;
    let known = found.iter().flat_map(|found| &found.profile.extensions);
    let required = known.filter(|it| it.required).map(|it| &it.uri);
    let extensions = asked.extensions.iter().chain(required);
    Arc::new(line.declaring(extensions.cloned().collect()))
}

/// Outcome of serving a call.
enum Over {
    /// The remote ended the call, or an error did.
    Ended(End),
    /// The remote never received the message.
    Unheard(Trouble),
    /// The caller or the hub ended the call.
    Stopped,
    /// The hub stops and resumes the call after its restart.
    Left,
}

/// Cancels the remote's task, once the task id is known.
async fn stop(line: &Line, mut hearing: Hearing, mut source: Option<Source>) {
    let stopped = timeout(STOPPING, async {
        while hearing.task().is_none()
            && let Some(open) = &mut source
            && let Some(Ok(arrived)) = open.next().await
        {
            // A keepalive has no content, but an item may follow.
            if let Arrived::Item { item, .. } = arrived {
                hearing.hear(item);
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
struct Broken {
    /// Time of the last answer of the server, or of the disconnect.
    since: Instant,
    /// Next pause. Only new content resets the pause: a server that repeats old content is asked less and
    /// less often.
    pause: Duration,
}

struct Work {
    remote: Arc<Remote>,
    line: Arc<Line>,
    serving: Serving,
    hearing: Hearing,
    /// Reader of the remote's answers; `None` while the remote waits for the caller.
    source: Option<Source>,
    /// Id of the stream's last event with an id.
    last_event: Option<String>,
    /// True if the call was resumed after a restart of the hub.
    is_taken_up: bool,
    /// State of a broken stream, until new content arrives.
    broken: Option<Broken>,
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

impl Work {
    fn new(remote: Arc<Remote>, line: &Line, serving: Serving) -> Self {
        Self {
            is_blocking: !line.place().streams,
            line: declaring(&remote, line, &asked_with(&serving)),
            remote,
            serving,
            hearing: Hearing::default(),
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
        let Some(handle) = Handle::before(&self.serving, &self.remote) else {
            return;
        };
        handle.tell(&self.line);
        if let Some(noted) = handle.to_json() {
            self.serving.note(noted);
        }
        let recalled = handle.recall(&self.remote, self.serving.call()).await;
        self.hearing = recalled.unwrap_or_else(|_| handle.anew());
    }

    async fn carry_out(mut self, leaving: &CancellationToken) {
        match self.run(leaving).await {
            Over::Ended(end) => {
                self.serving.finish(end);
            }
            Over::Unheard(trouble) => {
                // A caller that waits for the agent keeps waiting.
                if let Err(serving) = self.serving.give_back() {
                    serving.finish(End::Failed(failure_of(&trouble)));
                }
                // Report the failure last: once the server is reachable again, the returned call is delivered
                // anew.
                self.remote.failed(&trouble);
            }
            Over::Stopped => {
                drop(self.serving);
                stop(&self.line, self.hearing, self.source).await;
            }
            Over::Left => {}
        }
    }

    async fn run(&mut self, leaving: &CancellationToken) -> Over {
        let (gate, bell) = (Arc::new(Gate::default()), Bell::new());
        self.serving.gated(gate.clone());
        self.serving.input().listen(bell.rope(0));
        if !self.is_taken_up {
            self.begin();
        } else if self.go_on().is_none() {
            return Over::Stopped;
        }
        let mut pulse = interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_full = false;
        loop {
            let mut rang = Vec::new();
            let arrived = tokio::select! {
                () = bell.wait(&mut rang) => {
                    if self.heed().is_none() {
                        return Over::Stopped;
                    }
                    continue;
                }
                () = leaving.cancelled() => {
                    let is_over = self.serving.call().is_ended();
                    return if is_over { Over::Stopped } else { Over::Left };
                }
                () = gate.free(), if is_full => {
                    is_full = false;
                    continue;
                }
                _ = pulse.tick() => {
                    if self.source.as_ref().is_some_and(Source::is_alive) {
                        self.serving.pulse();
                    }
                    continue;
                }
                arrived = next(&mut self.source), if !is_full => arrived,
            };
            match arrived {
                Some(Ok(Arrived::Pulse)) => self.serving.pulse(),
                Some(Ok(Arrived::Item { id, item })) => {
                    self.has_heard = true;
                    self.remote.answered();
                    self.last_event = id.or(self.last_event.take());
                    let heard = self.hearing.hear(item);
                    self.note_progress(!heard.is_empty());
                    self.note_task();
                    for heard in heard {
                        match self.pass_on(heard) {
                            Ok(pushed) => is_full = pushed == Pushed::Full,
                            Err(end) => return Over::Ended(end),
                        }
                    }
                    self.note_context();
                }
                None => {
                    self.source = None;
                    if let Some(end) = self.hearing.closed() {
                        return Over::Ended(end);
                    }
                    if !self.hearing.is_waiting()
                        && let Some(over) = self.take_up(self.closed_early())
                    {
                        return over;
                    }
                }
                Some(Err(trouble)) => {
                    self.source = None;
                    if let Trouble::Cut(_) = trouble
                        && let Some(end) = self.hearing.cut()
                    {
                        return Over::Ended(end);
                    }
                    if !self.hearing.is_waiting()
                        && let Some(over) = self.take_up(trouble)
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
        self.say(message, asked);
    }

    /// Fetches the state of a task that continued while the hub was down. An answer that arrived meanwhile is
    /// sent first. Returns `None` if the call is over.
    fn go_on(&mut self) -> Option<()> {
        self.note_context();
        self.heed()?;
        if self.source.is_none()
            && let Some(task) = self.hearing.task().map(str::to_owned)
        {
            self.follow(task, Duration::ZERO, true);
        }
        Some(())
    }

    fn say(&mut self, message: Message, asked: Asked) {
        self.hearing.sent();
        self.subscribed = None;
        let mut headers = HeaderMap::new();
        let call = self.serving.call();
        // With the call id, a server that calls back can name its parent call, so that the hub forwards
        // cancels and stops loops.
        trace::name(&mut headers, call.id);
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
            true => Source::whole(self.line.clone(), params, headers),
            false => Source::stream(self.line.clone(), params, headers),
        });
    }

    /// Handles the caller's input. Returns `None` if the call is over.
    fn heed(&mut self) -> Option<()> {
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
        let asked = Asked::of(answer.extra.as_ref());
        if !asked.extensions.is_empty() {
            self.line = declaring(&self.remote, &self.line, &asked);
        }
        let message = answer_to(answer, Uuid::new_v4().to_string());
        let message = Message {
            task_id: self.hearing.task().map(str::to_owned),
            context_id: self.hearing.context().map(str::to_owned),
            ..message
        };
        self.say(message, asked);
    }

    fn pass_on(&mut self, heard: Heard) -> Result<Pushed, End> {
        match heard {
            Heard::Say(event) => Ok(self.serving.push(event)),
            Heard::Ask(ask) => Ok(self.serving.ask(ask)),
            Heard::End(end) => Err(end),
        }
    }

    /// Stores the remote's task id in the call's record, for resuming after a restart.
    fn note_task(&self) {
        if self.serving.call().handle().is_none()
            && let Some(handle) = Handle::written(&self.remote, &self.hearing)
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
    fn closed_early(&self) -> Trouble {
        match self.hearing.task() {
            Some(_) => Trouble::Cut("it closed the stream before the end".to_owned()),
            // The server is reachable and gave an empty answer.
            None => Trouble::Garbled("it closed the stream without a single event".to_owned()),
        }
    }

    /// Resumes after an error, or ends the call.
    fn take_up(&mut self, trouble: Trouble) -> Option<Over> {
        self.hearing.doubts_the_answer();
        // Even for a known task, the server may not have accepted the message.
        let is_untaken = !self.has_heard && !self.is_taken_up && self.broken.is_none();
        let may_start_over = is_untaken && !self.is_blocking && does_not_stream(&trouble);
        let task = self.hearing.task().filter(|_| !may_start_over);
        let Some(task) = task.map(str::to_owned) else {
            return self.start_over(trouble);
        };
        let may_pass = match &trouble {
            Trouble::Unheard(_) | Trouble::Unreachable(_) | Trouble::Cut(_) => true,
            // A task without subscriptions can be polled; an unknown task is lost.
            Trouble::Refused(fault) => fault.kind != Kind::TaskNotFound || self.broken.is_none(),
            Trouble::GaveUp(_) | Trouble::Unauthorized(_) | Trouble::Garbled(_) => false,
        };
        if !may_pass {
            return Some(self.failed(&trouble));
        }
        let Broken { since, pause } = self.broken.unwrap_or(Broken {
            since: Instant::now(),
            pause: Duration::ZERO,
        });
        if since.elapsed() > PATIENCE {
            return Some(self.failed(&trouble));
        }
        if pause == PAUSE {
            self.tell_trouble(&trouble);
        }
        self.broken = Some(Broken {
            since,
            pause: (pause * 2).clamp(PAUSE, PAUSE_MAX),
        });
        if let Some(begun) = self.subscribed.take() {
            let is_fruitless = begun.elapsed() < FRUITLESS_WITHIN;
            self.fruitless = if is_fruitless { self.fruitless + 1 } else { 0 };
        }
        match trouble {
            Trouble::Refused(_) => self.follow(task, pause.max(PAUSE), false),
            _ => self.follow(task, pause, true),
        }
        None
    }

    /// Informs the caller about the disconnect, after the second failed attempt in a row.
    fn tell_trouble(&self, trouble: &Trouble) {
        let (Trouble::Unheard(why) | Trouble::Unreachable(why) | Trouble::Cut(why)) = trouble
        else {
            return;
        };
        tracing::info!(agent = %self.remote.id, why, "the stream of a task broke off");
        let minutes = PATIENCE.as_secs() / 60;
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
            && self.line.place().version == Version::V10
            && self.fruitless < MAX_FRUITLESS
            && self.subscriptions < MAX_SUBSCRIPTIONS;
        if can_subscribe {
            self.subscriptions += 1;
            self.subscribed = Some(Instant::now() + pause);
        }
        let line = self.line.clone();
        self.source = Some(match can_subscribe {
            true => Source::follow(line, task, self.last_event.clone(), pause),
            false if self.is_taken_up => Source::look(line, task, pause, RESTARTED),
            false => Source::look(line, task, pause.max(PAUSE), NO_END),
        });
    }

    /// Handles an error before the first answer. A message is never sent twice, unless the server did not
    /// accept the message.
    fn start_over(&mut self, trouble: Trouble) -> Option<Over> {
        if let Trouble::Unheard(_) = trouble {
            return Some(Over::Unheard(trouble));
        }
        if does_not_stream(&trouble) && !self.is_blocking {
            self.is_blocking = true;
            self.begin();
            return None;
        }
        Some(self.failed(&trouble))
    }

    fn failed(&self, trouble: &Trouble) -> Over {
        self.remote.failed(trouble);
        let mut failure = failure_of(trouble);
        if let Trouble::Refused(fault) = trouble
            && fault.kind == Kind::TaskNotFound
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
        Over::Ended(End::Failed(failure))
    }
}

/// Returns the request options of the call's message.
fn asked_with(serving: &Serving) -> Asked {
    Asked::of(serving.call().message.extra.as_ref())
}

/// Returns true if the server does not support the requested method, as a server without streaming.
fn does_not_stream(trouble: &Trouble) -> bool {
    let Trouble::Refused(fault) = trouble else {
        return false;
    };
    matches!(fault.kind, Kind::Unsupported | Kind::MethodNotFound)
}

async fn next(source: &mut Option<Source>) -> Option<Result<Arrived, Trouble>> {
    match source {
        Some(source) => source.next().await,
        // Wait for an answer of the caller.
        None => std::future::pending().await,
    }
}

/// Translates an error into the failure for the caller.
fn failure_of(trouble: &Trouble) -> Failure {
    let own = |code: &str| Reason::Agent(code.to_owned());
    match trouble {
        Trouble::Unheard(why) | Trouble::Unreachable(why) => {
            let text = format!("the remote agent cannot be reached: {why}");
            Failure::new(Reason::Offline, text)
        }
        Trouble::Cut(why) => {
            let text = format!("the connection to the remote agent broke off: {why}");
            Failure::new(Reason::Offline, text)
        }
        Trouble::Unauthorized(why) => {
            let text = format!("the hub does not show the remote agent what it wants: {why}");
            Failure::new(own("remote_unauthorized"), text)
        }
        Trouble::Refused(fault) | Trouble::GaveUp(fault) => refused(fault),
        Trouble::Garbled(why) => {
            let text = format!("the remote agent's answer makes no sense: {why}");
            Failure::new(own("invalid_agent_response"), text)
        }
    }
}

/// Translates an error of the protocol. The caller sees errors about its own content. Errors about params
/// concern the hub, which wrote the params.
fn refused(fault: &Fault) -> Failure {
    let reason = match fault.kind {
        Kind::ContentType => Reason::Invalid,
        Kind::TooLarge => Reason::TooLarge,
        Kind::Busy => Reason::Busy,
        Kind::Unavailable => Reason::Offline,
        // Without the prefix, these names would equal the hub's own failures.
        Kind::Internal | Kind::Conflict => {
            Reason::Agent(format!("remote_{}", fault.reason().to_ascii_lowercase()))
        }
        _ => Reason::Agent(fault.reason().to_ascii_lowercase()),
    };
    Failure::new(reason, fault.message.clone())
}

#[cfg(test)]
mod tests;
