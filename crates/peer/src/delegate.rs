//! The caller's side of a handoff. A [`Delegation`] sends work by the newest protocol that the peer knows and
//! reports the answer as it arrives: frames, the text of a plain body piece by piece, or a JSON body once
//! complete. The hub's calls to peers (`doors/p2p/src/peers/work.rs`) and the commands `jackfield p2p …` use
//! it.
//!
//! Two facts cannot be known. Text that pauses may continue or not, because the seed's own handlers never
//! close a stream. Text may have been cut, because over some multiplexers a reset looks like an end. After
//! some silence the text so far counts as the answer.

mod skill;

use std::{collections::VecDeque, future::poll_fn, pin::Pin, task::Poll, time::Duration};

use jackfield_model::{Failure, Reason, StreamedText};
use libp2p::{
    Multiaddr, PeerId,
    futures::{AsyncRead, AsyncWrite},
};
use tokio::time::{Instant, timeout_at};

pub use self::skill::{choose, to_skill};
use crate::wire::{
    Data, HandOff, PeerAnswer, PeerInputError, code,
    frame::{Frame, FrameReader, FrameStreamEnd},
    read_answer,
};
use crate::{
    exchange::{self, BodyKind, BodyTooLarge, OutgoingRequest, PIECE, ReplyBody},
    failure::HandoffError,
    limits::{self, MAX_ANSWER, MAX_FRAME},
    node::{Node, StreamOpenError},
    protocol::{HANDOFF, HANDOFF_STREAM},
    streams::Stream,
};

/// Why a handoff brought no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DelegationError {
    /// The peer ended the stream before its answer was complete. Whether the peer itself is gone is not known
    /// here.
    #[error("the peer ended the stream before its answer was complete")]
    BrokenOff,
    /// The peer ended the stream in the middle of a JSON value.
    #[error("the peer's answer was cut: it is the beginning of a JSON value")]
    CutJson,
    /// Any other failure: an error that the peer reported, or a failed exchange.
    #[error("{0}")]
    Failed(Failure),
}

impl From<Failure> for DelegationError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<DelegationError> for Failure {
    fn from(error: DelegationError) -> Self {
        match error {
            DelegationError::BrokenOff | DelegationError::CutJson => {
                Self::new(Reason::Crashed, error.to_string())
            }
            DelegationError::Failed(failure) => failure,
        }
    }
}

/// Progress of a handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoffEvent {
    /// The whole request was written.
    Sent,
    /// Sign of life: the work continues.
    Sign,
    /// Next piece of the answer.
    Chunk(Data),
    /// What the agent is doing; no part of the answer.
    Status(String),
    /// End of the work: the answer, or the part of it that is not in the chunks; `None` if the chunks are the
    /// whole answer.
    Done(Option<Data>),
}

/// Work handed to a peer. Dropping a delegation resets the stream, which cancels the work at the peer.
#[derive(Debug)]
pub struct Delegation<S = Stream> {
    stream: S,
    is_framed: bool,
    outgoing: OutgoingRequest<Vec<u8>>,
    is_sent: bool,
    reading: ReplyReader,
    /// Buffer for the last read.
    piece: Vec<u8>,
    /// Received frames that [`Delegation::next_event`] has not returned yet.
    unheard: VecDeque<Frame>,
    /// Text of all chunks so far.
    said: StreamedText,
    /// Time of the last write or read.
    moved: Instant,
    /// Time of the first byte of the answer.
    begun: Instant,
}

/// Parser of the answer, by the agreed protocol.
#[derive(Debug)]
enum ReplyReader {
    Frames(FrameReader),
    Body(ReplyBody),
}

/// What happened on the stream.
enum StreamNews {
    Sent,
    Read(usize),
    Ended,
    Silence,
}

