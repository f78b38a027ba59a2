//! The sockets of the team door: teams, viewers that read frame by frame, and what members do.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use jackfield_core::{
    call::AgentHandle, limits::Limits, principal::Principal, store::memory::MemoryStore,
};
pub(crate) use jackfield_kit::testing::{Scripted, WsRefused, soon};
use jackfield_kit::testing::{TestHub, TestSettings, WsClient};
use jackfield_model::{AgentId, Ask, AskKind, Chunk, ChunkKind, End, Event, Input, Json};
use jackfield_team::{
    TeamLimits, Teams,
    team::{MemberKind, MemberSpec, TeamSpec},
};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

/// A hub with the team door.
pub(crate) struct TeamHub {
    test: TestHub,
    pub(crate) teams: Teams,
}

impl Deref for TeamHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.test
    }
}

impl TeamHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        Self::start_on(Arc::default(), trusts_everyone, limits).await
    }

    /// On what another hub has left.
    pub(crate) async fn start_on(
        store: Arc<MemoryStore>,
        trusts_everyone: bool,
        limits: Limits,
    ) -> Self {
        let settings = TestSettings {
            store,
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
        let (test, teams) = crate::start(settings, limits).await;
        Self { test, teams }
    }

    /// A token, and whom it makes.
    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> (String, Principal) {
        let token = self.test.token(owner, scopes).await;
        let principal = self.principal_of(&token);
        (token, principal)
    }

    /// Makes a team of `local`; a member is `name=agent` or `name=team:id`, the first one leads.
    pub(crate) fn team(&self, id: &str, members: &[&str]) {
        self.team_for(&Principal::local(), id, members);
    }

    pub(crate) fn team_for(&self, principal: &Principal, id: &str, members: &[&str]) {
        let id = AgentId::parse(id).unwrap();
        let members: Vec<MemberSpec> = members.iter().map(|text| member(text)).collect();
        let spec = TeamSpec {
            name: id.to_string(),
            description: None,
            coordinator: members[0].name.clone(),
            members,
        };
        self.teams.create(principal, &id, spec).unwrap();
    }

    /// `web`: boss, and the team backend: lead, and the team db: head, and the team core: dba. With their agents, in this
    /// order.
    pub(crate) fn nested(&self) -> [Scripted; 4] {
        let agents = ["a-boss", "a-lead", "a-head", "a-dba"].map(|id| self.attach(id));
        self.team("core", &["dba=a-dba"]);
        self.team("db", &["head=a-head", "core=team:core"]);
        self.team("back", &["lead=a-lead", "db=team:db"]);
        self.team("web", &["boss=a-boss", "backend=team:back"]);
        agents
    }

    pub(crate) async fn view(&self, path: &str) -> Viewer {
        self.try_view(path, None).await.unwrap()
    }

    pub(crate) async fn view_as(&self, token: &str, path: &str) -> Viewer {
        self.try_view(path, Some(token)).await.unwrap()
    }

    pub(crate) async fn try_view(
        &self,
        path: &str,
        token: Option<&str>,
    ) -> Result<Viewer, WsRefused> {
        let token = token.map(|token| format!("Bearer {token}"));
        let headers = token.as_deref().map(|token| ("authorization", token));
        let headers: Vec<_> = headers.into_iter().collect();
        let opened = WsClient::connect_with(self.addr, path, &headers).await;
        opened.map(Viewer)
    }

    /// A viewer of a team in which nothing has happened yet, that has seen how everything stands.
    pub(crate) async fn viewer(&self, team: &str) -> Viewer {
        let view = self.teams.get(&Principal::local(), team).unwrap();
        assert!(view.run.is_none(), "nothing has happened yet");
        let mut viewer = self.view(&format!("/ws/agent-team/{team}")).await;
        assert_eq!(viewer.frame().await["type"], "CONNECTED");
        assert_eq!(viewer.frame().await["type"], "TEAM_STATUS");
        for _ in view.agents {
            assert_eq!(viewer.frame().await["type"], "AGENT_STATUS");
        }
        viewer
    }
}

