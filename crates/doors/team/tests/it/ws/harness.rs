//! A hub with the team door on a port of its own, members whose part the test plays, and viewers.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_core::{
    agent::Profile,
    call::AgentHandle,
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::memory::MemoryStore,
};
pub(crate) use jackfield_kit::testing::{Scripted, soon};
use jackfield_kit::{
    auth::{Gatekeeper, Ingress},
    files::Files,
    server::Server,
    tasks::Tasks,
    testing::{Manner, SOON},
};
use jackfield_model::{AgentId, Ask, AskKind, Chunk, ChunkKind, End, Event, Input, Json, Owner};
use jackfield_team::{
    TeamDoor, TeamLimits, Teams, router,
    team::{MemberKind, MemberSpec, TeamSpec},
};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error, Message, client::IntoClientRequest as _},
};

/// A running hub.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) hub: Hub,
    pub(crate) teams: Teams,
    pub(crate) tasks: Tasks,
    _server: JoinSet<usize>,
}

impl Running {
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
        Self::serve(Teams::open(store, limits).await.unwrap(), trusts_everyone).await
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
        let (app, _) = router(TeamDoor {
            teams: teams.clone(),
            gatekeeper: Gatekeeper::new(hub.clone(), trusts_everyone),
            tasks: tasks.clone(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        server.spawn(Server::new(vec![listener], app, tasks.clone()).run(SOON));
        Self {
            addr,
            hub,
            teams,
            tasks,
            _server: server,
        }
    }

    /// Stops as the binary does.
    pub(crate) async fn stop(&self) {
        self.hub.stop(Duration::ZERO).await;
        assert_eq!(self.tasks.stop(SOON).await, 0, "nobody has to be killed");
    }

    /// A token, and whom it makes.
    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> (String, Principal) {
        let owner = Owner::parse(owner).unwrap();
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let new = self.hub.tokens().create("t".into(), owner, &scopes, None);
        let secret = new.await.unwrap().secret;
        let gate = Gatekeeper::new(self.hub.clone(), false);
        let principal = gate.admit(Some(&secret), &Ingress::Directly).unwrap();
        (secret, principal)
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.attach_for(&Principal::local(), id)
    }

    pub(crate) fn attach_for(&self, principal: &Principal, id: &str) -> Scripted {
        let manner = Manner {
            door: "local",
            is_lively: true,
            one_call_per_session: false,
        };
        Scripted::attach(&self.hub, principal, id, Profile::default(), manner)
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
    ) -> Result<Viewer, Box<Error>> {
        let tcp = TcpStream::connect(self.addr).await.unwrap();
        let url = format!("ws://{}{path}", self.addr);
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", value);
        }
        let opened = soon(tokio_tungstenite::client_async(request, tcp)).await;
        opened.map(|(socket, _)| Viewer(socket)).map_err(Box::new)
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
pub(crate) struct Viewer(pub(crate) WebSocketStream<TcpStream>);

impl Viewer {
    pub(crate) async fn send(&mut self, frame: Value) {
        self.send_raw(&frame.to_string()).await;
    }

    pub(crate) async fn send_raw(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Message {
        loop {
            match soon(self.0.next()).await.expect("open").expect("sound") {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    pub(crate) async fn frame(&mut self) -> Value {
        match self.next().await {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("not a text frame: {other:?}"),
        }
    }

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
                    while let Some(Ok(_)) = soon(self.0.next()).await {}
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
    let bell = jackfield_core::ready::ReadySet::new();
    serving.input().listen(bell.handle(1));
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
        soon(bell.wait(&mut Vec::new())).await;
    }
}
