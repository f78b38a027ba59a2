//! A team whose coordinator is a bridge agent.

use crate::matrix::protocol::Protocol;
use jackfield_testkit::TestHub;
use serde_json::json;

use super::Bridge;
use crate::matrix::{
    callee::{Callee, EndNotice},
    setup::Owner,
};

pub(crate) struct Team {
    lead: Bridge,
}

impl Callee for Team {
    const PROTOCOL: Protocol = Protocol::Team;

    async fn join(hub: &TestHub, owner: &Owner) -> Self {
        let lead = Bridge::join(hub, owner).await;
        let members = json!([{"name": "lead", "agent": lead.id()}]);
        let body = json!({"id": "squad", "coordinator": "lead", "members": members});
        let (status, answer) = owner.web(hub).post("/v1/teams", body).await;
        assert_eq!(status, 201, "{answer}");
        Self { lead }
    }

    fn id(&self) -> String {
        "squad".to_owned()
    }

    async fn receive_call(&mut self) {
        self.lead.receive_call().await;
    }

    fn call(&self) -> String {
        self.lead.call()
    }

    async fn answers_at_once(&mut self, words: &str) {
        self.lead.answers_at_once(words).await;
    }

    async fn send_text(&mut self, words: &str) {
        self.lead.send_text(words).await;
    }

    async fn works(&mut self) {
        self.lead.works().await;
    }

    async fn ends_with_file(&mut self) {
        self.lead.ends_with_file().await;
    }

    async fn asks(&mut self, question: &str) {
        self.lead.asks(question).await;
    }

    async fn is_answered(&mut self) -> String {
        self.lead.is_answered().await
    }

    async fn ends(&mut self) {
        self.lead.ends().await;
    }

    async fn fails(&mut self) {
        self.lead.fails().await;
    }

    async fn leaves(&mut self) {
        self.lead.leaves().await;
    }

    async fn end_notice(&mut self) -> EndNotice {
        self.lead.end_notice().await
    }

    async fn floods(&mut self, bytes: usize) {
        self.lead.floods(bytes).await;
    }
}