impl Delegation {
    /// Opens a stream for work and sends nothing yet. Without `is_streamed` the answer comes in one body.
    pub async fn open(
        node: &Node,
        peer: PeerId,
        addresses: &[Multiaddr],
        is_streamed: bool,
    ) -> Result<Self, StreamOpenError> {
        let protocols = [HANDOFF_STREAM, HANDOFF];
        let protocols = &protocols[usize::from(!is_streamed)..];
        let (stream, protocol) = node.open(peer, addresses, protocols).await?;
        let silence = node.words_silence();
        Ok(Self::on(stream, protocol == HANDOFF_STREAM, silence))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Delegation<S> {
    fn on(stream: S, is_framed: bool, words_silence: Duration) -> Self {
        Self {
            stream,
            is_framed,
            outgoing: OutgoingRequest::new(Vec::new(), false),
            is_sent: true,
            reading: match is_framed {
                true => ReplyReader::Frames(FrameReader::new(MAX_FRAME)),
                false => ReplyReader::Body(ReplyBody::new(MAX_ANSWER, words_silence)),
            },
            piece: vec![0; PIECE],
            unheard: VecDeque::new(),
            said: StreamedText::default(),
            moved: Instant::now(),
            begun: Instant::now(),
        }
    }

    /// Returns whether the answer may come in pieces.
    pub fn is_streamed(&self) -> bool {
        self.is_framed
    }

    /// Queues the request, once. [`Delegation::next_event`] writes it.
    pub fn send(&mut self, hand_off: &HandOff) {
        // A peer of the newer protocol finds the end of the request by itself. Closing our side would make a
        // later reset, and so a cancel, invisible to the peer. Some peers of the older protocol answer only
        // after our side is closed.
        let closes = !self.is_framed;
        let request = match self.is_framed {
            true => hand_off.to_framed_json(),
            false => hand_off.to_json(),
        };
        self.outgoing = OutgoingRequest::new(request.into_bytes(), closes);
        self.is_sent = false;
        self.moved = Instant::now();
    }

    /// Waits for the next event; nothing follows [`HandoffEvent::Done`] or an error. Cancel-safe.
    pub async fn next_event(&mut self) -> Result<HandoffEvent, DelegationError> {
        loop {
            if let Some(frame) = self.unheard.pop_front() {
                match self.take(frame)? {
                    Some(heard) => return Ok(heard),
                    None => continue,
                }
            }
            match self.next().await? {
                StreamNews::Sent => return Ok(HandoffEvent::Sent),
                StreamNews::Read(read) => {
                    self.read(read)?;
                    if let Some(words) = self.fresh_words() {
                        return Ok(words);
                    }
                }
                StreamNews::Ended => return self.ended(),
                StreamNews::Silence => return self.silent(),
            }
        }
    }

    /// Ends the stream of finished work without a reset. A failure here has no consequence.
    pub async fn end(mut self) {
        // By the older protocol our side is closed already. A peer that has not closed its own side by now
        // never does.
        if self.is_framed {
            drop(exchange::finish(&mut self.stream).await);
        }
    }

    async fn next(&mut self) -> Result<StreamNews, Failure> {
        loop {
            let patience = self.patience();
            let Self {
                stream,
                outgoing,
                is_sent,
                piece,
                moved,
                ..
            } = self;
            let until = patience.map(|wait| *moved + wait);
            let news = poll_fn(|cx| {
                let mut stream = Pin::new(&mut *stream);
                if outgoing.poll(stream.as_mut(), cx) {
                    *moved = Instant::now();
                }
                if outgoing.is_over() && !*is_sent {
                    *is_sent = true;
                    if !outgoing.is_broken() {
                        return Poll::Ready(StreamNews::Sent);
                    }
                }
                // Some peers reset a stream after the complete answer.
                stream.poll_read(cx, piece).map(|read| match read {
                    Ok(0) | Err(_) => StreamNews::Ended,
                    Ok(read) => StreamNews::Read(read),
                })
            });
            let news = match until {
                None => news.await,
                Some(until) => match timeout_at(until, news).await {
                    Ok(news) => news,
                    // Part of the request was written meanwhile.
                    Err(_) if patience.is_some_and(|wait| self.moved + wait > until) => continue,
                    Err(_) if !self.outgoing.is_over() => {
                        return Err(unsent("it does not read"));
                    }
                    Err(_) => StreamNews::Silence,
                },
            };
            if let StreamNews::Read(_) = news {
                self.moved = Instant::now();
            }
            return Ok(news);
        }
    }

    /// Returns how long the stream may stay idle, if idleness means anything now.
    fn patience(&self) -> Option<Duration> {
        if !self.outgoing.is_over() {
            return Some(limits::WRITE_STUCK);
        }
        match &self.reading {
            ReplyReader::Body(body) => body.patience(),
            ReplyReader::Frames(_) => None,
        }
    }

    /// Takes the text of a body that arrived since the last call. The first text waits a moment for the end
    /// of the stream: a peer that closes the stream by then has sent its whole answer in one piece.
    fn fresh_words(&mut self) -> Option<HandoffEvent> {
        let ReplyReader::Body(body) = &mut self.reading else {
            return None;
        };
        let is_due = body.is_taken() || self.begun.elapsed() >= limits::AFTER_JSON;
        let fresh = is_due.then(|| body.take_words()).flatten();
        fresh.map(words)
    }

    /// Handles silence of the peer that is long enough to matter: the body so far is the answer, or at least
    /// its next piece.
    fn silent(&mut self) -> Result<HandoffEvent, DelegationError> {
        let ReplyReader::Body(body) = &mut self.reading else {
            return Err(DelegationError::BrokenOff);
        };
        match body.kind() {
            BodyKind::Json => self.whole(),
            // The rest may arrive at any time.
            BodyKind::CutJson => Ok(body.take_all().map_or(HandoffEvent::Sign, words)),
            BodyKind::Words => match body.take_words() {
                Some(said) => Ok(words(said)),
                None => Ok(self.all_said()),
            },
        }
    }

    /// Handles a complete body.
    fn whole(&mut self) -> Result<HandoffEvent, DelegationError> {
        let ReplyReader::Body(body) = &mut self.reading else {
            return Err(DelegationError::BrokenOff);
        };
        if let PeerAnswer::Error(error) = read_answer(body.bytes()) {
            return Err(HandoffError::received(&error).into());
        }
        Ok(self.all_said())
    }

    /// Ends a body: returns the whole of it, or the last text and then [`HandoffEvent::Done`].
    fn all_said(&mut self) -> HandoffEvent {
        let ReplyReader::Body(body) = &mut self.reading else {
            return HandoffEvent::Done(None);
        };
        let is_whole = !body.is_taken();
        match body.take_all() {
            Some(whole) if is_whole => HandoffEvent::Done(Some(Data::Text(whole))),
            Some(last) => {
                self.unheard.push_back(Frame::Result { data: None });
                words(last)
            }
            None => HandoffEvent::Done(None),
        }
    }

    /// Parses the first `read` bytes of the buffer.
    fn read(&mut self, read: usize) -> Result<(), Failure> {
        let bytes = &self.piece[..read];
        if matches!(&self.reading, ReplyReader::Body(body) if body.is_empty()) {
            self.begun = Instant::now();
        }
        match &mut self.reading {
            ReplyReader::Frames(reader) => {
                let frames = reader.feed(bytes).map_err(|fault| unreadable(&fault))?;
                self.unheard.extend(frames);
            }
            ReplyReader::Body(body) => body.push(bytes).map_err(|BodyTooLarge(cap)| {
                let text = format!("the peer's answer is larger than {cap} bytes");
                Failure::new(Reason::TooLarge, text)
            })?,
        }
        Ok(())
    }

    fn take(&mut self, frame: Frame) -> Result<Option<HandoffEvent>, Failure> {
        Ok(Some(match frame {
            Frame::Accepted { .. } | Frame::Heartbeat => HandoffEvent::Sign,
            Frame::Unknown => return Ok(None),
            Frame::Chunk { data, .. } => {
                self.said.push(data.as_str());
                HandoffEvent::Chunk(data)
            }
            Frame::Status { text, .. } => HandoffEvent::Status(text),
            Frame::Result {
                data: Some(Data::Text(whole)),
            } if !self.said.is_empty() => self.repeated(whole),
            Frame::Result { data } => HandoffEvent::Done(data),
            Frame::Error(error) => return Err(HandoffError::received(&error)),
        }))
    }

    /// Handles the text of a result that follows chunks. Text beyond the chunks is one more chunk; text that
    /// does not begin with the chunks is returned unchanged.
    fn repeated(&mut self, whole: String) -> HandoffEvent {
        match self.said.continued_by(&whole) {
            Some("") => HandoffEvent::Done(None),
            Some(rest) => {
                self.unheard.push_front(Frame::Result { data: None });
                HandoffEvent::Chunk(Data::Text(rest.to_owned()))
            }
            None => HandoffEvent::Done(Some(Data::Text(whole))),
        }
    }

    /// Returns the part of a text beyond the chunks so far; `None` if the text does not begin with them.
    pub fn rest_of<'a>(&self, whole: &'a str) -> Option<&'a str> {
        self.said.continued_by(whole)
    }

