//! Approvals: requested at the terminal and at the hub. The first answer decides.

use jackfield_connect::OwnerDecision;
use serde_json::json;

use crate::drive::fixture::{Fixture, pairs};

fn yes() -> OwnerDecision {
    OwnerDecision {
        approved: true,
        reason: None,
    }
}

#[tokio::test]
async fn an_answer_at_the_desk_is_told_to_the_hub() {
    let fixture = Fixture::start().await;
    let mut bob = fixture.claude().await;
    let open_call = fixture.call("use a tool").await;
    let (request, answer) = bob.question().await;
    assert_eq!(request.tool, "Bash");
    assert_eq!(request.arguments, json!({"command": "rm x"}));
    assert_eq!(request.call.as_ref(), Some(&open_call.id));
    let ask_id = request.ask_id.clone();
    answer.send(yes()).unwrap();
    let id = open_call.id.clone();
    let transcript = open_call.transcript().await;
    assert!(
        transcript.contains(&("text".to_owned(), "removed ".to_owned())),
        "{transcript:?}"
    );
    assert_eq!(transcript.last().unwrap().0, "done");
    // A later answer finds no open question.
    let late = json!({"ask_id": ask_id, "approved": false});
    let (status, _) = fixture
        .hub
        .web()
        .post(&format!("/v1/calls/{id}/answer"), late)
        .await;
    assert_ne!(status, 204);
}

#[tokio::test]
async fn an_answer_at_the_hub_withdraws_the_question_at_the_desk() {
    let fixture = Fixture::start().await;
    let mut bob = fixture.claude().await;
    let open_call = fixture.call("use a tool").await;
    let (request, mut answer) = bob.question().await;
    let path = format!("/v1/calls/{}/answer", open_call.id);
    let body = json!({"ask_id": request.ask_id, "approved": false, "reason": "not today"});
    // The hub receives the question while the terminal shows it.
    crate::drive::fixture::poll_until_async(async || {
        let (status, _) = fixture.hub.web().post(&path, body.clone()).await;
        status == 204
    })
    .await;
    answer.closed().await;
    let transcript = open_call.transcript().await;
    assert!(
        transcript.contains(&("text".to_owned(), "denied: not today ".to_owned())),
        "{transcript:?}"
    );
}

#[tokio::test]
async fn a_denial_without_a_reason_has_one() {
    let fixture = Fixture::start().await;
    let mut bob = fixture.claude().await;
    let open_call = fixture.call("use a tool").await;
    let (_, answer) = bob.question().await;
    let no = OwnerDecision {
        approved: false,
        reason: None,
    };
    answer.send(no).unwrap();
    let transcript = open_call.transcript().await;
    assert!(
        transcript.contains(&("text".to_owned(), "denied: the owner said no ".to_owned())),
        "{transcript:?}"
    );
}

#[tokio::test]
async fn a_question_that_the_agent_takes_back_is_withdrawn() {
    let fixture = Fixture::start().await;
    let mut bob = fixture.claude().await;
    let open_call = fixture.call("withdraw").await;
    let (_, mut answer) = bob.question().await;
    std::fs::write(fixture.project().join("seen"), "").unwrap();
    answer.closed().await;
    let transcript = open_call.transcript().await;
    assert_eq!(
        transcript.last(),
        pairs(&[("done", "")]).last(),
        "{transcript:?}"
    );
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_question() {
    let fixture = Fixture::start().await;
    let mut bob = fixture.claude().await;
    let open_call = fixture.call("use a tool").await;
    let (_, mut answer) = bob.question().await;
    drop(open_call);
    answer.closed().await;
}
