//! A hub with this door on a port of its own, and agents of which only the profile matters.

use std::{net::SocketAddr, sync::Arc};

use jackfield_a2a::{A2aDoor, CardKey, Cards, router};
use jackfield_core::{
    agent::{Profile, Share},
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::memory::MemoryStore,
    token::TokenLookup,
};
use jackfield_kit::{
    auth::Gatekeeper,
    server::Server,
    tasks::Tasks,
    testing::{Manner, SOON, Scripted},
};
use jackfield_model::{AgentId, Owner};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};

/// The URL that the hub is told, which is not where the test reaches it.
pub(crate) const SITE: &str = "https://hub.example.com/base";
/// The card of the agent `echo`.
pub(crate) const ECHO: &str = "/a2a/agents/echo/.well-known/agent-card.json";
/// The hub's own card.
pub(crate) const HUB: &str = "/.well-known/agent-card.json";

pub(crate) fn key() -> CardKey {
    CardKey::from_hex(&"5c".repeat(32)).unwrap()
}

/// A hub with a server.
pub(crate) struct Running {
    addr: SocketAddr,
    pub(crate) hub: Hub,
    pub(crate) a2a: Arc<A2aDoor>,
    client: reqwest::Client,
    _server: JoinSet<usize>,
}

impl Running {
    /// As on loopback, with signed cards.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Cards::at(SITE).signed_by(key())).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, cards: Cards) -> Self {
        let hub = Hub::open(Arc::new(MemoryStore::default()), Limits::default())
            .await
            .unwrap();
        let gatekeeper = Gatekeeper::new(hub.clone(), trusts_everyone);
        let a2a = Arc::new(A2aDoor::new(hub.clone(), gatekeeper).with_cards(cards));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        server.spawn(Server::new(vec![listener], router(a2a.clone()), Tasks::new()).run(SOON));
        Self {
            addr,
            hub,
            a2a,
            client: reqwest::Client::new(),
            _server: server,
        }
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.addr);
        self.client.request(method, url).timeout(SOON)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.ask(Method::GET, path).send().await.unwrap()
    }

    /// A card, which must be there.
    pub(crate) async fn card(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(response.headers()["content-type"], "application/json");
        serde_json::from_str(&response.text().await.unwrap()).unwrap()
    }

    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> String {
        let owner = Owner::parse(owner).unwrap();
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let new = self.hub.tokens().create("t".into(), owner, &scopes, None);
        new.await.unwrap().secret
    }

    /// Somebody who may register agents, as a token proved it.
    pub(crate) async fn owner(&self, name: &str) -> Principal {
        let token = self.token(name, &["agent:*"]).await;
        match self.hub.tokens().look_up(&token) {
            TokenLookup::Valid(principal) => principal,
            other => panic!("{other:?}"),
        }
    }

    /// Says who may call an agent.
    pub(crate) async fn share(&self, owner: &Principal, id: &str, share: Share) {
        let id = AgentId::parse(id).unwrap();
        let changed = self.hub.agents().change(owner, &id, Some(share), None);
        changed.unwrap().1.await.unwrap();
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str, profile: Profile) -> Scripted {
        self.attach_for(&Principal::local(), id, profile)
    }

    pub(crate) fn attach_for(&self, principal: &Principal, id: &str, profile: Profile) -> Scripted {
        let manner = Manner {
            door: "agora",
            is_lively: true,
            one_call_per_session: false,
        };
        Scripted::attach(&self.hub, principal, id, profile, manner)
    }
}
