//! Transfers of files: whose they are, what may be said about them, and archives that go through the hub.

mod ends;
mod parties;
mod ranges;
mod relays;
mod secrets;
mod uploads;

use std::{
    io,
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use jackfield_bridge::{Bridge, FileRules};
use jackfield_core::{
    hub::{Hub, Request},
    limits::Limits,
    principal::{Grant, Principal, Scopes, Who},
    store::memory::MemoryStore,
};
use jackfield_kit::{
    auth::Gatekeeper,
    tasks::Tasks,
    testing::{TestClient, json_of, spec},
};
use jackfield_model::{AgentId, Message as Said, Owner};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinSet};

use crate::ws::harness::*;

/// What the routes say of themselves.
static SPEC: LazyLock<Value> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let opened = std::thread::spawn(move || {
        let store = Arc::new(MemoryStore::default());
        runtime.block_on(Hub::open(store, Limits::default()))
    });
    let hub = opened.join().unwrap().unwrap();
    let bridge = Bridge::new(hub.clone(), Gatekeeper::new(hub, true), Tasks::new());
    serde_json::to_value(jackfield_bridge::files_router(bridge).1).unwrap()
});

/// A hub that wants tokens: ann owns amy, bob may call everybody.
pub(crate) struct Place {
    pub(crate) door: BridgeHub,
    pub(crate) amy: Agent,
    pub(crate) ann: Party,
    pub(crate) bob: Party,
}

/// Somebody with a token.
pub(crate) struct Party {
    principal: Principal,
    pub(crate) token: String,
    client: TestClient,
}

impl Place {
    pub(crate) async fn open() -> Self {
        Self::open_with(FileRules::default()).await
    }

    pub(crate) async fn open_with(rules: FileRules) -> Self {
        let store = Arc::new(MemoryStore::default());
        let door = BridgeHub::open_ruled(store, Limits::default(), false, rules).await;
        let ann = Party::new(&door, "ann", &["agent:*"]).await;
        let bob = Party::new(&door, "bob", &["agent:*", "call:*"]).await;
        let amy = ann.agent(&door, "amy").await;
        Self {
            door,
            amy,
            ann,
            bob,
        }
    }

    /// Amy offers an archive to whoever called it.
    pub(crate) async fn offers(&mut self, to: &Principal, offer: &Value) {
        offers(&self.door, &mut self.amy, "amy", to, offer).await;
    }

    /// The next signal for amy.
    pub(crate) async fn signal(&mut self) -> Value {
        let frame = self.amy.frame().await;
        assert_eq!(frame["type"], "rtc_signal_relay", "{frame}");
        frame
    }

    /// Where the agent's program is to come, as the next signal says.
    pub(crate) async fn meeting(&mut self) -> String {
        let frame = self.signal().await;
        meeting(&self.door, &frame).0
    }
}

/// Where the agent's program is to come, and what the signal says.
pub(crate) fn meeting(door: &BridgeHub, frame: &Value) -> (String, Value) {
    assert_eq!(
        (&frame["signal_type"], &frame["from_agent_id"]),
        (&json!("relay"), &json!("http-caller"))
    );
    let said: Value = serde_json::from_str(frame["payload"].as_str().unwrap()).unwrap();
    let ticket = said["ticket"].as_str().unwrap();
    let url = format!("http://{}/v1/transfers/{ticket}", door.addr);
    (url, said)
}

/// An agent offers an archive to whoever called it.
pub(crate) async fn offers(
    door: &BridgeHub,
    agent: &mut Agent,
    id: &str,
    to: &Principal,
    offer: &Value,
) {
    let target = AgentId::parse(id).unwrap();
    let asked = Request::new(to.clone(), "local", target, Said::text("files, please"));
    let mut replies = door.hub.calls().open(asked).unwrap().replies();
    let message = agent.frame().await;
    let done =
        json!({"type": "done", "request_id": message["request_id"], "file_transfer_offer": offer});
    agent.send(done).await;
    end_of(&mut replies).await;
}

