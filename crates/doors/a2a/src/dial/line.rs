//! Requests to a remote, in its version and binding, and what it answers.
//!
//! Whoever calls has the clocks: a request that waits for the whole answer waits as long as the server does, a stream is
//! read for as long as it comes. Only its head must come soon. Nothing is sent twice here, except to a server that wants
//! other credentials.
//!
//! - `line/request.rs` what is asked, and where
//! - `line/answer.rs` what an answer means
//! - `line/incoming.rs` a stream of answers; `line/events.rs` the events that it is made of
//! - `line/eyes.rs` who observes all that
//! - `line/noted.rs` which conversation a task is of, for servers that ask for it
//! - `line/trouble.rs` what can go wrong

mod answer;
mod events;
mod eyes;
mod incoming;
mod noted;
mod request;
#[cfg(test)]
mod tests;
mod trouble;

use std::{sync::Arc, time::Duration};

use axum::body::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jackfield_core::{tap::Direction, units::Size};
use jackfield_kit::outbound::{self, Opened, Outbound};

use self::{
    answer::Reading,
    noted::Noted,
    request::{Operation, Request},
};
pub(super) use self::{
    eyes::Eyes,
    incoming::{Arrived, Incoming},
    trouble::Trouble,
};
use super::{credentials::Credentials, place::Place};
use crate::wire::official::{
    Version,
    model::{Content, Item, SendParams, Task},
};

/// How long the head of a stream may take. A server has nothing to do before it but to take the request.
const HEAD: Duration = Duration::from_secs(30);

/// The media type of streams.
const EVENTS: &str = "text/event-stream";

/// Where a client of a stream says what it has had.
const LAST_EVENT_ID: &str = "last-event-id";

/// The way to one remote.
#[derive(Debug, Clone)]
pub(super) struct Line {
    outbound: Outbound,
    place: Place,
    credentials: Arc<Credentials>,
    noted: Arc<Noted>,
    /// The most bytes of one answer, or of one event.
    max: usize,
    eyes: Eyes,
    /// The extensions that every request declares.
    extensions: Vec<String>,
}

impl Line {
    /// A way to this place, with these credentials; one answer, or one event, has at most so much.
    pub(super) fn new(
        outbound: Outbound,
        place: Place,
        credentials: Arc<Credentials>,
        max: Size,
    ) -> Self {
        Self {
            outbound,
            noted: Arc::new(Noted::new(&place)),
            place,
            credentials,
            max: max.0,
            eyes: Eyes::default(),
            extensions: Vec::new(),
        }
    }

    /// Shows what goes over it to those who observe an agent.
    pub(super) fn seen_by(self, eyes: Eyes) -> Self {
        Self { eyes, ..self }
    }

    /// The same line, for requests that declare these extensions.
    pub(super) fn declaring(&self, extensions: Vec<String>) -> Self {
        Self {
            extensions,
            ..self.clone()
        }
    }

    /// Where it leads.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Says something and waits for the whole answer, however long that takes.
    pub(super) async fn send(
        &self,
        params: &SendParams,
        headers: &HeaderMap,
    ) -> Result<Item, Trouble> {
        self.learn_files(params).await?;
        let request = Request::send(&self.place, Operation::Send, params, self.noted.files())?;
        self.whole(request, headers, None).await
    }

    /// Says something and follows the work on it.
    pub(super) async fn stream(
        &self,
        params: &SendParams,
        headers: &HeaderMap,
    ) -> Result<Incoming, Trouble> {
        self.learn_files(params).await?;
        let request = Request::send(&self.place, Operation::Stream, params, self.noted.files())?;
        self.follow(request, headers).await
    }

