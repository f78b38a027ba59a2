//! One call: how it is begun, and what comes back.

use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{EventStream, Hub, RawEvent};
use crate::{Backoff, Error};

/// How long a kept call is looked for again after a cut.
const TAKE_UP: u32 = 8;

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
        Self { hub, agent, body: Map::new(), parent: None, kept: false }
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.body.insert(key.to_owned(), value.into());
        self
    }

    /// What to say.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.set("text", text.into())
    }

    /// Files and data to send along, as the hub's API takes them.
    pub fn parts(self, parts: Vec<Value>) -> Self {
        self.set("parts", parts)
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

    /// Let it wait this long for the agent to come online; kept.
    pub fn wait_online(self, wait: Duration) -> Self {
        self.keep().set("wait_online", format!("{}ms", wait.as_millis()))
    }

    /// The call on whose behalf this one is made, so that loops are cut and cancels are passed on.
    pub fn parent(mut self, call: impl Into<String>) -> Self {
        self.parent = Some(call.into());
        self
    }

    fn request(&self, body: &Map<String, Value>) -> reqwest::RequestBuilder {
        let path = format!("/v1/agents/{}/calls", self.agent);
        let request = self.hub.builder(Method::POST, &path).json(body);
        match &self.parent {
            Some(parent) => request.header("Jackfield-Call", parent),
            None => request,
        }
    }

    /// Begins the call.
    pub async fn start(self) -> Result<CallStream, Error> {
        let response = self.hub.send(self.request(&self.body)).await?;
        let mut call = CallStream {
            events: EventStream::new(response),
            hub: self.hub.clone(),
            started: Started::default(),
            cursor: None,
            kept: self.kept,
            over: false,
        };
        match call.next().await? {
            Some(Event::Started(_)) => Ok(call),
            other => Err(Error::Unreadable(format!("the call began with {other:?}"))),
        }
    }

    /// Begins the call and leaves it to the hub; the hub has it when this returns.
    pub async fn detach(mut self) -> Result<Started, Error> {
        self = self.set("detach", true);
        let response = self.hub.send(self.request(&self.body)).await?;
        response.json().await.map_err(|error| Error::Unreadable(error.to_string()))
    }
}

/// What the hub says first of a call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Started {
    /// The call.
    #[serde(alias = "call")]
    pub id: String,
    /// The conversation.
    #[serde(default)]
    pub session: String,
    /// The task, if the call is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// A piece of a reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chunk {
    /// `text`, `thinking`, `tool_start`, `tool_input`, `tool_result` or `status`.
    #[serde(default = "text_kind")]
    pub kind: String,
    /// The words.
    #[serde(default)]
    pub text: String,
    /// The tool, on tool chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The tool call, on tool chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

fn text_kind() -> String {
    "text".to_owned()
}

/// How a call ended well.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Done {
    /// `completed`, `input_required` or `rejected`.
    #[serde(default)]
    pub state: String,
    /// The whole answer, from agents that give it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What else the agent said at the end.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What comes back from a call.
#[derive(Debug, Clone)]
pub enum Event {
    /// The call is open.
    Started(Started),
    /// A piece of the reply.
    Chunk(Chunk),
    /// Something the agent made.
    Artifact(Value),
    /// A question; answer it with [`CallStream::answer`].
    Ask(Value),
    /// Something is no longer there: the reader was away too long.
    Gap,
    /// The agent is done.
    Done(Done),
}

/// A call that is open.
#[derive(Debug)]
pub struct CallStream {
    events: EventStream,
    hub: Hub,
    started: Started,
    cursor: Option<String>,
    kept: bool,
    over: bool,
}

impl CallStream {
    /// What the hub said first.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// The next event; nothing after [`Event::Done`]. A call that failed or was cancelled is an error. A kept call
    /// whose connection was cut is taken up where it was.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if self.over {
                return Ok(None);
            }
            let event = match self.events.next().await {
                Ok(Some(event)) => event,
                Ok(None) | Err(Error::Broken) if self.kept && self.cursor.is_some() => {
                    self.take_up().await?;
                    continue;
                }
                Ok(None) => return Err(Error::Broken),
                Err(error) => return Err(error),
            };
            if let Some(id) = &event.id {
                self.cursor = Some(id.clone());
            }
            if let Some(event) = self.read(event)? {
                return Ok(Some(event));
            }
        }
    }

    fn read(&mut self, event: RawEvent) -> Result<Option<Event>, Error> {
        Ok(Some(match event.name.as_str() {
            "call" => {
                self.started = parse(event.data)?;
                Event::Started(self.started.clone())
            }
            "chunk" => Event::Chunk(parse(event.data)?),
            "artifact" => Event::Artifact(event.data),
            "ask" => Event::Ask(event.data),
            "gap" => Event::Gap,
            "done" => {
                self.over = true;
                Event::Done(parse(event.data)?)
            }
            "cancelled" => {
                self.over = true;
                return Err(Error::Cancelled);
            }
            "failed" => {
                self.over = true;
                let text = |key: &str| event.data[key].as_str().unwrap_or_default().to_owned();
                return Err(Error::Failed { code: text("error"), message: text("message") });
            }
            // Newer hubs may say more.
            _ => return Ok(None),
        }))
    }

    async fn take_up(&mut self) -> Result<(), Error> {
        let path = format!("/v1/calls/{}/events", self.started.id);
        let mut backoff = Backoff::default();
        let mut attempt = 0;
        loop {
            match self.hub.events(&path, self.cursor.as_deref()).await {
                Ok(events) => {
                    self.events = events;
                    return Ok(());
                }
                Err(error) if error.is_passing() && attempt < TAKE_UP => attempt += 1,
                Err(error) => return Err(error),
            }
            tokio::time::sleep(backoff.next_wait()).await;
        }
    }

    /// Waits for the end and joins the text on the way.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut text = String::new();
        while let Some(event) = self.next().await? {
            match event {
                Event::Chunk(chunk) if chunk.kind == "text" => text.push_str(&chunk.text),
                Event::Done(Done { result: Some(result), .. }) if text.is_empty() => text = result,
                _ => {}
            }
        }
        Ok(text)
    }

    /// Answers a question of the agent.
    pub async fn answer(&self, ask_id: &str, content: &str) -> Result<(), Error> {
        let path = format!("/v1/calls/{}/answer", self.started.id);
        let body = json!({ "ask_id": ask_id, "content": content });
        self.hub.request::<Value>(Method::POST, &path, Some(&body)).await.map(drop)
    }

    /// Cancels the call. Dropping a call that is not kept does the same.
    pub async fn cancel(self) -> Result<(), Error> {
        let path = format!("/v1/calls/{}/cancel", self.started.id);
        self.hub.request::<Value>(Method::POST, &path, None::<&()>).await.map(drop)
    }
}

fn parse<T: DeserializeOwned>(data: Value) -> Result<T, Error> {
    serde_json::from_value(data).map_err(|error| Error::Unreadable(error.to_string()))
}
