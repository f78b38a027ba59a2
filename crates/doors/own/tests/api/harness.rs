//! The hub's own API: requests whose answers are checked against the hub's own description, and event streams of calls
//! and watches.

use std::{ops::Deref, sync::Arc};

use jackfield_core::{
    call::AgentHandle,
    limits::Limits,
    principal::Principal,
    store::{Store, memory::MemoryStore},
};
use jackfield_kit::testing::{self, SseReader, TestHub, TestSettings, json_of, spec};
pub(crate) use jackfield_kit::testing::{Scripted, soon};
use jackfield_model::Skill;
use jackfield_own::{OwnState, openapi_route, router};
use jackfield_team::Teams;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

/// Origin of web pages that may use the hub.
pub(crate) const PAGE: &str = "https://page.example";

/// A hub with its own API.
pub(crate) struct OwnHub {
    test: TestHub,
    pub(crate) teams: Teams,
}

impl Deref for OwnHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.test
    }
}

impl OwnHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        Self::start_on(MemoryStore::default(), trusts_everyone, limits).await
    }

    pub(crate) async fn start_on(store: impl Store, trusts_everyone: bool, limits: Limits) -> Self {
        let settings = TestSettings {
            store: Arc::new(store),
            limits,
            trusts_everyone,
            has_file_links: true,
            allowed_origins: vec![PAGE.to_owned()],
            ..TestSettings::default()
        };
        let teams = Teams::open(settings.store.clone(), settings.limits.clone());
        let teams = teams.await.unwrap();
        let mut builder = settings.prepare_with(teams.hub().clone()).await;
        let context = builder.context.clone();
        // Without the proof of the hub's identity, which `Config::open` adds.
        let (routes, api) = router(OwnState {
            hub: context.hub,
            gatekeeper: context.gatekeeper.clone(),
            hosts: context.hosts,
            files: context.files,
            version: context.version,
            stop: context.tasks.stop_token().clone(),
        });
        builder.add_routes(routes);
        builder.add_routes(openapi_route(context.gatekeeper, api));
        let test = builder.start().with_own_spec().await;
        Self { test, teams }
    }

    /// A request of the test's own owner; the answer must be JSON as described, or nothing.
    pub(crate) async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        self.json_as(None, method, path, body).await
    }

    pub(crate) async fn json_as(
        &self,
        token: Option<&str>,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let body = body.unwrap_or_default();
        let request = self.client.ask_as(token, method.clone(), path, &body);
        self.checked(&method, path, request.send().await.unwrap())
            .await
    }

    /// Checks a response against the description and takes it apart.
    pub(crate) async fn checked(
        &self,
        method: &Method,
        path: &str,
        response: Response,
    ) -> (StatusCode, Value) {
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            assert!(
                response.headers()["www-authenticate"]
                    .as_bytes()
                    .starts_with(b"Bearer")
            );
        }
        let body = json_of(response).await;
        let (spec, method) = (self.client.spec(), method.as_str());
        spec::check(spec, method, path, status.as_u16(), &body);
        (status, body)
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.json(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.json(Method::POST, path, Some(body)).await
    }

    /// Opens a stream; panics if it is refused.
    pub(crate) async fn stream(&self, request: RequestBuilder) -> Stream {
        let reader = SseReader::open(request).await;
        let is_watch = reader.response.url().path() == "/v1/events";
        let name = if is_watch { "WatchEvent" } else { "CallEvent" };
        Stream {
            reader,
            schema: json!({"$ref": format!("#/components/schemas/{name}")}),
            spec: self.client.spec().clone(),
        }
    }

    /// A streamed call with this body.
    pub(crate) async fn call(&self, agent: &str, body: Value) -> Stream {
        let path = format!("/v1/agents/{agent}/calls");
        self.stream(self.ask(Method::POST, &path).json(&body)).await
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.attach_for(&Principal::local(), id)
    }

    pub(crate) fn attach_for(&self, principal: &Principal, id: &str) -> Scripted {
        let skill = Skill {
            id: format!("{id}-skill"),
            ..Skill::default()
        };
        self.agent(id).of(principal).named(skill).attach()
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sse {
    pub(crate) event: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

/// The client's end of a stream. Dropping it hangs up.
pub(crate) struct Stream {
    reader: SseReader,
    schema: Value,
    spec: Value,
}

impl Stream {
    pub(crate) fn response(&mut self) -> &mut Response {
        &mut self.reader.response
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Sse> {
        let testing::Sse { event, id, data } = self.reader.next().await?;
        let event = event.unwrap();
        assert_eq!(data["type"], event, "the type is told twice, alike");
        spec::fits(&self.spec, &self.schema, &data).unwrap();
        Some(Sse { event, id, data })
    }

    /// The next event, which must be this one.
    pub(crate) async fn expect(&mut self, event: &str) -> Sse {
        let next = self.next().await.expect("the stream goes on");
        assert_eq!(next.event, event, "{next:?}");
        next
    }

    /// All that is left.
    pub(crate) async fn rest(&mut self) -> Vec<Sse> {
        let mut all = Vec::new();
        while let Some(next) = self.next().await {
            all.push(next);
        }
        all
    }
}

/// The text of the chunks.
pub(crate) fn text_of(events: &[Sse]) -> String {
    let chunks = events.iter().filter(|sse| sse.event == "chunk");
    chunks
        .map(|sse| sse.data["text"].as_str().unwrap())
        .collect()
}

/// Starts a detached call and takes it up at the agent.
pub(crate) async fn detached(hub: &OwnHub, amy: &mut Scripted) -> (String, AgentHandle) {
    let body = json!({"text": "go", "detach": true});
    let (status, answer) = hub.post("/v1/agents/amy/calls", body).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    (
        answer["task"].as_str().unwrap().to_owned(),
        amy.next_call().await,
    )
}
