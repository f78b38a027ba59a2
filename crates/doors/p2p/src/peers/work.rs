//! One call carried to a peer as a handoff; what comes back is the reply. A call that ends here resets the stream, which
//! ends it there.

use std::sync::Arc;

use jackfield_core::{
    bell::Bell,
    call::Serving,
    event::{Chunk, Done, End, Event},
    failure::Failure,
    gate::Gate,
};
use jackfield_wire::p2p::Data;
use libp2p::PeerId;
use tokio::time::{Duration, timeout};

use super::{ask, list::Way};
use crate::{
    delegate::{Delegation, Heard, unreachable},
    node::Node,
};

/// How often an open exchange is noted as a sign of life; a peer of the seed says nothing before it is done.
const SIGN: Duration = Duration::from_secs(5);

/// Carries a call out, to its end.
pub(super) async fn carry_out(node: Node, peer: PeerId, way: Way, serving: Serving) {
    let bell = Bell::new();
    serving.input().listen(bell.rope(0));
    let mut delegation = None;
    let outcome = {
        let work = work(&node, peer, &way, &serving, &mut delegation);
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
    if let Some(delegation) = delegation {
        delegation.end().await;
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
    opened: &mut Option<Delegation>,
) -> Result<Done, Failure> {
    let call = serving.call();
    let mut hand_off = ask::hand_off(way, &call.message, call.files())?;
    hand_off.hops = u32::try_from(call.chain.hops()).unwrap_or(u32::MAX);
    hand_off.trace.clone_from(&call.traceparent);
    let delegation = Delegation::open(node, peer, &[], true).await;
    let delegation = opened.insert(delegation.map_err(|error| unreachable(&error))?);
    delegation.send(&hand_off);
    let gate = Arc::new(Gate::default());
    serving.gated(gate.clone());
    loop {
        // What a slow caller has not read waits at the peer.
        gate.free().await;
        let Ok(heard) = timeout(SIGN, delegation.hear()).await else {
            serving.pulse();
            continue;
        };
        match heard? {
            Heard::Sent => serving.written(),
            Heard::Sign => serving.pulse(),
            Heard::Chunk(data) => {
                serving.push(Event::text(into_text(data)));
            }
            Heard::Status(text) => {
                serving.push(Event::Chunk(Chunk::status(text)));
            }
            Heard::Done(data) => {
                return Ok(Done {
                    result: data.map(into_text),
                    ..Done::default()
                });
            }
        }
    }
}

fn into_text(data: Data) -> String {
    match data {
        Data::Text(text) => text,
        Data::Json(raw) => raw.get().to_owned(),
    }
}
