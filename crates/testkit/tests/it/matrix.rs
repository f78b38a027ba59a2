//! Every pair of protocols, and every topic between them: the observed behaviour must match `jackfield_hub::matrix`.
//! Each cell has its own hub, and a caller and an agent with raw frames, step by step. Tests with published clients are
//! in each protocol's folder; here only raw bytes are used.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod callee;
mod callees;
mod caller;
mod callers;
mod cells;
mod event;
mod node;
mod page;
mod protocol;
mod setup;

use std::{any::Any, panic::AssertUnwindSafe};

use futures_util::{FutureExt as _, future::join_all};
use jackfield_hub::matrix::Topic;

use crate::matrix::{callee::Callee, caller::Caller};

/// Runs all topics between a caller and an agent at once, and reports every cell that differs from the table.
async fn pair<C: Caller, A: Callee>() {
    let cells = Topic::ALL.map(|topic| async move {
        let cell = AssertUnwindSafe(Box::pin(cells::run_cell::<C, A>(topic)));
        cell.catch_unwind().await.err().map(|why| {
            let expected = C::PROTOCOL.calls(A::PROTOCOL, topic);
            format!("{} ({}): {}", topic.name(), expected.word(), words(&*why))
        })
    });
    let failed: Vec<_> = join_all(cells).await.into_iter().flatten().collect();
    let (caller, agent) = (C::PROTOCOL.name(), A::PROTOCOL.name());
    assert!(
        failed.is_empty(),
        "{caller} calls {agent}:\n{}",
        failed.join("\n")
    );
}

/// The message of a panic.
fn words(why: &(dyn Any + Send)) -> &str {
    let text = why.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| why.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked")
}

macro_rules! pairs {
    ($($name:ident: $caller:ident, $agent:ident;)*) => {$(
        #[tokio::test]
        async fn $name() {
            pair::<callers::$caller, callees::$agent>().await;
        }
    )*};
}

pairs! {
    agora_calls_agora: Agora, Agora;
    agora_calls_bridge: Agora, Bridge;
    agora_calls_a2a: Agora, A2a;
    agora_calls_team: Agora, Team;
    agora_calls_p2p: Agora, P2p;
    bridge_calls_agora: Bridge, Agora;
    bridge_calls_bridge: Bridge, Bridge;
    bridge_calls_a2a: Bridge, A2a;
    bridge_calls_team: Bridge, Team;
    bridge_calls_p2p: Bridge, P2p;
    a2a_calls_agora: A2a, Agora;
    a2a_calls_bridge: A2a, Bridge;
    a2a_calls_a2a: A2a, A2a;
    a2a_calls_team: A2a, Team;
    a2a_calls_p2p: A2a, P2p;
    team_calls_agora: Team, Agora;
    team_calls_bridge: Team, Bridge;
    team_calls_a2a: Team, A2a;
    team_calls_team: Team, Team;
    team_calls_p2p: Team, P2p;
    p2p_calls_agora: P2p, Agora;
    p2p_calls_bridge: P2p, Bridge;
    p2p_calls_a2a: P2p, A2a;
    p2p_calls_team: P2p, Team;
    p2p_calls_p2p: P2p, P2p;
    openai_calls_agora: OpenAi, Agora;
    openai_calls_bridge: OpenAi, Bridge;
    openai_calls_a2a: OpenAi, A2a;
    openai_calls_team: OpenAi, Team;
    openai_calls_p2p: OpenAi, P2p;
    acp_calls_agora: Acp, Agora;
    acp_calls_bridge: Acp, Bridge;
    acp_calls_a2a: Acp, A2a;
    acp_calls_team: Acp, Team;
    acp_calls_p2p: Acp, P2p;
}
