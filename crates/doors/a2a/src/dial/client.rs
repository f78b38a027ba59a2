//! Requests to a remote, in its version and binding, and their answers.
//!
//! Timeouts are up to the caller: a request for a complete answer waits as long as the server works, and a
//! stream is read as long as the stream is open. Only the response head has a timeout. No request is sent
//! twice, except to a server that refused the credentials.
//!
//! - [`request`]: method, URL and body of a request
//! - [`answer`]: parsing of an answer
//! - [`incoming`]: a stream of answers, [`events`]: the events of the stream
//! - [`traffic_tap`]: observers of the traffic
//! - [`server_facts`]: facts learnt about the server, such as the context of a task
//! - errors of a request: [`call_error`]

mod answer;
mod call_error;
mod events;
mod incoming;
mod request;
mod server_facts;
#[cfg(test)]
mod tests;
mod traffic_tap;

use std::{sync::Arc, time::Duration};

use axum::body::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jackfield_core::{tap::Direction, units::Size};
use jackfield_kit::outbound::{self, Outbound, StreamedResponse};

use self::{
    answer::AnswerParser,
    request::{ClientOperation, ClientRequest},
    server_facts::ServerFacts,
};
pub(super) use self::{
    call_error::RemoteCallError,
    incoming::{AnswerElement, AnswerStream},
    traffic_tap::TrafficTap,
};
use super::{credentials::Credentials, endpoint::RemoteEndpoint};
use crate::wire::official::{
    A2aVersion,
    model::{PartContent, SendParams, StreamItem, Task},
};

/// Timeout for the head of a stream. A server has no work to do before the head, apart from accepting the
/// request.
const HEAD: Duration = Duration::from_secs(30);

/// Media type of streams.
const EVENTS: &str = "text/event-stream";

/// Header with the id of the last received event.
const LAST_EVENT_ID: &str = "last-event-id";

/// Client for one endpoint of a remote.
#[derive(Debug, Clone)]
pub(super) struct RemoteClient {
    outbound: Outbound,
    place: RemoteEndpoint,
    credentials: Arc<Credentials>,
    noted: Arc<ServerFacts>,
    /// Largest answer or event, in bytes.
    max: usize,
    eyes: TrafficTap,
    /// Extensions that every request declares.
    extensions: Vec<String>,
}

impl RemoteClient {
    /// Creates a client for `place` with `credentials`. An answer or event has at most `max` bytes.
    pub(super) fn new(
        outbound: Outbound,
        place: RemoteEndpoint,
        credentials: Arc<Credentials>,
        max: Size,
    ) -> Self {
        Self {
            outbound,
            noted: Arc::new(ServerFacts::new(&place)),
            place,
            credentials,
            max: max.0,
            eyes: TrafficTap::default(),
            extensions: Vec::new(),
        }
    }

    /// Reports the traffic to the observers ([`TrafficTap`]) of an agent.
    pub(super) fn with_tap(self, eyes: TrafficTap) -> Self {
        Self { eyes, ..self }
    }

    /// Returns the same client with different declared extensions.
    pub(super) fn declaring(&self, extensions: Vec<String>) -> Self {
        Self {
            extensions,
            ..self.clone()
        }
    }

    /// Returns the endpoint, a [`RemoteEndpoint`].
    pub(super) fn place(&self) -> &RemoteEndpoint {
        &self.place
    }

    /// Sends a message and waits for the complete answer, without a timeout.
    pub(super) async fn send(
        &self,
        params: &SendParams,
        headers: &HeaderMap,
    ) -> Result<StreamItem, RemoteCallError> {
        self.learn_files(params).await?;
        let request = ClientRequest::send(
            &self.place,
            ClientOperation::Send,
            params,
            self.noted.files(),
        )?;
        self.whole(request, headers, None).await
    }

