//! One call: [`CallBuilder`] starts it, [`CallStream`] reads its reply.

use std::{fmt, time::Duration};

use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    EventStream, Hub, RawEvent, encode,
    event::{CallStarted, Event, parse},
    read_position::ReadPosition,
};
#[cfg(doc)]
use crate::Done;
use crate::{Backoff, Error, joined_text::JoinedText};

/// How long to retry after the connection of a durable call was lost: long enough for a restart of the hub.
const RETRY_FOR: Duration = Duration::from_secs(60);
/// Longest pause between two attempts, short enough to notice a returned hub soon.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A connection that lasted this long counts as good. After a good connection, [`RETRY_FOR`] starts anew.
const LASTED: Duration = Duration::from_secs(1);

/// State change of the connection that reads a durable call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconnect {
    /// The connection was lost; reconnecting.
    Lost {
        /// Time left for reconnecting.
        retry_for: Duration,
    },
    /// The connection is restored.
    Resumed,
}

type ReconnectListener = Box<dyn Fn(Reconnect) + Send + Sync>;

/// A call that has not started.
#[derive(Debug, Clone)]
pub struct CallBuilder {
    hub: Hub,
    agent: String,
    body: Map<String, Value>,
    parent: Option<String>,
    is_durable: bool,
}

impl CallBuilder {
    pub(super) fn new(hub: Hub, agent: String) -> Self {
        Self {
            hub,
            agent,
            body: Map::new(),
            parent: None,
            is_durable: false,
        }
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.body.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the text of the message.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.set("text", text.into())
    }

    /// Adds files and data: each a [`Part`](crate::Part), or JSON in the format of the hub's API.
    pub fn parts(self, parts: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        let parts: Vec<Value> = parts.into_iter().map(Into::into).collect();
        self.set("parts", parts)
    }

    /// Sets the caller's own id of the message, which the agent receives.
    pub fn message_id(self, id: impl Into<String>) -> Self {
        self.set("message_id", id.into())
    }

    /// Sets metadata for the agent, as a JSON object. `skill` names the requested skill.
    pub fn metadata(self, metadata: impl Into<Value>) -> Self {
        self.set("metadata", metadata.into())
    }

    /// Continues a conversation.
    pub fn session(self, session: impl Into<String>) -> Self {
        self.set("session", session.into())
    }

    /// Sets the time limit of the call.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set("timeout", format!("{}ms", timeout.as_millis()))
    }

    /// Makes the call durable: it survives a lost connection, and [`CallStream`] resumes reading.
    pub fn durable(mut self) -> Self {
        self.is_durable = true;
        self.set("keep", true)
    }

    /// Makes the call durable if its agent can resume it or is a dialled A2A server. The call then survives
    /// lost connections and a restart of the hub, as long as a reader exists. [`CallStream::is_durable`] returns
    /// the outcome.
    pub fn durable_if_resumable(self) -> Self {
        self.set("keep_if_resumable", true)
    }

    /// Waits up to `wait` for the agent to come online. Makes the call durable.
    pub fn wait_online(self, wait: Duration) -> Self {
        self.durable()
            .set("wait_online", format!("{}ms", wait.as_millis()))
    }

    /// Sets the client name by which an agent with a folder separates files: 1 to 128 of `A-Z a-z 0-9 . _ -`,
    /// not starting with a dot.
    pub fn client_id(self, client_id: impl Into<String>) -> Self {
        self.set("client_id", client_id.into())
    }

    /// Asks for the files that result from the call, in the folder of this client. The agent offers them at
    /// the end, see [`Done::offer`].
    pub fn with_files(self, client_id: impl Into<String>) -> Self {
        self.client_id(client_id).set("with_files", true)
    }

    /// Sets the call on whose behalf this call is made, so that the hub cuts loops and passes on
    /// cancellation.
    pub fn parent(mut self, call: impl Into<String>) -> Self {
        self.parent = Some(call.into());
        self
    }

    fn request(&self, body: &Map<String, Value>) -> reqwest::RequestBuilder {
        let path = format!("/v1/agents/{}/calls", encode(&self.agent));
        let request = self.hub.builder(Method::POST, &path).json(body);
        match &self.parent {
            Some(parent) => request.header("Jackfield-Call", parent),
            None => request,
        }
    }

    /// Starts the call.
    pub async fn start(self) -> Result<CallStream, Error> {
        let response = self.hub.send(self.request(&self.body)).await?;
        let mut call = CallStream::new(self.hub.clone(), EventStream::new(response));
        call.is_durable = self.is_durable;
        match call.next().await? {
            Some(Event::Started(started)) => {
                call.is_durable |= started.task.is_some();
                Ok(call)
            }
            other => Err(Error::Unreadable(format!("the call began with {other:?}"))),
        }
    }

    /// Starts the call and leaves it to the hub. The hub has accepted the call when this method returns.
    pub async fn detach(mut self) -> Result<CallStarted, Error> {
        self = self.set("detach", true);
        let response = self.hub.send(self.request(&self.body)).await?;
        response
            .json()
            .await
            .map_err(|error| Error::Unreadable(error.to_string()))
    }
}

