//! One call carried to a peer: the handoff goes out by the newest protocol that the peer knows, and what comes back is the
//! reply. A call that ends here resets the stream, which ends it there.

use std::sync::Arc;

use jackfield_core::{
    bell::Bell,
    call::Serving,
    event::{Chunk, Done, End, Event},
    failure::{Failure, Reason},
    gate::Gate,
};
use jackfield_wire::p2p::{
    Answer, Data, ErrorBody, MAX_LINE,
    frame::{Frame, FrameReader, Verdict},
    read_answer,
};
use libp2p::{PeerId, futures::AsyncReadExt as _};
use tokio::time::{Duration, timeout};

use super::{ask, list::Way};
use crate::{
    door::{HANDOFF, HANDOFF_STREAM},
    exchange::{self, WriteTrouble},
    limits::MAX_ANSWER,
    node::{Node, OpenError},
    streams::Stream,
};

/// How much is read at once.
const PIECE: usize = 16 << 10;
/// How often an open exchange is noted as a sign of life; a peer of the seed says nothing before it is done.
const SIGN: Duration = Duration::from_secs(5);

/// Carries a call out, to its end.
pub(super) async fn carry_out(node: Node, peer: PeerId, way: Way, serving: Serving) {
    let bell = Bell::new();
    serving.input().listen(bell.rope(0));
    let mut stream = None;
    let outcome = {
        let work = work(&node, peer, &way, &serving, &mut stream);
        tokio::select! {
            outcome = work => Some(outcome),
            () = until_over(&serving, &bell) => None,
        }
    };
    match outcome {
        Some(Ok(done)) => serving.finish(End::Done(Box::new(done))),
        Some(Err(failure)) => serving.finish(End::Failed(failure)),
        // Dropping the stream resets it.
        None => return,
    };
    if let Some(mut stream) = stream {
        // The answer is there, or will not come: nothing depends on how the stream ends.
        drop(exchange::finish(&mut stream).await);
    }
}

/// Resolves when the call has ended, whoever ended it.
async fn until_over(serving: &Serving, bell: &Bell) {
    loop {
        bell.wait(&mut Vec::new()).await;
        if serving.input().take(&mut Vec::new(), usize::MAX).is_some() {
            return;
        }
    }
}

async fn work(
    node: &Node,
    peer: PeerId,
    way: &Way,
    serving: &Serving,
    opened: &mut Option<Stream>,
) -> Result<Done, Failure> {
    let call = serving.call();
    let mut hand_off = ask::hand_off(way, &call.message, call.files())?;
    hand_off.hops = u32::try_from(call.chain.hops()).unwrap_or(u32::MAX);
    hand_off.trace.clone_from(&call.traceparent);
    let reached = node.open(peer, &[], &[HANDOFF_STREAM, HANDOFF]).await;
    let (stream, protocol) = reached.map_err(|error| unreachable(&error))?;
    let stream = opened.insert(stream);
    let request = hand_off.to_json();
    let sent = if protocol == HANDOFF_STREAM {
        // Whoever speaks it finds the end of the request. A stream that is closed on our side cannot be reset by it any
        // more, so that a cancel would not be heard.
        exchange::write(stream, request.as_bytes()).await
    } else {
        exchange::send(stream, request.as_bytes()).await
    };
    sent.map_err(|trouble| unsent(&trouble))?;
    serving.written();
    hear(stream, protocol == HANDOFF_STREAM, serving).await
}

