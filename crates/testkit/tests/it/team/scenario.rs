//! A scenario of a shop: a team of three levels in which every kind of event happens, and the web client's final
//! screen.

use jackfield_testkit::{Raw, TestHub, WebClient};
use serde_json::{Value, json};

use crate::team::{make_team, members::MemberAgent};

/// The member names that a client needs to show everything.
pub(crate) const MEMBERS: [&str; 5] = ["lead", "dev", "ada", "backend/chief", "backend/db/dba"];

/// The shop's members. `shop` has `backend`, which has `db`.
pub(crate) struct Shop {
    pub(crate) lead: MemberAgent,
    pub(crate) dev: MemberAgent,
    pub(crate) chief: MemberAgent,
    pub(crate) dba: MemberAgent,
    pub(crate) ada: Raw,
}

impl Shop {
    /// Connects all agents and creates the teams.
    pub(crate) async fn open(hub: &TestHub) -> Self {
        let shop = Self::come(hub).await;
        let dba = json!({"name": "dba", "agent": "agent-dba"});
        make_team(hub, "team-db", json!([dba])).await;
        let chief = json!({"name": "chief", "agent": "agent-chief"});
        let db = json!({"name": "db", "team": "team-db"});
        make_team(hub, "team-backend", json!([chief, db])).await;
        let lead = json!({"name": "lead", "agent": "agent-lead"});
        let dev = json!({"name": "dev", "agent": "agent-dev"});
        let ada = json!({"name": "ada", "agent": "agent-ada"});
        let backend = json!({"name": "backend", "team": "team-backend"});
        make_team(hub, "shop", json!([lead, dev, ada, backend])).await;
        shop
    }

    /// Connects all agents, also after a restart.
    pub(crate) async fn come(hub: &TestHub) -> Self {
        Self {
            lead: MemberAgent::join(hub, "agent-lead").await,
            dev: MemberAgent::join(hub, "agent-dev").await,
            chief: MemberAgent::join(hub, "agent-chief").await,
            dba: MemberAgent::join(hub, "agent-dba").await,
            ada: hub.agora("agent-ada").await,
        }
    }

