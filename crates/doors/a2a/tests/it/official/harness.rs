//! The official protocol: JSON of the three bindings, and turns of the scripted agent.

use std::{ops::Deref, sync::Arc};

use axum::Router;
use jackfield_a2a::{A2aDoor, Cards, router, router_at};
use jackfield_core::{
    agent::Profile, call::AgentHandle, limits::Limits, principal::Principal,
    store::memory::MemoryStore,
};
pub(crate) use jackfield_kit::testing::answer_text as answer;
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    testing::{Scripted, SseReader, TestHub, TestSettings},
};
use jackfield_model::{Done, DoneState, End, Event};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

/// The address of the agent that most tests call.
pub(crate) const ECHO: &str = "/a2a/agents/echo";

/// A hub with this door.
pub(crate) struct A2aHub(TestHub);

impl Deref for A2aHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.0
    }
}

impl A2aHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        let settings = TestSettings {
            limits,
            trusts_everyone,
            ..TestSettings::default()
        };
        Self::start_as(settings, router).await
    }

    /// On a store that another hub may have used before.
    pub(crate) async fn start_on(store: Arc<MemoryStore>) -> Self {
        let settings = TestSettings {
            store,
            ..TestSettings::default()
        };
        Self::start_as(settings, router).await
    }

    /// As a part of somebody's server, below a prefix; `others` are the routes that it has besides.
    pub(crate) async fn start_at(prefix: &str, others: Router) -> Self {
        let app = |a2a| router_at(prefix, a2a).merge(others);
        Self::start_as(TestSettings::default(), app).await
    }

    async fn start_as(settings: TestSettings, app: impl FnOnce(A2aDoor) -> Router) -> Self {
        let outbound = Outbound::new(&OutboundRules::default()).unwrap();
        let cards = Cards::at("https://hub.example.com");
        let furnished = |door: A2aDoor| app(door.with_cards(cards).with_outbound(outbound));
        Self(crate::start(settings, furnished).await)
    }

    /// A request with a body of JSON.
    pub(crate) fn request(&self, path: &str, body: impl Into<String>) -> RequestBuilder {
        let request = self.ask(Method::POST, path).body(body.into());
        request.header("Content-Type", "application/json")
    }

    /// The answer to a body.
    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> (u16, Value) {
        told(self.request(path, body)).await
    }

    /// The answer to a look.
    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        told(self.ask(Method::GET, path)).await
    }

    /// Somebody who may register agents, as a token proved it.
    pub(crate) async fn owner(&self, name: &str) -> (Principal, String) {
        let token = self.token(name, &["agent:*"]).await;
        (self.principal_of(&token), token)
    }

    /// Takes a token back.
    pub(crate) async fn revoke(&self, token: &str) {
        let id = self.principal_of(token).grant.token.unwrap();
        assert!(self.hub.tokens().revoke(id).await.unwrap());
    }

    pub(crate) fn attach_as(&self, owner: &Principal, id: &str, profile: Profile) -> Scripted {
        self.agent(id).of(owner).profile(profile).attach()
    }

    /// How many requests were refused as malformed.
    pub(crate) fn refused(&self) -> u64 {
        let metrics = self.hub.metrics().render();
        let mut lines = metrics.lines();
        let count = lines.find_map(|line| {
            let (name, count) = line.split_once("refused_total{door=\"a2a\"} ")?;
            (!name.starts_with('#')).then(|| count.parse().unwrap())
        });
        count.unwrap_or_default()
    }
}

/// Sends a request and takes the answer apart, which must be JSON.
pub(crate) async fn told(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, json_of(response).await)
}

/// The JSON of a response.
pub(crate) async fn json_of(response: Response) -> Value {
    let kind = response.headers()["content-type"].to_str().unwrap();
    let is_json = matches!(kind, "application/json" | "application/a2a+json");
    assert!(is_json, "{kind}");
    let text = response.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Opens a stream; panics if it is refused.
pub(crate) async fn stream_of(request: RequestBuilder) -> SseReader {
    SseReader::open(request).await
}

/// All that a stream still tells.
pub(crate) async fn all_of(stream: &mut SseReader) -> Vec<Value> {
    stream.rest().await
}

/// Answers the next call of an agent with these words.
pub(crate) async fn answered(agent: &mut Scripted, words: &str) {
    answer(agent.next_call().await, words);
}

/// Asks for more instead, which ends the turn.
pub(crate) fn ask_for_more(serving: AgentHandle, words: &str) {
    serving.push(Event::text(words));
    serving.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
}