    /// Handles the end of the stream.
    fn ended(&mut self) -> Result<HandoffEvent, DelegationError> {
        if let ReplyReader::Body(body) = &mut self.reading {
            if body.is_empty() {
                return Err(self.nothing());
            }
            return match body.kind() {
                BodyKind::Json => self.whole(),
                BodyKind::CutJson => Err(DelegationError::CutJson),
                BodyKind::Words => Ok(self.all_said()),
            };
        }
        let reading = std::mem::replace(
            &mut self.reading,
            ReplyReader::Body(ReplyBody::new(0, Duration::ZERO)),
        );
        let ReplyReader::Frames(reader) = reading else {
            return Err(DelegationError::BrokenOff);
        };
        let (last, verdict) = reader.finish();
        if let Some(last) = last.filter(Frame::is_last)
            && let Some(heard) = self.take(last)?
        {
            return Ok(heard);
        }
        match verdict {
            FrameStreamEnd::Plain(body) => self.no_frames(&body),
            FrameStreamEnd::Complete | FrameStreamEnd::Cut => Err(DelegationError::BrokenOff),
        }
    }

    /// Handles a stream without frames although frames were agreed on: its body can only be an error of a
    /// peer that never got as far as the request.
    fn no_frames(&mut self, body: &[u8]) -> Result<HandoffEvent, DelegationError> {
        match read_answer(body) {
            PeerAnswer::Error(error) => Err(HandoffError::received(&error).into()),
            PeerAnswer::Body([]) => Err(self.nothing()),
            PeerAnswer::Body(body) => {
                let text = "the peer's answer cannot be read: it is no stream of frames, which are lines of JSON";
                let text = match Frame::read(body, MAX_FRAME) {
                    Ok(_) => text.to_owned(),
                    Err(fault) => format!("{text}: {fault}"),
                };
                Err(Failure::new(Reason::Crashed, text).into())
            }
        }
    }

