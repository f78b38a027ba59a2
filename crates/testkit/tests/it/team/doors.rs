//! A team called like an agent, from every door: the coordinator gets the call, the team's stream shows the working
//! members, and the caller gets the whole answer.

mod a2a;
mod agora;
mod bridge;
mod loops;
mod own;
mod relay;

use jackfield_testkit::WebClient;

use crate::team::members::MemberAgent;

/// The team's answer.
const ANSWER: &str = "The answer is 42.";

/// The coordinator calls the other member, and includes its text in the answer.
async fn work(lead: &mut MemberAgent, dev: &mut MemberAgent, words: &str) {
    let request = lead.expect_message(words).await;
    lead.send_text(&request, "The answer ").await;
    lead.calls(&request, "agent-dev", "c-1", "what is it?")
        .await;
    let asked = dev.expect_message("what is it?").await;
    dev.send_text(&asked, "42").await;
    dev.ends(&asked).await;
    assert_eq!(lead.reply_text("c-1").await, "42");
    lead.send_text(&request, "is 42.").await;
    lead.ends(&request).await;
}

/// Starts the work of coordinator and member; returns their requests.
async fn begin(lead: &mut MemberAgent, dev: &mut MemberAgent, words: &str) -> (String, String) {
    let request = lead.expect_message(words).await;
    lead.send_text(&request, "The answer ").await;
    lead.calls(&request, "agent-dev", "c-1", "what is it?")
        .await;
    (request, dev.expect_message("what is it?").await)
}

/// Checks that both members receive a cancel.
async fn expect_cancel(lead: &mut MemberAgent, dev: &mut MemberAgent, requests: &(String, String)) {
    dev.is_cancelled(&requests.1).await;
    let told = [lead.line.frame().await, lead.line.frame().await];
    let cancel = told.iter().find(|frame| frame["type"] == "cancel");
    assert_eq!(cancel.unwrap()["request_id"], *requests.0, "{told:?}");
}

/// Checks that the client has seen the work this many times.
async fn expect_shown(user: &mut WebClient, times: usize) {
    user.until_rest(times).await;
    assert_eq!(user.screen.text("lead"), ANSWER.repeat(times));
    assert_eq!(user.screen.text("dev"), "42".repeat(times));
    assert_eq!(user.screen.lost().len(), 0, "{:?}", user.screen.lost());
}
