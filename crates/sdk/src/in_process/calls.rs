//! Requests of the agent to the hub on behalf of its calls: calls of peer agents, and discovery.

use std::sync::Arc;

use jackfield_core::{
    call::{Call, CallerHandle, Reply},
    hub::{Parent, Request, Wanted},
};
use jackfield_model::{
    AgentId, Chunk, ChunkKind, End, Event, Failure, File, Json, Message, Part, Reason, SessionId,
};

use super::{DOOR, served::InProcessAgent, translate};
use crate::{
    Error, StreamedText,
    agent::{PeerCallRequest, PeerDiscovery, PeerReplySender},
};

/// Most agents in a discovery, as over the bridge.
const MAX_PEERS: usize = 200;

/// Calls a peer agent on behalf of a call, and sends the reply to the handler.
pub(super) async fn call(desk: Arc<InProcessAgent>, parent: Arc<Call>, calling: PeerCallRequest) {
    let request = request(&desk, &parent, &calling);
    match request.and_then(|request| desk.hub.calls().open(request)) {
        Ok(asking) => follow(asking, calling.feed).await,
        Err(failure) => calling.feed.end(Err(failed(failure))),
    }
}

fn request(
    desk: &InProcessAgent,
    parent: &Call,
    calling: &PeerCallRequest,
) -> Result<Request, Failure> {
    let target =
        AgentId::parse(&calling.target).map_err(|_| Failure::no_such_agent(&calling.target))?;
    let session = calling.session.as_deref().map(SessionId::parse).transpose();
    let session = session.map_err(|error| {
        let text = format!("session: {error}");
        Failure::new(Reason::Invalid, text)
    })?;
    let mut message = Message::text(calling.text.as_str());
    if calling.with_files {
        message.metadata = Json::parse(r#"{"with_files":true}"#).ok();
    }
    let mut request = Request::new(desk.principal.clone(), DOOR, target, message);
    request.session = session;
    request.parent = Parent::Call(parent.id);
    request.traceparent.clone_from(&parent.traceparent);
    Ok(request)
}

/// Reads the reply to its end, or until the handler drops its [`PeerCall`](crate::PeerCall). Returning early
/// cancels the call.
async fn follow(asking: CallerHandle, mut feed: PeerReplySender) {
    let mut replies = asking.replies();
    let (mut files, mut text) = (Vec::new(), StreamedText::default());
    loop {
        let reply = tokio::select! {
            reply = replies.next() => reply,
            () = feed.reader_closed() => return,
        };
        let chunk = match reply {
            Some(Reply::Event(Event::Chunk(chunk))) => Chunk {
                extra: None,
                ..chunk
            },
            Some(Reply::Event(Event::Artifact(made))) => {
                files.extend(made.parts.into_iter().filter_map(file));
                continue;
            }
            // A handler cannot answer for its caller; the status explains the delay.
            Some(Reply::Event(Event::Ask(ask))) => {
                Chunk::status(format!("input required: {}", ask.text))
            }
            Some(Reply::End(End::Done(mut done))) => {
                let rest = text.rest_of(done.result.as_deref().unwrap_or_default());
                if !rest.is_empty() {
                    let Some(fed) = feed.send_chunk(Chunk::text(rest)).await else {
                        return;
                    };
                    feed = fed;
                }
                done.attachments.extend(files);
                feed.end(Ok(*done));
                return;
            }
            Some(Reply::End(End::Failed(failure))) => {
                feed.end(Err(failed(failure)));
                return;
            }
            Some(Reply::End(End::Cancelled)) | None => {
                feed.end(Err(Error::Cancelled));
                return;
            }
        };
        if chunk.kind == ChunkKind::Text {
            text.push(&chunk.text);
        }
        let Some(fed) = feed.send_chunk(chunk).await else {
            return;
        };
        feed = fed;
    }
}

fn file(part: Part) -> Option<File> {
    match part {
        Part::File(file) => Some(file),
        Part::Text(_) | Part::Data(_) => None,
    }
}

fn failed(failure: Failure) -> Error {
    Error::Failed {
        code: failure.reason.name().to_owned(),
        cause: failure.cause.map(|cause| cause.name().to_owned()),
        message: failure.text.into_owned(),
    }
}

/// Lists agents for a handler.
pub(super) fn discover(desk: &InProcessAgent, looking: PeerDiscovery) {
    let wanted = Wanted {
        skills: looking.skill.into_iter().collect(),
        online: false,
    };
    let views = desk
        .hub
        .agents()
        .discover(&desk.principal, &wanted)
        .into_iter();
    let peers = views.take(MAX_PEERS).map(translate::peer).collect();
    // The handler may have stopped waiting.
    looking.found.send(peers).ok();
}