impl Party {
    pub(crate) async fn new(door: &BridgeHub, owner: &str, scopes: &[&str]) -> Self {
        let owner = Owner::parse(owner).unwrap();
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let tokens = door.hub.tokens();
        let new = tokens
            .create("t".into(), owner.clone(), &scopes, None)
            .await;
        let grant = Grant {
            scopes,
            ..Grant::default()
        };
        Self {
            principal: Principal {
                owner,
                who: Who::Person,
                grant: Arc::new(grant),
            },
            token: new.unwrap().secret,
            client: door.client.clone(),
        }
    }

    pub(crate) fn principal(&self) -> Principal {
        self.principal.clone()
    }

    /// An agent of theirs, which registers with their token.
    pub(crate) async fn agent(&self, door: &BridgeHub, id: &str) -> Agent {
        let mut agent = door.connect(id).await;
        let mut frame = register(id, &json!("2"));
        frame["token"] = json!(self.token);
        agent.send(frame).await;
        assert_eq!(agent.frame().await["status"], "ok");
        agent
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.ask(method, path).bearer_auth(&self.token)
    }

    /// Sends JSON; the answer must be as described.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let sent = self.request(Method::POST, path).json(body).send();
        checked("POST", path, sent.await.unwrap()).await
    }

    /// Says something about a transfer with amy.
    pub(crate) async fn says(&self, transfer: &str, body: &Value) -> (u16, Value) {
        self.post(&format!("{}/signals", path(transfer)), body)
            .await
    }

    /// Begins to fetch an archive of amy's; dropping it leaves.
    pub(crate) fn fetching(&self, transfer: &str) -> JoinSet<reqwest::Result<Response>> {
        let path = format!("{}/content", path(transfer));
        let mut fetching = JoinSet::new();
        fetching.spawn(self.request(Method::GET, &path).send());
        fetching
    }

    /// Fetches an archive of amy's, from a byte on.
    pub(crate) async fn fetch(&self, transfer: &str, from: Option<u64>) -> Response {
        self.try_fetch(transfer, from).await.unwrap()
    }

    /// As [`fetch`](Self::fetch), where the answer may be cut in its first line.
    pub(crate) async fn try_fetch(
        &self,
        transfer: &str,
        from: Option<u64>,
    ) -> reqwest::Result<Response> {
        let path = format!("{}/content", path(transfer));
        let mut request = self.request(Method::GET, &path);
        if let Some(from) = from {
            request = request.header("Range", format!("bytes={from}-"));
        }
        request.send().await
    }
}

/// A transfer with amy.
pub(crate) fn path(transfer: &str) -> String {
    format!("/v1/agents/amy/transfers/{transfer}")
}

/// An answer in JSON, which must be as described.
pub(crate) async fn checked(method: &str, path: &str, response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let body = json_of(response).await;
    spec::check(&SPEC, method, path, status, &body);
    (status, body)
}

/// An archive of this size.
pub(crate) fn offer(transfer: &str, size: u64) -> Value {
    json!({
        "transfer_id": transfer, "zip_size": size, "zip_sha256": "ab".repeat(32), "file_count": 3,
    })
}

/// What the archives of these tests repeat; its length is prime, so that no piece looks like the one before.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let byte = |at: u64| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    (0..1_000_003).map(byte).collect()
});

/// A piece of an archive.
pub(crate) fn piece(from: u64, len: u64) -> Bytes {
    let start = usize::try_from(from % PATTERN.len() as u64).unwrap();
    let mut left = usize::try_from(len).unwrap();
    let mut piece = Vec::with_capacity(left);
    let mut rest = &PATTERN[start..];
    while left > 0 {
        let taken = &rest[..left.min(rest.len())];
        piece.extend_from_slice(taken);
        left -= taken.len();
        rest = &PATTERN;
    }
    piece.into()
}

/// An archive from a byte on, up to another, in pieces. If it is to be cut there, that happens when the test says so.
pub(crate) fn archive(
    from: u64,
    to: u64,
    cut: Option<oneshot::Receiver<()>>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    const PIECE: u64 = 61_000;
    let starts = (from..to).step_by(usize::try_from(PIECE).unwrap());
    let pieces = starts.map(move |at| Ok(piece(at, PIECE.min(to - at))));
    let end = stream::iter(cut).then(|cut| async {
        cut.await.ok();
        Err(io::Error::other("cut by the test"))
    });
    stream::iter(pieces).chain(end)
}