    /// Runs the whole scenario. The user approves and denies by the client.
    pub(crate) async fn run_scenario(&mut self, hub: &TestHub, user: &mut WebClient) {
        let say = json!({"content": "fix the shop"});
        let (status, answer) = hub.web().post("/v1/teams/shop/messages", say).await;
        assert_eq!(status, 202, "{answer}");
        let request = self.lead.expect_message("fix the shop").await;
        self.lead.thinks(&request, "where do ").await;
        self.lead.thinks(&request, "I begin?").await;
        self.lead.send_text(&request, "I look. ").await;
        self.lead
            .uses(&request, "grep", "call_1", r#"{"q":"x"}"#)
            .await;
        self.lead.gets(&request, "call_1", "[1,2]").await;
        self.lead.send_text(&request, "Two files. ").await;
        self.mend(&request, user).await;
        self.plan(hub).await;
        self.count(&request, user).await;
        self.note(&request).await;
        self.lead.send_text(&request, "Done.").await;
        self.lead.ends(&request).await;
    }

    /// The developer asks for two approvals, and gets a yes and a no.
    async fn mend(&mut self, request: &str, user: &mut WebClient) {
        let (lead, dev) = (&mut self.lead, &mut self.dev);
        lead.calls(request, "agent-dev", "c-dev", "mend a.rs").await;
        let work = dev.expect_message("mend a.rs").await;
        dev.send_text(&work, "On it. ").await;
        dev.asks(&work, "Bash", "bash_1", json!({"cmd": "make"}))
            .await;
        user.decide("bash_1", true).await;
        dev.is_told(&work, "bash_1", true, "go on").await;
        dev.gets(&work, "bash_1", "ok").await;
        dev.asks(&work, "Delete", "rm_1", json!({"path": "/"}))
            .await;
        user.decide("rm_1", false).await;
        dev.is_told(&work, "rm_1", false, "not now").await;
        dev.makes(&work, "patch.diff", "+1").await;
        dev.send_text(&work, "Mended.").await;
        dev.ends(&work).await;
        // Callers of the bridge get a text artifact as text.
        assert_eq!(lead.reply_text("c-dev").await, "On it. +1Mended.");
    }

    async fn plan(&mut self, hub: &TestHub) {
        let web = hub.web();
        let tasks = json!({"tasks": [
            {"task_name": "count", "assignee_name": "backend"},
            {"task_name": "note", "assignee_name": "ada", "dependencies": ["count"]},
        ]});
        let (status, answer) = web.post("/v1/teams/shop/tasks", tasks).await;
        assert_eq!(status, 201, "{answer}");
        patch(hub, json!({"status": "in_progress"})).await;
        let more = json!({"tasks": [{"task_name": "rest", "assignee_name": "lead"}]});
        let (status, answer) = web.post("/v1/teams/shop/tasks", more).await;
        assert_eq!(status, 201, "{answer}");
        let files = json!([{"file_path": "rows.csv", "summary": "rows"}]);
        patch(hub, json!({"status": "completed", "deliverables": files})).await;
    }

    /// Calls two levels down, with a further approval.
    async fn count(&mut self, request: &str, user: &mut WebClient) {
        let (lead, chief, dba) = (&mut self.lead, &mut self.chief, &mut self.dba);
        lead.calls(request, "team-backend", "c-back", "check the tables")
            .await;
        let check = chief.expect_message("check the tables").await;
        chief.calls(&check, "team-db", "c-db", "count rows").await;
        let rows = dba.expect_message("count rows").await;
        dba.thinks(&rows, "hm").await;
        dba.asks(&rows, "Sql", "sql_1", json!({"query": "count"}))
            .await;
        user.decide("sql_1", true).await;
        dba.is_told(&rows, "sql_1", true, "go on").await;
        dba.gets(&rows, "sql_1", "3").await;
        for word in ["there ", "are ", "3 ", "rows"] {
            dba.send_text(&rows, word).await;
        }
        dba.ends(&rows).await;
        assert_eq!(chief.reply_text("c-db").await, "there are 3 rows");
        chief.send_text(&check, "All fine.").await;
        chief.ends(&check).await;
        assert_eq!(lead.reply_text("c-back").await, "All fine.");
    }

    /// An Agora agent calls a bridge agent.
    async fn note(&mut self, request: &str) {
        let (lead, dev, ada) = (&mut self.lead, &mut self.dev, &mut self.ada);
        lead.calls(request, "agent-ada", "c-ada", "write it down")
            .await;
        let message = ada.frame().await;
        assert_eq!(message["payload"]["body"]["question"], "write it down");
        let parent = &message["payload"]["request_id"];
        let payload = json!({"body": {"question": "what changed?"}, "request_id": "x-1", "parent_request_id": parent});
        ada.send(json!({"type": "send", "to": "agent-dev", "payload": payload}))
            .await;
        let asked = dev.expect_message("what changed?").await;
        dev.send_text(&asked, "One line.").await;
        dev.ends(&asked).await;
        for kind in ["reply", "reply_chunk", "reply_end"] {
            assert_eq!(ada.frame().await["type"], kind);
        }
        let payload = json!({"body": {"answer": "Noted."}, "request_id": parent});
        ada.send(json!({"type": "reply", "to": message["from"], "payload": payload}))
            .await;
        assert_eq!(lead.reply_text("c-ada").await, "Noted.");
    }
}

/// Changes the first task of the plan.
async fn patch(hub: &TestHub, change: Value) {
    let patch = hub
        .web()
        .ask(reqwest::Method::PATCH, "/v1/teams/shop/tasks/count");
    let (status, answer) = jackfield_testkit::answer(patch.json(&change)).await;
    assert_eq!(status, 200, "{answer}");
}

/// The expected screen after the scenario.
pub(crate) fn final_screen() -> Value {
    let message = |segments: Value| json!({ "segments": segments });
    json!({
        "team": "idle",
        "approvals": [],
        "plan": [
            {"task_id": "task_0001", "task_name": "count", "assignee_name": "backend", "dependencies": [], "status": "completed", "files": ["rows.csv"]},
            {"task_id": "task_0002", "task_name": "note", "assignee_name": "ada", "dependencies": ["task_0001"], "status": "not_started"},
            {"task_id": "task_0003", "task_name": "rest", "assignee_name": "lead", "dependencies": [], "status": "not_started"},
        ],
        "members": {
            "lead": {"status": "idle", "messages": [message(json!([
                {"from": "local", "note": "fix the shop"},
                {"reasoning": "where do I begin?"},
                {"text": "I look. "},
                {"tool": "grep", "id": "call_1", "state": "success", "arguments": {"q": "x"}, "result": [1, 2]},
                {"text": "Two files. Done."},
            ]))]},
            "dev": {
                "status": "idle",
                "messages": [
                    message(json!([
                        {"from": "agent-lead", "note": "mend a.rs"},
                        {"text": "On it. "},
                        {"tool": "Bash", "id": "bash_1", "state": "success", "arguments": {"cmd": "make"}, "result": "ok"},
                        {"tool": "Delete", "id": "rm_1", "state": "denied", "arguments": {"path": "/"}, "error": "not now"},
                        {"text": "Mended."},
                    ])),
                    message(json!([
                        {"from": "agent-ada", "note": "what changed?"},
                        {"text": "One line."},
                    ])),
                ],
                "artifacts": [{"path": "patch.diff", "type": "text"}],
            },
            "ada": {"status": "idle", "messages": [message(json!([
                {"from": "agent-lead", "note": "write it down"},
                {"text": "Noted."},
            ]))]},
            "backend/chief": {"status": "idle", "messages": [message(json!([
                {"from": "agent-lead", "note": "check the tables"},
                {"text": "All fine."},
            ]))]},
            "backend/db/dba": {"status": "idle", "messages": [message(json!([
                {"from": "agent-chief", "note": "count rows"},
                {"reasoning": "hm"},
                {"tool": "Sql", "id": "sql_1", "state": "success", "arguments": {"query": "count"}, "result": "3"},
                {"text": "there are 3 rows"},
            ]))]},
        },
    })
}
