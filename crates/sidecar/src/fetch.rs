//! One request to an agent behind HTTP and its answer: in one piece, or as it arrives if the agent streams
//! text. The peer gets the bytes that the agent wrote.

use std::{fmt, mem, pin::Pin};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use jackfield_kit::outbound::{BodyError, Outbound, OutboundError, StreamedResponse, Url};
use jackfield_model::{Failure, Reason};
use jackfield_peer::{
    failure::HandoffError,
    serve::{Progress, Work},
    wire::{Data, Method},
};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{endpoint::NOT_THERE, limits};

/// Most characters of an agent's error text that are passed on.
const MAX_SAID: usize = 500;

/// Most bytes of an error response that are read for its text.
const MAX_READ: usize = 64 * 1024;

/// A request to make.
#[derive(Debug)]
pub(super) struct FetchPlan {
    pub(super) outbound: Outbound,
    pub(super) method: Method,
    pub(super) url: Url,
    /// Request body.
    pub(super) input: Option<Data>,
    /// Most bytes of the answer.
    pub(super) max: usize,
}

/// A request to an agent behind HTTP. Dropping it ends the exchange.
#[derive(Debug)]
pub struct Fetch {
    state: State,
}

/// A piece of the answer.
#[derive(Debug)]
enum FetchedPiece {
    /// The whole answer, which was not streamed.
    Whole(Vec<u8>),
    /// The next text of a streamed answer.
    Text(String),
    /// The end of a streamed answer.
    End,
}

enum State {
    New(FetchPlan),
    Asking(Pin<Box<dyn Future<Output = Result<AnswerStart, HandoffError>> + Send>>),
    Streaming(Streaming),
    Over,
}

/// The answer after its head has arrived.
enum AnswerStart {
    Whole(Vec<u8>),
    Streaming(Streaming),
}

/// An answer that is read as it arrives.
#[derive(Debug)]
struct Streaming {
    opened: StreamedResponse,
    /// Start of an incomplete character.
    cut: Vec<u8>,
    left: usize,
    heard: Instant,
    ends: Instant,
}

impl From<FetchPlan> for Fetch {
    fn from(plan: FetchPlan) -> Self {
        Self {
            state: State::New(plan),
        }
    }
}

impl Work for Fetch {
    /// Reads streamed answers too; the caller sets the timeout.
    async fn whole(self) -> Result<Vec<u8>, HandoffError> {
        let State::New(plan) = self.state else {
            return Err(broken_off());
        };
        let max = plan.max;
        whole(plan.open().await?, max).await
    }

    async fn next(&mut self) -> Progress {
        match self.next_bit().await {
            Ok(FetchedPiece::Text(text)) => Progress::Text(text),
            Ok(FetchedPiece::Whole(body)) => Progress::Over(text_from(body).map(Some)),
            Ok(FetchedPiece::End) => Progress::Over(Ok(None)),
            Err(trouble) => Progress::Over(Err(trouble)),
        }
    }
}

impl Fetch {
    /// Waits for the next piece. Cancel-safe; nothing follows [`FetchedPiece::Whole`], [`FetchedPiece::End`] or an error.
    async fn next_bit(&mut self) -> Result<FetchedPiece, HandoffError> {
        loop {
            match &mut self.state {
                State::New(_) => {
                    if let State::New(plan) = mem::replace(&mut self.state, State::Over) {
                        // The peer gets heartbeats meanwhile, and may cancel at any time.
                        let begun = timeout(limits::STREAM_MOST, plan.begin());
                        let begun = async { begun.await.unwrap_or(Err(late())) };
                        self.state = State::Asking(Box::pin(begun));
                    }
                }
                State::Asking(asking) => match asking.await? {
                    AnswerStart::Whole(body) => {
                        self.state = State::Over;
                        return Ok(FetchedPiece::Whole(body));
                    }
                    AnswerStart::Streaming(streaming) => self.state = State::Streaming(streaming),
                },
                State::Streaming(streaming) => return streaming.next().await,
                State::Over => return Ok(FetchedPiece::End),
            }
        }
    }
}

impl FetchPlan {
    /// Sends the request and waits for the head of the answer.
    async fn open(self) -> Result<StreamedResponse, HandoffError> {
        let mut headers = HeaderMap::new();
        let body = match self.input {
            None => Bytes::new(),
            Some(input) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                // Texts and JSON always serialize.
                Bytes::from(serde_json::to_vec(&input).unwrap_or_default())
            }
        };
        let method = http_method(self.method);
        let opened = self
            .outbound
            .open(method, self.url.as_str(), headers, body, None);
        let opened = opened.await.map_err(|error| unreachable(&error))?;
        let status = opened.status();
        if status.is_success() {
            return Ok(opened);
        }
        // A status below 400 is a redirect, which is not followed.
        let code = if status.as_u16() < 400 {
            502
        } else {
            status.as_u16()
        };
        let mut text = format!("HTTP error: {}", status.as_u16());
        if let Some(said) = said(opened).await {
            text = format!("{text}: {said}");
        }
        Err(HandoffError::with_code(code, text))
    }

    async fn begin(self) -> Result<AnswerStart, HandoffError> {
        let max = self.max;
        let opened = self.open().await?;
        if !is_streamed(opened.headers()) {
            return Ok(AnswerStart::Whole(whole(opened, max).await?));
        }
        let now = Instant::now();
        Ok(AnswerStart::Streaming(Streaming {
            opened,
            cut: Vec::new(),
            left: max,
            heard: now,
            ends: now + limits::STREAM_MOST,
        }))
    }
}

