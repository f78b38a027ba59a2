//! A bridge agent as caller, by `call_agent`.

use std::net::SocketAddr;

use jackfield_testkit::{Raw, TestHub, bridge_register};
use serde_json::{Value, json};

use super::{Caller, CallerEvent, Ended, Questions, piece, text};
use crate::a2a_remote::server::ACTOR;

/// An id in the format of the published clients.
const AMY: &str = "3f2b8c1e-9a4d-4f6b-8e2a-7c5d1b0a9f3e";

pub(crate) struct BridgeAgent {
    hub: SocketAddr,
    line: Raw,
    raw_events: Vec<Value>,
}

async fn register(hub: SocketAddr) -> Raw {
    let mut line = Raw::connect(hub, &format!("/ws?agent_id={AMY}")).await;
    line.send(bridge_register(AMY)).await;
    assert_eq!(line.frame().await["type"], "registered");
    line
}

impl Caller for BridgeAgent {
    const NAME: &'static str = "a bridge agent";
    const QUESTIONS: Questions = Questions::Shown;
    const RECEIVES_CANCEL: bool = false;

    async fn join(hub: &TestHub) -> Self {
        Self {
            hub: hub.addr(),
            line: register(hub.addr()).await,
            raw_events: Vec::new(),
        }
    }

    async fn begin(&mut self, text: &str) {
        self.raw_events.clear();
        let call = json!({"type": "call_agent", "target_agent_id": ACTOR, "task_description": text, "call_id": "c-1"});
        self.line.send(call).await;
    }

    async fn next(&mut self) -> CallerEvent {
        let frame = self.line.frame().await;
        self.raw_events.push(frame.clone());
        match frame["type"].as_str().unwrap() {
            "call_agent_chunk" => piece(&frame["kind"], text(&frame["delta"])),
            "call_agent_done" => CallerEvent::Ended(Ended::Done),
            "call_agent_error" => CallerEvent::Ended(Ended::Failed(text(&frame["message"]))),
            _ => CallerEvent::Other,
        }
    }

    /// Disconnects, since the protocol has no cancel.
    async fn cancel(&mut self) {
        let line = register(self.hub).await;
        std::mem::replace(&mut self.line, line).close().await;
    }

    async fn answer(&mut self, _: &str) {
        unreachable!("it is told only");
    }

    fn raw_events(&self) -> &[Value] {
        &self.raw_events
    }
}
