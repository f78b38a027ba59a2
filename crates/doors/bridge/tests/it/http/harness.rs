//! The relay's HTTP API: requests of the platform, whose answers are checked against the door's own description, and
//! streams of relays.

use std::{
    ops::Deref,
    sync::{Arc, LazyLock},
};

use jackfield_bridge::{Bridge, PlatformSettings, SharedSecret};
use jackfield_core::{
    agent::Profile, limits::Limits, principal::Principal, store::memory::MemoryStore,
};
use jackfield_kit::testing::{Manner, SseReader, TestHub, TestSettings, json_of, send_raw, spec};
pub(crate) use jackfield_kit::testing::{Scripted, Sse, read_until, soon};
use jackfield_model::{Done, End, Skill};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;

pub(crate) use crate::SECRET;

/// The platform of the tests.
pub(crate) fn platform() -> PlatformSettings {
    PlatformSettings {
        secrets: SharedSecret::new(SECRET).into_iter().collect(),
        ..PlatformSettings::default()
    }
}

/// A hub with this door.
pub(crate) struct BridgeHub {
    test: TestHub,
    pub(crate) bridge: Arc<Bridge>,
}

impl Deref for BridgeHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.test
    }
}

impl BridgeHub {
    pub(crate) async fn start() -> Self {
        Self::start_with(Arc::default(), Limits::default(), platform()).await
    }

    pub(crate) async fn start_with(
        store: Arc<MemoryStore>,
        limits: Limits,
        platform: PlatformSettings,
    ) -> Self {
        let settings = TestSettings {
            store,
            limits,
            ..TestSettings::default()
        };
        let (test, bridge) = crate::start(settings, platform).await;
        Self { test, bridge }
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.attach_as(&Principal::local(), id, "bridge")
    }

    pub(crate) fn attach_as(
        &self,
        principal: &Principal,
        id: &str,
        door: &'static str,
    ) -> Scripted {
        let profile = Profile {
            agent_type: Some("claude".into()),
            ..Profile::default()
        };
        let skill = Skill {
            id: "translation".into(),
            ..Skill::default()
        };
        let manner = Manner {
            door,
            is_lively: false,
            one_call_per_session: door == "bridge",
            ..Manner::default()
        };
        let agent = self.agent(id).of(principal).profile(profile);
        agent.named(skill).manner(manner).attach()
    }

    /// A request of the platform's.
    pub(crate) fn platform(&self, method: Method, path: &str) -> RequestBuilder {
        self.ask(method, path).header("X-Platform-Secret", SECRET)
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.checked(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.checked(Method::POST, path, Some(body.to_string()))
            .await
    }

    /// A request of the platform's, whose answer must be as described.
    pub(crate) async fn checked(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> (StatusCode, Value) {
        let request = self.platform(method.clone(), path);
        let request = request.body(body.unwrap_or_default());
        let (status, answer) = taken_apart(request.send().await.unwrap()).await;
        spec::check(&SPEC, method.as_str(), path, status.as_u16(), &answer);
        (status, answer)
    }

    /// Opens a stream; panics if it is refused.
    pub(crate) async fn stream(&self, path: &str, body: Value) -> Stream {
        Stream::of(self.platform(Method::POST, path).json(&body)).await
    }

    /// Relays a message to an agent.
    pub(crate) async fn relay(&self, agent: &str, request: &str) -> Stream {
        self.stream("/api/relay", relay_body(agent, request)).await
    }

    /// A connection on which the test writes the bytes itself.
    pub(crate) async fn raw(&self, request: &str) -> TcpStream {
        send_raw(self.addr, request).await
    }
}

/// What the API says of itself; here, no answer may say more than that.
pub(crate) static SPEC: LazyLock<Value> = LazyLock::new(|| {
    let mut spec = serde_json::to_value(jackfield_bridge::description()).unwrap();
    for schema in spec["components"]["schemas"]
        .as_object_mut()
        .unwrap()
        .values_mut()
    {
        close(schema);
    }
    spec
});

fn close(schema: &mut Value) {
    if let Some(kinds) = schema["oneOf"].as_array_mut() {
        kinds.iter_mut().for_each(close);
    } else if schema["properties"].is_object() {
        schema["additionalProperties"] = json!(false);
    }
}

/// The body of a relay.
pub(crate) fn relay_body(agent: &str, request: &str) -> Value {
    json!({"agent_id": agent, "session_id": "s1", "request_id": request, "content": "hi"})
}

pub(crate) async fn taken_apart(response: Response) -> (StatusCode, Value) {
    (response.status(), json_of(response).await)
}

/// The end of an answer that is repeated there.
pub(crate) fn done(result: &str) -> End {
    End::Done(Box::new(Done {
        result: Some(result.into()),
        ..Done::default()
    }))
}

/// The client's end of a stream. Dropping it hangs up.
pub(crate) struct Stream(SseReader);

impl Stream {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self(SseReader::open(request).await)
    }

    /// The next event, which must be as described; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Sse> {
        let next = self.0.next().await?;
        assert_eq!(next.event, None, "clients of the bridge know no names");
        let schema = json!({"$ref": "#/components/schemas/RelayEvent"});
        spec::fits(&SPEC, &schema, &next.data).unwrap();
        Some(next)
    }

    /// The data of the next event.
    pub(crate) async fn data(&mut self) -> Value {
        self.next().await.expect("the stream goes on").data
    }

    /// All that is left.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(next) = self.next().await {
            all.push(next.data);
        }
        all
    }
}

/// An `error` event.
pub(crate) fn error(code: &str, message: &str) -> Value {
    json!({"type": "error", "code": code, "message": message})
}

/// A `chunk` event of text.
pub(crate) fn chunk(delta: &str) -> Value {
    json!({"type": "chunk", "delta": delta})
}
