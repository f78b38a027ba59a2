//! One call to the agent: the handler's output goes into the call's pipe, the caller's answers go to the
//! handler.

use std::{collections::HashMap, future::poll_fn, sync::Arc};

use jackfield_core::{
    call::AgentHandle, gate::Gate, hub::Hub, pipe::Pushed, principal::Principal, ready::ReadySet,
};
use jackfield_model::{Answer, End, Event, Input};
use tokio::{sync::oneshot, task::JoinSet};

use super::{calls, translate};
use crate::{
    Agent,
    agent::{AgentOutput, OpenAsk, OutputSupport},
};

/// Bytes of input taken at once.
const BATCH: usize = 64 << 10;

/// State shared by all calls of one agent.
#[derive(Debug)]
pub(super) struct InProcessAgent {
    pub(super) hub: Hub,
    /// The agent's own principal, for calls of peers.
    pub(super) principal: Principal,
    pub(super) agent: Agent,
}

/// Works on a call until its end, regardless of which side ends it. Then drops the handler at its current
/// await point.
pub(super) async fn serve(desk: Arc<InProcessAgent>, serving: AgentHandle) {
    let mut others = JoinSet::new();
    if let Some(end) = work(&desk, &serving, &mut others).await {
        serving.finish(end);
    } else {
        drop(serving);
    }
    // A peer call that is still read outlives the handler that started it, unless the hub ends it.
    while others.join_next().await.is_some() {}
}

/// Runs the handler. Returns the agent's end, or `None` if the caller or the hub ended the call.
async fn work(
    desk: &Arc<InProcessAgent>,
    serving: &AgentHandle,
    others: &mut JoinSet<()>,
) -> Option<End> {
    let (gate, ready_set) = (Arc::new(Gate::default()), ReadySet::new());
    serving.gated(gate.clone());
    serving.input().listen(ready_set.handle(0));
    let all = OutputSupport {
        artifacts: true,
        asks: true,
    };
    let message = translate::message_of(serving.call());
    let mut work = desk.agent.work_on(message, all);
    let mut asks: HashMap<String, oneshot::Sender<Answer>> = HashMap::new();
    // While the caller does not read, no output is taken from the handler, which waits once its send budget
    // is used up.
    let mut is_full = false;
    loop {
        let mut keys = Vec::new();
        let said = tokio::select! {
            () = ready_set.wait(&mut keys) => {
                let mut inputs = Vec::new();
                if serving.input().take(&mut inputs, BATCH).is_some() {
                    return None;
                }
                for input in inputs {
                    if let Input::Answer(id, answer) = input
                        && let Some(asked) = asks.remove(&id)
                    {
                        // The handler may have stopped waiting.
                        asked.send(answer).ok();
                    }
                }
                continue;
            }
            () = gate.free(), if is_full => {
                is_full = false;
                continue;
            }
            Some(_) = others.join_next() => continue,
            said = poll_fn(|cx| work.poll_output(cx)), if !is_full => said?,
        };
        let pushed = match said.output {
            AgentOutput::Chunk(chunk) => serving.push(Event::Chunk(chunk)),
            AgentOutput::Artifact(artifact) => serving.push(Event::Artifact(artifact)),
            AgentOutput::Ask(OpenAsk { ask, answer }) => {
                asks.insert(ask.id.clone(), answer);
                serving.ask(ask)
            }
            AgentOutput::Call(calling) => {
                others.spawn(calls::call(desk.clone(), serving.call().clone(), calling));
                continue;
            }
            AgentOutput::Discover(looking) => {
                calls::discover(desk, looking);
                continue;
            }
            AgentOutput::End(end) => return Some(translate::end(end)),
        };
        is_full = pushed == Pushed::Full;
    }
}
