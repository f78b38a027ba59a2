//! The agents' half of the bridge: clients whose frames the test writes itself, and calls to them.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use jackfield_bridge::{FileRules, PlatformSettings, SharedSecret};
use jackfield_core::{
    call::{Replies, Reply},
    hub::{Hub, Request},
    limits::Limits,
    principal::Principal,
    store::{Store, memory::MemoryStore},
};
use jackfield_kit::testing::{TestHub, TestSettings, WsClient};
pub(crate) use jackfield_kit::testing::{soon, until};
use jackfield_model::{AgentId, End, Event, Message as Said, Reason, RequestId, SessionId};
use jackfield_transfer::hub::Transfers;
use serde_json::{Value, json};

pub(crate) use crate::SECRET;

/// A hub with this door.
pub(crate) struct BridgeHub(TestHub);

impl Deref for BridgeHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.0
    }
}

impl BridgeHub {
    pub(crate) async fn open() -> Self {
        Self::open_with(Limits::default()).await
    }

    pub(crate) async fn open_with(limits: Limits) -> Self {
        Self::open_on(Arc::new(MemoryStore::default()), limits, true).await
    }

    pub(crate) async fn open_on(
        store: Arc<dyn Store>,
        limits: Limits,
        trusts_everyone: bool,
    ) -> Self {
        Self::open_ruled(store, limits, trusts_everyone, FileRules::default()).await
    }

    /// With rules for transfers of files.
    pub(crate) async fn open_ruled(
        store: Arc<dyn Store>,
        limits: Limits,
        trusts_everyone: bool,
        files: FileRules,
    ) -> Self {
        let platform = PlatformSettings {
            files,
            ..PlatformSettings::default()
        };
        Self::open_as(store, limits, trusts_everyone, platform).await
    }

    /// With settings of the door itself.
    pub(crate) async fn open_as(
        store: Arc<dyn Store>,
        limits: Limits,
        trusts_everyone: bool,
        platform: PlatformSettings,
    ) -> Self {
        let transfers = Transfers::open(&store).await.unwrap();
        let settings = TestSettings {
            store,
            limits,
            trusts_everyone,
            ..TestSettings::default()
        };
        let platform = PlatformSettings {
            secrets: SharedSecret::new(SECRET).into_iter().collect(),
            transfers: Arc::new(transfers),
            ..platform
        };
        Self(crate::start(settings, platform).await.0)
    }

    pub(crate) async fn connect(&self, id: &str) -> Agent {
        Agent(self.0.connect(&format!("/ws?agent_id={id}")).await)
    }

    /// An agent of the seed.
    pub(crate) async fn agent(&self, id: &str) -> Agent {
        let mut agent = self.connect(id).await;
        agent.send(register(id, &json!("1"))).await;
        assert_eq!(
            agent.frame().await,
            json!({"type": "registered", "status": "ok"})
        );
        agent
    }

    /// An agent with all extensions, and its token.
    pub(crate) async fn resumable(&self, id: &str) -> (Agent, String) {
        let mut agent = self.connect(id).await;
        agent.send(register_with(id, &Value::Null)).await;
        let registered = agent.frame().await;
        assert_eq!(registered["status"], "ok");
        assert_eq!(
            registered["extensions"],
            json!(["resume", "artifacts", "input", "meta"])
        );
        assert_eq!(registered["resume"]["grace_ms"], grace_ms(&self.hub));
        let token = registered["resume"]["token"].as_str().unwrap().to_owned();
        (agent, token)
    }

    /// An agent that comes back, and what the hub says of what it had open.
    pub(crate) async fn resume(&self, id: &str, token: &str, open: Value) -> (Agent, Value) {
        self.come_back(id, json!({"token": token, "open": open}))
            .await
    }

    /// An agent that comes back and says this.
    pub(crate) async fn come_back(&self, id: &str, resume: Value) -> (Agent, Value) {
        let mut agent = self.connect(id).await;
        agent.send(register_with(id, &resume)).await;
        let mut registered = agent.frame().await;
        assert_eq!(registered["status"], "ok", "{registered}");
        (agent, registered["resume"].take())
    }

    pub(crate) fn request(id: &str, request: &str, text: &str) -> Request {
        let target = AgentId::parse(id).unwrap();
        let mut asked = Request::new(Principal::local(), "local", target, Said::text(text));
        asked.request = Some(RequestId::parse(request).unwrap());
        asked.session = Some(SessionId::parse("s-1").unwrap());
        asked
    }

