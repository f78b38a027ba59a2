//! One call to a remote, from its message to its end. A stream that breaks is taken up again: by subscribing where that
//! helps, and by looking at the task. So is the work on a kept call that went on while the hub was restarted
//! (`handle.rs`), and a message that the remote waits for goes to the task in which it does. A call that ends here ends there too: the remote is told to stop, as soon as it has said what it calls
//! the task.
//!
//! What comes from the remote is read by a task of its own (`source.rs`), which waits while the caller does not read.

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

/// How much input is taken at once.
const BATCH: usize = 64 << 10;

/// How long a remote is given to hear that it shall stop.
const STOPPING: Duration = Duration::from_secs(10);

/// How often an exchange that is open without a word counts as a sign of life.
const PULSE: Duration = Duration::from_secs(10);

/// The first pause before a broken stream is taken up again once more; it doubles.
const PAUSE: Duration = Duration::from_millis(500);

/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// How long a broken stream is taken up again while the server says nothing. The clocks of the call may end it before.
const PATIENCE: Duration = Duration::from_secs(300);

/// A subscription that ends earlier than this and brought nothing new is a fruitless one. Proxies cut idle streams after
/// a minute or so, which says nothing about the server.
const FRUITLESS_WITHIN: Duration = Duration::from_secs(10);

/// After so many fruitless subscriptions in a row the task is looked at instead, once a second or less often.
const MAX_FRUITLESS: u32 = 3;

/// The same after so many subscriptions of one call, fruitless or not: the number of requests stays bounded, whatever the
/// server does.
const MAX_SUBSCRIPTIONS: u32 = 100;

/// Works on a call until it ends, whoever ends it, or until the hub leaves it to the next one.
pub(super) async fn serve(remote: Arc<Remote>, serving: AgentHandle, leaving: CancellationToken) {
    let line = remote.line();
    let mut work = Work::new(remote, &line, serving);
    work.find_task().await;
    work.carry_out(&leaving).await;
}

/// Goes on with a call that the remote got before the hub was restarted, as soon as the remote is found.
pub(super) async fn go_on(remote: Arc<Remote>, serving: AgentHandle, leaving: CancellationToken) {
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
    // If it ended meanwhile and the remote is not there, nobody can tell it to stop.
    let Ok(line) = found else { return };
    handle.tell(&line);
    let work = Work {
        hearing,
        is_taken_up: true,
        ..Work::new(remote, &line, serving)
    };
    work.carry_out(&leaving).await;
}

/// Waits until somebody ends a call.
async fn ended(serving: &AgentHandle) {
    let bell = ReadySet::new();
    serving.input().listen(bell.handle(0));
    while !serving.call().is_ended() {
        bell.wait(&mut Vec::new()).await;
    }
}

/// The line to a remote, on which the extensions are declared that the caller knows and that the card insists on: callers
/// of other doors cannot say it.
fn declaring(remote: &Remote, line: &Line, asked: &Asked) -> Arc<Line> {
    let found = remote.known().found;
    let known = found.iter().flat_map(|found| &found.profile.extensions);
    let required = known.filter(|it| it.required).map(|it| &it.uri);
    let extensions = asked.extensions.iter().chain(required);
    Arc::new(line.declaring(extensions.cloned().collect()))
}

/// How the work on a call came to its end.
enum Over {
    /// The remote ended it, or what went wrong did.
    Ended(End),
    /// The remote heard nothing of it.
    Unheard(Trouble),
    /// Somebody else ended it.
    Stopped,
    /// The hub stops, and leaves it to the next one.
    Left,
}

