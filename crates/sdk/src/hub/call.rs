//! One call: how it is begun, and how its reply is read.

use std::{fmt, time::Duration};

use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    EventStream, Hub, RawEvent, encode,
    event::{Event, Started, parse},
    place::Place,
};
#[cfg(doc)]
use crate::Done;
use crate::{Backoff, Error, joined_text::JoinedText};

/// How long a kept call is looked for after a cut: long enough for a restart of the hub.
const RETRY_FOR: Duration = Duration::from_secs(60);
/// The longest pause between two attempts, so that a hub that is back is found soon.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A connection that lasted this long was a good one: after it the time for attempts begins anew.
const LASTED: Duration = Duration::from_secs(1);

/// What happens to the connection by which a kept call is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconnect {
    /// The connection was lost. The hub is tried again, for this long at most.
    Lost {
        /// How long.
        retry_for: Duration,
    },
    /// There is a connection again.
    Resumed,
}

type ReconnectListener = Box<dyn Fn(Reconnect) + Send + Sync>;

/// A call that has not begun.
#[derive(Debug, Clone)]
pub struct CallBuilder {
    hub: Hub,
    agent: String,
    body: Map<String, Value>,
    parent: Option<String>,
    kept: bool,
}

impl CallBuilder {
    pub(super) fn new(hub: Hub, agent: String) -> Self {
        Self {
            hub,
            agent,
            body: Map::new(),
            parent: None,
            kept: false,
        }
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.body.insert(key.to_owned(), value.into());
        self
    }

    /// What to say.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.set("text", text.into())
    }

    /// Files and data to send along: each a [`Part`](crate::Part), or JSON as the hub's API takes it.
    pub fn parts(self, parts: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        let parts: Vec<Value> = parts.into_iter().map(Into::into).collect();
        self.set("parts", parts)
    }

    /// The caller's own id of the message, which the agent is told.
    pub fn message_id(self, id: impl Into<String>) -> Self {
        self.set("message_id", id.into())
    }

    /// What goes along for the agent to read, as an object: `skill` names the skill that is meant.
    pub fn metadata(self, metadata: impl Into<Value>) -> Self {
        self.set("metadata", metadata.into())
    }

    /// The conversation to go on with.
    pub fn session(self, session: impl Into<String>) -> Self {
        self.set("session", session.into())
    }

    /// The most it may take.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set("timeout", format!("{}ms", timeout.as_millis()))
    }

    /// Keep the call when the connection is lost, and go on with it where it was.
    pub fn keep(mut self) -> Self {
        self.kept = true;
        self.set("keep", true)
    }

    /// Keep the call if the agent can resume it, or is a dialled A2A server: then it survives cuts and a restart of the hub, as long as it is read.
    /// [`CallStream::is_kept`] tells.
    pub fn keep_if_resumable(self) -> Self {
        self.set("keep_if_resumable", true)
    }

    /// Let it wait this long for the agent to come online; kept.
    pub fn wait_online(self, wait: Duration) -> Self {
        self.keep()
            .set("wait_online", format!("{}ms", wait.as_millis()))
    }

    /// Whose files an agent with a folder keeps apart: 1 to 128 of `A-Z a-z 0-9 . _ -`, not beginning with a dot.
    pub fn client_id(self, client_id: impl Into<String>) -> Self {
        self.set("client_id", client_id.into())
    }

    /// Ask for the files that come of it, in the folder of this client; the agent offers them at the end, see
    /// [`Done::offer`].
    pub fn with_files(self, client_id: impl Into<String>) -> Self {
        self.client_id(client_id).set("with_files", true)
    }

    /// The call on whose behalf this one is made, so that loops are cut and cancels are passed on.
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

    /// Begins the call.
    pub async fn start(self) -> Result<CallStream, Error> {
        let response = self.hub.send(self.request(&self.body)).await?;
        let mut call = CallStream::new(self.hub.clone(), EventStream::new(response));
        call.kept = self.kept;
        match call.next().await? {
            Some(Event::Started(started)) => {
                call.kept |= started.task.is_some();
                Ok(call)
            }
            other => Err(Error::Unreadable(format!("the call began with {other:?}"))),
        }
    }

    /// Begins the call and leaves it to the hub; the hub has it when this returns.
    pub async fn detach(mut self) -> Result<Started, Error> {
        self = self.set("detach", true);
        let response = self.hub.send(self.request(&self.body)).await?;
        response
            .json()
            .await
            .map_err(|error| Error::Unreadable(error.to_string()))
    }
}

/// A call that is open.
pub struct CallStream {
    events: EventStream,
    hub: Hub,
    started: Started,
    cursor: Option<String>,
    place: Place,
    backoff: Backoff,
    /// Since when there is no good connection.
    lost: Option<Instant>,
    /// Since when there is this connection, if it is not the first.
    resumed: Option<Instant>,
    listener: Option<ReconnectListener>,
    kept: bool,
    /// Reads a whole task, which may have several ends, and not the reply to one message.
    follows: bool,
    /// The connection is gone; the call is to be taken up.
    cut: bool,
    over: bool,
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallStream")
            .field("started", &self.started)
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}

