//! Body of a response, read as lines, as pieces of text, or whole. Limited in size and in silence.

use std::{io, pin::Pin, time::Duration};

use futures_util::StreamExt as _;
use jackfield_sdk::AgentFailure;
use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::io::StreamReader;

use crate::{
    lines::{LineReader, OutputLine, TextReader},
    process::CRASHED,
};

/// How long a server may stay silent: loading a model takes minutes.
pub(super) const MAX_SILENCE: Duration = Duration::from_secs(600);
/// Longest response in bytes: more than any model produces, and a bound for an endless one.
const LONGEST: usize = 64 << 20;
/// Longest line in bytes: the hub's limit for one frame.
const LONGEST_LINE: usize = 8 << 20;

type BodySource = Pin<Box<dyn AsyncRead + Send>>;

/// A response with an unread body.
pub(in crate::drivers) struct ServerResponse {
    status: StatusCode,
    media: String,
    origin: String,
    source: BodySource,
}

impl std::fmt::Debug for ServerResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("status", &self.status)
            .field("media", &self.media)
            .finish_non_exhaustive()
    }
}

impl ServerResponse {
    pub(super) fn new(response: Response, origin: String) -> Self {
        let status = response.status();
        let media = response.headers().get(CONTENT_TYPE);
        let media = media.and_then(|media| media.to_str().ok()).unwrap_or("");
        let media = media.split(';').next().unwrap_or_default().trim();
        let media = media.to_ascii_lowercase();
        let mut left = LONGEST;
        let bytes = response.bytes_stream().map(move |bytes| {
            let bytes = bytes.map_err(|error| io::Error::other(super::innermost_cause(error)))?;
            let rest = left.checked_sub(bytes.len());
            left = rest.ok_or(io::ErrorKind::FileTooLarge)?;
            Ok::<_, io::Error>(bytes)
        });
        Self {
            status,
            media,
            origin,
            source: Box::pin(StreamReader::new(bytes)),
        }
    }

    pub(in crate::drivers) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the media type, in lower case and without parameters.
    pub(in crate::drivers) fn media(&self) -> &str {
        &self.media
    }

    /// Reads the whole body, if no longer than `longest`.
    pub(in crate::drivers) async fn whole(self, longest: usize) -> Result<Vec<u8>, AgentFailure> {
        let mut bytes = Vec::new();
        let mut source = self.source.take(longest as u64 + 1);
        while read(&self.origin, source.read_buf(&mut bytes)).await? > 0 {}
        if bytes.len() > longest {
            return Err(too_much(&self.origin));
        }
        Ok(bytes)
    }

    /// Reads the body line by line.
    pub(in crate::drivers) fn lines(self) -> BodyLines {
        BodyLines {
            lines: LineReader::at_most(self.source, LONGEST_LINE),
            origin: self.origin,
        }
    }

    /// Reads the body as pieces of text.
    pub(in crate::drivers) fn pieces(self) -> BodyPieces {
        BodyPieces {
            pieces: TextReader::new(self.source),
            origin: self.origin,
        }
    }
}

/// Reader of a response's lines, from [`ServerResponse::lines`].
pub(in crate::drivers) struct BodyLines {
    lines: LineReader<BodySource>,
    origin: String,
}

impl BodyLines {
    /// Waits for the next line; `None` at the end.
    pub(in crate::drivers) async fn next(&mut self) -> Result<Option<String>, AgentFailure> {
        match read(&self.origin, self.lines.next()).await? {
            Some(OutputLine::Text(line)) => Ok(Some(line)),
            Some(OutputLine::TooLong { .. }) => Err(too_much(&self.origin)),
            None => Ok(None),
        }
    }
}

/// Reader of a response's text, from [`ServerResponse::pieces`].
pub(in crate::drivers) struct BodyPieces {
    pieces: TextReader<BodySource>,
    origin: String,
}

impl BodyPieces {
    /// Waits for the next piece; `None` at the end.
    pub(in crate::drivers) async fn next(&mut self) -> Result<Option<String>, AgentFailure> {
        read(&self.origin, self.pieces.next()).await
    }
}

/// Reads more, with the timeout [`MAX_SILENCE`].
async fn read<T>(
    origin: &str,
    more: impl Future<Output = io::Result<T>>,
) -> Result<T, AgentFailure> {
    match tokio::time::timeout(MAX_SILENCE, more).await {
        Ok(Ok(more)) => Ok(more),
        Ok(Err(error)) if error.kind() == io::ErrorKind::FileTooLarge => Err(too_much(origin)),
        Ok(Err(error)) => Err(broken(origin, &error)),
        Err(_) => Err(silence_failure(origin)),
    }
}

pub(super) fn silence_failure(origin: &str) -> AgentFailure {
    let minutes = MAX_SILENCE.as_secs() / 60;
    let text = format!("{origin} said nothing for {minutes} minutes");
    AgentFailure::new("timeout", text)
}

/// Creates the failure for a response that is too long.
fn too_much(origin: &str) -> AgentFailure {
    let text = format!("{origin} says more than is taken of one answer; it was cut off");
    AgentFailure::new(CRASHED, text)
}

fn broken(origin: &str, error: &io::Error) -> AgentFailure {
    let text = format!("the answer of {origin} broke off: {error}");
    AgentFailure::new(CRASHED, text)
}