/// The event stream of a started call.
pub struct CallStream {
    events: EventStream,
    hub: Hub,
    started: CallStarted,
    cursor: Option<String>,
    position: ReadPosition,
    backoff: Backoff,
    /// When the last good connection was lost.
    lost_at: Option<Instant>,
    /// When the current connection was opened, if not the first.
    resumed_at: Option<Instant>,
    listener: Option<ReconnectListener>,
    is_durable: bool,
    /// Whether the stream reads a whole task, which may have several ends, instead of the reply to one
    /// message.
    follows: bool,
    /// The connection is lost and the call has to be resumed.
    is_disconnected: bool,
    over: bool,
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallStream")
            .field("started", &self.started)
            .field("kept", &self.is_durable)
            .finish_non_exhaustive()
    }
}

impl CallStream {
    fn new(hub: Hub, events: EventStream) -> Self {
        Self {
            events,
            hub,
            started: CallStarted::default(),
            cursor: None,
            position: ReadPosition::default(),
            backoff: Backoff::default(),
            lost_at: None,
            resumed_at: None,
            listener: None,
            is_durable: false,
            follows: false,
            is_disconnected: false,
            over: false,
        }
    }

    /// Reads a task from its first event on.
    pub(super) async fn follow(hub: Hub, task: &str) -> Result<Self, Error> {
        let events = hub.events(&events_path(task), None).await?;
        Ok(Self {
            started: CallStarted {
                id: task.to_owned(),
                task: Some(task.to_owned()),
                ..CallStarted::default()
            },
            is_durable: true,
            follows: true,
            ..Self::new(hub, events)
        })
    }

    /// Returns the ids that the hub assigned to the call.
    pub fn started(&self) -> &CallStarted {
        &self.started
    }

    /// Returns whether the call is durable: a lost connection does not end it.
    pub fn is_durable(&self) -> bool {
        self.is_durable
    }

    /// Sets a listener for lost and restored connections of a durable call.
    pub fn on_reconnect(&mut self, listener: impl Fn(Reconnect) + Send + Sync + 'static) {
        self.listener = Some(Box::new(listener));
    }

    fn notify(&self, news: Reconnect) {
        if let Some(listener) = &self.listener {
            listener(news);
        }
    }