    /// Follows a task that runs.
    pub(super) async fn subscribe(
        &self,
        task: &str,
        last_event_id: Option<&str>,
    ) -> Result<Incoming, Trouble> {
        let request = Request::task(&self.place, Operation::Subscribe, task, None)?;
        let mut headers = HeaderMap::new();
        if let Some(Ok(id)) = last_event_id.map(HeaderValue::from_str) {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.follow(request, &headers).await
    }

    /// A task that was begun before this line was made is of this conversation.
    pub(super) fn knows(&self, task: &str, context: &str) {
        self.noted.context(task, context);
    }

    /// Looks at a task.
    pub(super) async fn get(&self, task: &str) -> Result<Task, Trouble> {
        self.task(Operation::Get, task).await
    }

    /// Stops a task.
    pub(super) async fn cancel(&self, task: &str) -> Result<Task, Trouble> {
        self.task(Operation::Cancel, task).await
    }

    async fn task(&self, operation: Operation, task: &str) -> Result<Task, Trouble> {
        let context = self.noted.context_of(task);
        let request = Request::task(&self.place, operation, task, context.as_deref())?;
        match self.whole(request, &HeaderMap::new(), Some(HEAD)).await? {
            Item::Task(found) => Ok(*found),
            Item::Message(_) | Item::Status(_) | Item::Artifact(_) => {
                Err(Trouble::Garbled("the answer is no task".to_owned()))
            }
        }
    }

    /// Finds out how REST of 0.3 wants the bytes of files before some are sent: how the server signs its answers tells. It
    /// is asked for a card that it need not have.
    async fn learn_files(&self, params: &SendParams) -> Result<(), Trouble> {
        let mut parts = params.message.parts.iter();
        let has_bytes = parts.any(|part| matches!(part.content, Content::Bytes(_)));
        if has_bytes && Request::is_proto(&self.place) && !self.noted.knows_files() {
            let request = Request::card(&self.place)?;
            self.open(&request, &HeaderMap::new(), Some(HEAD)).await?;
        }
        Ok(())
    }

    /// One request, and the whole answer.
    async fn whole(
        &self,
        request: Request,
        headers: &HeaderMap,
        head: Option<Duration>,
    ) -> Result<Item, Trouble> {
        let opened = self.open(&request, headers, head).await?;
        let reading = self.reading(request);
        let status = answered(&opened)?;
        if !status.is_success() {
            return Err(reading.refusal(status, &self.refusal(opened).await?));
        }
        let body = opened.whole(self.max).await?;
        self.eyes.see(Direction::In, &body);
        reading.item(status, &body)
    }

    /// One request, and the stream that answers it.
    async fn follow(&self, request: Request, headers: &HeaderMap) -> Result<Incoming, Trouble> {
        let opened = self.open(&request, headers, Some(HEAD)).await?;
        let reading = self.reading(request);
        let status = answered(&opened)?;
        if !status.is_success() {
            return Err(reading.refusal(status, &self.refusal(opened).await?));
        }
        let kind = content_type(opened.headers());
        if kind.eq_ignore_ascii_case(EVENTS) {
            return Ok(Incoming::new(opened, reading, self.max, self.eyes.clone()));
        }
        // An error that came too soon for a stream, or all that there is to say.
        let mut opened = opened;
        let begins = opened.next().await?.unwrap_or_default();
        if looks_like_events(&begins) {
            let what = match kind.as_str() {
                "" => "is missing".to_owned(),
                kind => format!("is {kind}"),
            };
            let why = format!("Content-Type {what}; a stream needs {EVENTS}");
            return Err(Trouble::Garbled(why));
        }
        let max = self.max.saturating_sub(begins.len());
        let body = [begins, opened.whole(max).await?].concat();
        self.eyes.see(Direction::In, &body);
        Ok(Incoming::of_one(reading.item(status, &body)?))
    }

    /// The body of an answer that says no, which observers see too.
    async fn refusal(&self, opened: Opened) -> Result<Bytes, Trouble> {
        let body = refusal(opened).await?;
        self.eyes.see(Direction::In, &body);
        Ok(body)
    }

    /// How the answers to a request are read, by what is known of the server by now.
    fn reading(&self, request: Request) -> Reading {
        Reading::new(&self.place, request, self.noted.clone())
    }

    /// Makes a request. A server that refuses the credentials gets fresh ones once, if there are any.
    async fn open(
        &self,
        request: &Request,
        given: &HeaderMap,
        head: Option<Duration>,
    ) -> Result<Opened, Trouble> {
        let headers = self.headers(request, given).await?;
        let mut opened = self.try_open(request, headers.clone(), head).await?;
        if opened.status() == StatusCode::UNAUTHORIZED {
            self.credentials.refused();
            let fresh = self.headers(request, given).await?;
            if fresh != headers {
                opened = self.try_open(request, fresh, head).await?;
            }
        }
        self.noted.files_of(opened.headers());
        Ok(opened)
    }

    async fn try_open(
        &self,
        request: &Request,
        headers: HeaderMap,
        head: Option<Duration>,
    ) -> Result<Opened, Trouble> {
        let method = request.method.clone();
        let (url, body) = (request.url.as_str(), request.body.clone());
        self.eyes.see(Direction::Out, &body);
        let opened = self.outbound.open(method, url, headers, body, head).await;
        Ok(opened?)
    }

    async fn headers(&self, request: &Request, given: &HeaderMap) -> Result<HeaderMap, Trouble> {
        let mut headers = given.clone();
        let version = HeaderValue::from_static(self.place.version.name());
        headers.insert(Version::HEADER, version);
        if let Some(declared) = self.declared() {
            headers.insert(self.place.version.extensions_header(), declared);
        }
        headers.insert(header::ACCEPT, HeaderValue::from_static(request.accept));
        if !request.body.is_empty() {
            let json = HeaderValue::from_static("application/json");
            headers.insert(header::CONTENT_TYPE, json);
        }
        let applied = self.credentials.apply(&mut headers).await;
        applied.map_err(Trouble::Unauthorized)?;
        Ok(headers)
    }

    /// What the header of extensions says; nothing of a name that cannot stand in one.
    fn declared(&self) -> Option<HeaderValue> {
        let can_stand = |uri: &&str| !uri.contains(',') && HeaderValue::from_str(uri).is_ok();
        let mut declared: Vec<&str> = Vec::new();
        for uri in self.extensions.iter().map(String::as_str).filter(can_stand) {
            if !declared.contains(&uri) {
                declared.push(uri);
            }
        }
        let is_any = !declared.is_empty();
        let value = is_any.then(|| HeaderValue::from_str(&declared.join(",")));
        value.and_then(Result::ok)
    }
}

/// The status of an answer that is one: neither sends elsewhere nor away.
fn answered(opened: &Opened) -> Result<StatusCode, Trouble> {
    let status = opened.status();
    if status.is_redirection() {
        let to = opened.headers().get(header::LOCATION);
        let to = to.and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
        // What comes after the path may be a secret.
        let to = to.split(['?', '#']).next().unwrap_or_default();
        let why = format!("it redirects to {to} ({status}); redirects are not followed");
        return Err(Trouble::Garbled(why));
    }
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Err(Trouble::Unauthorized(format!(
            "it answers {status}; whoever adds it says what it is shown, as with --bearer-env VAR or --bearer-file FILE"
        )));
    }
    Ok(status)
}

/// The body of an answer that says no: short, and soon there.
async fn refusal(opened: Opened) -> Result<Bytes, Trouble> {
    let status = opened.status();
    let body = opened.whole(outbound::MAX_ANSWER);
    match tokio::time::timeout(outbound::TIMEOUT, body).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) => Err(Trouble::Garbled(format!("{status}, and {error}"))),
        Err(_) => Err(Trouble::Garbled(format!("{status}, and no end of it"))),
    }
}

/// The media type of an answer, without what follows it; empty if there is none.
fn content_type(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().to_owned()
}

/// Whether a body begins as a stream of events does.
fn looks_like_events(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(|field| body.starts_with(field))
}
