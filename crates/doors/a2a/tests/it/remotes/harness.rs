//! A hub that dials A2A servers, and calls to them.

use std::{ops::Deref, sync::Arc, time::Duration};

use jackfield_a2a::{RemoteSpec, Remotes, cards_router};
use jackfield_core::{
    call::CallerHandle,
    entry::AgentView,
    hub::{Request, Wanted},
    principal::Principal,
    store::{Store, memory::MemoryStore},
    tap::{Sight, TapFilter, Watching},
    task::Task,
};
use jackfield_kit::{
    dial::{self, Dialler},
    door::DoorContext,
    outbound::OutboundRules,
    tasks::Tasks,
    testing::{TestHub, TestSettings, soon},
};
use jackfield_model::{AgentId, End, Failure, Message};
use reqwest::Method;
use serde_json::{Value, json};

pub(crate) fn id(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

/// A hub that dials.
pub(crate) struct Near {
    test: TestHub,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) tasks: Tasks,
    pub(crate) watching: Watching,
    pub(crate) remotes: Remotes,
}

impl Deref for Near {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.test
    }
}

impl Near {
    pub(crate) async fn start() -> Self {
        Self::on(Arc::default(), Vec::new()).await
    }

    /// A hub on a store, with these remotes in its configuration.
    pub(crate) async fn on(
        store: Arc<MemoryStore>,
        configured: Vec<(AgentId, RemoteSpec)>,
    ) -> Self {
        Self::with(store, configured, &OutboundRules::default()).await
    }

    /// A hub that may talk to private addresses, whoever names them.
    pub(crate) async fn that_trusts() -> Self {
        let rules = OutboundRules {
            allow_private: true,
            ..OutboundRules::default()
        };
        Self::with(Arc::default(), Vec::new(), &rules).await
    }

    async fn with(
        store: Arc<MemoryStore>,
        configured: Vec<(AgentId, RemoteSpec)>,
        rules: &OutboundRules,
    ) -> Self {
        let settings = TestSettings {
            store: store.clone(),
            outbound: rules.clone(),
            ..TestSettings::default()
        };
        let mut builder = settings.prepare().await;
        let DoorContext {
            hub,
            gatekeeper,
            outbound,
            ..
        } = builder.context.clone();
        let watching = hub.taps().watch(Principal::local(), TapFilter::default());
        // Apart from the tasks of the server, so that a test can wait for the end of those that dial.
        let tasks = Tasks::new();
        let remotes = Remotes::start(
            hub.clone(),
            store.clone(),
            outbound,
            tasks.clone(),
            configured,
        );
        let remotes = remotes.await.unwrap();
        let dialler: Arc<dyn Dialler> = Arc::new(remotes.clone());
        let (router, mut api) = dial::routes::router(hub.clone(), gatekeeper.clone(), [dialler]);
        let (cards, cards_api) = cards_router(hub, gatekeeper, remotes.clone());
        builder.add_routes(router.merge(cards));
        api.merge(cards_api);
        let mut test = builder.start();
        // The hub hangs up on those who are silent for long, and the clock runs fast here.
        let client = test.client.without_idle_connections();
        test.client = client.with_spec(described(&api));
        Self {
            test,
            store,
            tasks,
            watching,
            remotes,
        }
    }

    /// Asks the hub, and checks the answer against the description.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        self.ask_as(None, method, path, body).await
    }

    /// Asks the hub with a token.
    pub(crate) async fn ask_as(
        &self,
        token: Option<&str>,
        method: Method,
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let request = self.test.ask_as(token, method, path, &body);
        self.send(request).await
    }

    pub(crate) fn at(&self, path: &str) -> String {
        self.url(path)
    }

    /// Adds a remote, and returns what the hub says of it.
    pub(crate) async fn add(&self, body: Value) -> Value {
        let (status, added) = self.ask(Method::POST, "/v1/remotes", body).await;
        assert_eq!(status, 201, "{added}");
        added
    }

    pub(crate) async fn remote(&self, id: &str) -> Value {
        let path = format!("/v1/remotes/{id}");
        let (status, remote) = self.ask(Method::GET, &path, Value::Null).await;
        assert_eq!(status, 200, "{remote}");
        remote
    }

    /// The agent, if there is one.
    pub(crate) fn agent(&self, id: &str) -> Option<AgentView> {
        let seen = self
            .hub
            .agents()
            .discover(&Principal::local(), &Wanted::default());
        seen.into_iter().find(|view| view.id.as_str() == id)
    }

    /// Says something to an agent and waits for all of its answer.
    pub(crate) async fn call(&self, agent: &str) -> Result<(String, End), Failure> {
        let asking = self.start_call(agent)?;
        Ok(soon(asking.replies().finish()).await)
    }

    /// Says something to an agent.
    pub(crate) fn start_call(&self, agent: &str) -> Result<CallerHandle, Failure> {
        self.hub.calls().open(self.request(agent))
    }

    /// Says something to an agent, whenever that comes.
    pub(crate) fn start_waiting_call(&self, agent: &str) -> Result<CallerHandle, Failure> {
        self.hub.calls().open(self.waiting(agent))
    }

    /// The same as a task.
    pub(crate) async fn start_task(&self, agent: &str) -> Arc<Task> {
        self.hub.tasks().start(self.waiting(agent)).await.unwrap()
    }

    fn waiting(&self, agent: &str) -> Request {
        Request {
            wait_online: Some(Duration::from_secs(3600)),
            ..self.request(agent)
        }
    }

    fn request(&self, agent: &str) -> Request {
        let message = Message::text("hello");
        Request::new(Principal::local(), "own", id(agent), message)
    }

    /// Waits until an agent is online.
    pub(crate) async fn online(&mut self) {
        self.until(|sight| matches!(sight, Sight::Online(_))).await;
    }

    /// Waits until an agent is offline.
    pub(crate) async fn offline(&mut self) {
        self.until(|sight| matches!(sight, Sight::Offline)).await;
    }

    async fn until(&mut self, is_it: impl Fn(&Sight) -> bool) {
        while !is_it(&soon(self.watching.next()).await.sight) {}
    }

    /// What the store has of remotes.
    pub(crate) async fn stored(&self) -> Vec<String> {
        let records = self.store.load_records(jackfield_a2a::DOOR).await.unwrap();
        records
            .into_iter()
            .map(|it| it.agent.unwrap().to_string())
            .collect()
    }

    /// It stops, and leaves its store.
    pub(crate) async fn stop(self) -> Arc<MemoryStore> {
        self.hub.stop(Duration::ZERO).await;
        self.tasks.stop(Duration::from_secs(2)).await;
        self.store
    }
}

/// The description, with what it takes from that of the hub's own API.
fn described(api: &utoipa::openapi::OpenApi) -> Value {
    let mut spec = serde_json::to_value(api).unwrap();
    spec["components"]["schemas"]["Error"] = json!({
        "type": "object",
        "required": ["error", "message"],
        "properties": {"error": {"type": "string"}, "message": {"type": "string"}}
    });
    spec
}
