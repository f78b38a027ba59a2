//! One call that the agent works on: what its handler says goes into the call's pipe, what the caller answers comes back.

use std::{collections::HashMap, future::poll_fn, sync::Arc};

use jackfield_core::{
    call::AgentHandle, gate::Gate, hub::Hub, pipe::Pushed, principal::Principal, ready::ReadySet,
};
use jackfield_model::{Answer, End, Event, Input};
use tokio::{sync::oneshot, task::JoinSet};

use super::{calls, translate};
use crate::{
    Agent,
    agent::{Abilities, OpenAsk, Output},
};

/// How much input is taken at once.
const BATCH: usize = 64 << 10;

/// What all calls of one agent share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) hub: Hub,
    /// The agent, as it calls others.
    pub(super) principal: Principal,
    pub(super) agent: Agent,
}

/// Works on a call until it ends, whoever ends it. Then the handler is dropped where it waits.
pub(super) async fn serve(desk: Arc<Desk>, serving: AgentHandle) {
    let mut others = JoinSet::new();
    if let Some(end) = work(&desk, &serving, &mut others).await {
        serving.finish(end);
    } else {
        drop(serving);
    }
    // A call of another agent that somebody still reads outlives the handler that made it, unless the hub ended it.
    while others.join_next().await.is_some() {}
}

/// How the agent ended it; nothing if somebody else did.
async fn work(desk: &Arc<Desk>, serving: &AgentHandle, others: &mut JoinSet<()>) -> Option<End> {
    let (gate, bell) = (Arc::new(Gate::default()), ReadySet::new());
    serving.gated(gate.clone());
    serving.input().listen(bell.handle(0));
    let all = Abilities {
        artifacts: true,
        asks: true,
    };
    let message = translate::message_of(serving.call());
    let mut work = desk.agent.work_on(message, all);
    let mut asks: HashMap<String, oneshot::Sender<Answer>> = HashMap::new();
    // While the caller does not read, nothing more is taken from the handler, which waits once it has no more room.
    let mut is_full = false;
    loop {
        let mut rang = Vec::new();
        let said = tokio::select! {
            () = bell.wait(&mut rang) => {
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
            said = poll_fn(|cx| work.poll_said(cx)), if !is_full => said?,
        };
        let pushed = match said.output {
            Output::Chunk(chunk) => serving.push(Event::Chunk(chunk)),
            Output::Artifact(artifact) => serving.push(Event::Artifact(artifact)),
            Output::Ask(OpenAsk { ask, answer }) => {
                asks.insert(ask.id.clone(), answer);
                serving.ask(ask)
            }
            Output::Call(calling) => {
                others.spawn(calls::call(desk.clone(), serving.call().clone(), calling));
                continue;
            }
            Output::Discover(looking) => {
                calls::discover(desk, looking);
                continue;
            }
            Output::End(end) => return Some(translate::end(end)),
        };
        is_full = pushed == Pushed::Full;
    }
}
