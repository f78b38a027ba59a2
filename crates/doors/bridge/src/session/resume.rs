//! What a connection finds that resumes another: which of the agent's open requests go on, which are over, and which
//! messages never arrived (docs/decisions/0010-resuming.md).

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use jackfield_core::call::{AgentHandle, Call, Life};
use jackfield_model::RequestId;
use jackfield_wire::bridge::{downlink::Have, uplink::Sent};

use crate::lineage::{Answered, Lineage};

/// How a connection goes on.
#[derive(Debug, Default)]
pub(super) struct Resumed<'a> {
    /// Calls that the agent works on and goes on with.
    pub(super) going_on: Vec<AgentHandle>,
    /// Calls whose message never arrived.
    pub(super) unseen: Vec<AgentHandle>,
    /// What the agent is told of the requests that go on.
    pub(super) open: Vec<Have<'a>>,
    /// The requests that are over. What the agent may still be doing about them, it should stop.
    pub(super) gone: Vec<Cow<'a, str>>,
}

/// Sorts what is open here (`adopted`) by what the agent says is open there.
pub(super) fn resume<'a>(
    adopted: Vec<AgentHandle>,
    listed: &'a [Sent<'_>],
    lineage: &Lineage,
) -> Resumed<'a> {
    let mut resumed = Resumed::default();
    let in_order: Vec<_> = adopted.iter().map(|it| it.call().request.clone()).collect();
    let mut adopted: HashMap<RequestId, AgentHandle> =
        in_order.iter().cloned().zip(adopted).collect();
    let mut seen = std::collections::HashSet::new();
    for Sent { request_id, sent } in listed {
        if !seen.insert(&**request_id) {
            continue;
        }
        let answered = lineage.answered(request_id);
        let serving = adopted.remove(&**request_id);
        let have = match serving {
            Some(serving) if is_same(serving.call(), *sent, answered.as_ref()) => {
                let have = safe(serving.call());
                resumed.going_on.push(serving);
                Some(have)
            }
            // Dropped: the call fails, since nobody works on it.
            Some(_) => None,
            // Its end is here, but not in the log yet. Until it is, the agent keeps what it sent.
            None => answered
                .filter(|answered| !answered.is_kept())
                .and_then(|answered| answered.call.upgrade())
                .map(|call| call.acked()),
        };
        match have {
            Some(have) => resumed.open.push(Have {
                request_id: Cow::Borrowed(request_id),
                have,
            }),
            None => resumed.gone.push(Cow::Borrowed(request_id)),
        }
    }
    let left = in_order.iter().filter_map(|id| adopted.remove(id));
    // One that the agent does not know although it began to answer is dropped, and so fails: its end was lost.
    resumed.unseen = left.filter(|it| !it.call().has_reply()).collect();
    resumed
}

/// What is safe here, so that the agent need not send it again: of a kept call, what is in the log. What came after that
/// may be lost with this process; here it is dropped when it comes again.
fn safe(call: &Call) -> u64 {
    match call.life {
        Life::Live => call.received(),
        Life::Durable => call.acked(),
    }
}

/// Whether the request that the agent names is this call. If less was sent than has come, the numbers are not this
/// agent's. And an agent may speak of an earlier request of the same id, whose end it sent and whose ack it did not get:
/// if that cannot be told apart, no answer is better than another one's.
fn is_same(call: &Arc<Call>, sent: u64, answered: Option<&Answered>) -> bool {
    let received = call.received();
    let is_earlier = received == 0 && answered.is_some_and(|answered| answered.seq == sent);
    sent >= received && !is_earlier
}
