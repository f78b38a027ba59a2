//! The cards of agents: a hub that knows its public URL, and agents of which only the profile matters.

use std::{ops::Deref, sync::Arc};

use jackfield_a2a::{A2aDoor, CardKey, Cards, router};
use jackfield_core::{
    agent::{Profile, Share},
    principal::Principal,
};
use jackfield_kit::testing::{Scripted, TestHub, TestSettings};
use jackfield_model::AgentId;
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

/// The URL that the hub is told, which is not where the test reaches it.
pub(crate) const SITE: &str = "https://hub.example.com/base";
/// The card of the agent `echo`.
pub(crate) const ECHO: &str = "/a2a/agents/echo/.well-known/agent-card.json";
/// The hub's own card.
pub(crate) const HUB: &str = "/.well-known/agent-card.json";

pub(crate) fn key() -> CardKey {
    CardKey::from_hex(&"5c".repeat(32)).unwrap()
}

/// A hub with this door.
pub(crate) struct A2aHub {
    test: TestHub,
    pub(crate) a2a: Arc<A2aDoor>,
}

impl Deref for A2aHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.test
    }
}

impl A2aHub {
    /// As on loopback, with signed cards.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Cards::at(SITE).signed_by(key())).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, cards: Cards) -> Self {
        let settings = TestSettings {
            trusts_everyone,
            ..TestSettings::default()
        };
        let mut opened = None;
        let test = crate::start(settings, |door| {
            let door = Arc::new(door.with_cards(cards));
            router(opened.insert(door).clone())
        });
        let test = test.await;
        let a2a = opened.unwrap();
        Self { test, a2a }
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

    /// Somebody who may register agents, as a token proved it.
    pub(crate) async fn owner(&self, name: &str) -> Principal {
        let token = self.token(name, &["agent:*"]).await;
        self.principal_of(&token)
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
        let agent = self.agent(id).of(principal).profile(profile);
        agent.door("agora").attach()
    }
}