impl Streaming {
    async fn next(&mut self) -> Result<FetchedPiece, HandoffError> {
        loop {
            let until = self.ends.min(self.heard + limits::STREAM_SILENT);
            let next = timeout_at(until, self.opened.next()).await;
            let next = next.map_err(|_| late())?;
            let Some(bytes) = next.map_err(|error| broken(&error))? else {
                if self.cut.is_empty() {
                    return Ok(FetchedPiece::End);
                }
                return Err(not_text());
            };
            self.heard = Instant::now();
            let left = self.left.checked_sub(bytes.len());
            self.left = left.ok_or_else(too_large)?;
            self.cut.extend_from_slice(&bytes);
            let text = take_text(&mut self.cut)?;
            if !text.is_empty() {
                return Ok(FetchedPiece::Text(text));
            }
        }
    }
}

/// Takes the text out of bytes; an incomplete character at the end stays.
fn take_text(bytes: &mut Vec<u8>) -> Result<String, HandoffError> {
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return Err(not_text()),
    };
    let rest = bytes.split_off(whole);
    let text = mem::replace(bytes, rest);
    String::from_utf8(text).map_err(|_| not_text())
}

/// Returns whether an answer is streamed text: of unknown length, and of a text type. JSON is useless before
/// it is complete.
fn is_streamed(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    let is_lines = matches!(
        kind.as_str(),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl"
    );
    !headers.contains_key(CONTENT_LENGTH) && (is_lines || kind.starts_with("text/"))
}

/// Returns an agent's error text: the field that programs use for it, else the beginning of the body.
async fn said(opened: StreamedResponse) -> Option<String> {
    let body = opened.whole(MAX_READ).await.ok()?;
    let text = match serde_json::from_slice::<Value>(&body) {
        Ok(value) => words_of(&value).map(ToOwned::to_owned),
        Err(_) => None,
    };
    let text = match text {
        Some(text) => text,
        None => String::from_utf8(body.into()).ok()?,
    };
    let words: Vec<_> = text.split_whitespace().collect();
    let said: String = words.join(" ").chars().take(MAX_SAID).collect();
    Some(said).filter(|said| !said.is_empty())
}

/// Returns the text of a JSON error, by the field names that programs use.
fn words_of(value: &Value) -> Option<&str> {
    let mut names = ["error", "message", "detail"].iter();
    names.find_map(|name| match value.get(name)? {
        Value::String(text) => Some(text.as_str()),
        inner @ Value::Object(_) => words_of(inner),
        _ => None,
    })
}

async fn whole(opened: StreamedResponse, max: usize) -> Result<Vec<u8>, HandoffError> {
    let body = opened.whole(max).await;
    Ok(body.map_err(|error| broken(&error))?.into())
}

/// Converts a body for a frame, which must be text.
fn text_from(body: Vec<u8>) -> Result<Data, HandoffError> {
    let text = String::from_utf8(body).map_err(|_| not_text())?;
    Ok(Data::from_text(text))
}

fn not_text() -> HandoffError {
    let text = "the agent's answer is not text; ask for it without \"stream\"";
    HandoffError::with_code(502, text)
}

fn late() -> HandoffError {
    HandoffError::with_code(504, "the agent did not answer in time")
}

fn broken(error: &BodyError) -> HandoffError {
    tracing::debug!(%error, "an agent behind HTTP did not answer to the end");
    match error {
        BodyError::Cut(_) => broken_off(),
        BodyError::TooLarge { .. } => too_large(),
    }
}

fn broken_off() -> HandoffError {
    Failure::new(Reason::Crashed, "the agent's answer broke off").into()
}

/// Reported like every answer that is too large; the request was not.
fn too_large() -> HandoffError {
    Failure::new(Reason::TooLarge, "the agent's answer is too large").into()
}

/// Hides the URL of the agent from the peer.
fn unreachable(error: &OutboundError) -> HandoffError {
    tracing::debug!(%error, "an agent behind HTTP cannot be reached");
    HandoffError::away(NOT_THERE)
}

fn http_method(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New(_) => "New",
            Self::Asking(_) => "Asking",
            Self::Streaming(_) => "Streaming",
            Self::Over => "Over",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_are_cut_wait_for_their_end() {
        let mut bytes = "wä".as_bytes()[..2].to_vec();
        assert_eq!(take_text(&mut bytes).unwrap(), "w");
        bytes.push("ä".as_bytes()[1]);
        assert_eq!(take_text(&mut bytes).unwrap(), "ä");
        assert!(bytes.is_empty());
        bytes.extend([b'x', 0xff, b'y']);
        take_text(&mut bytes).unwrap_err();
    }

    #[test]
    fn words_of_unknown_length_are_streamed_and_nothing_else() {
        let headers = |kind: &str, length: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            headers.extend(length.map(|length| (CONTENT_LENGTH, length.parse().unwrap())));
            headers
        };
        for kind in [
            "text/plain; charset=utf-8",
            "text/event-stream",
            "application/x-ndjson",
            "Application/JSONL",
        ] {
            assert!(is_streamed(&headers(kind, None)), "{kind}");
            assert!(!is_streamed(&headers(kind, Some("3"))), "{kind}");
        }
        for kind in ["application/json", "image/png", ""] {
            assert!(!is_streamed(&headers(kind, None)), "{kind}");
        }
        assert!(!is_streamed(&HeaderMap::new()));
    }
}
