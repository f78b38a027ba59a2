//! The routes of teams beside the hub's own API: teams written as JSON, and answers checked against the hub's own
//! description.

use std::ops::Deref;

use jackfield_core::{limits::Limits, principal::Principal};
pub(crate) use jackfield_kit::testing::{Scripted, SseReader};
use jackfield_kit::testing::{TestHub, TestSettings};
use jackfield_team::TeamLimits;
use reqwest::Method;
use serde_json::{Value, json};

/// A hub with the team door.
pub(crate) struct TeamHub(TestHub);

impl Deref for TeamHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.0
    }
}

impl TeamHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    /// As anywhere else: everybody needs a token.
    pub(crate) async fn closed() -> Self {
        Self::start_with(false, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        let settings = TestSettings {
            limits,
            trusts_everyone,
            ..TestSettings::default()
        };
        Self::serve(settings, TeamLimits::default()).await
    }

    /// With limits of teams.
    pub(crate) async fn start_limited(limits: TeamLimits) -> Self {
        Self::serve(TestSettings::default(), limits).await
    }

    async fn serve(settings: TestSettings, limits: TeamLimits) -> Self {
        let (hub, _) = crate::start(settings, limits).await;
        Self(hub.with_own_spec().await)
    }

    /// A token, and whom it makes.
    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> (String, Principal) {
        let token = self.0.token(owner, scopes).await;
        let principal = self.principal_of(&token);
        (token, principal)
    }

    /// A request with a token.
    pub(crate) async fn send_as(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let request = self.ask_as(Some(token), method, path, &body);
        self.send(request).await
    }

    /// A request of an agent of the token's owner: (token, agent).
    pub(crate) async fn post_as_agent(
        &self,
        (token, agent): (&str, &str),
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let request = self.ask_as(Some(token), Method::POST, path, &body);
        self.send(request.header("Jackfield-Agent", agent)).await
    }

    /// Attaches agents of `local`.
    pub(crate) fn attach<const N: usize>(&self, ids: [&str; N]) -> [Scripted; N] {
        ids.map(|id| self.0.attach(id))
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
        let mut reader = SseReader::open(request).await;
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