    /// Waits for the next event. Returns `None` after [`Event::Done`]. A failed or cancelled call is an
    /// error.
    ///
    /// A durable call resumes after a lost connection. After a minute without a hub, the result is the error
    /// of the last attempt.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        while let Some(raw) = self.next_raw().await? {
            if let Some(event) = raw.read()? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Waits for the next event as the hub sent it, including ends; see [`RawEvent::read`]. Cancel-safe, like
    /// [`next`](Self::next).
    pub async fn next_raw(&mut self) -> Result<Option<RawEvent>, Error> {
        while !self.over {
            if self.is_disconnected {
                self.resume().await?;
                self.is_disconnected = false;
            }
            match self.events.next().await {
                Ok(Some(event)) if self.can_resume() && event.is_hub_stopping() => {
                    self.connection_lost()
                }
                Ok(Some(event)) => {
                    if let Some(event) = self.accept(event)? {
                        return Ok(Some(event));
                    }
                }
                Ok(None) if self.follows => self.over = true,
                Ok(None) | Err(Error::Broken) if self.can_resume() => self.connection_lost(),
                Ok(None) => return Err(Error::Broken),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn can_resume(&self) -> bool {
        self.is_durable && !self.started.id.is_empty()
    }

    fn accept(&mut self, event: RawEvent) -> Result<Option<RawEvent>, Error> {
        self.lost_at = None;
        self.backoff.reset();
        self.cursor = event.id.clone().or(self.cursor.take());
        match event.name.as_str() {
            "call" => self.started = parse(event.data.clone())?,
            "done" | "failed" | "cancelled" => self.over = !self.follows,
            _ => {}
        }
        Ok(self.position.new_part(event))
    }

    /// Handles the loss of the connection.
    fn connection_lost(&mut self) {
        self.is_disconnected = true;
        if self
            .resumed_at
            .is_some_and(|since| since.elapsed() >= LASTED)
        {
            self.lost_at = None;
            self.backoff.reset();
        }
        let since = *self.lost_at.get_or_insert_with(Instant::now);
        let retry_for = RETRY_FOR.saturating_sub(since.elapsed());
        self.notify(Reconnect::Lost { retry_for });
    }

    /// Reconnects and continues reading. Each attempt looks up the hub again, because it may have moved.
    async fn resume(&mut self) -> Result<(), Error> {
        let id = self.started.task.as_deref().unwrap_or(&self.started.id);
        let path = events_path(id);
        let until = *self.lost_at.get_or_insert_with(Instant::now) + RETRY_FOR;
        loop {
            let pause = self.backoff.next_wait_within(LONGEST_PAUSE);
            sleep(pause.min(until.saturating_duration_since(Instant::now()))).await;
            let attempt = async {
                self.hub.relocate().await?;
                self.hub.events(&path, self.cursor.as_deref()).await
            };
            // The last attempt starts at the deadline and gets a second of its own.
            let patience = until.max(Instant::now() + LASTED);
            let error = match timeout_at(patience, attempt).await {
                Ok(Ok(events)) => {
                    self.events = events;
                    self.resumed_at = Some(Instant::now());
                    self.notify(Reconnect::Resumed);
                    return Ok(());
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    Error::unreachable(self.hub.address().base(), "it did not answer in time")
                }
            };
            if !error.is_retryable_after_disconnect() || Instant::now() >= until {
                return Err(error);
            }
        }
    }

    /// Waits for the end and returns the joined text of the reply.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut text = JoinedText::default();
        while let Some(event) = self.next().await? {
            text.add(&event);
        }
        Ok(text.into_string())
    }

    /// Answers a question of the agent ([`Event::Ask`]).
    pub fn answer(
        &self,
        ask_id: &str,
        content: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        // The future does not borrow the stream, so that a task can own it.
        let hub = self.hub.clone();
        let path = format!("/v1/calls/{}/answer", self.started.id);
        let body = json!({ "ask_id": ask_id, "content": content });
        async move {
            let answered = hub.request::<Value>(Method::POST, &path, Some(&body));
            answered.await.map(drop)
        }
    }

    /// Cancels the call. Dropping the stream of a call that is not durable cancels it too.
    pub async fn cancel(self) -> Result<(), Error> {
        let path = format!("/v1/calls/{}/cancel", self.started.id);
        self.hub
            .request::<Value>(Method::POST, &path, None::<&()>)
            .await
            .map(drop)
    }
}

fn events_path(id: &str) -> String {
    format!("/v1/calls/{}/events", encode(id))
}