impl CallStream {
    fn new(hub: Hub, events: EventStream) -> Self {
        Self {
            events,
            hub,
            started: Started::default(),
            cursor: None,
            place: Place::default(),
            backoff: Backoff::default(),
            lost: None,
            resumed: None,
            listener: None,
            kept: false,
            follows: false,
            cut: false,
            over: false,
        }
    }

    /// Reads a task from its first event on.
    pub(super) async fn follow(hub: Hub, task: &str) -> Result<Self, Error> {
        let events = hub.events(&events_path(task), None).await?;
        Ok(Self {
            started: Started {
                id: task.to_owned(),
                task: Some(task.to_owned()),
                ..Started::default()
            },
            kept: true,
            follows: true,
            ..Self::new(hub, events)
        })
    }

    /// What the hub said first.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// Whether the hub keeps the call: losing the connection does not end it.
    pub fn is_kept(&self) -> bool {
        self.kept
    }

    /// Who is told when the connection of a kept call is lost, and when there is one again.
    pub fn on_reconnect(&mut self, listener: impl Fn(Reconnect) + Send + Sync + 'static) {
        self.listener = Some(Box::new(listener));
    }

    fn tell(&self, news: Reconnect) {
        if let Some(listener) = &self.listener {
            listener(news);
        }
    }

    /// The next event; nothing after [`Event::Done`]. A call that failed or was cancelled is an error. A kept call
    /// whose connection was cut is resumed where it was; after a minute without a hub the error is that of the last attempt.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        while let Some(raw) = self.next_raw().await? {
            if let Some(event) = raw.read()? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The next event as the hub sent it, ends too; see [`RawEvent::read`]. Cancel-safe, like [`next`](Self::next).
    pub async fn next_raw(&mut self) -> Result<Option<RawEvent>, Error> {
        while !self.over {
            if self.cut {
                self.resume().await?;
                self.cut = false;
            }
            match self.events.next().await {
                Ok(Some(event)) if self.can_go_on() && event.is_hub_stopping() => self.lose(),
                Ok(Some(event)) => {
                    if let Some(event) = self.take(event)? {
                        return Ok(Some(event));
                    }
                }
                Ok(None) if self.follows => self.over = true,
                Ok(None) | Err(Error::Broken) if self.can_go_on() => self.lose(),
                Ok(None) => return Err(Error::Broken),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn can_go_on(&self) -> bool {
        self.kept && !self.started.id.is_empty()
    }

    fn take(&mut self, event: RawEvent) -> Result<Option<RawEvent>, Error> {
        self.lost = None;
        self.backoff.reset();
        self.cursor = event.id.clone().or(self.cursor.take());
        match event.name.as_str() {
            "call" => self.started = parse(event.data.clone())?,
            "done" | "failed" | "cancelled" => self.over = !self.follows,
            _ => {}
        }
        Ok(self.place.fresh(event))
    }

    /// The connection is gone.
    fn lose(&mut self) {
        self.cut = true;
        if self.resumed.is_some_and(|since| since.elapsed() >= LASTED) {
            self.lost = None;
            self.backoff.reset();
        }
        let since = *self.lost.get_or_insert_with(Instant::now);
        let retry_for = RETRY_FOR.saturating_sub(since.elapsed());
        self.tell(Reconnect::Lost { retry_for });
    }

    /// Connects again and reads on where the call was left. Each attempt looks for the hub anew: it may have moved.
    async fn resume(&mut self) -> Result<(), Error> {
        let id = self.started.task.as_deref().unwrap_or(&self.started.id);
        let path = events_path(id);
        let until = *self.lost.get_or_insert_with(Instant::now) + RETRY_FOR;
        loop {
            let pause = self.backoff.next_wait_within(LONGEST_PAUSE);
            sleep(pause.min(until.saturating_duration_since(Instant::now()))).await;
            let attempt = async {
                self.hub.relocate().await?;
                self.hub.events(&path, self.cursor.as_deref()).await
            };
            // The last attempt begins when the time is over, and gets a moment of its own.
            let patience = until.max(Instant::now() + LASTED);
            let error = match timeout_at(patience, attempt).await {
                Ok(Ok(events)) => {
                    self.events = events;
                    self.resumed = Some(Instant::now());
                    self.tell(Reconnect::Resumed);
                    return Ok(());
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    Error::unreachable(self.hub.address().base(), "it did not answer in time")
                }
            };
            if !error.may_pass_after_a_cut() || Instant::now() >= until {
                return Err(error);
            }
        }
    }

    /// Waits for the end and joins the text on the way.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut text = JoinedText::default();
        while let Some(event) = self.next().await? {
            text.add(&event);
        }
        Ok(text.into_string())
    }

    /// Answers a question of the agent.
    pub fn answer(
        &self,
        ask_id: &str,
        content: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        // Not a borrow of the stream, which tasks could not share.
        let hub = self.hub.clone();
        let path = format!("/v1/calls/{}/answer", self.started.id);
        let body = json!({ "ask_id": ask_id, "content": content });
        async move {
            let answered = hub.request::<Value>(Method::POST, &path, Some(&body));
            answered.await.map(drop)
        }
    }

    /// Cancels the call. Dropping a call that is not kept does the same.
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