    fn nothing(&mut self) -> DelegationError {
        match self.outgoing.take_trouble() {
            Some(error) => unsent(&error.to_string()).into(),
            None => DelegationError::BrokenOff,
        }
    }
}

/// Wraps text of a body as a chunk.
fn words(text: String) -> HandoffEvent {
    HandoffEvent::Chunk(Data::Text(text))
}

/// Converts the failure to open a stream.
pub fn unreachable(error: &StreamOpenError) -> Failure {
    let reason = match error {
        StreamOpenError::TooMany => Reason::Busy,
        StreamOpenError::TooSlow => Reason::Timeout,
        StreamOpenError::Unsupported => Reason::Unsupported,
        StreamOpenError::NoAddress
        | StreamOpenError::Unreachable(_)
        | StreamOpenError::TurnedAway(_)
        | StreamOpenError::Lost
        | StreamOpenError::Stopped => Reason::Offline,
    };
    Failure::new(reason, error.to_string())
}

fn unreadable(fault: &PeerInputError) -> Failure {
    let reason = match fault.code {
        code::TOO_LARGE => Reason::TooLarge,
        _ => Reason::Crashed,
    };
    let text = format!("the peer's answer cannot be read: {fault}");
    Failure::new(reason, text)
}

fn unsent(why: &str) -> Failure {
    let text = format!("the request did not get to the peer: {why}");
    Failure::new(Reason::Offline, text)
}

#[cfg(test)]
mod tests;
