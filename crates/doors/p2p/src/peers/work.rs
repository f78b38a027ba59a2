//! One call carried to a peer as a handoff, and the peer's answer as its reply. A call that ends here resets
//! the stream, which cancels the work at the peer.

use std::sync::Arc;

use jackfield_core::{call::AgentHandle, gate::Gate, ready::ReadySet};
use jackfield_kit::files::Files;
use jackfield_model::{Artifact, Chunk, Done, End, Event, Json, Part, Reason};
use jackfield_peer::{
    PeerId,
    delegate::{Delegation, DelegationError, HandoffEvent, unreachable},
    inquire::fetch_card,
    node::Node,
    wire::Data,
};
use serde_json::value::RawValue;
use tokio::{
    sync::Notify,
    time::{Duration, sleep, timeout},
};

use super::{ask, list::PeerRoute};
use crate::translate::{MixedParts, several_from_data};

/// Id of the artifact for the part of a result that is not text.
const RESULT: &str = "result";

/// Interval of signs of life during an open exchange; a peer of the seed sends nothing before its end.
const SIGN: Duration = Duration::from_secs(5);

/// How long after its streams the connection of a gone peer ends.
const GONE: Duration = Duration::from_millis(500);

/// Carries a call to its end. `look_again` makes the tracker fetch the peer's card again.
pub(super) async fn carry_out(
    node: Node,
    peer: PeerId,
    way: PeerRoute,
    serving: AgentHandle,
    files: Arc<Files>,
    look_again: Arc<Notify>,
) {
    let ready_set = ReadySet::new();
    serving.input().listen(ready_set.handle(0));
    let files = files.of_call(serving.call());
    let mut delegation = None;
    let outcome = {
        let work = work(
            &node,
            peer,
            &way,
            &serving,
            &files,
            &mut delegation,
            &look_again,
        );
        tokio::select! {
            outcome = work => Some(outcome),
            () = until_over(&serving, &ready_set) => None,
        }
    };
    match outcome {
        Some(Ok(done)) => serving.finish(End::Done(Box::new(done))),
        Some(Err(error)) => {
            match error {
                // If the whole peer is gone, its agents are detached meanwhile, which ends the call with that
                // reason.
                DelegationError::BrokenOff | DelegationError::CutJson => sleep(GONE).await,
                DelegationError::Failed(_) => {}
            }
            serving.finish(End::Failed(error.into()))
        }
        // Dropping the stream resets it.
        None => return,
    };
    if let Some(delegation) = delegation {
        delegation.end().await;
    }
}

/// Resolves when the call has ended, for any reason.
async fn until_over(serving: &AgentHandle, ready_set: &ReadySet) {
    loop {
        ready_set.wait(&mut Vec::new()).await;
        if serving.input().take(&mut Vec::new(), usize::MAX).is_some() {
            return;
        }
    }
}

async fn work(
    node: &Node,
    peer: PeerId,
    way: &PeerRoute,
    serving: &AgentHandle,
    files: &Files,
    opened: &mut Option<Delegation>,
    look_again: &Notify,
) -> Result<Done, DelegationError> {
    let call = serving.call();
    let asked = ask::hand_off(way, &call.message, files);
    let mut hand_off = match (asked, way) {
        // The peer may have changed since its card was fetched.
        (Err(failure), PeerRoute::Skills(_)) if failure.reason == Reason::Unsupported => {
            let card = fetch_card(node, peer, &[]).await.map_err(|_| failure)?;
            look_again.notify_one();
            ask::hand_off(&PeerRoute::Skills(card.skills), &call.message, files)?
        }
        (asked, _) => asked?,
    };
    hand_off.hops = u32::try_from(call.chain.hops()).unwrap_or(u32::MAX);
    hand_off.trace.clone_from(&call.traceparent);
    let delegation = Delegation::open(node, peer, &[], true).await;
    let delegation = opened.insert(delegation.map_err(|error| unreachable(&error))?);
    delegation.send(&hand_off);
    let gate = Arc::new(Gate::default());
    serving.gated(gate.clone());
    let mut has_words = false;
    loop {
        // Text that a slow caller has not read waits at the peer.
        gate.free().await;
        let Ok(heard) = timeout(SIGN, delegation.next_event()).await else {
            serving.pulse();
            continue;
        };
        match heard? {
            HandoffEvent::Sent | HandoffEvent::Sign => serving.pulse(),
            HandoffEvent::Chunk(data) => {
                has_words = true;
                serving.push(Event::text(into_text(data)));
            }
            HandoffEvent::Status(text) => {
                serving.push(Event::Chunk(Chunk::status(text)));
            }
            HandoffEvent::Done(data) => {
                let is_hub = matches!(way, PeerRoute::Hub(_));
                return Ok(match data {
                    Some(Data::Json(raw)) => {
                        ended_with(&raw, is_hub, has_words, serving, delegation)
                    }
                    data => Done {
                        result: data.map(into_text),
                        ..Done::default()
                    },
                });
            }
        }
    }
}

/// Ends a call whose result is JSON. Mixed parts of a hub are taken apart. Other JSON becomes text, or data
/// if there was text before.
fn ended_with(
    raw: &RawValue,
    is_hub: bool,
    has_words: bool,
    serving: &AgentHandle,
    delegation: &Delegation,
) -> Done {
    let several = is_hub.then(|| several_from_data(raw)).flatten();
    let MixedParts { text, data, files } = match several {
        Some(several) => several,
        None if has_words => MixedParts {
            data: vec![Json::from(raw.to_owned())],
            ..MixedParts::default()
        },
        None => {
            return Done {
                result: Some(raw.get().to_owned()),
                ..Done::default()
            };
        }
    };
    let mut result = text;
    if has_words
        && let Some(text) = &result
        && let Some(rest) = delegation.rest_of(text)
    {
        if !rest.is_empty() {
            serving.push(Event::text(rest));
        }
        result = None;
    }
    if !data.is_empty() {
        serving.push(Event::Artifact(Artifact {
            id: RESULT.to_owned(),
            parts: data.into_iter().map(Part::Data).collect(),
            last: true,
            ..Artifact::default()
        }));
    }
    Done {
        result,
        attachments: files,
        ..Done::default()
    }
}

fn into_text(data: Data) -> String {
    match data {
        Data::Text(text) => text,
        Data::Json(raw) => raw.get().to_owned(),
    }
}