fn member(text: &str) -> MemberSpec {
    let (name, of) = text.split_once('=').unwrap();
    let of = match of.strip_prefix("team:") {
        Some(team) => MemberKind::Team(AgentId::parse(team).unwrap()),
        None => MemberKind::Agent(AgentId::parse(of).unwrap()),
    };
    MemberSpec {
        name: name.into(),
        of,
    }
}

/// A viewer. Dropping it cuts the connection.
#[derive(Debug)]
pub(crate) struct Viewer(WsClient);

impl Deref for Viewer {
    type Target = WsClient;

    fn deref(&self) -> &WsClient {
        &self.0
    }
}

impl DerefMut for Viewer {
    fn deref_mut(&mut self) -> &mut WsClient {
        &mut self.0
    }
}

impl Viewer {
    /// The next frame of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["type"] == kind {
                return frame["payload"].clone();
            }
        }
    }

    /// All frames that have a number, up to the one that says that the team does nothing any more.
    pub(crate) async fn until_idle(&mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame().await;
            let payload = &frame["payload"];
            if payload["team_stream_event_envelope"].is_null() {
                continue;
            }
            let is_idle = frame["type"] == "TEAM_STATUS"
                && payload["new_status"] == "idle"
                && payload["sub_team_node_name"].is_null();
            frames.push(frame);
            if is_idle {
                return frames;
            }
        }
    }

    /// All frames up to the close, and its code.
    pub(crate) async fn until_closed(&mut self) -> (Vec<Value>, u16) {
        let mut frames = Vec::new();
        loop {
            match self.next().await {
                Message::Text(text) => frames.push(serde_json::from_str(&text).unwrap()),
                Message::Close(frame) => {
                    // Says goodbye in turn, which the hub waits for.
                    self.gone().await;
                    return (frames, frame.expect("a code").code.into());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// The code of the error that comes next.
    pub(crate) async fn error(&mut self) -> String {
        let payload = self.until("ERROR").await;
        assert!(payload["agent_name"].is_null(), "{payload}");
        assert!(!payload["message"].as_str().unwrap().is_empty());
        payload["code"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn say(&mut self, content: &str, target: Option<&str>) {
        let mut payload = json!({"content": content});
        if let Some(target) = target {
            payload["target_member_name"] = json!(target);
        }
        let frame = json!({"type": "SEND_MESSAGE", "payload": payload});
        self.send(frame).await;
    }
}

/// The numbers of the frames that have one.
pub(crate) fn sequences(frames: &[Value]) -> Vec<u64> {
    let sequence =
        |frame: &Value| frame["payload"]["team_stream_event_envelope"]["sequence"].as_u64();
    frames.iter().filter_map(sequence).collect()
}

pub(crate) fn chunk(kind: ChunkKind, text: &str, tool: Option<(&str, &str)>) -> Event {
    Event::Chunk(Chunk {
        kind,
        text: text.to_owned(),
        tool_call_id: tool.map(|(id, _)| id.to_owned()),
        tool_name: tool.map(|(_, name)| name.to_owned()),
        extra: None,
        waiting_for: None,
    })
}

pub(crate) fn done() -> End {
    End::Done(Box::default())
}

/// A member wants leave to use `rm`.
pub(crate) fn ask(serving: &AgentHandle, id: &str) {
    serving.ask(Ask {
        id: format!("ask-{id}"),
        kind: AskKind::Approval,
        text: "May I?".to_owned(),
        tool_name: Some("rm".to_owned()),
        tool_call_id: Some(id.to_owned()),
        arguments: Some(Json::parse(r#"{"path":"/tmp/x"}"#).unwrap()),
        schema: None,
    });
}

/// What the member is answered: yes or no, and why.
pub(crate) async fn answer(serving: &AgentHandle) -> (bool, Option<String>) {
    let ready_set = jackfield_core::ready::ReadySet::new();
    serving.input().listen(ready_set.handle(1));
    loop {
        let mut inputs = Vec::new();
        serving.input().take(&mut inputs, usize::MAX);
        let answers = inputs.into_iter().find_map(|input| match input {
            Input::Answer(_, answer) => Some((answer.approved.unwrap(), answer.reason)),
            _ => None,
        });
        if let Some(answer) = answers {
            return answer;
        }
        soon(ready_set.wait(&mut Vec::new())).await;
    }
}
