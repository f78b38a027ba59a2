//! The reconciliation of a resumed connection: open requests that continue, requests that are over, and
//! messages that never arrived (docs/decisions/0010-resuming.md).

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use jackfield_core::call::{AgentHandle, Call, Life};
use jackfield_model::RequestId;
use jackfield_wire::bridge::{downlink::AcknowledgedAnswer, uplink::AnswerProgress};

use crate::lineage::{AnsweredRequest, Lineage};

/// The work of a resumed connection.
#[derive(Debug, Default)]
pub(super) struct ResumedWork<'a> {
    /// Calls that the agent works on and continues.
    pub(super) going_on: Vec<AgentHandle>,
    /// Calls whose message never arrived.
    pub(super) unseen: Vec<AgentHandle>,
    /// State of the continued requests, for the agent.
    pub(super) open: Vec<AcknowledgedAnswer<'a>>,
    /// Requests that are over. The agent should stop any work on them.
    pub(super) gone: Vec<Cow<'a, str>>,
}

/// Builds [`ResumedWork`]: compares the open calls of the hub (`adopted`) with the open requests of the agent
/// (`listed`).
pub(super) fn resume<'a>(
    adopted: Vec<AgentHandle>,
    listed: &'a [AnswerProgress<'_>],
    lineage: &Lineage,
) -> ResumedWork<'a> {
    let mut resumed = ResumedWork::default();
    let in_order: Vec<_> = adopted.iter().map(|it| it.call().request.clone()).collect();
    let mut adopted: HashMap<RequestId, AgentHandle> =
        in_order.iter().cloned().zip(adopted).collect();
    let mut seen = std::collections::HashSet::new();
    for AnswerProgress { request_id, sent } in listed {
        if !seen.insert(&**request_id) {
            continue;
        }
        let answered = lineage.answered(request_id);
        let serving = adopted.remove(&**request_id);
        let have = match serving {
            Some(serving) if is_same_call(serving.call(), *sent, answered.as_ref()) => {
                let have = stored_seq(serving.call());
                resumed.going_on.push(serving);
                Some(have)
            }
            // Dropping the call fails it, because no agent works on it.
            Some(_) => None,
            // The end has arrived, but is not in the log yet. Until then the agent keeps its frames.
            None => answered
                .filter(|answered| !answered.is_kept())
                .and_then(|answered| answered.call.upgrade())
                .map(|call| call.acked()),
        };
        match have {
            Some(have) => resumed.open.push(AcknowledgedAnswer {
                request_id: Cow::Borrowed(request_id),
                have,
            }),
            None => resumed.gone.push(Cow::Borrowed(request_id)),
        }
    }
    let left = in_order.iter().filter_map(|id| adopted.remove(id));
    // A call with a partial answer that the agent no longer knows is dropped and fails: its end was lost.
    resumed.unseen = left.filter(|it| !it.call().has_reply()).collect();
    resumed
}

/// Returns the number of the last frame that the agent need not repeat. For a durable call only logged frames
/// count: later ones may be lost with this process, and are dropped here if they are repeated.
fn stored_seq(call: &Call) -> u64 {
    match call.life {
        Life::Live => call.received(),
        Life::Durable => call.acked(),
    }
}

/// Returns whether the request named by the agent is this call. If the agent sent fewer frames than the hub
/// received, the numbers belong to a different agent. The agent may also mean an earlier request with the
/// same id, whose end was sent but not acknowledged: if the two cannot be distinguished, no answer is better
/// than the wrong one.
fn is_same_call(call: &Arc<Call>, sent: u64, answered: Option<&AnsweredRequest>) -> bool {
    let received = call.received();
    let is_earlier = received == 0 && answered.is_some_and(|answered| answered.seq == sent);
    sent >= received && !is_earlier
}