    pub(crate) fn call(&self, id: &str, request: &str, text: &str) -> Replies {
        let asking = self.hub.calls().open(Self::request(id, request, text));
        asking.unwrap().replies()
    }

    /// Waits until the hub knows that the agent's connection is gone.
    pub(crate) async fn lost(&self, id: &str) {
        let entry = self.hub.agents().find(&Principal::local(), id).unwrap();
        until(|| entry.link().is_none()).await;
    }

    /// How many frames were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.metric("jackfield_frames_refused_total{door=\"bridge\"}")
    }
}

fn grace_ms(hub: &Hub) -> u64 {
    hub.limits().resume_grace.0.as_millis().try_into().unwrap()
}

/// The register frame of the seed, in a version.
pub(crate) fn register(id: &str, version: &Value) -> Value {
    json!({
        "type": "register", "agent_id": id, "token": "ah_xxx", "bridge_version": version,
        "agent_type": "claude", "capabilities": ["code_review", "translation"],
    })
}

/// The register frame of an agent with all extensions.
pub(crate) fn register_with(id: &str, resume: &Value) -> Value {
    let mut frame = register(id, &json!("2"));
    frame["extensions"] = json!(["resume", "artifacts", "input", "meta", "x-unknown"]);
    if !resume.is_null() {
        frame["resume"] = resume.clone();
    }
    frame
}

pub(crate) fn chunk(request: &str, seq: u64, delta: &str) -> Value {
    json!({"type": "chunk", "request_id": request, "delta": delta, "seq": seq})
}

pub(crate) fn done(request: &str, seq: u64) -> Value {
    json!({"type": "done", "request_id": request, "seq": seq})
}

pub(crate) fn ack(request: &str, seq: u64) -> Value {
    json!({"type": "ack", "request_id": request, "seq": seq})
}

/// What an agent says of one open request.
pub(crate) fn open(request: &str, sent: u64) -> Value {
    json!([{"request_id": request, "sent": sent}])
}

/// A client. Dropping it cuts the connection.
pub(crate) struct Agent(WsClient);

impl Deref for Agent {
    type Target = WsClient;

    fn deref(&self) -> &WsClient {
        &self.0
    }
}

impl DerefMut for Agent {
    fn deref_mut(&mut self) -> &mut WsClient {
        &mut self.0
    }
}

impl Agent {
    /// The next frame that is no ack.
    pub(crate) async fn word(&mut self) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["type"] != "ack" {
                return frame;
            }
        }
    }

    /// Reads until this is acknowledged; the numbers on the way.
    pub(crate) async fn acked(&mut self, request: &str, seq: u64) -> Vec<u64> {
        let mut seen = Vec::new();
        while seen.last() != Some(&seq) {
            let frame = self.frame().await;
            assert_eq!(
                (&frame["type"], &frame["request_id"]),
                (&json!("ack"), &json!(request))
            );
            seen.push(frame["seq"].as_u64().unwrap());
        }
        assert!(seen.is_sorted(), "{seen:?}");
        seen
    }

    /// Waits until everything before this was handled, with a question that has an answer.
    pub(crate) async fn sync(&mut self) -> Vec<Value> {
        self.send(json!({"type": "discover_agents", "limit": 0}))
            .await;
        let mut before = Vec::new();
        loop {
            let frame = self.frame().await;
            if frame["type"] == "discover_agents_result" {
                return before;
            }
            before.push(frame);
        }
    }
}

/// All that comes out of a call.
pub(crate) async fn all_of(mut replies: Replies) -> (Vec<Event>, End) {
    let mut events = Vec::new();
    loop {
        match soon(replies.next()).await.expect("an end") {
            Reply::Event(event) => events.push(event),
            Reply::End(end) => return (events, end),
        }
    }
}

pub(crate) async fn end_of(replies: &mut Replies) -> End {
    loop {
        match soon(replies.next()).await.expect("an end") {
            Reply::Event(_) => {}
            Reply::End(end) => return end,
        }
    }
}

/// Why a call failed.
pub(crate) async fn failure_of(mut replies: Replies) -> Reason {
    match end_of(&mut replies).await {
        End::Failed(failure) => failure.reason,
        end => panic!("not failed: {end:?}"),
    }
}