/// Hears the answer, as frames or as one body, which the older protocol has.
async fn hear(stream: &mut Stream, is_framed: bool, serving: &Serving) -> Result<Done, Failure> {
    let gate = Arc::new(Gate::default());
    serving.gated(gate.clone());
    let mut reader = FrameReader::new(MAX_ANSWER);
    let mut piece = vec![0; PIECE];
    let mut spoken = Spoken::default();
    loop {
        // What a slow caller has not read waits at the peer.
        gate.free().await;
        let read = match timeout(SIGN, stream.read(&mut piece)).await {
            Err(_) => {
                serving.pulse();
                continue;
            }
            Ok(Ok(read)) => read,
            // Some peers reset a stream after they have said everything.
            Ok(Err(_)) => 0,
        };
        if read == 0 {
            break;
        }
        let frames = reader.feed(&piece[..read]).map_err(|fault| {
            let text = format!("the peer's answer cannot be read: {fault}");
            Failure::new(Reason::Crashed, text)
        })?;
        for frame in frames {
            if let Some(outcome) = spoken.take(frame, serving) {
                return outcome;
            }
        }
    }
    let (last, verdict) = reader.finish();
    if let Some(outcome) = last.and_then(|frame| spoken.take(frame, serving)) {
        return outcome;
    }
    match verdict {
        // The beginning of a line that is too long looks like a body.
        Verdict::Plain(body) if is_framed && !body.is_empty() => {
            let text = format!(
                "the peer's answer cannot be read: it is no stream of lines of at most {MAX_LINE} bytes"
            );
            Err(Failure::new(Reason::Crashed, text))
        }
        Verdict::Plain(body) => whole(&body),
        Verdict::Complete | Verdict::Cut => Err(Failure::agent_left()),
    }
}

/// What a peer has said in frames so far.
#[derive(Debug, Default)]
struct Spoken {
    has_text: bool,
}

impl Spoken {
    fn take(&mut self, frame: Frame, serving: &Serving) -> Option<Result<Done, Failure>> {
        match frame {
            Frame::Accepted { .. } | Frame::Heartbeat | Frame::Unknown => {
                serving.pulse();
                None
            }
            Frame::Chunk { data, .. } => {
                self.has_text = true;
                serving.push(Event::text(data.as_str()));
                None
            }
            Frame::Status { text, .. } => {
                serving.push(Event::Chunk(Chunk::status(text)));
                None
            }
            Frame::Result { data, .. } => Some(Ok(Done {
                result: data.map(into_text).filter(|_| !self.has_text),
                ..Done::default()
            })),
            Frame::Error(error) => Some(Err(told(&error))),
        }
    }
}

/// One body is the whole answer.
fn whole(body: &[u8]) -> Result<Done, Failure> {
    if body.is_empty() {
        return Err(Failure::agent_left());
    }
    match read_answer(body) {
        Answer::Error(error) => Err(told(&error)),
        Answer::Body(body) => Ok(Done {
            result: Some(String::from_utf8_lossy(body).into_owned()),
            ..Done::default()
        }),
    }
}

fn into_text(data: Data) -> String {
    match data {
        Data::Text(text) => text,
        Data::Json(raw) => raw.get().to_owned(),
    }
}

/// What a peer says went wrong, by its code.
fn told(error: &ErrorBody) -> Failure {
    let reason = match error.code {
        400 | 405 => Reason::Invalid,
        401 | 403 => Reason::Unauthorized,
        404 => Reason::NotFound,
        409 => Reason::Conflict,
        413 => Reason::TooLarge,
        429 => Reason::Busy,
        502 => Reason::Offline,
        504 => Reason::Timeout,
        _ => Reason::Agent("peer_error".into()),
    };
    Failure::new(reason, format!("the peer says: {}", error.text))
}

fn unreachable(error: &OpenError) -> Failure {
    let reason = match error {
        OpenError::TooMany => Reason::Busy,
        OpenError::TooSlow => Reason::Timeout,
        OpenError::Unsupported => Reason::Unsupported,
        OpenError::NoAddress | OpenError::Unreachable(_) | OpenError::Lost | OpenError::Stopped => {
            Reason::Offline
        }
    };
    Failure::new(reason, error.to_string())
}

fn unsent(trouble: &WriteTrouble) -> Failure {
    Failure::new(Reason::Offline, trouble.to_string())
}
