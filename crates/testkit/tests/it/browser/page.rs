//! The page of docs/browser.md in Chromium, served on another port than the hub's. `cargo xtask test` prepares the
//! browser; without it this test only prints a note.

use std::{net::SocketAddr, path::Path, process::Command};

use axum::{Router, response::Html, routing::get};
use jackfield_core::{call::AgentHandle, principal::Principal, ready::ReadySet};
use jackfield_kit::testing::answer_text;
use jackfield_model::{Answer, Ask, AskKind, Input, Json, Owner};
use jackfield_testkit::{Scripted, TestHub, attach_agent_as, judge};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};

/// The page: the only block of HTML in the document.
fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/browser.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once("```html\n").expect("a page");
    let (page, rest) = rest.split_once("```").expect("its end");
    assert!(!rest.contains("```html"), "one page");
    page.to_owned()
}

/// Serves the page on a free port.
async fn serve(running: &mut JoinSet<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let page = page();
    let app = Router::new().route("/watch.html", get(move || async { Html(page) }));
    running.spawn(async move { axum::serve(listener, app).await.unwrap() });
    addr
}

/// Waits for the answer to a question.
async fn answer(serving: &AgentHandle) -> Answer {
    let ready_set = ReadySet::new();
    serving.input().listen(ready_set.handle(1));
    loop {
        let mut inputs = Vec::new();
        serving.input().take(&mut inputs, usize::MAX);
        let answer = inputs.into_iter().find_map(|input| match input {
            Input::Answer(_, answer) => Some(answer),
            _ => None,
        });
        if let Some(answer) = answer {
            return answer;
        }
        ready_set.wait(&mut Vec::new()).await;
    }
}

fn question(id: &str, kind: AskKind, text: &str) -> Ask {
    let is_approval = kind == AskKind::Approval;
    Ask {
        id: id.to_owned(),
        kind,
        text: text.to_owned(),
        tool_name: is_approval.then(|| "rm".to_owned()),
        tool_call_id: None,
        arguments: is_approval.then(|| Json::parse(r#"{"what":"the notes"}"#).unwrap()),
        schema: None,
    }
}

/// The member of the team: asks for approval, and at the next message for a year.
async fn play(mut member: Scripted) {
    let call = member.next_call().await;
    call.ask(question("q-1", AskKind::Approval, "really?"));
    let approved = answer(&call).await.approved;
    answer_text(call, &format!("approved: {}", approved.unwrap()));
    let call = member.next_call().await;
    call.ask(question("q-2", AskKind::Input, "which year?"));
    let year = answer(&call).await.content.unwrap();
    answer_text(call, &format!("the year {year}"));
}

#[tokio::test]
async fn a_page_on_another_port_signs_in_watches_a_team_and_answers_its_questions() {
    let mut running = JoinSet::new();
    let (page, foreign) = (serve(&mut running).await, serve(&mut running).await);
    let hub = TestHub::start_with(|config| {
        config.require_token = true;
        config.allowed_origins = vec![format!("http://{page}")];
    })
    .await;
    let maker = hub.token("ann", &["agent:research"]).await;
    // The page needs no scope to see and steer its owner's team.
    let ann = hub.token("ann", &[]).await;
    let owner = Principal::admin(Owner::parse("ann").unwrap());
    let member = attach_agent_as(hub.hub(), &owner, "anns-agent", false);
    let body = json!({"id": "research", "coordinator": "web", "members": [{"name": "web", "agent": "anns-agent"}]});
    let (status, made) = hub.web_of(&maker).post("/v1/teams", body).await;
    assert_eq!(status, 201, "{made}");
    running.spawn(play(member));
    let at = |addr: SocketAddr| format!("http://{addr}/watch.html");
    judge(
        "JACKFIELD_JUDGE_BROWSER",
        "browser.cjs",
        |modules, script| {
            let mut node = Command::new("node");
            node.env("NODE_PATH", modules).arg(script).args([
                at(page),
                at(foreign),
                hub.url(""),
                ann,
            ]);
            node
        },
    )
    .await;
}
