//! A hub with its own API and the routes of teams on a port of its own. Whatever it answers in JSON is checked against
//! its own description.

use std::{net::SocketAddr, sync::Arc};

use jackfield_core::{
    agent::Profile,
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::memory::MemoryStore,
};
pub(crate) use jackfield_kit::testing::{Scripted, SseReader};
use jackfield_kit::{
    auth::{Gatekeeper, Ingress},
    files::Files,
    server::Server,
    tasks::Tasks,
    testing::{Manner, SOON, spec},
};
use jackfield_model::Owner;
use jackfield_own::{OwnState, openapi_route};
use jackfield_team::{TeamDoor, TeamLimits, Teams};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// A running hub.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) hub: Hub,
    pub(crate) spec: Value,
    client: reqwest::Client,
    _server: JoinSet<usize>,
}

impl Running {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    /// As anywhere else: everybody needs a token.
    pub(crate) async fn closed() -> Self {
        Self::start_with(false, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        let teams = Teams::open(Arc::new(MemoryStore::default()), limits);
        Self::serve(teams.await.unwrap(), trusts_everyone).await
    }

    /// With limits of teams.
    pub(crate) async fn start_limited(limits: TeamLimits) -> Self {
        let (store, hub) = (Arc::new(MemoryStore::default()), Limits::default());
        let files = Arc::new(Files::new(&hub));
        let teams = Teams::open_with(store, hub, limits, files).await.unwrap();
        Self::serve(teams, true).await
    }

    async fn serve(teams: Teams, trusts_everyone: bool) -> Self {
        let hub = teams.hub().clone();
        let tasks = Tasks::new();
        let files = Files::for_hub(&hub);
        let gatekeeper = Gatekeeper::new(hub.clone(), trusts_everyone);
        let (own, mut api) = jackfield_own::router(OwnState {
            hub: hub.clone(),
            gatekeeper: gatekeeper.clone(),
            files: files.clone(),
            version: "1.2.3",
            stop: tasks.stop_token().clone(),
        });
        let (teams, teams_api) = jackfield_team::router(TeamDoor {
            teams,
            gatekeeper: gatekeeper.clone(),
            tasks: tasks.clone(),
        });
        api.merge(teams_api);
        let app = own.merge(teams).merge(openapi_route(gatekeeper, api));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        server.spawn(Server::new(vec![listener], app, tasks).run(SOON));
        let mut running = Self {
            addr,
            hub,
            spec: Value::Null,
            client: reqwest::Client::new(),
            _server: server,
        };
        let (root, _) = running.token("root", &["admin"]).await;
        let fetched = running.ask(Method::GET, "/openapi.json").bearer_auth(root);
        running.spec = fetched.send().await.unwrap().json().await.unwrap();
        running
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.addr);
        self.client.request(method, url).timeout(SOON)
    }

    /// Sends a request; the answer must be JSON as described, or nothing.
    pub(crate) async fn send(&self, request: RequestBuilder) -> (u16, Value) {
        let request = request.build().unwrap();
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = self.client.execute(request).await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
        };
        spec::check(&self.spec, method.as_str(), &path, status, &body);
        (status, body)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(self.ask(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(self.ask(Method::POST, path).json(&body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(self.ask(Method::PATCH, path).json(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        self.send(self.ask(Method::DELETE, path)).await
    }

    /// A request with a token.
    pub(crate) async fn send_as(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let request = self.ask(method, path).bearer_auth(token);
        let request = match body {
            Value::Null => request,
            body => request.json(&body),
        };
        self.send(request).await
    }

    /// A request with a token, as an agent.
    pub(crate) async fn post_as_agent(
        &self,
        (token, agent): (&str, &str),
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let request = self.ask(Method::POST, path).bearer_auth(token);
        let request = request.header("Jackfield-Agent", agent).json(&body);
        self.send(request).await
    }

    /// A token, and whom it makes.
    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> (String, Principal) {
        let owner = Owner::parse(owner).unwrap();
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let new = self.hub.tokens().create("t".into(), owner, &scopes, None);
        let secret = new.await.unwrap().secret;
        let gatekeeper = Gatekeeper::new(self.hub.clone(), false);
        let principal = gatekeeper.admit(Some(&secret), &Ingress::Directly).unwrap();
        (secret, principal)
    }

    /// Attaches agents of `local`.
    pub(crate) fn attach<const N: usize>(&self, ids: [&str; N]) -> [Scripted; N] {
        ids.map(|id| self.attach_for(&Principal::local(), id))
    }

    pub(crate) fn attach_for(&self, principal: &Principal, id: &str) -> Scripted {
        let manner = Manner {
            door: "local",
            is_lively: true,
            one_call_per_session: false,
        };
        Scripted::attach(&self.hub, principal, id, Profile::default(), manner)
    }

    /// Makes a team of `local`; its first member leads it.
    pub(crate) async fn team(&self, id: &str, members: &[&str]) -> Value {
        let (status, team) = self.post("/v1/teams", team(id, members)).await;
        assert_eq!(status, 201, "{team}");
        team
    }

    /// Three teams within each other, with the agents a, b and c.
    pub(crate) async fn nested(&self) -> [Scripted; 3] {
        let agents = self.attach(["a", "b", "c"]);
        self.team("db", &["dba=c"]).await;
        self.team("back", &["chief=b", "store=@db"]).await;
        self.team("all", &["lead=a", "backend=@back"]).await;
        agents
    }

    /// Reads a team's stream from its beginning, after the snapshot.
    pub(crate) async fn events(&self, team: &str) -> SseReader {
        let request = self.ask(Method::GET, &format!("/v1/teams/{team}/events"));
        let mut reader = SseReader::of(request.send().await.unwrap()).await;
        let first = reader.next().await.unwrap();
        assert_eq!(first.event.as_deref(), Some("snapshot"));
        reader
    }

    /// The number of the last event of a team.
    pub(crate) async fn sequence(&self, team: &str) -> u64 {
        let (_, team) = self.get(&format!("/v1/teams/{team}")).await;
        team["run"]["sequence"].as_u64().unwrap_or(0)
    }
}

/// The body that makes a team: members as `name`, `name=agent` or `name=@team`; the first one leads.
pub(crate) fn team(id: &str, members: &[&str]) -> Value {
    let member = |text: &&str| {
        let (name, of) = text.split_once('=').unwrap_or((text, text));
        match of.strip_prefix('@') {
            Some(team) => json!({"name": name, "team": team}),
            None => json!({"name": name, "agent": of}),
        }
    };
    let members: Vec<Value> = members.iter().map(member).collect();
    json!({"id": id, "coordinator": members[0]["name"], "members": members})
}

/// Checks that an answer is this refusal, and that its text has this word.
pub(crate) fn is_refused(answer: &(u16, Value), status: u16, error: &str, word: &str) {
    let (got, body) = answer;
    assert_eq!((*got, &body["error"]), (status, &json!(error)), "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains(word), "{word:?} is not in {message:?}");
}