    /// Sends a message and returns the [`AnswerStream`] updates.
    pub(super) async fn stream(
        &self,
        params: &SendParams,
        headers: &HeaderMap,
    ) -> Result<AnswerStream, RemoteCallError> {
        self.learn_files(params).await?;
        let request = ClientRequest::send(
            &self.place,
            ClientOperation::Stream,
            params,
            self.noted.files(),
        )?;
        self.follow(request, headers).await
    }

    /// Subscribes to a running task.
    pub(super) async fn subscribe(
        &self,
        task: &str,
        last_event_id: Option<&str>,
    ) -> Result<AnswerStream, RemoteCallError> {
        let request = ClientRequest::task(&self.place, ClientOperation::Subscribe, task, None)?;
        let mut headers = HeaderMap::new();
        if let Some(Ok(id)) = last_event_id.map(HeaderValue::from_str) {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.follow(request, &headers).await
    }

    /// Records the context of a task that was started before this client existed.
    pub(super) fn set_context(&self, task: &str, context: &str) {
        self.noted.context(task, context);
    }

    /// Fetches a [`Task`].
    pub(super) async fn get(&self, task: &str) -> Result<Task, RemoteCallError> {
        self.task(ClientOperation::Get, task).await
    }

    /// Cancels a task.
    pub(super) async fn cancel(&self, task: &str) -> Result<Task, RemoteCallError> {
        self.task(ClientOperation::Cancel, task).await
    }

    async fn task(&self, operation: ClientOperation, task: &str) -> Result<Task, RemoteCallError> {
        let context = self.noted.context_of(task);
        let request = ClientRequest::task(&self.place, operation, task, context.as_deref())?;
        match self.whole(request, &HeaderMap::new(), Some(HEAD)).await? {
            StreamItem::Task(found) => Ok(*found),
            StreamItem::Message(_) | StreamItem::Status(_) | StreamItem::Artifact(_) => {
                Err(RemoteCallError::Garbled("the answer is no task".to_owned()))
            }
        }
    }

    /// Finds out how REST of 0.3 encodes file bytes, before files are sent. The `Server` header of any answer
    /// decides, so the method requests a card, which need not exist.
    async fn learn_files(&self, params: &SendParams) -> Result<(), RemoteCallError> {
        let mut parts = params.message.parts.iter();
        let has_bytes = parts.any(|part| matches!(part.content, PartContent::Bytes(_)));
        if has_bytes && ClientRequest::is_proto(&self.place) && !self.noted.knows_files() {
            let request = ClientRequest::card(&self.place)?;
            self.open(&request, &HeaderMap::new(), Some(HEAD)).await?;
        }
        Ok(())
    }

    /// Sends a request and reads the complete answer.
    async fn whole(
        &self,
        request: ClientRequest,
        headers: &HeaderMap,
        head: Option<Duration>,
    ) -> Result<StreamItem, RemoteCallError> {
        let opened = self.open(&request, headers, head).await?;
        let reading = self.reading(request);
        let status = answered(&opened)?;
        if !status.is_success() {
            return Err(reading.refusal(status, &self.refusal(opened).await?));
        }
        let body = opened.whole(self.max).await?;
        self.eyes.report(Direction::In, &body);
        reading.item(status, &body)
    }

    /// Sends a request and opens the stream of the answer.
    async fn follow(
        &self,
        request: ClientRequest,
        headers: &HeaderMap,
    ) -> Result<AnswerStream, RemoteCallError> {
        let opened = self.open(&request, headers, Some(HEAD)).await?;
        let reading = self.reading(request);
        let status = answered(&opened)?;
        if !status.is_success() {
            return Err(reading.refusal(status, &self.refusal(opened).await?));
        }
        let kind = content_type(opened.headers());
        if kind.eq_ignore_ascii_case(EVENTS) {
            return Ok(AnswerStream::new(
                opened,
                reading,
                self.max,
                self.eyes.clone(),
            ));
        }
        // Either an error before the stream began, or a complete answer in place of a stream.
        let mut opened = opened;
        let begins = opened.next().await?.unwrap_or_default();
        if looks_like_events(&begins) {
            let what = match kind.as_str() {
                "" => "is missing".to_owned(),
                kind => format!("is {kind}"),
            };
            let why = format!("Content-Type {what}; a stream needs {EVENTS}");
            return Err(RemoteCallError::Garbled(why));
        }
        let max = self.max.saturating_sub(begins.len());
        let body = [begins, opened.whole(max).await?].concat();
        self.eyes.report(Direction::In, &body);
        Ok(AnswerStream::of_one(reading.item(status, &body)?))
    }

    /// Reads the body of an error answer and reports the body to observers.
    async fn refusal(&self, opened: StreamedResponse) -> Result<Bytes, RemoteCallError> {
        let body = refusal(opened).await?;
        self.eyes.report(Direction::In, &body);
        Ok(body)
    }

    /// Returns the parser for answers to a request, with the current knowledge about the server.
    fn reading(&self, request: ClientRequest) -> AnswerParser {
        AnswerParser::new(&self.place, request, self.noted.clone())
    }

    /// Sends a request. If the server refuses the credentials, retries once with fresh credentials, if these
    /// differ.
    async fn open(
        &self,
        request: &ClientRequest,
        given: &HeaderMap,
        head: Option<Duration>,
    ) -> Result<StreamedResponse, RemoteCallError> {
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
        request: &ClientRequest,
        headers: HeaderMap,
        head: Option<Duration>,
    ) -> Result<StreamedResponse, RemoteCallError> {
        let method = request.method.clone();
        let (url, body) = (request.url.as_str(), request.body.clone());
        self.eyes.report(Direction::Out, &body);
        let opened = self.outbound.open(method, url, headers, body, head).await;
        Ok(opened?)
    }

    async fn headers(
        &self,
        request: &ClientRequest,
        given: &HeaderMap,
    ) -> Result<HeaderMap, RemoteCallError> {
        let mut headers = given.clone();
        let version = HeaderValue::from_static(self.place.version.name());
        headers.insert(A2aVersion::HEADER, version);
        if let Some(declared) = self.declared() {
            headers.insert(self.place.version.extensions_header(), declared);
        }
        headers.insert(header::ACCEPT, HeaderValue::from_static(request.accept));
        if !request.body.is_empty() {
            let json = HeaderValue::from_static("application/json");
            headers.insert(header::CONTENT_TYPE, json);
        }
        let applied = self.credentials.apply(&mut headers).await;
        applied.map_err(RemoteCallError::Unauthorized)?;
        Ok(headers)
    }

    /// Returns the value of the extensions header, without URIs that are invalid in a header.
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

/// Returns the status of an answer. Redirects and refused credentials become errors.
fn answered(opened: &StreamedResponse) -> Result<StatusCode, RemoteCallError> {
    let status = opened.status();
    if status.is_redirection() {
        let to = opened.headers().get(header::LOCATION);
        let to = to.and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
        // The query may contain a secret.
        let to = to.split(['?', '#']).next().unwrap_or_default();
        let why = format!("it redirects to {to} ({status}); redirects are not followed");
        return Err(RemoteCallError::Garbled(why));
    }
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Err(RemoteCallError::Unauthorized(format!(
            "it answers {status}; whoever adds it says what it is shown, as with --bearer-env VAR or --bearer-file FILE"
        )));
    }
    Ok(status)
}

/// Reads the body of an error answer, within a limit of size and time.
async fn refusal(opened: StreamedResponse) -> Result<Bytes, RemoteCallError> {
    let status = opened.status();
    let body = opened.whole(outbound::MAX_ANSWER);
    match tokio::time::timeout(outbound::TIMEOUT, body).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) => Err(RemoteCallError::Garbled(format!("{status}, and {error}"))),
        Err(_) => Err(RemoteCallError::Garbled(format!(
            "{status}, and no end of it"
        ))),
    }
}

/// Returns the media type of an answer without parameters; empty if absent.
fn content_type(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().to_owned()
}

/// Returns true if a body begins like an event stream.
fn looks_like_events(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(|field| body.starts_with(field))
}