/// Tells the remote to stop, once it is known what it calls the task.
async fn stop(line: &Line, mut hearing: Hearing, mut source: Option<Source>) {
    let stopped = timeout(STOPPING, async {
        while hearing.task().is_none()
            && let Some(open) = &mut source
            && let Some(Ok(arrived)) = open.next().await
        {
            // A sign of life says nothing, but more may come.
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

/// A stream that broke off.
#[derive(Debug, Clone, Copy)]
struct Broken {
    /// When the server was last heard, or the stream broke off.
    since: Instant,
    /// The next pause. Only news from the server resets it: one that repeats itself is asked less and less often.
    pause: Duration,
}

struct Work {
    remote: Arc<Remote>,
    line: Arc<Line>,
    serving: AgentHandle,
    hearing: Hearing,
    /// What comes from the remote; none while it waits for the caller.
    source: Option<Source>,
    /// The last event of the stream that had an id.
    last_event: Option<String>,
    /// Whether the hub was restarted since the message went out.
    is_taken_up: bool,
    /// Set while the stream is broken and nothing new has come.
    broken: Option<Broken>,
    /// When the subscription that is open was begun.
    subscribed: Option<Instant>,
    /// How many subscriptions there were.
    subscriptions: u32,
    /// How many of the last ones were fruitless.
    fruitless: u32,
    /// Whether the server said that it does not stream.
    is_blocking: bool,
    /// Whether anything came from it for this call.
    has_heard: bool,
}

impl Work {
    fn new(remote: Arc<Remote>, line: &Line, serving: AgentHandle) -> Self {
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

    /// Finds the task in which the server waits for the message, if it ended the turn before so. What was passed on of it
    /// in turns before is not passed on again.
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
                // A caller that waits for the agent goes on waiting.
                if let Err(serving) = self.serving.give_back() {
                    serving.finish(End::Failed(failure_of(&trouble)));
                }
                // Only now: whoever finds the server there again sends what waits.
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
        let (gate, bell) = (Arc::new(Gate::default()), ReadySet::new());
        self.serving.gated(gate.clone());
        self.serving.input().listen(bell.handle(0));
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

    /// The caller's message goes out.
    fn begin(&mut self) {
        // A whole answer tells how the task stands after the message, but a stream may begin with how it stood before.
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

    /// Finds out how the task stands that went on while the hub was away, unless an answer came meanwhile, which goes there
    /// first; or the call is over: then nothing.
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
        // A server that calls back says for which call, and then cancels are passed on and loops are cut.
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

    /// What the caller said, or that the call is over: then nothing.
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

    /// By its name the task is found again after a restart of the hub.
    fn note_task(&self) {
        if self.serving.call().handle().is_none()
            && let Some(handle) = Handle::written(&self.remote, &self.hearing)
        {
            self.serving.note(handle);
        }
    }

    /// The next message of this conversation belongs to the remote's.
    fn note_context(&self) {
        if let Some(context) = self.hearing.context() {
            let session = &self.serving.call().agent_session;
            self.remote.contexts.put(session, context.to_owned());
        }
    }

    /// The server was heard. Only something new ends the trouble that there was.
    fn note_progress(&mut self, is_new: bool) {
        if is_new {
            self.broken = None;
            self.fruitless = 0;
            // Whatever becomes of it, it was not fruitless.
            self.subscribed = None;
        } else if let Some(broken) = &mut self.broken {
            broken.since = Instant::now();
        }
    }

    /// A stream that was closed in order, but not at the end of the work.
    fn closed_early(&self) -> Trouble {
        match self.hearing.task() {
            Some(_) => Trouble::Cut("it closed the stream before the end".to_owned()),
            // It is there, and has answered: with nothing.
            None => Trouble::Garbled("it closed the stream without a single event".to_owned()),
        }
    }

    /// Goes on after something went wrong, or ends the call.
    fn take_up(&mut self, trouble: Trouble) -> Option<Over> {
        self.hearing.doubts_the_answer();
        // The message of a task that is known may not have been taken either.
        let is_untaken = !self.has_heard && !self.is_taken_up && self.broken.is_none();
        let may_start_over = is_untaken && !self.is_blocking && does_not_stream(&trouble);
        let task = self.hearing.task().filter(|_| !may_start_over);
        let Some(task) = task.map(str::to_owned) else {
            return self.start_over(trouble);
        };
        let may_pass = match &trouble {
            Trouble::Unheard(_) | Trouble::Unreachable(_) | Trouble::Cut(_) => true,
            // What cannot be followed can be looked at; what cannot be found is gone.
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

    /// A second try in a row did not work either: whoever waits should know for what.
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

    /// Follows a task, after a pause. Servers of version 0.3 do not say how the task stands when they are asked to go on,
    /// and some of them spoil what they have stored meanwhile. It can be looked at.
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

    /// Nothing has come yet. A message is never sent twice, unless the server did not take it.
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

/// What is asked besides the message of a call.
fn asked_with(serving: &AgentHandle) -> Asked {
    Asked::of(serving.call().message.extra.as_ref())
}

/// Whether a server says that it does not do what was asked, as those that do not stream.
fn does_not_stream(trouble: &Trouble) -> bool {
    let Trouble::Refused(fault) = trouble else {
        return false;
    };
    matches!(fault.kind, Kind::Unsupported | Kind::MethodNotFound)
}

async fn next(source: &mut Option<Source>) -> Option<Result<Arrived, Trouble>> {
    match source {
        Some(source) => source.next().await,
        // Until the caller answers.
        None => std::future::pending().await,
    }
}

/// What the caller is told.
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

/// What a server says to a request is the caller's to know, where it is about what the caller said. The params are not: the
/// hub wrote them.
fn refused(fault: &Fault) -> Failure {
    let reason = match fault.kind {
        Kind::ContentType => Reason::Invalid,
        Kind::TooLarge => Reason::TooLarge,
        Kind::Busy => Reason::Busy,
        Kind::Unavailable => Reason::Offline,
        // These names are those of the hub's own failures, which it is none of.
        Kind::Internal | Kind::Conflict => {
            Reason::Agent(format!("remote_{}", fault.reason().to_ascii_lowercase()))
        }
        _ => Reason::Agent(fault.reason().to_ascii_lowercase()),
    };
    Failure::new(reason, fault.message.clone())
}

#[cfg(test)]
mod tests;
